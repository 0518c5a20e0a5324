"""Announces a server on the local network by multicast DNS service discovery."""

import asyncio
import contextlib
import ipaddress
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import psutil
from zeroconf import Error, InterfaceChoice, ServiceInfo
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

log = logging.getLogger(__name__)

POLL_S: Final = 20.0
"""Seconds between checks of the addresses of the machine."""
_GOODBYE_S: Final = 3.0

Auth = Literal["key", "open"]


class Announcement(NamedTuple):
    """The announcement of a server, apart from its address."""

    service_type: str
    """For example ``_http._tcp.local.``"""
    instance: str
    """The instance name, unless another server has it."""
    properties: Mapping[str, str]


def reachable_addresses() -> list[str]:
    """The IPv4 addresses under which other machines reach this one, sorted.

    The server listens on every IPv4 interface. Asks the system: call it off the event loop.
    """
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    return sorted(
        {
            address.address
            for name, addresses in psutil.net_if_addrs().items()
            for address in addresses
            if name in up
            and address.family == socket.AF_INET
            and not ipaddress.ip_address(address.address).is_loopback
        }
    )


class Announcer:
    """Keeps one announcement of this server on the network, in the background.

    A failure is logged and tried again at the next look at the addresses; it never reaches the
    caller. When the addresses change the old announcement is taken back and a new one is made: an
    update in place would leave the old address in the memory of other machines.
    """

    def __init__(
        self,
        announcement: Announcement,
        addresses: Callable[[], Sequence[str]],
        *,
        interfaces: Sequence[str] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """*addresses* is called in a thread; *interfaces* are the local addresses that
        multicast goes through, None for all.
        """
        self._announcement = announcement
        self._addresses = addresses
        self._interfaces = InterfaceChoice.All if interfaces is None else list(interfaces)
        self._sleep = sleep
        self._server = f"{announcement.instance.lower()}-{secrets.token_hex(4)}.local."
        self._task: asyncio.Task[None] | None = None
        self._name: str | None = None
        self._last_failure = ""

    @property
    def name(self) -> str | None:
        """The instance name on the network now; None: not announced."""
        return self._name

    def start(self, port: int, auth: Auth) -> None:
        """Start announcing the server at *port*; this takes about a second."""
        self._task = asyncio.create_task(self._run(port, auth), name="discovery")

    async def stop(self) -> None:
        """Withdraw the announcement. Harmless without a start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self, port: int, auth: Auth) -> None:
        while True:
            addresses = await self._look()
            if not addresses:
                await self._sleep(POLL_S)
                continue
            try:
                async with self._announced(port, auth, addresses):
                    while addresses == await self._look():
                        await self._sleep(POLL_S)
            except (Error, OSError, RuntimeError, TimeoutError) as error:
                self._log_failure(error)
                await self._sleep(POLL_S)

    async def _look(self) -> list[str]:
        """Return the current addresses; none if the system gives none."""
        try:
            return list(await asyncio.to_thread(self._addresses))
        except OSError as error:
            self._log_failure(error)
            return []

    def _log_failure(self, error: Exception) -> None:
        """Log a failure once until something else happens."""
        text = f"{type(error).__name__}: {error}"
        if text != self._last_failure:
            log.warning("the server is not announced on the network: %s", text)
        self._last_failure = text

    @contextlib.asynccontextmanager
    async def _announced(
        self, port: int, auth: Auth, addresses: Sequence[str]
    ) -> AsyncIterator[None]:
        """Keep the server registered, with open sockets, for the duration of the block."""
        network = AsyncZeroconf(interfaces=self._interfaces)
        try:
            info = service_info(self._announcement, port, auth, addresses, self._server)
            sent = await network.async_register_service(info, allow_name_change=True)
            await sent
            self._name = info.name.removesuffix(f".{info.type}")
            self._last_failure = ""
            log.info("announced on the network as %s at port %d", self._name, port)
            yield
        finally:
            self._name = None
            with contextlib.suppress(TimeoutError, OSError, Error):
                async with asyncio.timeout(_GOODBYE_S):
                    await network.async_close()


def service_info(
    announcement: Announcement, port: int, auth: Auth, addresses: Sequence[str], server: str
) -> ServiceInfo:
    """The service record: the port, the addresses, the path of the API, whether a key is set.

    *server* is the host name that the addresses stand under; the machine's own is nobody's
    business.
    """
    return AsyncServiceInfo(
        announcement.service_type,
        f"{announcement.instance}.{announcement.service_type}",
        port=port,
        parsed_addresses=list(addresses),
        server=server,
        properties={**announcement.properties, "auth": auth},
    )
