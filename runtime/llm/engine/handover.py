"""Gives a worker process its end of the socket and the shared bytes of its flags, on every system.

POSIX systems let a process inherit both as descriptors. Windows does not: there the flags are named
memory, and the socket is written to the standard input, made out to the process that reads it.
"""

import mmap
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack


class Handover:
    """What a process that is about to start is given; leave it when the process has begun."""

    def __init__(self, size: int) -> None:
        self.ours, self._theirs = socket.socketpair()
        """Our end of the connection."""
        self.inherited: list[int] = []
        self._open = ExitStack()
        self._open.enter_context(self._theirs)
        if sys.platform == "win32":
            connection, flag = "stdin", f"flag-{secrets.token_hex(16)}"
            self.flag = mmap.mmap(-1, size, tagname=flag)
        else:
            file = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            os.ftruncate(file.fileno(), size)  # a write would count as disk wait
            self.flag = mmap.mmap(file.fileno(), size)
            self.inherited = [self._theirs.fileno(), file.fileno()]
            connection, flag = map(str, self.inherited)
        self.arguments: Sequence[str] = ("--socket", connection, "--flag", flag)

    def made_out_to(self, pid: int) -> bytes:
        """What the process *pid* has to read from its standard input; empty if it inherits all."""
        if sys.platform == "win32":
            return self._theirs.share(pid)
        return b""

    def __enter__(self) -> "Handover":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def take_connection(given: str) -> socket.socket:
    """The socket of this process, as its command line names it."""
    if sys.platform == "win32":
        connection = socket.fromshare(sys.stdin.buffer.read())
    else:
        connection = socket.socket(fileno=int(given))
    connection.setblocking(True)
    return connection


def take_flag(given: str, size: int) -> mmap.mmap:
    """The shared bytes, as the command line names them."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size, tagname=given)
    return mmap.mmap(int(given), size)
