"""Reads the address of a daemon that plays the system model."""

import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from yarl import URL

from runtime.llm.models.addresses import as_ip, is_local_name, reachable


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
