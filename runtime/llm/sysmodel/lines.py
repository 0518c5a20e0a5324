"""Cuts the bytes of a stream into lines or server-sent events, within a size limit."""

from typing import Protocol

LINE_CAP = 1 << 20
"""Bytes of one line or one event; a token of text needs a few hundred."""


class Overlong(Exception):
    """A line or an event is longer than its cap."""


class Cutter(Protocol):
    """Turns chunks of bytes into whole texts."""

    def feed(self, data: bytes) -> list[str]:
        """The texts that *data* completes. Raises `Overlong`."""
        ...

    def end(self) -> list[str]:
        """What is complete although the stream ended without saying so."""
        ...


class Lines:
    """One text a line; blank lines are skipped."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[str]:
        """The non-blank lines that *data* completes. Raises `Overlong`."""
        return [line for line in self.raw(data) if line.strip()]

    def end(self) -> list[str]:
        """The last line, when no line feed closed it."""
        last = bytes(self._rest).decode("utf-8", "replace").strip()
        return [last] if last else []

    def raw(self, data: bytes) -> list[str]:
        """Every line that *data* completes, blank ones too, without its line ending."""
        head, *tail = data.split(b"\n")
        if len(self._rest) + len(head) > self._cap or any(len(part) > self._cap for part in tail):
            raise Overlong
        self._rest += head
        if not tail:
            return []
        done = [bytes(self._rest), *tail[:-1]]
        self._rest = bytearray(tail[-1])
        return [line.decode("utf-8", "replace").removesuffix("\r") for line in done]


class Events:
    """One text an event: its ``data`` fields; comments and other fields are skipped."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._lines = Lines(cap)
        self._data: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> list[str]:
        """The data of the events that *data* completes. Raises `Overlong`."""
        done: list[str] = []
        for line in self._lines.raw(data):
            if line:
                self._take(line)
            else:
                done += self.end()
        return done

    def end(self) -> list[str]:
        """The event whose lines are whole, when no blank line closed it."""
        if not self._data:
            return []
        text, self._data, self._size = "\n".join(self._data), [], 0
        return [text]

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name != "data":
            return
        self._size += len(value) + 1
        if self._size > self._cap:
            raise Overlong
        self._data.append(value.removeprefix(" "))
