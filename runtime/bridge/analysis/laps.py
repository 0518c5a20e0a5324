"""Lap times: the table of laps, their spread, their sectors, and the ideal lap."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoCorners, once_per_drive
from runtime.bridge.analysis.passes import measure_approaches
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.laps import TIE_S, Method
from runtime.bridge.session.progress import Span, time_sectors
from runtime.bridge.session.ranking import format_time
from runtime.bridge.session.stats import box_plot, deviation
from runtime.bridge.session.units import KMH, Kmh, Metres, Seconds, round_splits, round_to
from runtime.bridge.track.model import is_inside

MINI_SECTORS: Final = 25
SHORTEST_PART_M: Final = 1.0
"""A shorter stretch between two corners belongs to the corner before it."""
Times: TypeAlias = tuple[tuple[float | None, ...], ...]
"""Seconds for each lap and part; None where recording paused or a bound was not passed."""


class Part(NamedTuple):
    """A corner, or the stretch between two corners, from start/finish to start/finish."""

    span: Span
    corner: str | None
    """The corner's name; None for a straight."""


def list_mini_sectors(length_m: float) -> tuple[Span, ...]:
    """Divide a lap into 25 parts of equal length."""
    count = MINI_SECTORS
    return tuple(
        Span(str(i + 1), length_m * i / count, length_m * (i + 1) / count) for i in range(count)
    )


@once_per_drive
def divide_lap(drive: Drive) -> tuple[Part, ...]:
    """Divide the lap into corners and straights; empty if the corners are unknown.

    A corner begins with its approach, like its time, so that lost time belongs to one part only.
    A corner over start/finish gives a part at each end of the lap. If two corners overlap, the
    later one begins at the exit of the earlier.
    """
    length = drive.length_m
    windows: list[tuple[float, float, str]] = []
    for name, begin, leave in list_timed_corners(drive):
        if begin <= leave:
            windows.append((begin, leave, name))
        else:
            windows += [(begin, length, name), (0.0, leave, name)]
    result: list[Part] = []
    reached = 0.0
    for begin, end, name in sorted(windows):
        if begin - reached >= SHORTEST_PART_M:
            result.append(Part(Span(_name_stretch(drive, reached, begin), reached, begin), None))
            reached = begin
        if end - reached >= SHORTEST_PART_M:
            result.append(Part(Span(name, reached, end), name))
            reached = end
    if not result:
        return ()
    if length - reached >= SHORTEST_PART_M:
        result.append(Part(Span(_name_stretch(drive, reached, length), reached, length), None))
    else:
        last = result.pop()
        result.append(last._replace(span=last.span._replace(end_m=length)))
    return tuple(result)


def _name_stretch(drive: Drive, begin: float, end: float) -> str:
    """Return the name of the straight in the middle of a stretch, else its distances."""
    middle = (begin + end) / 2
    for straight in drive.straights:
        if is_inside(middle, straight.start_m, straight.end_m, drive.length_m):
            return straight.name
    return f"{begin:.0f} to {end:.0f} m"


def measure_times(drive: Drive, spans: Sequence[Span]) -> Times:
    """Return the seconds of each counted lap in *spans*, which adjoin around the lap."""
    return tuple(
        tuple(time_sectors(drive.laps, drive.progress, lap, spans)) for lap in drive.counted
    )


@once_per_drive
def measure_sectors(drive: Drive) -> Times:
    """Return the seconds of each counted lap in the three sectors."""
    return measure_times(drive, drive.sectors)


def list_windows(drive: Drive) -> tuple[Span, ...]:
    """Return entry and exit of each corner in lap order; empty if the corners are unknown.

    A window that ends before it begins crosses start/finish.
    """
    try:
        corners = drive.corners
    except NoCorners:
        return ()
    return tuple(Span(c.name, c.entry.distance_m, c.exit.distance_m) for c in corners)


def list_timed_corners(drive: Drive) -> tuple[Span, ...]:
    """Return each corner's timed stretch, from the start of its approach to its exit.

    In lap order; empty if the corners are unknown. A stretch that ends before it begins crosses
    start/finish.
    """
    length, windows = drive.length_m, list_windows(drive)
    lengths = measure_approaches(drive) if windows else {}
    return tuple(
        Span(name, (entry - lengths[name]) % length, leave % length)
        for name, entry, leave in windows
    )


@dataclass(frozen=True, slots=True)
class PartTime:
    """The best time in a part of the lap."""

    name: str
    """of the sector, corner or straight; the number of a mini-sector"""
    time_s: Seconds | None
    """s: smallest over the complete laps; null: none has a time there"""
    from_lap: int | None
    """number of that lap; of equal ones the earliest"""
    start_m: Metres
    """m of lap progress from start/finish"""
    end_m: Metres
    """m of lap progress"""


