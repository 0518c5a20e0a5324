"""The three sectors of each lap."""

from typing import NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grid import Times, sector_table
from runtime.bridge.session.laps import TIE_S, Segment
from runtime.bridge.session.progress import Span


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
