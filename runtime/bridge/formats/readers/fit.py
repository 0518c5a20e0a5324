"""Reads FIT files of watches and cameras: records and button laps.

The maintained libraries hold every message as an object and cover the whole profile of a watch; a
drive needs few kinds of messages.
"""

import struct
from collections import defaultdict
from collections.abc import Mapping
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.logger_laps import Lap
from runtime.bridge.formats.number_rows import MOST_ROWS
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels
from runtime.bridge.session.recording import ReadWarning, Recording, Samples

LARGEST: Final = 64 * 1024 * 1024
"""A day of a watch is a few megabytes."""
_EPOCH_S: Final = 631_065_600
"""1989-12-31, the epoch of FIT."""
_TYPES: Final[Mapping[int, tuple[str, float]]] = {
    0x00: ("B", 0xFF), 0x01: ("b", 0x7F), 0x02: ("B", 0xFF), 0x0A: ("B", 0), 0x0D: ("B", 0xFF),
    0x83: ("h", 0x7FFF), 0x84: ("H", 0xFFFF), 0x8B: ("H", 0),
    0x85: ("i", 0x7FFFFFFF), 0x86: ("I", 0xFFFFFFFF), 0x8C: ("I", 0),
    0x88: ("f", float("nan")), 0x89: ("d", float("nan")),
    0x8E: ("q", 2**63 - 1), 0x8F: ("Q", 2**64 - 1), 0x90: ("Q", 0),
}  # fmt: skip
"""Format and null value by base type."""
_TIME: Final = 253
_LAP: Final = 19
_SEMICIRCLES: Final = 180.0 / 2**31


class _Field(NamedTuple):
    name: str
    unit: str
    scale: float = 1.0
    offset: float = 0.0


_FIELDS: Final[Mapping[int, Mapping[int, _Field]]] = {
    20: {  # record
        0: _Field("latitude", "deg", _SEMICIRCLES),
        1: _Field("longitude", "deg", _SEMICIRCLES),
        2: _Field("altitude", "m", 0.2, -500.0),
        3: _Field("heart_rate", "1/min"),
        4: _Field("cadence", ""),
        5: _Field("distance", "m", 0.01),
        6: _Field("speed", "m/s", 0.001),
        7: _Field("power", "W"),
        13: _Field("temperature", "c"),
        73: _Field("speed", "m/s", 0.001),
        78: _Field("altitude", "m", 0.2, -500.0),
    },
    160: {  # GPS metadata, of cameras
        1: _Field("latitude", "deg", _SEMICIRCLES),
        2: _Field("longitude", "deg", _SEMICIRCLES),
        3: _Field("altitude", "m", 0.2, -500.0),
        4: _Field("speed", "m/s", 0.001),
        5: _Field("heading", "deg", 0.01),
    },
}
_MILLISECONDS: Final = {160: 0}
"""The field with the milliseconds, by message."""
_PLACE_TRIGGERS: Final = (0, 3, 4, 5, 6)
"""Triggers that end a lap at a place: the button or a position."""


class _Message(NamedTuple):
    """The layout of a kind of message."""

    number: int
    order: str
    fields: tuple[tuple[int, int, int], ...]
    """Number, size and base type."""
    size: int


def read_fit(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read a FIT file. Raises `UnreadableRecording`."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UnreadableRecording(f"the file is larger than {LARGEST // 2**20} MiB")
    if len(data) < 14 or data[8:12] != b".FIT" or data[0] not in (12, 14):
        raise UnreadableRecording("the file is not a FIT file")
    reader = _Reader(data)
    reader.read_all()
    if "latitude" not in reader.values or "longitude" not in reader.values:
        raise UnreadableRecording("the file has no record with a place and a time")
    begin = min(times[0] for times in reader.t.values())
    samples = {
        name: Samples(np.array(reader.t[name]) - begin, np.array(values))
        for name, values in reader.values.items()
    }
    units = {field.name: field.unit for fields in _FIELDS.values() for field in fields.values()}
    damage = ReadWarning("log_damaged", "the file ends in a damaged part, which is left out")
    return build_from_channels(
        samples,
        units,
        form="fit",
        created=begin,
        offset=begin,
        laps=[lap._replace(begin=lap.begin - begin, end=lap.end - begin) for lap in reader.laps],
        doubts=[damage] if reader.damaged else [],
        options=options,
    )


class _Reader:
    """Reads the messages of a file in order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = data[0]
        self._end = min(len(data), data[0] + int.from_bytes(data[4:8], "little"))
        self._kinds: dict[int, _Message] = {}
        self._second = 0
        self.damaged = self._end - data[0] < int.from_bytes(data[4:8], "little")
        self.t: dict[str, list[float]] = defaultdict(list)
        self.values: dict[str, list[float]] = defaultdict(list)
        self.laps: list[Lap] = []

    def read_all(self) -> None:
        """Read to the end or to the first damaged message."""
        messages = 0
        try:
            while self._at < self._end:
                self._read_next()
                messages += 1
                if messages > MOST_ROWS:
                    raise UnreadableRecording(f"the file has more than {MOST_ROWS} messages")
        except (struct.error, KeyError, IndexError):
            self.damaged = True

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size or self._at + size > self._end:
            raise IndexError
        self._at += size
        return piece

    def _read_next(self) -> None:
        (head,) = self._take(1)
        if head & 0x80:  # the lowest five bits of the time
            kind = self._kinds[head >> 5 & 3]
            self._second += ((head & 0x1F) - self._second) & 0x1F
            self._read_message(kind)
        elif head & 0x40:
            self._define(head)
        else:
            self._read_message(self._kinds[head & 0x0F])

    def _define(self, head: int) -> None:
        _, big, *_ = self._take(2)
        order = ">" if big else "<"
        number, count = struct.unpack(f"{order}HB", self._take(3))
        fields = tuple(struct.iter_unpack("BBB", self._take(3 * count)))
        own = self._take(3 * self._take(1)[0]) if head & 0x20 else b""
        size = sum(field[1] for field in fields) + sum(own[1::3])
        self._kinds[head & 0x0F] = _Message(number, order, fields, size)

    def _read_message(self, kind: _Message) -> None:
        piece = self._take(kind.size)
        values: dict[int, float] = {}
        at = 0
        for number, size, base in kind.fields:
            code, none = _TYPES.get(base, ("", 0.0))
            if code and struct.calcsize(kind.order + code) == size:
                (value,) = struct.unpack_from(kind.order + code, piece, at)
                if value != none and value == value:
                    values[number] = value
            at += size
        self._second = int(values.get(_TIME, self._second))
        if kind.number in _FIELDS:
            self._add_record(kind.number, values)
        elif kind.number == _LAP and {2, 7} <= values.keys():
            begin = values[2] + _EPOCH_S
            whole = bool(self.laps) and values.get(24, 0) in _PLACE_TRIGGERS
            self.laps.append(Lap(begin, begin + values[7] / 1000.0, whole))

    def _add_record(self, number: int, values: Mapping[int, float]) -> None:
        if not self._second:
            return
        t = self._second + _EPOCH_S + values.get(_MILLISECONDS.get(number, -1), 0) / 1000.0
        kept = {}
        for place, field in _FIELDS[number].items():  # later fields of a name are finer
            if place in values:
                kept[field.name] = values[place] * field.scale + field.offset
        for name, value in kept.items():
            self.t[name].append(t)
            self.values[name].append(value)
