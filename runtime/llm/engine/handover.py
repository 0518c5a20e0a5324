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
from types import TracebackType
from typing import Final

INHERITED: Final = os.name == "posix"
_MARK: Final = "flag:"
"""What the name of shared memory begins with; a descriptor is a number."""


class Handover:
    """What a process that is about to start is given; leave it when the process has begun."""

    def __init__(self, size: int) -> None:
        self.ours, self._theirs = socket.socketpair()
        """Our end of the connection."""
        self._file = None
        if INHERITED:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `__exit__`
            os.ftruncate(self._file.fileno(), size)  # a write would count as disk wait
            self.flag = mmap.mmap(self._file.fileno(), size)
            self.inherited = [self._theirs.fileno(), self._file.fileno()]
            connection, flag = map(str, self.inherited)
        else:
            name = f"{_MARK}{secrets.token_hex(16)}"
            self.flag = mmap.mmap(-1, size, tagname=name)
            self.inherited = []
            connection, flag = "stdin", name
        self.arguments: Sequence[str] = ("--socket", connection, "--flag", flag)

    def made_out_to(self, pid: int) -> bytes:
        """What the process *pid* has to read from its standard input; empty if it inherits all."""
        return b"" if INHERITED else self._theirs.share(pid)

    def __enter__(self) -> "Handover":
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._theirs.close()
        if self._file is not None:
            self._file.close()


def take_connection(given: str) -> socket.socket:
    """The socket of this process, as its command line names it."""
    if given == "stdin":
        connection = socket.fromshare(sys.stdin.buffer.read())
    else:
        connection = socket.socket(fileno=int(given))
    connection.setblocking(True)
    return connection


def take_flag(given: str, size: int) -> mmap.mmap:
    """The shared bytes, as the command line names them."""
    if given.startswith(_MARK):
        return mmap.mmap(-1, size, tagname=given)
    return mmap.mmap(int(given), size)
