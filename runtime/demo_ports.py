"""The ports of the demo: those that were asked for where they are free, else others."""

import argparse
import errno
import socket
import sys
from collections.abc import Collection, Sequence
from typing import Final

HIGHEST_PORT: Final = 65535
NEIGHBOURS: Final = 20
"""Ports above a taken one that are tried before any other."""


def port_number(text: str) -> int:
    """A port; raises the error that argparse shows."""
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port; use 0 to {HIGHEST_PORT}, 0 for any")
    return int(text)


def free(port: int, avoided: Collection[int] = ()) -> int:
    """*port* where nothing listens on it, else another, and a line that says so.

    Those in *avoided* are promised to others. A port is chosen here, not by the program that
    listens on it, since one program is told another's.
    """
    why = "is meant for two" if port in avoided else _refusal(port)
    if not why:
        return port if port else _any_port()
    for other in range(port + 1, min(port + NEIGHBOURS, HIGHEST_PORT) + 1):
        if other not in avoided and not _refusal(other):
            break
    else:
        other = _any_port()
    sys.stderr.write(f"demo: port {port} {why}, using {other}\n")
    return other


def choose(wanted: Sequence[int]) -> list[int]:
    """A free port for each of *wanted*, no two the same; 0 is any."""
    chosen: list[int] = []
    for index, port in enumerate(wanted):
        chosen.append(free(port, {*chosen, *wanted[index + 1 :]} - {0}))
    return chosen


def _refusal(port: int) -> str:
    """Why nothing can listen on *port*; empty where it can."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            return "is taken" if taken else f"cannot be used ({error.strerror})"
    return ""


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
