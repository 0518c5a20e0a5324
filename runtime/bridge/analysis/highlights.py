"""The moments of a session that are worth a second look."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grip import CROSSINGS, find_oscillations, find_usual_peak
from runtime.bridge.analysis.incidents import ASSISTS, Active, detect_incidents
from runtime.bridge.analysis.laps import find_best_parts, measure_sectors
from runtime.bridge.analysis.passes import Pass, list_passes
from runtime.bridge.analysis.reference import NONE, Aim, References, find_aims
from runtime.bridge.session.ranking import format_time
from runtime.bridge.session.series import longest_step_s
from runtime.bridge.session.units import Metres, Seconds

Severity: TypeAlias = Literal["high", "medium", "positive", "engineering"]

ORDER: Final[tuple[Severity, ...]] = ("high", "medium", "positive", "engineering")
KINDS: Final[dict[str, tuple[Severity, str]]] = {
    "over_limit_in_corner": ("high", "Over the limit in {}"),
    "late_brake_vs_reference": ("high", "Late braking into {}"),
    "incident": ("high", ""),
    "overbraked_vs_reference": ("medium", "Too much brake for {}"),
    "coast_in_corner": ("medium", "Coasting in {}"),
    "slow_exit_vs_reference": ("medium", "Slow exit of {}"),
    "slip_oscillation": ("medium", "Back and forth around the limit"),
    "best_lap": ("positive", ""),
    "best_sector": ("positive", ""),
    "clean_trail_brake": ("positive", "Clean release in {}"),
    "improved_vs_first_pass": ("positive", "Better exit of {}"),
    "telemetry_gap": ("engineering", "Gap in the recording"),
}
"""Severity and title of each category; an empty title is set for each moment."""
INCIDENTS: Final[dict[str, str]] = {
    "over_g": "Very high load",
    "off_line": "Off the line",
    "spin": "Spin",
    "stopped": "Standing in a lap",
    "hard_deceleration": "Hard deceleration without brakes",
    "abs_active": "Anti-lock brakes at work",
    "tc_active": "Traction control at work",
}
MOST: Final = 8
OF_A_CATEGORY: Final = 2
OF_A_CORNER: Final = 3
LEAD_IN_S: Final = 3.0
LEAD_OUT_S: Final = 5.0
GAPS: Final = 16
"""The number of longest pauses considered."""
LEAST_GAIN_S: Final = 0.001
OVER_LIMIT_G: Final = 1.6
"""The limit without a usual lap to show what the car can do."""
OVER_USUAL: Final = 1.15
"""Over the limit is above this many times the largest load of a usual lap."""
OVER_REFERENCE: Final = 1.05
LATE_BRAKE_M: Final = 5.0
OVERBRAKED_BAR: Final = 30.0
GENTLE_BAR: Final = 20.0
COAST_S: Final = 0.4
SLOW_EXIT_KMH: Final = 3.0
TRAIL_BAR: Final = 15.0
TRAIL_SHARES: Final = (0.05, 0.20)
IMPROVED_KMH: Final = 2.0
ENOUGH_LAPS: Final = 3
"""The least number of laps for the session's own best passes to be a reference."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A moment worth a second look."""

    id: str
    """h0, h1, … by importance; the id of its clip too"""
    title: str
    category: str
    """over_limit_in_corner, late_brake_vs_reference, incident, overbraked_vs_reference,
    coast_in_corner, slow_exit_vs_reference, slip_oscillation, best_lap, best_sector,
    clean_trail_brake, improved_vs_first_pass or telemetry_gap"""
    severity: Severity
    lap: int
    """the complete lap; 0: outside"""
    distance_m: Metres | None
    """m of the lap; null: unknown"""
    timestamp_s: Seconds
    """s since the first frame"""
    timestamp: Seconds
    """s of the session's clock"""
    corner: str | None
    video_in_s: Seconds
    """s since the first frame: 3 s before, at least 0"""
    video_out_s: Seconds
    """s since the first frame: 5 s after"""
    narrative_seed: str
    """a sentence with the numbers"""


@dataclass(frozen=True, slots=True)
class Moment(Highlight):
    """A highlight, and its magnitude in multiples of the least that counts."""

    magnitude: float


class Candidate(NamedTuple):
    """A moment that may become a highlight."""

    category: str
    magnitude: float
    """In multiples of the least that counts."""
    frame: int
    """Of the series."""
    t: float
    """Seconds of the session's clock."""
    seed: str
    """A sentence with the numbers."""
    title: str = ""
    """Empty: that of the category."""
    corner: str | None = None
    lap: int | None = None
    """None: the complete lap of the frame."""

    @property
    def rank(self) -> tuple[int, float, float, str, str]:
        """By severity, then magnitude, then the later first."""
        severity = ORDER.index(KINDS[self.category][0])
        return severity, -self.magnitude, -self.t, self.category, self.corner or ""


