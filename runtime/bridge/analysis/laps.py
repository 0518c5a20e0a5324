"""Lap times: the table of laps, their spread, their sectors, and the ideal lap."""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from runtime.bridge.analysis.drive import Drive, NoGeometry, UnknownLap
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.laps import TIE_S, Segment
from runtime.bridge.session.progress import Span, sector_times
from runtime.bridge.session.stats import Box, box_plot, deviation
from runtime.bridge.track.model import inside

MINI_SECTORS: Final = 25
SHORTEST_PART_M: Final = 1.0
"""A stretch between two corners that is shorter belongs to the corner before it."""
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


def corner_windows(drive: Drive) -> tuple[Span, ...]:
    """Entry and exit of each corner in lap order; nothing where the corners are not known.

    A window that ends before it begins goes over start/finish.
    """
    try:
        corners = drive.corners
    except NoGeometry:
        return ()
    return tuple(Span(c.name, c.entry.distance_m, c.exit.distance_m) for c in corners)


class LapSectors(NamedTuple):
    """A lap and its sectors."""

    lap: Segment
    times_s: tuple[float | None, ...]
    """From the crossing of a sector's start to that of its end, interpolated; together the time
    of the lap. None where recording paused."""


class SectorTimes(NamedTuple):
    """Where the sectors lie, and each lap's times in them."""

    sectors: tuple[Span, ...]
    laps: tuple[LapSectors, ...]
    """In time order."""


def all_sector_times(drive: Drive) -> SectorTimes:
    """The sectors of the track file, else thirds of the lap, with each lap's times in them."""
    laps = zip(drive.counted, sector_table(drive), strict=True)
    return SectorTimes(drive.sectors, tuple(LapSectors(lap, times) for lap, times in laps))


class Best(NamedTuple):
    """The shortest time anybody took for a part of the lap."""

    part: Span
    time_s: float | None
    """None where no lap has a time."""
    from_lap: int | None
    """The earliest of equals."""


def bests(drive: Drive, spans: tuple[Span, ...], table: Times) -> tuple[Best, ...]:
    """The best of each part, *table* having a row for each counted lap."""
    found = []
    for at, part in enumerate(spans):
        times = [
            (time, lap.number)
            for lap, row in zip(drive.counted, table, strict=True)
            if (time := row[at]) is not None
        ]
        least = min((time for time, _ in times), default=None)
        if least is None:
            found.append(Best(part, None, None))
            continue
        number = next(number for time, number in times if time <= least + TIE_S)
        found.append(Best(part, least, number))
    return tuple(found)


class Split(NamedTuple):
    """One sector of one lap."""

    name: str
    time_s: float | None
    is_best: bool
    """Nobody was faster in it; several laps may share the best time."""


class LapTime(NamedTuple):
    """A row of the table."""

    lap: Segment
    delta_s: float
    """Behind the best lap."""
    is_best: bool
    """True of exactly one lap: the fastest, the earliest of equals."""
    splits: tuple[Split, ...]
    max_speed_ms: float | None


class LapTable(NamedTuple):
    """The laps in time order."""

    best: Segment
    laps: tuple[LapTime, ...]


def lap_time_table(drive: Drive) -> LapTable:
    """Time, gap to the best lap, splits and top speed of each complete lap."""
    best, table = drive.best, sector_table(drive)
    quickest = [one.time_s for one in bests(drive, drive.sectors, table)]
    laps = []
    for lap, times in zip(drive.counted, table, strict=True):
        splits = tuple(
            Split(span.name, time, time is not None and top is not None and time <= top + TIE_S)
            for span, time, top in zip(drive.sectors, times, quickest, strict=True)
        )
        delta = max(lap.duration_s - best.duration_s, 0.0)
        laps.append(
            LapTime(lap, delta, lap is best, splits, highest(drive.series["speed_ms"][lap.frames]))
        )
    return LapTable(best, tuple(laps))


class Distribution(NamedTuple):
    """How lap times are spread, in seconds."""

    n: int
    lowest: float
    highest: float
    box: Box
    outliers: tuple[Segment, ...]
    """Laps strictly outside the fences, in time order."""
    mean: float
    deviation: float
    """Standard deviation of the laps as a whole population."""


def lap_time_distribution(drive: Drive) -> Distribution:
    """Quartiles between neighbours in proportion, whiskers and outliers by Tukey's rule."""
    times = [lap.duration_s for lap in drive.counted]
    box, spread = box_plot(times), deviation(times, sample=False)
    assert box is not None  # a drive has a lap
    assert spread is not None
    return Distribution(
        n=len(times),
        lowest=min(times),
        highest=max(times),
        box=box,
        outliers=tuple(lap for lap in drive.counted if box.is_outlier(lap.duration_s)),
        mean=sum(times) / len(times),
        deviation=spread,
    )


class Composed(NamedTuple):
    """A lap put together from the best of each part."""

    parts: tuple[Best, ...]
    time_s: float | None
    """The sum, and never above the best lap that was driven; None where a part has no time."""
    gain_s: float | None
    """By how much the best driven lap is slower."""


class IdealLap(NamedTuple):
    """Three ways to put a lap together, the finer ones from lines that were really driven.

    The finer the parts, the less can the pieces be joined: nobody leaves one at the speed at
    which the next was entered. The sum of sectors is the most cautious of the three.
    """

    best_s: float
    """Of the laps that were driven."""
    sectors: Composed
    mini: Composed
    """Of 25 parts of one length."""
    bends: Composed
    """Of every corner and every straight; no parts where the corners are not known."""


def ideal_lap(drive: Drive) -> IdealLap:
    """The sum of the best sectors, of the best mini-sectors, of the best corners and straights."""
    bends = tuple(part.span for part in parts(drive))
    return IdealLap(
        drive.best.duration_s,
        _composed(drive, drive.sectors, sector_table(drive)),
        _composed(drive, mini_sectors(drive.length_m), mini_table(drive)),
        _composed(drive, bends, times(drive, bends) if bends else ((),) * len(drive.counted)),
    )


def _composed(drive: Drive, spans: tuple[Span, ...], table: Times) -> Composed:
    found = bests(drive, spans, table)
    known = [one.time_s for one in found if one.time_s is not None]
    if not found or len(known) < len(found):
        return Composed(found, None, None)
    # The best lap itself may lack a part in which recording paused.
    best = drive.best.duration_s
    total = min(sum(known), best)
    return Composed(found, total, best - total)
