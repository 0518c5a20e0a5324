"""The gates of ``[laptiming]``: two orders and two meanings, decided by the driven path."""

import itertools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.encodings import CoordinateEncoding, decode
from runtime.bridge.formats.gps_motion import angle_between, bearing, haversine
from runtime.bridge.session.recording import Gate, Numbers, ReadWarning

NEAR_M: Final = 1000.0
_MOST_GATES: Final = 64
_LONGEST_LINE: Final = 1000
_MOST_WORDS: Final = 12
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,15}([.,][0-9]{0,20})?")


class Path(NamedTuple):
    """Where was driven: degrees, and the course over ground at each place."""

    lat: Numbers
    lon: Numbers
    course: Numbers


class Gates(NamedTuple):
    """Start and split lines, and what was doubtful about them."""

    start: Gate | None = None
    splits: tuple[Gate, ...] = ()
    doubts: tuple[ReadWarning, ...] = ()


def driven_path(lat: Numbers, lon: Numbers, every_m: float = 2.0) -> Path:
    """The places where a fix lies at least *every_m* from the last one taken, roughly."""
    known = np.isfinite(lat) & np.isfinite(lon)
    if not known.all():
        lat, lon = lat[known], lon[known]
    if len(lat) < 2:
        return Path(lat[:0], lon[:0], lat[:0])
    along = np.cumsum(haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]))
    every_m = min(every_m, float(along[-1]) / 4)
    if every_m <= 0.0:
        return Path(lat[:0], lon[:0], lat[:0])
    taken = np.concatenate(([0], np.flatnonzero(np.diff(np.floor(along / every_m), prepend=0)) + 1))
    if len(taken) < 2:
        return Path(lat[:0], lon[:0], lat[:0])
    lat, lon = lat[taken], lon[taken]
    course = bearing(lat[:-1], lon[:-1], lat[1:], lon[1:])
    return Path(lat[:-1], lon[:-1], course)


def read_gates(
    lines: Sequence[str], path: Path, encoding: CoordinateEncoding, east: float
) -> Gates:
    """Gates of a section; without a path near them they cannot be told and are left out."""
    written = [line for line in lines if line.strip()]
    found = [parsed for line in written if (parsed := _parse(line)) is not None]
    start: Gate | None = None
    splits: list[Gate] = []
    unplaced = 0
    for kind, numbers in found[:_MOST_GATES]:
        gate = _gate(numbers, path, encoding, east)
        if gate is None:
            unplaced += any(numbers)  # four zeros stand for no gate
        elif kind.startswith("start") and start is None:
            start = gate
        else:
            splits.append(gate)
    told = (
        ("gate_off_path", "a gate far from where was driven is left out", unplaced),
        (
            "gate_unreadable",
            "lines of [laptiming] without a word and four numbers are left out",
            len(written) - len(found),
        ),
        (
            "gates_too_many",
            f"gates behind the first {_MOST_GATES} are left out",
            len(found) - _MOST_GATES,
        ),
    )
    doubts = tuple(ReadWarning(code, text, times) for code, text, times in told if times > 0)
    return Gates(start, tuple(splits), doubts)


def _parse(line: str) -> tuple[str, list[float]] | None:
    """The kind and the four numbers of a line such as ``Start  +1.5 -2.5 +1.5 -2.4 ¬ Name``."""
    kind, *words = line[:_LONGEST_LINE].split()[:_MOST_WORDS] or [""]
    if not kind.isalpha():
        return None
    numbers = list(itertools.takewhile(_NUMBER.fullmatch, words))
    if len(numbers) > 4 and numbers[0].isdigit():  # ``Split 1`` counts its gates
        del numbers[0]
    if len(numbers) < 4:
        return None
    return kind.lower(), [float(word.replace(",", ".")) for word in numbers[:4]]


def _gate(
    numbers: Sequence[float], path: Path, encoding: CoordinateEncoding, east: float
) -> Gate | None:
    """Choose the reading that lies nearest to the path, then its meaning by the angle to it.

    Numbers come as longitude, latitude, longitude, latitude, or flipped.
    """
    if not len(path.lat) or not any(numbers):
        return None
    others: list[tuple[CoordinateEncoding, float]] = [(encoding, -east), ("degrees", 1.0)]
    for readings in ([(encoding, east)], others):  # the data's own reading comes first
        found = [
            _placed(numbers, path, how, sign, flip) for how, sign in readings for flip in (0, 1)
        ]
        near = [placed for placed in found if placed is not None and placed[0] <= NEAR_M]
        if near:
            _, lats, lons = min(near, key=lambda placed: placed[0])
            return _meaning(lats, lons, path)
    return None


def _placed(
    numbers: Sequence[float], path: Path, how: CoordinateEncoding, sign: float, flip: int
) -> tuple[float, Numbers, Numbers] | None:
    """Metres from the path, latitudes and longitudes of both points; None when off the globe."""
    lats = decode(np.array(numbers[1 - flip :: 2]), how)
    lons = decode(np.array(numbers[flip::2]), how, sign)
    if np.any(np.abs(lats) > 90.0) or np.any(np.abs(lons) > 180.0):
        return None
    return float(haversine(path.lat, path.lon, lats[:1], lons[:1]).min()), lats, lons


def _meaning(lats: Numbers, lons: Numbers, path: Path) -> Gate:
    """A segment along the track ends behind a line through its first point; else it is the line."""
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
