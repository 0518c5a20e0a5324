"""Sessions on paper, looked at as a debrief does."""

from pathlib import Path

from runtime.bridge.analysis.corners import consistency
from runtime.bridge.analysis.drive import NoGeometry, drive_of
from runtime.bridge.analysis.grading import scorecard
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.laps import ideal_lap, lap_time_table
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.stats import stats
from runtime.bridge.coach.warm.findings import findings
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.coach.warm.pedagogy import lesson_of, pedagogy
from runtime.bridge.coach.warm.review import Review
from runtime.bridge.coach.warm.room import coasting, held, rooms
from runtime.bridge.coach.warm.told import spoken
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.recording import Frames
from runtime.bridge.session.series import series
from runtime.bridge.track.library import read_track
from tests.bridge.bridgekit import ROOT
from tools.drive import USUAL, drive

TRACKS: Path = ROOT / "data" / "tracks"


def review(
    track: str = "larkfell",
    laps: int = 4,
    seed: int = 1,
    skill: float = 0.85,
    *,
    frames: Frames | None = None,
    before: float | None = None,
    partial: bool = False,
    bare: bool = False,
    references: References = NONE,
) -> Review:
    """A session; *bare*: without the track's file."""
    known = read_track(TRACKS / f"{track}.json")[0]
    if frames is None:
        frames = drive(known, laps, seed=seed, skill=skill, noise=USUAL).frames
    found = detect_laps(series(frames), gate=known.start, track_length_m=known.length_m)
    driven = drive_of(found, None if bare else known, partial=partial)
    try:
        card, even, corners = scorecard(driven, references), consistency(driven), driven.corners
        won, steady = rooms(driven, references), held(driven, references)
        told = findings(card, won, coasting(driven), steady)
    except NoGeometry:
        card, even, corners = None, None, ()
        told = findings(None, (), coasting(driven))
    taught = pedagogy(told, Lessons())
    return Review(
        session_id="s",
        track=known.name,
        driver="Mia",
        partial=driven.partial,
        stats=stats(driven),
        laps=lap_time_table(driven),
        ideal=ideal_lap(driven),
        moments=highlights(driven, references),
        card=card,
        consistency=even,
        corners=corners,
        found=told,
        taught=taught,
        lesson=lesson_of(told[0] if told else None, Lessons()),
        best_before_s=before,
    )


def names_of(found: Review) -> dict[str, str]:
    """Every name of the corners of a session."""
    return spoken(found.corners, [one.corner for one in found.found])
