"""A careful HTTP client for a daemon that answers on this machine and may misbehave."""

import asyncio
import json
import math
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
from pydantic import SecretStr
from yarl import URL

from runtime.llm.errors import PromptTooLong, SysmodelBackgroundBlocked, SysmodelRuntimeError
from runtime.llm.models.addresses import (
    GuardedResolver,
    as_ip,
    is_local_name,
    loopback,
    plain_session,
    reachable,
)
from runtime.web.errors import ApiError

BACKGROUND_CODE: Final = 30
LINE_CAP: Final = 1 << 20
"""Bytes of one line; a token of text needs a few hundred."""
WHOLE_CAP: Final = 1 << 20
"""Bytes of a short answer."""
ERROR_CAP: Final = 1 << 16
STREAM_CAP: Final = 1 << 26
_BUSY_S: Final = 1.0
_BUSY_MAX_S: Final = 30.0
_SAYS_BACKGROUND: Final = re.compile(
    r"error ?code:? ?30\b|background usage is blocked|not in (?:the )?foreground", re.IGNORECASE
)
_SERVICE_NAMES: Final = ("sysmodel", "system model")
_BUSY_WORDS: Final = re.compile(
    r"busy|loading|overload|queue|try again|unavailable_error", re.IGNORECASE
)
# What a client must not read in somebody else's error text: addresses, paths, class names.
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


class Address(NamedTuple):
    """Where a daemon listens."""

    base: URL
    socket: str | None = None
    """Path of a unix socket; `base` then only names the path on it."""

    @property
    def local(self) -> bool:
        """Whether the traffic cannot leave this machine."""
        return self.socket is not None or is_local_name(self.base.host or "")


def parse_address(text: str, *, allow_remote: bool = False, socket_base: str = "/v1") -> Address:
    """Read ``http(s)://host[:port]/base`` or ``unix:/path/of.sock``.

    A unix socket is spoken to under *socket_base*. Raises `ValueError` with a text for the reader
    of the settings when the address is not one, or leads off this machine without *allow_remote*.
    """
    if text.startswith("unix:"):
        return _unix(text.removeprefix("unix:").removeprefix("//"), socket_base)
    split = urlsplit(text)
    if split.scheme not in ("http", "https") or not split.hostname:
        raise ValueError("must be http://host:port/base or unix:/path/of.sock")
    if split.username or split.password:
        raise ValueError("must not hold a user name or password; use api_key")
    if split.query or split.fragment:
        raise ValueError("must not have a query or a fragment")
    try:
        base = URL(text.rstrip("/"))
    except ValueError:
        raise ValueError("is not a valid address") from None
    _check_reach(base, allow_remote)
    return Address(base)


def _unix(path: str, socket_base: str) -> Address:
    if not hasattr(socket, "AF_UNIX"):
        raise ValueError("names a unix socket, which this system does not have")
    if not path.startswith("/") or "\0" in path:
        raise ValueError("must name a unix socket by its full path, as in unix:/run/model.sock")
    return Address(URL(f"http://localhost{socket_base}"), path)


def _check_reach(base: URL, allow_remote: bool) -> None:
    host = base.host or ""
    if is_local_name(host):
        return
    if not allow_remote:
        raise ValueError(
            "leads off this machine; the system model is on-device unless allow_remote is set"
        )
    if base.scheme != "https":
        raise ValueError("must be https when it leads off this machine")
    literal = as_ip(host)
    if literal is not None and not reachable(literal):
        raise ValueError("is a link-local or reserved address")


class Patience(NamedTuple):
    """How long each wait for a daemon may last, in seconds."""

    connect_s: float = 5.0
    whole_s: float = 5.0
    """For a short answer, from the request to its last byte."""
    first_s: float = 600.0
    """To the first event of a stream: a model may be loaded and a long prompt read before it."""
    stall_s: float = 60.0
    """From one event to the next; bytes that complete no event do not count."""
    busy_s: float = 600.0
    """For a daemon that says it is busy, all tries together."""


@dataclass(eq=False)
class DaemonTrouble(Exception):
    """A daemon could not be reached or did not do what was asked."""

    text: str
    """What happened, in our words, fit for a client."""
    status: int | None = None
    """The HTTP status, where there was an answer."""
    body: object = None
    """The error that the daemon sent: parsed JSON, or its text."""
    retry_after_s: float | None = None
    """Set when the daemon is only busy."""


