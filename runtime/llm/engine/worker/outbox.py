"""Events on their way to the server: written at once, or held while the socket is full."""

import select
import socket
import threading
import time
from typing import Final

STALL_S: Final = 30.0
"""How long the server may read nothing before a job is given up."""


class Stalled(Exception):
    """The server has read nothing for `STALL_S`."""


class Outbox:
    """A socket that several threads write whole lines to."""

    def __init__(self, connection: socket.socket, stall_s: float = STALL_S) -> None:
        self._socket = connection
        self._stall_s = stall_s
        self._lock = threading.Lock()
        self._rest = b""  # of a line of which the socket took only a part
        self._moved = time.monotonic()

    def has_room(self) -> bool:
        """Whether nothing is held; raises Stalled once the socket has been full for too long."""
        with self._lock:
            if self._rest:
                self._push(b"")
            if self._rest and time.monotonic() - self._moved > self._stall_s:
                raise Stalled
            return not self._rest

    def offer(self, line: bytes) -> None:
        """Send a line without waiting; what the socket does not take is held."""
        with self._lock:
            self._push(line)

    def send(self, line: bytes) -> None:
        """Send a line behind what is held; waits while the socket is full, raises Stalled."""
        with self._lock:
            self._push(line)
            until = time.monotonic() + self._stall_s
            while self._rest:
                left = until - time.monotonic()
                if left <= 0:
                    raise Stalled
                select.select([], [self._socket], [], left)
                before = len(self._rest)
                self._push(b"")
                if len(self._rest) < before:
                    until = time.monotonic() + self._stall_s

    def _push(self, line: bytes) -> None:
        data = self._rest + line if self._rest else line
        if not data:
            return
        try:
            sent = self._socket.send(data, socket.MSG_DONTWAIT)
            self._moved = time.monotonic()
        except BlockingIOError:
            sent = 0
        self._rest = data[sent:]
