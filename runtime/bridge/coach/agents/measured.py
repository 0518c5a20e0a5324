"""Reads questions for something that is measured, and makes topics of what they ask; pure."""

from dataclasses import replace
from typing import Final

from runtime.bridge.coach.agents import danger_words as danger
from runtime.bridge.coach.agents import rank_words as rank
from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.asked import Ask, Topic
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.topic_words import first

OF_CORNER_ONLY: Final = frozenset(
    {"brake_release", "throttle_exit", "throttle_on", "corrections", "trail_brake"}
)
SHORT: Final = 4
"""Words of a question that is hardly one."""
SPENT: Final = {"throttle": "full", "coast": "coast"}
"""What a lap is spent on, by the measure that asks for it."""
JUDGED: Final = frozenset({"brake_point", "throttle_on"})
"""Places that may be too late or too early."""


def topic_for(told: Named, ask: Ask, what: str = "", *, spot: str = "", how: str = "") -> Topic:
    """The topic of a question with what it names, and whether it asks why or what to do."""
    text = told.text
    return Topic(
        ask,
        what,
        spot,
        how,
        told.corners,
        told.laps,
        told.sectors,
        told.straights,
        why=words.WHY.search(text) is not None,
        should=words.SHOULD.search(text) is not None,
        where=words.WHERE.search(text) is not None,
        wet=danger.WET.search(text) is not None,
    )


def measured(told: Named) -> Topic | None:
    """The measure that a question asks for, of a corner or of the whole lap."""
    text, what = told.text, first(words.MEASURES, told.text)
    if (board := _at_board(told)) is not None:
        return board
    if not what and words.BRAKE.search(text) and len(text.split()) <= SHORT:
        what = "brake_point" if told.corners else "brake_pressure"
    if (ranked := _ranked(told, what)) is not None:
        return ranked
    if not what or (what == "time" and not told.corners):
        return None
    how = _better(what, first(words.HOW, text), text)
    spot = first(words.SPOTS, text) if what in ("speed", "rpm") else ""
    if (judged := _judged(told, what, spot)) is not None:
        return judged
    if what == "brake_point":
        spot = _aimed(text)
    if told.corners:
        return _in_corner(told, what, spot, how)
    return _anywhere(told, what, spot, how)


def _at_board(told: Named) -> Topic | None:
    """Whether to brake at a board."""
    text = told.text
    asks = words.SHOULD.search(text) or danger.MAY.search(text)
    board = danger.BOARD.search(text) if told.corners and asks else None
    if board is None or not words.BRAKE.search(text):
        return None
    return replace(topic_for(told, "measure", "brake_point"), value=float(board[1]))


def _ranked(told: Named, what: str) -> Topic | None:
    """Which corner has most or least of it."""
    text = told.text
    ranked = words.CORNER_RANK if what == "speed" else rank.WHICH_CORNER
    if told.corners or what not in (*rank.RANKED, "speed") or not ranked.search(text):
        return None
    if what == "brake_point" and "compared" in text:
        return Topic("measure", what, "late" if "latest" in text else "early", "judged")
    how = first(words.HOW, text) or ("most" if what != "speed" else "")
    how = _better(what, "", text) if what == "brake_point" else how
    return topic_for(told, "measure", what, spot="rank", how=how)


def _judged(told: Named, what: str, spot: str) -> Topic | None:
    """Whether something was as it should be."""
    text, better = told.text, rank.IS_BETTER.search(told.text)
    if what == "speed" and told.corners and rank.MORE_SPEED.search(text):
        topic = topic_for(told, "measure", what, spot=spot, how="judged")
        return replace(topic, every="too", should=False)
    if what == "brake_point" and better is not None:
        return topic_for(told, "measure", what, spot=rank.WRONG[better[1]], how="judged")
    if not words.JUDGED.search(text) or not (told.corners or what == "brake_point"):
        return None
    spot = first(words.LATE, text) if what in JUDGED else spot
    every = "too" if "too slow" in text else "enough" if "enough" in text else ""
    if told.corners and _general(what, text):
        return None
    return replace(topic_for(told, "measure", what, spot=spot, how="judged"), every=every)


def _aimed(text: str) -> str:
    """Whether somebody would brake later, or earlier."""
    later = None if "how" in text else rank.LATER.search(text)
    return "" if later is None else "earlier" if later[0].startswith("earl") else "later"


def _general(what: str, text: str) -> bool:
    """Whether it is the corner that is asked about, and not the measure."""
    lost = words.LOSS.search(text) is not None
    should = words.SHOULD.search(text) is not None and not words.AMOUNT.search(text)
    return lost if what == "time" else what == "speed" and (lost or should)


def _in_corner(told: Named, what: str, spot: str, how: str) -> Topic | None:
    if _general(what, told.text):
        return None
    return topic_for(told, "measure", what, spot=spot, how=how)


def _anywhere(told: Named, what: str, spot: str, how: str) -> Topic | None:
    text = told.text
    if what == "speed" and words.SHOULD.search(text) and words.LOSS.search(text):
        return None
    if what in OF_CORNER_ONLY or what == "brake_point" or spot in ("entry", "exit", "apex"):
        return topic_for(told, "measure", what, spot=spot, how=how)
    if what in SPENT:
        return topic_for(told, "amount", SPENT[what])
    return topic_for(told, "extreme", what, how=how)


def _better(what: str, how: str, text: str) -> str:
    """Which end of a measure is meant: the fastest time is the least, the worst speed as well."""
    best, worst = rank.BEST.search(text), rank.WORST.search(text)
    if what == "time" and how != "each" and (best or worst):
        return "least" if best else "most"
    if what == "brake_point" and rank.LATEST.search(text):
        return "most" if "earliest" in text else "least"
    if how or not (best or worst) or what == "brake_point":
        return how
    low = what in ("coast", "corrections")
    return "least" if (best is not None) == low else "most"
