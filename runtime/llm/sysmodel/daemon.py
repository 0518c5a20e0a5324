"""A careful HTTP client for a daemon that answers on this machine and may misbehave."""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import NamedTuple

import aiohttp
from pydantic import SecretStr

from runtime.llm.models.addresses import GuardedResolver, loopback, reachable
from runtime.llm.sysmodel.addresses import Address
from runtime.llm.sysmodel.failures import DaemonTrouble, is_busy
from runtime.llm.sysmodel.lines import Cutter, Overlong

_BUSY_S = 1.0
_BUSY_MAX_S = 30.0


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


class Caps(NamedTuple):
    """How much a daemon may say, in bytes."""

    whole: int = 1 << 20
    error: int = 1 << 16
    stream: int = 1 << 26


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
        caps: Caps | None = None,
    ) -> None:
        self.patience = patience or Patience()
        self._address = address
        self._key = key
        self._caps = caps or Caps()
        self._session: aiohttp.ClientSession | None = None

    async def get(self, path: str) -> object:
        """The JSON value at *path*."""
        try:
            async with asyncio.timeout(self.patience.whole_s):
                async with self._opened("GET", path, None) as response:
                    raw = await _read(response, self._caps.whole)
        except TimeoutError:
            raise DaemonTrouble("the system model's daemon did not answer in time") from None
        return as_json(raw)

    async def stream(
        self, path: str, body: Mapping[str, object], cutter: Cutter
    ) -> AsyncGenerator[str, None]:
        """Post *body* and yield the events of the answer as *cutter* finds them."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience.first_s
        size = 0
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
                    if size > self._caps.stream:
                        raise DaemonTrouble("the system model's daemon does not stop talking")
                    events = cutter.feed(data) if more else cutter.end()
                    for event in events:
                        yield event
                    if events:
                        deadline = loop.time() + self.patience.stall_s
        except TimeoutError:
            raise DaemonTrouble("the system model's daemon fell silent") from None
        except Overlong:
            raise DaemonTrouble("the system model's daemon sent an overlong line") from None

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
                raw = await _read(response, self._caps.error)
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
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.patience.connect_s),
            )
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


def field(value: object, *names: str) -> object:
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
