"""A serial adapter on a pty, a source that a test feeds, and waiting for a condition."""

import os
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runtime.bridge.can.frames import CanFrame, Received, SourceLost

ROOT: Final = Path(__file__).resolve().parents[3]


class Adapter:
    """The device's end of a serial line."""

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        self._slave: int | None = slave

    def say(self, data: bytes) -> None:
        """Send all of it; waits for the reader where the line is full."""
        while data:
            data = data[os.write(self._master, data) :]

    def heard(self) -> bytes:
        """What was written to the adapter; waits for something."""
        return os.read(self._master, 4096)

    def heard_until(self, end: bytes) -> bytes:
        """All that was written up to *end*."""
        heard = b""
        while not heard.endswith(end):
            heard += self.heard()
        return heard

    def unplug(self) -> None:
        """Pull the device; harmless when repeated."""
        for end in (self._slave, self._master):
            if end is not None and end >= 0:
                os.close(end)
        self._slave, self._master = None, -1


@contextmanager
def adapter() -> Iterator[Adapter]:
    """An adapter that is plugged in."""
    plugged = Adapter()
    try:
        yield plugged
    finally:
        plugged.unplug()


class Fed:
    """A source whose frames, losses and closing a test decides."""

    def __init__(self) -> None:
        self._more = threading.Condition()
        self._waiting: list[Received | Exception] = []
        self.closed = 0
        self.sent: list[CanFrame] = []

    def give(self, *frames: CanFrame) -> None:
        self.put(Received(frames))

    def put(self, what: Received | Exception) -> None:
        with self._more:
            self._waiting.append(what)
            self._more.notify()

    def read(self, timeout_s: float) -> Received:
        with self._more:
            if not self._waiting:
                self._more.wait(timeout_s)
            if not self._waiting:
                return Received(())
            what = self._waiting.pop(0)
        if isinstance(what, Exception):
            raise what
        return what

    def send(self, frame: CanFrame) -> None:
        raise SourceLost("listens only")

    def close(self) -> None:
        self.closed += 1


def until(condition: Callable[[], object], patience_s: float = 30.0) -> None:
    """Return once it holds; fails after *patience_s*."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come to pass")
        time.sleep(0.002)


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - plain names