def find_best_parts(drive: Drive, spans: Sequence[Span], table: Times) -> tuple[PartTime, ...]:
    """Return the best of each part; *table* has a row for each counted lap."""
    result = []
    for span, column in zip(spans, zip(*table, strict=True), strict=True):
        least = min((time for time in column if time is not None), default=None)
        lap = None
        if least is not None:
            rows = zip(drive.counted, column, strict=True)
            lap = next(lap for lap, time in rows if time is not None and time <= least + TIE_S)
        number = lap.number if lap is not None else None
        result.append(PartTime(span.name, least, number, span.start_m, span.end_m))
    return tuple(result)


@dataclass(frozen=True, slots=True)
class ComposedLap:
    """A lap composed of the best of its parts, each as driven."""

    lap_s: Seconds | None
    """s: sum of the parts, all rounded to milliseconds, never above the best lap; null: a part has
    no time"""
    gain_s: Seconds | None
    """s: best lap minus that"""
    parts: tuple[PartTime, ...]
    """from start/finish around the lap"""


@dataclass(frozen=True, slots=True)
class IdealLap:
    """The ideal lap, which is the sum of the best sectors, and two bounds of finer parts.

    The finer the parts, the less they fit together: nobody leaves one at the speed at which the
    next was entered.
    """

    best_actual_lap_s: Seconds
    """s: fastest complete lap"""
    sectors: ComposedLap
    mini_sectors: ComposedLap
    """the same of 25 parts of equal length; too fine to drive: a bound"""
    corners_and_straights: ComposedLap
    """the same of every corner and every straight; no parts without known corners"""


def compose_ideal_lap(drive: Drive) -> IdealLap:
    """Add up the best sectors, the best mini-sectors, and the best corners and straights."""
    minis = list_mini_sectors(drive.length_m)
    bends = tuple(part.span for part in divide_lap(drive))
    return IdealLap(
        drive.best.duration_s,
        _compose_lap(drive, drive.sectors, measure_sectors(drive)),
        _compose_lap(drive, minis, measure_times(drive, minis)),
        _compose_lap(
            drive, bends, measure_times(drive, bends) if bends else ((),) * len(drive.counted)
        ),
    )


def _compose_lap(drive: Drive, spans: Sequence[Span], table: Times) -> ComposedLap:
    result = find_best_parts(drive, spans, table)
    seconds = [part.time_s for part in result if part.time_s is not None]
    if not result or len(seconds) < len(result):
        return ComposedLap(None, None, result)
    # The sum may exceed the best lap if that lacks a part, because recording paused there.
    best = drive.best.duration_s
    total = min(sum(seconds), best)
    shown = zip(result, round_splits(seconds, total), strict=True)
    return ComposedLap(total, best - total, tuple(replace(part, time_s=t) for part, t in shown))


@dataclass(frozen=True, slots=True)
class SectorSplit:
    """One sector of one lap."""

    id: str
    """S1, S2, S3"""
    name: str
    """as in the track file, else Sector 1 to 3"""
    time_s: Seconds | None
    """s: between the crossings of its ends, interpolated; the sectors of a lap add up to its time;
    null: recording paused in it"""
    is_best: bool
    """whether no lap was faster in it; ties are all flagged"""


@dataclass(frozen=True, slots=True)
class LapRecord:
    """A complete lap."""

    lap_number: int
    """from 1, in time order"""
    lap_time_s: Seconds
    """s"""
    time: str
    """the same as m:ss.mmm"""
    delta_to_best_s: Seconds
    """s behind the best lap, from the rounded times; 0 for the best itself"""
    is_best: bool
    """true for one lap only: the fastest; of equal ones the earliest"""
    sectors: tuple[SectorSplit, ...]
    valid: bool
    """whether the lap counts; all laps of this table do"""
    outlier: bool
    """more than 1.5 interquartile ranges from the quartiles, of five laps or more"""
    t_start: Seconds
    """s of the session's clock"""
    t_end: Seconds
    """s of the session's clock"""
    max_speed_kmh: Kmh | None
    """km/h: largest speed of the lap"""
    method: Method
    """how it was detected"""


@dataclass(frozen=True, slots=True)
class LapTable:
    """The laps in time order."""

    best_lap_s: Seconds
    """s"""
    best_lap_number: int
    laps: tuple[LapRecord, ...]

    @property
    def lap_count(self) -> int:
        """The number of laps."""
        return len(self.laps)


