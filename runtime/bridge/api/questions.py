"""Questions to the coach, their answers (whole or streamed), its roles, and its traces."""

import re
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import orjson
from aiohttp import web
from pydantic import BeforeValidator, Field, StrictStr, TypeAdapter, ValidationError

from runtime.bridge.api.coaching import LessonRecord
from runtime.bridge.api.shapes import READ_ERRORS, AnswerModel, Short, fields_of
from runtime.bridge.coach.asking import (
    Answer,
    Question,
    QuestionsOff,
    TooManyQuestions,
    WordedFact,
    why_off,
)
from runtime.bridge.coach.fact import Basis, Value
from runtime.bridge.coach.memory import key_of
from runtime.bridge.coach.need import Language, Units
from runtime.bridge.coach.roles import ROLES
from runtime.bridge.live.hub import ACTIVE
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.units import Decimals
from runtime.bridge.storage import coaching
from runtime.bridge.storage.errors import NoDatabase, StoreBusy, StoreFailed
from runtime.web.errors import ApiError, BadField
from runtime.web.routes import Routes
from runtime.web.sse import EventStream, frame
from runtime.web.wire import Wire, absent

if TYPE_CHECKING:
    from runtime.bridge.coach.conversation import Conversations

LONGEST: Final = 4000
BEAT_S: Final = 15.0
STEPS: Final = 200
MOST_STEPS: Final = 1000
ERRORS: Final = (QuestionsOff, TooManyQuestions, *READ_ERRORS)
Milliseconds = Annotated[float, Decimals(3)]
_MOMENT: Final = TypeAdapter(datetime)
_WHOLE: Final = re.compile(r"[0-9]{1,9}")
routes = Routes("coaching")


