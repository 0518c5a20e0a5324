"""Which network addresses the server may connect to, no matter where names or redirects lead."""

import ipaddress
import socket
from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from runtime.web.access import Address, address_of

Rule = Callable[[Address], bool]

# Metadata services that answer outside the link-local range.
_METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254")))


def is_local_name(host: str) -> bool:
    """Whether *host* is ``localhost``, a subdomain of it, or a loopback literal."""
    folded = host.lower().removesuffix(".")
    if folded == "localhost" or folded.endswith(".localhost"):
        return True
    literal = address_of(folded)
    return literal is not None and is_loopback(literal)


def is_loopback(ip: Address) -> bool:
    """Whether packets to *ip* stay on this machine."""
    return ip.is_loopback


def is_reachable(ip: Address) -> bool:
    """Whether *ip* is an ordinary host, not a link-local, metadata, multicast or unset address."""
    special = ip.is_link_local or ip.is_multicast or ip.is_unspecified
    return not special and ip not in _METADATA


def is_public(ip: Address) -> bool:
    """Whether *ip* is on the internet: neither on this machine nor on a private network."""
    return is_reachable(ip) and ip.is_global


def is_private(ip: Address) -> bool:
    """Whether *ip* is on this machine or on a private network."""
    return is_reachable(ip) and not ip.is_global


class GuardedResolver(AbstractResolver):
    """Resolves names, but only to addresses that *rule* permits."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the permitted addresses of *host*. Raises `OSError` if there are none."""
        answers = await self._inner.resolve(host, port, family)
        kept = [entry for entry in answers if self._permits(entry["host"])]
        if not kept:
            raise OSError("the name resolves to an address that is not permitted")
        return kept

    async def close(self) -> None:
        """Release the inner resolver."""
        await self._inner.close()

    def _permits(self, host: str) -> bool:
        ip = address_of(host.partition("%")[0])
        return ip is not None and self.rule(ip)


def make_session(connector: aiohttp.BaseConnector, **waits: float) -> aiohttp.ClientSession:
    """Make a session without cookies, proxies and decompression; *waits* are in seconds."""
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, **waits),
    )
