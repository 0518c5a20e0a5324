"""Words in pieces, conversations in memory, prompts, and answers of other servers; all pure."""

import json
import time
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.coach.agents.answers import template
from runtime.bridge.coach.agents.history import MOST, Histories, key_of
from runtime.bridge.coach.agents.intents import INTENTS, understood
from runtime.bridge.coach.agents.passages import embedding_in, lessons_in, params_in
from runtime.bridge.coach.agents.prompt import evidence, messages, recent
from runtime.bridge.coach.agents.roster import BY_INTENT, plan
from runtime.bridge.coach.agents.sieve import Sieve
from runtime.bridge.coach.agents.sources import Circuit
from runtime.bridge.coach.agents.traces import CLOCK
from runtime.bridge.coach.agents.values import Fact, Found, Lesson, Turn
from runtime.bridge.coach.agents.voice import voice
from runtime.bridge.coach.warm.grounding import false_part
from tests.bridge.analysis.lapkit import TRACKS

LARKFELL: Final = TRACKS["larkfell"]
WORDS: Final = st.text("abc .!?\n-1A", max_size=200)
KNOWN: Final = Found(
    "corner_history",
    "Turn 4 took 4.21 s at best, on lap 5.",
    ("That pass had 66 km/h at the entry.",),
    (Fact("Turn 4, best pass, time", 4.21, "s", 2),),
    line="Turn 4: coast 1.2 s",
)


def turn(number: int, size: int = 10) -> Turn:
    return Turn(f"q{number}".ljust(size, "?"), f"a{number}".ljust(size, "."), "neutral", 1, 2)


@given(st.text(max_size=300))
def test_no_question_breaks_the_router(text: str) -> None:
    asked = understood(text, corners=LARKFELL.corners)
    assert asked.intent in INTENTS
    assert plan(asked)


@pytest.mark.parametrize(
    "text",
    [
        "```" + " " * 3990,
        "make " * 790,
        "select " * 560,
        "with a as (" * 360,
        "lap 1 " * 660,
        "agent " * 660,
        "1:" * 1990,
        "t" * 4000,
        "compare my " * 360,
    ],
)
def test_a_long_question_is_understood_at_once(text: str) -> None:
    began = time.process_time()
    assert understood(text, corners=LARKFELL.corners).intent in INTENTS
    assert time.process_time() - began < 1.0


@given(WORDS, st.lists(st.integers(1, 20), max_size=60))
def test_however_a_text_is_cut_the_same_sentences_pass(text: str, cuts: list[int]) -> None:
    whole = Sieve(lambda line: "1" not in line)
    expected = whole.finish(text)
    pieces = Sieve(lambda line: "1" not in line)
    shown, at = [], 0
    for size in cuts:
        shown += pieces.feed(text[at : at + size])
        at += size
    shown += pieces.finish(text[at:])
    assert shown == expected
    assert pieces.dropped == whole.dropped


def test_what_fails_what_repeats_and_what_is_cut_off_does_not_pass() -> None:
    sieve = Sieve(lambda line: "bad" not in line, "Known already.")
    assert sieve.feed("Known already. Good one. A bad one. Good one. - And") == ["Good one."]
    assert sieve.finish(" the rest of", cut=True) == []
    assert sieve.dropped == 1
    listed = Sieve(lambda _: True)
    assert listed.finish("1. Brake.\n- Turn in.\n# Done") == ["Brake.", "Turn in.", "Done"]


def test_memory_has_a_budget_and_what_leaves_it_is_handed_out() -> None:
    talks = Histories(budget=100)
    counts, left = [], []
    for number in range(8):
        count, rows = talks.add("Mia", "s", turn(number), float(number))
        counts.append(count)
        left += rows
    assert counts == [1, 2, 3, 4, 5, 5, 5, 5]
    assert [row.role for row in left] == ["user", "assistant"] * 3
    assert left[0].text.startswith("q0")
    assert len(talks.end(key_of("Mia", "s"))) == 10
    assert talks.end(key_of("Mia", "s")) == []


def test_one_turn_is_kept_however_long_it_is() -> None:
    talks = Histories(budget=10)
    assert talks.add("", "", turn(1, 500), 0.0) == (1, [])
    count, rows = talks.add("", "", turn(2, 500), 0.0)
    assert (count, len(rows)) == (1, 2)


