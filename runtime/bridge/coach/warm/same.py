"""Whether a sentence says again what was said, in the same or in other words; pure."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

REMEMBERED: Final = 512
"""Sentences are compared again and again."""
AGAIN_SHARE: Final = 0.6
"""A sentence of which so many words were used in another one says the same again."""
FEW: Final = 2
"""A sentence of fewer words of weight must be the same word for word."""
_NUMBER: Final = re.compile(r"(?<![\w.,:])\d+(?:[:.,]\d+)*(?![\w])")
_NAMED: Final = re.compile(r"\b(?:turn|corner|lap|sector|t|c)[ -]?\d+[a-z]?\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_EMPTY: Final = frozenset(
    (
        "a an the this that these those it its is are was were be been being am do does did have "
        "has had you your yours we our i me my he she they their them there here and or but so if "
        "of in on at to for from by with into out up off over as than then when while where what "
        "which who how just very really too also more most much many some any all each every one "
        "only still now today not no can could should would will may might must let lets us get "
        "got make makes made go going s t m km h kmh kph bar g m per"
    ).split()
)
_ENDINGS: Final = ("ingly", "ing", "edly", "ed", "ly", "es", "s", "er", "e")
_FAULTS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "pedals": r"\b(?:coast\w*|roll(?:s|ed|ing)?|no pedal|either pedal|neither pedal|gap|pauses?"
        r"|between (?:the )?(?:pedals|brake))\b",
        "apex": r"\b(?:apex(?:es)?|mid-?corner|minimum speed)\b",
        "exit": r"\b(?:exit(?:s|ed)?|leaves?|leaving|throttle|power)\b",
        "braking": r"\b(?:brak(?:e|es|ed|ing))\b",
        "hands": r"\b(?:steer\w*|hands?|correct(?:s|ed|ions?)|wheel)\b",
        "loss": r"\b(?:slower|los[est]\w*|cost\w*|behind|gave away|gives? away)\b",
    }.items()
}


_FEW_WORDS: Final = r"(?:\w+ ){0,2}"
_LATE: Final = rf"brak\w* {_FEW_WORDS}(?:later|lighter)"
_OPPOSED: Final = (
    (_LATE, rf"brak\w* {_FEW_WORDS}(?:earlier|sooner|early|longer)"),
    (
        rf"{_LATE}|(?:carry|add|more) {_FEW_WORDS}speed|roll in faster",
        r"give up|sacrifice|slow in|slower in",
    ),
    (r"\bthrottle\b.*\b(?:sooner|earlier)\b", r"\b(?:wait|patient)\b"),
    (r"a little brake|bleed", r"off the brake before|brake in a straight line"),
)
"""Pairs of what nobody can do at once."""


def opposes(one: str, other: str) -> bool:
    """Whether two pieces of advice ask for opposite things."""
    for first, second in _OPPOSED:
        for here, there in ((first, second), (second, first)):
            if re.search(here, one, re.IGNORECASE) and re.search(there, other, re.IGNORECASE):
                return True
    return False


def says_again(sentence: str, said: Iterable[str]) -> bool:
    """Whether one of the texts in *said* says it already.

    That is where all its numbers stand in one of their sentences, or most of its words.
    """
    numbers, words = _numbers(sentence), _words(sentence)
    for text in said:
        for other in re.split(r"(?<=[.!?])\s+|\n+", text):
            if numbers and numbers <= _numbers(other):
                return True
            known = _words(other)
            if len(words) < FEW and _bare(sentence) in _bare(other):
                return True
            if len(words) >= FEW and len(words & known) >= AGAIN_SHARE * len(words):
                return True
    return False


def faults(text: str) -> frozenset[str]:
    """The faults of driving that a text speaks of."""
    return frozenset(name for name, words in _FAULTS.items() if words.search(text))


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


@lru_cache(maxsize=REMEMBERED)
def _numbers(text: str) -> frozenset[str]:
    """Numbers that are none of a corner or lap."""
    return frozenset(_NUMBER.findall(_NAMED.sub(" ", text)))


@lru_cache(maxsize=REMEMBERED)
def _words(text: str) -> frozenset[str]:
    """Words with a meaning, without endings; names of corners and laps among them."""
    named = {re.sub(r"\W", "", name).casefold() for name in _NAMED.findall(text)}
    plain = (word.casefold() for word in _WORD.findall(_NAMED.sub(" ", text)))
    return frozenset(named | {_stem(word) for word in plain if word not in _EMPTY})


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
