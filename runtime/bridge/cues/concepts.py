"""The nine coaching concepts, and which of them a moment of a drive calls for."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

Flag: TypeAlias = bool | None
"""None: not known; then neither the flag nor its negation holds."""
Comparison: TypeAlias = Callable[[float, float], bool]
Values: TypeAlias = Sequence[float | bool | None]

COMPARISONS: Final[Mapping[str, Comparison]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
"""None of them holds for NaN, so that a rule never fires by what was not measured."""
LONGEST: Final = 1000
_TOKEN: Final = re.compile(
    r"(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|<=|>=|==|[<>!+-])",
    re.ASCII,
)


class GrammarError(ValueError):
    """A condition cannot be read; the text names the place, counted from 1."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"character {at + 1}: {message}")
        self.at = at
        """Index of the character."""


class Names(NamedTuple):
    """The inputs that conditions may name, in the order in which their values are given."""

    order: tuple[str, ...]
    flags: frozenset[str]
    """Those that are true, false or not known; the others are numbers."""


class Sum(NamedTuple):
    """A constant and inputs, added."""

    constant: float
    inputs: tuple[int, ...] = ()

    def of(self, values: Values) -> float:
        """The sum; NaN where one of the inputs is not known."""
        total = self.constant
        for i in self.inputs:
            total += values[i]  # type: ignore[operator] # the parser lets only numbers in
        return total


class Asked(NamedTuple):
    """A flag that must be known and have a value."""

    flag: int
    wanted: bool

    def holds(self, values: Values) -> bool:
        """Whether it does."""
        return values[self.flag] is self.wanted


class Compared(NamedTuple):
    """Two sums and what must hold between them."""

    left: Sum
    compare: Comparison
    right: Sum

    def holds(self, values: Values) -> bool:
        """Whether it does; never with an unknown input."""
        return self.compare(self.left.of(values), self.right.of(values))


class Condition(NamedTuple):
    """A condition that was read."""

    text: str
    terms: tuple[Asked | Compared, ...]
    """All must hold; none: it always does."""

    def holds(self, values: Values) -> bool:
        """Whether it does; *values* in the order of the names it was read with."""
        return all(term.holds(values) for term in self.terms)


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse(text: str, names: Names) -> Condition:
    """Read a condition. Raises `GrammarError`.

    ``condition = term {"&&" term}``; ``term = "true" | ["!"] flag | sum comparison sum``;
    ``sum = operand {"+" operand}``; ``operand = input | ["-"] number``.
    """
    return _Reader(text, names).condition()


