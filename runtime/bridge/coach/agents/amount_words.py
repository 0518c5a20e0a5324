"""Reads questions for how often, how long and what share; pure."""

import re
from typing import Final

from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.topic_words import first

MILE: Final = 1.609344
_SMOOTH: Final = re.compile(r"\bthrottle\b.{0,20}\bsmooth|\bsmooth\w*\b.{0,20}\bthrottle\b")
TIMES: Final = re.compile(r"\bhow (?:many times|often)\b|\bnumber of times\b")
SHARE: Final = re.compile(
    r"\b(?:percent\w*|share|proportion|fraction|%|how much of (?:the|a|my|each) )"
)
LONG: Final = re.compile(
    r"\bhow (?:much time|long|many (?:seconds|secs))\b|\btime (?:do i |i )?(?:spend|spent)\b"
    r"|\bseconds\b"
)
_SPENT: Final = (
    (
        "full",
        re.compile(
            r"\bfull (?:throttle|gas|power)|\bflat(?: ?-?out)?\b|\bwide open\b|\bfoot down\b"
        ),
    ),
    (
        "coast",
        re.compile(r"\bcoast\w*|\bno pedals?\b|\bneither pedal\b|\boff both pedals\b|\brolling\b"),
    ),
    ("brake", re.compile(r"(?<!trail )(?<!trail-)\bbrak\w*")),
    ("throttle", re.compile(r"\bthrottle\b|\bon the gas\b|\bon (?:the )?power\b")),
)
"""What a share of a lap may be spent on."""
_HAPPENS: Final = (
    (
        "gears",
        re.compile(
            r"\b(?:gear ?(?:changes?|shifts?)|shifts?|upshifts?|downshifts?|change(?:d)? gear)\b"
        ),
    ),
    ("lifts", re.compile(r"\blift\w*")),
    ("corrections", re.compile(r"\bcorrect\w*")),
    ("brakings", re.compile(r"\bbrak\w*|\bhit the brakes")),
)
"""What may happen several times."""
_COUNTED: Final = re.compile(
    r"\bhow many (?:gear ?(?:changes?|shifts?)|shifts|upshifts|downshifts|lifts|brakings?"
    r"|brake applications|braking zones)\b"
)
_CORNERS: Final = re.compile(r"\bhow many (?:corners|turns|bends)\b.{0,20}\b(brak|lift)\w*")
_ABOVE: Final = re.compile(
    r"\b(above|over|faster than|more than|below|under"
    r"|slower than) (\d{2,3}(?:\.\d+)?)(?![\d:]) ?(km/?h|kph|mph)?"
    r"(?! ?(?:m\b|met|sec|s\b|bar))"
)


def amount_of(told: Named) -> Topic | None:
    """How often, how long or what share is asked for, if one of them is."""
    text = told.text
    if words.PLANNED.search(text) and not words.OWN.search(text):
        return None
    for reader in (_above, _often, _spent):
        if (what := reader(told)) is not None:
            return what
    return None


def _of(told: Named, what: str) -> Topic:
    return Topic("amount", what, "", "", told.corners, told.laps, told.sectors, told.straights)


def _above(told: Named) -> Topic | None:
    """How often or how long above a speed, or below it."""
    text, found = told.text, _ABOVE.search(told.text)
    asks = TIMES.search(text) or LONG.search(text) or SHARE.search(text)
    if (
        found is None
        or not asks
        or (words.LIMIT.search(text) and re.search(r"\bmany (?:\w+ )?laps\b", text))
    ):
        return None
    side = "under" if found[1] in ("below", "under", "slower than") else "over"
    value = float(found[2]) * (MILE if found[3] == "mph" else 1.0)
    return Topic("amount", "speed", "", side, (), told.laps, value=value)


def _often(told: Named) -> Topic | None:
    """How often something happens, or in how many corners."""
    text = told.text
    if (corners := _CORNERS.search(text)) is not None:
        return Topic("amount", f"{corners[1]}_corners", laps=told.laps)
    if _SMOOTH.search(text):
        return _of(told, "lifts")
    counted = _COUNTED.search(text)
    if counted is None and not TIMES.search(text):
        return None
    what = first(_HAPPENS, counted[0] if counted else text)
    return _of(told, what) if what else None


def _spent(told: Named) -> Topic | None:
    """How much of the lap is spent on something."""
    text, what = told.text, first(_SPENT, told.text)
    share = SHARE.search(text) is not None
    if not what or not (share or LONG.search(text)):
        return None
    of_corner = told.corners or (what == "brake" and "lap" not in text.casefold())
    if not share and (of_corner or what == "throttle"):
        return None
    return _of(told, what)
