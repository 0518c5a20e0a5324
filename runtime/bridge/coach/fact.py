"""Facts without language, which the wording turns into sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Unit: TypeAlias = Literal[
    "lap_time",  # seconds, shown as 1:52.203
    "s",
    "m",  # short distances: a brake point
    "km",
    "km/h",
    "bar",
    "bar/s",
    "g",
    "%",
    "deg",
    "deg/s",
    "rpm",
    "min",  # of seconds, shown as 17:18 min
    "°C",
    "l",
    "V",
    "/min",
    "",
]
Basis: TypeAlias = Literal[
    "best_lap",  # the driver's best lap of the session
    "best_pass",  # the driver's best pass through the corner
    "usual",  # the median of the driver's complete laps
    "driver",  # another driver: `Fact.other`
    "reference",  # the reference lap on file
    "ideal",  # the best parts of the session put together
    "theory",  # the line and grip of the circuit's file
    "earlier",  # the driver's earlier sessions
]

Verdict: TypeAlias = Literal["yes", "no", "right", "wrong", "partly", "somewhere"]


class Value(NamedTuple):
    """A number in the unit in which it was measured."""

    number: float
    unit: Unit
    signed: bool = False
    """Whether a plus sign is shown, for differences."""
    side: str = ""
    """Key of a message ``side-…`` that is said instead of a minus: 3 m after the entry."""


class Term(NamedTuple):
    """A word with a translation in every language: the message `kind-key` of the wording."""

    kind: str
    """quantity, cause, action, spot, channel, concept, condition, …"""
    key: str


class Corner(NamedTuple):
    """A corner by its name on file, or a sector by its number; languages may spell it their own way
    (Turn 4, Kurve 4, Sektor 2)."""

    name: str


class Placed(NamedTuple):
    """A value at a place, an item of a list: Turn 4 (47.6 km/h)."""

    place: "Corner | str"
    value: Value


Cell: TypeAlias = "Value | Term | Corner | Placed | str | int | tuple[Cell, ...]"
"""A string is a proper name and stays unchanged; a tuple becomes a list in the sentence."""


class Place(NamedTuple):
    """A place on the lap for a page's cursor; metres of lap progress."""

    corner: str | None = None
    sector: int | None = None
    straight: str | None = None
    start_m: float | None = None
    end_m: float | None = None


@dataclass(frozen=True)
class Fact:
    """A statement about a session; the coach says nothing that is not in a fact.

    A missing recording gives one fact of the kind ``not-recorded``.
    """

    kind: str
    """The message that words it; it may show the *values* and no other number."""
    values: Mapping[str, Cell] = field(default_factory=dict)
    place: Place | None = None
    laps: tuple[int, ...] = ()
    """The laps it rests on or mentions, few enough to list."""
    basis: Basis | None = None
    """What the values are compared with."""
    driver: str = ""
    """The driver it is about."""
    other: str = ""
    """The driver they are compared with."""
    session_id: str = ""
    gain_s: float | None = None
    """Seconds per lap that acting on it gains; the largest comes first."""
    verdict: Verdict | None = None
    """Whether the question or claim is right; it stands before the sentence."""
    concept: str | None = None
    """The coaching concept it calls for, which leads to a lesson."""

    @property
    def id(self) -> str:
        """Stable within a session: kind, place and laps."""
        where = self.place.corner or self.place.sector or self.place.straight if self.place else ""
        return "/".join(
            str(part) for part in (self.kind, where, "+".join(map(str, self.laps))) if part
        )
