"""Whether a part of a sentence orders something, where it seems to state it; pure.

*Brake 15 m early at Turn 4* has the words of *You brake 15 m early at Turn 4*. A verb in its plain
form states something only behind *you*, or behind the noun that does it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from runtime.bridge.coach.warm.claims import Token
from runtime.bridge.coach.warm.lexicon import (
    ARTICLES,
    CONCEPTS,
    JOINING,
    PHRASE_CONCEPTS,
    PREPOSITIONS,
)

_DRIVER: Final = frozenset(
    """brake coast roll lose leak bleed drop waste gain win save improve drive complete earn have do
    spend reach pull get enter be go take set""".split()
)
"""What a driver does, and no corner and no lap in this form."""
_THINGS: Final = frozenset("cost lie come".split())
"""What things do too."""
_EITHER: Final = frozenset("exit apex score grade turn turns slow range time speed focus".split())
"""Nouns and other words that are an order before a corner, a number or a manner."""
_MANNER: Final = frozenset("early late slow slower faster more less".split())
_HELPING: Final = frozenset({"do", "did"})
_NAMING: Final = frozenset("pressure point max".split())
"""Behind *brake* they make a noun of it."""
_ROLLS: Final = frozenset({"coast", "roll"})
_PLACES: Final = frozenset({*PREPOSITIONS, "usualpass"})


def orders(part: Sequence[Token]) -> str | None:
    """The word by which a part is an order, or may be one; None: it is none."""
    words = list(part)
    if words and words[0].kind == "word" and words[0].text in JOINING:
        words = words[1:]
    for at, token in enumerate(words):
        if token.kind == "word" and _bare(words, at):
            return token.text
    return None


def goes_on(before: Sequence[str], lead: str, glue: str) -> bool:
    """Whether a verb behind *and* has its *you* in the part before: *you brake early and coast*."""
    if lead != "and" or glue:
        return False
    return any(one == "you" and other in _DRIVER for one, other in pairwise(before))


def _bare(words: Sequence[Token], at: int) -> bool:
    """Whether the word there is a verb of which nobody says who does it."""
    word = words[at].text
    if word in _DRIVER:
        return not (_named(words, at) or _you(words, at))
    if word in _THINGS:
        return not (_you(words, at) or _thing(words, at))
    if at == 0 and word in _EITHER:
        return _aimed(words)
    return False


def _you(words: Sequence[Token], at: int) -> bool:
    """Whether *you* stands right before the word there."""
    while at and words[at - 1].kind == "word" and words[at - 1].text in _HELPING:
        at -= 1
    return at > 0 and words[at - 1].kind == "word" and words[at - 1].text == "you"


def _thing(words: Sequence[Token], at: int) -> bool:
    """Whether what does it stands before the word there, and no mere place."""
    return at > 0 and not _is_place(words[:at])


def _is_place(words: Sequence[Token]) -> bool:
    """Whether words begin as *at the exit of Turn 4* does."""
    return words[0].kind == "word" and words[0].text in _PLACES


def _named(words: Sequence[Token], at: int) -> bool:
    """Whether a word like *brake* is a noun there: *the brake*, *brake pressure*."""
    behind = words[at + 1] if at + 1 < len(words) else None
    if behind is not None and behind.kind == "word" and behind.text in _NAMING:
        return True
    before = words[at - 1] if at else None
    if before is None or before.kind != "word":
        return False
    if before.text == "to":
        return words[at].text == "gain"
    if words[at].text in _ROLLS:
        return before.text == "of"
    return before.text in ARTICLES or before.text in PREPOSITIONS or _possible(before.text)


def _possible(word: str) -> bool:
    """Whether a word before a noun tells which it is: *ideal gain*, *highest brake pressure*."""
    return CONCEPTS.get(word) in ("ideal", "max", "most", "average") or word == "ideal"


def _aimed(words: Sequence[Token]) -> bool:
    """Whether a word that may be a noun goes on as an order does: *exit Turn 4 slower*."""
    if words[0].text == "slow":
        return True
    if len(words) == 1:
        return False
    behind = words[1]
    if behind.kind in ("corner", "measure", "name"):
        return True
    known = CONCEPTS.get(behind.text, behind.text if behind.text in PHRASE_CONCEPTS else "")
    return behind.kind == "word" and (behind.text in ARTICLES or known in _MANNER)
