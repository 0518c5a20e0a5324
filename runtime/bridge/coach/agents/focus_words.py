"""Reads questions for what to work on, and for what a car is felt to do; pure."""

import re
from typing import Final

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.danger_words import WET
from runtime.bridge.coach.agents.naming import Named

_FOCUS: Final = re.compile(
    r"\bmy (?:main |next |one |biggest )?(?:focus|priority)\b|\b(?:one|single|main|biggest"
    r"|first) thing\b"
    r".{0,25}\b(?:work|change|fix|improve|do|focus|learn)\w*"
    r"|\bwhat (?:should|can|do|must|could|would) (?:i|we|you want me to) (?:\w+ ){0,2}"
    r"(?:do|change|improve|work on|focus on|fix|try|practi[cs]e|learn)\b(?! with| in the (?:wet"
    r"|rain))"
    r"|\b(?:next|tomorrow'?s?) (?:session|run|time|outing|stint|laps?)\b.{0,30}\b(?:work|do"
    r"|change|focus|try)\w*"
    r"|\b(?:work|focus) on\b.{0,20}\b(?:next|tomorrow)\b"
    r"|^(?:so |and |ok )?(?:which (?:one|corner|turn)|what|where) (?:do i (?:start|begin)"
    r"|(?:comes )?first)\b"
)
_WRONG: Final = re.compile(
    r"\bwhat(?:'s| is| am i doing)? (?:(?:still|going) )?wrong\b(?: with (?:my|the) (?:driving"
    r"|laps?|technique))?"
)
_GET_TO: Final = re.compile(
    r"\b(?:how (?:do|can|could) i|what do i need to) (?:get|go|drive|do|come|reach|break"
    r"|beat)\b.{0,20}"
    r"\b(\d{1,2}):([0-5]\d(?:\.\d{1,3})?)"
)
_BALANCE: Final = re.compile(
    r"\b(?:under|over)steer\w*|\b(?:front|rear|back|nose|car)\b (?:\w+ ){0,2}"
    r"(?:push\w*|wash\w*|slid\w*|loose|steps? out|snap\w*|nervous)"
)


def focus_of(told: Named) -> Topic | None:
    """What to work on, if that is asked and no place of the lap is named."""
    text = told.text
    if told.corners and _BALANCE.search(text):
        return Topic("balance", corners=told.corners, laps=told.laps)
    if told.corners or told.laps or told.sectors or told.straights:
        return None
    if WET.search(text):
        return Topic("risk", "wet", wet=True) if _FOCUS.search(text) else None
    if (clock := _GET_TO.search(text)) is not None:
        return Topic("focus", value=60.0 * int(clock[1]) + float(clock[2]), should=True)
    if _WRONG.search(text):
        return Topic("focus", "wrong", should=True)
    return Topic("focus", should=True) if _FOCUS.search(text) else None
