"""Questions to the coach: answers at once or sentence by sentence, who answers, and the steps."""

import re
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import orjson
from aiohttp import web
from pydantic import BeforeValidator, Field, StrictStr, TypeAdapter, ValidationError

from runtime.bridge.api.coaching import LessonRecord
from runtime.bridge.api.shapes import READ_ERRORS, Short, Values
from runtime.bridge.coach.agents.coach import Coach, why_off
from runtime.bridge.coach.agents.errors import QuestionsOff, TooManyQuestions
from runtime.bridge.coach.agents.history import key_of
from runtime.bridge.coach.agents.roster import AGENTS
from runtime.bridge.coach.agents.values import Answer, Question
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.units import Decimals
from runtime.bridge.storage import coaching
from runtime.bridge.storage.errors import NoDatabase, StoreBusy, StoreFailed
from runtime.web.errors import ApiError, BadField
from runtime.web.routes import Routes
from runtime.web.sse import EventStream, frame
from runtime.web.wire import Wire, absent

LONGEST: Final = 4000
BEAT_S: Final = 15.0
STEPS: Final = 200
MOST_STEPS: Final = 1000
ERRORS: Final = (QuestionsOff, TooManyQuestions, *READ_ERRORS)
Milliseconds = Annotated[float, Decimals(3)]
_MOMENT: Final = TypeAdapter(datetime)
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
routes = Routes("coaching")


