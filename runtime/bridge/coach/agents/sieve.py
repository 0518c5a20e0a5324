"""Lets a text that comes in pieces pass sentence by sentence; pure."""

import re
from collections.abc import Callable
from typing import Final

from runtime.bridge.coach.warm.grounding import leans, sentences

_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+")
_ENDS: Final = (".", "!", "?", "\u201d", '"', ")")


class Sieve:
    """Holds a sentence back until it is whole; those that fail go, and so do repetitions.

    What leans on a sentence that went, as *It cost you more* does, goes with it.
    """

    def __init__(self, passes: Callable[[str], bool], *known: str) -> None:
        self.dropped = 0
        """Sentences that failed."""
        self._passes = passes
        self._waiting = ""
        self._gone = False
        self._seen = set(known)

    def feed(self, piece: str) -> list[str]:
        """The sentences that are whole now and may be shown."""
        self._waiting += piece
        *lines, self._waiting = self._waiting.split("\n")
        whole = [one for line in lines for one in _cut(line)]
        begun = sentences(self._waiting)
        if len(begun) > 1:  # the last one may go on
            self._waiting = self._waiting[self._waiting.rindex(begun[-1]) :]
            whole += _cut(" ".join(begun[:-1]))
        return self._shown(whole)

    def finish(self, piece: str = "", *, cut: bool = False) -> list[str]:
        """What is left at the end; with *cut* the last sentence counts only if it is finished."""
        shown = self.feed(piece)
        last = _cut(self._waiting)
        self._waiting = ""
        if cut and last and not last[-1].endswith(_ENDS):
            last.pop()
        return shown + self._shown(last)

    def _shown(self, lines: list[str]) -> list[str]:
        shown = []
        for line in lines:
            if line in self._seen:
                continue
            self._seen.add(line)
            self._gone = not self._passes(line) or (self._gone and leans(line))
            if self._gone:
                self.dropped += 1
            else:
                shown.append(line)
        return shown


def _cut(line: str) -> list[str]:
    return sentences(_BULLET.sub("", line))
