"""How a VBO file writes times and positions: found from its numbers, then decoded."""

import math
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.formats.gps_motion import Marks, angle_between, bearing, marks, path_ratio
from runtime.bridge.session.recording import Numbers, ReadWarning
from runtime.bridge.session.series import Flags, is_place

TimeEncoding: TypeAlias = Literal["hhmmss", "seconds"]
CoordinateEncoding: TypeAlias = Literal["minutes", "degrees", "ddmm"]
DAY_S: Final = 86_400.0
_MOSTLY: Final = 0.995
_LATEST: Final = 1e13
_TEXT_DIGITS: Final = 6
_SURE: Final = math.log(1.2)
_TIE: Final = 0.01


class Clock(NamedTuple):
    """Decoded times."""

    t: Numbers
    """Seconds; NaN where a row has no time."""
    encoding: TimeEncoding
    base: Literal["utc", "zero"]
    """Unix time, or seconds since the first row."""
    midnights: int
    """How often the time of day started again."""


def read_clock(
    raw: Numbers, text: str, created: float | None, forced: TimeEncoding | None = None
) -> Clock:
    """Decode the time column; *text* is its first cell as written.

    With a date in the file's head (*created*, Unix seconds), packed times of day become Unix
    seconds; everything else counts from the first row.
    """
    raw = np.where((raw >= 0) & (raw < _LATEST), raw, np.nan)  # False for NaN
    encoding = forced or find_encoding(raw, text)
    seconds = unpack(raw) if encoding == "hhmmss" else raw
    seconds, midnights = unwrap(_without_strays(seconds))
    if encoding == "hhmmss" and created is not None:
        return Clock(seconds + created // DAY_S * DAY_S, encoding, "utc", midnights)
    known = seconds[np.isfinite(seconds)]
    start = known[0] if len(known) else 0.0
    since = (seconds - start).round(6)
    return Clock(since, encoding, "zero", midnights)


def find_encoding(raw: Numbers, text: str) -> TimeEncoding:
    """HHMMSS when every value can be one and the steps grow more regular by it; else seconds.

    Within one minute both readings step alike: then six digits before the point, or a value
    that no second of a day has, mean HHMMSS.
    """
    known = raw[np.isfinite(raw)]
    if not len(known):
        return "seconds"
    possible = (known % 100 < 60) & (known // 100 % 100 < 60) & (known < 240_000)
    needed = 1.0 if len(known) < 200 else _MOSTLY
    if np.mean(possible) < needed:
        return "seconds"
    packed, plain = _irregular(unpack(known)), _irregular(known)
    if packed != plain:
        return "hhmmss" if packed < plain else "seconds"
    whole = text.strip().lstrip("+").replace(",", ".").partition(".")[0]
    written = len(whole) == _TEXT_DIGITS and whole.isdigit()
    return "hhmmss" if written or known.max() >= DAY_S else "seconds"


def _irregular(t: Numbers) -> int:
    steps = np.abs(np.diff(t))
    steps = steps[steps > 0]
    return int(np.sum(steps > 5.0 * np.median(steps))) if len(steps) else 0


def unpack(packed: Numbers) -> Numbers:
    """Seconds of the day of times packed as HHMMSS.sss; NaN where that cannot be."""
    hours, minutes = packed // 10_000, packed // 100 % 100
    seconds = np.round(packed - (packed // 100) * 100, 6)
    valid = (hours < 24) & (minutes < 60) & (seconds < 61)  # a leap second is one too many
    return np.where(valid, hours * 3600.0 + minutes * 60.0 + seconds, np.nan)


def _without_strays(seconds: Numbers) -> Numbers:
    """NaN for single times out of line between neighbours that are in line."""
    known = np.flatnonzero(np.isfinite(seconds))
    t = seconds[known]
    steps = np.diff(t)
    if len(steps) < 2 or not (steps < 0).any():
        return seconds
    into, out_of = steps[:-1], steps[1:]
    usual = np.median(np.abs(steps))
    over = into + out_of
    stray = ((into < 0) | (out_of < 0)) & (over > 0) & (over <= 10.0 * usual)
    result = seconds.copy()
    result[known[1:-1][stray]] = np.nan
    return result


def unwrap(seconds: Numbers) -> tuple[Numbers, int]:
    """Add a day after every step back of more than half a day, and count those."""
    known = np.isfinite(seconds)
    steps = np.diff(seconds if known.all() else seconds[known])
    back, ahead = steps < -DAY_S / 2, steps > DAY_S / 2
    if not back.any():
        return seconds + 0.0, 0
    turns = np.cumsum(back.astype(np.int64) - ahead)
    days = np.maximum(np.concatenate(([0], turns)), 0)
    result = seconds.copy()
    result[known] += days[: int(known.sum())] * DAY_S
    return result, int(days.max(initial=0))


class Positions(NamedTuple):
    """Decoded coordinates, north and east positive; NaN where there is no fix."""

    lat: Numbers
    lon: Numbers
    encoding: CoordinateEncoding
    east: float
    """The sign of the file's longitudes in the east."""
    doubts: tuple[ReadWarning, ...] = ()


def decode(value: Numbers, encoding: CoordinateEncoding, east: float = 1.0) -> Numbers:
    """Degrees of raw values; *east* is -1 for longitudes that grow to the west."""
    if encoding == "degrees":
        return value * east
    if encoding == "minutes":
        return value / 60.0 * east
    whole = np.trunc(value / 100.0)
    return (whole + (value - whole * 100.0) / 60.0) * east


def read_positions(
    lat: Numbers,
    lon: Numbers,
    t: Numbers,
    speed: Numbers,
    heading: Numbers,
    forced: CoordinateEncoding | None = None,
) -> Positions:
    """Find how coordinates are written and decode them. Speed in m/s; NaN where unknown."""
    silent = (lat == 0.0) & (lon == 0.0)
    lat, lon = _blank(lat, silent), _blank(lon, silent)
    doubts: list[ReadWarning] = []
    if zeros := int(silent.sum()):
        doubts.append(ReadWarning("positions_zero", "positions at 0 N 0 E are null", zeros))
    if forced is None:
        encoding, doubt = _find(lat, lon, t, speed)
        doubts += [doubt] if doubt else []
    else:
        encoding = forced
    east = 1.0 if encoding == "degrees" else -1.0
    north, across = decode(lat, encoding), decode(lon, encoding, east)
    valid = is_place(north, across)
    if encoding != "degrees" and _mirrored(north, across, heading, marks(t, valid, speed)):
        east, across = -east, -across
        doubts.append(
            ReadWarning("longitude_east_positive", "longitudes of this file grow to the east")
        )
    odd = int(np.sum(~valid & np.isfinite(lat) & np.isfinite(lon)))
    if odd:
        doubts.append(ReadWarning("positions_impossible", "positions that lie on no globe", odd))
    north, across = _blank(north, ~valid), _blank(across, ~valid)
    return Positions(north, across, encoding, east, tuple(doubts))


def _blank(values: Numbers, where: Flags) -> Numbers:
    return np.where(where, np.nan, values) if where.any() else values


def _find(
    lat: Numbers, lon: Numbers, t: Numbers, speed: Numbers
) -> tuple[CoordinateEncoding, ReadWarning | None]:
    known = np.isfinite(lat) & np.isfinite(lon)
    if not known.any():
        return "minutes", None
    way = marks(t, known, speed)
    inside = (np.abs(lat[known]) <= 90.0) & (np.abs(lon[known]) <= 180.0)
    if np.mean(inside) >= _MOSTLY:
        return _by_speed(lat, lon, way)
    high = (np.abs(lat[known]) % 100 >= 60) | (np.abs(lon[known]) % 100 >= 60)
    if np.mean(high) > 1.0 - _MOSTLY:
        return "minutes", None
    if np.median(np.abs(lat[known])) > 90 * 60:  # more minutes than there are to a pole
        return "ddmm", None
    minutes, ddmm = _miss(lat, lon, "minutes", way), _miss(lat, lon, "ddmm", way)
    if ddmm < minutes - _TIE:
        return "ddmm", ReadWarning("coordinates_ddmm", "speed fits degrees with minutes better")
    return "minutes", None


def _by_speed(
    lat: Numbers, lon: Numbers, way: Marks
) -> tuple[CoordinateEncoding, ReadWarning | None]:
    """Degrees, or minutes near 0 N 0 E: a path is 60 times as long in degrees."""
    degrees, minutes = _miss(lat, lon, "degrees", way), _miss(lat, lon, "minutes", way)
    unsure = ReadWarning(
        "coordinates_uncertain", "ranges fit degrees and minutes, speed decides neither"
    )
    if not math.isfinite(degrees):
        return "degrees", unsure
    better: CoordinateEncoding = "degrees" if degrees <= minutes else "minutes"
    return better, unsure if min(degrees, minutes) > _SURE else None


def _miss(lat: Numbers, lon: Numbers, encoding: CoordinateEncoding, way: Marks) -> float:
    """How far the path by positions is from the one by speed: 0 when equal, as a logarithm."""
    ratio = path_ratio(decode(lat, encoding), decode(lon, encoding), way)
    return abs(math.log(max(ratio, 1e-9))) if math.isfinite(ratio) else math.inf


def _mirrored(lat: Numbers, lon: Numbers, heading: Numbers, way: Marks) -> bool:
    """Whether the headings fit the path only when east and west are exchanged."""
    here, there = way.here, way.there
    told = heading[here] + (np.mod(heading[there] - heading[here] + 540.0, 360.0) - 180.0) / 2
    across = np.isfinite(told) & (np.abs(np.sin(np.radians(told))) > 0.5)
    here, there, told = here[across], there[across], told[across]
    if len(here) < 10:
        return False
    course = bearing(lat[here], lon[here], lat[there], lon[there])
    straight = float(np.median(angle_between(course, told)))
    mirrored = float(np.median(angle_between(-course, told)))
    return straight > 60.0 and mirrored < 20.0
