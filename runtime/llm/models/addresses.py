"""Which network addresses may be reached out to, whatever a name or a redirect says."""

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
    """Whether *host* is ``localhost``, a name below it, or a loopback literal."""
    folded = host.lower().removesuffix(".")
    if folded == "localhost" or folded.endswith(".localhost"):
        return True
    literal = address_of(folded)
    return literal is not None and loopback(literal)


def loopback(ip: Address) -> bool:
    """Whether packets to *ip* stay on this machine."""
    return ip.is_loopback


def reachable(ip: Address) -> bool:
    """Whether *ip* is an ordinary host: no link-local, metadata, multicast or unset address."""
    odd = ip.is_link_local or ip.is_multicast or ip.is_unspecified
    return not odd and ip not in _METADATA


def public(ip: Address) -> bool:
    """Whether *ip* lies on the internet: neither on this machine nor on a private network."""
    return reachable(ip) and ip.is_global


def private(ip: Address) -> bool:
    """Whether *ip* lies on this machine or on a private network."""
    return reachable(ip) and not ip.is_global


class GuardedResolver(AbstractResolver):
    """Resolves a name and keeps only addresses that *rule* permits, whatever the DNS says."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The permitted addresses of *host*; raises `OSError` when there are none."""
        answers = await self._inner.resolve(host, port, family)
        kept = [entry for entry in answers if self._permits(entry["host"])]
        if not kept:
            raise OSError("the name leads to an address that is not permitted")
        return kept

    async def close(self) -> None:
        """Release the inner resolver."""
        await self._inner.close()

    def _permits(self, host: str) -> bool:
        ip = address_of(host.partition("%")[0])
        return ip is not None and self.rule(ip)


def plain_session(connector: aiohttp.BaseConnector, **waits: float) -> aiohttp.ClientSession:
    """A session without cookies, proxies and decompression, whose *waits* are in seconds."""
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, **waits),
    )
