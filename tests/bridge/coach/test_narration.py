"""What of a model's words reaches the driver: what the facts bear out, and no false number."""

import json
import re
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.coach.fact import Cell, Corner, Fact, Place, Term, Value
from runtime.bridge.coach.grounding.evidence import Evidence
from runtime.bridge.coach.narration import schema_of, split_sentences, weigh
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import CornerNames, Names
from runtime.bridge.coach.wording.words import words_of

TABLE: Final = Path(__file__).with_name("narration.tsv")
FRESH: Final = Path(__file__).with_name("narration-apart.tsv")
NICKNAMES: Final = {4: ("Storm Hook", "the hairpin"), 7: ("The Wink",)}
NAMES: Final = Names(
    tuple(CornerNames(f"Turn {at}", at, NICKNAMES.get(at, ())) for at in range(1, 12)),
    tuple(range(1, 10)),
    asker="Ana",
    drivers=("Ben",),
)


class Answer(NamedTuple):
    """What the coach answers with."""

    language: Language
    facts: list[Fact]


class Line(NamedTuple):
    """A sentence of a model about the facts of an answer."""

    answer: str
    true: bool
    text: str


def cell(told: Any) -> Cell:
    """A value of a fact as the table has it."""
    match told:
        case {"n": number, "u": unit}:
            return Value(number, unit, "s" in told)
        case {"t": kind, "k": key}:
            return Term(kind, key)
        case {"c": name}:
            return Corner(name)
        case list():
            return tuple(cell(one) for one in told)
    return cast(Cell, told)


def read_table() -> tuple[dict[str, Answer], list[Line]]:
    """A an answer, F its facts, T a true sentence, L a lie."""
    found: dict[str, Answer] = {}
    lines: list[Line] = []
    key, answer = "", Answer("en", [])
    for row in TABLE.read_text("utf-8").splitlines():
        mark, head, text = row.split("\t")
        if mark == "A":
            key, answer = text, Answer(cast(Language, head), [])
            found[key] = answer
        elif mark == "F":
            told = json.loads(text)
            values = {"driver": "own"}  # as in every fact of a session
            values |= {key: cell(one) for key, one in told.pop("values").items()}
            place = Place(told.pop("corner")) if "corner" in told else None
            laps = tuple(told.pop("laps", ()))
            answer.facts.append(Fact(head, values, place, laps, **told))
        else:
            lines.append(Line(key, mark == "T", text))
    return found, lines


def read_apart() -> list[Line]:
    """T a true sentence; a false number N, corner C or direction D."""
    rows = (row.split("\t") for row in FRESH.read_text("utf-8").splitlines())
    return [Line(key, mark == "T", text) for key, mark, text in rows]


ANSWERS, TOGETHER = read_table()
APART: Final = read_apart()
NUMBER: Final = re.compile(r"(?<![\d.,:+-])\d+(?:[.,]\d+)?(?= (?:km/h|s|m|bar)\b)")
WORDS: Final = words_of("en", "metric")
LOSS: Final = ANSWERS["loss"].facts


def evidence_of(answer: Answer) -> Evidence:
    return Evidence(answer.facts, words_of(answer.language, "metric"), NAMES)


@pytest.mark.parametrize("written", ["with the check", "before it"])
def test_most_of_what_is_true_reaches_the_driver_and_nothing_false(written: str) -> None:
    """The first sentences were at hand when the check was made; the others were written apart."""
    lines = TOGETHER if written == "with the check" else APART
    evidence = {key: evidence_of(answer) for key, answer in ANSWERS.items()}
    kept = {line for line in lines if evidence[line.answer].refute(line.text) is None}
    assert [line for line in kept if not line.true] == []
    assert len(kept) >= 0.9 * sum(line.true for line in lines)


def test_no_true_sentence_stays_true_with_another_number() -> None:
    evidence = {key: evidence_of(answer) for key, answer in ANSWERS.items()}
    changed = [
        Line(
            line.answer, False, f"{line.text[: found.start()]}7{found[0]}{line.text[found.end() :]}"
        )
        for line in (*TOGETHER, *APART)
        if line.true
        for found in NUMBER.finditer(line.text)
    ]
    assert len(changed) > 300
    assert [line for line in changed if evidence[line.answer].refute(line.text) is None] == []


@given(st.floats(0.0, 400.0), st.integers(0, 2), st.sampled_from(["s", "m", "km/h", "bar", "%"]))
def test_no_false_number_passes_whatever_its_unit(value: float, digits: int, unit: str) -> None:
    written = f"{value:.{digits}f}"
    known = {"s": (0.823, 0.271, 0.219), "m": (21.2, 5.0, 127.2, 106.0)}.get(unit, ())
    near = [one for one in known if abs(one - float(written)) <= 0.5 * 10.0**-digits + 0.01]
    evidence = Evidence(LOSS, WORDS, NAMES)
    if not near:
        assert evidence.refute(f"Look for {written} {unit} there.") is not None


@given(st.text(max_size=200))
def test_any_text_is_judged(text: str) -> None:
    narration = weigh(text, LOSS, WORDS, NAMES)
    assert narration.order == (1, 2, 3)


def test_a_model_orders_the_facts_behind_the_first_and_adds_what_is_true() -> None:
    remark = "You brake 21 m too early at Turn 1. Turn 1 costs 3.1 s. [EMOTION: proud]"
    reply = {"order": [3, 1, 2], "links": ["then", "also", "because"], "remark": remark}
    narration = weigh(json.dumps(reply), LOSS, WORDS, NAMES)
    assert narration.order == (3, 1, 2)
    assert narration.links == ("then", "also", "")
    assert narration.remark == "You brake 21 m too early at Turn 1."
    assert (narration.dropped, narration.used, narration.reason) == (1, True, None)


@pytest.mark.parametrize(
    "reply",
    [
        {"order": [0, 1, 2], "links": [], "remark": ""},
        {"order": [1, 1, 2], "remark": 7},
        {"order": "all", "links": {"a": 1}},
        [],
        7,
    ],
)
def test_an_order_that_is_none_changes_nothing(reply: object) -> None:
    narration = weigh(json.dumps(reply), LOSS, WORDS, NAMES)
    assert narration.order == (1, 2, 3)
    assert (narration.links, narration.remark) == (("", "", ""), "")


def test_an_answer_without_json_counts_as_sentences_and_repeats_nothing() -> None:
    text = "- Cause: braking 21 m earlier.\n2. **Look ahead.** It took 1:52.204. Good."
    assert split_sentences(text) == [
        "Cause: braking 21 m earlier.",
        "Look ahead.",
        "It took 1:52.204.",
        "Good.",
    ]
    same = weigh(WORDS.sentence(LOSS[0]), LOSS, WORDS, NAMES)
    assert (same.remark, same.used, same.dropped) == ("", False, 0)
    false = weigh("You spun at Turn 9.", LOSS, WORDS, NAMES)
    assert (false.remark, false.reason) == ("", "ungrounded")


def test_the_schema_leaves_the_first_fact_where_it_is() -> None:
    order = schema_of(4)["properties"]["order"]  # type: ignore[index]
    assert (order["items"]["minimum"], order["items"]["maximum"]) == (1, 3)
    assert (order["maxItems"], schema_of(1)["properties"]["order"]["maxItems"]) == (3, 0)  # type: ignore[index]
