"""The coach's briefs, debriefs, lessons, conversations and insights over several sessions."""

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
    make_scorecard_record,
)
from runtime.bridge.api.drivers import check_driver_name
from runtime.bridge.api.imports import ImportRequest, import_session
from runtime.bridge.api.reviews import (
    Narrative,
    Review,
    Source,
    Teaching,
    find_best_before,
    find_lesson,
    list_events_here,
    list_facts,
    look_back,
    narrate_story,
    prepare,
    require_gathering,
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
    cap_at,
    fields_of,
    format_iso,
)
from runtime.bridge.api.tracks import Hour, choose_phase
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
from runtime.bridge.session.names import slugify
from runtime.bridge.session.units import Metres, Quality, Seconds
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.coaching import (
    NewEvent,
    TurnRow,
    add_events,
    read_driver_turns,
    read_session_turns,
)
from runtime.bridge.storage.errors import NoRows, StoreDamaged, UnknownSession
from runtime.bridge.storage.records import SessionRow, unix_ms
from runtime.web.errors import ApiError, BadField, BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent, needs

USUAL_GOAL: Final = "personal best lap"
SCATTER: Final = 300
"""Points of the friction circle in a debrief."""
MOST_TURNS: Final = 1000
MOST_TRIED: Final = 200
"""Sessions that insights try until enough of them have laps."""
routes = Routes("coaching")


class NoGrader(ApiError):
    """No grader is configured."""

    status, code = 503, "grading_key_missing"
    text = "no grader is set up; set BRIDGE_GRADING_URL and BRIDGE_GRADING_KEY"


class GraderFailed(ApiError):
    """The grader returned no grade."""

    status, code = 502, "bad_model_reply"
    text = "the grader returned no grade"


class GraderBusy(ApiError):
    """Too many requests are waiting for a model."""

    status, code, retry_after_s = 503, "model_busy", 5
    text = "too many requests are waiting for a model"


class GraderLate(ApiError):
    """The grader took too long."""

    status, code = 504, "model_timeout"
    text = "the grader took too long"


class BriefQuery(Wire):
    """The driver and purpose of the session ahead."""

    driver: Short = Field("", description="the driver whose history counts")
    date: Short | None = Field(None, description="YYYY-MM-DD; absent: today, UTC")
    focus: Short | None = Field(None, description="up to three items, separated by commas")
    goal: Short = Field(USUAL_GOAL, description="purpose of the session")
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")
    hour_local: Hour | None = Field(None, description="0 to 23; absent: now")
    session_id: SessionId | None = Field(None, description="stored with the conversation")


class DebriefRequest(Wire):
    """The session to debrief."""

    model_config = ConfigDict(json_schema_extra=needs("session_id", "vbo_path"))

    session_id: SessionId | None = Field(None, description="a session, or the id for vbo_path")
    vbo_path: StrictStr | None = Field(
        None, description="absolute path of a VBO file, imported if the session has no frames"
    )
    driver_id: Short | None = Field(None, description="absent: the session's driver")
    persist_to_profile: StrictBool = Field(True, description="add to the driver's history")
    partial: StrictBool = Field(
        False, description="treat a session without a complete lap as one lap"
    )
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")


class LessonRecord(AnswerModel):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None = Field(
        description="its page, relative to the course, or absolute where --course is an address; "
        "null without a course"
    )


@fields_of(Teaching)
class PedagogyRecord(AnswerModel):
    """A lesson to learn from a corner."""

    lesson: LessonRecord
    gain_s: Seconds | None = Field(description="s a lap that the advice is worth")
    start_m: Metres | None = Field(description="m of lap progress, like end_m")
    end_m: Metres | None


class FocusQuery(Wire):
    """Language and units of the answer."""

    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")


class FocusAnswer(AnswerModel):
    """The corners to work on, the greatest gain first."""

    session_id: str
    track: str | None = Field(description="name of the circuit; null: unknown")
    focus: tuple[PedagogyRecord, ...] = Field(description="three at most")


class FragmentsRecord(AnswerModel):
    """The exact input of the model or the template."""

    telemetry: dict[str, object]
    highlights: list[dict[str, object]]
    pedagogy: list[dict[str, object]]