def test_the_oldest_conversation_leaves_for_a_new_one() -> None:
    talks = Histories()
    for number in range(MOST):
        talks.add(str(number), "", turn(0), 0.0)
    assert talks.add("new", "", turn(0), 0.0)[1][0].driver_id == "0"
    assert len(talks.known()) == MOST


def test_idle_conversations_are_found_by_the_hour() -> None:
    talks = Histories()
    talks.add("a", "", turn(0), 0.0)
    talks.add("b", "", turn(0), 1000.0)
    assert talks.idle(3600.0) == ["a:"]
    assert talks.idle(4600.0) == ["a:", "b:"]


def test_six_turns_are_sent_and_fewer_where_they_are_long() -> None:
    turns = [turn(number) for number in range(9)]
    assert [one.question[:2] for one in recent(turns, 10_000)] == [f"q{n}" for n in range(3, 9)]
    assert len(recent(turns, 50)) == 2
    assert recent(turns, 5) == []


def test_a_prompt_ends_with_facts_and_question() -> None:
    asked = understood("How is T4?", corners=LARKFELL.corners, session_id="s")
    lesson = Lesson("l", "Braking", None, "Hold it. " * 200)
    chat = messages(BY_INTENT["corner"], asked, [KNOWN], [lesson], [turn(1)])
    assert [one["role"] for one in chat] == ["system", "user", "assistant", "user"]
    assert "Turn 4, best pass, time: 4.21 s" in chat[-1]["content"]
    assert chat[-1]["content"].endswith("\n\nHow is T4?")
    assert len(chat[-1]["content"]) < 800


def test_facts_of_tools_are_evidence_and_lessons_are_not() -> None:
    lesson = Lesson("l", "Braking", None, "Brake 55 m before.")
    truth = evidence([KNOWN], [lesson], Circuit(LARKFELL, LARKFELL.corners))
    for said in (
        "Turn 4 took 4.21 s at best.",
        "You coast 1.2 s there.",
        "Look ahead at Storm Hook.",
    ):
        assert false_part(said, truth) is None, said
    for said in ("Turn 4 took 4.61 s.", "Brake 55 m before.", "Turn 14 is slow.", "It took 9 s."):
        assert false_part(said, truth) is not None, said


def test_an_answer_of_facts_says_facts_advice_and_lesson_in_that_order() -> None:
    asked = understood("How is T4?", corners=LARKFELL.corners, session_id="s")
    text = template(asked, [KNOWN], [Lesson("l", "Braking")])
    assert text == (
        "Turn 4 took 4.21 s at best, on lap 5. That pass had 66 km/h at the entry."
        " Change one thing there, then look at the exit speed."
        " More in the lesson “Braking”."
    )
    bare = template(asked, [KNOWN], advice=False)
    assert text.startswith(bare)
    nothing = Found("corner_history", "This session has no complete lap yet.", empty=True)
    assert template(asked, [nothing]) == nothing.summary
    assert "Name a session" in template(replace(asked, session_id=""), [nothing])


def test_code_begins_and_a_small_model_is_asked_for_little() -> None:
    corner = understood("How is T4?", corners=LARKFELL.corners)
    assert voice(corner, [KNOWN], [], small=False) == (KNOWN.summary, None, False)
    small = voice(corner, [KNOWN], [], small=True)
    assert (small.asked, small.silent) == ("Turn 4: coast 1.2 s", False)
    goal = understood("Set me a goal")
    assert voice(goal, [KNOWN], [], small=True).silent
    assert not voice(goal, [KNOWN], [], small=False).silent
    assert voice(understood("what is grip"), [KNOWN], [], small=True).asked == "what is grip"
    assert voice(understood("write a voice script"), [KNOWN], [], small=False).silent


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"data": 7}', b"nonsense", b"\xff"])
def test_what_is_no_answer_of_a_search_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        lessons_in(body)
    with pytest.raises(ValueError, match=r".*"):
        embedding_in(body)


def test_lists_of_models_are_read_with_suspicion() -> None:
    listed = {
        "data": [
            7,
            {"id": "a"},
            {"id": "b", "meta": {"kind": "embedding"}},
            {"id": "c", "meta": {"kind": "chat", "n_params": 2_263_104}},
        ]
    }
    body = json.dumps(listed).encode()
    assert embedding_in(body) == "b"
    assert params_in(body, "c") == 2_263_104.0
    assert params_in(body, "a") is None


def test_no_two_steps_have_one_moment() -> None:
    moments = [CLOCK.now() for _ in range(1000)]
    assert moments == sorted(set(moments))
