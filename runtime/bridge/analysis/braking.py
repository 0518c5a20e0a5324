"""Braking: where it ends, how it is let go, and how hard the car slows and pulls away again."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import RELEASED_BAR, Pass, mean_of, passes_of
from runtime.bridge.analysis.windows import runs
from runtime.bridge.session.series import Series
from runtime.bridge.track.model import Corner

HARD_BAR: Final = 25.0
AHEAD_M: Final = 400.0
PUSHED_PCT: Final = 50.0
TRAIL_PEAK_BAR: Final = 10.0
TRAIL_APEX_BAR: Final = 1.0


class BrakeEnd(NamedTuple):
    """How a corner's braking ends, means over its passes; None where nothing is known."""

    corner: str
    n_passes: int
    brake_release_m: float | None
    """Metres behind the entry where the brake is released."""
    release_rate_bar_s: float | None
    """Peak pressure less 2 bar by the time from the peak to below 2 bar."""
    bar_at_apex: float | None
    nothing_time_s: float | None
    """Of the passes that have any."""


class BrakeEnds(NamedTuple):
    """The end of braking in the corners of a session."""

    average_s: float | None
    """Mean time on no pedal of the passes that have any; 0 where none has, None where the pedals
    were not recorded."""
    worst: str | None
    """The corner with the largest mean."""
    per_corner_s: dict[str, float]
    """Of the corners with any such pass, in lap order."""
    corners: tuple[BrakeEnd, ...]
    """Every corner, in lap order."""


def brake_ends(drive: Drive) -> BrakeEnds:
    """The time between brake and throttle, and how the brake is let go. Raises `NoGeometry`."""
    passes = passes_of(drive)
    known = [one.nothing_time_s for each in passes.values() for one in each]
    idle = [seconds for seconds in known if seconds]
    means = {
        name: sum(found) / len(found)
        for name, each in passes.items()
        if (found := [one.nothing_time_s for one in each if one.nothing_time_s])
    }
    average = sum(idle) / len(idle) if idle else None
    if average is None and any(seconds is not None for seconds in known):
        average = 0.0
    return BrakeEnds(
        average_s=average,
        worst=max(means, key=lambda name: means[name]) if means else None,
        per_corner_s=means,
        corners=tuple(_end(drive.series, name, each) for name, each in passes.items()),
    )


def _end(series: Series, name: str, passes: Sequence[Pass]) -> BrakeEnd:
    return BrakeEnd(
        corner=name,
        n_passes=len(passes),
        brake_release_m=mean_of([one.brake_release_m for one in passes]),
        release_rate_bar_s=mean_of([release_rate(series, one) for one in passes]),
        bar_at_apex=mean_of([one.trail_brake_bar_at_apex for one in passes]),
        nothing_time_s=mean_of([one.nothing_time_s or None for one in passes]),
    )


def release_rate(series: Series, one: Pass) -> float | None:
    """How fast a pass let the brake go: bar a second from the peak to below 2 bar.

    None where it did not brake above 2 bar, or not let go before the exit.
    """
    brake = series["brake_bar"][one.approach : one.last]
    if one.peak_brake_bar is None or one.peak_brake_bar <= RELEASED_BAR:
        return None
    peak = int(np.nanargmax(brake))
    free = np.flatnonzero(brake[peak:] < RELEASED_BAR)
    if not len(free):
        return None
    t = series.t[one.approach + peak : one.approach + peak + int(free[0]) + 1]
    return (one.peak_brake_bar - RELEASED_BAR) / float(t[-1] - t[0])


class BrakeZone(NamedTuple):
    """The hard braking before a corner."""

    corner: str
    max_decel_g: float | None
    """Mean over the zones of the strongest deceleration in each; negative."""
    duration_s: float
    """Mean time from first to last frame of a zone."""
    n_passes: int
    """Zones that were found."""


class CornerExit(NamedTuple):
    """How the car pulls out of a corner."""

    corner: str
    max_long_accel_g: float | None
    """The strongest acceleration behind the apex with throttle above 50 %, of any pass."""
    exit_speed_kmh: float | None
    """Mean over the passes."""
    n_passes: int


