"""Which network addresses the server may reach out to on behalf of the system model."""

import ipaddress
import socket
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
Rule = Callable[[Ip], bool]

# Metadata services that answer outside the link-local range.
_METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "fd00:ec2::254")))


class Address(NamedTuple):
    """Where a daemon listens."""

    base: URL
    socket: str | None = None
    """Path of a unix socket; `base` then only names the path on it."""

    @property
    def local(self) -> bool:
        """Whether the traffic cannot leave this machine."""
        return self.socket is not None or is_local_name(self.base.host or "")


def parse(text: str, *, allow_remote: bool = False, socket_base: str = "/v1") -> Address:
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


def is_local_name(host: str) -> bool:
    """Whether *host* is ``localhost``, a name below it, or a loopback literal."""
    folded = host.lower().removesuffix(".")
    if folded == "localhost" or folded.endswith(".localhost"):
        return True
    literal = as_ip(folded)
    return literal is not None and loopback(literal)


def as_ip(host: str) -> Ip | None:
    """The address that *host* spells, or None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def loopback(ip: Ip) -> bool:
    """Whether packets to *ip* stay on this machine."""
    return _plain(ip).is_loopback


def reachable(ip: Ip) -> bool:
    """Whether *ip* is an ordinary host: no link-local, metadata, multicast or unset address."""
    plain = _plain(ip)
    odd = plain.is_link_local or plain.is_multicast or plain.is_unspecified
    return not odd and plain not in _METADATA


def public(ip: Ip) -> bool:
    """Whether *ip* lies on the internet: neither on this machine nor on a private network."""
    return reachable(ip) and _plain(ip).is_global


class GuardedResolver(AbstractResolver):
    """Resolves a name and keeps only addresses that *rule* permits, whatever the DNS says."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The permitted addresses of *host*; raises `OSError` when there are none."""
        found = await self._inner.resolve(host, port, family)
        kept = [entry for entry in found if self._permits(entry["host"])]
        if not kept:
            raise OSError("the name leads to an address that is not permitted")
        return kept

    async def close(self) -> None:
        """Release the inner resolver."""
        await self._inner.close()

    def _permits(self, host: str) -> bool:
        ip = as_ip(host.partition("%")[0])
        return ip is not None and self.rule(ip)


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


def _plain(ip: Ip) -> Ip:
    """*ip* without an IPv6 wrapping that hides an IPv4 address."""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip
