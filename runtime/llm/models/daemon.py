"""A careful HTTP client for a server of models that may misbehave: a daemon or an upstream."""

import asyncio
import json
import math
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from pydantic import SecretStr
from yarl import URL

from runtime.llm.errors import PromptTooLong
from runtime.llm.models.addresses import (
    GuardedResolver,
    is_local_name,
    is_loopback,
    is_private,
    is_reachable,
    make_session,
)
from runtime.web.access import address_of

LINE_CAP: Final = 1 << 20
"""Maximum bytes of a line; a token of text needs a few hundred."""
WHOLE_CAP: Final = 1 << 20
"""Maximum bytes of a short answer."""
ERROR_CAP: Final = 1 << 16
STREAM_CAP: Final = 1 << 26
_BUSY_S: Final = 1.0
_BUSY_MAX_S: Final = 30.0
_BUSY_WORDS: Final = re.compile(
    r"busy|loading|overload|queue|try again|unavailable_error", re.IGNORECASE
)
# What clients must not see of foreign error texts: addresses, paths, class names.
_PRIVATE: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"
    r"|\[?(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?::\d+)?"
    r"|\blocalhost(?::\d+)?\b"
    r"|(?:~|\.{1,2}|\b[A-Za-z]:)?[/\\][^\s'\"<>|,;]+"
    r"|\b(?:[A-Za-z_]\w*[.$])*[A-Z]\w*(?:Error|Exception|Failure)\b",
    re.IGNORECASE,
)
_TEXT_CAP: Final = 200


JsonObject = Mapping[str, object]
Headers = Mapping[str, str]


class Address(NamedTuple):
    """Where a daemon listens."""

    base: URL
    socket: str | None = None
    """Path of a unix socket; then only the path of `base` is used."""

    @property
    def local(self) -> bool:
        """Whether the traffic stays on this machine."""
        return self.socket is not None or is_local_name(self.base.host or "")


def parse_address(
    text: str,
    *,
    allow_remote: bool = False,
    allow_private: bool = False,
    socket_base: str = "/v1",
) -> Address:
    """Parse ``http(s)://host[:port]/base`` or ``unix:/path/of.sock``.

    *socket_base* is the base path on a unix socket. Raises `ValueError`, with a text for the
    settings' author, for an invalid address, one on another machine without *allow_remote*, or an
    unencrypted one there, except on a private network with *allow_private*.
    """
    if text.startswith("unix:"):
        return _parse_unix(text.removeprefix("unix:").removeprefix("//"), socket_base)
    split = urlsplit(text)
    if split.scheme not in ("http", "https") or not split.hostname:
        raise ValueError("must be http://host:port/base or unix:/path/of.sock")
    if split.username or split.password:
        raise ValueError("must not contain a user name or password; a key has its own setting")
    if split.query or split.fragment:
        raise ValueError("must not have a query or a fragment")
    try:
        base = URL(text.rstrip("/"))
    except ValueError:
        raise ValueError("is not a valid address") from None
    _check_reach(base, allow_remote, allow_private)
    return Address(base)


def _parse_unix(path: str, socket_base: str) -> Address:
    if not hasattr(socket, "AF_UNIX"):
        raise ValueError("is a unix socket, which this system does not support")
    if not path.startswith("/") or "\0" in path:
        raise ValueError("must be the absolute path of a unix socket, such as unix:/run/model.sock")
    return Address(URL(f"http://localhost{socket_base}"), path)


def _check_reach(base: URL, allow_remote: bool, allow_private: bool) -> None:
    host = base.host or ""
    if is_local_name(host):
        return
    if not allow_remote:
        raise ValueError(
            "is on another machine, which only allow_remote permits for the system model"
        )
    if base.scheme != "https" and not allow_private:
        raise ValueError("must be https if it is on another machine")
    literal = address_of(host)
    if literal is None:
        return
    if not is_reachable(literal):
        raise ValueError("is a link-local or reserved address")
    if base.scheme != "https" and not is_private(literal):
        raise ValueError("must be https outside of a private network")


class Patience(NamedTuple):
    """Time limits for a daemon, in seconds."""

    connect_s: float = 5.0
    whole_s: float = 5.0
    """For a short answer, from the request to the last byte."""
    first_s: float = 600.0
    """Until the first event of a stream, which may follow a model load and a long prompt."""
    stall_s: float = 60.0
    """Between events; incomplete events do not count."""
    busy_s: float = 600.0
    """For retrying a busy daemon."""


