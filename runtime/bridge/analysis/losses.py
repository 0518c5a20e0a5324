"""Where time is lost against another lap or pass, corner by corner, and why."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.compare import axis, find_moments, sample_channel
from runtime.bridge.analysis.drive import Drive, once_per_drive
from runtime.bridge.analysis.passes import (
    USUAL_LAPS,
    Pass,
    choose_usual,
    list_passes,
    measure_approaches,
    subtract,
)
from runtime.bridge.session.definitions import find_missing, is_coasting
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH

WORTH_S: Final = 0.02
"""A smaller loss does not count."""
STEP_M: Final = 1.0
EXIT_M: Final = 50.0
"""The own smallest speed is searched up to this far after the other's apex zone."""
SLOWEST: Final = 1.03
"""Up to this many times its smallest speed, the quicker lap is in its apex zone."""
SMALL_SHARE: Final = 0.05
"""A cause that explains a smaller share of the loss is ignored."""
EARLY_M: Final = 3.0
LATE_M: Final = 4.0
LATE_THROTTLE_M: Final = 3.0
LATE_FULL_M: Final = 10.0
"""How much later the throttle is fully open to count: two lengths of a car."""
SLOW_KMH: Final = 0.7
SLOW_ENTRY_KMH: Final = 2.0
COASTING_S: Final = 0.2
"""A smaller difference cannot be measured at 10 Hz."""
SLOWED_MS: Final = 3.0
"""A car that slows by less has no place of slowing."""
SOFT: Final = 0.85
"""Below this share of the other's peak pressure, the brake is used softly."""

MOMENT: Final = 1.4
"""If the other was faster by more than this factor, the driver had a moment there, not a habit that
more speed would fix."""


class Figure(NamedTuple):
    """The field of a pass that shows whether a cause of lost time is fixed."""

    name: str
    less: bool = False
    """Whether it should become smaller, not larger."""


FIGURE_OF: Final[Mapping[str, Figure]] = {
    "early_brake": Figure("brake_point_m", less=True),
    "early_slowing": Figure("entry_speed_kmh"),
    "long_brake": Figure("peak_brake_bar"),
    "late_brake": Figure("brake_point_m"),
    "coasting": Figure("coast_seconds", less=True),
    "slow_apex": Figure("apex_speed_kmh"),
    "slow_entry": Figure("entry_speed_kmh"),
    "late_throttle": Figure("exit_speed_kmh"),
    "part_throttle": Figure("full_point_m", less=True),
    "slow_exit": Figure("exit_speed_kmh"),
}
"""By cause."""


class Loss(NamedTuple):
    """The time that one corner costs; *seconds* positive: the own side is slower.

    It is measured from the approach, where slowing for the corner begins (`measure_approaches`) on
    the side that begins earlier, to the start of the next corner's approach: it includes what a bad
    exit costs on the straight, and the sum over the corners is the difference of the lap times. The
    three parts add up to it.
    """

    corner: str
    seconds: float
    own: Pass
    other: Pass
    causes: tuple[tuple[str, float], ...]
    """Keys of the messages ``cause-…``, the costliest first, each with its amount: metres earlier
    or later, seconds more, km/h less, bar less (long_brake)."""
    entry_s: float
    """Up to the apex zone of the other side."""
    apex_s: float
    """While the other side is within 3 % of its smallest speed."""
    exit_s: float
    """From there to the next corner's approach."""


class _Trace(NamedTuple):
    """A lap at every step of the axis."""

    elapsed: Numbers
    """Seconds since its start."""
    speed: Numbers
    """m/s."""
    coasting: Numbers
    """1 while coasting, else 0, interpolated."""


def find_usual_passes(drive: Drive) -> dict[str, Pass]:
    """Return the pass of each corner whose time, up to the next corner's approach, is the median of
    the complete laps (see `choose_usual`). Raises `NoCorners`."""
    return {name: choose_usual(ranked) for name, ranked in _rank_passes(drive).items()}


