"""Grounding: an order in the words of a true fault is no statement of it."""

from itertools import product
from typing import Final

import pytest

from runtime.bridge.coach.warm.bidding import orders
from runtime.bridge.coach.warm.claims import tokens
from runtime.bridge.coach.warm.grounding import false_part, grounded
from tests.bridge.coach.warm.groundkit import EVIDENCE

ORDERS: Final = (
    "brake {m} m earlier|brake {m} m early|brake early|brake too early|coast|coast for {c} s|roll"
    "|lose {d} s|lose time|go slower|go {x} km/h slower|slow|drop {d} s|leak {d} s|waste {d} s"
    "|give away {d} s|take {d} s|spend {c} s coasting|cost {d} s|exit slower|enter slower"
    "|come in {x} km/h slower|come out {x} km/h slower|to brake {m} m early|do coast|drive slower"
    "|braking {m} m early|losing time|losing {d} s|coasting"
    "|on the brakes {m} m earlier|{m} m earlier on the brakes|early braking"
    "|start braking {m} m early|carry {x} km/h less|hold the brake|open the throttle late"
).split("|")
FRAMES: Final = (
    "{F} at {N}.|At {N}, {F}.|At {N} {F}.|{N}: {F}.|Into {N}, {F}.|At the exit of {N}, {F}."
    "|Mia, {F} at {N}.|And {F} at {N}.|Then {F} at {N}.|So {F} at {N}.|Next time, {F} at {N}."
    "|Please {F} at {N}.|You should {F} at {N}.|You have to {F} at {N}."
    "|Keep your eyes up and {F} at {N}.|{F} at {N} and keep your eyes up.|{F}: {N}."
).split("|")
FAULTS: Final = (
    {"N": "Turn 4", "m": "15", "c": "2.0", "d": "0.62", "x": "2.1"},
    {"N": "Turn 5", "m": "5", "c": "1.7", "d": "0.302", "x": "4.3"},
    {"N": "Turn 10", "m": "8", "c": "2.1", "d": "0.316", "x": "3.1"},
)


def sentence(frame: str, order: str, fault: dict[str, str]) -> str:
    said = frame.replace("{F}", order).format(**fault)
    return said[0].upper() + said[1:]


@pytest.mark.parametrize("frame", FRAMES)
def test_no_order_to_repeat_a_fault_is_shown(frame: str) -> None:
    said = [sentence(frame, order, fault) for order, fault in product(ORDERS, FAULTS)]
    assert [one for one in said if grounded(one, EVIDENCE).text] == []


@pytest.mark.parametrize(
    "said",
    [
        "You brake 15 m early at Turn 4.",
        "At Turn 4 you brake early.",
        "You coast for 2.0 s at Turn 4.",
        "You brake early at Turn 4 and coast for 2.0 s.",
        "You lose 0.62 s at Turn 4.",
        "Turn 4 cost you 0.62 s.",
        "The brakes come 15 m early at Turn 4.",
        "Your maximum brake pressure was 43.3 bar.",
        "Brake a little later at Turn 5.",
        "At Turn 5, brake later.",
        "Your laps lie within 4.26 s.",
    ],
)
def test_what_has_its_subject_or_is_known_advice_is_shown(said: str) -> None:
    assert false_part(said, EVIDENCE) is None


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("brake late at turn 4", "brake"),
        ("and coast", "coast"),
        ("at turn 4 go slower", "go"),
        ("exit turn 4 slower", "exit"),
        ("you brake late", None),
        ("you did coast", None),
        ("the brakes come early", None),
        ("exit speed", None),
        ("turn 4 cost you time", None),
    ],
)
def test_a_plain_verb_needs_who_does_it(said: str, word: str | None) -> None:
    assert orders(tokens(said)) == word
