"""What several sessions have in common that costs time: at most three habits; pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.grading import GOOD, dangers, scorecard
from runtime.bridge.analysis.laps import ideal_lap
from runtime.bridge.analysis.passes import Pass, by_time, passes_of
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.warm.findings import chosen
from runtime.bridge.coach.warm.pedagogy import tip_of
from runtime.bridge.coach.warm.room import held
from runtime.bridge.cues.model import Burst
from runtime.bridge.session.definitions import CLOSED_PCT, is_coasting, is_coasting_told, is_told
from runtime.bridge.session.series import Flags
from runtime.bridge.session.units import KMH

MOST: Final = 3
CORNERS: Final = 4
COAST_SHARE_PCT: Final = 15.0
CORNER_COAST: Final = 0.20
CEILING_G: Final = 2.29
HEADROOM_G: Final = 1.6
UNUSED_G: Final = 1.5
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
    max_combo_g: float | None


class Idle(NamedTuple):
    """Time from the brake to the throttle in one pass."""

    corner: str
    seconds: float


class Driving(NamedTuple):
    """A session, as far as habits show in it."""

    pieces: tuple[Piece, ...]
    idle: tuple[Idle, ...]
    gain_s: float | None
    """What the session's best sectors in one lap would bring."""
    best_s: float
    laps: int
    told: int
    """Frames of complete laps that tell whether the car coasts."""
    coasting: int
    """Of them."""
    focus: str = ""
    """The corner to work on first, as the debrief has it; empty for none."""
    tip: str = ""
    """What its debrief asks for there, as the rest of a sentence."""
    spared: frozenset[str] = frozenset()
    """Corners where nobody is asked for more speed: of danger, or driven best of all."""


class Insight(NamedTuple):
    """A habit that costs time."""

    id: str
    title: str
    detail: str
    corners: tuple[str, ...]
    metric_label: str
    metric_value: str
    effort: int
    """1, little, to 3."""
    gain_s: float
    """A rough guess, a lap."""
    evidence: int
    """Pieces of driving behind it."""
    concept: str


def driving(drive: Drive, references: References = NONE) -> Driving:
    """What of a session shows habits; the chosen lap alone where one is chosen."""
    series = drive.series
    coasting, told = is_coasting(series), is_coasting_told(series)
    inside = drive.lap_of > 0
    ideal = ideal_lap(drive)
    try:
        corners = list(passes_of(drive).values())
    except NoGeometry:
        corners = []
    steady = held(drive, references) if corners else frozenset()
    passes, first = [one for found in corners for one in found], chosen(drive, references)
    return Driving(
        pieces=tuple(_piece(drive, one, coasting, told) for one in passes),
        idle=tuple(one for found in corners for one in _pauses(found, steady)),
        gain_s=ideal.sectors.gain_s,
        best_s=ideal.best_actual_lap_s,
        laps=len(drive.counted),
        told=int((told & inside).sum()),
        coasting=int((coasting & inside).sum()),
        focus=first.corner if first is not None else "",
        tip=tip_of(first) if first is not None else "",
        spared=_spared(drive, references) if corners else frozenset(),
    )


def _spared(drive: Drive, references: References) -> frozenset[str]:
    graded = [one for one in scorecard(drive, references).corners if one.score is not None]
    best = max(graded, key=lambda one: one.score.total if one.score else 0.0, default=None)
    good = best is not None and best.score is not None and best.score.total >= GOOD
    return frozenset(dangers(drive)) | (frozenset({best.corner}) if good and best else frozenset())


def _pauses(passes: Sequence[Pass], steady: frozenset[str]) -> list[Idle]:
    """The pauses in a corner; none where the quickest pass has a longer one than most, or the
    speed is held."""
    known = [one for one in passes if one.nothing_time_s is not None]
    found = [Idle(one.corner, one.nothing_time_s or 0.0) for one in known]
    if not found or found[0].corner in steady:
        return []
    quickest = by_time(known)[0]
    usual = fmean(one.seconds for one in found)
    return [] if (quickest.nothing_time_s or 0.0) > usual + SAME_S else found


