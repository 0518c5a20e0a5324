"""The coaching concepts, and which of them a moment calls for."""

from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import yaml
from pydantic import TypeAdapter


class Inputs(NamedTuple):
    """Inputs of the conditions; NaN or None stands for an unknown value."""

    in_corner: bool | None
    past_apex: bool | None
    brake: float
    """Bar."""
    thr: float
    """Throttle in %."""
    glat: float
    """Lateral acceleration in g, without sign."""
    v: float
    """Speed in km/h."""
    to_entry: float
    """Metres to the next corner's entry; 999 if there is none within 500 m."""
    bz: float
    """Metres before that entry where a good lap begins to brake; 0 if unknown."""
    dz: float
    """Metres the road rises over the approach to that entry."""


class Term(NamedTuple):
    """One part of a condition; an unknown input fulfils none."""

    input: str
    sign: Literal["is", "not", "<", ">"]
    """A flag is true or false; a number is compared with the limit."""
    limit: float = 0
    plus: str = ""
    """An input added to the limit."""

    def holds(self, inputs: Inputs) -> bool:
        """Whether it holds; no comparison with NaN does."""
        value = getattr(inputs, self.input)
        if self.sign in ("is", "not"):
            return value is (self.sign == "is")
        limit = self.limit + (getattr(inputs, self.plus) if self.plus else 0)
        return bool(value < limit if self.sign == "<" else value > limit)


class Lesson(NamedTuple):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None = None
    """Where to read it; None if no built course is known."""


class Concept(NamedTuple):
    """Something the coach can ask of a driver, as in `concepts.yaml`."""

    id: str
    title: str
    description: str
    fires_when: str
    priority: int
    """The highest priority of a message about it: 0 background, 1 advice, 2 warning."""
    lesson: Lesson
    aliases: tuple[str, ...] = ()
    """Its names in other programs."""

    def holds(self, inputs: Inputs) -> bool:
        """Whether a moment calls for it."""
        return all(term.holds(inputs) for term in _TERMS[self.fires_when])


def parse_condition(text: str) -> tuple[Term, ...]:
    """Parse a condition, all of whose parts must hold; ``true`` has none and always holds."""
    return tuple(_parse_term(part.split()) for part in text.split(" && ") if part != "true")


def _parse_term(words: list[str]) -> Term:
    match words:
        case [flag]:
            return Term(flag.removeprefix("!"), "not" if flag[0] == "!" else "is")
        case [name, ("<" | ">") as sign, limit]:
            return Term(name, sign, float(limit))
        case [name, ("<" | ">") as sign, plus, "+", limit]:
            return Term(name, sign, float(limit), plus)
    raise ValueError(f"this is no condition: {' '.join(words)}")


def _read() -> tuple[Concept, ...]:
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    read: Any = yaml.load(text, Loader=yaml.CSafeLoader)
    return TypeAdapter(tuple[Concept, ...]).validate_python(read)


CONCEPTS: Final = _read()
"""In the order in which they are tried."""
_TERMS: Final = {concept.fires_when: parse_condition(concept.fires_when) for concept in CONCEPTS}


def choose_concept(inputs: Inputs) -> Concept:
    """Return the first concept whose condition holds; the last one always does."""
    return next(concept for concept in CONCEPTS if concept.holds(inputs))
