"""How a driver develops over sessions: best laps, sectors, corners; pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.summary import Summary

ENOUGH: Final = 5
"""Sessions below which nothing is said."""
CORNER_SESSIONS: Final = 3
PLATEAU_S: Final = 0.1
"""Best laps of the last sessions that lie this close show no progress."""
RECENT: Final = 3
_SECTORS: Final = 3


class Driven(NamedTuple):
    """A session of the driver, with what its telemetry shows."""

    session_id: str
    started_at: int
    """Unix milliseconds."""
    summary: Summary


@dataclass(frozen=True)
class Step:
    """One session in the series."""

    session_id: str
    started_at: int
    index: int
    """From 1."""
    best_s: float | None
    median_s: float | None
    laps: int
    sectors: tuple[float | None, ...]
    """Best time of each sector."""


class CornerGain(NamedTuple):
    """The corner whose apex speed rises fastest."""

    corner: str
    delta_kmh: float
    """On the fitted line, from its first session to its last."""
    first: int
    last: int
    """Indexes of those sessions."""
    slope: float
    """km/h a session."""


@dataclass(frozen=True)
class Progress:
    """The series in one look; best laps in seconds."""

    first_s: float
    latest_s: float
    best_s: float
    plateau: bool
    gain: CornerGain | None


def steps(sessions: Sequence[Driven]) -> list[Step]:
    """The sessions by their start."""
    ordered = sorted(sessions, key=lambda one: (one.started_at, one.session_id))
    return [_step(at, one) for at, one in enumerate(ordered, start=1)]


def progress(sessions: Sequence[Driven]) -> Progress | None:
    """What the sessions show together; None where none has a lap."""
    ordered = sorted(sessions, key=lambda one: (one.started_at, one.session_id))
    bests = [best for one in ordered if (best := one.summary.best_s) is not None]
    if not bests:
        return None
    recent = bests[-RECENT:]
    return Progress(
        first_s=bests[0],
        latest_s=bests[-1],
        best_s=min(bests),
        plateau=len(recent) == RECENT and max(recent) - min(recent) < PLATEAU_S,
        gain=biggest_gain([dict(one.summary.apexes) for one in ordered]),
    )


def biggest_gain(apexes: Sequence[dict[str, float]]) -> CornerGain | None:
    """The corner with the steepest rising least-squares line; None where none rises.

    *apexes* are apex speeds in km/h by corner, one entry a session. A corner counts that was
    driven in at least `CORNER_SESSIONS` of them.
    """
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for index, speeds in enumerate(apexes, start=1):
        for corner, speed in speeds.items():
            points[corner].append((index, speed))
    gains = []
    for corner, known in sorted(points.items()):
        if len(known) < CORNER_SESSIONS:
            continue
        slope = _slope(known)
        first, last = known[0][0], known[-1][0]
        gains.append(CornerGain(corner, slope * (last - first), first, last, slope))
    best = max(gains, key=lambda gain: gain.slope, default=None)
    return best if best is not None and best.slope > 0 else None


def _step(index: int, one: Driven) -> Step:
    times = [lap.time_s for lap in one.summary.laps]
    return Step(
        session_id=one.session_id,
        started_at=one.started_at,
        index=index,
        best_s=min(times, default=None),
        median_s=median(times) if times else None,
        laps=len(times),
        sectors=tuple(_best_sector(one.summary, at) for at in range(_SECTORS)),
    )


def _best_sector(summary: Summary, at: int) -> float | None:
    known = [lap.sectors[at] for lap in summary.laps if at < len(lap.sectors)]
    return min((time for time in known if time is not None), default=None)


def _slope(points: Sequence[tuple[int, float]]) -> float:
    """Of the least-squares line."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