class DebriefAnswer(AnswerModel):
    """The debrief of a session, and the analytics behind it."""

    session_id: str
    partial: Literal[True] | None = absent("the session was treated as one lap, as requested")
    track: str
    driver_id: str
    narrative: str = Field(
        description="Markdown; praise, at most two problems, one focus, a lesson"
    )
    narrative_md: str = Field(description="the same as narrative")
    narrative_source: Source = Field(validation_alias="source")
    emotion: Emotion
    focus: tuple[str, ...] = Field(max_length=3)
    next_focus: str | None = Field(description="corner with the most time to gain; null: ungraded")
    next_focus_lesson: LessonRecord | None = Field(
        validation_alias="lesson", description="the lesson about it"
    )
    scorecard: ScorecardRecord | None = Field(description="null: the corners are unknown")
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
        validation_alias="dropped", description="sentences of the model that were rejected"
    )
    sentences_kept: int = Field(
        validation_alias="kept", description="sentences of the model that were kept"
    )
    events_added: int = Field(description="new entries in the driver's history")
    latency_ms: float = Field(description="of all the work on this answer")


class ImprovedCorner(AnswerModel):
    """A corner that got better, and by how much."""

    corner: str
    delta_score: Quality


class BriefAnswer(AnswerModel):
    """The brief before a session."""

    driver_id: str
    date: str
    weather_phase: str
    surface_state: str
    weather_note: str
    weakest_recent_corner: str | None = Field(
        description="as in the profile, among the corners of the active circuit"
    )
    biggest_recent_improvement: ImprovedCorner | None
    danger_zones_today: tuple[str, ...]
    narrative_md: str
    narrative: str = Field(description="the same as narrative_md")
    focus: tuple[str, ...] = Field(max_length=3)
    lesson: LessonRecord | None = Field(description="the lesson to read before")
    emotion: Emotion
    source: Source
    fell_back: bool
    ungrounded_dropped: int = Field(validation_alias="dropped")
    latency_ms: float = Field(description="of all the work on this answer")


@fields_of(Concept)
class ConceptRecord(AnswerModel):
    """A technique that the coach can ask of a driver."""

    fires_when: str = Field(
        description="the condition as it is evaluated: in_corner and past_apex are flags, brake is "
        "in bar, thr in %, glat in g, v in km/h, to_entry, bz and dz in metres"
    )
    priority: int = Field(ge=0, le=3, description="highest priority of a message about it")
    lesson: LessonRecord = Field(description="the lesson that teaches it")


class ConceptList(Wire):
    """The concepts in the order of evaluation: the first that applies counts."""

    concepts: list[ConceptRecord]
    count: int


class ConversationPath(Wire):
    """The name of a driver."""

    driver_id: Annotated[str, AfterValidator(check_driver_name)]


class HistoryQuery(Wire):
    """The number of texts."""

    limit: Annotated[int, cap_at(200)] = Field(20, description="1 to 200, the newest")


@fields_of(TurnRow, "id")
class Turn(AnswerModel):
    """A text of a conversation."""

    session_id: str = Field(description="empty: no session")
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
    """The sessions to examine."""

    lap: Annotated[int, cap_at(10**6)] | None = Field(None, description="only this lap of each")
    language: Language = Field("en", description="en, de, fr or es")
    units: Units = Field("metric", description="metric or imperial")
    driver: Short | None = None
    track: Short | None = None
    limit_sessions: Annotated[int, cap_at(50)] = Field(10, description="1 to 50, the newest")


class InsightRecord(AnswerModel):
    """A habit that costs a driver time on a circuit."""

    driver: str
    track: str = Field(description="name of the circuit; empty: unknown")
    id: str = Field(
        description="the cause of the lost time, for example early_brake or slow_apex; "
        "match: no single cause; steady: in a danger zone, where the coach never asks for speed"
    )
    title: str
    detail: str
    corners: tuple[str, ...] = Field(max_length=4)
    metric_label: str
    metric_value: str
    effort: int = Field(ge=1, le=3, description="1: little")
    est_gain_s: Seconds = Field(
        validation_alias="gain_s",
        description="s that the usual lap loses to the best one through it, mean of the sessions "
        "that show it",
    )
    sessions: int = Field(description="sessions of the driver on the circuit that show it")
    looked_at: int = Field(description="sessions of the driver on the circuit that could show it")
    evidence_bursts: int = Field(
        validation_alias="evidence", description="passes of corners that show it"
    )
    rank: int = Field(description="1 for the least effort; among equals, for the largest gain")
    concept: str
    lesson: LessonRecord


