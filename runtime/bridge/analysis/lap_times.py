"""Lap times: the table of laps with their splits, and how the times are spread."""

from typing import NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grid import sector_table
from runtime.bridge.analysis.sectors import bests
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.laps import TIE_S, Segment
from runtime.bridge.session.stats import Box, box_plot, deviation


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
