"""What the coach says before and after sessions, remembers, teaches, and finds over several."""

import time
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr

from runtime.bridge.analysis.corners import (
    ConsistencyRecord,
    SmoothnessRecord,
    TrackOutRecord,
    measure_consistency,
    measure_smoothness,
    measure_track_out,
)
from runtime.bridge.analysis.driver import list_events
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.grip import (
    Friction,
    OscillationRecord,
    SlipBandRecord,
    find_oscillations,
    measure_bands,
    measure_friction_circle,
)
from runtime.bridge.analysis.highlights import Highlight, find_highlights
from runtime.bridge.analysis.incidents import IncidentRecord, detect_incidents
from runtime.bridge.analysis.insights import Driven, Insight, find_insights, measure_costs
from runtime.bridge.analysis.pedals import (
    BrakeEndSummary,
    ChangeOfSpeedRecord,
    HustleStretch,
    TrailBrakeRecord,
    find_throttle_changes,
    measure_brake_ends,
    measure_hustle,
    rate_trail_braking,
)
from runtime.bridge.analysis.stats import compute_stats
from runtime.bridge.api.analysis import (
    CORNERS,
    GUARD,
    ScorecardRecord,
    SessionNumbers,
    Subject,
    scorecard_record,
)
from runtime.bridge.api.drivers import driver_name
from runtime.bridge.api.imports import ImportRequest, import_session
from runtime.bridge.api.reviews import (
    Narrative,
    Review,
    Source,
    Teaching,
    best_before,
    events_here,
    gathering_of,
    lesson_of,
    list_facts,
    look_back,
    narrate_story,
    prepare,
    strip_moods,
)
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    WRITE_ERRORS,
    AnswerModel,
    Moment,
    SessionId,
    SessionPath,
    Short,
    capped,
    fields_of,
    iso,
)
from runtime.bridge.api.tracks import Hour, phase_of
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.knowledge import danger
from runtime.bridge.coach.facts.stories import Plan, shorten
from runtime.bridge.coach.facts.view import REMEDIES
from runtime.bridge.coach.grades import grades
from runtime.bridge.coach.model import ModelFailed
from runtime.bridge.coach.need import Language, Slots, Units
from runtime.bridge.coach.scene import Scene
from runtime.bridge.coach.score import (
    USUAL_FOCUS,
    BadGrade,
    Verdict,
    add_up,
    read_grade,
    score_prompt,
)
from runtime.bridge.coach.wording.words import Words, words_of
from runtime.bridge.cues.concepts import CONCEPTS, Concept
from runtime.bridge.cues.model import Burst, Emotion
from runtime.bridge.errors import NoCompleteLap, NoGeometry, NothingRecorded, UnknownLap
from runtime.bridge.formats.options import UnparsableVbo
from runtime.bridge.formats.safe_open import NotImportable
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import slug
from runtime.bridge.session.units import Metres, Quality, Seconds
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.coaching import (
    NewEvent,
    TurnRow,
    add_events,
    driver_turns,
    session_turns,
)
from runtime.bridge.storage.errors import NoRows, StoreDamaged, UnknownSession
from runtime.bridge.storage.records import SessionRow, unix_ms
from runtime.web.errors import ApiError, BadField, BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent, needs

USUAL_GOAL: Final = "personal best lap"
SCATTER: Final = 300
"""Points of the friction circle in a debrief."""
OF_A_SESSION: Final = 1000
LOOKED_AT: Final = 200
"""Sessions that are tried until enough of them have laps."""
routes = Routes("coaching")


class NoGrader(ApiError):
    """No grader is configured."""

    status, code = 503, "grading_key_missing"
    text = "no grader is set up; set BRIDGE_GRADING_URL and BRIDGE_GRADING_KEY"


class GraderFailed(ApiError):
    """The grader gave no grade."""

    status, code = 502, "bad_model_reply"
    text = "the grader gave no grade"


class GraderBusy(ApiError):
    """Too much is waiting for a model."""

    status, code, retry_after_s = 503, "model_busy", 5
    text = "too much is waiting for a model"


class GraderLate(ApiError):
    """The grader took too long."""

    status, code = 504, "model_timeout"
    text = "the grader took too long"


class BriefQuery(Wire):
    """Before which session."""

    driver: Short = Field("", description="whose history is looked at")
    date: Short | None = Field(None, description="YYYY-MM-DD; absent: today, UTC")
    focus: Short | None = Field(None, description="up to three things, by commas")
    goal: Short = Field(USUAL_GOAL, description="what the session is for")
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")
    hour_local: Hour | None = Field(None, description="0 to 23; absent: now")
    session_id: SessionId | None = Field(None, description="kept with the conversation")


