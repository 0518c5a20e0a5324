"""Drivers over their sessions, reported laps, and the leaderboard."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, Field, StrictInt

from runtime.bridge.analysis.driver import (
    ENOUGH,
    DriverSession,
    Step,
    list_steps,
    summarise_progress,
)
from runtime.bridge.api.sessions import group_reported_laps, merge_laps
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    WRITE_ERRORS,
    AnswerModel,
    Moment,
    Number,
    RecordingId,
    cap_at,
    fields_of,
)
from runtime.bridge.coach.grades import grades
from runtime.bridge.errors import UnknownDriver
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.ranking import MAX_ENTRIES, Candidate, rank_laps
from runtime.bridge.session.units import Kmh, Quality, Seconds, Share
from runtime.bridge.storage.coaching import EventRow, read_driver_events
from runtime.bridge.storage.records import LapRow, SessionRow, unix_ms
from runtime.web.errors import BadField
from runtime.web.routes import Reply, Routes
from runtime.web.wire import Wire

LONGEST_ID: Final = 256
LONGEST_S: Final = 86_400.0
"""Longest lap time that a report may give."""
routes = Routes("driver")
board_routes = Routes("leaderboard")


def check_driver_name(text: str) -> str:
    """Return a valid driver name. Raises ValueError for any other text, such as a path."""
    is_path = any(part in text for part in ("/", "\\", ".."))
    if not text.strip() or len(text) > LONGEST_ID or is_path or not text.isprintable():
        raise ValueError(
            f"not a valid driver name: use 1 to {LONGEST_ID} printable characters, no path"
        )
    return text


class DriverPath(Wire):
    """The name of a driver."""

    id: Annotated[str, AfterValidator(check_driver_name)]


class EvolutionQuery(Wire):
    """The track of the series."""

    track: str | None = Field(None, description="name or id; absent: the active one")


class SectorBests(Wire):
    """Best time of each sector, seconds."""

    s1: Seconds | None
    s2: Seconds | None
    s3: Seconds | None


class EvolutionStep(AnswerModel):
    """A session in the series."""

    session_id: str
    started_at: Moment
    session_index: int = Field(validation_alias="index")
    best_lap_s: Seconds | None = Field(validation_alias="best_s")
    median_lap_s: Seconds | None = Field(validation_alias="median_s")
    lap_count: int = Field(validation_alias="laps")
    sector_pbs: SectorBests


class CornerGainRecord(AnswerModel):
    """The corner whose apex speed rises fastest."""

    corner: str
    delta_kmh: Kmh
    from_session_index: int = Field(validation_alias="first")
    to_session_index: int = Field(validation_alias="last")
    regression_slope_kmh_per_session: Quality = Field(validation_alias="slope")


class EvolutionSummary(AnswerModel):
    """The series at a glance."""

    first_best_s: Seconds = Field(validation_alias="first_s")
    latest_best_s: Seconds = Field(validation_alias="latest_s")
    improvement_s: Seconds
    best_ever_s: Seconds = Field(validation_alias="best_s")
    plateau: bool
    biggest_corner_gain: CornerGainRecord | None = Field(validation_alias="gain")


class Evolution(AnswerModel):
    """The driver's sessions on a track, oldest first."""

    driver_id: str
    track: str
    session_count: int
    evolution: list[EvolutionStep]
    summary: EvolutionSummary | None


class BestLap(Wire):
    """The best lap of a session."""

    session_id: str
    lap_s: Seconds


class CornerScore(Wire):
    """A corner that got better, and by how much."""

    corner: str
    delta_score: Quality


class SessionScore(AnswerModel):
    """A corner in one session."""

    session_id: str
    score: Share = Field(description="0 to 1")


class Profile(AnswerModel):
    """The history of a driver; null and empty fields for an unknown one."""

    driver_id: str
    weakest_recent_corner: str | None = Field(validation_alias="weakest")
    weakest_recent_score: Quality | None = Field(validation_alias="weakest_score")
    biggest_improvement: CornerScore | None
    best_lap_history: list[BestLap]
    n_recent_grade_events: int = Field(validation_alias="recent")
    sessions: int
    plateau: bool
    limit_archetype: Literal["under_limit", "oscillating", "at_limit", "unknown"] = Field(
        validation_alias="archetype",
        description="under_limit: mean score below 0.75; oscillating: scores of one corner differ "
        "by more than 0.10; unknown: no grades",
    )
    corner_history: dict[str, tuple[SessionScore, ...]] = Field(
        validation_alias="corners", description="every grade by corner, oldest first"
    )


class LapsQuery(Wire):
    """Filters of the list."""

    session_id: str | None = None
    limit: Annotated[int, cap_at(1000)] = 20


@fields_of(LapRow)
class LapTime(AnswerModel):
    """A reported lap."""

    recorded_at: Moment


class LapTimes(Wire):
    """Reported laps, newest first."""

    laps: list[LapTime]
    count: int


class LapRequest(Wire):
    """A lap to store; it replaces the session's lap of the same number."""

    session_id: RecordingId
    lap_number: Annotated[StrictInt, Field(ge=0, le=1_000_000)]
    lap_time_s: Number = Field(description="seconds: above 0, at most 86 400")
    best_sector: Number | None = None
    avg_speed_kmh: Number | None = None
    max_combo_g: Number | None = None
    coast_pct: Number | None = None


class LapSaved(Wire):
    """The stored lap."""

    saved: Literal[True] = True
    id: int


class BoardQuery(Wire):
    """The track, and the number of places."""

    track: str = Field("", description="name or id of a track; absent: all")
    limit: Annotated[int, cap_at(MAX_ENTRIES)] = 50


