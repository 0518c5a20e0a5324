"""A season out of the digests of its sessions: best laps, how drivers develop, what they repeat."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runtime.bridge.analysis.driver import DriverSession, Progress, Step, progress, steps
from runtime.bridge.analysis.grading import LEAST_S
from runtime.bridge.lake.digest import CornerDigest, SessionDigest
from runtime.bridge.session.ranking import Candidate, Entry, leaderboard
from runtime.bridge.session.units import Seconds
from runtime.bridge.track.identity import Site

REPEATED: Final = 2
"""In so many sessions a corner must have cost time."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The sessions of a driver at one circuit, by their start."""

    driver: str
    track: str
    sessions: tuple[Step, ...]
    progress: Progress | None
    """null: no session has a complete lap"""


@dataclass(frozen=True, slots=True)
class RepeatedLoss:
    """A corner in which a driver lost time again and again."""

    driver: str
    track: str
    corner: str
    sessions: int
    """in which it cost more than 0.05 s"""
    of: int
    """sessions in which it was graded"""
    lost_s: Seconds
    """s a lap: mean of those in which it cost time"""
    cause: str | None
    """the most frequent one"""


@dataclass(frozen=True, slots=True)
class Season:
    """All sessions together."""

    best_laps: tuple[Entry, ...]
    """one for each driver, car and track; ranked on each track, the fastest first"""
    trends: tuple[Trend, ...]
    losses: tuple[RepeatedLoss, ...]
    """the largest first"""


def see_season(digests: Iterable[SessionDigest]) -> Season:
    """What the sessions show together.

    Drivers are told apart by their names, and so are circuits; one that nobody named is called by
    the first session there, as ``~monday``.
    """
    ordered = sorted(digests, key=lambda each: (each.started_at, each.folder))
    groups: dict[tuple[str, str], list[SessionDigest]] = defaultdict(list)
    laps: dict[str, list[Candidate]] = defaultdict(list)
    for digest, place in zip(ordered, _places(ordered), strict=True):
        groups[(digest.driver or "").strip().casefold(), place].append(digest)
        laps[place] += [
            _candidate(digest, place, lap.number, lap.time_s) for lap in digest.summary.laps
        ]
    trends, losses = [], []
    for (_, place), own in sorted(groups.items()):
        driver = own[0].driver or ""
        trends.append(_trend(driver, place, own))
        losses += _losses(driver, place, own)
    return Season(
        best_laps=tuple(
            entry for _, there in sorted(laps.items()) for entry in leaderboard(there, len(there))
        ),
        trends=tuple(trends),
        losses=tuple(sorted(losses, key=lambda loss: -loss.lost_s * loss.sessions)),
    )


def _places(digests: Sequence[SessionDigest]) -> list[str]:
    """What the circuit of each session is called."""
    unnamed: dict[str, Site] = {}
    places = []
    for digest in digests:
        place = digest.track or ""
        if not place and digest.site is not None:
            same = (name for name, site in unnamed.items() if site.is_of(digest.site))
            place = next(same, f"~{digest.session_id}")
            unnamed.setdefault(place, digest.site)
        places.append(place or f"~{digest.session_id}")
    return places


def _candidate(digest: SessionDigest, place: str, number: int, time_s: float) -> Candidate:
    return Candidate(
        driver=digest.driver or "",
        car=digest.car or "",
        track=place,
        place=place,
        session_id=digest.session_id,
        lap_number=number,
        lap_time_s=time_s,
        recorded_at=digest.started_at,
    )


def _trend(driver: str, track: str, own: Sequence[SessionDigest]) -> Trend:
    driven = [DriverSession(each.session_id, each.started_at, each.summary) for each in own]
    return Trend(driver, track, tuple(steps(driven)), progress(driven))


def _losses(driver: str, track: str, own: Sequence[SessionDigest]) -> list[RepeatedLoss]:
    graded: dict[str, list[CornerDigest]] = defaultdict(list)
    for digest in own:
        for corner in digest.driving.corners if digest.driving else ():
            if corner.lost_s is not None:
                graded[corner.corner].append(corner)
    found = []
    for name, corners in graded.items():
        lost = {at: each.lost_s for at, each in enumerate(corners) if (each.lost_s or 0) > LEAST_S}
        causes = Counter(corners[at].cause for at in lost)
        if len(lost) >= REPEATED:
            mean = sum(seconds or 0.0 for seconds in lost.values()) / len(lost)
            cause = min(causes, key=lambda each: (-causes[each], each or ""))
            found.append(RepeatedLoss(driver, track, name, len(lost), len(corners), mean, cause))
    return found