@dataclass(eq=False)
class DaemonTrouble(Exception):
    """A daemon could not be reached or did not fulfil a request."""

    text: str
    """What the daemon did, as text for a client: a sentence without its subject."""
    status: int | None = None
    """The HTTP status, if there was an answer."""
    body: object = None
    """The daemon's error: parsed JSON, or text."""
    retry_after_s: float | None = None
    """Set if the daemon is only busy."""
    away: bool = False
    """Whether the daemon could not be reached, broke off or fell silent."""


class Daemon:
    """A client of a daemon: no redirects, no proxy, no compression, every wait is limited.

    All failures are raised as `DaemonTrouble`. Must be used in a single event loop.
    """

    def __init__(
        self,
        address: Address,
        *,
        key: SecretStr | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.patience = patience or Patience()
        self._address = address
        self._key = key
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str) -> object:
        """Fetch the JSON value at *path*."""
        return parse_json(await self._fetch("GET", path, None, WHOLE_CAP, self.patience.whole_s))

    async def post(self, path: str, body: JsonObject, headers: Headers, cap: int) -> bytes:
        """Post *body* and return the whole answer, of at most *cap* bytes."""
        return await self._fetch("POST", path, body, cap, self.patience.first_s, headers)

    async def _fetch(
        self,
        method: str,
        path: str,
        body: JsonObject | None,
        cap: int,
        limit_s: float,
        headers: Headers = MappingProxyType({}),
    ) -> bytes:
        try:
            async with asyncio.timeout(limit_s):
                async with self._open_response(method, path, body, headers) as response:
                    return await _read(response, cap)
        except TimeoutError:
            raise DaemonTrouble("did not answer in time", away=True) from None

    async def stream(
        self, path: str, body: JsonObject, headers: Headers = MappingProxyType({})
    ) -> AsyncGenerator[str, None]:
        """Post *body* and yield the lines of the answer, without blank lines and comments."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience.first_s
        size, rest = 0, b""
        try:
            async with AsyncExitStack() as stack:
                # No time limit spans a `yield`: another task may await the next piece.
                async with asyncio.timeout_at(deadline):
                    response = await stack.enter_async_context(
                        self._open_response("POST", path, body, headers)
                    )
                more = True
                while more:
                    async with asyncio.timeout_at(deadline):
                        data = await response.content.readany()
                    more = bool(data)
                    size += len(data)
                    if size > STREAM_CAP:
                        raise DaemonTrouble("does not end its reply")
                    *lines, rest = (rest + (data or b"\n")).split(b"\n")
                    if max(map(len, (*lines, rest))) > LINE_CAP:
                        raise DaemonTrouble("sent an overlong line")
                    texts = [line.decode("utf-8", "replace").strip() for line in lines]
                    for line in texts:
                        if line and not line.startswith(":"):
                            yield line
                            deadline = loop.time() + self.patience.stall_s
        except TimeoutError:
            raise DaemonTrouble("fell silent", away=True) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def _open_response(
        self, method: str, path: str, body: JsonObject | None, headers: Headers
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield its response; any status but 200 is a `DaemonTrouble`."""
        url = f"{self._address.base}{path}"
        sent = {**self._headers(), **headers}
        try:
            async with self._open_session().request(
                method,
                url,
                json=body,
                headers=sent,
                allow_redirects=False,
            ) as response:
                try:
                    await self._check(response)
                    yield response
                finally:
                    # At once, so that a daemon stops working when its client has left.
                    response.close()
        except aiohttp.ClientConnectorError as failure:
            raise DaemonTrouble("cannot be reached", away=True) from failure
        except aiohttp.ConnectionTimeoutError as failure:
            raise DaemonTrouble("does not accept connections", away=True) from failure
        except (aiohttp.ClientError, OSError, ValueError) as failure:
            if isinstance(failure, TimeoutError):
                raise
            is_invalid = isinstance(failure, aiohttp.ClientResponseError | ValueError)
            raise DaemonTrouble("broke off", away=not is_invalid) from failure

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise DaemonTrouble("sent a compressed answer")
        if response.status == 200:
            return
        if 300 <= response.status < 400:
            raise DaemonTrouble("redirects, which is not followed")
        body: object = None
        with suppress(DaemonTrouble, TimeoutError):
            async with asyncio.timeout(self.patience.whole_s):
                raw = await _read(response, ERROR_CAP)
            body = raw.decode("utf-8", "replace")
            body = parse_json(raw)
        raise _refusal(response, body)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}
        if self._key is not None and self._key.get_secret_value():
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        return headers

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = make_session(
                self._make_connector(), sock_connect=self.patience.connect_s
            )
        return self._session

    def _make_connector(self) -> aiohttp.BaseConnector:
        # A new connection each time: a POST on one that the daemon has just closed would fail.
        if self._address.socket is not None:
            return aiohttp.UnixConnector(self._address.socket, force_close=True)
        far = is_reachable if self._address.base.scheme == "https" else is_private
        rule = is_loopback if self._address.local else far
        return aiohttp.TCPConnector(resolver=GuardedResolver(rule), force_close=True)


