"""Reads a question as it was meant: small letters, number words, slips of the fingers; pure."""

import re
from collections.abc import Iterable
from typing import Final

from runtime.bridge.coach.agents.words import plain

_ONES: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_ORDINALS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth"),
)
_NUMBER: Final = {word: at for at, word in enumerate(_ONES, start=1)}
_PLACE: Final = {word: at for at, word in enumerate(_ORDINALS, start=1)}
_THING: Final = "turn|corner|lap|sector"
_COUNTED: Final = re.compile(
    rf"\b({_THING}|t)s?(?: number| no\.?| #|#)? ?({'|'.join(sorted(_NUMBER, key=len)[::-1])})\b"
)
_ORDINAL: Final = re.compile(rf"\b({'|'.join(_PLACE)}) ({_THING})\b")
_NTH: Final = re.compile(rf"\b(\d{{1,3}})(?:st|nd|rd|th) ({_THING})\b")
_SHORT: Final = re.compile(r"\b([ls])([1-9]\d?)\b")
_HASH: Final = re.compile(rf"\b({_THING})s? ?(?:number|no\.?|nr\.?|#)? ?#?(\d{{1,3}})\b")
_LETTERS: Final = re.compile(r"[a-z]{4,}")
SPELLED: Final = frozenset(
    (
        *("turn", "turns", "corner", "corners", "sector", "sectors", "session", "sessions"),
        *("brake", "brakes", "braking", "braked", "speed", "throttle", "apex", "entry", "exit"),
        *("slowest", "fastest", "quickest", "consistent", "consistency", "lateral", "gear"),
        *("gears", "steering", "pressure", "compare", "reference", "weather", "understeer"),
        *("oversteer", "incident", "incidents", "straight", "straights", "hairpin", "average"),
        *("minimum", "maximum", "coast", "coasting", "debrief", "progress", "improve", "weakest"),
        *("strongest", "theoretical", "ideal", "target", "latest", "previous", "temperature"),
        *("spin", "left", "right", "laps", "where", "what", "which", "when", "much", "many"),
        *("lose", "losing", "time", "times", "best", "worst", "last", "first", "slow", "fast"),
        *("faster", "slower", "better", "worse", "against", "high", "highest", "lowest"),
        *("balance", "setup", "crash", "crashed", "pull", "long", "hard", "than", "with"),
    )
)
"""Words that a question about driving is made of; a slip of the fingers is read as one of them."""
_LEFT_ALONE: Final = frozenset(
    (
        *(
            "beast",
            "bets",
            "cast",
            "closing",
            "cost",
            "costs",
            "exist",
            "feather",
            "fist",
            "flower",
        ),
        *("heard", "heather", "idea", "ideas", "lapse", "least", "leather", "letter", "literal"),
        *(
            "loose",
            "loses",
            "master",
            "preference",
            "seed",
            "slowed",
            "spine",
            "taster",
            "thank",
            "ties",
        ),
        *("timed", "timer", "vector", "vectors", "were", "width", "section", "lateral", "latest"),
    )
)
"""Words that lie one slip away from another, and are meant."""
_ENDINGS: Final = ("s", "d", "ed", "es")
_PAIRS: Final = 3
_BREAK: Final = re.compile(
    r"\b(?<=i )break(?=ing\b|\b)"
    r"|\bbreak(?=(?:ing)? (?:point|late|early|later|earlier|hard|zone|for t))"
)
_LOOSE: Final = re.compile(r"\bloos(?=(?:e|ing)(?: (?:the |my )?(?:most|time)| it| in t| on t))")


def read(text: str, names: Iterable[str] = ()) -> str:
    """The question in one form: what is counted as digits, known words spelled right.

    *names* are those of the circuit, which are never taken for slips.
    """
    told = plain(text)
    own = frozenset(word for name in names for word in _LETTERS.findall(plain(name)))
    told = _LETTERS.sub(lambda found: _spelled(found.group(), own), told)
    told = _LOOSE.sub("los", _BREAK.sub("brake", told)).replace("brakeing", "braking")
    told = _ORDINAL.sub(lambda m: f"{m[2]} {_PLACE[m[1]]}", told)
    told = _NTH.sub(r"\2 \1", told)
    told = _COUNTED.sub(lambda m: f"{m[1]} {_NUMBER[m[2]]}", told)
    told = _SHORT.sub(lambda m: f"{'lap' if m[1] == 'l' else 'sector'} {m[2]}", told)
    return _HASH.sub(r"\1 \2", told)


def _spelled(word: str, own: frozenset[str]) -> str:
    """The known word that was meant, where exactly one is a single slip away."""
    if word in SPELLED or word in own or word in _LEFT_ALONE:
        return word
    if any(word.removesuffix(ending) in SPELLED for ending in _ENDINGS if word.endswith(ending)):
        return word
    near = [known for known in SPELLED if _slip(word, known)]
    near = [known for known in near if known[0] == word[0]] or [
        known for known in near if len(word) > _PAIRS + 2
    ]
    return near[0] if len(near) == 1 else word


def _slip(word: str, known: str) -> bool:
    """Whether one letter is too many, missing, wrong, or two stand in each other's place.

    A wrong letter counts in longer words only, where it makes no other word.
    """
    if abs(len(word) - len(known)) > 1:
        return False
    at = 0
    while at < min(len(word), len(known)) and word[at] == known[at]:
        at += 1
    if len(word) == len(known):
        swapped = word[at : at + 2] == known[at : at + 2][::-1] and len(word[at : at + 2]) == 2
        if swapped and word[at + 2 :] == known[at + 2 :]:
            return True
        return len(word) > _PAIRS + 2 and word[at + 1 :] == known[at + 1 :]
    longer, shorter = (word, known) if len(word) > len(known) else (known, word)
    if len(shorter) <= _PAIRS:
        return False
    return longer[at + 1 :] == shorter[at:]
