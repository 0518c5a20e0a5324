"""Ranks the best laps of drivers: one for each driver, car and track."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

MAX_ENTRIES: Final = 500
NOBODY: Final = "---"
# Apostrophes belong to a word (O'Brien); hyphens and dots separate two.
_WORD: Final = re.compile(r"[^\W_][^\W_'\u2019]*(?:['\u2019][^\W_]+)*")


@dataclass(frozen=True)
class Candidate:
    """A lap that may be ranked."""

    driver: str
    car: str
    track: str
    session_id: str
    lap_number: int
    lap_time_s: float
    recorded_at: int
    """Unix milliseconds."""
    place: str
    """Identifies the circuit."""


@dataclass(frozen=True)
class Entry:
    """A place on the board."""

    rank: int
    """From 1; equal times share a rank, and the next ranks are skipped."""
    initials: str
    time: str
    """``m:ss.mmm``."""
    lap: Candidate


def rank_laps(laps: Iterable[Candidate], limit: int = 50) -> list[Entry]:
    """Rank the best lap of each (driver, car, circuit), fastest first.

    Times are compared as shown, in milliseconds; of equal times the earlier lap comes first.
    At most *limit* entries, and never more than `MAX_ENTRIES`.
    """
    ranked = sorted(
        (to_milliseconds(lap.lap_time_s), lap.recorded_at, lap.session_id, lap.lap_number, at, lap)
        for at, lap in enumerate(laps)
        if math.isfinite(lap.lap_time_s)
    )
    best = dict[tuple[str, str, str], Candidate]()
    for time_ms, *_, lap in ranked:
        if time_ms > 0:
            best.setdefault((_fold(lap.driver), _fold(lap.car), lap.place), lap)
    entries: list[Entry] = []
    for rank, lap in enumerate(list(best.values())[: max(0, min(limit, MAX_ENTRIES))], start=1):
        time = format_time(lap.lap_time_s)
        if entries and entries[-1].time == time:
            rank = entries[-1].rank
        entries.append(Entry(rank, abbreviate(lap.driver), time, lap))
    return entries


def abbreviate(driver: str) -> str:
    """Abbreviate a name to three capitals: initials, or the first letters of a single word."""
    words = _WORD.findall(driver)
    if not words:
        return NOBODY
    letters = [c for c in words[0] if c.isalnum()] if len(words) == 1 else [w[0] for w in words]
    return "".join(letter.upper()[0] for letter in letters[:3])


def to_milliseconds(seconds: float) -> int:
    """Round a time to milliseconds, half up from its decimal representation."""
    return int((Decimal(repr(float(seconds))) * 1000).to_integral_value(ROUND_HALF_UP))


def format_time(seconds: float) -> str:
    """Format a lap time (finite, not negative) as ``m:ss.mmm``; 59.9996 s is ``1:00.000``."""
    minutes, rest = divmod(to_milliseconds(seconds), 60_000)
    return f"{minutes}:{rest // 1000:02d}.{rest % 1000:03d}"


def _fold(text: str) -> str:
    return text.strip().casefold()
