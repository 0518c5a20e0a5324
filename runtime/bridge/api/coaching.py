"""What the coach says before and behind a session, and the grade that a larger model gives."""

import time
from collections.abc import Awaitable
from datetime import UTC, date, datetime
from typing import Annotated, TypeVar

from aiohttp import web
from pydantic import Field, StrictBool, StrictStr

from runtime.bridge.analysis.corners import smoothness, track_out
from runtime.bridge.analysis.driver import driver_events
from runtime.bridge.analysis.grading import scorecard
from runtime.bridge.analysis.grip import friction_circle, slip_bands, slip_oscillations
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.incidents import Active, incidents
from runtime.bridge.analysis.pedals import (
    brake_ends,
    changes_of_speed,
    hustle_map,
    trail_braking,
)
from runtime.bridge.analysis.stats import stats
from runtime.bridge.api.analysis import CORNERS, Subject, analyses_of
from runtime.bridge.api.analysis_corners import scorecard_record
from runtime.bridge.api.analysis_moments import assistance
from runtime.bridge.api.coaching_shapes import (
    BriefAnswer,
    DebriefAnswer,
    ImprovedCorner,
    LessonRecord,
)
from runtime.bridge.api.imports import ImportRequest, import_session
from runtime.bridge.api.reviews import (
    Narrative,
    best_before,
    desk_of,
    events_here,
    last_driven,
    review_of,
    tell_brief,
    tell_debrief,
)
from runtime.bridge.api.sessions import WRITE_ERRORS, now_ms
from runtime.bridge.api.shapes import SessionId, Short, capped
from runtime.bridge.coach.warm.brief import USUAL_GOAL, Plan, concept_of, placed_zones
from runtime.bridge.coach.warm.emotion import felt
from runtime.bridge.coach.warm.findings import Finding, chosen
from runtime.bridge.coach.warm.grades import Grades, first_of, grades
from runtime.bridge.coach.warm.review import Review
from runtime.bridge.coach.warm.told import short
from runtime.bridge.errors import NoCompleteLap, NoGeometry
from runtime.bridge.formats.files import NotImportable
from runtime.bridge.formats.formats import UnparsableVbo
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.storage.coaching import NewEvent, TurnRow, add_events, add_turns
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.track.model import phase_at
from runtime.web.errors import BadField, BadQuery, BadRequest
from runtime.web.routes import Routes
from runtime.web.wire import Wire

T = TypeVar("T")
SCATTER = 300
"""Points of the friction circle in a debrief."""
routes = Routes("coaching")


class NothingRecorded(BadRequest):
    """The session has no telemetry to speak about."""

    code = "no_frames"

    def __init__(self, session_id: str) -> None:
        super().__init__("the session has no telemetry")
        self.session_id = session_id


class BriefQuery(Wire):
    """Before which session."""

    driver: Short = Field("", description="whose history is looked at")
    date: Short | None = Field(None, description="YYYY-MM-DD; absent: today, UTC")
    focus: Short | None = Field(None, description="up to three things, by commas")
    goal: Short = Field(USUAL_GOAL, description="what the session is for")
    hour_local: Annotated[int, capped(10**6, -(10**6))] | None = Field(
        None, description="0 to 23; absent: now"
    )
    session_id: SessionId | None = Field(None, description="kept with the conversation")


class DebriefRequest(Wire):
    """Which session is spoken about."""

    session_id: SessionId | None = Field(None, description="a session, or the id for vbo_path")
    vbo_path: StrictStr | None = Field(
        None, description="absolute path of a VBO file, imported where the id has no frames"
    )
    driver_id: Short | None = Field(None, description="absent: the session's driver")
    persist_to_profile: StrictBool = Field(True, description="add to the driver's history")
    partial: StrictBool = Field(
        False, description="take a session without a complete lap as one lap"
    )


