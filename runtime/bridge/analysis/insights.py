"""What several sessions have in common that costs time: at most three habits; pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.grip import envelope_g
from runtime.bridge.analysis.laps import ideal_lap
from runtime.bridge.analysis.passes import Pass, by_time, passes_of
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.session.definitions import is_coasting, is_coasting_told, is_told
from runtime.bridge.session.series import Flags
from runtime.bridge.session.units import KMH

MOST: Final = 3
CORNERS: Final = 4
COAST_SHARE_PCT: Final = 15.0
CORNER_COAST: Final = 0.20
HEADROOM: Final = 0.7
"""Mean share of the grip reached that leaves some in hand."""
UNUSED: Final = 0.65
TRAIL_BAR: Final = 3.0
SLOW_KMH: Final = 70.0
IDLE_S: Final = 0.3
IDLE_PASSES: Final = 3
SAME_S: Final = 0.05
"""A pause of the quickest pass that is longer than the mean by more shows that it costs nothing."""
SECTOR_S: Final = 0.2


class Piece(NamedTuple):
    """A stretch of driving that is judged on its own: a pass of a corner, or a burst."""

    corners: tuple[str, ...]
    in_corner: bool
    told: int
    """Frames that tell whether the car coasts."""
    coasting: int
    """Frames with neither pedal down."""
    trailing: int | None
    """Frames with brake and steering together; None where one of them was not recorded."""
    speed_kmh: float
    """Mean; 0 where it was not recorded."""
    grip: float | None
    """Of what this car reached here, 0 to 1."""


class Driving(NamedTuple):
    """A session, as far as habits show in it."""

    pieces: tuple[Piece, ...]
    pauses: tuple[tuple[str, float], ...]
    """Corner and seconds from the brake to the throttle, of each pass."""
    gain_s: float | None
    """What the session's best sectors in one lap would bring."""
    best_s: float
    laps: int
    told: int
    """Frames of complete laps that tell whether the car coasts."""
    coasting: int
    """Of them."""
    envelope_g: float | None = None
    """What the car reached here."""
    spared: frozenset[str] = frozenset()
    """Corners in danger zones, where nobody is asked for more speed."""


@dataclass(frozen=True)
class Insight:
    """A habit that costs time."""

    id: str
    metric: float
    unit: Literal["%", "km/h", "s", ""]
    effort: int
    """1, little, to 3."""
    gain_s: float
    """A rough guess, a lap."""
    evidence: int
    """Pieces of driving behind it."""
    concept: str
    corners: tuple[str, ...] = ()
    corner: str = ""
    """Where the metric was found; empty: not in one corner."""


def driving(drive: Drive, references: References = NONE) -> Driving:
    """What of a session shows habits; the chosen lap alone where one is chosen."""
    coasting, told = is_coasting(drive.series), is_coasting_told(drive.series)
    inside = drive.lap_of > 0
    ideal = ideal_lap(drive)
    try:
        corners = list(passes_of(drive).values())
    except NoGeometry:
        corners = []
    envelope = envelope_g(drive, references) if corners else None
    return Driving(
        pieces=tuple(
            _piece(drive, one, coasting, told, envelope) for passes in corners for one in passes
        ),
        pauses=tuple(pause for passes in corners for pause in _pauses(passes)),
        gain_s=ideal.sectors.gain_s,
        best_s=ideal.best_actual_lap_s,
        laps=len(drive.counted),
        told=int((told & inside).sum()),
        coasting=int((coasting & inside).sum()),
        envelope_g=envelope,
        spared=frozenset(dangers(drive)) if corners else frozenset(),
    )


def _pauses(passes: Sequence[Pass]) -> list[tuple[str, float]]:
    """The pauses in a corner; none where the quickest pass has a longer one than most."""
    known = [one for one in passes if one.nothing_time_s is not None]
    found = [(one.corner, one.nothing_time_s or 0.0) for one in known]
    if not found:
        return []
    usual = fmean(seconds for _, seconds in found)
    return [] if (by_time(known)[0].nothing_time_s or 0.0) > usual + SAME_S else found


def _piece(drive: Drive, one: Pass, coasting: Flags, told: Flags, envelope: float | None) -> Piece:
    series, frames = drive.series, one.frames
    trailing = (series["brake_bar"][frames] > TRAIL_BAR) & (np.abs(series["g_lat"][frames]) > 0.4)
    tells = is_told(series, "brake_bar", "g_lat")[frames].any()
    speed = series["speed_ms"][frames]
    known = speed[~np.isnan(speed)]
    return Piece(
        corners=(one.corner,),
        in_corner=True,
        told=int(told[frames].sum()),
        coasting=int(coasting[frames].sum()),
        trailing=int(trailing.sum()) if tells else None,
        speed_kmh=float(known.mean()) * KMH if len(known) else 0.0,
        grip=one.max_combo_g / envelope if envelope and one.max_combo_g is not None else None,
    )


