"""Measures a quantity in a corner, on a straight or over a lap, lap by lap."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.laps import list_timed_corners, list_windows
from runtime.bridge.analysis.passes import Pass, list_passes
from runtime.bridge.analysis.pedals import find_opening, measure_release
from runtime.bridge.analysis.stats import find_runs, highest, lowest, measure_straights
from runtime.bridge.session.definitions import (
    POWER_PCT,
    find_missing,
    has_brake_reading,
    has_coasting_readings,
    is_braking,
    is_coasting,
    is_full_throttle,
    is_recorded,
)
from runtime.bridge.session.geometry import Indices, Plane
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import Span, time_sectors
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series, find_fixes
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner, Straight, is_inside

_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "speed": ("speed",),
    **dict.fromkeys(("brake_point", "brake_release", "brake_time", "brakings"), ("brake",)),
    **dict.fromkeys(("throttle", "throttle_point", "full_throttle", "full_point"), ("throttle",)),
    "lateral_g": ("g_lat",),
    "brake_g": ("g_long",),
    "accel_g": ("g_long",),
    "total_g": ("g",),
    "steering": ("steering",),
    "corrections": ("steering",),
    "coasting": ("throttle", "brake"),
}
"""What must be recorded, as names of `session.definitions.QUANTITIES`."""
LEAST_FIXES: Final = 50
CORNERS_ONLY: Final = (
    *("brake_point", "brake_release", "brake_rate"),
    *("throttle_point", "full_point"),
)
"""Quantities of corners only, not of laps or straights."""
AT_SPOTS: Final = frozenset(
    "speed brake_pressure throttle lateral_g total_g steering rpm yaw_rate clock".split()
)
"""Quantities with a value at the entry, the apex and the exit."""
SUMS: Final = ("brake_time", "brakings", "coasting", "corrections", "time")
MEANS: Final = ("throttle", "full_throttle")
"""Quantities whose value over a stretch is a sum or a mean; for others it is the largest."""


def is_missing(drive: Drive, quantity: str) -> bool:
    """Whether the session did not record the channels of the quantity."""
    series = drive.series
    if quantity in ("brake_pressure", "brake_rate", "rpm"):
        return not is_recorded(series["rpm" if quantity == "rpm" else "brake_bar"])
    if quantity == "yaw_rate":
        return not is_recorded(series.yaw_rate)
    return bool(find_missing(series, _NEEDS.get(quantity, ())))


def measure_laps(
    drive: Drive, quantity: str, where: str | None = None, spot: str | None = None
) -> dict[int, float]:
    """Measure the quantity by lap, in a corner, on a straight or in a sector, else over the lap.

    In a corner, without a *spot*: the apex speed, the peak brake pressure, the lowest throttle, the
    share of full throttle, the largest g and steering angle, the engine speed at the apex, seconds
    of braking, coasting and of the corner. Metres before the entry (brake point), after it (brake
    release), after the apex (throttle pick-up and full throttle; none if the throttle was never
    closed). With ``entry``, ``apex`` or ``exit``: the value there. On a straight or a lap: the top
    speed, mean throttle, else the largest value, or the sum. Laps without a value are left out.
    """
    if is_missing(drive, quantity):
        return {}
    return dict(sorted(_yield_numbers(drive, quantity, where, spot)))


def _yield_numbers(
    drive: Drive, quantity: str, where: str | None, spot: str | None
) -> Iterator[tuple[int, float]]:
    passes = find_passes_in(drive, where) if where is not None else ()
    straight = find_stretch(drive, where)
    if passes:
        values = _measure_frames(drive.series, quantity)
        for item in passes:
            number = _measure_pass(drive, values, quantity, item, spot)
            if number is not None:
                yield item.lap, number
    elif isinstance(straight, Straight) and quantity == "speed":
        record = next(item for item in measure_straights(drive) if item.name == where)
        yield from ((item.lap_number, item.top_speed_kmh) for item in record.per_lap)
    elif where is None and quantity == "time":
        yield from ((lap.number or 0, lap.duration_s) for lap in drive.counted)
    elif where is None and quantity == "mean_speed":
        speeds = ((lap.number or 0, drive.length_m / lap.duration_s) for lap in drive.counted)
        yield from ((number, speed * KMH) for number, speed in speeds)
    elif where is None and quantity == "corrections":
        counts = [measure_laps(drive, quantity, item.name) for item in list_corners(drive)]
        for number in {number for count in counts for number in count}:
            yield number, sum(count.get(number, 0.0) for count in counts)
    elif straight is not None and quantity == "time":
        for lap in drive.counted:
            seconds = _measure_time(drive, lap, straight)
            if seconds is not None:
                yield lap.number or 0, seconds
    elif (where is None or straight is not None) and quantity not in CORNERS_ONLY:
        values = _measure_frames(drive.series, quantity)
        for lap in drive.counted:
            inside_it = _find_frames(drive, lap.frames, straight)
            number = _reduce(drive.series, values, quantity, inside_it)
            if number is not None:
                yield lap.number or 0, number


def find_passes_in(drive: Drive, corner: str | None) -> tuple[Pass, ...]:
    """Return the passes of a corner; none if the corners are unknown or none has this name."""
    try:
        return list_passes(drive).get(corner or "", ())
    except NoCorners:
        return ()


def list_corners(drive: Drive) -> tuple[Corner, ...]:
    """List the corners in lap order; none if they are unknown."""
    return drive.corners if drive.geometry else ()


def find_straight(drive: Drive, name: str | None) -> Straight | None:
    """Find the straight of this name."""
    return next((straight for straight in drive.straights if straight.name == name), None)


def name_sector(number: int) -> str:
    """Return the name of a sector as a place, by its number from 1."""
    return f"Sector {number}"


def find_stretch(drive: Drive, name: str | None) -> Straight | Span | None:
    """Find the straight or the sector of this name."""
    sectors = {name_sector(at): span for at, span in enumerate(drive.sectors, 1)}
    return find_straight(drive, name) or sectors.get(name or "")


def find_straight_beside(drive: Drive, corner: str, *, behind: bool) -> Straight | None:
    """Find the straight after a corner, if *behind*, else the one before it."""
    bend = next((straight for straight in list_corners(drive) if straight.name == corner), None)
    if bend is None:
        return None
    place = (bend.exit if behind else bend.entry).distance_m + (1.0 if behind else -1.0)
    return next(
        (
            straight
            for straight in drive.straights
            if is_inside(place % drive.length_m, straight.start_m, straight.end_m, drive.length_m)
        ),
        None,
    )


def find_corners_beside(drive: Drive, straight: Straight) -> tuple[str, str] | None:
    """Find the corner that leads onto a straight, and the one that it leads to."""
    corners, length = list_corners(drive), drive.length_m
    if not corners:
        return None
    before = min(
        corners, key=lambda corner: (straight.start_m - corner.exit.distance_m + 1.0) % length
    )
    after = min(
        corners, key=lambda corner: (corner.entry.distance_m - straight.end_m + 1.0) % length
    )
    return before.name, after.name


def find_peak(drive: Drive, quantity: str, lap: int) -> str | None:
    """Find the corner or straight in which a lap reached the largest value of a quantity."""
    values = _measure_frames(drive.series, quantity)[drive.lap(lap).frames]
    if not is_recorded(values):
        return None
    frame = drive.lap(lap).first + int(np.nanargmax(values))
    return _place_at(drive, frame, braking=quantity.startswith("brake"))


class FullThrottle(NamedTuple):
    """A stretch of full throttle: seconds, metres, and the places where it begins and ends."""

    seconds: float
    metres: float
    begins: str | None
    ends: str | None


def find_longest_full_throttle(drive: Drive, lap: int) -> FullThrottle | None:
    """Find the longest full throttle that begins on a lap, wherever it ends; None without any."""
    frames, series = drive.lap(lap).frames, drive.series
    stretches = [
        (float(series.weight[first : last + 1].sum()), first, last)
        for first, last in find_runs(is_full_throttle(series))
        if frames.start <= first < frames.stop
    ]
    if not stretches:
        return None
    seconds, begin, end = max(stretches)
    metres = float(drive.progress.p[end] - drive.progress.p[begin]) % drive.length_m
    return FullThrottle(seconds, metres, _place_at(drive, begin), _place_at(drive, end))


def _place_at(drive: Drive, frame: int, *, braking: bool = False) -> str | None:
    """Find the corner or straight of a frame; *braking* belongs to the corner it is for."""
    place = float(drive.progress.p[frame])
    windows: list[Span] = list(list_timed_corners(drive) if braking else ())
    windows += [
        *list_windows(drive),
        *(Span(straight.name, straight.start_m, straight.end_m) for straight in drive.straights),
    ]
    length = drive.length_m
    return next((n for n, begin, end in windows if is_inside(place, begin, end, length)), None)


def _find_frames(drive: Drive, frames: slice, straight: Straight | Span | None) -> Indices:
    """Return the frames of a lap, or only those on a straight or in a sector."""
    in_lap = np.arange(frames.start, frames.stop)
    if straight is None:
        return in_lap
    place = drive.progress.p[in_lap]
    begun, ended = place >= straight.start_m, place <= straight.end_m
    here = begun | ended if straight.start_m > straight.end_m else begun & ended
    kept: Indices = in_lap[here]
    return kept


def _measure_time(drive: Drive, lap: Segment, straight: Straight | Span) -> float | None:
    """Measure the seconds of a lap on a straight; over start/finish, at both ends of the lap."""
    wraps = straight.start_m > straight.end_m
    bounds = sorted((straight.start_m, straight.end_m))
    parts = [Span("", a, b) for a, b in pairwise([0.0, *bounds, drive.length_m])]
    times = time_sectors(drive.laps, drive.progress, lap, parts)
    chosen = [times[0], times[2]] if wraps else [times[1]]
    measured = [seconds for seconds in chosen if seconds is not None]
    return sum(measured) if len(measured) == len(chosen) else None


def _measure_frames(series: Series, quantity: str) -> Numbers:
    """Measure the quantity in each frame, durations as seconds; NaN where unknown."""
    match quantity:
        case "speed":
            return series["speed_ms"] * KMH
        case "brake_pressure":
            return series["brake_bar"]
        case "brake_time":
            return np.where(has_brake_reading(series), is_braking(series) * series.weight, np.nan)
        case "brakings":
            begins = np.diff(is_braking(series), prepend=False) & is_braking(series)
            return np.where(has_brake_reading(series), begins, np.nan)
        case "clock":
            return series.t
        case "brake_g":
            return -series["g_long"]
        case "throttle":
            return series["throttle_pct"]
        case "full_throttle":
            has_reading = ~np.isnan(series["throttle_pct"])
            return np.where(has_reading, 100.0 * is_full_throttle(series), np.nan)
        case "accel_g":
            return series["g_long"]
        case "lateral_g":
            return np.abs(series["g_lat"])
        case "total_g":
            return series.combo_g
        case "steering":
            return np.abs(series["steering_deg"])
        case "coasting":
            seconds = is_coasting(series) * series.weight
            return np.where(has_coasting_readings(series), seconds, np.nan)
        case "rpm":
            return series["rpm"]
        case "yaw_rate":
            return np.abs(series.yaw_rate)
    return np.full(len(series), np.nan)


def _reduce(
    series: Series, values: Numbers, quantity: str, frames: Indices | slice
) -> float | None:
    """Reduce a quantity over a stretch: a sum, a mean over time, else the largest value."""
    numbers = values[frames]
    weight, is_known = series.weight[frames], ~np.isnan(numbers)
    if quantity in MEANS:
        total = float(weight[is_known].sum())
        return float(numbers[is_known] @ weight[is_known]) / total if total > 0 else None
    if quantity in SUMS:
        return float(numbers[is_known].sum()) if is_known.any() else None
    return highest(numbers)


_OF_PASS: Final[Mapping[tuple[str, str | None], str]] = {
    ("speed", None): "apex_speed_kmh",
    ("speed", "apex"): "apex_speed_kmh",
    ("speed", "entry"): "entry_speed_kmh",
    ("speed", "exit"): "exit_speed_kmh",
    ("brake_pressure", None): "peak_brake_bar",
    ("throttle", "exit"): "throttle_at_exit_pct",
    ("lateral_g", None): "max_g_lat",
    ("total_g", None): "max_combo_g",
    ("corrections", None): "steering_corrections",
    ("coasting", None): "coast_seconds",
    ("time", None): "corner_time_s",
    ("brake_point", None): "brake_point_m",
    ("brake_release", None): "brake_release_m",
    ("full_point", None): "full_point_m",
}


def _measure_pass(
    drive: Drive, values: Numbers, quantity: str, passage: Pass, spot: str | None
) -> float | None:
    series = drive.series
    if quantity == "brake_rate":
        return measure_release(series, passage)
    if quantity == "throttle_point":
        lifted = lowest(series["throttle_pct"][passage.start : passage.last])
        return find_opening(drive, passage) if lifted is not None and lifted < POWER_PCT else None
    spot = spot if spot in ("entry", "apex", "exit") and quantity in AT_SPOTS else None
    attribute = _OF_PASS.get((quantity, spot))
    if attribute is not None:
        number = getattr(passage, attribute)
        return None if number is None else float(number)
    if spot is None and quantity == "rpm":
        spot = "apex"
    if spot is not None:
        frame = {"entry": passage.first, "apex": passage.apex_frame}.get(spot, passage.last - 1)
        return None if np.isnan(values[frame]) else float(values[frame])
    if quantity == "throttle":
        return lowest(values[passage.frames])
    begin = passage.approach if quantity in ("brake_g", "brake_time", "brakings") else passage.first
    begin = passage.apex_frame if quantity == "accel_g" else begin
    return _reduce(series, values, quantity, slice(begin, passage.last))


def estimate_fix_noise(series: Series) -> float | None:
    """Estimate the noise of fixes, metres in each direction, by the third differences of positions,
    which the motion of a car keeps small; slow drift is not included. None without positions."""
    if not series.gps_usable:
        return None
    lat, lon = series["lat"][series.fixed], series["lon"][series.fixed]
    fixes = find_fixes(lat, lon)
    if len(fixes) <= LEAST_FIXES:
        return None
    both = Plane(float(lat[0]), float(lon[0])).xy(lat[fixes], lon[fixes])
    # The third difference of independent errors has 1 + 9 + 9 + 1 times their variance.
    spreads = [float(np.median(np.abs(np.diff(axis, 3)))) / 0.6745 / 20**0.5 for axis in both]
    return max(spreads)