def choose_stand_in(drive: Drive) -> int:
    """Return the lap that replaces the usual one with fewer than three laps: the slower of two, or
    the only one; 0 if there is a usual one."""
    if len(drive.counted) >= USUAL_LAPS:
        return 0
    return max(drive.counted, key=lambda lap: (lap is not drive.best, lap.duration_s)).number or 0


def find_best_passes(drive: Drive) -> dict[str, Pass]:
    """Return the quickest pass of each corner, up to the next approach. Raises `NoCorners`."""
    return {name: ranked[0] for name, ranked in _rank_passes(drive).items()}


def find_passes(drive: Drive, lap: int) -> dict[str, Pass]:
    """Return the passes of one lap by corner. Raises `NoCorners`."""
    passes = [passage for passes in list_passes(drive).values() for passage in passes]
    return {passage.corner: passage for passage in passes if passage.lap == lap}


def measure_stretches(drive: Drive) -> dict[str, dict[int, float]]:
    """Return the seconds that `Loss` compares, from each approach to the next, by corner and lap
    number. Incompletely recorded ones are left out. Raises `NoCorners`."""
    begins = _begins(drive, drive)
    return {
        corner.name: {
            passage.lap: float(trace.elapsed[-1] - trace.elapsed[0])
            for passage in list_passes(drive)[corner.name]
            if (trace := _along(drive, passage.lap, _stretch(begin, end, drive.length_m)))
        }
        for corner, begin, end in zip(drive.corners, begins, np.roll(begins, -1), strict=True)
    }


def measure_losses(
    own: Mapping[str, Pass], other: Mapping[str, Pass], drive: Drive, rival: Drive | None = None
) -> tuple[Loss, ...]:
    """Measure what each corner costs, the most first; corners missing on a side are left out.

    *own* are passes of *drive*, *other* those of *rival* or also of *drive*. Raises `NoCorners`.
    """
    rival = rival or drive
    begins = _begins(drive, rival)
    result = []
    for at, corner in enumerate(drive.corners):
        mine, its = own.get(corner.name), other.get(corner.name)
        if mine is None or its is None:
            continue
        window = (begins[at], begins[(at + 1) % len(begins)])
        result.append(_loss(mine, its, _Sides(drive, rival), window))
    return tuple(sorted((loss for loss in result if loss), key=lambda loss: -loss.seconds))


def measure_losses_to_best(drive: Drive, lap: int | None = None) -> tuple[Loss, ...]:
    """Measure what each corner costs compared with the best lap, on *lap*, else on the usual lap or
    the one that replaces it (`choose_stand_in`); nothing for the best lap itself. Raises
    `NoCorners` and `NoSuchLap`."""
    best = drive.best.number or 0
    number = (drive.lap(lap).number if lap is not None else choose_stand_in(drive)) or 0
    if len(drive.counted) < 2 or number == best:
        return ()
    own = find_passes(drive, number) if number else find_usual_passes(drive)
    return measure_losses(own, find_passes(drive, best), drive)


def find_figures(loss: Loss, cause: str) -> tuple[float, float] | None:
    """Return the measured and the target figure for fixing a cause; None if a figure is unknown or
    the target is already reached."""
    figure = FIGURE_OF.get(cause)
    if figure is None:
        return None
    now, aim = getattr(loss.own, figure.name), getattr(loss.other, figure.name)
    if now is None or aim is None or now == aim or (now > aim) != figure.less:
        return None
    if figure.name.endswith("_kmh") and aim > MOMENT * now:
        return None
    return now, aim


class ToFile(NamedTuple):
    """A corner of a lap compared with the speeds in the circuit's file."""

    corner: str
    lost_s: float
    own_kmh: float
    """At the apex, like *file_kmh*."""
    file_kmh: float


