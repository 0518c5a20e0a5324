"""The moments of a session that are worth looking at again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.incidents import ASSISTS, Active, incidents
from runtime.bridge.analysis.moments_passes import Candidate, Severity, pass_candidates
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.slip import CROSSINGS, slip_oscillations
from runtime.bridge.session.laps import TIE_S
from runtime.bridge.session.progress import sector_times
from runtime.bridge.session.ranking import time_text
from runtime.bridge.session.series import GAP_PERIODS, GAP_S

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
