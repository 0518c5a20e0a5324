"""What a pass of a corner leaves to be won by itself, whatever other passes did; pure."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.friction import friction_circle
from runtime.bridge.analysis.grading import scorecard
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.laps.progress import unwrap
from runtime.bridge.telemetry.values import Numbers
from runtime.bridge.tracks.model import Corner

KMH: Final = 3.6
COAST_S: Final = 0.4
"""Less on no pedal is none of a driver's business, and less than this share of the corner."""
COAST_SHARE: Final = 0.15
ROLLING_S: Final = 3.0
"""So long is no pause between two pedals."""
OPEN_PCT: Final = 20.0
"""So much throttle is power."""
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
DANGEROUS: Final = ("high", "medium")


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
    envelope_g = friction_circle(drive).envelope_g
    way = unwrap(drive.progress.p, drive.length_m)
    known = {corner.name: corner for corner in drive.corners}
    found: list[Room] = []
    for grade in card.corners:
        if grade.own is None:
            continue
        corner = known[grade.corner]
        made = [
            _pedals(grade.own),
            _throttle(drive, way, grade.own),
            _hands(grade.own),
        ]
        if not _dangerous(drive, corner):  # there nobody is asked for more speed
            made += [_apex(grade.own, corner), _grip(grade.own, envelope_g)]
        found += [one._replace(worth=one.worth * grade.weight) for one in made if one is not None]
    return tuple(found)


def coasting(drive: Drive) -> Room | None:
    """Time on no pedal over the whole lap, where it is too much."""
    series, inside = drive.series, drive.lap_of > 0
    throttle, brake = series["throttle_pct"][inside], series["brake_bar"][inside]
    if np.isnan(throttle).all() or np.isnan(brake).all():
        return None
    idle = (np.nan_to_num(throttle) < 5.0) & (np.nan_to_num(brake) < 1.0)
    share = 100.0 * float(np.mean(idle))
    if share <= LAP_COAST_PCT:
        return None
    return Room("", "coast_in_corner", 0, share / 100.0, share, LAP_COAST_PCT)


def _dangerous(drive: Drive, corner: Corner) -> bool:
    """Whether a corner lies in a stretch where mistakes are punished hard."""
    zones = drive.track.danger_zones if drive.track is not None else ()
    reach = (corner.exit.distance_m - corner.entry.distance_m) % drive.length_m
    return any(
        zone.severity in DANGEROUS
        and (
            (zone.start_m - corner.entry.distance_m) % drive.length_m < reach
            or (corner.entry.distance_m - zone.start_m) % drive.length_m
            < (zone.end_m - zone.start_m) % drive.length_m
        )
        for zone in zones
    )


def _pedals(own: Pass) -> Room | None:
    """Time on no pedal inside the corner."""
    coast = own.coast_seconds
    if coast is None or coast < COAST_S or coast < COAST_SHARE * own.corner_time_s:
        return None
    rolls = own.brake_point_m is None or coast > ROLLING_S
    cause = "rolling" if rolls else "coast_in_corner"
    share = 100.0 * coast / own.corner_time_s
    return Room(own.corner, cause, own.lap, 0.3 * coast, coast, coast / 2, share)


def _throttle(drive: Drive, way: Numbers, own: Pass) -> Room | None:
    """How far behind the apex the power comes, where it comes in the corner."""
    throttle = drive.series["throttle_pct"][own.apex_frame : own.last]
    opened = np.flatnonzero(throttle >= OPEN_PCT)
    if not len(opened):
        return None
    metres = float(way[own.apex_frame + int(opened[0])] - way[own.apex_frame])
    if not metres >= LATE_M:
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
