"""The moments of a session that are worth looking at again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.grip import CROSSINGS, slip_oscillations
from runtime.bridge.analysis.incidents import ASSISTS, Active, incidents
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import NONE, Aim, References, aims
from runtime.bridge.session.laps import TIE_S
from runtime.bridge.session.progress import sector_times
from runtime.bridge.session.ranking import time_text
from runtime.bridge.session.series import GAP_PERIODS, GAP_S

Severity: TypeAlias = Literal["high", "medium", "positive", "engineering"]
OVER_LIMIT_G: Final = 1.6
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
"""So many laps a session needs before its own best passes say what is late, hard or slow."""
MOST: Final = 8
OF_A_CATEGORY: Final = 2
OF_A_CORNER: Final = 3
LEAD_IN_S: Final = 3.0
LEAD_OUT_S: Final = 5.0
GAPS: Final = 16
LEAST_GAIN_S: Final = 0.001
"""So many of the longest pauses are considered."""
ORDER: Final[tuple[Severity, ...]] = ("high", "medium", "positive", "engineering")
_TITLES: Final[dict[str, str]] = {
    "over_g": "Very high load",
    "off_line": "Off the line",
    "spin": "Spin",
    "stopped": "Standing in a lap",
    "hard_deceleration": "Hard deceleration without brakes",
    "abs_active": "Anti-lock brakes at work",
    "tc_active": "Traction control at work",
}


class Candidate(NamedTuple):
    """A moment that may become a highlight."""

    category: str
    severity: Severity
    magnitude: float
    """In multiples of the least that counts."""
    frame: int
    """Of the series."""
    t: float
    """Seconds of the session's clock."""
    title: str
    seed: str
    """A sentence with the numbers."""
    corner: str | None = None
    lap: int | None = None
    """None: the complete lap that the frame lies in."""


def pass_candidates(drive: Drive, references: References = NONE) -> Iterator[Candidate]:
    """What stands out in the passes of every corner. Raises `NoGeometry`.

    Comparisons need a reference file, or three complete laps.
    """
    compared = aims(drive, references)
    for name, passes in passes_of(drive).items():
        aim = compared.get(name)
        for one in passes:
            yield from _by_itself(drive, one, aim)
            if aim is not None and aim.own is not one and _tells(drive, aim):
                yield from _compared(drive, one, aim)
        yield from _improved(drive, passes)


def _tells(drive: Drive, aim: Aim) -> bool:
    return aim.basis == "reference_file" or len(drive.counted) >= ENOUGH_LAPS


def _by_itself(drive: Drive, one: Pass, aim: Aim | None) -> Iterator[Candidate]:
    usual = aim.target.max_combo_g if aim is not None else None
    limit = max(OVER_LIMIT_G, OVER_REFERENCE * usual if usual is not None else 0.0)
    if one.max_combo_g is not None and one.max_combo_g > limit:
        seed = f"{one.max_combo_g:.2f} g in {one.corner}, where {limit:.2f} g is a lot."
        magnitude = one.max_combo_g / limit
        yield _at(
            drive, one, "over_limit_in_corner", "high", magnitude, "Over the limit in {}", seed
        )
    coast = one.coast_seconds or 0.0
    if coast > COAST_S:
        seed = f"{coast:.1f} s of coasting in {one.corner}."
        yield _at(drive, one, "coast_in_corner", "medium", coast / COAST_S, "Coasting in {}", seed)
    peak, apex = one.peak_brake_bar, one.trail_brake_bar_at_apex
    low, high = TRAIL_SHARES
    if peak is not None and apex is not None and peak > TRAIL_BAR and low <= apex / peak <= high:
        seed = f"From {peak:.0f} bar to {apex:.1f} bar at the apex of {one.corner}."
        yield _at(
            drive,
            one,
            "clean_trail_brake",
            "positive",
            peak / TRAIL_BAR,
            "Clean release in {}",
            seed,
        )


