"""Finds from the numbers of a file how it encodes times and positions, and decodes them."""

import math
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.formats.gps_motion import Legs, angle_between, bearing, compare_paths, cut_path
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
    """How often the time of day restarted."""


def read_clock(
    raw: Numbers, text: str, created: float | None, forced: TimeEncoding | None = None
) -> Clock:
    """Decode the time column; *text* is its first cell as written.

    With a date in the head of the file (*created*, Unix seconds), HHMMSS times become Unix
    seconds; all others count from the first row.
    """
    raw = np.where((raw >= 0) & (raw < _LATEST), raw, np.nan)  # False for NaN
    encoding = forced or find_time_encoding(raw, text)
    seconds = unpack_hhmmss(raw) if encoding == "hhmmss" else raw
    seconds, midnights = unwrap_midnights(_remove_strays(seconds))
    if encoding == "hhmmss" and created is not None:
        return Clock(seconds + created // DAY_S * DAY_S, encoding, "utc", midnights)
    finite = seconds[np.isfinite(seconds)]
    start = finite[0] if len(finite) else 0.0
    since = (seconds - start).round(6)
    return Clock(since, encoding, "zero", midnights)


def find_time_encoding(raw: Numbers, text: str) -> TimeEncoding:
    """Return HHMMSS if all values allow it and it makes the steps more regular, else seconds.

    Within one minute both readings have the same steps: then six digits before the point, or a
    value beyond the seconds of a day, mean HHMMSS.
    """
    finite = raw[np.isfinite(raw)]
    if not len(finite):
        return "seconds"
    possible = (finite % 100 < 60) & (finite // 100 % 100 < 60) & (finite < 240_000)
    needed = 1.0 if len(finite) < 200 else _MOSTLY
    if np.mean(possible) < needed:
        return "seconds"
    packed, plain = _count_jumps(unpack_hhmmss(finite)), _count_jumps(finite)
    if packed != plain:
        return "hhmmss" if packed < plain else "seconds"
    whole = text.strip().lstrip("+").replace(",", ".").partition(".")[0]
    written = len(whole) == _TEXT_DIGITS and whole.isdigit()
    return "hhmmss" if written or finite.max() >= DAY_S else "seconds"


def _count_jumps(t: Numbers) -> int:
    steps = np.abs(np.diff(t))
    steps = steps[steps > 0]
    return int(np.sum(steps > 5.0 * np.median(steps))) if len(steps) else 0


def unpack_hhmmss(packed: Numbers) -> Numbers:
    """Convert HHMMSS.sss to seconds of the day; NaN where that is impossible."""
    hours, minutes = packed // 10_000, packed // 100 % 100
    seconds = np.round(packed - (packed // 100) * 100, 6)
    valid = (hours < 24) & (minutes < 60) & (seconds < 61)  # 60 is a leap second
    return np.where(valid, hours * 3600.0 + minutes * 60.0 + seconds, np.nan)


def _remove_strays(seconds: Numbers) -> Numbers:
    """Replace single times that are out of line with both neighbours by NaN."""
    finite = np.flatnonzero(np.isfinite(seconds))
    t = seconds[finite]
    steps = np.diff(t)
    if len(steps) < 2 or not (steps < 0).any():
        return seconds
    into, out_of = steps[:-1], steps[1:]
    usual = np.median(np.abs(steps))
    over = into + out_of
    stray = ((into < 0) | (out_of < 0)) & (over > 0) & (over <= 10.0 * usual)
    result = seconds.copy()
    result[finite[1:-1][stray]] = np.nan
    return result


def unwrap_midnights(seconds: Numbers) -> tuple[Numbers, int]:
    """Add a day after every step back of more than half a day; return the number of days."""
    finite = np.isfinite(seconds)
    steps = np.diff(seconds if finite.all() else seconds[finite])
    back, ahead = steps < -DAY_S / 2, steps > DAY_S / 2
    if not back.any():
        return seconds + 0.0, 0
    turns = np.cumsum(back.astype(np.int64) - ahead)
    days = np.maximum(np.concatenate(([0], turns)), 0)
    result = seconds.copy()
    result[finite] += days[: int(finite.sum())] * DAY_S
    return result, int(days.max(initial=0))


class Positions(NamedTuple):
    """Decoded coordinates, north and east positive; NaN without a fix."""

    lat: Numbers
    lon: Numbers
    encoding: CoordinateEncoding
    east: float
    """Sign of eastern longitudes in the file."""
    doubts: tuple[ReadWarning, ...] = ()


def to_degrees(value: Numbers, encoding: CoordinateEncoding, east: float = 1.0) -> Numbers:
    """Convert raw values to degrees; *east* is -1 for longitudes that grow to the west."""
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
    """Find the encoding of coordinates and decode them. Speed in m/s; NaN if unknown."""
    silent = (lat == 0.0) & (lon == 0.0)
    lat, lon = _set_nan(lat, silent), _set_nan(lon, silent)
    doubts: list[ReadWarning] = []
    if zeros := int(silent.sum()):
        doubts.append(ReadWarning("positions_zero", "positions at 0 N 0 E become null", zeros))
    if forced is None:
        encoding, doubt = _find_coordinates(lat, lon, t, speed)
        doubts += [doubt] if doubt else []
    else:
        encoding = forced
    east = 1.0 if encoding == "degrees" else -1.0
    north, across = to_degrees(lat, encoding), to_degrees(lon, encoding, east)
    valid = is_place(north, across)
    if encoding != "degrees" and _is_mirrored(north, across, heading, cut_path(t, valid, speed)):
        east, across = -east, -across
        doubts.append(
            ReadWarning("longitude_east_positive", "longitudes of this file grow to the east")
        )
    odd = int(np.sum(~valid & np.isfinite(lat) & np.isfinite(lon)))
    if odd:
        doubts.append(ReadWarning("positions_impossible", "impossible positions", odd))
    north, across = _set_nan(north, ~valid), _set_nan(across, ~valid)
    return Positions(north, across, encoding, east, tuple(doubts))


def _set_nan(values: Numbers, where: Flags) -> Numbers:
    return np.where(where, np.nan, values) if where.any() else values


def _find_coordinates(
    lat: Numbers, lon: Numbers, t: Numbers, speed: Numbers
) -> tuple[CoordinateEncoding, ReadWarning | None]:
    finite = np.isfinite(lat) & np.isfinite(lon)
    if not finite.any():
        return "minutes", None
    path = cut_path(t, finite, speed)
    inside = (np.abs(lat[finite]) <= 90.0) & (np.abs(lon[finite]) <= 180.0)
    if np.mean(inside) >= _MOSTLY:
        return _choose_by_speed(lat, lon, path)
    high = (np.abs(lat[finite]) % 100 >= 60) | (np.abs(lon[finite]) % 100 >= 60)
    if np.mean(high) > 1.0 - _MOSTLY:
        return "minutes", None
    if np.median(np.abs(lat[finite])) > 90 * 60:  # more minutes than to a pole
        return "ddmm", None
    minutes, ddmm = _compare(lat, lon, "minutes", path), _compare(lat, lon, "ddmm", path)
    if ddmm < minutes - _TIE:
        return "ddmm", ReadWarning("coordinates_ddmm", "speed fits degrees with minutes better")
    return "minutes", None


def _choose_by_speed(
    lat: Numbers, lon: Numbers, path: Legs
) -> tuple[CoordinateEncoding, ReadWarning | None]:
    """Choose degrees, or minutes near 0 N 0 E: a path is 60 times as long in degrees."""
    degrees, minutes = _compare(lat, lon, "degrees", path), _compare(lat, lon, "minutes", path)
    unsure = ReadWarning(
        "coordinates_uncertain", "ranges fit degrees and minutes, speed decides neither"
    )
    if not math.isfinite(degrees):
        return "degrees", unsure
    better: CoordinateEncoding = "degrees" if degrees <= minutes else "minutes"
    return better, unsure if min(degrees, minutes) > _SURE else None


def _compare(lat: Numbers, lon: Numbers, encoding: CoordinateEncoding, path: Legs) -> float:
    """Return the absolute logarithm of path length by positions over path length by speed."""
    ratio = compare_paths(to_degrees(lat, encoding), to_degrees(lon, encoding), path)
    return abs(math.log(max(ratio, 1e-9))) if math.isfinite(ratio) else math.inf


def _is_mirrored(lat: Numbers, lon: Numbers, heading: Numbers, path: Legs) -> bool:
    """Return whether the headings fit the path only with east and west swapped."""
    here, there = path.here, path.there
    logged = heading[here] + (np.mod(heading[there] - heading[here] + 540.0, 360.0) - 180.0) / 2
    across = np.isfinite(logged) & (np.abs(np.sin(np.radians(logged))) > 0.5)
    here, there, logged = here[across], there[across], logged[across]
    if len(here) < 10:
        return False
    course = bearing(lat[here], lon[here], lat[there], lon[there])
    straight = float(np.median(angle_between(course, logged)))
    mirrored = float(np.median(angle_between(-course, logged)))
    return straight > 60.0 and mirrored < 20.0
