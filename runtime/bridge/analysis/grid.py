"""Parts of a lap, how long each lap took in them, and a lap on an even axis."""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry, UnknownLap
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import Span, sector_times, within
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import GAP_PERIODS, GAP_S, Series
from runtime.bridge.track.model import inside

MINI_SECTORS: Final = 25
SHORTEST_PART_M: Final = 1.0
"""A stretch between two corners that is shorter belongs to the corner before it."""
AXIS_STEP_M: Final = 5.0
MOST_STEPS: Final = 20_000
"""Of an axis: 100 km of 5 m. What is longer, as by a distance that is a fault, has longer ones."""
Times = tuple[tuple[float | None, ...], ...]
"""Seconds for each lap and part; None where recording paused or a bound was not passed."""


class Part(NamedTuple):
    """A corner, or what lies between two of them, from start/finish to start/finish."""

    span: Span
    corner: str | None
    """The corner's name; None for a straight."""


def mini_sectors(length_m: float) -> tuple[Span, ...]:
    """A lap in 25 parts of one length."""
    count = MINI_SECTORS
    return tuple(
        Span(str(i + 1), length_m * i / count, length_m * (i + 1) / count) for i in range(count)
    )


def parts(drive: Drive) -> tuple[Part, ...]:
    """The lap as corners and straights in turn; nothing where the corners are not known.

    A window over start/finish gives a part at each end of the lap. Where two windows overlap the
    later corner begins at the exit of the one before.
    """
    if "parts" not in drive.memo:
        drive.memo["parts"] = _parts(drive) if drive.geometry is not None else ()
    return cast(tuple[Part, ...], drive.memo["parts"])


def _parts(drive: Drive) -> tuple[Part, ...]:
    length = drive.length_m
    windows: list[tuple[float, float, str]] = []
    for corner in drive.corners:
        entry, leave = corner.entry.distance_m % length, corner.exit.distance_m % length
        if entry <= leave:
            windows.append((entry, leave, corner.name))
        else:
            windows += [(entry, length, corner.name), (0.0, leave, corner.name)]
    found: list[Part] = []
    reached = 0.0
    for begin, end, name in sorted(windows):
        if begin - reached >= SHORTEST_PART_M:
            found.append(Part(Span(_between(drive, reached, begin), reached, begin), None))
            reached = begin
        if end - reached >= SHORTEST_PART_M:
            found.append(Part(Span(name, reached, end), name))
            reached = end
    if not found:
        return ()
    if length - reached >= SHORTEST_PART_M:
        found.append(Part(Span(_between(drive, reached, length), reached, length), None))
    else:
        last = found.pop()
        found.append(last._replace(span=last.span._replace(end_m=length)))
    return tuple(found)


def _between(drive: Drive, begin: float, end: float) -> str:
    """The name of the straight in the middle of a stretch; else that of the stretch itself."""
    middle = (begin + end) / 2
    for straight in drive.straights:
        if inside(middle, straight.start_m, straight.end_m, drive.length_m):
            return straight.name
    return f"{begin:.0f} to {end:.0f} m"


def times(drive: Drive, spans: Sequence[Span]) -> Times:
    """Seconds that each counted lap took in *spans*, which follow each other around the lap."""
    return tuple(
        tuple(sector_times(drive.laps, drive.progress, lap, spans)) for lap in drive.counted
    )


def sector_table(drive: Drive) -> Times:
    """Seconds of each counted lap in the three sectors."""
    if "sectors" not in drive.memo:
        drive.memo["sectors"] = times(drive, drive.sectors)
    return cast(Times, drive.memo["sectors"])


def mini_table(drive: Drive) -> Times:
    """Seconds of each counted lap in the 25 mini-sectors."""
    if "minis" not in drive.memo:
        drive.memo["minis"] = times(drive, mini_sectors(drive.length_m))
    return cast(Times, drive.memo["minis"])


def lap_numbered(drive: Drive, number: int | None) -> Segment:
    """The counted lap of that number, the best one for None. Raises `UnknownLap`."""
    if number is None:
        return drive.best
    for lap in drive.counted:
        if lap.number == number:
            return lap
    raise UnknownLap