class Daemon:
    """One daemon at one address: no redirects, no proxy, no compression, every wait bounded.

    Whatever goes wrong is raised as `DaemonTrouble`. Must be used inside one event loop.
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
        """The JSON value at *path*."""
        try:
            async with asyncio.timeout(self.patience.whole_s):
                async with self._opened("GET", path, None) as response:
                    raw = await _read(response, WHOLE_CAP)
        except TimeoutError:
            raise DaemonTrouble("the system model's daemon did not answer in time") from None
        return as_json(raw)

    async def stream(self, path: str, body: Mapping[str, object]) -> AsyncGenerator[str, None]:
        """Post *body* and yield the lines of the answer, blank ones and comments left out."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience.first_s
        size, rest = 0, b""
        try:
            async with AsyncExitStack() as stack:
                # No time limit spans a `yield`: the next piece may be awaited by another task.
                async with asyncio.timeout_at(deadline):
                    response = await stack.enter_async_context(self._opened("POST", path, body))
                more = True
                while more:
                    async with asyncio.timeout_at(deadline):
                        data = await response.content.readany()
                    more = bool(data)
                    size += len(data)
                    if size > STREAM_CAP:
                        raise DaemonTrouble("the system model's daemon does not stop talking")
                    *lines, rest = (rest + (data or b"\n")).split(b"\n")
                    if max(map(len, (*lines, rest))) > LINE_CAP:
                        raise DaemonTrouble("the system model's daemon sent an overlong line")
                    texts = [line.decode("utf-8", "replace").strip() for line in lines]
                    for line in texts:
                        if line and not line.startswith(":"):
                            yield line
                            deadline = loop.time() + self.patience.stall_s
        except TimeoutError:
            raise DaemonTrouble("the system model's daemon fell silent") from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    @asynccontextmanager
    async def _opened(
        self, method: str, path: str, body: Mapping[str, object] | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response with status 200; whatever else happened is a `DaemonTrouble`."""
        url = f"{self._address.base}{path}"
        try:
            async with self._connected().request(
                method, url, json=body, headers=self._headers(), allow_redirects=False
            ) as response:
                try:
                    await self._check(response)
                    yield response
                finally:
                    # At once, so that a daemon whose listener has left stops working.
                    response.close()
        except aiohttp.ClientConnectorError as failure:
            raise DaemonTrouble("the system model's daemon cannot be reached") from failure
        except aiohttp.ConnectionTimeoutError as failure:
            raise DaemonTrouble(
                "the system model's daemon does not accept connections"
            ) from failure
        except (aiohttp.ClientError, OSError, ValueError) as failure:
            if isinstance(failure, TimeoutError):
                raise
            raise DaemonTrouble("the system model's daemon broke off") from failure

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise DaemonTrouble("the system model's daemon sent a compressed answer")
        if response.status == 200:
            return
        if 300 <= response.status < 400:
            raise DaemonTrouble("the system model's daemon redirects, which is not followed")
        body: object = None
        with suppress(DaemonTrouble, TimeoutError):
            async with asyncio.timeout(self.patience.whole_s):
                raw = await _read(response, ERROR_CAP)
            body = raw.decode("utf-8", "replace")
            body = as_json(raw)
        raise _refusal(response, body)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}
        if self._key is not None and self._key.get_secret_value():
            headers["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        return headers

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = plain_session(self._connector(), sock_connect=self.patience.connect_s)
        return self._session

    def _connector(self) -> aiohttp.BaseConnector:
        # A fresh connection each time: a POST on a kept one that the daemon just closed would fail.
        if self._address.socket is not None:
            return aiohttp.UnixConnector(self._address.socket, force_close=True)
        rule = loopback if self._address.local else reachable
        return aiohttp.TCPConnector(resolver=GuardedResolver(rule), force_close=True)


def as_json(raw: bytes | str) -> object:
    """The value that *raw* spells. Raises `DaemonTrouble`."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise DaemonTrouble("the system model's daemon sent something that is not JSON") from None


def member(value: object, *names: str) -> object:
    """The member found by walking *names* down JSON objects, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count(value: object) -> int | None:
    """*value* if it is a JSON integer of 0 or more that can be a count of something."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= 1 << 53 else None


async def _read(response: aiohttp.ClientResponse, cap: int) -> bytes:
    raw = bytearray()
    while data := await response.content.readany():
        raw += data
        if len(raw) > cap:
            raise DaemonTrouble("the system model's daemon sent too long an answer")
    return bytes(raw)


def _refusal(response: aiohttp.ClientResponse, body: object) -> DaemonTrouble:
    status, header = response.status, response.headers.get("Retry-After")
    text = f"the system model's daemon answered with HTTP status {status}"
    retry: float | None = None
    if status in (401, 403):
        text = "the system model's daemon refused the key or the caller"
    elif is_busy(status, body, has_retry_after=header is not None):
        retry = _seconds(header)
        text = "the system model's daemon is busy"
    return DaemonTrouble(text, status, body, retry)


def _seconds(header: str | None) -> float:
    """The wait that ``Retry-After`` asks for, within reason; a date counts as no number."""
    try:
        seconds = float(header or "")
    except ValueError:
        return _BUSY_S
    return min(max(seconds, 0.1), _BUSY_MAX_S) if math.isfinite(seconds) else _BUSY_S


def error_text(body: object) -> str:
    """The words in a daemon's error: ``{"error": {"message"}}``, ``{"error": "…"}`` or a text."""
    inner = _inner(body)
    if isinstance(inner, dict):
        inner = inner.get("message", inner.get("detail"))
    return inner if isinstance(inner, str) else ""


def sanitise(text: str) -> str:
    """The first line of *text* without addresses, paths and class names, cut to a length."""
    line = next((part.strip() for part in text[:2000].splitlines() if part.strip()), "")
    line = _PRIVATE.sub("…", "".join(char for char in line if char.isprintable()))
    return line if len(line) <= _TEXT_CAP else line[: _TEXT_CAP - 1] + "…"


def is_background_block(body: object) -> bool:
    """Whether a daemon refuses because its host program is in the background (code 30)."""
    inner = _inner(body)
    if isinstance(inner, dict):
        codes = [inner.get(key) for key in ("code", "errorCode", "error_code")]
        if any(_is_thirty(code) for code in codes) or "SYSMODEL_BACKGROUND_BLOCKED" in codes:
            return True
    text = error_text(body).lower()
    named = "foreground" in text and any(name in text for name in _SERVICE_NAMES)
    return named or _SAYS_BACKGROUND.search(text) is not None


def is_busy(status: int, body: object, *, has_retry_after: bool) -> bool:
    """Whether it is worth asking again later."""
    if status == 429:
        return True
    inner = _inner(body)
    kind = inner.get("type") if isinstance(inner, dict) else None
    words = f"{error_text(body)} {kind}"
    return status == 503 and (has_retry_after or _BUSY_WORDS.search(words) is not None)


def as_error(trouble: DaemonTrouble) -> ApiError:
    """The error that a chat client gets for *trouble*."""
    if trouble.body is not None and is_background_block(trouble.body):
        return SysmodelBackgroundBlocked(
            "the program that hosts the system model is in the background and refused"
        )
    too_long = _prompt_too_long(trouble.body)
    if too_long is not None:
        return too_long
    words = sanitise(error_text(trouble.body))
    return SysmodelRuntimeError(f"{trouble.text}: {words}" if words else trouble.text)


def _inner(body: object) -> object:
    return body.get("error", body) if isinstance(body, dict) else body


def _is_thirty(code: object) -> bool:
    return not isinstance(code, bool) and code in (BACKGROUND_CODE, str(BACKGROUND_CODE))


def _prompt_too_long(body: object) -> PromptTooLong | None:
    inner = _inner(body)
    if not isinstance(inner, dict) or inner.get("type") != "exceed_context_size_error":
        return None
    tokens, budget = inner.get("n_prompt_tokens"), inner.get("n_ctx")
    if not isinstance(tokens, int) or not isinstance(budget, int):
        return None
    return PromptTooLong(
        f"the prompt has {tokens} tokens and the system model's budget is {budget}",
        param="messages",
    )