def measure_losses_to_file(drive: Drive, passes: Mapping[str, Pass]) -> list[ToFile]:
    """Compare each corner of a lap with the file's speeds, the largest loss first.

    Both are timed the same way: the speed changes evenly from entry to apex and from apex to exit.
    """
    result = []
    for corner in drive.track.corners if drive.track is not None else ():
        own, aim = passes.get(corner.name), corner.speeds
        if own is None or aim is None:
            continue
        driven = (own.entry_speed_kmh, own.apex_place_speed_kmh, own.exit_speed_kmh)
        speeds = [speed / KMH for speed in driven if speed]
        good = [speed for speed in (aim.entry, aim.apex, aim.exit) if speed > 0.0]
        if len(speeds) == len(good) == 3:
            places = [spot.distance_m for spot in (corner.entry, corner.apex, corner.exit)]
            ways = [(b - a) % drive.length_m for a, b in pairwise(places)]
            lost = _seconds(ways, speeds) - _seconds(ways, good)
            result.append(ToFile(corner.name, lost, speeds[1] * KMH, good[1] * KMH))
    return sorted(result, key=lambda spot: -spot.lost_s)


def _seconds(ways: Sequence[float], speeds: Sequence[float]) -> float:
    return sum(2.0 * way / (a + b) for way, (a, b) in zip(ways, pairwise(speeds), strict=True))


class Halves(NamedTuple):
    """A corner in the two halves of a session: medians of the seconds over its best time."""

    corner: str
    early_s: float
    late_s: float