def parse_json(raw: bytes | str) -> object:
    """Parse JSON. Raises `DaemonTrouble`."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise DaemonTrouble("sent something that is not JSON") from None


def member(value: object, *names: str) -> object:
    """Get the member at the path *names* of JSON objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count(value: object) -> int | None:
    """Return *value* if it is a plausible count: a JSON integer from 0 to 2^53; else None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= 1 << 53 else None


async def _read(response: aiohttp.ClientResponse, cap: int) -> bytes:
    raw = bytearray()
    while data := await response.content.readany():
        raw += data
        if len(raw) > cap:
            raise DaemonTrouble("sent too long an answer")
    return bytes(raw)


def _refusal(response: aiohttp.ClientResponse, body: object) -> DaemonTrouble:
    status, header = response.status, response.headers.get("Retry-After")
    text = f"answered with HTTP status {status}"
    retry: float | None = None
    if status in (401, 403):
        text = "refused the key or the caller"
    elif is_busy(status, body, has_retry_after=header is not None):
        retry = _parse_retry_after(header)
        text = "is busy"
    return DaemonTrouble(text, status, body, retry)


def _parse_retry_after(header: str | None) -> float:
    """Parse ``Retry-After``, limited to a reasonable range; dates are ignored."""
    try:
        seconds = float(header or "")
    except ValueError:
        return _BUSY_S
    return min(max(seconds, 0.1), _BUSY_MAX_S) if math.isfinite(seconds) else _BUSY_S


def read_error_text(body: object) -> str:
    """The text of a daemon's error: ``{"error": {"message"}}``, ``{"error": "…"}`` or a text."""
    part = read_error_part(body)
    if isinstance(part, dict):
        part = part.get("message", part.get("detail"))
    return part if isinstance(part, str) else ""


def sanitise(text: str) -> str:
    """The first line of *text* without addresses, paths and class names, cut to a limit."""
    line = next((part.strip() for part in text[:2000].splitlines() if part.strip()), "")
    line = _PRIVATE.sub("…", "".join(char for char in line if char.isprintable()))
    return line if len(line) <= _TEXT_CAP else line[: _TEXT_CAP - 1] + "…"


def is_busy(status: int, body: object, *, has_retry_after: bool) -> bool:
    """Whether a later retry is worthwhile."""
    if status == 429:
        return True
    kind = member(read_error_part(body), "type")
    words = f"{read_error_text(body)} {kind}"
    return status == 503 and (has_retry_after or _BUSY_WORDS.search(words) is not None)


def read_error_part(body: object) -> object:
    """The value under ``error``, or the whole body."""
    return body.get("error", body) if isinstance(body, dict) else body


def detect_long_prompt(body: object) -> PromptTooLong | None:
    """The error for a prompt that exceeds the model's budget, if *body* reports one."""
    part = read_error_part(body)
    if member(part, "type") != "exceed_context_size_error":
        return None
    tokens, budget = count(member(part, "n_prompt_tokens")), count(member(part, "n_ctx"))
    if tokens is None or budget is None:
        return None
    return PromptTooLong(
        f"the prompt has {tokens} tokens, and the model's budget is {budget}", param="messages"
    )
