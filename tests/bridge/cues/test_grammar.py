"""The language of conditions: what it means, and what it says of mistakes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.cues.concepts import GrammarError, Names, parse

NAMES = Names(("near", "far", "a", "b"), frozenset({"near", "far"}))


def holds(text: str, near: bool | None = True, a: float = 1.0, b: float = 2.0) -> bool:
    return parse(text, NAMES).holds((near, False, a, b))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("near", True),
        ("!near", False),
        ("far", False),
        ("!far", True),
        ("a < b", True),
        ("a > b", False),
        ("a<=1", True),
        ("a >= 1.0", True),
        ("a == 1", True),
        ("a + b == 3", True),
        ("a + b + 2 > 4.9", True),
        ("a + -2 < 0", True),
        ("-2 + a < 0", True),
        ("b < a + 1", False),
        ("b > a + 0.5", True),
        ("near && a < b", True),
        ("near && a < b && far", False),
        ("true && !far && -1 < a", True),
        ("1 < 2", True),
    ],
)
def test_a_condition_means_what_it_says(text: str, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "=="])
def test_nothing_holds_for_what_was_not_measured(sign: str) -> None:
    assert not holds(f"a {sign} 0", a=math.nan)
    assert not holds(f"0 {sign} b + a", a=math.nan)


def test_a_flag_that_is_not_known_neither_holds_nor_does_its_negation() -> None:
    assert not holds("near", near=None)
    assert not holds("!near", near=None)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", 1),
        ("   ", 4),
        ("a", 2),
        ("a <", 4),
        ("a < b b", 7),
        ("a < b &&", 9),
        ("&& a < b", 1),
        ("c < 1", 1),
        ("a < near", 5),
        ("!a", 2),
        ("!!near", 2),
        ("! a < 1", 3),
        ("a < -b", 6),
        ("a + < 1", 5),
        ("a - 1 < 2", 3),
        ("a & b", 3),
        ("a | b", 3),
        ("a != b", 4),
        ("a < 1 || b < 1", 7),
        ("(a < b)", 1),
        ("a < 1.", 6),
        ("a < true", 5),
        ("a < é", 5),
        ("near < 1", 6),
        ("a < 1 < 2", 7),
    ],
)
def test_a_mistake_names_its_place(text: str, place: int) -> None:
    with pytest.raises(GrammarError, match=f"^character {place}: ") as caught:
        parse(text, NAMES)

    assert caught.value.at == place - 1


def test_a_condition_has_an_end() -> None:
    with pytest.raises(GrammarError, match="1000 characters"):
        parse("a < 1 && " * 200 + "true", NAMES)


@given(st.text(alphabet="ab near!&<>=+-.019 true(", max_size=60))
def test_any_text_is_read_or_refused_at_a_place_of_it(text: str) -> None:
    try:
        at, held = 0, parse(text, NAMES).holds((True, False, 1.0, 2.0))
    except GrammarError as error:
        at, held = error.at, False

    assert 0 <= at <= len(text)
    assert held in (True, False)
