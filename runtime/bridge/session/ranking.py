"""Ranks the best laps of drivers: one for each driver, car and track."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

MAX_ENTRIES: Final = 500
NOBODY: Final = "---"
# Apostrophes belong to a word (O'Brien); hyphens and dots part two.
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
    """The same for all laps of one circuit."""


@dataclass(frozen=True)
class Entry:
    """A place on the board."""

    rank: int
    """From 1; equal times share one, and the next ones are skipped."""
    initials: str
    time: str
    """``m:ss.mmm``."""
    lap: Candidate


def leaderboard(laps: Iterable[Candidate], limit: int = 50) -> list[Entry]:
    """The best lap of each (driver, car, circuit), the fastest first.

    Times are compared as they are shown, in milliseconds; of equal ones the earlier lap stands
    first. At most *limit* entries, and never more than `MAX_ENTRIES`.
    """
    ranked = sorted(
        (milliseconds(lap.lap_time_s), lap.recorded_at, lap.session_id, lap.lap_number, at, lap)
        for at, lap in enumerate(laps)
        if math.isfinite(lap.lap_time_s)
    )
    best = dict[tuple[str, str, str], Candidate]()
    for time_ms, *_, lap in ranked:
        if time_ms > 0:
            best.setdefault((_folded(lap.driver), _folded(lap.car), lap.place), lap)
    entries: list[Entry] = []
    for rank, lap in enumerate(list(best.values())[: max(0, min(limit, MAX_ENTRIES))], start=1):
        shown = time_text(lap.lap_time_s)
        if entries and entries[-1].time == shown:
            rank = entries[-1].rank
        entries.append(Entry(rank, initials(lap.driver), shown, lap))
    return entries


def initials(driver: str) -> str:
    """Up to three capitals: of the words, of a single word its first letters; ``---`` of nobody."""
    words = _WORD.findall(driver)
    if not words:
        return NOBODY
    letters = [c for c in words[0] if c.isalnum()] if len(words) == 1 else [w[0] for w in words]
    return "".join(letter.upper()[0] for letter in letters[:3])


def milliseconds(seconds: float) -> int:
    """A time in milliseconds, half up from the number as it is written."""
    return int((Decimal(repr(float(seconds))) * 1000).to_integral_value(ROUND_HALF_UP))


def time_text(seconds: float) -> str:
    """A lap time as ``m:ss.mmm``; 59.9996 s is ``1:00.000``. Finite and not below 0."""
    minutes, rest = divmod(milliseconds(seconds), 60_000)
    return f"{minutes}:{rest // 1000:02d}.{rest % 1000:03d}"


def _folded(text: str) -> str:
    return text.strip().casefold()
