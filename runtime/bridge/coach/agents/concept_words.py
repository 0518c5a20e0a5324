"""Reads questions for what a word of driving means, or how the thing is done; pure.

A word is defined only where it is all that a question of meaning asks for: whoever names an amount,
a rank, a day or a place beside it asks for what was driven.
"""

import re
from typing import Final

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.glossary import TERMS
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.quantities import names_data
from runtime.bridge.coach.agents.topic_words import Pattern, Words

_LEAD: Final = re.compile(
    r"(?:(?:so|and|but|ok|okay|please|coach|hey|hi|hello|then|well|sorry|no|yes|now|just)\b\W*"
    r"|(?:can|could|would|will) you (?:please )?|(?:can|could|may) i ask (?:you )?"
    r"|(?:tell|remind|teach|show) (?:me|us) (?!about\b)"
    r"|i (?:do not|don't|want to|would like to|need to) (?:understand|know|learn) "
    r"|(?:do|does) (?:you|anybody|anyone) know )*"
)
"""What may stand before a question."""
_TAIL: Final = re.compile(
    r"(?:,? (?:in (?:racing|motorsport|driving|general|a car|(?:simple|plain|other|your) words)"
    r"|(?:to|for) (?:me|us|a (?:driver|beginner|novice))|please|exactly|actually|again"
    r"|when driving|on (?:a |the )?track|coach|really|anyway|then))*"
)
"""What may stand behind one."""
_MARKS: Final = " ?!.,;:\"'"
_WHO: Final = r"(?:i|we|you|one|people|drivers|a driver)"
_SKILL: Final = r"(?=(?:trail|threshold|heel|rev|blip|look|left)\b)"
_HOW_TAIL: Final = (
    r"(?: (?:better|well|properly|correctly|right|best|more|(?:in|into|for|at|out of)"
    r" (?:a |the )?(?:corner|turn|bend)s?))*"
)
_WHAT: Final = r"(?:what (?:is|are|'s)|what's)"
_DEFINE: Final = re.compile(
    r"what (?:does|do) (?P<a>.+?) (?:mean|stand for)"
    rf"|{_WHAT} (?:the )?meant by (?P<b>.+)"
    r"|what do you mean (?:by|with) (?P<c>.+)"
    rf"|(?:define|(?:{_WHAT} )?the (?:meaning|definition) of|(?:meaning|definition) of) (?P<d>.+)"
    r"|how (?:does|do) (?P<e>.+?) work"
    rf"|(?:explain )?what (?P<f>.+?) (?:is|are|means?)"
)
"""Ask for a word, whatever else it is called by; the same holds of `what is a …`."""
_ASK: Final = re.compile(
    rf"(?:{_WHAT}|explain) (?P<a>.+?)(?: (?:good |used )?for)?"
    r"|what (?:does|do) (?P<b>.+?) (?:feel|look|sound) like"
    r"|why (?:is|are) (?P<c>.+?) (?:so |that |very )?(?:important|useful|needed|necessary|worth it)"
    r"|why (?:does|do) (?P<d>.+?) matter"
)
_ABOUT: Final = re.compile(r"tell (?:me|us) (?:something |more )?about (?P<a>.+)|(?P<b>.+)")
"""Tells of a session as well, where that has a number of it."""
_DO: Final = re.compile(
    rf"how (?:do|does|can|could|should|would) {_WHO} (?:\w+ )?(?:find|do|use|learn|practi[cs]e|hit"
    rf"|spot|recogni[sz]e|know|tell|read|drive|feel) (?P<a>.+?){_HOW_TAIL}"
    rf"|how (?:do|does|can|could|should|would) {_WHO} (?:\w+ )??{_SKILL}(?P<b>.+?){_HOW_TAIL}"
    rf"|(?:how to|why (?:should|would|do|does) {_WHO}) "
    rf"(?:find |do |use |learn |practi[cs]e |hit |spot |recogni[sz]e |read |feel |look at )?"
    rf"(?P<c>.+?){_HOW_TAIL}"
)
_A: Final = re.compile(r"\Aan? ")
_THE: Final = re.compile(r"\A(?:the|this|that|these|those) ")
_IDEA: Final = re.compile(
    r"\A(?:the |a )?(?:word|term|concept|idea|technique|principle|meaning|definition|point|purpose"
    r"|use)(?: (?:of|behind|called))? "
)
_TRUE: Final = re.compile(r"\A(?:so-called|proper|real|actual|true|correct|classic) ")
"""Words that belong to a term."""
_BETWEEN: Final = re.compile(
    rf"(?:(?:{_WHAT}|explain) )?the difference between (?P<a>.+) and (?P<b>.+)"
    r"|how (?:does|do|is|are) (?P<c>.+) (?:differ(?:ent)?) (?:from|to) (?P<d>.+)"
    rf"|(?:{_WHAT}|explain|define) (?P<e>.+) and (?P<f>.+)"
    r"|what (?:does|do) (?P<g>.+) and (?P<h>.+) mean"
)
CONCEPTS: Final[Words] = tuple(
    (name, re.compile(words))
    for name, words in (
        ("trail_brake", r"trail ?-?brak\w*"),
        (
            "early_brake_release",
            r"early (?:brake )?release|releas\w* (?:the brakes? )?too early",
        ),
        ("exit_speed", "exit speed"),
        ("full_commitment", "full commitment|commitment|hustle"),
        ("brake_end_focus", r"end of braking|eob|brak\w* end"),
        ("downhill_braking", r"down ?-?hill brak\w*|brak\w* down ?-?hill"),
        ("uphill_braking", r"up ?-?hill brak\w*|brak\w* up ?-?hill"),
        ("late_apex", r"late(?:r)? apex(?:es)?"),
        ("look_ahead", r"look\w* ahead|vision|where to look"),
    )
)
"""Concepts of the coach by the words for them."""
_TERMS: Final[Words] = tuple((one.id, re.compile(one.words)) for one in TERMS)
_NUMBERS: Final = frozenset({one.id for one in TERMS if one.counted or not one.usual}) | {
    "trail_brake",
    "exit_speed",
}
"""What is known of a session, or told of it: *the* one is that of the session."""
_UNUSUAL: Final = frozenset(one.id for one in TERMS if not one.usual)
_NOW: Final = frozenset({"brake_fade"})
"""What *the* one is told of while it is there, with a session or without."""
_SHOWN: Final = frozenset({"understeer", "oversteer", "grip", "camber"})
"""What a word alone asks of the car, and not of the language."""
_TERM: Final = r"(?:(?:the|an?) )?(?P<{}>[a-z][\w'-]*(?: [\w'&-]+){{0,3}}?)"
_UNKNOWN: Final = re.compile(
    r"(?:(?:so|and|but|ok|okay|please|coach|hey|hi|then)\W+)*(?:(?:can|could) you (?:please )?)?(?:"
    rf"what (?:does|do) {_TERM.format('a')} mean"
    rf"|what do you mean (?:by|with) {_TERM.format('b')}"
    rf"|(?:what (?:is|are)|what's) (?:meant by |an? )?(?P<c>[a-z][\w'-]*(?: [\w'&-]+){{0,2}})"
    rf"|(?:define|explain|the meaning of|what is the (?:meaning|definition) of) {_TERM.format('d')}"
    r")(?: (?:in racing|in motorsport|in driving|to me|for me|please|exactly))*\W*"
)
_WORD: Final = re.compile(
    r"\bwhat (?:does|do)\b.{1,40}\bmean\b|\bwhat (?:is|are) meant by\b|\bdefine\b|\bmeaning of\b"
)
"""Asks for a word, known or not."""
_NO_TERM: Final = re.compile(
    r"\b(?:laps?|times?|sessions?|sectors?|corners?|turns?|speeds?|good|better|best|worst|worse"
    r"|normal|typical|realistic|safe|fast\w*|slow\w*|quick\w*|wrong|next|new|up|left|this|that"
    r"|it|the|my|your|you|happening|going|today|now|here|there|CORNER|LAP|SECTOR|STRAIGHT"
    r"|missing|different|possible|weakest|strongest|biggest|data|channels?|recorded|known"
    r"|amount|average|percentage|share|score|count|usage|used|deviation|points|numbers)\b"
)


