"""The three sectors of each lap."""

from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grid import Times, sector_table
from runtime.bridge.laps.detect import Segment
from runtime.bridge.laps.sectors import Span

TIE_S: Final = 1e-6
"""Times closer than this are one time."""


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
            (time, lap.t_start, lap.number)
            for lap, row in zip(drive.counted, table, strict=True)
            if (time := row[at]) is not None
        ]
        time, _, number = min(times) if times else (None, 0.0, None)
        found.append(Best(part, time, number))
    return tuple(found)
