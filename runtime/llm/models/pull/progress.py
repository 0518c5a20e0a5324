"""Shows on a terminal, or line by line elsewhere, how far a long step is."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TextIO

REDRAW_S: Final = 0.1
SMALL: Final = 1 << 20
"""Bytes below which a step is over before it could be shown."""
_QUARTER: Final = 25
_BAR: Final = 24
_CLEAR: Final = "\x1b[K"


def in_words(size: int) -> str:
    """Bytes as people say them: ``83.5 MB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def _columns() -> int:
    return shutil.get_terminal_size().columns


@dataclass(frozen=True)
class Screen:
    """Where progress is shown, and how."""

    out: TextIO
    live: bool
    """One line that is drawn over and over; else a line a quarter."""
    clock: Callable[[], float] = time.monotonic
    columns: Callable[[], int] = _columns

    @classmethod
    def of(cls, out: TextIO, environ: Mapping[str, str]) -> Self:
        """Live on a terminal, unless the user wants no control sequences."""
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        return cls(out, out.isatty() and not plain)

    def say(self, what: str) -> None:
        """Name a step that takes a moment."""
        self.out.write(f"{what}\n")
        self.out.flush()

    def step(self, what: str, total: int) -> "Progress":
        """A step over *total* bytes, shown under the name *what*."""
        return Progress(self, what, total)


class Progress:
    """One step; `show` may be called as often as one likes."""

    def __init__(self, screen: Screen, what: str, total: int) -> None:
        self._screen = screen
        self._what = what
        self._total = max(total, 1)
        self._began: float | None = None
        self._first = 0
        self._drawn = float("-inf")
        self._said = -_QUARTER

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._screen.live and self._drawn > float("-inf"):
            self._write("\n")

    def show(self, done: int) -> None:
        """*done* bytes are through."""
        now = self._screen.clock()
        if self._began is None:
            self._began, self._first = now, done
        share = min(done / self._total, 1.0)
        if self._total < SMALL:
            return
        if not self._screen.live:
            self._quarter(int(share * 100))
        elif now - self._drawn >= REDRAW_S or done >= self._total:
            self._drawn = now
            self._write(f"\r{self._line(share, done, now)[: self._screen.columns() - 1]}{_CLEAR}")

    def _quarter(self, percent: int) -> None:
        reached = percent // _QUARTER * _QUARTER
        if reached > self._said:
            self._said = reached
            self._write(f"{self._what}: {reached} %\n")

    def _line(self, share: float, done: int, now: float) -> str:
        filled = round(share * _BAR)
        bar = "#" * filled + "-" * (_BAR - filled)
        sizes = f"{in_words(done)} of {in_words(self._total)}"
        line = f"{self._what}  [{bar}] {share:4.0%}  {sizes}{self._speed(done, now)}"
        if len(line) < self._screen.columns():
            return line
        return f"{self._what} {share:.0%}"

    def _speed(self, done: int, now: float) -> str:
        elapsed = now - (self._began if self._began is not None else now)
        fetched = done - self._first
        if elapsed < 1 or fetched <= 0:
            return ""
        left = round((self._total - done) * elapsed / fetched)
        return f"  {in_words(int(fetched / elapsed))}/s  {left // 60}:{left % 60:02} left"

    def _write(self, text: str) -> None:
        self._screen.out.write(text)
        self._screen.out.flush()
