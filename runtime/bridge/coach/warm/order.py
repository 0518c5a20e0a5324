"""Whether the words of a part of a sentence stand in an order that says something; pure."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.warm.claims import Token
from runtime.bridge.coach.warm.lexicon import (
    ARTICLES,
    CONCEPTS,
    JOINING,
    PHRASE_CONCEPTS,
    PREPOSITIONS,
)

BESIDE: Final = frozenset({"against", "versus", "vs", "instead"})
"""They put another number beside one."""
_BEFORE_A_CORNER: Final = frozenset("at in of for through into is was exit entry improve".split())
_IS: Final = frozenset("is was were are be been being has have had".split())
_DOES: Final = frozenset(
    """went go goes came come comes reach reaches get gets got take takes took taken spent spend set
    posted lie lies pull pulled do did does lost lose loses cost costs dropped gained gain gains won
    saved braked coasted rolled exited entered improved improves earned earns scored drove completed
    carried held lasted""".split()
)
"""Verbs, of which a part has one."""
_DONE: Final = frozenset("taken set lost spent gained won saved driven".split())
"""Those of them that stand behind a form of *be* or *have*."""
_COMPARING: Final = frozenset(
    "later earlier sooner faster quicker slower slow more less higher lower".split()
)
_WHEN: Final = frozenset("early earlier late later sooner prematurely".split())
_DOING: Final = frozenset(
    "braking coasting rolling losing gaining leaving entering exiting dropping leaking".split()
)
"""Forms of verbs that are an order or a fact, where no other verb stands with them."""
_THINGS: Final = frozenset({"coasting time", "braking point", "braking pressure"})
"""What is named by them."""
_LEADING: Final = frozenset("at in into on for through the your usualpass".split())
_AGAIN: Final = frozenset({"score", "lapword"})
"""Of these a part may speak twice."""


def meaning(word: str) -> str:
    """What a word says in a statement; itself where nobody knows."""
    usual = {"midcorner": "apex", "turnin": "entry"}
    return usual.get(word) or CONCEPTS.get(word, word)


def bids(words: Sequence[str], measured: bool) -> bool:
    """Whether words stand without a verb, and so may be an order: *15 m earlier on the brakes*."""
    if "you" in words or not (_IS | _DOES).isdisjoint(words):
        return False
    if not _WHEN.isdisjoint(words):
        return True
    said = [word for word in words if word not in _LEADING]
    if said and said[0] in _DOING and " ".join(said[:2]) not in _THINGS:
        return True
    return not measured and not _COMPARING.isdisjoint(words)


def jumbled(part: Sequence[Token]) -> str | None:
    """The first word that stands where it says nothing, or something else; None: none does."""
    for at, token in enumerate(part):
        behind = part[at + 1 :]
        if token.kind == "corner" and not _stands(part[:at]):
            return token.text
        if token.kind != "word":
            continue
        if token.text in PREPOSITIONS and not _leads(token.text, behind):
            return token.text
        if token.text in BESIDE and at:
            return token.text
        if token.text in ARTICLES and not (behind and _is_thing(behind[0])):
            return token.text
    if len(part) > 2 and part[-1].kind == "word" and part[-1].text in _IS:
        return part[-1].text  # "Turn 4 is where ..." begins with less
    return _crowded([token.text for token in part if token.kind == "word"])


def _crowded(words: Sequence[str]) -> str | None:
    """A word of which there is one too many."""
    does = [word for word in words if word in _DOES]
    beside = sum(word in _IS for word in words)
    if len(does) > 1 or beside > 1 or (does and beside and does[0] not in _DONE):
        return (does or words)[-1]
    said = Counter(meaning(word) for word in words if word in CONCEPTS or word in PHRASE_CONCEPTS)
    return next((word for word, n in said.items() if n > 1 and word not in _AGAIN), None)


def _is_thing(token: Token) -> bool:
    """Whether something may be called *the*."""
    if token.kind != "word":
        return token.kind in ("corner", "lap", "measure", "name", "letter", "sector")
    known = token.text in CONCEPTS or token.text in PHRASE_CONCEPTS
    return known or token.text in ("car", "vsref", "focus")


def _leads(word: str, behind: Sequence[Token]) -> bool:
    """Whether a word like *at* stands before something of which it is understood."""
    for token in behind:
        if token.kind != "word":
            return token.kind in PREPOSITIONS[word]
        if token.text not in ARTICLES and token.text != "of":
            return not PREPOSITIONS[word].isdisjoint((token.text, meaning(token.text)))
        if token.text == "of" and word != "instead":
            return False
    return False


def _stands(before: Sequence[Token]) -> bool:
    """Whether a corner stands where it is a place, or what is spoken of."""
    for token in reversed(before):
        if token.kind != "word":
            return token.kind in ("name", "lap")
        if token.text not in ARTICLES:
            known = not _BEFORE_A_CORNER.isdisjoint((token.text, meaning(token.text)))
            return known or token.text in JOINING
    return True