def _compared(drive: Drive, one: Pass, aim: Aim) -> Iterator[Candidate]:
    target = aim.target
    usual_pass = "the reference" if aim.basis == "reference_file" else "the quickest pass"
    if one.brake_point_m is not None and target.brake_point_m is not None:
        later = target.brake_point_m - one.brake_point_m
        if later > LATE_BRAKE_M:
            seed = f"Braked {later:.0f} m later than {usual_pass} into {one.corner}."
            yield _at(
                drive,
                one,
                "late_brake_vs_reference",
                "high",
                later / LATE_BRAKE_M,
                "Late braking into {}",
                seed,
            )
    peak, usual = one.peak_brake_bar, target.peak_brake_bar
    if peak is not None and usual is not None and peak > OVERBRAKED_BAR and usual < GENTLE_BAR:
        seed = f"{peak:.0f} bar into {one.corner}, where {usual:.0f} bar are enough."
        magnitude = peak / OVERBRAKED_BAR
        yield _at(
            drive,
            one,
            "overbraked_vs_reference",
            "medium",
            magnitude,
            "Too much brake for {}",
            seed,
        )
    if one.exit_speed_kmh is not None and target.exit_speed_kmh is not None:
        slower = target.exit_speed_kmh - one.exit_speed_kmh
        if slower > SLOW_EXIT_KMH:
            seed = f"{slower:.1f} km/h less than {usual_pass} at the exit of {one.corner}."
            magnitude = slower / SLOW_EXIT_KMH
            yield _at(
                drive, one, "slow_exit_vs_reference", "medium", magnitude, "Slow exit of {}", seed
            )


def _improved(drive: Drive, passes: Sequence[Pass]) -> Iterator[Candidate]:
    """The later pass that left the corner fastest, beside the first one."""
    known = [(one.exit_speed_kmh, one) for one in passes if one.exit_speed_kmh is not None]
    if len(known) < 2:
        return
    first = known[0][0]
    speed, best = max(known[1:], key=lambda pair: (pair[0], -pair[1].t_entry))
    gain = speed - first
    if gain > IMPROVED_KMH:
        seed = f"{gain:.1f} km/h more at the exit of {best.corner} than in the first pass."
        magnitude = gain / IMPROVED_KMH
        yield _at(
            drive, best, "improved_vs_first_pass", "positive", magnitude, "Better exit of {}", seed
        )


def _at(
    drive: Drive,
    one: Pass,
    category: str,
    severity: Severity,
    magnitude: float,
    title: str,
    seed: str,
) -> Candidate:
    """A candidate at the apex of a pass."""
    return Candidate(
        category=category,
        severity=severity,
        magnitude=magnitude,
        frame=one.apex_frame,
        t=float(drive.series.t[one.apex_frame]),
        title=title.format(one.corner),
        seed=seed,
        corner=one.corner,
        lap=one.lap,
    )


class Moment(NamedTuple):
    """A highlight."""

    id: str
    """h0, h1, … in the order of importance."""
    title: str
    category: str
    severity: Severity
    lap: int
    """The complete lap it lies in; 0 outside."""
    distance_m: float | None
    """Metres of the lap."""
    timestamp: float
    """Seconds of the session's clock."""
    timestamp_s: float
    """Seconds since the first frame."""
    corner: str | None
    video_in_s: float
    """Where a clip of it begins and ends, seconds since the first frame."""
    video_out_s: float
    narrative_seed: str
    """A sentence with the numbers."""
    magnitude: float
    """What makes it a highlight in multiples of the least that does."""


def highlights(
    drive: Drive, references: References = NONE, active: Sequence[Active] = ()
) -> tuple[Moment, ...]:
    """The eight most important moments, the most important first.

    By severity, then magnitude, then the later first; at most two of a category and three of a
    corner, unless fewer than eight would remain. *active* says when assistance systems worked.
    Without known corners those that need none are given.
    """
    found = [
        *_cornering(drive, references),
        *_incidents(drive, active),
        *_oscillating(drive, references),
        *_best_lap(drive),
        *_best_sectors(drive),
        *_gaps(drive),
    ]
    return tuple(_moment(drive, at, one) for at, one in enumerate(_chosen(found)))


def _chosen(found: Sequence[Candidate]) -> list[Candidate]:
    """The best by rank, a few of a kind each."""
    ranked = sorted(found, key=_rank)
    chosen: list[Candidate] = []
    categories: Counter[str] = Counter()
    corners: Counter[str] = Counter()
    for one in ranked:
        full = one.corner is not None and corners[one.corner] >= OF_A_CORNER
        if full or categories[one.category] >= OF_A_CATEGORY or len(chosen) == MOST:
            continue
        chosen.append(one)
        categories[one.category] += 1
        if one.corner is not None:
            corners[one.corner] += 1
    taken = {id(one) for one in chosen}
    rest = [one for one in ranked if id(one) not in taken]
    return sorted(chosen + rest[: MOST - len(chosen)], key=_rank)