class DebriefRequest(Wire):
    """Which session is spoken about."""

    model_config = ConfigDict(json_schema_extra=needs("session_id", "vbo_path"))

    session_id: SessionId | None = Field(None, description="a session, or the id for vbo_path")
    vbo_path: StrictStr | None = Field(
        None, description="absolute path of a VBO file, imported where the id has no frames"
    )
    driver_id: Short | None = Field(None, description="absent: the session's driver")
    persist_to_profile: StrictBool = Field(True, description="add to the driver's history")
    partial: StrictBool = Field(
        False, description="take a session without a complete lap as one lap"
    )
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")


class LessonRecord(AnswerModel):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None = Field(
        description="its page, from the start of the course, or whole where --course is an "
        "address; null without a course"
    )


@fields_of(Teaching)
class PedagogyRecord(AnswerModel):
    """What a corner teaches."""

    lesson: LessonRecord
    gain_s: Seconds | None = Field(description="s a lap that acting on it is worth")
    start_m: Metres | None = Field(description="m of lap progress, as is the end")
    end_m: Metres | None


class FocusQuery(Wire):
    """In which words."""

    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")


class FocusAnswer(AnswerModel):
    """What to work on, the greatest gain first."""

    session_id: str
    track: str | None = Field(description="name of the circuit; null: not known")
    focus: tuple[PedagogyRecord, ...] = Field(description="three at most")


class FragmentsRecord(AnswerModel):
    """Exactly what the model or the template was handed."""

    telemetry: dict[str, object]
    highlights: list[dict[str, object]]
    pedagogy: list[dict[str, object]]


class DebriefAnswer(AnswerModel):
    """What is said behind a session, and all that it rests on."""

    session_id: str
    partial: Literal[True] | None = absent("the session was taken as one lap, as was asked for")
    track: str
    driver_id: str
    narrative: str = Field(
        description="Markdown; praise, at most two problems, one focus, a lesson"
    )
    narrative_md: str = Field(description="the same as narrative")
    narrative_source: Source = Field(validation_alias="source")
    emotion: Emotion
    focus: tuple[str, ...] = Field(max_length=3)
    next_focus: str | None = Field(description="corner with the most to win; null: ungraded")
    next_focus_lesson: LessonRecord | None = Field(
        validation_alias="lesson", description="what to read about it"
    )
    scorecard: ScorecardRecord | None = Field(description="null: nobody knows the corners")
    highlights: tuple[Highlight, ...]
    stats: SessionNumbers
    smoothness: dict[str, SmoothnessRecord]
    consistency: ConsistencyRecord | None
    friction: Friction
    hustle_map: tuple[HustleStretch, ...]
    track_out: TrackOutRecord | None
    trail_brake: tuple[TrailBrakeRecord, ...]
    eob: BrakeEndSummary | None
    slip_band: SlipBandRecord | None
    slip_oscillations: tuple[OscillationRecord, ...]
    change_of_speed_events: tuple[ChangeOfSpeedRecord, ...]
    incidents: tuple[IncidentRecord, ...]
    pedagogy: tuple[PedagogyRecord, ...] = Field(validation_alias="taught")
    fragments: FragmentsRecord
    fell_back: bool
    ungrounded_dropped: int = Field(
        validation_alias="dropped", description="sentences of the model that were left out"
    )
    sentences_kept: int = Field(
        validation_alias="kept", description="sentences of the model that were shown"
    )
    events_added: int = Field(description="what was new in the driver's history")
    latency_ms: float = Field(description="of all the work on this answer")


class ImprovedCorner(AnswerModel):
    """How much a corner got better."""

    corner: str
    delta_score: Quality


class BriefAnswer(AnswerModel):
    """What is said before a session."""

    driver_id: str
    date: str
    weather_phase: str
    surface_state: str
    weather_note: str
    weakest_recent_corner: str | None = Field(
        description="as in the profile, of the corners of the active circuit"
    )
    biggest_recent_improvement: ImprovedCorner | None
    danger_zones_today: tuple[str, ...]
    narrative_md: str
    narrative: str = Field(description="the same as narrative_md")
    focus: tuple[str, ...] = Field(max_length=3)
    lesson: LessonRecord | None = Field(description="what to read before")
    emotion: Emotion
    source: Source
    fell_back: bool
    ungrounded_dropped: int = Field(validation_alias="dropped")
    latency_ms: float = Field(description="of all the work on this answer")