@routes.get("/coach/brief", errors=WRITE_ERRORS)
async def brief(request: web.Request, *, query: BriefQuery) -> BriefAnswer:
    """Say what matters before a session: surface, dangers, what to work on."""
    began = time.monotonic()
    service = request.app[SERVICE]
    plan = await _plan(service, query)
    told = await tell_brief(service, plan, query.session_id)
    await _keep_turn(service, "coach_brief", query.session_id or "", plan.driver, told)
    await service.inbox.post(
        "brief-ready", plan.driver, "Your briefing is ready", plan.goal, query.session_id
    )
    known = plan.grades
    return BriefAnswer(
        driver_id=plan.driver,
        date=plan.date,
        weather_phase=plan.phase.id,
        surface_state=plan.phase.surface_state,
        weather_note=plan.phase.coaching_note,
        weakest_recent_corner=known.weakest,
        biggest_recent_improvement=None
        if known.improved is None
        else ImprovedCorner(corner=known.improved, delta_score=known.improvement or 0.0),
        danger_zones_today=placed_zones(plan),
        narrative_md=told.text,
        narrative=told.text,
        focus=told.focus,
        lesson=plan.lesson and LessonRecord.model_validate(plan.lesson),
        emotion=told.emotion,
        source=told.source,
        fell_back=told.fell_back,
        ungrounded_dropped=told.dropped,
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
    scope = Scope(body.partial)
    active = await assistance(service, row.session_id)
    analyses = analyses_of(service)
    review = await review_of(service, analyses, row, scope, driver=driver, active=active)
    told, given = await tell_debrief(service, review)
    added = 0
    if body.persist_to_profile and driver and not review.partial:
        added = await _remember(service, review, driver)
    await _keep_turn(service, "coach_debrief", row.session_id, driver, told)
    await service.inbox.post(
        "debrief-ready",
        driver,
        "Your debrief is ready",
        told.focus[0] if told.focus else "",
        row.session_id,
    )
    blocks = await _blocks(service, row, scope, active)
    return DebriefAnswer.model_validate(
        {
            "session_id": row.session_id,
            "partial": True if review.partial else None,
            "track": review.track,
            "driver_id": driver,
            "narrative": told.text,
            "narrative_md": told.text,
            "narrative_source": told.source,
            "emotion": told.emotion,
            "focus": told.focus,
            "next_focus": review.next_focus,
            "next_focus_lesson": review.lesson,
            "consistency": review.consistency,
            "pedagogy": review.taught,
            "fragments": given,
            "fell_back": told.fell_back,
            "ungrounded_dropped": told.dropped,
            "sentences_kept": told.kept,
            "events_added": added,
            **blocks,
            "latency_ms": _since(began),
        }
    )


async def _plan(service: Service, query: BriefQuery) -> Plan:
    """What a briefing is made from. Raises `BadQuery`."""
    service.db  # noqa: B018 - no database: say so before anything is asked
    day = _day(query.date)
    hour = datetime.now().astimezone().hour if query.hour_local is None else query.hour_local
    try:
        phase = phase_at(hour, service.active_track)
    except ValueError as problem:
        raise BadQuery("hour_local must be from 0 to 23", param="hour_local") from problem
    driver = query.driver.strip()
    known = grades(await events_here(service, driver))
    driven, work = await last_driven(service, analyses_of(service), driver)
    if not driven:  # sessions that were only said to be this driver's, when they were debriefed
        driven, work = await _last_remembered(service, known)
    if driven:  # what that session came to, as its debrief has it
        known = first_of(known, work.corner if work is not None else None)
    asked = short(felt(query.focus or "").text.split(","))
    return Plan(
        driver=driver,
        date=day.isoformat(),
        hour=hour,
        goal=" ".join(felt(query.goal).text.split()) or USUAL_GOAL,
        asked=asked,
        phase=phase,
        grades=known,
        track=service.active_track,
        best_s=await best_before(service, None, driver),
        lesson=desk_of(service).lessons.of(concept_of(asked, known.weakest, work)),
        work=work,
    )


async def _last_remembered(service: Service, known: Grades) -> tuple[bool, Finding | None]:
    """What the newest of the sessions came to whose grades are remembered."""
    names = {one.session_id for scores in known.corners.values() for one in scores}
    rows = [row for name in names if (row := service.db.session(name)) is not None]
    references = service.references.current()
    for row in sorted(rows, key=lambda one: (one.started_at, one.session_id), reverse=True):
        try:
            return True, await analyses_of(service).of(row, Scope(), chosen, references)
        except (NoCompleteLap, NoRows):
            continue
    return False, None


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
        raise NothingRecorded(row.session_id)
    return row


async def _remember(service: Service, review: Review, driver: str) -> int:
    """Add to the driver's history; how much was new."""
    if review.card is None:
        return 0
    events = driver_events(review.card, review.moments, review.best_before_s)
    told = [NewEvent(one.kind, one.corner or "", one.value, one.text) for one in events]
    return await add_events(service.db, driver, review.session_id, told, now_ms())


async def _keep_turn(
    service: Service, role: str, session_id: str, driver: str, told: Narrative
) -> None:
    turn = TurnRow(session_id, driver, role, told.text, now_ms(), told.focus, told.emotion)
    await add_turns(service.db, (turn,))


def _since(began: float) -> float:
    """Milliseconds since a moment of the monotonic clock."""
    return round((time.monotonic() - began) * 1000, 1)


async def _blocks(
    service: Service, row: SessionRow, scope: Scope, active: tuple[Active, ...]
) -> dict[str, object]:
    """The analytics of a session as their own routes answer them."""
    of = Subject(service, row, scope).compute
    references = service.references.current()
    card = await _cornering(of(scorecard, references))
    return {
        "scorecard": card and scorecard_record(row.session_id, card),
        "highlights": await of(highlights, references, active),
        "stats": await of(stats),
        "smoothness": await _cornering(of(smoothness)) or {},
        "friction": await of(friction_circle, references, SCATTER),
        "hustle_map": await of(hustle_map),
        "track_out": await of(track_out),
        "trail_brake": await _cornering(of(trail_braking)) or (),
        "eob": await _cornering(of(brake_ends)),
        "slip_band": await of(slip_bands, references),
        "slip_oscillations": await of(slip_oscillations, references),
        "change_of_speed_events": await _cornering(of(changes_of_speed, references)) or (),
        "incidents": await of(incidents, active),
    }


async def _cornering(work: Awaitable[T]) -> T | None:
    """What is said of corners; None where nobody knows where they are."""
    try:
        return await work
    except NoGeometry:
        return None
