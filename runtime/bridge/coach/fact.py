"""The currency of the coach: facts, in no language; the wording turns them into sentences."""

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

Verdict: TypeAlias = Literal["yes", "no", "right", "wrong", "partly"]


class Value(NamedTuple):
    """A number with its unit, in the unit in which it was measured."""

    number: float
    unit: Unit
    signed: bool = False
    """Whether a plus is shown: a difference."""


class Term(NamedTuple):
    """A word that every language has its own for: the message `kind-key` of the wording."""

    kind: str
    """quantity, cause, action, spot, channel, concept, condition, …"""
    key: str


class Corner(NamedTuple):
    """A corner by its name on file, or a sector by its number, which a language may spell its own
    way (Turn 4, Kurve 4, Sektor 2)."""

    name: str


class Placed(NamedTuple):
    """A value at a place, one of a list: Turn 4 (47.6 km/h)."""

    place: "Corner | str"
    value: Value


Cell: TypeAlias = "Value | Term | Corner | Placed | str | int | tuple[Cell, ...]"
"""A string is a proper name and stays as it is; a tuple is a list in a sentence."""


class Place(NamedTuple):
    """Where on the lap, so that a page can move its cursor; metres of lap progress."""

    corner: str | None = None
    sector: int | None = None
    straight: str | None = None
    start_m: float | None = None
    end_m: float | None = None


@dataclass(frozen=True)
class Fact:
    """One thing that is known of a session; nothing else may be said by the coach.

    What was not recorded gives no fact but one of the kind ``not-recorded``.
    """

    kind: str
    """The message that words it; the message may use the *values* and no other number."""
    values: Mapping[str, Cell] = field(default_factory=dict)
    place: Place | None = None
    laps: tuple[int, ...] = ()
    """The laps it rests on or speaks of, few enough to be shown."""
    basis: Basis | None = None
    """What it is compared with."""
    driver: str = ""
    """Whom it is about."""
    other: str = ""
    """Who they are compared with."""
    session_id: str = ""
    gain_s: float | None = None
    """Seconds a lap that acting on it is worth: what costs most is said first."""
    verdict: Verdict | None = None
    """Whether it is as was asked, or said: it stands before the sentence."""
    concept: str | None = None
    """The coaching concept that it calls for, which names a lesson."""

    @property
    def id(self) -> str:
        """Stable within a session: kind, place and laps."""
        where = self.place.corner or self.place.sector or self.place.straight if self.place else ""
        return "/".join(
            str(part) for part in (self.kind, where, "+".join(map(str, self.laps))) if part
        )
