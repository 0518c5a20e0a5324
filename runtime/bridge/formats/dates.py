"""Parses dates and times of day as people and programs write them."""

import functools
import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

_DATE: Final = re.compile(r"(\d{1,4})[/.\-](\d{1,2})[/.\-](\d{2,4})")
_CLOCK: Final = re.compile(
    r"(?<![\d:])(?:(\d{1,3}):)?(\d{1,2}):(\d{2}(?:[.,]\d{1,9})?)(?![\d:])\s*([ap]m\b)?", re.I
)
_ZONE: Final = re.compile(r"^\s*(?:z|utc|gmt)?\s*([+-])(\d{2}):?(\d{2})?\b", re.I)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH: Final = rf"({'|'.join(_MONTHS)})[a-z]*"
_DAY_MONTH: Final = re.compile(rf"\b(\d{{1,2}})[ \-.]+{_MONTH}[ \-.,]+(\d{{2,4}})\b", re.I)
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH} +(\d{{1,2}})\b.*?\b(\d{{4}})\b", re.I)
LONGEST: Final = 64
"""Longer texts are not parsed."""
LONGEST_DAY_S: Final = 2 * 86_400.0
"""Limit on the time next to a date; a time with a zone may lie in the next day."""


class Moment(NamedTuple):
    """A date, a time of day or length of time, or both."""

    day: float | None
    """Unix seconds of its midnight; None without a date."""
    seconds: float | None
    """Since midnight or the start of the clock; converted to UTC if a zone is given."""

    @property
    def unix(self) -> float | None:
        """Unix seconds, midnight for a date alone, None without a date."""
        if self.day is None or (self.seconds or 0.0) > LONGEST_DAY_S:
            return None
        return self.day + (self.seconds or 0.0)


def parse_moment(text: str) -> Moment:
    """Parse a date, a time, or both; either may be missing.

    In numbers the day comes before the month, unless only the other order is possible. A time of
    two parts is minutes and seconds, or hours and minutes next to a date.
    """
    if len(text) > LONGEST:
        return Moment(None, None)
    clock = _CLOCK.search(text)
    if clock is None:
        return Moment(parse_day(text), None)
    before, after = text[: clock.start()], text[clock.end() :]
    zone = _ZONE.match(after)
    day = parse_day(f"{before} {after}".strip().lower())
    first, second, third = clock[1], float(clock[2]), float(clock[3].replace(",", "."))
    if first is not None:
        seconds = float(first) * 3600.0 + second * 60.0 + third
    elif day is not None or clock[4]:
        seconds = second * 3600.0 + third * 60.0
    else:
        seconds = second * 60.0 + third
    if clock[4]:
        noon = 43_200.0
        seconds = seconds % noon + noon * (clock[4].lower() == "pm")
    if zone and day is not None:
        away = float(zone[2]) * 3600.0 + float(zone[3] or 0) * 60.0
        seconds -= away if zone[1] == "+" else -away
    return Moment(day, seconds)


@functools.lru_cache(maxsize=1024)
def parse_day(text: str) -> float | None:
    """Return the Unix seconds of the midnight (UTC) of a date; None if the text has none.

    The day comes before the month, unless only the other order is possible; a year may come first.
    """
    if match := _DAY_MONTH.search(text):
        day, word, year = match.groups()
        date = int(year), _MONTHS.index(word.lower()) + 1, int(day)
    elif match := _MONTH_DAY.search(text):
        word, day, year = match.groups()
        date = int(year), _MONTHS.index(word.lower()) + 1, int(day)
    elif match := _DATE.search(text):
        first, second, third = map(int, match.groups())
        date = (first, second, third) if first > 31 else (third, second, first)
        date = date if date[1] <= 12 else (date[0], date[2], date[1])
    else:
        return None
    year_of, month, day_of = date
    try:
        moment = datetime(year_of + 2000 if year_of < 100 else year_of, month, day_of, tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp()
