"""The lap that would be if every part of it went as well as it ever did."""

from typing import NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grid import Times, mini_sectors, mini_table, parts, sector_table, times
from runtime.bridge.analysis.sectors import Best, bests
from runtime.bridge.session.progress import Span


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