class BrakeAcceleration(NamedTuple):
    """Corners in lap order; those without a zone, or without a pass, are left out."""

    zones: tuple[BrakeZone, ...]
    exits: tuple[CornerExit, ...]


def brake_acceleration(drive: Drive) -> BrakeAcceleration:
    """How hard the car brakes before the corners and accelerates out. Raises `NoGeometry`.

    A zone is a stretch of a complete lap with the brake above 25 bar; it belongs to the corner
    whose apex comes next, if that is within 400 m of the zone's middle.
    """
    zones: dict[str, list[tuple[float, float]]] = {one.name: [] for one in drive.corners}
    for corner, peak, seconds in _zones(drive):
        zones[corner].append((peak, seconds))
    return BrakeAcceleration(
        zones=tuple(
            BrakeZone(
                corner=name,
                max_decel_g=mean_of([None if np.isnan(peak) else peak for peak, _ in found]),
                duration_s=sum(seconds for _, seconds in found) / len(found),
                n_passes=len(found),
            )
            for name, found in zones.items()
            if found
        ),
        exits=tuple(
            CornerExit(
                corner=name,
                max_long_accel_g=_pull(drive.series, passes),
                exit_speed_kmh=mean_of([one.exit_speed_kmh for one in passes]),
                n_passes=len(passes),
            )
            for name, passes in passes_of(drive).items()
            if passes
        ),
    )


def _zones(drive: Drive) -> Iterator[tuple[str, float, float]]:
    """Corner, strongest deceleration in g and seconds of each zone of hard braking."""
    series, corners = drive.series, drive.corners
    hard = (series["brake_bar"] > HARD_BAR) & (drive.lap_of > 0)
    begins, ends = runs(hard, series.gap)
    p, g_long = drive.progress.p, series["g_long"]
    for first, last in zip(begins.tolist(), (ends - 1).tolist(), strict=True):
        way = (p[last] - p[first]) % drive.length_m
        middle = float(p[first] + way / 2)
        corner = _next(corners, middle, drive.length_m)
        if corner is not None:
            peak = float(np.fmin.reduce(g_long[first : last + 1]))
            yield corner.name, peak, float(series.t[last] - series.t[first])


def _next(corners: Sequence[Corner], place: float, length: float) -> Corner | None:
    """The corner whose apex comes next on the way, if that is near."""
    ways = [((one.apex.distance_m - place) % length, at) for at, one in enumerate(corners)]
    close = min((way for way in ways if way[0] <= AHEAD_M), default=None)
    return corners[close[1]] if close is not None else None


def _pull(series: Series, passes: Sequence[Pass]) -> float | None:
    found = np.nan
    for one in passes:
        frames = slice(one.apex_frame, one.last)
        pushed = series["throttle_pct"][frames] > PUSHED_PCT
        found = np.fmax(found, np.fmax.reduce(series["g_long"][frames][pushed], initial=np.nan))
    return None if np.isnan(found) else float(found)


class TrailBrake(NamedTuple):
    """A pass that braked into the corner, and how near the pressure at the apex was to good."""

    lap: int
    corner: str
    peak_bar: float
    apex_bar: float
    quality: float
    """1 at a tenth of the peak (3 bar at least), falling to 0 a fifth of the peak (5 bar at least)
    away from it."""


def trail_braking(drive: Drive) -> tuple[TrailBrake, ...]:
    """Passes with 10 bar or more and 1 bar or more left at the apex, by corner and lap.

    Raises `NoGeometry`.
    """
    found = []
    for name, passes in passes_of(drive).items():
        for one in passes:
            peak, apex = one.peak_brake_bar, one.trail_brake_bar_at_apex
            if peak is None or apex is None or peak < TRAIL_PEAK_BAR or apex < TRAIL_APEX_BAR:
                continue
            away = abs(apex - max(0.10 * peak, 3.0)) / max(0.20 * peak, 5.0)
            found.append(TrailBrake(one.lap, name, peak, apex, max(0.0, 1.0 - away)))
    return tuple(found)
