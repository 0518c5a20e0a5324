"""Reads questions for what a word of driving means, or how the thing is done; pure."""

import re
from typing import Final

from runtime.bridge.agents.asked import Topic
from runtime.bridge.agents.glossary import TERMS
from runtime.bridge.agents.naming import Named
from runtime.bridge.agents.quantities import names_data
from runtime.bridge.agents.topic_words import OWN, Pattern, Words, first


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


EXPLAIN: Final = _any(
    r"what (?:is|are|does|do)",
    "what's",
    "explain",
    "define",
    "definition of",
    "meaning of",
    r"tell me about",
    "why is",
    r"why (?:should|would|do|does) (?:you|one|people|drivers|a driver)",
    r"why should (?:i|we)",
    r"how does\b.{1,40}\bwork",
    r"^how to",
    r"how (?:do|does|can|could|should|would) (?:i|we|you|one|a driver) (?:\w+ )?"
    r"(?:find|do|use|learn|practi[cs]e|hit|spot|recogni[sz]e|know|tell|read|trail|threshold|heel|rev"
    r"|blip|look|left|drive|feel)",
)
MEANS: Final = _any(
    r"what (?:does|do)\b.{1,40}\bmean",
    r"what (?:is|are) meant by",
    r"what do you mean (?:by|with)",
    r"(?:what (?:is|are)|what's) an?",
    "explain",
    "define",
    r"(?:meaning|definition) of",
    r"how does\b.{1,40}\bwork",
)
"""Words that ask for a meaning and for nothing else."""
_DEFINE: Final = _any(
    r"what (?:does|do)\b.{1,40}\bmean", r"what (?:is|are) meant by", "define", "meaning of"
)
"""Those that ask for a word, whatever else it is called by."""
CONCEPTS: Final[Words] = (
    ("trail_brake", _any(r"trail ?-?brak\w*")),
    (
        "early_brake_release",
        _any("early (?:brake )?release", "releas\\w* (?:the brakes? )?too early"),
    ),
    ("exit_speed", _any("exit speed")),
    ("full_commitment", _any("full commitment", "commitment", "hustle")),
    ("brake_end_focus", _any("end of braking", "eob", "brak\\w* end")),
    ("downhill_braking", _any(r"down ?-?hill brak\w*", r"brak\w* down ?-?hill")),
    ("uphill_braking", _any(r"up ?-?hill brak\w*", r"brak\w* up ?-?hill")),
    ("late_apex", _any("late(?:r)? apex")),
    ("look_ahead", _any(r"look\w* ahead", "vision", "where to look")),
)
"""Concepts of the coach by the words for them."""
_NUMBER: Final = r"(?! (?:speed|time|g|temperature|pressure|lap|rate|was|were|cost)\w*)"
_TERMS: Final[Words] = tuple((one.id, _any(rf"(?:{one.words}){_NUMBER}")) for one in TERMS)
_USUAL: Final = frozenset(one.id for one in TERMS if one.usual)
_TO_ME: Final = re.compile(
    r"\b(?:tell|give|remind|teach|help|show) (?:me|us)\b|\b(?:to|for) (?:me|us)\b"
    r"|\b(?:how (?:do|can|could|should|would)|why should) (?:i|we)\b|\b(?:can|could|may) i ask\b"
    r"|\bi (?:do not|don't|want to|would like to|need to) (?:understand|know|learn)\b"
)
"""The driver as the one who asks, not as the one who drove."""
_TERM: Final = r"(?:(?:the|an?) )?(?P<{}>[a-z][\w'-]*(?: [\w'&-]+){{0,3}}?)"
_UNKNOWN: Final = re.compile(
    r"(?:(?:so|and|but|ok|okay|please|coach|hey|hi|then)\W+)*(?:(?:can|could) you (?:please )?)?(?:"
    rf"what (?:does|do) {_TERM.format('a')} mean"
    rf"|what do you mean (?:by|with) {_TERM.format('b')}"
    rf"|(?:what (?:is|are)|what's) (?:meant by |an? )?(?P<c>[a-z][\w'-]*(?: [\w'&-]+){{0,2}})"
    rf"|(?:define|explain|the meaning of|what is the (?:meaning|definition) of) {_TERM.format('d')}"
    r")(?: (?:in racing|in motorsport|in driving|to me|for me|please|exactly))*\W*"
)
_NO_TERM: Final = re.compile(
    r"\b(?:laps?|times?|sessions?|sectors?|corners?|turns?|speeds?|good|better|best|worst|worse"
    r"|normal|typical|realistic|safe|fast\w*|slow\w*|quick\w*|wrong|next|new|up|left|this|that"
    r"|it|the|my|your|you|happening|going|today|now|here|there|CORNER|LAP|SECTOR|STRAIGHT"
    r"|missing|different|possible|weakest|strongest|biggest|data|channels?|recorded|known)\b"
)


def meaning_of(told: Named) -> Topic | None:
    """What a word means, where nothing of one's own is asked for."""
    text = _TO_ME.sub(" ", told.text)
    if told.corners or told.laps or told.sectors or told.straights or OWN.search(text):
        return None
    if not EXPLAIN.search(told.text):
        return None
    if found := first(CONCEPTS, text):
        return Topic("concept", found)
    found = first(_TERMS, text)
    if found and (found in _USUAL or MEANS.search(told.text)):
        return Topic("concept", found)
    return unknown_word(told) if _DEFINE.search(told.text) else None


def unknown_word(told: Named) -> Topic | None:
    """A word that is asked for and that is no other question's; what it is stands in *spot*."""
    if told.corners or told.laps or told.sectors or told.straights:
        return None
    found = _UNKNOWN.fullmatch(told.text)
    term = next((one for one in found.groups() if one), "") if found is not None else ""
    data = names_data(term) and not _DEFINE.search(told.text)
    if not term or data or _NO_TERM.search(term):
        return None
    return Topic("concept", spot=term[:40])
