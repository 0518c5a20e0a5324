"""What a part of a sentence says, what a fact states, and whether the one says more than the other.

Both are sets of marks: whose it is (own, other, usual, best, lap 4; than-best: compared with it),
where (at Turn 1, sector 2), what about (brake, apex, coast …), which way (early, lose, more …),
which rank (most, next …), and bid, what to do.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

OPPOSITE: Final = {
    "early": "late",
    "late": "early",
    "more": "less",
    "less": "more",
    "lose": "quick",
    "quick": "lose",
    "same": "same",
}
"""Ways that one side differs from another, and how the other then differs from it."""
RANKS: Final = frozenset({"most", "least", "next", "lead"})
"""lead: what to begin with."""
SPOTS: Final = frozenset({"apex", "entry", "exit"})
PARTIES: Final = frozenset({"own", "other", "usual", "best", "file"})
"""file: the plan in the circuit's file."""
ROLES: Final = {
    "": ("", "from", "to", "by"),
    "at": ("", "from", "to"),
    "from": ("", "from", "than"),
    "to": ("", "to"),
    "by": ("", "by"),
    "than": ("than",),
}
"""What a figure of a fact is (empty: a difference; at: a level; than: the other's level), and what
may stand around it in a sentence; by: … earlier."""


class Number(NamedTuple):
    """A number of a sentence."""

    role: str
    """What stands around it: from, to, than, by or nothing."""
    low: float
    high: float
    unit: str | None
    """Of a fact; None: not told."""


class Figure(NamedTuple):
    """A number of a fact."""

    role: str
    number: float
    unit: str

    def is_meant_by(self, said: Number) -> bool:
        """Whether *said* is this one when rounded."""
        return (
            said.unit in (None, self.unit)
            and said.role in ROLES[self.role]
            and said.low <= abs(self.number) <= said.high
        )


class Statement(NamedTuple):
    """What one fact bears out at once."""

    marks: frozenset[str]
    needs: frozenset[str]
    """One of these has to be said; empty: none."""
    figures: tuple[Figure, ...]
    bid: bool = False
    """Whether it is what to do, not what was."""

    @property
    def has_corner(self) -> bool:
        """Whether it speaks of a corner."""
        return any(mark.startswith("at ") for mark in self.marks)


class Part(NamedTuple):
    """A part of a sentence."""

    marks: frozenset[str] = frozenset()
    numbers: tuple[Number, ...] = ()

    @property
    def places(self) -> frozenset[str]:
        """The corners and sectors."""
        return frozenset(mark for mark in self.marks if mark.startswith(("at ", "sector ")))

    @property
    def whose(self) -> frozenset[str]:
        """Who or which lap does something, and against whom or which."""
        return frozenset(
            mark for mark in self.marks if mark.removeprefix("than-") in PARTIES or "lap " in mark
        )

    @property
    def ways(self) -> frozenset[str]:
        """Which way something differs."""
        return self.marks & OPPOSITE.keys()

    @property
    def is_opener(self) -> bool:
        """Whether it only says of what the next part speaks: on a usual lap, …"""
        return not self.numbers and self.marks <= self.whose | self.places | SPOTS

    def __str__(self) -> str:
        return " ".join(sorted(self.marks)) or "number"

    def follow(self, before: "Part") -> "Part":
        """The same of whom and of which lap the part *before* is, unless it says so itself."""
        known = self.whose & {"best", "usual"} or {mark for mark in self.marks if "lap " in mark}
        own = {mark for mark in before.whose if mark.removeprefix("than-") in ("own", "other")}
        return self.join(frozenset(own) if known else before.whose)

    def join(self, marks: frozenset[str]) -> "Part":
        """The same with other marks, too."""
        return self._replace(marks=self.marks | marks)

    def split(self) -> Iterator["Part"]:
        """What it claims, apart: each number, else each corner, or each thing that is named."""
        claims = self.marks - self.places
        if self.numbers:
            yield from (self._replace(numbers=(number,)) for number in self.numbers)
        elif (self.ways or claims & RANKS) and len(self.places) < 2:
            yield self
        elif self.ways or claims & RANKS:
            yield from (self._replace(marks=claims | {place}) for place in self.places)
        else:
            whose = self.whose - {"usual"}
            yield Part(whose)
            yield from (Part(frozenset({place})) for place in self.places)
            topics = frozenset[str]() if "bid" in claims else claims - whose
            yield from (Part(self.places | {topic}) for topic in topics)

    def is_borne_by(self, statement: Statement) -> bool:
        """Whether it says no more than the statement."""
        bid = "bid" in self.marks
        said = self.marks | {number.role for number in self.numbers}
        unturned = "other" in statement.needs and not self.ways  # who is ahead has to be told
        figures = [one for one in statement.figures if one.role or not unturned]
        return (
            self.marks - {"bid"} <= statement.marks
            and not (self._compares_laps and statement.has_corner)
            and (not statement.needs or bool(said & statement.needs))
            and (bid == statement.bid or not (self.ways - {"same"} or (bid and self.numbers)))
            and all(any(one.is_meant_by(each) for one in figures) for each in self.numbers)
        )

    @property
    def _compares_laps(self) -> bool:
        """Whether it says that a lap is quicker as a whole."""
        bare = not self.numbers and not self.places and bool(self.ways & {"lose", "quick"})
        return bare and any("lap " in mark for mark in self.marks)
