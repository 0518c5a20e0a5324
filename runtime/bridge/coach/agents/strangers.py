"""Drivers that a question names and no session is of; pure."""

import re
from collections.abc import Iterable
from typing import Final

from runtime.bridge.coach.agents.words import plain

_NAME: Final = r"[A-Z][a-zé\u00e8-\u00fc]{1,}(?:[- ][A-Z][a-zé\u00e8-\u00fc]{2,}){0,2}"
_ASKED: Final = re.compile(
    r"\b(?:[Ww]as|[Ii]s|[Dd]id|[Dd]oes|[Hh]as|[Hh]ad|[Ww]ould|[Cc]ould|than|beat|against|behind|vs\.?"
    rf"|ahead of) ({_NAME})(?![\w])"
)
_KNOWN: Final = (
    *("verstappen", "hamilton", "leclerc", "norris", "piastri", "alonso", "vettel", "rosberg"),
    *("schumacher", "senna", "prost", "lauda", "raikkonen", "ricciardo", "bottas", "räikkönen"),
    *("fangio", "loeb", "ogier"),
)
"""Names that are written small as well."""
_SMALL: Final = re.compile(rf"\b(?:{'|'.join(_KNOWN)})\b")
_ONES_LIKE: Final = re.compile(r"\blike (?:\w+ )?$|^(?:who|what) (?:is|was) ")
_NO_DRIVER: Final = frozenset(
    (
        *(
            "turn",
            "lap",
            "corner",
            "sector",
            "straight",
            "the",
            "this",
            "that",
            "my",
            "it",
            "there",
        ),
        *("we", "you", "he", "she", "they", "your", "our", "his", "her", "anyone", "someone"),
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january"),
        *("february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *("november", "december", "session", "yesterday", "today", "one", "two", "three", "all"),
        *("braking", "trail", "throttle", "speed", "every", "any", "data", "coach", "bridge"),
    )
)


def stranger(question: str, own: Iterable[str]) -> str:
    """The name of somebody else whose driving is asked for; *own* are the names of the place."""
    small = _SMALL.search(plain(question))
    if small is not None:
        return "" if _ONES_LIKE.search(plain(question)[: small.start()]) else small[0].title()
    words = re.findall(r"[^\W\d_]{2,}", question)
    if 2 * sum(not one.islower() for one in words) > len(words):
        return ""  # every word is written with a capital
    places = {word for name in own for word in plain(name).split()} | _NO_DRIVER
    for found in _ASKED.finditer(question):
        if not places & set(re.split(r"[ -]", plain(found[1]))):
            return found[1]
    return ""