def _piece(drive: Drive, one: Pass, coasting: Flags, told: Flags) -> Piece:
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
        max_combo_g=one.max_combo_g,
    )


def of_burst(burst: Burst) -> Piece:
    """A burst as a piece of driving."""
    tells = not math.isnan(burst.max_brake_bar + burst.avg_throttle_pct + burst.avg_speed_kmh)
    return Piece(
        corners=burst.corners_visited,
        in_corner=bool(burst.in_corner),
        told=burst.frame_count if tells else 0,
        coasting=min(burst.coast_frames, burst.frame_count) if tells else 0,
        trailing=None
        if math.isnan(burst.max_brake_bar + burst.max_lateral_g)
        else burst.trail_brake_frames,
        speed_kmh=burst.avg_speed_kmh,
        max_combo_g=None if math.isnan(burst.max_combo_g) else burst.max_combo_g,
    )


def insights(sessions: Sequence[Driving], bursts: Sequence[Piece]) -> tuple[Insight, ...]:
    """The habits of *sessions*, the newest first, and *bursts*: the least effort first, then the
    largest gain. Of corners the one to work on in the newest session comes first."""
    pieces = [*(piece for one in sessions for piece in one.pieces), *bursts]
    found = [
        one
        for one in (
            _coasting(sessions, pieces, bursts),
            _headroom(pieces, frozenset().union(*(one.spared for one in sessions))),
            _no_trail(pieces),
            _late(pieces, sessions),
            _idle(sessions),
            _sectors(sessions),
        )
        if one is not None
    ]
    first = sessions[0].focus if sessions else ""
    found = [
        one._replace(corners=tuple(sorted(one.corners, key=lambda corner: corner != first)))
        for one in found
    ]
    return tuple(sorted(found, key=lambda one: (one.effort, -one.gain_s, one.id))[:MOST])


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
        id="coast_excess",
        title="Too much rolling",
        detail=f"{share:.0f} % of the time the brake is off and the throttle under "
        f"{CLOSED_PCT:.0f} %. Go from one pedal to the other.",
        corners=_often(worst),
        metric_label="time coasting",
        metric_value=f"{share:.0f} %",
        effort=1,
        gain_s=min(0.03 * share, 1.5),
        evidence=sum(one.coasting > 0 for one in pieces),
        concept="full_commitment",
    )


def _headroom(pieces: Sequence[Piece], spared: frozenset[str]) -> Insight | None:
    inside = [one for one in pieces if one.in_corner]
    used = [one.max_combo_g for one in inside if one.max_combo_g is not None]
    most: dict[str, float] = defaultdict(float)
    for one in inside:
        for corner in one.corners:
            most[corner] = max(most[corner], one.max_combo_g or 0.0)
    unused = {corner: g for corner, g in most.items() if 0.0 < g < UNUSED_G}
    if not used or fmean(used) >= HEADROOM_G or len(unused) < 2:
        return None
    mean = fmean(used)
    open_to = [corner for corner in unused if corner not in spared]
    if not open_to:
        return None
    return Insight(
        id="grip_headroom",
        title="Grip in hand",
        detail=f"The largest load of a corner is {mean:.2f} g on average. Where the tyres are "
        "quiet and there is room beside the track, add speed in small steps.",
        corners=tuple(sorted(open_to, key=lambda corner: (unused[corner], corner))[:CORNERS]),
        metric_label="mean of the largest load",
        metric_value=f"{mean:.2f} g",
        effort=1,
        gain_s=max(0.0, min(0.4 * (CEILING_G - mean), 1.0)),
        evidence=len(unused),
        concept="look_ahead",
    )


