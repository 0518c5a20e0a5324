"""Reads iRacing's .ibt telemetry."""

import re
import struct
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.formats.binary import Pieces, decode_text, to_numbers
from runtime.bridge.formats.number_rows import LARGEST_FILE, MOST_VALUES
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels, select_texts
from runtime.bridge.session.recording import Recording, Samples

_HEAD: Final = struct.Struct("<10i8x4i")
"""Version, status, rate, and positions of session text, variables and rows."""
_HEAD_SIZE: Final = 112
_DISK: Final = struct.Struct("<qddii")
_VARIABLE: Final = struct.Struct("<3i?3x32s64s32s")
_TYPES: Final = {1: "?", 2: "<i4", 4: "<f4", 5: "<f8"}
_MOST_VARIABLES: Final = 4096
_LONGEST_TEXT: Final = 4 * 1024 * 1024
_TIME: Final = "SessionTime"
_UNITS: Final = {"%": "0-1", "revs/min": "rpm"}
"""Meaning of iRacing's units: its percentages run from 0 to 1."""
_LATEST_S: Final = 4e9


def read_ibt(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read an .ibt file. Raises `UnreadableRecording`."""
    pieces = Pieces(stream, LARGEST_FILE)
    head = _HEAD.unpack(pieces.read(0, _HEAD.size))
    version, _, rate, _, text_size, text_at, count, variables_at, _, width = head[:10]
    rows_at = head[11]
    if version not in (1, 2) or not 0 < rate <= 10_000 or not 0 < count <= _MOST_VARIABLES:
        raise UnreadableRecording("the file is not an iRacing log")
    if width <= 0 or not 0 <= text_size <= _LONGEST_TEXT:
        raise UnreadableRecording("the head of the iRacing log is damaged")
    date, begin, _, _, _ = _DISK.unpack(pieces.read(_HEAD_SIZE, _DISK.size))
    text = pieces.read(text_at, pieces.count_available(text_at, text_size))
    rows = pieces.count_available(rows_at, pieces.size) // width
    if not rows or rows * count > MOST_VALUES:
        raise UnreadableRecording("the iRacing log has no rows, or too many")
    about = pieces.read(variables_at, count * _VARIABLE.size)
    data = pieces.read(rows_at, rows * width)
    columns: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    units: dict[str, str] = {}
    for kind, offset, length, _, name, _, unit in _VARIABLE.iter_unpack(about):
        form = _TYPES.get(kind)
        if form is None or length != 1 or not 0 <= offset <= width - np.dtype(form).itemsize:
            continue  # texts, bit sets and values per car
        raw = np.ndarray((rows,), form, buffer=data, offset=offset, strides=(width,))
        title = decode_text(name)
        columns[title] = to_numbers(raw)
        units[title] = _UNITS.get(decode_text(unit), decode_text(unit))
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
    return build_from_channels(
        channels,
        units,
        form="ibt",
        created=float(date) if dated else None,
        offset=date - begin if dated else 0.0,
        facts=_find_facts(text.decode("cp1252", "replace")),
        options=options,
    )


def _find_facts(text: str) -> dict[str, str]:
    """Find circuit, driver and car in the session text, which is YAML in a fixed order."""
    facts = {}
    if match := re.search(r"\bTrackDisplayName: *([^\r\n]{1,200})", text):
        facts["venue"] = match[1]
    if match := re.search(r"\bDriverCarIdx: *(\d{1,3})\b", text):
        mine = re.search(rf"- CarIdx: *{match[1]}\s.{{0,4000}}", text, re.S)
        entry = re.split(r"- CarIdx:", mine[0])[1] if mine else ""
        for name, ours in (("UserName", "driver"), ("CarScreenName", "car")):
            if match := re.search(rf"\b{name}: *([^\r\n]{{1,200}})", entry):
                facts[ours] = match[1]
    return select_texts(facts, {name: name for name in ("driver", "car", "venue")})