def _moment(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"


class AskRequest(Wire):
    """A question to the coach."""

    question: StrictStr = Field(description="1 to 4000 characters")
    driver_id: Short = Field("", description="whose history and conversation it belongs to")
    session_id: Short = Field("", description="the session it is about; empty: none")
    intent: Short | None = Field(
        None, description="who shall answer, past the router; one that is unknown is ignored"
    )


class SourceRecord(Values):
    """A tool that was asked, and what it said."""

    tool: str
    summary: str


class AskAnswer(Values):
    """What the coach says."""

    answer: str = Field(validation_alias="text")
    emotion: str
    qa_key: str = Field(description="name of the conversation: driver and session")
    turn: int = Field(description="questions with their answers in memory, this one among them")
    intent: str
    agent: str
    trace_id: str = Field(description="of the steps in /coach/traces")
    latency_ms: Milliseconds
    source: str = Field(
        description="local_model: the first sentence is ours, the others the model's as far as "
        "the facts bear them out; template: all of it comes from the facts"
    )
    reason: str | None = absent(
        "why the model had no part, or broke off: timeout, busy, model_unreachable, ungrounded, …"
    )
    ungrounded_dropped: int = Field(
        validation_alias="dropped", description="sentences of the model that no fact bears out"
    )
    sources: tuple[SourceRecord, ...] = Field(validation_alias="found")
    rows: list[dict[str, float | int | str | bool | None]] | None = absent(
        "what a query found, 200 rows at most; for questions that are one"
    )
    lessons: tuple[LessonRecord, ...]


class AskEvent(Wire):
    """A piece of the answer, or its end; the end names what `/coach/ask` answers."""

    delta: str | None = absent("all of them one after the other are the answer")
    done: bool | None = absent("true: nothing follows")
    answer: str | None = absent()
    emotion: str | None = absent()
    qa_key: str | None = absent()
    turn: int | None = absent()
    error: str | None = absent("the answer broke off")


class EndRequest(Wire):
    """Which conversation is over."""

    driver_id: Short = ""
    session_id: Short = ""
    qa_key: Annotated[StrictStr, Field(max_length=520)] | None = Field(
        None, description="in place of both"
    )


class Flushed(Wire):
    """What was written of it."""

    flushed: int = Field(description="rows: two a turn; 0 for a conversation that is not in memory")
    qa_key: str


class AgentRecord(Values):
    """One role of the coach."""

    name: str
    role: str
    intent: str
    example_questions: tuple[str, ...]


class AgentList(Wire):
    """Who answers questions, in the order in which the router tries them."""

    available: bool
    reason: str | None = absent("why nobody does")
    agents: list[AgentRecord]
    count: int


class TracesQuery(Wire):
    """Which steps; what cannot be read counts as absent."""

    session_id: str | None = None
    limit: str | None = Field(None, description="absent: 200; 1000 at most")
    since_ts: str | None = Field(None, description="ISO 8601 or Unix seconds; later steps only")


class TraceRecord(Values):
    """One step on the way to an answer."""

    id: int
    trace_id: str
    session_id: str
    agent_name: str
    event_type: str = Field(description="intent, agent, tool_start, tool or error")
    detail: str
    latency_ms: float
    success: bool
    ts: Annotated[str, BeforeValidator(_moment)] = Field(
        description="ISO 8601 in UTC with microseconds; no two are equal"
    )


class TraceList(Wire):
    """Steps, oldest first: the newest, or with since_ts the first ones behind it."""

    available: bool
    reason: str | None = absent("why there are none")
    traces: list[TraceRecord]
    count: int
    next_since_ts: str | None = Field(description="for the next request")


@routes.post("/coach/ask", errors=ERRORS)
async def ask(request: web.Request, *, body: AskRequest) -> AskAnswer:
    """Ask the coach; without a language model the answer is made of the facts alone."""
    coach = _coach(request.app[SERVICE])
    answer = await coach.ask(await _question(coach, body))
    return _answer(answer)


@routes.post("/coach/ask/stream", stream=AskEvent, errors=ERRORS)
async def ask_stream(request: web.Request, *, body: AskRequest) -> web.StreamResponse:
    """Ask the coach, and get the answer sentence by sentence."""
    coach = _coach(request.app[SERVICE])
    question = await _question(coach, body)
    coach.admit()
    stream = EventStream(request, heartbeat_s=BEAT_S, ends_on_drain=True)
    async with stream:
        try:
            async with aclosing(coach.stream(question)) as events:
                async for part in events:
                    if isinstance(part, str):
                        await stream.send(_event(delta=part))
                    else:
                        end = _answer(part).model_dump(exclude_none=True)
                        await stream.send(_event(done=True, **end))
        except ApiError as error:
            await stream.send(frame(orjson.dumps({"error": error.message}), "error"))
            await stream.send(_event(done=True, error=error.message, answer=""))
    return stream.response


@routes.post("/coach/ask/end", errors=(QuestionsOff, *READ_ERRORS))
async def ask_end(request: web.Request, *, body: EndRequest) -> Flushed:
    """End a conversation: it is written to the conversations of driver and session."""
    coach = _coach(request.app[SERVICE])
    key = body.qa_key if body.qa_key is not None else key_of(body.driver_id, body.session_id)
    return Flushed(flushed=await coach.end(key), qa_key=key)


@routes.get("/coach/agents")
async def agents(request: web.Request) -> AgentList:
    """List who answers which questions."""
    why = why_off(request.app[SERVICE].settings.agent_backend)
    if why is not None:
        return AgentList(available=False, reason=why, agents=[], count=0)
    listed = [AgentRecord.of(agent) for agent in AGENTS]
    return AgentList(available=True, agents=listed, count=len(listed))


@routes.get("/coach/traces")
async def traces(request: web.Request, *, query: TracesQuery) -> TraceList:
    """List the steps that led to answers."""
    service = request.app[SERVICE]
    why = why_off(service.settings.agent_backend)
    since = _micros(query.since_ts)
    if why is None and service.store is None:
        why = service.without_database().message
    if why is not None or service.store is None:
        return _nothing(why or "", query.since_ts)
    limit = _limit(query.limit)
    wanted = query.session_id or None
    try:
        steps = await service.store.read(lambda inner: coaching.traces(inner, wanted, since, limit))
    except (NoDatabase, StoreBusy, StoreFailed) as problem:
        return _nothing(problem.message, query.since_ts)
    return TraceList(
        available=True,
        traces=[TraceRecord.of(row) for row in steps],
        count=len(steps),
        next_since_ts=_moment(steps[-1].ts) if steps else query.since_ts,
    )


def _coach(service: Service) -> Coach:
    """Who answers. Raises `QuestionsOff` and `NoDatabase`."""
    if (why := why_off(service.settings.agent_backend)) is not None:
        raise QuestionsOff(why)
    if service.questions is None:
        raise service.without_database()
    return service.questions


async def _question(coach: Coach, body: AskRequest) -> Question:
    text = body.question.strip()
    if not text:
        raise BadField("question: must not be blank", param="question")
    if len(body.question) > LONGEST:
        raise BadField(f"question: at most {LONGEST} characters", param="question")
    return await coach.understand(text, body.driver_id, body.session_id, body.intent)


def _answer(answer: Answer) -> AskAnswer:
    """As it is sent, with the rows of a query where one was asked for and could be run."""
    rows = [dict(row) for fact in answer.found for row in fact.rows if fact.tool == "sql_query"]
    return AskAnswer.of(answer, rows=rows or None)


def _event(**fields: object) -> bytes:
    return frame(orjson.dumps(fields))


def _nothing(why: str, since: str | None) -> TraceList:
    return TraceList(available=False, reason=why, traces=[], count=0, next_since_ts=since)


def _limit(text: str | None) -> int:
    if text is None or not _WHOLE.fullmatch(text) or int(text) < 1:
        return STEPS
    return min(int(text), MOST_STEPS)


def _micros(text: str | None) -> int | None:
    """Unix microseconds of a moment, ISO 8601 or Unix seconds; None for what is no moment."""
    try:
        since = _MOMENT.validate_python(text)
    except ValidationError:
        return None
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    return (since - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
