"""Reads Vector's text logs (ASC), classic and CAN FD."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

from runtime.bridge.formats.canlog.readers.lines import Frames, line_blocks
from runtime.bridge.formats.canlog.values import CHUNK, CLASSIC, LONGEST, Batch, Tally
from runtime.bridge.formats.errors import UnreadableRecording

_LENGTHS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)
_MONTHS: Final = (
    "jan feb mar apr may jun jul aug sep oct nov dec".split(),
    "jan feb mär apr mai jun jul aug sep okt nov dez".split(),
)
_DATE: Final = re.compile(
    r"(\w{3,})\s+(\d{1,2})\s+(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?\s*([ap]m)?\s+(\d{4})", re.I
)
_OPENING: Final = re.compile(rb"\s*(date\s|base\s+(hex|dec)|//|begin triggerblock)", re.I)


class AscReader:
    """An ASC log; *channel* is the number of a channel as written, None: all."""

    def __init__(self, stream: BinaryIO, channel: str | None = None) -> None:
        self.tally = Tally()
        self._stream = stream
        self._frames = Frames(self.tally, channel)
        self._base = 16
        self._deltas = False
        self._started = 0.0
        self._t = 0.0

    def __iter__(self) -> Iterator[Batch]:
        """Blocks of frames; raises `UnreadableRecording` for a file without an ASC head."""
        opened = False
        for block in line_blocks(self._stream, self.tally):
            if not opened and not _OPENING.match(block.removeprefix(b"\xef\xbb\xbf")):
                raise UnreadableRecording(
                    "the file is no ASC log: it begins with no date and no base"
                )
            opened = True
            for line in block.decode("utf-8", "replace").split("\n"):
                self._line(line)
                if len(self._frames) >= CHUNK:
                    yield self._frames.take()
        if len(self._frames):
            yield self._frames.take()

    def _line(self, line: str) -> None:
        words = line.split()
        if len(words) < 3:
            return
        try:
            stamp = float(words[0])
        except ValueError:
            self._head(words, line)
            return
        self._t = self._t + stamp if self._deltas else stamp
        try:
            if words[1].isdecimal():
                self._classic(words)
            elif words[1].upper() == "CANFD":
                self._flexible(words)
        except (ValueError, IndexError):
            self.tally.malformed += 1

    def _head(self, words: list[str], line: str) -> None:
        first = words[0].lower().lstrip("\ufeff")
        if first == "base":
            self._base = 10 if words[1].lower() == "dec" else 16
            self._deltas = words[-1].lower() == "relative"
            self.tally.notes["time_stamps"] = "relative" if self._deltas else "absolute"
        elif first == "date" or (first == "begin" and words[1].lower() == "triggerblock"):
            moment = _moment(line)
            if moment is not None:
                self.tally.created = self._started = moment
                self.tally.notes["start_date"] = "as written, read as UTC"

    def _classic(self, words: list[str]) -> None:
        channel, word = words[1], words[2]
        if word.lower() == "errorframe":
            self.tally.errors += 1
            return
        if words[3].lower() not in ("rx", "tx", "txrq"):
            return  # statistics and other events of the channel
        kind = words[4].lower()
        if kind == "r":
            self.tally.remote += 1
            return
        if kind != "d":
            raise ValueError("neither data nor remote")
        length = min(_LENGTHS[int(words[5], self._base)], CLASSIC)
        self._add(channel, word, words[6 : 6 + length], length)

    def _flexible(self, words: list[str]) -> None:
        channel = words[2]
        rest = [word.lower() for word in words[3:]]
        if "errorframe" in rest[:2]:
            self.tally.errors += 1
            return
        # A symbolic name may stand between the id and the bit rate switch.
        at = 6 if words[5].isdecimal() and len(words[5]) == 1 else 7
        length = int(words[at + 2])
        if length == 0 and int(words[at + 1], 16):
            self.tally.remote += 1
            return
        if length > LONGEST:
            raise ValueError("longer than a frame")
        self._add(channel, words[4], words[at + 3 : at + 3 + length], length)

    def _add(self, channel: str, word: str, data: list[str], length: int) -> None:
        extended = word[-1:].lower() == "x"
        can_id = int(word[:-1] if extended else word, self._base)
        payload = bytes([int(byte, self._base) for byte in data])
        if len(payload) != length:
            raise ValueError("fewer bytes than said")
        self._frames.add(self._started + self._t, can_id, payload, channel, extended=extended)


def _moment(line: str) -> float | None:
    found = _DATE.search(line)
    if found is None:
        return None
    name = found[1].lower()[:3]
    month = next((names.index(name) + 1 for names in _MONTHS if name in names), 0)
    hour = int(found[3])
    if found[7]:
        hour = hour % 12 + (12 if found[7].lower() == "pm" else 0)
    micros = int((found[6] or "0").ljust(6, "0"))
    try:
        moment = datetime(
            int(found[8]), month, int(found[2]), hour, int(found[4]), int(found[5]), micros, UTC
        )
    except ValueError:
        return None
    return moment.timestamp()
