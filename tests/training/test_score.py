"""The scoring of coach models: good replies pass, and each kind of fault is seen."""

from collections.abc import Sequence

import pytest

from training.coach.score import OURS, Case, Message, converse, faults, holds, judge, main, table

READING = Case(
    id="t",
    ability="telemetry",
    turns=("Turn 7: brake 34 bar, 0.9 g",),
    all=("Turn 7", "34"),
    any=(("release",),),
)
REFUSAL = Case(id="r", ability="refusal", turns=("Who was Plato?",), refuse=True)
GOOD = "At Turn 7 there are still 34 bar, so release the brake as you turn."
NO = "I only know driving, so I cannot help with that."


@pytest.mark.parametrize(("case", "reply"), [(READING, GOOD), (REFUSAL, NO)])
def test_a_good_reply_has_no_fault(case: Case, reply: str) -> None:
    assert faults(case, reply) == []


@pytest.mark.parametrize(
    ("case", "reply", "fault"),
    [
        (READING, "At Turn 7 release the brake.", "lacks '34'"),
        (READING, "At Turn 71 release the 34 bar.", "lacks 'Turn 7'"),
        (READING, "At Turn 7 you have 34 bar.", "lacks one of"),
        (READING, GOOD.replace("34", "34 of 90"), "invents 90"),
        (READING, NO, "refuses"),
        (READING, GOOD[:-1], "no end"),
        (READING, f"{GOOD} {GOOD}", "repeats"),
        (READING, f"{GOOD} One. Two. Three.", "4 sentences"),
        (READING, "", "0 sentences"),
        (REFUSAL, "Brake later for the next corner.", "does not refuse"),
    ],
)
def test_a_fault_is_named(case: Case, reply: str, fault: str) -> None:
    assert fault in " ".join(faults(case, reply))


@pytest.mark.parametrize(
    ("text", "wanted", "found"),
    [
        ("It is 34 bar.", "34", True),
        ("It is 134 bar.", "34", False),
        ("It is 34.5 bar.", "34", False),
        ("It was 1:34.", "34", False),
        ("At t5, brake.", "T5", True),
        ("At T55, brake.", "T5", False),
    ],
)
def test_a_number_counts_only_as_a_whole(text: str, wanted: str, found: bool) -> None:
    assert holds(text, wanted) is found


def test_a_second_turn_sees_the_reply_to_the_first() -> None:
    seen: list[list[str]] = []

    def chat(messages: Sequence[Message]) -> str:
        seen.append([message["role"] for message in messages])
        return "Yes."

    converse(Case(id="x", ability="two_turn", turns=("One?", "Two?"), system="Be brief."), chat)
    assert seen == [["system", "user"], ["system", "user", "assistant", "user"]]


def test_the_table_has_a_row_for_each_ability_and_a_sum() -> None:
    cases = [READING, REFUSAL]
    replies = judge(cases, lambda told: NO if "Plato" in told[-1]["content"] else GOOD)
    good = {case for case, (_, wrong) in replies.items() if not wrong}
    bad = {case for case, (_, wrong) in judge(cases, lambda _told: NO).items() if not wrong}
    rows = table(cases, {"good": good, "bad": bad}).splitlines()
    assert rows[0] == "| ability | cases | good | bad |"
    assert rows[-1] == "| all | 2 | 2 (100 %) | 1 (50 %) |"
    assert bad == {"r"}


def test_a_missing_model_file_is_said_and_not_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", str(OURS.with_name("none.gguf"))]) == 1
    assert "no such model file" in capsys.readouterr().err