def _format_micros(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"


class AskRequest(Wire):
    """A question to the coach."""

    question: StrictStr = Field(description="1 to 4000 characters")
    driver_id: Short = Field("", description="driver of the history and conversation")
    session_id: Short = Field(
        "",
        description="the session it is about; SIM: the active one; empty: also the active one, "
        "unless another driver drives it",
    )
    intent: Short | None = Field(
        None, description="the role that answers, bypassing the router; unknown ones are ignored"
    )
    language: Language | None = Field(None, description="of the answer; absent: the question's own")
    units: Units | None = Field(
        None, description="of the answer; absent: those in the question, else metric"
    )


class SourceRecord(AnswerModel):
    """A tool that was used, and its result."""

    tool: str
    summary: str


class ValueRecord(Wire):
    """A value of a fact."""

    text: str = Field(description="as written in the sentence")
    number: float | None = absent("as measured, regardless of the units in the text")
    unit: str | None = absent("of the number: s, m, km, km/h, bar, g, %, deg …; lap_time: seconds")


class PlaceRecord(AnswerModel):
    """A place on the lap."""

    corner: str | None = absent()
    sector: int | None = absent()
    straight: str | None = absent()
    start_m: float | None = absent("metres from start/finish, like end_m")
    end_m: float | None = absent()


class FactRecord(AnswerModel):
    """A fact, and the sentence that states it."""

    id: str = Field(description="stable within a session")
    kind: str
    text: str
    values: dict[str, ValueRecord]
    laps: tuple[int, ...] = Field(description="laps that it is based on or mentions")
    place: PlaceRecord | None = absent()
    basis: Basis | None = absent("reference of the comparison")
    gain_s: float | None = absent("seconds a lap that the advice is worth")


class PassageRecord(AnswerModel):
    """A quotation from the course."""

    heading: str = Field(description="heading of its section")
    text: str = Field(description="the published text")
    url: str = Field(description="the lesson's url with the anchor of the section")


class AskAnswer(AnswerModel):
    """The answer of the coach."""

    answer: str = Field(validation_alias="text")
    say: str = Field(description="the facts for a voice: numbers and units in words")
    language: Language
    emotion: str
    qa_key: str = Field(description="name of the conversation: driver and session")
    turn: int = Field(description="questions in memory, including this one")
    intent: str
    agent: str
    trace_id: str = Field(description="of the steps in /coach/traces")
    latency_ms: Milliseconds
    source: str = Field(
        description="local_model: a model ordered the facts or added `model_said`; template: the "
        "answer consists only of facts"
    )
    reason: str | None = absent(
        "why the model was unused: off, too_small, timeout, busy, model_unreachable, ungrounded, …"
    )
    model_said: str | None = absent(
        "the model's own sentences that the facts bear out; the answer marks them as such"
    )
    unused: tuple[str, ...] = Field(description="what was not available: embeddings, model")
    ungrounded_dropped: int = Field(
        validation_alias="dropped", description="sentences of the model that no fact bears out"
    )
    sources: tuple[SourceRecord, ...]
    rows: list[dict[str, float | int | str | bool | None]] | None = absent(
        "result of a query, at most 200 rows; only if the question is a query"
    )
    lessons: tuple[LessonRecord, ...]
    passage: PassageRecord | None = absent("quotation from the lesson; needs a course")
    facts: tuple[FactRecord, ...] = Field(description="the facts of the answer, in its order")
    suggestions: tuple[str, ...] = Field(
        description="questions to ask next, or instead of one that was not understood"
    )


class AskEvent(Wire):
    """A piece of the answer, or its end, which has the fields of `/coach/ask`."""

    delta: str | None = absent("a piece; all pieces together are the answer")
    done: bool | None = absent("true: nothing follows")
    answer: str | None = absent()
    emotion: str | None = absent()
    qa_key: str | None = absent()
    turn: int | None = absent()
    error: str | None = absent("why the answer broke off")


class EndRequest(Wire):
    """The conversation to end."""

    driver_id: Short = ""
    session_id: Short = ""
    qa_key: Annotated[StrictStr, Field(max_length=520)] | None = Field(
        None, description="instead of both"
    )


class Flushed(Wire):
    """The stored conversation."""

    flushed: int = Field(description="rows stored, two a turn; 0: the conversation is not known")
    qa_key: str


class AgentRecord(AnswerModel):
    """A role of the coach."""

    name: str
    role: str
    intent: str
    example_questions: tuple[str, ...]


class AgentList(Wire):
    """The roles that answer questions, in the order in which the router tries them."""

    available: bool
    reason: str | None = absent("why none is available")
    agents: list[AgentRecord]
    count: int


class TracesQuery(Wire):
    """Filters of the list; an invalid value counts as absent."""

    session_id: str | None = None
    limit: str | None = Field(None, description="absent: 200; at most 1000")
    since_ts: str | None = Field(None, description="ISO 8601 or Unix seconds; later steps only")


@fields_of(coaching.TraceRow)
class TraceRecord(AnswerModel):
    """A step on the way to an answer."""

    ts: Annotated[str, BeforeValidator(_format_micros)] = Field(
        description="ISO 8601 in UTC with microseconds; unique"
    )


class TraceList(Wire):
    """Steps, oldest first: the newest ones, or with since_ts the first ones after it."""

    available: bool
    reason: str | None = absent("why there are none")
    traces: list[TraceRecord]
    count: int
    next_since_ts: str | None = Field(description="for the next request")


@routes.post("/coach/ask", errors=ERRORS)
async def ask(request: web.Request, *, body: AskRequest) -> AskAnswer:
    """Ask the coach; without a language model the answer consists only of facts."""
    coach = _require_coach(request.app[SERVICE])
    return _make_answer(await coach.ask(_make_question(request.app[SERVICE], body)))


@routes.post("/coach/ask/stream", stream=AskEvent, errors=ERRORS)
async def ask_stream(request: web.Request, *, body: AskRequest) -> web.StreamResponse:
    """Ask the coach, and get the answer sentence by sentence."""
    coach = _require_coach(request.app[SERVICE])
    question = _make_question(request.app[SERVICE], body)
    coach.admit()
    stream = EventStream(request, heartbeat_s=BEAT_S, ends_on_drain=True)
    async with stream:
        try:
            async with aclosing(coach.stream(question)) as events:
                async for part in events:
                    if isinstance(part, str):
                        await stream.send(_make_event(delta=part))
                    else:
                        end = _make_answer(part).model_dump(exclude_none=True)
                        await stream.send(_make_event(done=True, **end))
        except ApiError as error:
            await stream.send(frame(orjson.dumps({"error": error.message}), "error"))
            await stream.send(_make_event(done=True, error=error.message, answer=""))
    return stream.response


@routes.post("/coach/ask/end", errors=(QuestionsOff, *READ_ERRORS))
async def ask_end(request: web.Request, *, body: EndRequest) -> Flushed:
    """End a conversation and store it with its driver and session."""
    coach = _require_coach(request.app[SERVICE])
    key = body.qa_key if body.qa_key is not None else key_of(body.driver_id, body.session_id)
    return Flushed(flushed=await coach.end(key), qa_key=key)


@routes.get("/coach/agents")
async def agents(request: web.Request) -> AgentList:
    """List the roles of the coach and the questions that they answer."""
    why = why_off(request.app[SERVICE].settings.agent_backend)
    if why is not None:
        return AgentList(available=False, reason=why, agents=[], count=0)
    records = [AgentRecord.of(role) for role in ROLES]
    return AgentList(available=True, agents=records, count=len(records))


@routes.get("/coach/traces")
async def traces(request: web.Request, *, query: TracesQuery) -> TraceList:
    """List the steps that led to answers."""
    service = request.app[SERVICE]
    if (why := why_off(service.settings.agent_backend)) is not None:
        return _make_empty_list(why, query.since_ts)
    sid, since = query.session_id or None, _parse_micros(query.since_ts)
    limit = _parse_limit(query.limit)
    try:
        steps = await service.db.read(lambda inner: coaching.read_traces(inner, sid, since, limit))
    except (NoDatabase, StoreBusy, StoreFailed) as problem:
        return _make_empty_list(problem.message, query.since_ts)
    return TraceList(
        available=True,
        traces=[TraceRecord.of(row) for row in steps],
        count=len(steps),
        next_since_ts=_format_micros(steps[-1].ts) if steps else query.since_ts,
    )


def _require_coach(service: Service) -> "Conversations":
    """Return the coach's conversations. Raises `QuestionsOff` and `NoDatabase`."""
    if (why := why_off(service.settings.agent_backend)) is not None:
        raise QuestionsOff(why)
    if service.questions is None:
        raise service.without_database()
    return service.questions


def _make_question(service: Service, body: AskRequest) -> Question:
    text = body.question.strip()
    if not text:
        raise BadField("question: must not be blank", param="question")
    if len(body.question) > LONGEST:
        raise BadField(f"question: at most {LONGEST} characters", param="question")
    return Question(
        text,
        body.driver_id,
        body.session_id,
        _choose_session(service, body),
        (body.intent or "").strip().lower(),
        body.language,
        body.units,
    )


def _choose_session(service: Service, body: AskRequest) -> str:
    """Choose the session that a question is about; empty: none."""
    if body.session_id not in ("", ACTIVE):
        return body.session_id
    row = service.row(service.active_session())
    if row is None:
        return ""
    driver, asker = ((name or "").strip().casefold() for name in (row.driver, body.driver_id))
    is_other = bool(driver and asker) and driver != asker
    return "" if is_other and not body.session_id else row.session_id


def _make_answer(answer: Answer) -> AskAnswer:
    rows = None if answer.rows is None else [dict(row) for row in answer.rows]
    facts = tuple(
        FactRecord.of(item.fact, text=item.text, values=_make_values(item)) for item in answer.facts
    )
    sources = (SourceRecord(tool=answer.tool, summary=facts[0].text),)
    return AskAnswer.of(answer, facts=facts, sources=sources, rows=rows)


def _make_values(sentence: WordedFact) -> dict[str, ValueRecord]:
    """Convert a fact's values by their names in the message; numbers with their unit."""
    return {
        name: ValueRecord(
            text=sentence.values[name],
            number=cell.number if isinstance(cell, Value) else None,
            unit=cell.unit if isinstance(cell, Value) else None,
        )
        for name, cell in sentence.fact.values.items()
    }


def _make_event(**fields: object) -> bytes:
    return frame(orjson.dumps(fields))


def _make_empty_list(why: str, since: str | None) -> TraceList:
    return TraceList(available=False, reason=why, traces=[], count=0, next_since_ts=since)


def _parse_limit(text: str | None) -> int:
    if text is None or not _WHOLE.fullmatch(text) or int(text) < 1:
        return STEPS
    return min(int(text), MOST_STEPS)


def _parse_micros(text: str | None) -> int | None:
    """Convert ISO 8601 or Unix seconds to Unix microseconds; None for any other text."""
    try:
        since = _MOMENT.validate_python(text)
    except ValidationError:
        return None
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    return (since - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