@fields_of(Concept)
class ConceptRecord(AnswerModel):
    """One thing that the coach can ask of a driver."""

    fires_when: str = Field(
        description="the condition as it is evaluated: in_corner and past_apex are flags, brake is "
        "in bar, thr in %, glat in g, v in km/h, to_entry, bz and dz in metres"
    )
    priority: int = Field(ge=0, le=3, description="the highest of a message about it")
    lesson: LessonRecord = Field(description="where the course teaches it")


class ConceptList(Wire):
    """The concepts in the order in which they are tried: the first that applies counts."""

    concepts: list[ConceptRecord]
    count: int


class ConversationPath(Wire):
    """The name of a driver."""

    driver_id: Annotated[str, AfterValidator(driver_name)]


class HistoryQuery(Wire):
    """How much."""

    limit: Annotated[int, capped(200)] = Field(20, description="1 to 200, the newest")


@fields_of(TurnRow, "id")
class Turn(AnswerModel):
    """One text."""

    session_id: str = Field(description="empty: of no session")
    emotion: str
    recorded_at: Moment


class SessionConversation(Wire):
    """The texts of a session, oldest first: the last 1000."""

    session_id: str
    turns: list[Turn]
    count: int


class DriverConversation(Wire):
    """The texts of a driver, newest first."""

    driver_id: str
    history: list[Turn]
    count: int


class InsightsQuery(Wire):
    """Which sessions."""

    lap: Annotated[int, capped(10**6)] | None = Field(None, description="this lap of each alone")
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")
    driver: Short | None = None
    track: Short | None = None
    limit_sessions: Annotated[int, capped(50)] = Field(10, description="1 to 50, the newest")


class InsightRecord(AnswerModel):
    """A habit that costs a driver time on a circuit."""

    driver: str
    track: str = Field(description="name of the circuit; empty: not known")
    id: str = Field(
        description="the cause of the lost time, such as early_brake or slow_apex; "
        "match: no single one; steady: in a danger zone, where nobody is asked for more speed"
    )
    title: str
    detail: str
    corners: tuple[str, ...] = Field(max_length=4)
    metric_label: str
    metric_value: str
    effort: int = Field(ge=1, le=3, description="1: little")
    est_gain_s: Seconds = Field(
        validation_alias="gain_s",
        description="s that it costs on the usual lap beside the best one, mean of the sessions "
        "in which it was found",
    )
    sessions: int = Field(description="sessions of the driver there in which it was found")
    looked_at: int = Field(description="sessions of the driver there that could show it")
    evidence_bursts: int = Field(
        validation_alias="evidence", description="corners of sessions behind it"
    )
    rank: int = Field(description="1 for the least effort; of equals, for the largest gain")
    concept: str
    lesson: LessonRecord


class InsightsAnswer(Wire):
    """At most three habits, the one with the least effort first."""

    insights: list[InsightRecord]
    session_bursts: int = Field(description="bursts in memory of the sessions")
    sessions: int = Field(description="sessions with a complete lap that were looked at")
    generated_at: str


class ScoreRequest(Wire):
    """Which session is graded."""

    model_config = ConfigDict(json_schema_extra=needs("session_id"))

    session_id: SessionId | None = None
    focus: Short | None = Field(None, description="what to look at")
    driver_level: Short | None = None


class ScoreAnswer(AnswerModel):
    """A grade by a model elsewhere, which saw only sums."""

    session_id: str
    score: int = Field(ge=0, le=100)
    why: str
    model: str
    focus: str