def meaning_of(told: Named, *, session: bool = True) -> Topic | None:
    """What a word means, where that is all that is asked for; *session*: whether one is chosen."""
    text = _bare(told.text)
    if told.laps or told.straights:
        return None
    if told.corners or told.sectors:
        return _number(text, told)
    if (pair := _pair(text)) is not None:
        return pair
    if found := _known(text, _NUMBERS if session else _UNUSUAL | _NOW):
        return Topic("concept", found)
    return unknown_word(told) if _WORD.search(told.text) else None


def unknown_word(told: Named) -> Topic | None:
    """A word that is asked for and that is no other question's; what it is stands in *spot*."""
    if told.corners or told.laps or told.sectors or told.straights:
        return None
    found = _UNKNOWN.fullmatch(told.text)
    term = next((one for one in found.groups() if one), "") if found is not None else ""
    data = names_data(term) and not _WORD.search(told.text)
    if not term or data or _named(term) or _NO_TERM.search(term):
        return None
    return Topic("concept", spot=term[:40])


def _bare(text: str) -> str:
    """A question without what may stand before and behind it."""
    rest = text[lead.end() :] if (lead := _LEAD.match(text)) is not None else text
    rest = rest.strip(_MARKS)
    end = next(at for at in range(len(rest) + 1) if _TAIL.fullmatch(rest, at))
    return rest[:end].strip(_MARKS)