@fields_of(Candidate, "place")
class BoardEntry(AnswerModel):
    """A place on the board."""

    rank: int
    initials: str
    time: str
    lap_time_s: Seconds
    recorded_at: Moment


class Board(Wire):
    """Places, the fastest first."""

    entries: list[BoardEntry]
    count: int


@routes.get(
    "/driver/{id}/evolution",
    errors=(UnknownDriver, *READ_ERRORS),
    answers={204: None},
)
async def evolution(
    request: web.Request, *, path: DriverPath, query: EvolutionQuery
) -> Evolution | Reply[None]:
    """Show the driver's sessions on a track as a series; 204 for fewer than five."""
    service = request.app[SERVICE]
    own = service.db.sessions(driver=path.id)
    if not own:
        raise UnknownDriver(driver_id=path.id)
    active = service.active_track.name if service.active_track else ""
    track = query.track if query.track is not None else active
    wanted, place = service.library.key(track), service.book.place
    driven = await _load_sessions(service, [row for row in own if await place(row) == wanted])
    if len(driven) < ENOUGH:
        return Reply(None, status=204)
    summary = None
    if (whole := summarise_progress(driven)) is not None:
        summary = EvolutionSummary.of(whole, improvement_s=whole.first_s - whole.latest_s)
    return Evolution(
        driver_id=path.id,
        track=track,
        session_count=len(driven),
        evolution=[_make_step(step) for step in list_steps(driven)],
        summary=summary,
    )


@routes.get("/driver/{id}/profile", errors=READ_ERRORS)
async def profile(request: web.Request, *, path: DriverPath) -> Profile:
    """Show a driver's history: best laps, graded corners, and whether they still improve."""
    service = request.app[SERVICE]
    own = service.db.sessions(driver=path.id)
    driven = await _load_sessions(service, own)
    whole = summarise_progress(driven)
    events = await service.db.read(lambda reader: read_driver_events(reader, path.id))
    history = grades(await _qualify_corners(service, events))
    gain = None
    if history.improved is not None:
        gain = CornerScore(corner=history.improved, delta_score=history.improvement or 0.0)
    return Profile.of(
        history,
        driver_id=path.id,
        biggest_improvement=gain,
        best_lap_history=[
            BestLap(session_id=step.session_id, lap_s=step.best_s)
            for step in list_steps(driven)
            if step.best_s is not None
        ],
        sessions=len(own),
        plateau=whole.plateau if whole else False,
    )


async def _qualify_corners(service: Service, events: Sequence[EventRow]) -> list[EventRow]:
    """Append the circuit to each corner name that occurs on several circuits.

    An unnamed circuit goes by the first session requested there.
    """
    places: dict[str, str] = {}
    for name in {event.session_id for event in events}:
        row = service.db.session(name)
        places[name] = await service.book.place(row) if row is not None else ""
    circuits: dict[str, set[str]] = defaultdict(set)
    for event in events:
        circuits[event.corner].add(places[event.session_id])
    return [
        event._replace(corner=f"{event.corner} ({place.removeprefix('~') or 'elsewhere'})")
        if event.corner and len(circuits[event.corner]) > 1
        else event
        for event in events
        for place in (places[event.session_id],)
    ]


@routes.get("/laps", errors=READ_ERRORS)
async def list_laps(request: web.Request, *, query: LapsQuery) -> LapTimes:
    """List reported laps, newest first."""
    rows = await request.app[SERVICE].db.laps(query.session_id, query.limit)
    return LapTimes(laps=[LapTime.of(row) for row in rows], count=len(rows))


@routes.post("/lap", errors=WRITE_ERRORS)
async def put_lap(request: web.Request, *, body: LapRequest) -> LapSaved:
    """Store a lap, creating its session if needed."""
    if not 0 < body.lap_time_s <= LONGEST_S:
        raise BadField("lap_time_s: must be above 0 and at most 86400 s", param="lap_time_s")
    lap = LapRow(recorded_at=unix_ms(), **body.model_dump())
    return LapSaved(id=(await request.app[SERVICE].db.put_lap(lap)).id)


@board_routes.get("/leaderboard", errors=READ_ERRORS)
async def board(request: web.Request, *, query: BoardQuery) -> Board:
    """Rank the best laps of all sessions."""
    service = request.app[SERVICE]
    wanted = service.library.key(query.track)
    laps = [lap async for lap in _list_candidates(service) if not wanted or lap.place == wanted]
    entries = [BoardEntry.of(entry, entry.lap) for entry in rank_laps(laps, query.limit)]
    return Board(entries=entries, count=len(entries))


async def _list_candidates(service: Service) -> AsyncIterator[Candidate]:
    """List the complete laps of sessions with telemetry, and the reported ones."""
    posted = await group_reported_laps(service)
    for row in service.db.sessions():
        track, place = (await service.book.circuit(row)).name, await service.book.place(row)
        for lap in merge_laps(row, await service.book.find_recent(row), posted[row.session_id]):
            yield Candidate(
                row.driver or "",
                row.car or "",
                track,
                row.session_id,
                lap.lap_number,
                lap.lap_time_s,
                lap.recorded_at,
                place,
            )


async def _load_sessions(service: Service, rows: Sequence[SessionRow]) -> list[DriverSession]:
    """Load the laps of those sessions that have telemetry."""
    summaries = [(row, await service.book.find_recent(row)) for row in rows]
    return [DriverSession(row.session_id, row.started_at, laps) for row, laps in summaries if laps]


def _make_step(step: Step) -> EvolutionStep:
    return EvolutionStep.of(
        step, sector_pbs=dict(zip(("s1", "s2", "s3"), step.sectors, strict=True))
    )
