"""Reads iRacing's .ibt telemetry."""

import re
import struct
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.formats.binary import Pieces, as_numbers, text_of
from runtime.bridge.formats.number_rows import LARGEST_FILE, MOST_VALUES
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import record_channels, texts_of
from runtime.bridge.session.recording import Recording, Samples

_HEAD: Final = struct.Struct("<10i8x4i")
"""Version, status, rate, three of the session text, two of the variables, two of the rows."""
_HEAD_SIZE: Final = 112
_DISK: Final = struct.Struct("<qddii")
_VARIABLE: Final = struct.Struct("<3i?3x32s64s32s")
_TYPES: Final = {1: "?", 2: "<i4", 4: "<f4", 5: "<f8"}
_MOST_VARIABLES: Final = 4096
_LONGEST_TEXT: Final = 4 * 1024 * 1024
_TIME: Final = "SessionTime"
_UNITS: Final = {"%": "0-1", "revs/min": "rpm"}
"""What iRacing's units mean: its percentages run from 0 to 1."""
_LATEST_S: Final = 4e9


def read_ibt(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """A recording of an .ibt file. Raises `UnreadableRecording`."""
    pieces = Pieces(stream, LARGEST_FILE)
    head = _HEAD.unpack(pieces.read(0, _HEAD.size))
    version, _, rate, _, text_size, text_at, count, variables_at, _, width = head[:10]
    rows_at = head[11]
    if version not in (1, 2) or not 0 < rate <= 10_000 or not 0 < count <= _MOST_VARIABLES:
        raise UnreadableRecording("the file is not an iRacing log")
    if width <= 0 or not 0 <= text_size <= _LONGEST_TEXT:
        raise UnreadableRecording("the head of the iRacing log is damaged")
    date, begin, _, _, _ = _DISK.unpack(pieces.read(_HEAD_SIZE, _DISK.size))
    text = pieces.read(text_at, pieces.available(text_at, text_size))
    rows = pieces.available(rows_at, pieces.size) // width
    if not rows or rows * count > MOST_VALUES:
        raise UnreadableRecording("the iRacing log has no rows, or too many")
    about = pieces.read(variables_at, count * _VARIABLE.size)
    data = pieces.read(rows_at, rows * width)
    columns: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    units: dict[str, str] = {}
    for kind, offset, length, _, name, _, unit in _VARIABLE.iter_unpack(about):
        form = _TYPES.get(kind)
        if form is None or length != 1 or not 0 <= offset <= width - np.dtype(form).itemsize:
            continue  # texts, sets of flags, and one value for each car
        raw = np.ndarray((rows,), form, buffer=data, offset=offset, strides=(width,))
        title = text_of(name)
        columns[title] = as_numbers(raw)
        units[title] = _UNITS.get(text_of(unit), text_of(unit))
    t = columns.pop(_TIME, np.full(rows, np.nan))
    timed = np.abs(t) < 1e9  # False for NaN
    if not timed.any() or not columns:
        raise UnreadableRecording("the iRacing log has no times or no channels")
    dated = 0 < date < _LATEST_S and abs(begin) < 1e9
    clock = t[timed]
    channels = {}
    for name, values in columns.items():
        good = np.abs(values[timed]) < 1e30
        if good.any():
            whole = Samples(clock, values[timed])
            channels[name] = whole if good.all() else Samples(clock[good], values[timed][good])
    return record_channels(
        channels,
        units,
        form="ibt",
        created=float(date) if dated else None,
        offset=date - begin if dated else 0.0,
        facts=_session(text.decode("cp1252", "replace")),
        options=options,
    )


def _session(text: str) -> dict[str, str]:
    """Circuit, driver and car of the session's text, which is YAML of a fixed order."""
    told = {}
    if match := re.search(r"\bTrackDisplayName: *([^\r\n]{1,200})", text):
        told["venue"] = match[1]
    if match := re.search(r"\bDriverCarIdx: *(\d{1,3})\b", text):
        mine = re.search(rf"- CarIdx: *{match[1]}\s.{{0,4000}}", text, re.S)
        entry = re.split(r"- CarIdx:", mine[0])[1] if mine else ""
        for name, ours in (("UserName", "driver"), ("CarScreenName", "car")):
            if match := re.search(rf"\b{name}: *([^\r\n]{{1,200}})", entry):
                told[ours] = match[1]
    return texts_of(told, {name: name for name in ("driver", "car", "venue")})
