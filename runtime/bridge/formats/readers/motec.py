"""Reads MoTeC's .ld logs, which Assetto Corsa and other simulators write too."""

import struct
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.formats.binary import Pieces, decode_text, to_numbers
from runtime.bridge.formats.dates import parse_moment
from runtime.bridge.formats.number_rows import LARGEST_FILE
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels, select_texts
from runtime.bridge.session.recording import Numbers, ReadWarning, Recording, Samples

_MARK: Final = 0x40
_HEAD: Final = 1762
_CHANNEL: Final = struct.Struct("<4I4H4h32s8s12s")
_MOST_CHANNELS: Final = 4096
_TEXTS: Final = {"date": (94, 16), "time": (126, 16), "driver": (158, 64), "vehicle": (222, 64)}
_VENUE: Final = (350, 64)
_TYPES: Final = {
    (7, 2): "<f2", (7, 4): "<f4", (8, 8): "<f8",
    (0, 2): "<i2", (0, 4): "<i4", (3, 2): "<i2", (3, 4): "<i4", (5, 2): "<i2", (5, 4): "<i4",
}  # fmt: skip
"""Formats by the family and width of a channel."""
_FASTEST_HZ: Final = 20_000


def read_ld(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read a .ld log. Raises `UnreadableRecording`."""
    pieces = Pieces(stream, LARGEST_FILE)
    if pieces.size < _HEAD:
        raise UnreadableRecording("the file is not a MoTeC log, or its head is cut off")
    head = pieces.read(0, _HEAD)
    if int.from_bytes(head[:4], "little") != _MARK:
        raise UnreadableRecording("the file is not a MoTeC log")
    texts = {name: decode_text(head[at : at + size]) for name, (at, size) in _TEXTS.items()}
    texts["venue"] = decode_text(head[_VENUE[0] : sum(_VENUE)])
    created = parse_moment(f"{texts['date']} {texts['time']}").unix
    channels, units, damaged = _read_channels(pieces, int.from_bytes(head[8:12], "little"))
    damage = ReadWarning("log_damaged", "channels are cut off", damaged)
    return build_from_channels(
        channels,
        units,
        form="motec_ld",
        created=created,
        offset=created or 0.0,
        facts=select_texts(texts, {"driver": "driver", "vehicle": "car", "venue": "venue"}),
        doubts=[damage] if damaged else [],
        options=options,
    )


def _read_channels(pieces: Pieces, place: int) -> tuple[dict[str, Samples], dict[str, str], int]:
    """Return the channels, their units, and the number of cut-off channels."""
    channels: dict[str, Samples] = {}
    units: dict[str, str] = {}
    clocks: dict[tuple[int, int], Numbers] = {}
    damaged = 0
    seen: set[int] = set()
    while place and place not in seen and len(seen) < _MOST_CHANNELS:
        seen.add(place)
        if pieces.count_available(place, _CHANNEL.size) < _CHANNEL.size:
            damaged += 1
            break
        (
            _,
            after,
            begin,
            count,
            _,
            family,
            width,
            hz,
            shift,
            factor,
            scale,
            decimals,
            name,
            _,
            unit,
        ) = _CHANNEL.unpack(pieces.read(place, _CHANNEL.size))
        place = after
        kind = _TYPES.get((family, width))
        if kind is None or not 0 < hz <= _FASTEST_HZ or not scale or abs(decimals) > 30:
            continue
        there = min(count, pieces.count_available(begin, count * width) // width)
        damaged += there < count
        if not there:
            continue
        raw = np.frombuffer(pieces.read(begin, there * width), kind)
        values = (to_numbers(raw) / scale * 10.0**-decimals + shift) * factor
        good = np.abs(values) < 1e30  # False for NaN
        if not good.any():
            continue
        title = plain = decode_text(name) or "unnamed"
        number = 2
        while title in channels:
            title, number = f"{plain} {number}", number + 1
        t = clocks.setdefault((hz, there), np.arange(there) / hz)
        channels[title] = Samples(t, values) if good.all() else Samples(t[good], values[good])
        units[title] = decode_text(unit)
    return channels, units, damaged
