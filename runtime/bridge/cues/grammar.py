"""The language of `fires_when`: conditions on named inputs, joined by ``&&``."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
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
