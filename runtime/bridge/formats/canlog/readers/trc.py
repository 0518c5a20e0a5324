"""Reads PEAK's text traces (TRC) of versions 1.0 to 2.1."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final

from runtime.bridge.formats.canlog.readers.lines import Frames, line_blocks
from runtime.bridge.formats.canlog.values import CHUNK, Batch, Tally
from runtime.bridge.formats.errors import UnreadableRecording

_DAY_S: Final = 86_400.0
_EPOCH_DAYS: Final = 25_569
"""Days from PEAK's zero, 30 December 1899, to 1970."""
_DATA: Final = frozenset({"DT", "FD", "FB", "FE", "BI"})
_COLUMNS: Final[Mapping[str, str]] = {
    # number, offset in ms, bus, type or direction, id, reserved, length, data
    "1.0": "N,O,I,L,D",
    "1.1": "N,O,d,I,L,D",
    "1.2": "N,O,B,d,I,L,D",
    "1.3": "N,O,B,d,I,R,L,D",
}
_LENGTHS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64)


class TrcReader:
    """A TRC trace; *channel* is the number of a bus as written, None: all."""

    def __init__(self, stream: BinaryIO, channel: str | None = None) -> None:
        self.tally = Tally()
        self._stream = stream
        self._frames = Frames(self.tally, channel)
        self._started = 0.0
        self._place: dict[str, int] = {}
        self._version = ""
        self._opened = False

    def __iter__(self) -> Iterator[Batch]:
        """Blocks of frames; raises `UnreadableRecording` for a version that is not known."""
        for block in line_blocks(self._stream, self.tally):
            if not self._opened and not block.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(
                b";"
            ):
                raise UnreadableRecording(
                    "the file is no TRC trace: it has no head of lines with ;"
                )
            for line in block.decode("utf-8", "replace").split("\n"):
                line = line.strip().lstrip("\ufeff")
                if line.startswith(";"):
                    self._head(line)
                elif line:
                    self._line(line)
                if len(self._frames) >= CHUNK:
                    yield self._frames.take()
        if len(self._frames):
            yield self._frames.take()

    def _head(self, line: str) -> None:
        name, _, value = line.partition("=")
        if self._opened:
            return
        if name == ";$FILEVERSION":
            self._version = value.strip()
        elif name == ";$STARTTIME":
            try:
                days = float(value) - _EPOCH_DAYS
            except ValueError:
                return
            if 0 < days < 100_000:
                self.tally.created = self._started = round(days * _DAY_S, 6)
                self.tally.notes["start_date"] = "as written, read as UTC"
        elif name == ";$COLUMNS":
            self._columns(value)

    def _columns(self, text: str) -> None:
        self._place = {word.strip(): at for at, word in enumerate(text.split(","))}

    def _open(self) -> None:
        self._opened = True
        self._version = self._version or "1.0"
        self.tally.notes["version"] = self._version
        if self._version in _COLUMNS:
            self._columns(_COLUMNS[self._version])
        elif not self._version.startswith("2."):
            raise UnreadableRecording("the trace is of a version that is not known")
        length = self._place.keys() & {"l", "L"}
        if not {"O", "I", "D"} <= self._place.keys() or not length:
            raise UnreadableRecording("the trace does not say what its columns are")

    def _line(self, line: str) -> None:
        if not self._opened:
            self._open()
        place = self._place
        words = line.split(maxsplit=len(place) - 1)
        try:
            kind = words[place["T"]] if "T" in place else "DT"
            told = words[place["d"]] if "d" in place else "Rx"
            can_id = words[place["I"]]
            if kind == "ER" or told == "Error":
                self.tally.errors += 1
                return
            if kind == "RR" or words[place["D"] :][:1] == ["RTR"]:
                self.tally.remote += 1
                return
            if kind not in _DATA or told not in ("Rx", "Tx") or can_id == "FFFFFFFF":
                return  # status of the bus, events
            self._add(words, can_id)
        except (ValueError, IndexError):
            self.tally.malformed += 1

    def _add(self, words: list[str], can_id: str) -> None:
        place = self._place
        length = int(words[place["l"]]) if "l" in place else _LENGTHS[int(words[place["L"]])]
        told = words[place["D"]] if length else ""
        data = bytes.fromhex("".join(told.split()[:length]))
        if len(data) != length:
            raise ValueError("fewer bytes than said")
        t = self._started + float(words[place["O"]]) / 1000
        channel = words[place["B"]] if "B" in place else "1"
        self._frames.add(t, int(can_id, 16), data, channel, extended=len(can_id) > 4)
