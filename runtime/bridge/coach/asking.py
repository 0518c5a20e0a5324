"""Questions to the coach, their answers, and whether this installation answers at all."""

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
    """A question as it arrived."""

    text: str
    driver_id: str = ""
    session_id: str = ""
    """The conversation it belongs to."""
    about: str = ""
    """The session in question; empty: none."""
    intent: str = ""
    """The role that should answer; empty: any."""
    language: Language | None = None
    """None: the question's own."""
    units: Units | None = None
    """None: metric, or what the conversation asked for."""


class WordedFact(NamedTuple):
    """A fact with its sentence."""

    fact: Fact
    text: str
    values: Mapping[str, str]
    """As written in the sentence."""


@dataclass(frozen=True)
class Answer:
    """An answer of the coach."""

    text: str
    say: str
    """The text for a voice."""
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
    """Why no model took part."""
    model_said: str | None = None
    """The model's own sentences, which are also in the text."""
    dropped: int = 0
    """Sentences of the model that the facts do not support."""
    unused: tuple[str, ...] = ()
    """Unavailable parts: embeddings, model."""
    facts: tuple[WordedFact, ...] = ()
    tool: str = ""
    """The first lookup: a kind of need, hazard, or no_answer."""
    rows: tuple[Row, ...] | None = None
    """Rows of a query; None if there was none or it was not run."""
    lessons: tuple[Lesson, ...] = ()
    passage: Passage | None = None
    """What the lesson says about it; None without a course."""
    suggestions: tuple[str, ...] = ()
    """Questions that can be sent back."""


def why_off(backend: str) -> str | None:
    """Explain why no questions are answered, in a sentence; None: they are."""
    if backend == OFF:
        return "questions to the coach are switched off (BRIDGE_AGENT_BACKEND)"
    if find_spec(PACKAGE) is None:
        return f"questions to the coach need the package {PACKAGE}, which is not installed here"
    return None