def _object(pattern: Pattern, text: str) -> str:
    """What a question asks for, as it stands there; empty where it is another question."""
    found = pattern.fullmatch(text)
    told = next((one for one in found.groups() if one), "") if found is not None else ""
    return _IDEA.sub("", told.strip(_MARKS))


def _known(text: str, numbers: frozenset[str]) -> str:
    """The concept or the term that is all that a question asks for; *numbers*: see `_NUMBERS`."""
    if named := _named(_object(_DEFINE, text)):
        return named
    asked = _object(_ASK, text)
    if named := _named(asked):
        return "" if _THE.match(asked) and named in numbers else named
    about = _object(_ABOUT, text)
    if named := _named(about):
        alone = about == text
        shown = named in _UNUSUAL or (alone and named in _SHOWN)
        its = (alone or _THE.match(about) is not None) and named in numbers
        return "" if shown or its else named
    named = _named(_object(_DO, text))
    return "" if named in _UNUSUAL else named


def _named(asked: str) -> str:
    """The id of what is nothing but a concept or a term, with its article."""
    word = _TRUE.sub("", _A.sub("", _THE.sub("", asked))).strip("\"' ")
    found = (name for name, pattern in (*CONCEPTS, *_TERMS) if pattern.fullmatch(word))
    return next(found, "") if word else ""


def _pair(text: str) -> Topic | None:
    """Two words beside each other; the second stands in *spot*."""
    found = _BETWEEN.fullmatch(text)
    if found is None:
        return None
    told = [_named(one) for one in found.groups() if one]
    if not all(told) or told[0] == told[1]:
        return None
    return Topic("concept", told[0], told[1])


def _number(text: str, told: Named) -> Topic | None:
    """A corner or a sector of which it is asked why it is called so."""
    asked = _THE.sub("", _object(_DEFINE, text))
    if asked == "CORNER" and len(told.corners) == 1 and not told.sectors:
        return Topic("concept", "corner", corners=told.corners)
    if asked == "SECTOR" and len(told.sectors) == 1 and not told.corners:
        return Topic("concept", "sector", sectors=told.sectors)
    return None