def list_lap_times(drive: Drive) -> LapTable:
    """List time, gap to the best lap, splits and top speed of each complete lap."""
    best, table = drive.best, measure_sectors(drive)
    quickest = [part.time_s for part in find_best_parts(drive, drive.sectors, table)]
    laps = []
    for lap, row in zip(drive.counted, table, strict=True):
        shown = round_splits(row, lap.duration_s)
        splits = tuple(
            SectorSplit(
                id=f"S{i}",
                name=span.name,
                time_s=shown[i - 1],
                is_best=time is not None and top is not None and time <= top + TIE_S,
            )
            for i, (span, time, top) in enumerate(
                zip(drive.sectors, row, quickest, strict=True), start=1
            )
        )
        top_speed = highest(drive.series["speed_ms"][lap.frames])
        behind = round_to(lap.duration_s, 3) - round_to(best.duration_s, 3)
        laps.append(
            LapRecord(
                lap_number=lap.number or 0,
                lap_time_s=lap.duration_s,
                time=format_time(lap.duration_s),
                delta_to_best_s=max(behind, 0.0),
                is_best=lap is best,
                sectors=splits,
                valid=lap.valid,
                outlier=lap.outlier,
                t_start=lap.t_start,
                t_end=lap.t_end,
                max_speed_kmh=None if top_speed is None else top_speed * KMH,
                method=lap.method,
            )
        )
    return LapTable(best.duration_s, best.number or 0, tuple(laps))


@dataclass(frozen=True, slots=True)
class OutlierLap:
    """A lap strictly outside the fences."""

    lap_number: int
    lap_time_s: Seconds
    """s"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of lap times."""

    lap_count: int
    min_s: Seconds
    """s: fastest"""
    max_s: Seconds
    """s: slowest"""
    q1_s: Seconds
    """s: lower quartile, interpolated linearly"""
    median_s: Seconds
    """s"""
    q3_s: Seconds
    """s: upper quartile"""
    iqr_s: Seconds
    """s: upper minus lower quartile"""
    whisker_low_s: Seconds
    """s: fastest lap within 1.5 interquartile ranges of the lower quartile"""
    whisker_high_s: Seconds
    """s: slowest lap within 1.5 interquartile ranges of the upper quartile"""
    outliers: tuple[OutlierLap, ...]
    """laps beyond the whiskers, in time order"""
    mean_s: Seconds
    """s"""
    stddev_s: Seconds
    """s: standard deviation of the laps as a population"""


def measure_distribution(drive: Drive) -> Distribution:
    """Compute interpolated quartiles, and whiskers and outliers by Tukey's rule."""
    seconds = [lap.duration_s for lap in drive.counted]
    box, spread = box_plot(seconds), deviation(seconds, sample=False)
    assert box is not None  # a drive has a lap
    assert spread is not None
    return Distribution(
        lap_count=len(seconds),
        min_s=min(seconds),
        max_s=max(seconds),
        q1_s=box.q1,
        median_s=box.median,
        q3_s=box.q3,
        iqr_s=box.iqr,
        whisker_low_s=box.low,
        whisker_high_s=box.high,
        outliers=tuple(
            OutlierLap(lap.number or 0, lap.duration_s)
            for lap in drive.counted
            if box.is_outlier(lap.duration_s)
        ),
        mean_s=sum(seconds) / len(seconds),
        stddev_s=spread,
    )


@dataclass(frozen=True, slots=True)
class SectorDefinition:
    """The bounds of a sector."""

    name: str
    start_m: Metres
    """m of lap progress from start/finish"""
    end_m: Metres
    """m of lap progress"""


@dataclass(frozen=True, slots=True)
class LapSplits:
    """Seconds of a lap in each sector; null if recording paused in it."""

    lap_number: int
    s1: Seconds | None
    """s"""
    s2: Seconds | None
    """s"""
    s3: Seconds | None
    """s"""


@dataclass(frozen=True, slots=True)
class SectorTimes:
    """The positions of the sectors, and each lap's times in them, in time order."""

    sector_definitions: tuple[SectorDefinition, ...]
    laps: tuple[LapSplits, ...]
    """complete laps in time order"""


def list_sector_times(drive: Drive) -> SectorTimes:
    """List each lap's times in the sectors of the track file, else in thirds of the lap."""
    rows = zip(drive.counted, measure_sectors(drive), strict=True)
    return SectorTimes(
        tuple(SectorDefinition(*span) for span in drive.sectors),
        tuple(LapSplits(lap.number or 0, *round_splits(row, lap.duration_s)) for lap, row in rows),
    )
