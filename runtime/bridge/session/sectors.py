"""The three sectors of a lap and how long each took."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from runtime.bridge.session.detect import Laps, Segment
from runtime.bridge.session.progress import Progress, crossing_times


class Span(NamedTuple):
    """A part of the lap, in metres from start/finish."""

    name: str
    start_m: float
    end_m: float


def thirds(length_m: float) -> tuple[Span, ...]:
    """Sectors of a circuit whose own are not known."""
    return tuple(
        Span(f"Sector {i + 1}", length_m * i / 3, length_m * (i + 1) / 3) for i in range(3)
    )


def sector_times(
    laps: Laps, progress: Progress, lap: Segment, sectors: Sequence[Span]
) -> list[float | None]:
    """Seconds in each of a lap's sectors, in order; together they are the time of the lap.

    None for a sector during which recording paused, or whose ends the lap did not pass in order.
    *sectors* follow each other from 0 to the length.
    """
    inner = [sector.end_m for sector in sectors[:-1]]
    bounds = [lap.t_start, *crossing_times(laps.series, progress, lap, inner), lap.t_end]
    times: list[float | None] = []
    for begin, end in pairwise(bounds):
        if begin is None or end is None or end <= begin or laps.series.gap_time(begin, end) > 0:
            times.append(None)
        else:
            times.append(end - begin)
    return times
