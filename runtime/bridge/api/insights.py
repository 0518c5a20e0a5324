"""Habits that show over several sessions, and the grade that a model elsewhere gives to one."""

from collections.abc import Callable
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.analysis import analyses_of
from runtime.bridge.api.analysis_moments import assistance
from runtime.bridge.api.coaching_shapes import LessonRecord
from runtime.bridge.api.reviews import desk_of, review_of
from runtime.bridge.api.sessions import READ_ERRORS, now_ms
from runtime.bridge.api.shapes import SessionId, Short, capped, iso
from runtime.bridge.coach.warm.insights import Driving, Insight, driving, insights, of_burst
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.coach.warm.model import ModelFailed
from runtime.bridge.coach.warm.scoring import (
    USUAL_FOCUS,
    Verdict,
    aggregates,
    score_prompt,
    verdict,
)
from runtime.bridge.coach.warm.wire import BadReply
from runtime.bridge.cues.model import Burst
from runtime.bridge.errors import NoCompleteLap, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import slug
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows, StoreDamaged, UnknownSession
from runtime.bridge.storage.values import SessionRow
from runtime.web.errors import ApiError, BadField
from runtime.web.routes import Routes
from runtime.web.wire import Wire

LOOKED_AT: Final = 200
"""Sessions that are tried until enough of them have laps."""
routes = Routes("coaching")


class NoGrader(ApiError):
    """No grader is configured."""

    status, code = 503, "grading_key_missing"

    def __init__(self) -> None:
        super().__init__("no grader is set up; set BRIDGE_GRADING_URL and BRIDGE_GRADING_KEY")


class GraderFailed(ApiError):
    """The grader gave no grade."""

    status, code = 502, "bad_model_reply"

    def __init__(self) -> None:
        super().__init__("the grader gave no grade")


class GraderBusy(ApiError):
    """Too much is waiting for a model."""

    status, code = 503, "model_busy"

    def __init__(self) -> None:
        super().__init__("too much is waiting for a model", headers={"Retry-After": "5"})


class GraderLate(ApiError):
    """The grader took too long."""

    status, code = 504, "model_timeout"

    def __init__(self) -> None:
        super().__init__("the grader took too long")


class InsightsQuery(Wire):
    """Which sessions."""

    lap: Annotated[int, capped(10**6)] | None = Field(None, description="this lap of each alone")
    driver: Short | None = None
    track: Short | None = None
    limit_sessions: Annotated[int, capped(50)] = Field(10, description="1 to 50, the newest")


class InsightRecord(Wire):
    """A habit that costs time."""

    id: str = Field(
        description="coast_excess, grip_headroom, trail_absent, braking_late, nothing_time or "
        "sector_gap"
    )
    title: str
    detail: str
    corners: list[str] = Field(max_length=4)
    metric_label: str
    metric_value: str
    effort: int = Field(ge=1, le=3, description="1: little")
    est_gain_s: float = Field(description="s a lap, a rough guess")
    evidence_bursts: int = Field(description="passes, laps and bursts behind it")
    rank: int
    concept: str
    lesson: LessonRecord


class InsightsAnswer(Wire):
    """At most three habits, the one with the least effort first."""

    insights: list[InsightRecord]
    session_bursts: int = Field(description="bursts in memory that were looked at")
    sessions: int = Field(description="sessions with a complete lap that were looked at")
    generated_at: str


class ScoreRequest(Wire):
    """Which session is graded."""

    session_id: SessionId | None = None
    focus: Short | None = Field(None, description="what to look at")
    driver_level: Short | None = None


class ScoreAnswer(Wire):
    """A grade by a model elsewhere, which saw only sums."""

    session_id: str
    score: int = Field(ge=0, le=100)
    why: str
    model: str
    focus: str


@routes.get("/insights", errors=READ_ERRORS)
async def get_insights(request: web.Request, *, query: InsightsQuery) -> InsightsAnswer:
    """Show what costs time in several sessions together."""
    service = request.app[SERVICE]
    rows = [
        row
        for row in service.db.sessions()
        if row.n_frames
        and _same(row.driver, query.driver, slug)
        and _same(row.track, query.track, service.library.key)
    ]
    references = service.references.current()
    found: list[Driving] = []
    for row in rows[:LOOKED_AT]:
        if len(found) == query.limit_sessions:
            break
        try:
            scope = Scope(lap=query.lap)
            found.append(await analyses_of(service).of(row, scope, driving, references))
        except (NoCompleteLap, UnknownLap, NoRows, StoreDamaged):
            continue
    bursts = _bursts(service, query, {row.session_id for row in rows})
    lessons = desk_of(service).lessons
    shown = insights(found, [of_burst(one) for one in bursts])
    return InsightsAnswer(
        insights=[_record(one, rank, lessons) for rank, one in enumerate(shown, start=1)],
        session_bursts=len(bursts),
        sessions=len(found),
        generated_at=iso(now_ms()) or "",
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
    if desk_of(service).grader is None:
        raise NoGrader
    focus = (body.focus or "").strip() or USUAL_FOCUS
    found, model = await _graded(service, row, focus, body.driver_level or row.driver_level or "")
    return ScoreAnswer(
        session_id=row.session_id, score=found.score, why=found.why, model=model, focus=focus
    )


async def _graded(service: Service, row: SessionRow, focus: str, level: str) -> tuple[Verdict, str]:
    """The grade, and which model gave it."""
    grader = desk_of(service).grader
    assert grader is not None
    active = await assistance(service, row.session_id)
    review = await review_of(service, analyses_of(service), row, Scope(), driver="", active=active)
    prompt = score_prompt(aggregates(review), focus, level)
    try:
        async with grader.call("score", "post_session", prompt, session_id=row.session_id) as call:
            try:
                found = verdict(await call.text())
            except BadReply as problem:
                raise ModelFailed("bad_reply", str(problem)) from problem
    except ModelFailed as failed:
        if failed.reason == "timeout":
            raise GraderLate from failed
        raise (GraderBusy if failed.reason == "busy" else GraderFailed)() from failed
    return found, grader.state.model or ""


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


def _same(value: str | None, wanted: str | None, key: Callable[[str], str]) -> bool:
    return wanted is None or key(value or "") == key(wanted)


def _record(one: Insight, rank: int, lessons: Lessons) -> InsightRecord:
    return InsightRecord(
        id=one.id,
        title=one.title,
        detail=one.detail,
        corners=list(one.corners),
        metric_label=one.metric_label,
        metric_value=one.metric_value,
        effort=one.effort,
        est_gain_s=round(one.gain_s, 1),
        evidence_bursts=one.evidence,
        rank=rank,
        concept=one.concept,
        lesson=LessonRecord.model_validate(lessons.of(one.concept)),
    )