def compare_halves(
    drive: Drive,
    laps: Sequence[int],
    stretches: Mapping[str, Mapping[int, float]] | None = None,
) -> list[Halves]:
    """Compare the halves of some laps for each corner, or each of *stretches* (seconds by lap),
    that was driven in both. Raises `NoCorners`."""
    halves, result = (laps[: len(laps) // 2], laps[(len(laps) + 1) // 2 :]), []
    for corner, by_lap in (stretches or measure_stretches(drive)).items():
        sides = [[by_lap[lap] for lap in half if lap in by_lap] for half in halves]
        if all(sides):
            best = min(by_lap.values())
            result.append(Halves(corner, *(median(side) - best for side in sides)))
    return result


class _Sides(NamedTuple):
    own: Drive
    other: Drive


@once_per_drive
def _rank_passes(drive: Drive) -> dict[str, list[Pass]]:
    """Rank the passes of each corner by the time up to the next approach, quickest first."""
    times = measure_stretches(drive)
    ranked = {
        name: sorted(
            (passage for passage in passes if passage.lap in times[name]),
            key=lambda passage: (times[passage.corner][passage.lap], passage.t_start),
        )
        for name, passes in list_passes(drive).items()
    }
    return {name: passes for name, passes in ranked.items() if passes}


@once_per_drive
def _traces(drive: Drive) -> dict[int, _Trace]:
    """Sample the complete laps on the axis, by number."""
    series, places = drive.series, axis(drive.length_m)
    coasts = is_coasting(series).astype(np.float64)
    traces = {}
    for lap in drive.counted:
        t = find_moments(drive, lap, places)
        coasting = np.interp(t, series.t, coasts)
        speed = sample_channel(series, "speed_ms", t)
        traces[lap.number or 0] = _Trace(t - lap.t_start, speed, coasting)
    return traces


def _begins(drive: Drive, rival: Drive) -> Numbers:
    """Return where the approach of each corner begins, metres of the own circuit: the earlier of
    both sessions."""
    mine, its = measure_approaches(drive), measure_approaches(rival)
    return np.array(
        [
            (corner.entry.distance_m - max(mine[corner.name], its.get(corner.name, 0.0)))
            % drive.length_m
            for corner in drive.corners
        ]
    )


def _along(drive: Drive, lap: int, shares: Numbers) -> _Trace | None:
    """Sample a lap at rising *shares* of its length; above 1, after start/finish, the same lap is
    continued. None if it was not fully recorded there."""
    trace = _traces(drive).get(lap)
    if trace is None:
        return None
    places = axis(drive.length_m) / drive.length_m
    elapsed, speed, coasting = (np.interp(shares % 1.0, places, values) for values in trace)
    elapsed = elapsed + np.where(shares >= 1.0, trace.elapsed[-1], 0.0)
    return None if np.isnan(elapsed + speed).any() else _Trace(elapsed, speed, coasting)


def _stretch(begin: float, end: float, length: float) -> Numbers:
    """Return shares of the lap from one place to another, about every metre; see `_along`."""
    way = (end - begin) % length or length
    first = begin % length
    return np.linspace(first, first + way, max(int(way / STEP_M), 2)) / length


def _loss(own: Pass, other: Pass, sides: _Sides, window: tuple[float, float]) -> Loss | None:
    shares = _stretch(*window, sides.own.length_m)
    mine, its = _along(sides.own, own.lap, shares), _along(sides.other, other.lap, shares)
    if mine is None or its is None:
        return None
    apart = (mine.elapsed - mine.elapsed[0]) - (its.elapsed - its.elapsed[0])
    low, high = _apex_zone(sides.own, own.corner, shares, its.speed)
    parts = (float(apart[low]), float(apart[high] - apart[low]), float(apart[-1] - apart[high]))
    loss = Loss(own.corner, float(apart[-1]), own, other, (), *parts)
    if loss.seconds < WORTH_S:
        return loss
    costs = dict(_entry_costs(loss, sides, (mine, its), apart[: low + 1], shares))
    costs.update(_later_costs(loss, (mine, its), (low, high)))
    least = max(WORTH_S / 2, SMALL_SHARE * loss.seconds)
    ranked = sorted(costs, key=lambda cause: -costs[cause][0])
    causes = tuple((key, costs[key][1]) for key in ranked if costs[key][0] >= least)
    return loss._replace(causes=causes)


def _apex_zone(drive: Drive, corner: str, shares: Numbers, speed: Numbers) -> tuple[int, int]:
    """Return the first and last index at which the other side is close to its smallest speed
    between entry and exit."""
    place = drive.corner(corner)
    begin, length = shares[0] * drive.length_m, drive.length_m
    entry, leave = (
        int(np.searchsorted((shares - shares[0]) * length, (spot.distance_m - begin) % length))
        for spot in (place.entry, place.exit)
    )
    entry = min(entry, len(shares) - 1)
    leave = min(max(leave, entry + 1), len(shares))
    slowest = entry + int(np.argmin(speed[entry:leave]))
    quick = np.flatnonzero(speed > SLOWEST * speed[slowest])
    before, after = quick[quick < slowest], quick[quick > slowest]
    low = int(before[-1]) + 1 if len(before) else 0
    high = int(after[0]) - 1 if len(after) else len(speed) - 1
    return low, high


Cost = tuple[float, float]
"""The seconds that a cause costs, and its amount."""


def _entry_costs(
    loss: Loss, sides: _Sides, traces: tuple[_Trace, _Trace], apart: Numbers, shares: Numbers
) -> Iterator[tuple[str, Cost]]:
    """Yield what the way to the apex zone costs, by cause; *apart* ends where the zone begins."""
    own, other = loss.own, loss.other
    mine, its = (trace.speed[: len(apart)] for trace in traces)
    step = float(shares[1] - shares[0]) * sides.own.length_m
    left = loss.entry_s
    slower = float(its[0] - mine[0]) * KMH
    braked = subtract(own.brake_point_m, other.brake_point_m) or 0.0
    recorded = not find_missing(sides.own.series, ("brake",))
    earlier = braked if recorded and braked > EARLY_M else step * _shift(mine, its)
    if slower > SLOW_ENTRY_KMH:  # slower before either side braked
        carried = its - np.sqrt(np.maximum(its**2 - its[0] ** 2 + mine[0] ** 2, 1.0))
        cost = min(left, step * float(np.sum(np.maximum(carried, 0.0) / its**2)))
        yield "slow_entry", (cost, slower)
        left -= max(cost, 0.0)
    if earlier > EARLY_M:
        behind = min(int(earlier / step + 0.5), len(its) - 1)
        shifted = np.minimum(its, np.append(its[behind:], np.full(behind, its[-1])))
        cost = min(left, step * float(np.sum(1.0 / shifted - 1.0 / its)))
        softer = (other.peak_brake_bar or 0.0) - (own.peak_brake_bar or 0.0)
        if recorded and (own.peak_brake_bar or 0.0) < SOFT * (other.peak_brake_bar or 0.0):
            cost = left
            yield "long_brake", (cost, softer)
        else:
            yield "early_brake" if earlier is braked else "early_slowing", (cost, earlier)
        left -= max(cost, 0.0)
    more = subtract(own.coast_seconds, other.coast_seconds) or 0.0
    if more > COASTING_S:
        rolled = traces[0].coasting[: len(apart)][1:] > 0.5
        yield "coasting", (min(left, float(np.sum(np.diff(apart)[rolled]))), more)


def _later_costs(
    loss: Loss, traces: tuple[_Trace, _Trace], zone: tuple[int, int]
) -> Iterator[tuple[str, Cost]]:
    """Yield what apex and exit cost, by cause.

    Speed missing at the end of the apex zone is missing after it, too: with the other's
    acceleration the difference of the squares stays. Any further loss is the exit's own.
    """
    own, other = loss.own, loss.other
    mine, its = (trace.speed[zone[1] :] for trace in traces)
    carried = np.sqrt(np.maximum(its**2 - its[0] ** 2 + mine[0] ** 2, 1.0))
    ways = np.diff(traces[1].elapsed[zone[1] :]) * (its[:-1] + its[1:]) / 2
    kept = float(np.sum(ways * (1.0 / carried[:-1] - 1.0 / its[:-1])))
    kept = min(max(kept, 0.0), max(loss.exit_s, 0.0))
    before, behind = loss.apex_s + kept, loss.exit_s - kept
    slower = subtract(other.min_speed_kmh, own.min_speed_kmh) or 0.0
    later_brake = -(subtract(own.brake_point_m, other.brake_point_m) or 0.0)
    if later_brake > LATE_M and loss.entry_s < 0:
        yield "late_brake", (before, later_brake)
    elif slower > SLOW_KMH:
        yield "slow_apex", (before, slower)
    slowest = traces[0].speed[zone[0] : zone[1] + round(EXIT_M / STEP_M)].min()
    step = float(np.sum(ways)) / max(len(ways), 1)
    later = step * int(np.argmax(np.append(mine, np.inf) > SLOWEST * slowest))
    slow_exit = subtract(other.exit_speed_kmh, own.exit_speed_kmh) or 0.0
    if later > LATE_THROTTLE_M and own.throttle_at_exit_pct is not None:
        yield "late_throttle", (behind, later)
    elif (subtract(own.full_point_m, other.full_point_m) or 0.0) > LATE_FULL_M:
        yield "part_throttle", (behind, (own.full_point_m or 0.0) - (other.full_point_m or 0.0))
    elif slow_exit > SLOW_KMH:
        yield "slow_exit", (behind, slow_exit)


def _shift(own: Numbers, other: Numbers) -> float:
    """Return how many steps earlier the own side slows on its way to the apex, by the places where
    both pass the same speeds; 0 if they do not slow enough."""
    low, high = max(own[-1], other[-1]), min(own.max(), other.max())
    if high - low < SLOWED_MS:
        return 0.0
    levels = low + np.array([0.35, 0.5, 0.65]) * (high - low)
    lags = [np.flatnonzero(other > level)[-1] - np.flatnonzero(own > level)[-1] for level in levels]
    return float(np.median(lags))