def _no_trail(pieces: Sequence[Piece]) -> Insight | None:
    inside = [one for one in pieces if one.in_corner and one.trailing is not None]
    if not inside or any(one.trailing for one in inside):
        return None
    return Insight(
        id="trail_absent",
        title="The brake is up before the corner begins",
        detail="In no corner are brake and steering used together. Keep a little pressure past "
        "turn-in and let it fade.",
        corners=_often(inside),
        metric_label="corners with trail braking",
        metric_value="0",
        effort=2,
        gain_s=0.4,
        evidence=len(inside),
        concept="trail_brake",
    )


def _late(pieces: Sequence[Piece], sessions: Sequence[Driving]) -> Insight | None:
    slow = [one for one in pieces if one.in_corner and 0.0 < one.speed_kmh < SLOW_KMH]
    corners = _often(slow, most=None)
    if not corners:
        return None
    slowest = min(slow, key=lambda one: one.speed_kmh)
    where = slowest.corners[0] if slowest.corners else "A corner"
    first = sessions[0] if sessions and sessions[0].focus in corners else None
    advice = "Look at the place where your braking should end, and from there to the exit"
    lead = (first.focus,) if first is not None else ()
    if first is not None:
        tip = first.tip
        advice = f"Work on {first.focus} first: {tip}"
    return Insight(
        id="braking_late",
        title="Slow in the middle of the corner",
        detail=f"{where} is driven with {slowest.speed_kmh:.0f} km/h on average. {advice}.",
        corners=tuple(dict.fromkeys((*lead, *corners)))[:CORNERS],
        metric_label="slowest mean of a corner",
        metric_value=f"{slowest.speed_kmh:.0f} km/h",
        effort=2,
        gain_s=0.5,
        evidence=len(corners),
        concept="brake_end_focus",
    )


def _idle(sessions: Sequence[Driving]) -> Insight | None:
    times: dict[str, list[float]] = defaultdict(list)
    for one in sessions:
        for idle in one.idle:
            times[idle.corner].append(idle.seconds)
    means = {corner: fmean(found) for corner, found in times.items() if len(found) >= IDLE_PASSES}
    idle_at = {corner: mean for corner, mean in means.items() if mean > IDLE_S}
    if not idle_at:
        return None
    worst = sorted(idle_at, key=lambda corner: (-idle_at[corner], corner))[:CORNERS]
    mean = max(idle_at.values())
    return Insight(
        id="nothing_time",
        title="A pause between brake and throttle",
        detail=f"At {worst[0]}, {mean:.1f} s pass from the brake to the throttle. Hold a breath "
        "of brake until the throttle takes over.",
        corners=tuple(worst),
        metric_label="longest mean pause",
        metric_value=f"{mean:.1f} s",
        effort=1,
        gain_s=min(sum((value - IDLE_S) * 0.6 for value in idle_at.values()), 1.5),
        evidence=sum(len(times[corner]) for corner in idle_at),
        concept="early_brake_release",
    )


def _sectors(sessions: Sequence[Driving]) -> Insight | None:
    best = min(sessions, key=lambda one: one.best_s, default=None)
    if best is None or best.gain_s is None or best.gain_s <= SECTOR_S:
        return None
    return Insight(
        id="sector_gap",
        title="The best sectors are on different laps",
        detail=f"Your best sectors in one lap are worth {best.gain_s:.2f} s. Drive one whole lap "
        "at the pace that you can repeat.",
        corners=(),
        metric_label="ideal lap less best lap",
        metric_value=f"{best.gain_s:.2f} s",
        effort=2,
        gain_s=best.gain_s,
        evidence=best.laps,
        concept="look_ahead",
    )


def _often(pieces: Iterable[Piece], most: int | None = CORNERS) -> tuple[str, ...]:
    """Corners by how often they appear, the first of equals first."""
    counts: dict[str, int] = defaultdict(int)
    for one in pieces:
        for corner in one.corners:
            counts[corner] += 1
    return tuple(sorted(counts, key=lambda corner: -counts[corner])[:most])