def moments(drive: Drive, lap: Segment, places: Numbers) -> Numbers:
    """When a lap first reached places (metres of progress), seconds of the session's clock.

    Interpolated; NaN for a place that it did not reach, or passed while nothing was recorded. What
    `laps.progress.crossing_times` gives, for many places at once.
    """
    series, length = drive.series, drive.length_m
    p, t = within(drive.progress, lap), series.t[lap.frames]
    i = np.searchsorted(np.maximum.accumulate(p) if len(p) else p, places)
    before_p, before_t = np.append(0.0, p)[i], np.append(lap.t_start, t)[i]
    after_p, after_t = np.append(p, length)[i], np.append(t, lap.t_end)[i]
    width = after_p - before_p
    paused = np.concatenate([[False], series.gap, [False]])[lap.first + i]
    between = (before_p <= places) & (places <= after_p) & (width > 0) & ~paused
    share = np.divide(places - before_p, width, out=np.full(len(i), np.nan), where=between)
    found: Numbers = before_t + share * (after_t - before_t)
    found[places <= 0] = lap.t_start
    found[places >= length] = lap.t_end
    return found


def channel_at(series: Series, name: str, t: Numbers) -> Numbers:
    """A continuous channel at moments, linear between its known readings.

    NaN where the readings around a moment are as far apart as a pause of the recording, or where
    it is NaN itself.
    """
    found = np.full(len(t), np.nan)
    asked = t[~np.isnan(t)]
    if not len(asked):
        return found
    apart = max(GAP_S, GAP_PERIODS * series.nominal_s)
    near = series.between(float(asked.min()) - apart, float(asked.max()) + apart)
    values = series[name][near]
    known = ~np.isnan(values)
    times, values = series.t[near][known], values[known]
    if not len(times):
        return found
    after = np.minimum(np.searchsorted(times, asked), len(times) - 1)
    before = np.maximum(after - 1, 0)
    read = np.interp(asked, times, values, left=np.nan, right=np.nan)
    bridged = (times[after] - times[before] > apart) & (times[after] != asked)
    found[~np.isnan(t)] = np.where(bridged, np.nan, read)
    return found


class Sampled(NamedTuple):
    """A lap at even steps of its progress, both ends included; NaN stands for null."""

    lap: Segment
    elapsed: Numbers
    """Seconds since the start of the lap."""
    speed_kmh: Numbers
    throttle_pct: Numbers
    brake_bar: Numbers
    g_lat: Numbers


def axis_step_m(length_m: float) -> float:
    """Metres between two places of an axis: 5, or more where a lap would have too many."""
    return max(AXIS_STEP_M, length_m / MOST_STEPS)


def axis(length_m: float) -> Numbers:
    """Every 5 m of a lap, see `axis_step_m`, and its end."""
    step = axis_step_m(length_m)
    steps = np.arange(0.0, length_m, step)
    if length_m - steps[-1] < step / 1000:  # the end itself, but for rounding
        steps = steps[:-1]
    return np.append(steps, length_m)


def sampled(drive: Drive, number: int | None, length_m: float) -> Sampled:
    """A lap (the best one for None) on the axis of a circuit of *length_m*.

    The lap is scaled to that length: laps of two sessions agree at the start, at the end and in
    proportion between. Raises `UnknownLap`.
    """
    lap = lap_numbered(drive, number)
    t = moments(drive, lap, axis(length_m) * (drive.length_m / length_m))
    return Sampled(
        lap,
        t - lap.t_start,
        channel_at(drive.series, "speed_ms", t) * 3.6,
        channel_at(drive.series, "throttle_pct", t),
        channel_at(drive.series, "brake_bar", t),
        channel_at(drive.series, "g_lat", t),
    )


def corner_windows(drive: Drive) -> tuple[Span, ...]:
    """Entry and exit of each corner in lap order; nothing where the corners are not known.

    A window that ends before it begins goes over start/finish.
    """
    try:
        corners = drive.corners
    except NoGeometry:
        return ()
    return tuple(Span(c.name, c.entry.distance_m, c.exit.distance_m) for c in corners)