@routes.get("/coach/brief", errors=WRITE_ERRORS)
async def brief(request: web.Request, *, query: BriefQuery) -> BriefAnswer:
    """Say what matters before a session: surface, dangers, what to work on."""
    began = time.monotonic()
    service = request.app[SERVICE]
    gathering_of(service)  # no database: say so before anything is asked
    day = _day(query.date)
    hour, phase = phase_of(query.hour_local, service.active_track)
    driver, words = query.driver.strip(), words_of(query.language, query.units)
    known = grades(await events_here(service, driver))
    best = await best_before(service, None, driver)
    plan = Plan(
        asked=shorten(strip_moods(query.focus or "").split(",")),
        best_s=best,
        weakest=known.weakest,
        improved=known.noticed,
    )
    story, names = await prepare(service, driver, plan, hour)
    items = words.join(story.items(words))
    goal: Cell = strip_moods(query.goal).rstrip(".") or USUAL_GOAL
    if query.goal == USUAL_GOAL:
        goal = Term("goal", "best" if best is not None else "first")
    lesson = lesson_of(service, story.concept)
    told = await narrate_story(
        service,
        story,
        names,
        words,
        lesson,
        role="brief",
        mode="pre_brief",
        session_id=query.session_id,
        last=words.text("brief-goal", {"goal": goal, "items": items}),
    )
    await _keep_turn(service, "coach_brief", query.session_id or "", driver, told)
    await service.inbox.post(
        "brief-ready", driver, "Your briefing is ready", query.goal, query.session_id
    )
    gain = None
    if known.improved is not None:
        gain = ImprovedCorner(corner=known.improved, delta_score=known.improvement or 0.0)
    zones = danger(Scene(track=service.active_track), Slots())
    return BriefAnswer.of(
        told,
        phase,
        driver_id=driver,
        date=day.isoformat(),
        weather_phase=phase.id,
        weather_note=phase.coaching_note,
        weakest_recent_corner=known.weakest,
        biggest_recent_improvement=gain,
        danger_zones_today=tuple(words.sentence(zone) for zone in zones if zone.kind == "danger"),
        narrative_md=told.text,
        narrative=told.text,
        lesson=lesson,
        latency_ms=_since(began),
    )


@routes.post(
    "/coach/debrief",
    errors=(
        BadField,
        NothingRecorded,
        NotImportable,
        UnparsableVbo,
        *(error for error in CORNERS if error is not NoGeometry),
        *WRITE_ERRORS,
    ),
)
async def debrief(request: web.Request, *, body: DebriefRequest) -> DebriefAnswer:
    """Say what a session was worth: what went well, what cost time, what to work on."""
    began = time.monotonic()
    service = request.app[SERVICE]
    row = await _session(request, service, body)
    driver = (body.driver_id or row.driver or "").strip()
    subject = Subject(service, row, Scope(body.partial))
    words = words_of(body.language, body.units)
    review = await look_back(subject, driver, words)
    told = await narrate_story(
        service,
        review.story,
        review.names,
        words,
        review.lesson,
        role="debrief",
        mode="post_session",
        session_id=row.session_id,
    )
    partial = (await subject.drive()).partial
    blocks = await _blocks(subject)
    added = 0
    if body.persist_to_profile and driver and not partial:
        added = await _remember(subject, driver, review.best_before_s)
    await _keep_turn(service, "coach_debrief", row.session_id, driver, told)
    await service.inbox.post(
        "debrief-ready",
        driver,
        "Your debrief is ready",
        told.focus[0] if told.focus else "",
        row.session_id,
    )
    return DebriefAnswer.of(
        told,
        review,
        session_id=row.session_id,
        partial=True if partial else None,
        track=(await subject.drive()).place,
        driver_id=driver,
        narrative=told.text,
        narrative_md=told.text,
        fragments=_fragments(review, await _sums(subject), blocks["highlights"]),
        events_added=added,
        **blocks,
        latency_ms=_since(began),
    )


