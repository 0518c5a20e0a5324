"""What single fact a question asks for, in plain values."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

LapWord: TypeAlias = Literal["best", "slowest", "last", "first"]
Lap: TypeAlias = int | LapWord
"""A lap by its number, or by what it is in its session."""

Ask: TypeAlias = Literal[
    "count",
    "lap",
    "versus",
    "usual_lap",
    "ideal_lap",
    "sector",
    "sector_rank",
    "corner",
    "measure",
    "extreme",
    "channel",
    "loss",
    "strength",
    "spread",
    "mishap",
    "before",
    "risk",
    "place",
    "rank",
    "improved",
    "shape",
    "circuit",
    "session",
    "concept",
    "claim",
    "amount",
    "focus",
    "balance",
    "other",
    "unknown",
]
"""What kind of fact."""


@dataclass(frozen=True)
class Topic:
    """The fact that is asked for; hashable, so that answers can be remembered by it."""

    ask: Ask
    what: str = ""
    """Which measure, mishap, shape, …"""
    spot: str = ""
    """Of a speed in a corner: entry, apex, exit, slowest; of a judged braking: late, early."""
    how: str = ""
    """most, least, mean, each, judged; empty: as it is usually told."""
    corners: tuple[str, ...] = ()
    laps: tuple[Lap, ...] = ()
    sectors: tuple[int, ...] = ()
    straights: tuple[str, ...] = ()
    why: bool = False
    """Whether the reason is asked for."""
    should: bool = False
    """Whether it is asked what to do."""
    where: bool = False
    value: float | None = None
    """Of a limit: seconds; of a place: metres; of a rank: from 1."""
    wet: bool = False
    """Whether a wet surface is asked about."""
    digits: int = 0
    """Of a value that the driver names, behind the point."""
    every: str = ""
    """Of what is held to be so: all, never; empty: as a rule."""
    said: bool = False
    """Whether the driver says that it was so."""