def insights(
    sessions: Sequence[Driving], bursts: Sequence[Piece], usual_g: float
) -> tuple[Insight, ...]:
    """The habits of *sessions* and *bursts*: the least effort first, then the largest gain.

    *usual_g* is the grip of any car, for bursts of which nobody knows the car.
    """
    pieces = [*(piece for one in sessions for piece in one.pieces), *bursts]
    found = (
        _coasting(sessions, pieces, bursts),
        _headroom(sessions, pieces, usual_g),
        _no_trail(pieces),
        _slow(pieces),
        _idle(sessions),
        _sectors(sessions),
    )
    known = [one for one in found if one is not None]
    return tuple(sorted(known, key=lambda one: (one.effort, -one.gain_s, one.id))[:MOST])


def _coasting(
    sessions: Sequence[Driving], pieces: Sequence[Piece], bursts: Sequence[Piece]
) -> Insight | None:
    told = sum(one.told for one in sessions) + sum(one.told for one in bursts)
    rolled = sum(one.coasting for one in sessions) + sum(one.coasting for one in bursts)
    share = 100.0 * rolled / told if told else 0.0
    if share <= COAST_SHARE_PCT:
        return None
    worst = [one for one in pieces if one.told and one.coasting > CORNER_COAST * one.told]
    return Insight(
        "coast_excess",
        share,
        "%",
        effort=1,
        gain_s=min(0.03 * share, 1.5),
        evidence=sum(one.coasting > 0 for one in pieces),
        concept="full_commitment",
        corners=_often(worst),
    )


def _headroom(
    sessions: Sequence[Driving], pieces: Sequence[Piece], usual_g: float
) -> Insight | None:
    spared = frozenset().union(*(one.spared for one in sessions))
    used: dict[str, float] = defaultdict(float)
    for one in pieces:
        for corner in one.corners if one.in_corner and one.grip is not None else ():
            used[corner] = max(used[corner], one.grip or 0.0)
    unused = {name: share for name, share in used.items() if 0.0 < share < UNUSED}
    free = sorted((name for name in unused if name not in spared), key=lambda name: unused[name])
    if not free or len(unused) < 2 or fmean(used.values()) >= HEADROOM:
        return None
    envelope = max((one.envelope_g or 0.0 for one in sessions), default=0.0) or usual_g
    return Insight(
        "grip_headroom",
        100.0 * max(unused[name] for name in free[:CORNERS]),
        "%",
        effort=1,
        gain_s=min(0.4 * envelope * (1.0 - fmean(used.values())), 1.0),
        evidence=len(unused),
        concept="look_ahead",
        corners=tuple(free[:CORNERS]),
    )


def _no_trail(pieces: Sequence[Piece]) -> Insight | None:
    inside = [one for one in pieces if one.in_corner and one.trailing is not None]
    if not inside or any(one.trailing for one in inside):
        return None
    return Insight(
        "trail_absent",
        0.0,
        "",
        effort=2,
        gain_s=0.4,
        evidence=len(inside),
        concept="trail_brake",
        corners=_often(inside),
    )


def _slow(pieces: Sequence[Piece]) -> Insight | None:
    slow = [one for one in pieces if one.in_corner and 0.0 < one.speed_kmh < SLOW_KMH]
    corners = _often(slow)
    if not corners:
        return None
    slowest = min(slow, key=lambda one: one.speed_kmh if one.corners else SLOW_KMH)
    return Insight(
        "braking_late",
        slowest.speed_kmh,
        "km/h",
        effort=2,
        gain_s=0.5,
        evidence=len({name for one in slow for name in one.corners}),
        concept="brake_end_focus",
        corners=corners,
        corner=slowest.corners[0],
    )


def _idle(sessions: Sequence[Driving]) -> Insight | None:
    times: dict[str, list[float]] = defaultdict(list)
    for one in sessions:
        for corner, seconds in one.pauses:
            times[corner].append(seconds)
    means = {corner: fmean(found) for corner, found in times.items() if len(found) >= IDLE_PASSES}
    idle = {corner: mean for corner, mean in means.items() if mean > IDLE_S}
    if not idle:
        return None
    worst = sorted(idle, key=lambda corner: (-idle[corner], corner))[:CORNERS]
    return Insight(
        "nothing_time",
        idle[worst[0]],
        "s",
        effort=1,
        gain_s=min(sum((value - IDLE_S) * 0.6 for value in idle.values()), 1.5),
        evidence=sum(len(times[corner]) for corner in idle),
        concept="early_brake_release",
        corners=tuple(worst),
        corner=worst[0],
    )


def _sectors(sessions: Sequence[Driving]) -> Insight | None:
    best = min(sessions, key=lambda one: one.best_s, default=None)
    if best is None or best.gain_s is None or best.gain_s <= SECTOR_S:
        return None
    return Insight(
        "sector_gap",
        best.gain_s,
        "s",
        effort=2,
        gain_s=best.gain_s,
        evidence=best.laps,
        concept="look_ahead",
    )


def _often(pieces: Iterable[Piece]) -> tuple[str, ...]:
    """Corners by how often they appear, the first of equals first."""
    counts: dict[str, int] = defaultdict(int)
    for one in pieces:
        for corner in one.corners:
            counts[corner] += 1
    return tuple(sorted(counts, key=lambda corner: -counts[corner])[:CORNERS])
