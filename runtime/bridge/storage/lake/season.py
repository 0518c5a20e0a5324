"""A season in a lake: the digest of each session, and the summary of all."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from runtime.bridge.analysis.corners import measure_consistency
from runtime.bridge.analysis.drive import Drive, NoCorners, NoLaps, drive_of
from runtime.bridge.analysis.driver import (
    DriverSession,
    Progress,
    Step,
    list_steps,
    summarise_progress,
)
from runtime.bridge.analysis.grading import LEAST_S, grade_session
from runtime.bridge.analysis.grip import measure_bands, measure_friction_circle
from runtime.bridge.analysis.laps import compose_ideal_lap, measure_distribution
from runtime.bridge.analysis.pedals import measure_brake_acceleration, measure_brake_ends
from runtime.bridge.analysis.summary import Summary, summarise
from runtime.bridge.session.ranking import Candidate, Entry, rank_laps
from runtime.bridge.session.units import FinePercent, Gravity, Kmh, Seconds, Share
from runtime.bridge.storage.lake.layout import TABLES
from runtime.bridge.storage.lake.reading import read_about, read_laps
from runtime.bridge.track.identity import Site, locate_site
from runtime.bridge.track.model import Track

REPEATED: Final = 2
"""Sessions in which a corner must have cost time to count."""


@dataclass(frozen=True, slots=True)
class CornerDigest:
    """A corner in a session; null where unknown."""

    corner: str
    passes: int
    grade: str | None
    score: Share | None
    lost_s: Seconds | None
    """s: the usual pass minus the best one"""
    cause: str | None
    """what explains the largest part of that"""
    std_s: Seconds | None
    """s: standard deviation of its times"""
    apex_kmh: Kmh | None
    """km/h of the usual pass"""
    max_decel_g: Gravity | None
    """g, negative: hardest braking before it"""


@dataclass(frozen=True, slots=True)
class Driving:
    """How the complete laps were driven; null where a channel is missing."""

    median_lap_s: Seconds
    lap_std_s: Seconds
    """s: population standard deviation of the lap times"""
    ideal_sectors_s: Seconds | None
    """s: sum of the best sectors"""
    ideal_parts_s: Seconds | None
    """s: sum of the best corners and straights"""
    max_combo_g: Gravity | None
    envelope_g: Gravity | None
    """g that count as full use of the grip"""
    over_limit_pct: FinePercent | None
    """% of the time beyond that"""
    grip_band: str | None
    """the band with most of the time, if accelerations were measured"""
    max_decel_g: Gravity | None
    """g, negative: hardest braking before any corner"""
    nothing_time_s: Seconds | None
    """s between brake and throttle, mean"""
    corners: tuple[CornerDigest, ...]
    """in lap order; empty if unknown"""


@dataclass(frozen=True, slots=True)
class SessionDigest:
    """A session of a lake."""

    folder: str
    content: str
    """digest of its files, its circuit and the code"""
    session_id: str
    driver: str | None
    car: str | None
    track: str | None
    track_id: str | None
    started_at: int
    """Unix milliseconds"""
    frames: int
    site: Site | None
    """position and length of its laps, which identify an unnamed circuit"""
    recorded: tuple[str, ...]
    """names of all recorded channels"""
    summary: Summary
    driving: Driving | None
    """null without a complete lap"""


def hash_content(files: Mapping[str, bytes], circuit: str) -> str:
    """Hash everything that a digest depends on; *circuit*: digest of its track."""
    made_of = [_hash_code(), circuit]
    made_of += [hashlib.sha256(files[name]).hexdigest() for name in TABLES]
    return hashlib.sha256("\n".join(made_of).encode()).hexdigest()


@cache
def _hash_code() -> str:
    """Hash the computing modules, so that digests follow every change of an analytic."""
    bridge = Path(__file__).parents[2]
    rooms = ("analysis", "session", "storage/lake", "track")
    paths = [path for room in rooms for path in sorted((bridge / room).rglob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def digest_session(
    folder: str, content: str, files: Mapping[str, bytes], track: Track | None
) -> SessionDigest:
    """Digest the session in *folder*, whose *files* are named by table. Raises `Damaged`."""
    about = read_about(files["session"])
    laps, recorded = read_laps(files, track)
    try:
        driving = _read_driving(drive_of(laps, track, words=about.track or ""))
    except NoLaps:
        driving = None
    return SessionDigest(
        folder=folder,
        content=content,
        **about._asdict(),
        site=locate_site(laps),
        recorded=recorded,
        summary=summarise(laps, track),
        driving=driving,
    )


def _read_driving(drive: Drive) -> Driving:
    times, ideal = measure_distribution(drive), compose_ideal_lap(drive)
    friction, bands = measure_friction_circle(drive, samples=1), measure_bands(drive)
    try:
        corners, nothing_time_s = (
            _read_corners(drive),
            measure_brake_ends(drive).average_nothing_time_s,
        )
    except NoCorners:
        corners, nothing_time_s = (), None
    decels = [corner.max_decel_g for corner in corners if corner.max_decel_g is not None]
    return Driving(
        median_lap_s=times.median_s,
        lap_std_s=times.stddev_s,
        ideal_sectors_s=ideal.sectors.lap_s,
        ideal_parts_s=ideal.corners_and_straights.lap_s,
        max_combo_g=friction.max_combo_g_observed,
        envelope_g=friction.envelope_g,
        over_limit_pct=friction.over_limit_pct,
        grip_band=bands.dominant_band if bands else None,
        max_decel_g=min(decels, default=None),
        nothing_time_s=nothing_time_s,
        corners=corners,
    )


def _read_corners(drive: Drive) -> tuple[CornerDigest, ...]:
    """Digest every corner in lap order. Raises `NoCorners`."""
    spread = measure_consistency(drive).per_corner_std
    zones = {
        zone.corner: zone.max_decel_g for zone in measure_brake_acceleration(drive).brake_zones
    }
    return tuple(
        CornerDigest(
            corner=grade.corner,
            passes=grade.n_passes,
            grade=grade.letter,
            score=grade.score.total if grade.score else None,
            lost_s=grade.delta_time_s,
            cause=grade.causes[0].cause if grade.causes else None,
            std_s=spread.get(grade.corner),
            apex_kmh=grade.own.apex_speed_kmh if grade.own else None,
            max_decel_g=zones.get(grade.corner),
        )
        for grade in grade_session(drive).corners
    )


@dataclass(frozen=True, slots=True)
class Trend:
    """The sessions of a driver on a circuit, oldest first."""

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
    """sessions in which it cost more than 0.05 s"""
    of: int
    """sessions in which it was graded"""
    lost_s: Seconds
    """s a lap: mean of the sessions in which it cost time"""
    cause: str | None
    """the most frequent cause"""


@dataclass(frozen=True, slots=True)
class Season:
    """All sessions together."""

    best_laps: tuple[Entry, ...]
    """one for each driver, car and track; ranked on each track, the fastest first"""
    trends: tuple[Trend, ...]
    losses: tuple[RepeatedLoss, ...]
    """the largest first"""


def summarise_season(digests: Iterable[SessionDigest]) -> Season:
    """Summarise all sessions.

    Drivers and circuits are identified by name; an unnamed circuit is called after the first
    session there, for example ``~monday``.
    """
    ordered = sorted(digests, key=lambda digest: (digest.started_at, digest.folder))
    groups: dict[tuple[str, str], list[SessionDigest]] = defaultdict(list)
    laps: dict[str, list[Candidate]] = defaultdict(list)
    for digest, place in zip(ordered, _name_places(ordered), strict=True):
        groups[(digest.driver or "").strip().casefold(), place].append(digest)
        laps[place] += [
            _make_candidate(digest, place, lap.number, lap.time_s) for lap in digest.summary.laps
        ]
    trends, losses = [], []
    for (_, place), own in sorted(groups.items()):
        driver = own[0].driver or ""
        trends.append(_make_trend(driver, place, own))
        losses += _find_losses(driver, place, own)
    return Season(
        best_laps=tuple(
            entry for _, there in sorted(laps.items()) for entry in rank_laps(there, len(there))
        ),
        trends=tuple(trends),
        losses=tuple(sorted(losses, key=lambda loss: -loss.lost_s * loss.sessions)),
    )


def _name_places(digests: Sequence[SessionDigest]) -> list[str]:
    """Name the circuit of each session."""
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


def _make_candidate(digest: SessionDigest, place: str, number: int, time_s: float) -> Candidate:
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


def _make_trend(driver: str, track: str, own: Sequence[SessionDigest]) -> Trend:
    driven = [DriverSession(d.session_id, d.started_at, d.summary) for d in own]
    return Trend(driver, track, tuple(list_steps(driven)), summarise_progress(driven))


def _find_losses(driver: str, track: str, own: Sequence[SessionDigest]) -> list[RepeatedLoss]:
    graded: dict[str, list[CornerDigest]] = defaultdict(list)
    for digest in own:
        for corner in digest.driving.corners if digest.driving else ():
            if corner.lost_s is not None:
                graded[corner.corner].append(corner)
    losses = []
    for name, corners in graded.items():
        lost = {i: pass_.lost_s for i, pass_ in enumerate(corners) if (pass_.lost_s or 0) > LEAST_S}
        causes = Counter(corners[at].cause for at in lost)
        if len(lost) >= REPEATED:
            mean = sum(seconds or 0.0 for seconds in lost.values()) / len(lost)
            cause = min(causes, key=lambda name: (-causes[name], name or ""))
            losses.append(RepeatedLoss(driver, track, name, len(lost), len(corners), mean, cause))
    return losses