@routes.get(
    "/session/{sid}/focus",
    errors=(NothingRecorded, *(error for error in GUARD if error is not NoRows)),
)
async def focus(request: web.Request, *, path: SessionPath, query: FocusQuery) -> FocusAnswer:
    """Name the corners worth working on: what was done, what to do and the lesson; no model."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    if not row.n_frames:
        raise NothingRecorded(session_id=row.session_id)
    words = words_of(query.language, query.units)
    subject = Subject(service, row, Scope())
    review = await look_back(subject, (row.driver or "").strip(), words)
    place = (await subject.drive()).place
    return FocusAnswer.of(session_id=row.session_id, track=place, focus=review.taught)


@routes.get("/coach/concepts")
async def concepts(request: web.Request) -> ConceptList:
    """List what the coach looks for, with the condition of each concept and its lesson."""
    service = request.app[SERVICE]
    records = [ConceptRecord.of(one, lesson=lesson_of(service, one.id)) for one in CONCEPTS]
    return ConceptList(concepts=records, count=len(records))


@routes.get("/conversations/driver/{driver_id}", errors=READ_ERRORS)
async def of_driver(
    request: web.Request, *, path: ConversationPath, query: HistoryQuery
) -> DriverConversation:
    """List what was said with a driver, over all sessions."""
    store = request.app[SERVICE].db
    rows = await store.read(lambda reader: driver_turns(reader, path.driver_id, query.limit))
    history = [_turn(row) for row in rows]
    return DriverConversation(driver_id=path.driver_id, history=history, count=len(history))


@routes.get("/conversations/{sid}", errors=READ_ERRORS)
async def of_session(request: web.Request, *, path: SessionPath) -> SessionConversation:
    """List what was said about a session; nothing for an unknown one."""
    store = request.app[SERVICE].db
    rows = await store.read(lambda reader: session_turns(reader, path.sid, OF_A_SESSION))
    turns = [_turn(row) for row in rows]
    return SessionConversation(session_id=path.sid, turns=turns, count=len(turns))


def _turn(row: TurnRow) -> Turn:
    return Turn.of(row, emotion=row.emotion or "neutral")


@routes.get("/insights", errors=READ_ERRORS)
async def get_insights(request: web.Request, *, query: InsightsQuery) -> InsightsAnswer:
    """Show what costs a driver time again and again on a circuit."""
    service = request.app[SERVICE]
    key = service.library.key
    rows = [
        row
        for row in service.db.sessions()
        if row.n_frames
        and (query.driver is None or slug(row.driver or "") == slug(query.driver))
        and (query.track is None or await service.book.place(row) == key(query.track))
    ]
    driven: dict[tuple[str, str], Driven] = {}
    count = 0
    for row in rows[:LOOKED_AT]:
        if count == query.limit_sessions:
            break
        try:
            found = await service.analytics.of(row, Scope(), measure_costs, query.lap)
        except (NoCompleteLap, UnknownLap, NoRows, StoreDamaged):
            continue
        count += 1
        if found is not None:
            place = await service.book.place(row) or row.session_id
            driver, name = row.driver or "", (await service.book.circuit(row)).name
            known = driven.setdefault((slug(driver), place), Driven(driver, name, []))
            known.sessions.append(found)
    bursts = _bursts(service, query, {row.session_id for row in rows})
    words = words_of(query.language, query.units)
    return InsightsAnswer(
        insights=[
            _insight(one, rank, words, service)
            for rank, one in enumerate(find_insights(driven.values()), start=1)
        ],
        session_bursts=len(bursts),
        sessions=count,
        generated_at=iso(unix_ms()) or "",
    )


def _insight(one: Insight, rank: int, words: Words, service: Service) -> InsightRecord:
    """An insight in words."""
    remedy = REMEDIES[one.id]
    values: dict[str, Cell] = {
        "corners": tuple(map(Corner, one.corners)),
        "corner": Corner(one.corners[0]),
        "cause": Term("cause", one.id),
        "size": Value(one.metric, remedy.size),
        "seconds": Value(one.gain_s, "s"),
        "sessions": one.sessions,
        "of": one.looked_at,
        "action": Term("action", remedy.action),
    }
    return InsightRecord.of(
        one,
        rank=rank,
        concept=remedy.concept,
        lesson=lesson_of(service, remedy.concept),
        title=words.sentence(Fact("insight-title", values)),
        detail=words.sentence(Fact("insight-detail", values)),
        metric_label=words.sentence(Fact("insight-metric", values)),
        metric_value=words.write(values["size"]),
    )


@routes.post(
    "/score",
    errors=(
        BadField,
        UnknownSession,
        NoRows,
        NoCompleteLap,
        NoGrader,
        GraderBusy,
        GraderFailed,
        GraderLate,
        *READ_ERRORS,
    ),
)
async def score(request: web.Request, *, body: ScoreRequest) -> ScoreAnswer:
    """Let a model elsewhere grade a session; it is told sums, no position and no name."""
    service = request.app[SERVICE]
    if body.session_id is None:
        raise BadField("session_id is missing", param="session_id")
    row = service.session(body.session_id)
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    if service.grader is None:
        raise NoGrader
    focus = (body.focus or "").strip() or USUAL_FOCUS
    grade, model = await _graded(service, row, focus, body.driver_level or row.driver_level or "")
    return ScoreAnswer.of(grade, session_id=row.session_id, model=model, focus=focus)


async def _graded(service: Service, row: SessionRow, focus: str, level: str) -> tuple[Verdict, str]:
    """The grade, and which model gave it."""
    grader = service.grader
    assert grader is not None
    sums = await _sums(Subject(service, row, Scope()))
    prompt = score_prompt(sums, focus, level)
    try:
        async with grader.call("score", "post_session", prompt, session_id=row.session_id) as call:
            try:
                grade = read_grade(await call.text())
            except BadGrade as problem:
                raise ModelFailed("bad_reply", str(problem)) from problem
    except ModelFailed as failed:
        if failed.reason == "timeout":
            raise GraderLate from failed
        raise (GraderBusy if failed.reason == "busy" else GraderFailed)() from failed
    return grade, grader.state.model or ""


def _bursts(service: Service, query: InsightsQuery, sessions: set[str]) -> list[Burst]:
    """Those in memory that are of the sessions; of all where nobody in particular is asked for."""
    everyone = query.driver is None and query.track is None
    return [
        burst
        for session_id, kept in service.bursts.items()
        if everyone or session_id in sessions
        for burst in kept
        if isinstance(burst, Burst) and (query.lap is None or burst.lap == query.lap)
    ]


def _day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        if len(text) != len("2000-01-01"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError as problem:
        raise BadQuery("date must be a day as YYYY-MM-DD", param="date") from problem


async def _session(request: web.Request, service: Service, body: DebriefRequest) -> SessionRow:
    """The session to speak about, imported where it is a file."""
    if body.session_id is None and body.vbo_path is None:
        raise BadField("give session_id, or vbo_path", param="session_id")
    row = service.db.session(body.session_id) if body.session_id is not None else None
    if body.vbo_path is not None and (row is None or not row.n_frames):
        wanted = ImportRequest(
            vbo_path=body.vbo_path, session_id=body.session_id, driver=body.driver_id
        )
        row = service.session((await import_session(request, body=wanted)).session_id)
    if row is None:
        raise UnknownSession(body.session_id or "")
    if not row.n_frames:
        raise NothingRecorded(session_id=row.session_id)
    return row


async def _sums(subject: Subject) -> dict[str, object]:
    """The session in sums, for whoever writes about it."""
    return await subject.compute(add_up, subject.references)


def _fragments(review: Review, sums: dict[str, object], moments: object) -> FragmentsRecord:
    """What the narrative was made of."""
    facts = list_facts(review.story.facts, review.words)
    shown = [asdict(one) for one in moments] if isinstance(moments, tuple) else []
    return FragmentsRecord(
        telemetry={**sums, "facts": facts},
        highlights=shown,
        pedagogy=[
            {"concept": one.concept, "corner": one.corner, "evidence": one.evidence, "tip": one.tip}
            for one in review.taught
        ],
    )


async def _remember(subject: Subject, driver: str, best_before_s: float | None) -> int:
    """Add to the driver's history; how much was new."""
    card = await subject.cornering(grade_session, subject.references)
    if card is None:
        return 0
    moments = await subject.compute(find_highlights, subject.references, await subject.assisted())
    events = list_events(card, moments, best_before_s)
    told = [NewEvent(one.kind, one.corner or "", one.value, one.text) for one in events]
    db = subject.service.db
    return await add_events(db, driver, subject.row.session_id, told, unix_ms())


