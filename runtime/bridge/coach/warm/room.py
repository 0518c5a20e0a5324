"""What a pass of a corner leaves to be won by itself, whatever other passes did; pure."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import dangers, scorecard
from runtime.bridge.analysis.grip import envelope_g
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.pedals import opening_m
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.session.definitions import is_coasting, is_coasting_told, share_of_time
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner

COAST_S: Final = 0.4
"""Less between the pedals is nothing to speak of, and less than this share of the corner."""
COAST_SHARE: Final = 0.15
SAME_S: Final = 0.1
"""The quickest pass with no more than so much less of it shows that it does not cost."""
STEADY_SHARE: Final = 0.03
"""A speed that changes by less is held."""
ROLLING_S: Final = 3.0
"""So long is no pause between two pedals."""
LATE_M: Final = 10.0
CORRECTIONS: Final = 3
SLOW_KMH: Final = 3.0
SLOW_SHARE: Final = 0.04
USED_SHARE: Final = 0.80
SLOWED_KMH: Final = 3.0
"""A corner that is not slowed down for needs no grip."""
STEP_KMH: Final = 5.0
"""More speed than this is not asked for at once."""
LAP_COAST_PCT: Final = 15.0


class Room(NamedTuple):
    """One thing in one pass of a corner that can be better."""

    corner: str
    """Empty: all over the lap."""
    cause: str
    """One of `pedagogy.ADVICE`."""
    lap: int
    worth: float
    """How much there may be in it, for putting things in order: seconds at best guess."""
    now: float
    """What was measured, in the unit of the cause: s, m, km/h, g, times, percent of a lap."""
    aim: float
    """What the next run should show, in the same unit; for grip in km/h."""
    beside: float | None = None
    """What it is measured by: percent of the corner, km/h of a good lap, g of the session."""
    at: float | None = None
    """Speed at the apex, km/h, where grip is unused."""


def rooms(drive: Drive, references: References = NONE) -> tuple[Room, ...]:
    """What the graded passes leave to be won, in lap order. Raises `NoGeometry`."""
    card = scorecard(drive, references)
    grip_g = envelope_g(drive)
    known = {corner.name: corner for corner in drive.corners}
    found: list[Room] = []
    for grade in card.corners:
        if grade.own is None:
            continue
        corner = known[grade.corner]
        beside = grade.target if isinstance(grade.target, Pass) else None
        made = [
            room
            for room in _all(drive, grade.own, corner, grip_g)
            if beside is None or beside == grade.own or not _shown(drive, room, beside)
        ]
        found += [one._replace(worth=one.worth * grade.weight) for one in made]
    return tuple(found)


def held(drive: Drive, references: References = NONE) -> frozenset[str]:
    """The corners whose graded pass keeps its speed while it is between the pedals: what is
    driven with a light throttle there is no fault. Raises `NoGeometry`."""
    graded = (one.own for one in scorecard(drive, references).corners)
    return frozenset(
        own.corner for own in graded if own is not None and _slowing(drive, own) < COAST_S
    )


def _all(drive: Drive, own: Pass, corner: Corner, envelope_g: float | None) -> list[Room]:
    """What one pass leaves to be won."""
    made = [_pedals(drive, own), _hands(own)]
    if corner.name not in dangers(drive):  # there nobody is asked for more speed
        made += [_throttle(drive, own), _apex(own, corner), _grip(own, envelope_g)]
    return [one for one in made if one is not None]


def _shown(drive: Drive, room: Room, best: Pass) -> bool:
    """Whether the quickest pass shows as much of the same, so that it cannot be what costs."""
    if room.cause in ("coast_in_corner", "rolling"):
        return best.coast_seconds is not None and best.coast_seconds >= room.now - SAME_S
    if room.cause == "late_throttle":
        metres = opening_m(drive, best)
        return metres is not None and metres >= room.now
    if room.cause == "exit_understeer":
        return (best.steering_corrections or 0) >= room.now
    used = best.apex_speed_kmh if room.cause == "slow_apex" else best.max_combo_g
    return used is not None and used <= room.now


def coasting(drive: Drive) -> Room | None:
    """Coasting over the whole lap, where it is too much; None also where nobody knows."""
    series = drive.series
    told = is_coasting_told(series) & (drive.lap_of > 0)
    part = share_of_time(series, is_coasting(series), told)
    if part is None or (share := 100.0 * part) <= LAP_COAST_PCT:
        return None
    return Room("", "coast_in_corner", 0, share / 100.0, share, LAP_COAST_PCT)


def _pedals(drive: Drive, own: Pass) -> Room | None:
    """Coasting for the corner, where speed is lost by it."""
    coast = own.coast_seconds
    if coast is None or coast < COAST_S or coast < COAST_SHARE * own.corner_time_s:
        return None
    if _slowing(drive, own) < max(COAST_S, COAST_SHARE * own.corner_time_s):
        return None
    rolls = own.brake_point_m is None or coast > ROLLING_S
    cause = "rolling" if rolls else "coast_in_corner"
    share = 100.0 * coast / own.corner_time_s
    return Room(own.corner, cause, own.lap, 0.3 * coast, coast, coast / 2, share)


def _slowing(drive: Drive, own: Pass) -> float:
    """Seconds of it in which the speed changes; a steady speed is held, not wasted."""
    series, frames = drive.series, slice(own.start, own.last)
    idle = is_coasting(series)[frames]
    speed, weight, seconds = series["speed_ms"][frames], series.weight[frames], 0.0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], idle.astype(np.int8), [0]])))
    for begin, end in edges.reshape(-1, 2).tolist():
        known = speed[begin:end][~np.isnan(speed[begin:end])]
        change = float(known.max() - known.min()) if len(known) else 0.0
        if not len(known) or change >= STEADY_SHARE * float(known.max()):
            seconds += float(weight[begin:end].sum())
    return seconds


def _throttle(drive: Drive, own: Pass) -> Room | None:
    """How far behind the apex the power comes, where it comes in the corner."""
    metres = opening_m(drive, own)
    if metres is None or not metres >= LATE_M:
        return None
    return Room(own.corner, "late_throttle", own.lap, 0.008 * metres, metres, metres / 2)


def _hands(own: Pass) -> Room | None:
    count = own.steering_corrections or 0
    if count < CORRECTIONS:
        return None
    return Room(own.corner, "exit_understeer", own.lap, 0.04 * count, float(count), 1.0)


def _apex(own: Pass, corner: Corner) -> Room | None:
    """Speed at the apex beside that of a good lap, as the circuit's file has it."""
    good = corner.speeds.apex * KMH if corner.speeds is not None else None
    now = own.apex_speed_kmh
    if good is None or now is None or good - now < max(SLOW_KMH, SLOW_SHARE * good):
        return None
    aim = now + min(STEP_KMH, (good - now) / 2)
    return Room(own.corner, "slow_apex", own.lap, 0.02 * (good - now), now, aim, good)


def _grip(own: Pass, envelope_g: float | None) -> Room | None:
    """The largest load beside what the car held elsewhere."""
    used, now = own.max_combo_g, own.apex_speed_kmh
    slowest, entry = own.min_speed_kmh, own.entry_speed_kmh
    if None in (used, now, slowest, entry, envelope_g):
        return None
    assert used is not None
    assert now is not None
    assert slowest is not None
    assert entry is not None
    assert envelope_g is not None
    if used >= USED_SHARE * envelope_g or entry - slowest < SLOWED_KMH:
        return None
    share = used / envelope_g
    aim = now + min(STEP_KMH, 0.05 * now)
    room = Room(own.corner, "unused_grip", own.lap, 0.5 * (1.0 - share), used, aim, envelope_g)
    return room._replace(at=now)
