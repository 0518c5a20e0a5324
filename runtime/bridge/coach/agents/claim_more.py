"""Reads claims about speeds, pressures and times that are told in words of their own; pure."""

import re
from typing import Final

from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.topic_words import first

NOTHING_S: Final = 0.05
"""Who loses less loses no time."""
_WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS: Final = {word: n for n, word in enumerate(_WORDS, 1)} | {"a couple of": 2}
_SPELLED: Final = re.compile(
    rf"\b({'|'.join(_COUNTS)})(?= (?:tenths?|hundredths?|sec\w*|met(?:er|re)s?|bar|km|laps)\b)"
)
_HALF: Final = re.compile(r"\bhalf a tenth\b")
_QUICK: Final = re.compile(r"\b(?:(faster|quicker|fastest|quickest)|slower|slowest)\b")
_MORE_SPEED: Final = re.compile(
    r"\b(?:(more|higher)|less|lower)\b.{0,20}\bspeeds?\b|\bspeeds?\b.{0,30}\b(?:(higher)|lower)\b"
)
_NO_SPEED: Final = re.compile(r"\b(?:los\w+|cost\w*|better|worse|time|seconds?)\b")
_FELT: Final = re.compile(
    r"^(?:am i|was i|i'm|i am|i was|i've been)\b(?! too)(?: \w+){0,2}? "
    r"(?:(slow|weak|bad|poor|terrible)|fast|quick|good|strong)\b(?! enough)"
)
_BAR: Final = re.compile(r"(?<![\d.:])(\d+(?:\.\d+)?) ?bars?\b")
_NO_BRAKE: Final = re.compile(r"\b(?:boost|oil|ty?re|tire|fuel|turbo)s?\b")
_LOWER: Final = re.compile(r"\b(?:under|below|less than|softer than|lighter than|at most)\b")
_HIGHER: Final = re.compile(r"\b(?:over|above|more than|harder than|higher than|exceed\w*)")
_IS_MOST: Final = re.compile(
    r"\b(?:max\w*|peak|highest|top|most|hardest)\b.{0,30}\b(?:was|is|were)\b"
    r"|\b(?:was|is|were)\b.{0,20}\b(?:max\w*|peak|highest|top|most|hardest)\b"
)
_EACH_LAP: Final = re.compile(r"\b(?:every|each|all)\b.{0,12}\blaps?\b")
_SECONDS: Final = re.compile(
    r"\b(?:(beat|break|brake|broke|under|below|less than|faster than|quicker than)|over|above"
    r"|slower than|more than) (\d{2,3}(?:\.(\d{1,3}))?) ?s(?:ec\w*)?\b"
)
_PART: Final = re.compile(r"\b(?:full throttle|flat|coast\w*|brak\w*|pedals?|straight)\b")
LEAST_LAP_S: Final = 20.0
"""Whoever speaks of fewer seconds speaks of no lap."""


def spelled(text: str) -> str:
    """Numbers in words before a unit as numbers."""
    return _SPELLED.sub(lambda found: str(_COUNTS[found[1]]), _HALF.sub("0.05 s", text))


def each_lap(text: str) -> bool:
    """Whether it is held to be so on every lap."""
    return _EACH_LAP.search(text) is not None


def by_speed(told: Named, text: str, *, which: bool) -> Topic | None:
    """Which of two corners is faster, or whether one of them is: what it is driven with."""
    quick = _QUICK.search(text) or _MORE_SPEED.search(text)
    if quick is None or _NO_SPEED.search(text):
        return None
    if first(words.MEASURES, text) not in ("speed", ""):
        return None
    spot = first(words.SPOTS, _QUICK.sub("", text)) or "apex"
    spot = "speed" if spot == "slowest" else f"speed {spot}"
    how = "which" if which else "more" if quick.lastindex else "less"
    if which and not quick.lastindex:
        how = "which less"
    return Topic("claim", "corners", spot, how, told.corners)


def felt(told: Named, text: str) -> Topic | None:
    """Whether one is slow, or quick, in a corner: by its speed at a spot, else by its time."""
    found = _FELT.search(text) if len(told.corners) == 1 and not told.laps else None
    if found is None:
        return None
    if spot := first(words.SPOTS, text):
        every = "too" if found[1] else ""
        return Topic("measure", "speed", spot, "judged", told.corners, every=every)
    how = "over" if found[1] else "under"
    return Topic("claim", "lost", "", how, told.corners, value=NOTHING_S)


def peak(told: Named, text: str) -> Topic | None:
    """A brake pressure that was reached anywhere."""
    found = _BAR.search(text)
    if found is None or told.corners or told.sectors or _NO_BRAKE.search(text):
        return None
    lower, higher = _LOWER.search(text), _HIGHER.search(text)
    how = "under" if lower else "over" if higher else "equal" if _IS_MOST.search(text) else "reach"
    every = "never" if re.search(r"\bnever\b", text) else "all" if each_lap(told.text) else ""
    if every == "never" and lower:
        return None
    _, _, behind = found[1].partition(".")
    value, digits = float(found[1]), len(behind)
    return Topic("claim", "peak", "", how, laps=told.laps, value=value, digits=digits, every=every)


def broke(told: Named, text: str) -> Topic | None:
    """A lap time in seconds that was beaten or missed."""
    found = None if told.corners or told.sectors or told.straights else _SECONDS.search(text)
    if found is None or float(found[2]) < LEAST_LAP_S or _PART.search(_SECONDS.sub("", text)):
        return None
    how, every = "under" if found[1] else "over", "all" if each_lap(told.text) else ""
    digits = len(found[3] or "")
    value = float(found[2])
    return Topic("claim", "time", "", how, laps=told.laps, value=value, digits=digits, every=every)