async def _keep_turn(
    service: Service, role: str, session_id: str, driver: str, told: Narrative
) -> None:
    turn = TurnRow(session_id, driver, role, told.text, unix_ms(), told.focus, told.emotion)
    await service.db.add((turn,))


def _since(began: float) -> float:
    """Milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - began) * 1000, 1)


async def _blocks(subject: Subject) -> dict[str, object]:
    """The analytics of a session as their own routes answer them."""
    of, cornering, references = subject.compute, subject.cornering, subject.references
    card = await cornering(grade_session, references)
    active = await subject.assisted()
    return {
        "scorecard": card and scorecard_record(subject.row.session_id, card),
        "highlights": await of(find_highlights, references, active),
        "stats": await of(compute_stats),
        "smoothness": await cornering(measure_smoothness) or {},
        "consistency": await cornering(measure_consistency),
        "friction": await of(measure_friction_circle, references, SCATTER),
        "hustle_map": await of(measure_hustle),
        "track_out": await of(measure_track_out),
        "trail_brake": await cornering(rate_trail_braking) or (),
        "eob": await cornering(measure_brake_ends),
        "slip_band": await of(measure_bands, references),
        "slip_oscillations": await of(find_oscillations, references),
        "change_of_speed_events": await cornering(find_throttle_changes, references) or (),
        "incidents": await of(detect_incidents, active),
    }
