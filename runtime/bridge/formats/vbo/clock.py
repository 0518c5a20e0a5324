"""The times of a file as seconds of one clock: packed time of day or seconds, over midnight."""

from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.formats.vbo.pieces import piecewise
from runtime.bridge.session.recording import Numbers

TimeEncoding: TypeAlias = Literal["hhmmss", "seconds"]
DAY_S: Final = 86_400.0
_MOSTLY: Final = 0.995
_LATEST: Final = 1e13
_TEXT_DIGITS: Final = 6


class Clock(NamedTuple):
    """Decoded times."""

    t: Numbers
    """Seconds; NaN where a row has no time."""
    encoding: TimeEncoding
    base: Literal["utc", "zero"]
    """Unix time, or seconds since the first row."""
    midnights: int
    """How often the time of day started again."""


def read_clock(
    raw: Numbers, text: str, created: datetime | None, forced: TimeEncoding | None = None
) -> Clock:
    """Decode the time column; *text* is its first cell as written.

    With a date in the file's head, packed times of day become Unix seconds; everything else
    counts from the first row.
    """
    raw = np.where((raw >= 0) & (raw < _LATEST), raw, np.nan)  # False for NaN
    encoding = forced or find_encoding(raw, text)
    seconds = unpack(raw) if encoding == "hhmmss" else raw
    seconds, midnights = unwrap(_without_strays(seconds))
    if encoding == "hhmmss" and created is not None:
        day = created.replace(hour=0, minute=0, second=0, microsecond=0)
        return Clock(seconds + day.timestamp(), encoding, "utc", midnights)
    known = seconds[np.isfinite(seconds)]
    start = known[0] if len(known) else 0.0
    since = (seconds - start).round(6)
    return Clock(since, encoding, "zero", midnights)


def find_encoding(raw: Numbers, text: str) -> TimeEncoding:
    """HHMMSS when every value can be one and the steps grow more regular by it; else seconds.

    Within one minute both readings step alike: then six digits before the point, or a value
    that no second of a day has, mean HHMMSS.
    """
    known = raw[np.isfinite(raw)]
    if not len(known):
        return "seconds"
    possible = (known % 100 < 60) & (known // 100 % 100 < 60) & (known < 240_000)
    needed = 1.0 if len(known) < 200 else _MOSTLY
    if np.mean(possible) < needed:
        return "seconds"
    packed, plain = _irregular(unpack(known)), _irregular(known)
    if packed != plain:
        return "hhmmss" if packed < plain else "seconds"
    whole = text.strip().lstrip("+").replace(",", ".").partition(".")[0]
    written = len(whole) == _TEXT_DIGITS and whole.isdigit()
    return "hhmmss" if written or known.max() >= DAY_S else "seconds"


def _irregular(t: Numbers) -> int:
    steps = np.abs(np.diff(t))
    steps = steps[steps > 0]
    return int(np.sum(steps > 5.0 * np.median(steps))) if len(steps) else 0


@piecewise
def unpack(packed: Numbers) -> Numbers:
    """Seconds of the day of times packed as HHMMSS.sss; NaN where that cannot be."""
    hours, minutes = packed // 10_000, packed // 100 % 100
    seconds = np.round(packed - (packed // 100) * 100, 6)
    valid = (hours < 24) & (minutes < 60) & (seconds < 61)  # a leap second is one too many
    return np.where(valid, hours * 3600.0 + minutes * 60.0 + seconds, np.nan)


def _without_strays(seconds: Numbers) -> Numbers:
    """NaN for single times out of line between neighbours that are in line."""
    known = np.flatnonzero(np.isfinite(seconds))
    t = seconds[known]
    steps = np.diff(t)
    if len(steps) < 2 or not (steps < 0).any():
        return seconds
    into, out_of = steps[:-1], steps[1:]
    usual = np.median(np.abs(steps))
    over = into + out_of
    stray = ((into < 0) | (out_of < 0)) & (over > 0) & (over <= 10.0 * usual)
    result = seconds.copy()
    result[known[1:-1][stray]] = np.nan
    return result


def unwrap(seconds: Numbers) -> tuple[Numbers, int]:
    """Add a day after every step back of more than half a day, and count those."""
    known = np.isfinite(seconds)
    steps = np.diff(seconds if known.all() else seconds[known])
    back, ahead = steps < -DAY_S / 2, steps > DAY_S / 2
    if not back.any():
        return seconds + 0.0, 0
    turns = np.cumsum(back.astype(np.int64) - ahead)
    days = np.maximum(np.concatenate(([0], turns)), 0)
    result = seconds.copy()
    result[known] += days[: int(known.sum())] * DAY_S
    return result, int(days.max(initial=0))
