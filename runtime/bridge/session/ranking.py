"""Ranks the best laps of drivers: one for each driver, car and track."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from runtime.bridge.session.names import slug

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
    place: str = ""
    """The same for all laps of one circuit; empty: the name of the track tells."""


@dataclass(frozen=True)
class Entry:
    """A place on the board."""

    rank: int
    """From 1; equal times share one, and the next ones are skipped."""
    initials: str
    time: str
    """``m:ss.mmm``."""
    lap: Candidate


def leaderboard(
    laps: Iterable[Candidate],
    track: str = "",
    limit: int = 50,
    key_of: Callable[[str], str] = slug,
) -> list[Entry]:
    """The best lap of each (driver, car, track), the fastest first.

    Tracks of the same *key_of* are one; *track* keeps the laps of that one. Times are compared as
    they are shown, in milliseconds; of equal ones the earlier lap stands first. At most *limit*
    entries, and never more than `MAX_ENTRIES`.
    """
    wanted = key_of(track)
    best: dict[tuple[str, str, str], tuple[int, int, str, int, Candidate]] = {}
    for lap in laps:
        if not math.isfinite(lap.lap_time_s) or milliseconds(lap.lap_time_s) <= 0:
            continue
        if wanted and key_of(lap.track) != wanted:
            continue
        key = (_folded(lap.driver), _folded(lap.car), lap.place or key_of(lap.track))
        place = (milliseconds(lap.lap_time_s), lap.recorded_at, lap.session_id, lap.lap_number, lap)
        if key not in best or place[:4] < best[key][:4]:
            best[key] = place
    entries: list[Entry] = []
    ordered = sorted(best.items(), key=lambda item: (*item[1][:4], item[0]))
    for index, (_, (time_ms, *_, lap)) in enumerate(ordered[: max(0, min(limit, MAX_ENTRIES))]):
        shown = time_text(lap.lap_time_s)
        tied = index > 0 and milliseconds(entries[-1].lap.lap_time_s) == time_ms
        rank = entries[-1].rank if tied else index + 1
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
