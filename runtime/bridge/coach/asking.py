"""What is asked of the coach, what it answers, and whether this installation answers at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.lessons import Passage
from runtime.bridge.coach.need import Language, Units
from runtime.bridge.cues.concepts import Lesson
from runtime.web.errors import ApiError

PACKAGE: Final = "sqlglot"
OFF: Final = "off"
Source: TypeAlias = Literal["local_model", "template"]
Row: TypeAlias = Mapping[str, float | int | str | bool | None]


class QuestionsOff(ApiError):
    """This installation answers no questions."""

    status, code = 503, "questions_off"


class TooManyQuestions(ApiError):
    """Too many questions are being answered."""

    status, code, retry_after_s = 503, "too_many_questions", 2
    text = "too many questions are being answered; try again"


@dataclass(frozen=True)
class Question:
    """A question, as it came."""

    text: str
    driver_id: str = ""
    session_id: str = ""
    """Whose conversation it belongs to."""
    about: str = ""
    """The session that is meant; empty: none."""
    intent: str = ""
    """Who shall answer; empty: whoever it is for."""
    language: Language | None = None
    """None: the question's own."""
    units: Units | None = None
    """None: metric, or what the conversation asked for."""


class Told(NamedTuple):
    """A fact with its sentence."""

    fact: Fact
    text: str
    values: Mapping[str, str]
    """As they stand in the sentence."""


@dataclass(frozen=True)
class Answer:
    """What the coach says."""

    text: str
    say: str
    """The same for a voice."""
    language: Language
    emotion: str
    intent: str
    agent: str
    qa_key: str
    turn: int
    trace_id: str
    latency_ms: float
    source: Source
    reason: str | None = None
    """Why no model had a part in it."""
    model_said: str | None = None
    """The model's own sentences; they are in the text."""
    dropped: int = 0
    """Sentences of the model that the facts do not bear out."""
    unused: tuple[str, ...] = ()
    """What was not at hand: embeddings, model."""
    facts: tuple[Told, ...] = ()
    tool: str = ""
    """What was looked up first: a kind of need, hazard, or no_answer."""
    rows: tuple[Row, ...] | None = None
    """What a query found; None for what is none, or was not run."""
    lessons: tuple[Lesson, ...] = ()
    passage: Passage | None = None
    """What the lesson says of it; None without a course."""
    suggestions: tuple[str, ...] = ()
    """Questions that can be sent back."""


def why_off(backend: str) -> str | None:
    """Why no questions are answered, in a sentence; None: they are."""
    if backend == OFF:
        return "questions to the coach are switched off (BRIDGE_AGENT_BACKEND)"
    if find_spec(PACKAGE) is None:
        return f"questions to the coach need the package {PACKAGE}, which is not installed here"
    return None
