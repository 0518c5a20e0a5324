"""Reads the gates of ``[laptiming]``; the driven path decides between their two formats."""

import itertools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.encodings import CoordinateEncoding, to_degrees
from runtime.bridge.formats.gps_motion import angle_between, bearing, haversine
from runtime.bridge.session.recording import Gate, Numbers, ReadWarning

NEAR_M: Final = 1000.0
_MOST_GATES: Final = 64
_LONGEST_LINE: Final = 1000
_MOST_WORDS: Final = 12
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}([.,][0-9]{0,20})?")


class Path(NamedTuple):
    """The driven places in degrees, with the course over ground at each."""

    lat: Numbers
    lon: Numbers
    course: Numbers


class Gates(NamedTuple):
    """Start and split lines with their warnings."""

    start: Gate | None = None
    splits: tuple[Gate, ...] = ()
    doubts: tuple[ReadWarning, ...] = ()


def build_path(lat: Numbers, lon: Numbers, every_m: float = 2.0) -> Path:
    """Thin out the fixes to about one every *every_m* metres."""
    finite = np.isfinite(lat) & np.isfinite(lon)
    if not finite.all():
        lat, lon = lat[finite], lon[finite]
    if len(lat) < 2:
        return Path(lat[:0], lon[:0], lat[:0])
    along = np.cumsum(haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]))
    every_m = min(every_m, float(along[-1]) / 4)
    if every_m <= 0.0:
        return Path(lat[:0], lon[:0], lat[:0])
    picked = np.concatenate(
        ([0], np.flatnonzero(np.diff(np.floor(along / every_m), prepend=0)) + 1)
    )
    if len(picked) < 2:
        return Path(lat[:0], lon[:0], lat[:0])
    lat, lon = lat[picked], lon[picked]
    course = bearing(lat[:-1], lon[:-1], lat[1:], lon[1:])
    return Path(lat[:-1], lon[:-1], course)


def read_gates(
    lines: Sequence[str], path: Path, encoding: CoordinateEncoding, east: float
) -> Gates:
    """Read the gates of a section; gates far from the path are left out."""
    written = [line for line in lines if line.strip()]
    entries = [entry for line in written if (entry := _parse(line)) is not None]
    start: Gate | None = None
    splits: list[Gate] = []
    unplaced = 0
    for kind, numbers in entries[:_MOST_GATES]:
        gate = _find_gate(numbers, path, encoding, east)
        if gate is None:
            unplaced += any(numbers)  # four zeros stand for no gate
        elif kind.startswith("start") and start is None:
            start = gate
        else:
            splits.append(gate)
    counts = (
        ("gate_off_path", "gates far from the driven path are left out", unplaced),
        (
            "gate_unreadable",
            "lines of [laptiming] without a word and four numbers are left out",
            len(written) - len(entries),
        ),
        (
            "gates_too_many",
            f"gates after the first {_MOST_GATES} are left out",
            len(entries) - _MOST_GATES,
        ),
    )
    doubts = tuple(ReadWarning(code, text, count) for code, text, count in counts if count > 0)
    return Gates(start, tuple(splits), doubts)


def _parse(line: str) -> tuple[str, list[float]] | None:
    """Parse the kind and four numbers of ``Start  +1.5 -2.5 +1.5 -2.4 ¬ Name``."""
    kind, *words = line[:_LONGEST_LINE].split()[:_MOST_WORDS] or [""]
    if not kind.isalpha():
        return None
    numbers = list(itertools.takewhile(_NUMBER.fullmatch, words))
    if len(numbers) > 4 and numbers[0].isdigit():  # ``Split 1`` counts its gates
        del numbers[0]
    if len(numbers) < 4:
        return None
    return kind.lower(), [float(word.replace(",", ".")) for word in numbers[:4]]


def _find_gate(
    numbers: Sequence[float], path: Path, encoding: CoordinateEncoding, east: float
) -> Gate | None:
    """Choose the reading nearest to the path, then its meaning by the angle to the path.

    The numbers are longitude, latitude, longitude, latitude, or the reverse.
    """
    if not len(path.lat) or not any(numbers):
        return None
    others: list[tuple[CoordinateEncoding, float]] = [(encoding, -east), ("degrees", 1.0)]
    for readings in ([(encoding, east)], others):  # the encoding of the data comes first
        candidates = [
            _decode_points(numbers, path, how, sign, flip)
            for how, sign in readings
            for flip in (0, 1)
        ]
        near = [points for points in candidates if points is not None and points[0] <= NEAR_M]
        if near:
            _, lats, lons = min(near, key=lambda points: points[0])
            return _build_gate(lats, lons, path)
    return None


def _decode_points(
    numbers: Sequence[float], path: Path, how: CoordinateEncoding, sign: float, flip: int
) -> tuple[float, Numbers, Numbers] | None:
    """Return metres from the path, and both points in degrees; None if off the globe."""
    lats = to_degrees(np.array(numbers[1 - flip :: 2]), how)
    lons = to_degrees(np.array(numbers[flip::2]), how, sign)
    if np.any(np.abs(lats) > 90.0) or np.any(np.abs(lons) > 180.0):
        return None
    return float(haversine(path.lat, path.lon, lats[:1], lons[:1]).min()), lats, lons


def _build_gate(lats: Numbers, lons: Numbers, path: Path) -> Gate:
    """Build the gate on a segment across the track, or at the first point of one along it."""
    lat, lon = (float(v) for v in (lats.mean(), lons.mean()))
    off = haversine(path.lat, path.lon, np.array([lat]), np.array([lon]))
    course = float(path.course[int(np.argmin(off))])
    segment = bearing(lats[1:], lons[1:], lats[:1], lons[:1])
    length = float(haversine(lats[1:], lons[1:], lats[:1], lons[:1])[0])
    if length < 0.1:  # a point: the path gives the direction
        return Gate(float(lats[0]), float(lons[0]), course)
    turned = float(angle_between(segment, np.array([course]))[0])
    if turned < 45.0 or turned > 135.0:
        heading = float(segment[0]) + (0.0 if turned < 45.0 else 180.0)
        return Gate(float(lats[0]), float(lons[0]), heading % 360.0)
    upright = float(segment[0]) + 90.0
    if angle_between(np.array([upright]), np.array([course]))[0] > 90.0:
        upright += 180.0
    return Gate(lat, lon, upright % 360.0, float(np.clip(length / 2, 10.0, 100.0)))