def find_highlights(
    drive: Drive, references: References = NONE, active: Sequence[Active] = ()
) -> tuple[Moment, ...]:
    """Find the eight most important moments, the most important first.

    By severity, then magnitude, then the later first; at most two of a category and three of a
    corner, unless fewer than eight would remain. *active*: when assistance systems worked. Without
    known corners only moments that do not need them.
    """
    candidates = [
        *_rate_passes(drive, references),
        *_list_incidents(drive, active),
        *_list_oscillations(drive, references),
        *_find_best_lap(drive),
        *_find_best_sectors(drive),
        *_find_gaps(drive),
    ]
    return tuple(_make_moment(drive, at, item) for at, item in enumerate(_choose(candidates)))


def _choose(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Choose the best by rank, only a few of each kind."""
    ranked = sorted(candidates, key=lambda item: item.rank)
    chosen: list[Candidate] = []
    rest: list[Candidate] = []
    categories: Counter[str] = Counter()
    corners: Counter[str] = Counter()
    for item in ranked:
        full = item.corner is not None and corners[item.corner] >= OF_A_CORNER
        if full or categories[item.category] >= OF_A_CATEGORY or len(chosen) == MOST:
            rest.append(item)
            continue
        chosen.append(item)
        categories[item.category] += 1
        if item.corner is not None:
            corners[item.corner] += 1
    return sorted(chosen + rest[: MOST - len(chosen)], key=lambda item: item.rank)


def _make_moment(drive: Drive, at: int, item: Candidate) -> Moment:
    since = item.t - float(drive.series.t[0])
    place = float(drive.progress.p[item.frame])
    severity, title = KINDS[item.category]
    return Moment(
        id=f"h{at}",
        title=item.title or title.format(item.corner),
        category=item.category,
        severity=severity,
        lap=int(drive.lap_of[item.frame]) if item.lap is None else item.lap,
        distance_m=None if np.isnan(place) else place,
        timestamp_s=since,
        timestamp=item.t,
        corner=item.corner,
        video_in_s=max(0.0, since - LEAD_IN_S),
        video_out_s=since + LEAD_OUT_S,
        narrative_seed=item.seed,
        magnitude=item.magnitude,
    )


def _rate_passes(drive: Drive, references: References) -> list[Candidate]:
    """Find what stands out in the passes of every corner, good or bad.

    Comparisons need a reference file, or three complete laps.
    """
    try:
        aim_of, passes_by_corner = find_aims(drive, references), list_passes(drive)
    except NoCorners:
        return []
    usual = find_usual_peak(drive, drive.series.combo_g)
    candidates: list[Candidate] = []
    for name, passes in passes_by_corner.items():
        aim = aim_of.get(name)
        for passage in passes:
            candidates += _rate_pass(drive, passage, aim, usual)
            if aim is not None and aim.own is not passage and _can_compare(drive, aim):
                candidates += _compare_pass(drive, passage, aim)
        candidates += _find_improvement(drive, passes)
    return candidates


def _can_compare(drive: Drive, aim: Aim) -> bool:
    return aim.basis == "reference_file" or len(drive.counted) >= ENOUGH_LAPS


def _rate_pass(
    drive: Drive, passage: Pass, aim: Aim | None, usual_g: float | None
) -> Iterator[Candidate]:
    """Rate a pass by itself; *usual_g*: the largest combined acceleration of a usual lap."""
    target = aim.target.max_combo_g if aim is not None else None
    limit = OVER_LIMIT_G if usual_g is None else OVER_USUAL * usual_g
    limit = max(limit, OVER_REFERENCE * target if target is not None else 0.0)
    is_measured = "combo_g" not in drive.series.derived
    if is_measured and passage.max_combo_g is not None and passage.max_combo_g > limit:
        seed = f"{passage.max_combo_g:.2f} g in {passage.corner}, where {limit:.2f} g is a lot."
        yield _at_apex(drive, passage, "over_limit_in_corner", passage.max_combo_g / limit, seed)
    coast = passage.coast_seconds
    if coast is not None and coast > COAST_S:
        seed = f"{coast:.1f} s of coasting in {passage.corner}."
        yield _at_apex(drive, passage, "coast_in_corner", coast / COAST_S, seed)
    peak, apex = passage.peak_brake_bar, passage.trail_brake_bar_at_apex
    low, high = TRAIL_SHARES
    if peak is not None and apex is not None and peak > TRAIL_BAR and low <= apex / peak <= high:
        seed = f"From {peak:.0f} bar to {apex:.1f} bar at the apex of {passage.corner}."
        yield _at_apex(drive, passage, "clean_trail_brake", peak / TRAIL_BAR, seed)


def _compare_pass(drive: Drive, passage: Pass, aim: Aim) -> Iterator[Candidate]:
    target = aim.target
    usual_pass = "the reference" if aim.basis == "reference_file" else "the quickest pass"
    if passage.brake_point_m is not None and target.brake_point_m is not None:
        later = target.brake_point_m - passage.brake_point_m
        if later > LATE_BRAKE_M:
            seed = f"Braked {later:.0f} m later than {usual_pass} into {passage.corner}."
            yield _at_apex(drive, passage, "late_brake_vs_reference", later / LATE_BRAKE_M, seed)
    peak, usual = passage.peak_brake_bar, target.peak_brake_bar
    if peak is not None and usual is not None and peak > OVERBRAKED_BAR and usual < GENTLE_BAR:
        seed = f"{peak:.0f} bar into {passage.corner}, where {usual:.0f} bar is enough."
        yield _at_apex(drive, passage, "overbraked_vs_reference", peak / OVERBRAKED_BAR, seed)
    if passage.exit_speed_kmh is not None and target.exit_speed_kmh is not None:
        slower = target.exit_speed_kmh - passage.exit_speed_kmh
        if slower > SLOW_EXIT_KMH:
            seed = f"{slower:.1f} km/h less than {usual_pass} at the exit of {passage.corner}."
            yield _at_apex(drive, passage, "slow_exit_vs_reference", slower / SLOW_EXIT_KMH, seed)


def _find_improvement(drive: Drive, passes: Sequence[Pass]) -> Iterator[Candidate]:
    """Compare the later pass that left the corner fastest with the first pass."""
    with_exit = [
        (passage.exit_speed_kmh, passage)
        for passage in passes
        if passage.exit_speed_kmh is not None
    ]
    if len(with_exit) < 2:
        return
    speed, best = max(with_exit[1:], key=lambda pair: (pair[0], -pair[1].t_entry))
    gain = speed - with_exit[0][0]
    if gain > IMPROVED_KMH:
        seed = f"{gain:.1f} km/h more at the exit of {best.corner} than in the first pass."
        yield _at_apex(drive, best, "improved_vs_first_pass", gain / IMPROVED_KMH, seed)


def _at_apex(drive: Drive, passage: Pass, category: str, magnitude: float, seed: str) -> Candidate:
    t = float(drive.series.t[passage.apex_frame])
    return Candidate(
        category, magnitude, passage.apex_frame, t, seed, corner=passage.corner, lap=passage.lap
    )


def _list_incidents(drive: Drive, active: Sequence[Active]) -> Iterator[Candidate]:
    for incident in detect_incidents(drive, active):
        # Assistance at work is not an alarm: it comes last among incidents.
        magnitude = 1.0 if incident.kind in ASSISTS else incident.magnitude
        t, title = float(drive.series.t[incident.frame]), INCIDENTS[incident.kind]
        yield Candidate(
            "incident", magnitude, incident.frame, t, incident.reason, title, lap=incident.lap
        )


def _list_oscillations(drive: Drive, references: References) -> Iterator[Candidate]:
    for slip in find_oscillations(drive, references):
        seed = (
            f"The used grip changed {slip.crossings} times in 3 s, up to {slip.peak_combo_g:.2f} g."
        )
        t = float(drive.series.t[slip.frame])
        yield Candidate("slip_oscillation", slip.crossings / CROSSINGS, slip.frame, t, seed)


def _find_best_lap(drive: Drive) -> Iterator[Candidate]:
    if drive.partial:
        return
    lap, time = drive.best, format_time(drive.best.duration_s)
    seed = f"Lap {lap.number} was the fastest of the session with {time}."
    title = f"Best lap, {time}"
    yield Candidate("best_lap", 1.0, lap.last - 1, lap.t_end, seed, title, lap=lap.number)


def _find_best_sectors(drive: Drive) -> Iterator[Candidate]:
    """Find sectors in which another lap was faster than the best lap."""
    if drive.partial:
        return
    rows = dict(zip(drive.counted, measure_sectors(drive), strict=True))
    best_row = rows[drive.best]
    for at, part in enumerate(find_best_parts(drive, drive.sectors, tuple(rows.values()))):
        own, least = best_row[at], part.time_s
        if own is None or least is None:
            continue
        lap = next(lap for lap in drive.counted if lap.number == part.from_lap)
        later, time = rows[lap][at + 1 :], rows[lap][at]
        if own - least < LEAST_GAIN_S or time is None or None in later:
            continue
        end = lap.t_end - sum(time for time in later if time is not None)
        frame = min(int(np.searchsorted(drive.series.t, end)), lap.last - 1)
        seed = f"Lap {lap.number} was {own - least:.3f} s faster in {part.name} than the best lap."
        magnitude, title = 1.0 + (own - least) / own, f"Best {part.name}"
        yield Candidate("best_sector", magnitude, frame, end, seed, title, lap=lap.number)


def _find_gaps(drive: Drive) -> Iterator[Candidate]:
    """Find pauses of the recording, the longest first."""
    series, frames = drive.series, drive.frames
    limit = longest_step_s(series.nominal_s)
    pauses = np.flatnonzero(series.gap)
    pauses = pauses[(pauses >= frames.start) & (pauses < frames.stop)]
    longest = pauses[np.argsort(-series.dt[pauses], kind="stable")[:GAPS]]
    for at in longest.tolist():
        seconds = float(series.dt[at])
        seed = f"Nothing was recorded for {seconds:.1f} s."
        yield Candidate("telemetry_gap", seconds / limit, at, float(series.t[at]), seed)
