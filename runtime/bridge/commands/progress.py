"""Shows on a terminal how far the reading of a file is."""

import shutil
import time
from types import TracebackType
from typing import IO, BinaryIO, Final, Self, TextIO, cast

_REDRAW_S: Final = 0.1
_BAR: Final = 24
_CLEAR: Final = "\x1b[K"


class Bar:
    """One line that is drawn over and over; nothing where there is no terminal."""

    def __init__(self, out: TextIO, what: str, total: int, *, shown: bool) -> None:
        self._out = out
        self._what = what
        self._total = max(total, 1)
        self._shown = shown
        self._drawn = -1.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._drawn >= 0:
            self._out.write(f"\r{_CLEAR}")
            self._out.flush()

    def show(self, done: int) -> None:
        """So many bytes are read."""
        now = time.monotonic()
        if not self._shown or (now - self._drawn < _REDRAW_S and self._drawn >= 0):
            return
        self._drawn = now
        share = min(done / self._total, 1.0)
        filled = round(share * _BAR)
        line = f"{self._what}  [{'#' * filled}{'-' * (_BAR - filled)}] {share:4.0%}"
        self._out.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}{_CLEAR}")
        self._out.flush()

    def watch(self, stream: BinaryIO) -> BinaryIO:
        """The same stream; what is read of it is shown."""
        return cast(BinaryIO, _Watched(stream, self))


class _Watched:
    """The part of a binary stream that the readers use."""

    def __init__(self, stream: IO[bytes], bar: Bar) -> None:
        self._stream = stream
        self._bar = bar
        self.tell = stream.tell
        self.seek = stream.seek
        self.seekable = stream.seekable
        self.readline = stream.readline

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._bar.show(self._stream.tell())
        return data
