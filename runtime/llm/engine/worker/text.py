"""From token bytes to text: whole characters only, and nothing from a stop text on."""

import codecs
from collections.abc import Sequence
from typing import Final

MARKERS: Final = ("<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|end|>", "<|endoftext|>", "</s>")
"""End-of-turn texts that a model may spell out in ordinary tokens."""


def markers_of(template: str) -> tuple[str, ...]:
    """The end-of-turn texts that a chat template writes."""
    return tuple(marker for marker in MARKERS if marker in template)


class Decoder:
    """Incremental UTF-8; bytes that are no UTF-8 become U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> str:
        """The characters that are complete now."""
        return self._decoder.decode(piece)

    def flush(self) -> str:
        """What an unfinished character at the end becomes."""
        return self._decoder.decode(b"", final=True)


class StopScanner:
    """Lets text through until the first stop text; holds back an end that may begin one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple({stop for stop in stops if stop})
        self._starts = frozenset(stop[0] for stop in self._stops)
        self._held = ""
        self.stopped = False

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        if self.stopped:
            return ""
        if not self._held and self._starts.isdisjoint(text):
            return text
        text = self._held + text
        ends = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if ends:  # the first to be complete, so that the cut does not depend on the pieces
            self.stopped = True
            self._held = ""
            return text[: min(ends)[1]]
        keep = max(_overlap(text, stop) for stop in self._stops)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """The held text, once nothing more can come."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of *text* that begins *stop* and is not all of it."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0
