"""Who may call a server on this machine: host names that no foreign web page can borrow."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?\Z")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def allowed(header: str, bound: str, local: str) -> bool:
    """Whether the ``Host`` *header* names this server.

    *bound* is the address that the server was told to listen on, *local* the one that the
    connection reached. A page of another site can point a name of its own at this machine, so
    only loopback names and that very address pass; bound to a network, also our own name.
    """
    match = _HOST.match(header)
    if match is None:
        return False
    name = match[1].strip("[]").lower()
    if name in _LOOPBACK or name in (bound.lower(), local.lower()):
        return not _unspecified(name)
    return not _is_loopback(bound) and name in _own_names()


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, f"{name.split('.')[0]}.local"}


def _is_loopback(bound: str) -> bool:
    try:
        return ipaddress.ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"


def _unspecified(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False