class _Reader:
    """Goes through the tokens of one condition."""

    def __init__(self, text: str, names: Names) -> None:
        if len(text) > LONGEST:
            raise GrammarError(f"a condition has {LONGEST} characters at most", LONGEST)
        self._text = text
        self._names = names
        self._tokens = _tokens(text)
        self._next = 0

    def condition(self) -> Condition:
        terms = [self._term()]
        while self._ahead.text == "&&":
            self._take()
            terms.append(self._term())
        if self._ahead.kind != "end":
            raise GrammarError("expected && or the end", self._ahead.at)
        return Condition(self._text, tuple(term for term in terms if term is not None))

    def _term(self) -> Asked | Compared | None:
        """None: it always holds."""
        first = self._ahead
        if first.text == "true":
            self._take()
            return None
        if first.text == "!":
            self._take()
            name = self._take()
            if name.text not in self._names.flags:
                raise GrammarError("expected a flag after !", name.at)
            return Asked(self._names.order.index(name.text), wanted=False)
        if first.text in self._names.flags:
            self._take()
            return Asked(self._names.order.index(first.text), wanted=True)
        left = self._sum()
        sign = self._take()
        if sign.text not in COMPARISONS:
            raise GrammarError("expected a comparison", sign.at)
        return Compared(left, COMPARISONS[sign.text], self._sum())

    def _sum(self) -> Sum:
        constant, inputs = 0.0, []
        while True:
            token = self._take()
            if token.kind == "name":
                inputs.append(self._number(token))
            elif token.text == "-":
                token = self._take()
                constant -= _constant(token)
            else:
                constant += _constant(token)
            if self._ahead.text != "+":
                return Sum(constant, tuple(inputs))
            self._take()

    def _number(self, token: _Token) -> int:
        if token.text in self._names.flags or token.text == "true":
            raise GrammarError(f"{token.text} is no number", token.at)
        if token.text not in self._names.order:
            raise GrammarError(f"there is no input {token.text}", token.at)
        return self._names.order.index(token.text)

    @property
    def _ahead(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._ahead
        if token.kind != "end":
            self._next += 1
        return token


def _constant(token: _Token) -> float:
    if token.kind != "number":
        raise GrammarError("expected a number or an input", token.at)
    return float(token.text)


def _tokens(text: str) -> list[_Token]:
    found = []
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise GrammarError("this character means nothing here", at)
        found.append(_Token(match.lastgroup or "", match[0], at))
        at = match.end()
    return [*found, _Token("end", "", len(text))]


class Inputs(NamedTuple):
    """What the conditions speak of; NaN or None stands for what is not known."""

    in_corner: Flag
    past_apex: Flag
    brake: float
    """Bar."""
    thr: float
    """Throttle in %."""
    glat: float
    """Lateral acceleration in g, without its side."""
    v: float
    """Speed in km/h."""
    to_entry: float
    """Metres to the next corner's entry; 999 where there is none within 500 m."""
    bz: float
    """Metres before that entry where a good lap begins to brake; 0 where nobody knows."""
    dz: float
    """Metres that the road rises over the approach to that entry."""


NAMES: Final = Names(Inputs._fields, frozenset({"in_corner", "past_apex"}))


class Lesson(NamedTuple):
    """Where the course teaches a concept."""

    id: str
    title: str


class Concept(NamedTuple):
    """One thing that the coach can ask of a driver."""

    id: str
    title: str
    description: str
    fires_when: str
    priority: int
    """The highest that a message about it has: 0 background, 1 advice, 2 warning."""
    lesson: Lesson
    aliases: tuple[str, ...] = ()
    """Names under which other programs know it."""

    @property
    def condition(self) -> Condition:
        """`fires_when`, ready to be asked."""
        return _condition(self.fires_when)


@cache
def _condition(text: str) -> Condition:
    return parse(text, NAMES)


CONCEPTS: Final = (
    Concept(
        "trail_brake",
        "Trail the brake",
        "Still on the brake while the car turns: bleed the pedal off as the steering builds.",
        "in_corner && brake > 10 && glat > 0.4",
        1,
        Lesson("trail-braking", "Trail the brake into the corner"),
    ),
    Concept(
        "early_brake_release",
        "Released too early",
        "No brake at all in a loaded corner: keep a little pressure past turn-in, so that the "
        "front tyres stay loaded.",
        "in_corner && brake < 1 && glat > 0.6",
        2,
        Lesson("trail-braking", "Trail the brake into the corner"),
        ("entry_release",),
    ),
    Concept(
        "exit_speed",
        "Exit speed",
        "Past the apex without power: speed at the exit pays along the whole next straight.",
        "past_apex && thr < 20 && glat > 0.3",
        1,
        Lesson("exit-speed", "Exit speed"),
    ),
    Concept(
        "full_commitment",
        "Full commitment",
        "Coasting on a straight: use full throttle, even if only for a moment, or brake.",
        "!in_corner && thr < 5 && brake < 2 && v > 50 && to_entry > 100",
        1,
        Lesson("full-commitment", "Full commitment on the straight"),
        ("hustle",),
    ),
    Concept(
        "brake_end_focus",
        "Look at the end of braking",
        "A braking zone is near: look at the place where braking ends, not where it starts.",
        "!in_corner && to_entry > 30 && to_entry < bz + 30 && brake < 2",
        1,
        Lesson("end-of-braking", "Aim for the end of braking"),
        ("eob",),
    ),
    Concept(
        "downhill_braking",
        "Braking downhill",
        "The road falls towards the corner and lengthens the stop: brake a little earlier.",
        "!in_corner && dz < -5 && to_entry < 200",
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("downhill_brake",),
    ),
    Concept(
        "uphill_braking",
        "Braking uphill",
        "The road rises towards the corner and shortens the stop: the marker can move closer.",
        "!in_corner && dz > 5 && to_entry < 200",
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("uphill_brake",),
    ),
    Concept(
        "late_apex",
        "Late apex",
        "A corner is coming: a later turn-in and a later apex open its exit.",
        "!in_corner && to_entry > 0 && to_entry < 250",
        1,
        Lesson("late-apex", "The late apex"),
    ),
    Concept(
        "look_ahead",
        "Look ahead",
        "Nothing in particular: eyes far up the road, on the next place that the car must reach.",
        "true",
        1,
        Lesson("vision-and-line", "Look ahead and choose the line"),
    ),
)
"""In the order in which they are tried."""


def concept_for(inputs: Inputs) -> Concept:
    """The first concept whose condition holds; the last one always does."""
    return next(concept for concept in CONCEPTS if concept.condition.holds(inputs))
