"""Writes points to InfluxDB 1 or 2, or to any server of its line protocol over HTTP."""

import json
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import aiohttp
from yarl import URL

from runtime.bridge.live.outlets.outlet import Away, Refused, read_address, redact_address
from runtime.bridge.live.outlets.points import TAGS, Point, Value

PORTS: Final = {"http": 80, "https": 443}
CONNECT_S: Final = 3.0
ANSWER_S: Final = 10.0
READ_BYTES: Final = 2048
"""Of an error response."""
REASON_CHARACTERS: Final = 200
"""Kept of the server's error message."""
NO_RETRY: Final = (400, 413, 422)
"""Statuses after which sending the same points again cannot help."""
LONGEST_PAUSE_S: Final = 300.0
SECRETS: Final = ("u", "p", "user", "username", "password", "token")
"""Query parameters with credentials; they do not belong in an address."""
RESERVED: Final = frozenset(("time", *TAGS))
"""Names that no field may have: the time column and the tags."""
_WORD: Final = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ ", "\\": "/"})
"""A backslash is replaced: servers disagree on what follows one."""
_TEXT: Final = str.maketrans({'"': r"\"", "\\": r"\\"})
_DROPPED: Final = re.compile(r"dropped=(\d+)")


def read_influx(text: str) -> URL:
    """Read the address to write to. Raises ValueError, whose text does not repeat it."""
    url = read_address(text, PORTS, "http://127.0.0.1:8086/api/v2/write?org=team&bucket=paddock")
    if url.user or url.password or not set(url.query).isdisjoint(SECRETS):
        raise ValueError("user, password and token do not belong in an address; see influx_token")
    if "precision" in url.query:
        raise ValueError("leave precision out: times are written in nanoseconds")
    if not url.path.endswith("/write"):
        raise ValueError("the path must be /api/v2/write, or /write of InfluxDB 1")
    needed = "db" if _is_first_version(url) else "bucket"
    if not url.query.get(needed):
        raise ValueError(f"{needed}= is missing behind {url.path}?")
    return url


def _is_first_version(url: URL) -> bool:
    return not url.path.endswith("/api/v2/write")


class Influx:
    """A database that points are written to with *token*."""

    name: Final = "influx"
    most: Final = 50
    pause_s: Final = 1.0

    def __init__(self, url: URL, token: str = "") -> None:
        self.place = redact_address(url)
        self._url = url
        self._token = token
        self._http: aiohttp.ClientSession | None = None

    async def send(self, points: Sequence[Point]) -> None:
        """See `Target`."""
        lines = b"".join(map(to_line, points))
        try:
            async with self._session().post(
                self._url, data=lines, allow_redirects=False
            ) as response:
                if 200 <= response.status < 300:
                    return
                body = await response.content.read(READ_BYTES)
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Away(_describe_problem(problem)) from None
        why = f"status {response.status}: {self._read_reason(body)}".removesuffix(": ")
        if response.status in NO_RETRY:
            dropped = _DROPPED.search(why)
            raise Refused(why, max(1, int(dropped[1])) if dropped else len(points))
        raise Away(why, _read_retry_after(response.headers.get("Retry-After", "")))

    async def close(self) -> None:
        """See `Target`."""
        if self._http is not None:
            await self._http.close()

    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                headers={"Content-Type": "text/plain; charset=utf-8", **self._credentials()},
                timeout=aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S),
                trust_env=False,
            )
        return self._http

    def _credentials(self) -> dict[str, str]:
        if not self._token:
            return {}
        if _is_first_version(self._url):
            user, _, password = self._token.partition(":")
            return {"Authorization": aiohttp.encode_basic_auth(user, password, "utf-8")}
        return {"Authorization": f"Token {self._token}"}

    def _read_reason(self, body: bytes) -> str:
        """Return the server's message on one line, without secrets."""
        text = body.decode("utf-8", "replace")
        with suppress(ValueError, RecursionError):
            answer = json.loads(text)
            if isinstance(answer, dict):
                text = str(answer.get("message") or answer.get("error") or text)
        sent = self._credentials().get("Authorization", "").partition(" ")[2]
        for secret in filter(None, (self._token, self._token.partition(":")[2], sent)):
            text = text.replace(secret, "***")
        return " ".join("".join(c if c.isprintable() else " " for c in text).split())[
            :REASON_CHARACTERS
        ]


def _describe_problem(problem: Exception) -> str:
    if isinstance(problem, TimeoutError):
        return "it does not answer"
    if isinstance(problem, OSError) and problem.strerror:
        # The event loop's own text contains the address; an unknown host name has no errno.
        number = problem.errno or 0
        return os.strerror(number) if number > 0 else problem.strerror
    return type(problem).__name__


def _read_retry_after(text: str) -> float:
    return min(float(text), LONGEST_PAUSE_S) if re.fullmatch(r"\d{1,6}", text) else 0.0


def to_line(point: Point) -> bytes:
    """Format a point as a line with its line break; empty without a field to write."""
    tags = "".join(
        f",{name}={word}" for name in TAGS if (word := _escape_word(point.tags.get(name, "")))
    )
    fields = ",".join(
        f"{_escape_key(name)}={_format_value(value)}"
        for name, value in point.fields.items()
        if not isinstance(value, float) or math.isfinite(value)
    )
    return f"{point.table}{tags} {fields} {point.ns}\n".encode() if fields else b""


def _escape_key(name: str) -> str:
    """Escape a field name; a leading underscore is reserved for the server."""
    word = _escape_word(name).lstrip("_")
    return f"{word}_" if word in RESERVED or not word else word


def _escape_word(text: str) -> str:
    return _replace_control_characters(text).strip().translate(_WORD)


def _replace_control_characters(text: str) -> str:
    """Replace line breaks, other control characters and lone surrogates by spaces."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _format_value(value: Value) -> str:
    if isinstance(value, str):
        return f'"{_replace_control_characters(value).translate(_TEXT)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value))