def _rank(one: Candidate) -> tuple[int, float, float, str, str]:
    return (
        ORDER.index(one.severity),
        -one.magnitude,
        -one.t,
        one.category,
        one.corner or "",
    )


def _moment(drive: Drive, at: int, one: Candidate) -> Moment:
    since = one.t - float(drive.series.t[0])
    place = float(drive.progress.p[one.frame])
    return Moment(
        id=f"h{at}",
        title=one.title,
        category=one.category,
        severity=one.severity,
        lap=int(drive.lap_of[one.frame]) if one.lap is None else one.lap,
        distance_m=None if np.isnan(place) else place,
        timestamp=one.t,
        timestamp_s=since,
        corner=one.corner,
        video_in_s=max(0.0, since - LEAD_IN_S),
        video_out_s=since + LEAD_OUT_S,
        narrative_seed=one.seed,
        magnitude=one.magnitude,
    )


def _cornering(drive: Drive, references: References) -> list[Candidate]:
    try:
        return list(pass_candidates(drive, references))
    except NoGeometry:
        return []


def _incidents(drive: Drive, active: Sequence[Active]) -> Iterator[Candidate]:
    for one in incidents(drive, active):
        # Assistance at work is no alarm: it comes last among incidents.
        magnitude = 1.0 if one.kind in ASSISTS else one.magnitude
        seed = f"{one.reason[:1].upper()}{one.reason[1:]}."
        t = float(drive.series.t[one.frame])
        yield Candidate(
            "incident", "high", magnitude, one.frame, t, _TITLES[one.kind], seed, lap=one.lap
        )


def _oscillating(drive: Drive, references: References) -> Iterator[Candidate]:
    for one in slip_oscillations(drive, references):
        seed = (
            f"The used grip changed {one.crossings} times in 3 s, up to {one.peak_combo_g:.2f} g."
        )
        yield Candidate(
            "slip_oscillation",
            "medium",
            one.crossings / CROSSINGS,
            one.frame,
            float(drive.series.t[one.frame]),
            "Back and forth around the limit",
            seed,
        )


def _best_lap(drive: Drive) -> Iterator[Candidate]:
    if drive.partial:
        return
    lap = drive.best
    time = time_text(lap.duration_s)
    seed = f"Lap {lap.number} was the fastest of the session with {time}."
    title = f"Best lap, {time}"
    yield Candidate(
        "best_lap", "positive", 1.0, lap.last - 1, lap.t_end, title, seed, lap=lap.number
    )


def _best_sectors(drive: Drive) -> Iterator[Candidate]:
    """Sectors in which another lap was faster than the best one."""
    if drive.partial:
        return
    best = drive.best
    times = {
        lap: sector_times(drive.laps, drive.progress, lap, drive.sectors) for lap in drive.counted
    }
    for at, sector in enumerate(drive.sectors):
        known = [(time, lap) for lap, row in times.items() if (time := row[at]) is not None]
        own = times[best][at]
        if not known or own is None:
            continue
        least = min(time for time, _ in known)
        lap = next(lap for time, lap in known if time <= least + TIE_S)
        later = times[lap][at:]
        if own - least < LEAST_GAIN_S or None in later:
            continue
        end = lap.t_end - sum(time for time in later[1:] if time is not None)
        frame = min(int(np.searchsorted(drive.series.t, end)), lap.last - 1)
        title = f"Best {sector.name}"
        seed = (
            f"Lap {lap.number} was {own - least:.3f} s faster in {sector.name} than the best lap."
        )
        magnitude = 1.0 + (own - least) / own
        yield Candidate(
            "best_sector", "positive", magnitude, frame, end, title, seed, lap=lap.number
        )


def _gaps(drive: Drive) -> Iterator[Candidate]:
    """Pauses of the recording, the longest first."""
    series, frames = drive.series, drive.frames
    limit = max(GAP_S, GAP_PERIODS * series.nominal_s)
    pauses = np.flatnonzero(series.gap)
    pauses = pauses[(pauses >= frames.start) & (pauses < frames.stop)]
    longest = pauses[np.argsort(-series.dt[pauses], kind="stable")[:GAPS]]
    for at in longest.tolist():
        seconds = float(series.dt[at])
        seed = f"Nothing was recorded for {seconds:.1f} s."
        t = float(series.t[at])
        yield Candidate(
            "telemetry_gap", "engineering", seconds / limit, at, t, "Gap in the recording", seed
        )