class InsightsAnswer(Wire):
    """At most three habits, the one with the least effort first."""

    insights: list[InsightRecord]
    session_bursts: int = Field(description="bursts of the sessions in memory")
    sessions: int = Field(description="sessions with a complete lap that were examined")
    generated_at: str


class ScoreRequest(Wire):
    """The session to grade."""

    model_config = ConfigDict(json_schema_extra=needs("session_id"))

    session_id: SessionId | None = None
    focus: Short | None = Field(None, description="what to grade")
    driver_level: Short | None = None


class ScoreAnswer(AnswerModel):
    """The grade of an external model, which saw only summary figures."""

    session_id: str
    score: int = Field(ge=0, le=100)
    why: str
    model: str
    focus: str


@routes.get("/coach/brief", errors=WRITE_ERRORS)
async def brief(request: web.Request, *, query: BriefQuery) -> BriefAnswer:
    """Brief a driver before a session: surface, dangers, what to work on."""
    began = time.monotonic()
    service = request.app[SERVICE]
    require_gathering(service)  # fails early without a database
    day = _parse_day(query.date)
    hour, phase = choose_phase(query.hour_local, service.active_track)
    driver, words = query.driver.strip(), words_of(query.language, query.units)
    history = grades(await list_events_here(service, driver))
    best = await find_best_before(service, None, driver)
    plan = Plan(
        wishes=shorten(strip_moods(query.focus or "").split(",")),
        best_s=best,
        weakest=history.weakest,
        improved=history.noticed,
    )
    story, names = await prepare(service, driver, plan, hour)
    items = words.join(story.items(words))
    goal: Cell = strip_moods(query.goal).rstrip(".") or USUAL_GOAL
    if query.goal == USUAL_GOAL:
        goal = Term("goal", "best" if best is not None else "first")
    lesson = find_lesson(service, story.concept)
    narrative = await narrate_story(
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
    await _keep_turn(service, "coach_brief", query.session_id or "", driver, narrative)
    await service.inbox.post(
        "brief-ready", driver, "Your briefing is ready", query.goal, query.session_id
    )
    gain = None
    if history.improved is not None:
        gain = ImprovedCorner(corner=history.improved, delta_score=history.improvement or 0.0)
    zones = danger(Scene(track=service.active_track), Slots())
    return BriefAnswer.of(
        narrative,
        phase,
        driver_id=driver,
        date=day.isoformat(),
        weather_phase=phase.id,
        weather_note=phase.coaching_note,
        weakest_recent_corner=history.weakest,
        biggest_recent_improvement=gain,
        danger_zones_today=tuple(words.sentence(zone) for zone in zones if zone.kind == "danger"),
        narrative_md=narrative.text,
        narrative=narrative.text,
        lesson=lesson,
        latency_ms=_measure_ms(began),
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
    """Debrief a session: what went well, what cost time, what to work on."""
    began = time.monotonic()
    service = request.app[SERVICE]
    row = await _find_session(request, service, body)
    driver = (body.driver_id or row.driver or "").strip()
    subject = Subject(service, row, Scope(body.partial))
    words = words_of(body.language, body.units)
    review = await look_back(subject, driver, words)
    narrative = await narrate_story(
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
    blocks = await _compute_blocks(subject)
    added = 0
    if body.persist_to_profile and driver and not partial:
        added = await _remember(subject, driver, review.best_before_s)
    await _keep_turn(service, "coach_debrief", row.session_id, driver, narrative)
    await service.inbox.post(
        "debrief-ready",
        driver,
        "Your debrief is ready",
        narrative.focus[0] if narrative.focus else "",
        row.session_id,
    )
    return DebriefAnswer.of(
        narrative,
        review,
        session_id=row.session_id,
        partial=True if partial else None,
        track=(await subject.drive()).place,
        driver_id=driver,
        narrative=narrative.text,
        narrative_md=narrative.text,
        fragments=_collect_fragments(review, await _sum_up(subject), blocks["highlights"]),
        events_added=added,
        **blocks,
        latency_ms=_measure_ms(began),
    )


@routes.get(
    "/session/{sid}/focus",
    errors=(NothingRecorded, *(error for error in GUARD if error is not NoRows)),
)
async def focus(request: web.Request, *, path: SessionPath, query: FocusQuery) -> FocusAnswer:
    """Name the corners to work on, with evidence, advice and a lesson; uses no model."""
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
    """List the concepts of the coach, each with its condition and its lesson."""
    service = request.app[SERVICE]
    records = [ConceptRecord.of(item, lesson=find_lesson(service, item.id)) for item in CONCEPTS]
    return ConceptList(concepts=records, count=len(records))


@routes.get("/conversations/driver/{driver_id}", errors=READ_ERRORS)
async def of_driver(
    request: web.Request, *, path: ConversationPath, query: HistoryQuery
) -> DriverConversation:
    """List a driver's conversations over all sessions."""
    store = request.app[SERVICE].db
    rows = await store.read(lambda reader: read_driver_turns(reader, path.driver_id, query.limit))
    history = [_make_turn(row) for row in rows]
    return DriverConversation(driver_id=path.driver_id, history=history, count=len(history))


@routes.get("/conversations/{sid}", errors=READ_ERRORS)
async def of_session(request: web.Request, *, path: SessionPath) -> SessionConversation:
    """List the conversations about a session; empty for an unknown one."""
    store = request.app[SERVICE].db
    rows = await store.read(lambda reader: read_session_turns(reader, path.sid, MOST_TURNS))
    turns = [_make_turn(row) for row in rows]
    return SessionConversation(session_id=path.sid, turns=turns, count=len(turns))


def _make_turn(row: TurnRow) -> Turn:
    return Turn.of(row, emotion=row.emotion or "neutral")


@routes.get("/insights", errors=READ_ERRORS)
async def get_insights(request: web.Request, *, query: InsightsQuery) -> InsightsAnswer:
    """Show the habits that cost a driver time again and again on a circuit."""
    service = request.app[SERVICE]
    key = service.library.key
    rows = [
        row
        for row in service.db.sessions()
        if row.n_frames
        and (query.driver is None or slugify(row.driver or "") == slugify(query.driver))
        and (query.track is None or await service.book.place(row) == key(query.track))
    ]
    driven: dict[tuple[str, str], Driven] = {}
    count = 0
    for row in rows[:MOST_TRIED]:
        if count == query.limit_sessions:
            break
        try:
            losses = await service.analytics.of(row, Scope(), measure_costs, query.lap)
        except (NoCompleteLap, UnknownLap, NoRows, StoreDamaged):
            continue
        count += 1
        if losses is not None:
            place = await service.book.place(row) or row.session_id
            driver, name = row.driver or "", (await service.book.circuit(row)).name
            history = driven.setdefault((slugify(driver), place), Driven(driver, name, []))
            history.sessions.append(losses)
    bursts = _list_bursts(service, query, {row.session_id for row in rows})
    words = words_of(query.language, query.units)
    return InsightsAnswer(
        insights=[
            _write_insight(insight, rank, words, service)
            for rank, insight in enumerate(find_insights(driven.values()), start=1)
        ],
        session_bursts=len(bursts),
        sessions=count,
        generated_at=format_iso(unix_ms()) or "",
    )


def _write_insight(insight: Insight, rank: int, words: Words, service: Service) -> InsightRecord:
    """Put an insight into words."""
    remedy = REMEDIES[insight.id]
    values: dict[str, Cell] = {
        "corners": tuple(map(Corner, insight.corners)),
        "corner": Corner(insight.corners[0]),
        "cause": Term("cause", insight.id),
        "size": Value(insight.metric, remedy.size),
        "seconds": Value(insight.gain_s, "s"),
        "sessions": insight.sessions,
        "of": insight.looked_at,
        "action": Term("action", remedy.action),
    }
    return InsightRecord.of(
        insight,
        rank=rank,
        concept=remedy.concept,
        lesson=find_lesson(service, remedy.concept),
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
    """Let an external model grade a session; it gets summary figures, no positions or names."""
    service = request.app[SERVICE]
    if body.session_id is None:
        raise BadField("session_id is missing", param="session_id")
    row = service.session(body.session_id)
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    if service.grader is None:
        raise NoGrader
    focus = (body.focus or "").strip() or USUAL_FOCUS
    grade, model = await _grade(service, row, focus, body.driver_level or row.driver_level or "")
    return ScoreAnswer.of(grade, session_id=row.session_id, model=model, focus=focus)


async def _grade(service: Service, row: SessionRow, focus: str, level: str) -> tuple[Verdict, str]:
    """Ask the grader. Return its grade and the name of its model."""
    grader = service.grader
    assert grader is not None
    sums = await _sum_up(Subject(service, row, Scope()))
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


def _list_bursts(service: Service, query: InsightsQuery, sessions: set[str]) -> list[Burst]:
    """List the bursts of the sessions in memory; of all sessions without a driver and a track."""
    everyone = query.driver is None and query.track is None
    return [
        burst
        for session_id, bursts in service.bursts.items()
        if everyone or session_id in sessions
        for burst in bursts
        if isinstance(burst, Burst) and (query.lap is None or burst.lap == query.lap)
    ]


def _parse_day(text: str | None) -> date:
    if text is None:
        return datetime.now(UTC).date()
    try:
        if len(text) != len("2000-01-01"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError as problem:
        raise BadQuery("date must be a day as YYYY-MM-DD", param="date") from problem


async def _find_session(request: web.Request, service: Service, body: DebriefRequest) -> SessionRow:
    """Find the session to debrief, importing its file if needed."""
    if body.session_id is None and body.vbo_path is None:
        raise BadField("give session_id or vbo_path", param="session_id")
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


async def _sum_up(subject: Subject) -> dict[str, object]:
    """Sum the session up for a prompt."""
    return await subject.compute(add_up, subject.references)


def _collect_fragments(review: Review, sums: dict[str, object], moments: object) -> FragmentsRecord:
    """Collect the input of the narrative."""
    facts = list_facts(review.story.facts, review.words)
    shown = [asdict(moment) for moment in moments] if isinstance(moments, tuple) else []
    return FragmentsRecord(
        telemetry={**sums, "facts": facts},
        highlights=shown,
        pedagogy=[
            {name: getattr(lesson, name) for name in ("concept", "corner", "evidence", "tip")}
            for lesson in review.taught
        ],
    )


async def _remember(subject: Subject, driver: str, best_before_s: float | None) -> int:
    """Add the session to the driver's history. Return the number of new entries."""
    card = await subject.compute_corners(grade_session, subject.references)
    if card is None:
        return 0
    moments = await subject.compute(find_highlights, subject.references, await subject.find_aids())
    rows = list_events(card, moments, best_before_s)
    events = [NewEvent(row.kind, row.corner or "", row.value, row.text) for row in rows]
    db = subject.service.db
    return await add_events(db, driver, subject.row.session_id, events, unix_ms())


async def _keep_turn(
    service: Service, role: str, session_id: str, driver: str, reply: Narrative
) -> None:
    turn = TurnRow(session_id, driver, role, reply.text, unix_ms(), reply.focus, reply.emotion)
    await service.db.add((turn,))


def _measure_ms(began: float) -> float:
    """Return the milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - began) * 1000, 1)


async def _compute_blocks(subject: Subject) -> dict[str, object]:
    """Compute the analytics of a session as their own routes answer them."""
    of, compute_corners, references = subject.compute, subject.compute_corners, subject.references
    card = await compute_corners(grade_session, references)
    active = await subject.find_aids()
    return {
        "scorecard": card and make_scorecard_record(subject.row.session_id, card),
        "highlights": await of(find_highlights, references, active),
        "stats": await of(compute_stats),
        "smoothness": await compute_corners(measure_smoothness) or {},
        "consistency": await compute_corners(measure_consistency),
        "friction": await of(measure_friction_circle, references, SCATTER),
        "hustle_map": await of(measure_hustle),
        "track_out": await of(measure_track_out),
        "trail_brake": await compute_corners(rate_trail_braking) or (),
        "eob": await compute_corners(measure_brake_ends),
        "slip_band": await of(measure_bands, references),
        "slip_oscillations": await of(find_oscillations, references),
        "change_of_speed_events": await compute_corners(find_throttle_changes, references) or (),
        "incidents": await of(detect_incidents, active),
    }
