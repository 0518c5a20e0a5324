"""What is asked, what was found out about it, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.session.ranking import time_text

Intent: TypeAlias = Literal[
    "debrief",
    "brief",
    "voice_script",
    "corner",
    "reference_lap",
    "weather",
    "session_plan",
    "incident",
    "race_pace",
    "goal",
    "mental_map",
    "lap_comparison",
    "progress",
    "setup",
    "mindset",
    "agent_meta",
    "telemetry",
]
Told: TypeAlias = Literal["local_model", "template"]
Cell: TypeAlias = float | int | str | bool | None


class Fact(NamedTuple):
    """One thing that is known, with its unit."""

    label: str
    value: float | int | str
    unit: str = ""
    """s, km/h, m, bar, g, %, degrees; empty: a count or a word."""
    digits: int = 1
    """Of a number, behind the point."""

    @property
    def text(self) -> str:
        """The value as it may be said."""
        if isinstance(self.value, str):
            return self.value
        if self.unit == "lap":
            return time_text(float(self.value))
        plain = str(self.value) if isinstance(self.value, int) else f"{self.value:.{self.digits}f}"
        return f"{plain} {self.unit}".rstrip()

    @property
    def line(self) -> str:
        """Label and value on one line."""
        return f"{self.label}: {self.text}"


class Lesson(NamedTuple):
    """Where the course tells more."""

    id: str
    title: str
    url: str | None = None
    text: str = ""
    """The passage that was found."""


@dataclass(frozen=True)
class Found:
    """What one tool brought."""

    tool: str
    summary: str
    """One sentence: what an answer begins with."""
    details: tuple[str, ...] = ()
    """Further sentences, the most useful first."""
    facts: tuple[Fact, ...] = ()
    rows: tuple[Mapping[str, Cell], ...] = ()
    known: tuple[Mapping[str, Cell], ...] = ()
    """The facts that a model may put in its own words: keys say what a number is, and of what."""
    line: str = ""
    """The one line of numbers that matters most, as a small model reads it."""
    empty: bool = False
    """Whether there was nothing to look at, which the summary then says."""
    lesson: Lesson | None = None
    """Where the course teaches it."""

    @property
    def evidence(self) -> str:
        """Everything that may be quoted, as text."""
        cells = [f"{name}: {cell}" for row in self.rows for name, cell in row.items()]
        return "\n".join([self.summary, *self.details, *(one.line for one in self.facts), *cells])


class Call(NamedTuple):
    """A tool and what it is called with."""

    tool: str
    arguments: Mapping[str, object] = {}


@dataclass(frozen=True)
class Question:
    """A question, and what of it was understood."""

    text: str
    intent: Intent
    session_id: str = ""
    driver_id: str = ""
    corner: str | None = None
    """Name of a corner of the circuit, or the number that was asked for."""
    laps: tuple[int, ...] = ()
    """Numbers of laps that were named, in their order."""
    count: int | None = None
    """How many laps are there to drive."""
    target_s: float | None = None
    """A lap time that was named, seconds."""
    open: bool = False
    """Whether it asks about driving as such, and names nothing that the data hold."""
    sql: str | None = None
    """The statement, where the question is one."""
    topic: Topic | None = None
    """The single fact that is asked for, if it is one."""


@dataclass(frozen=True)
class Turn:
    """One question with its answer."""

    question: str
    answer: str
    emotion: str
    asked_at: int
    """Unix milliseconds, as is *answered_at*."""
    answered_at: int


@dataclass(frozen=True)
class Answer:
    """What the coach says."""

    text: str
    emotion: str
    intent: Intent
    agent: str
    qa_key: str
    turn: int
    trace_id: str
    latency_ms: float
    source: Told
    reason: str | None = None
    """Why no model had a part in it."""
    dropped: int = 0
    """Sentences of the model that the facts do not bear out."""
    found: tuple[Found, ...] = ()
    lessons: tuple[Lesson, ...] = field(default=())
