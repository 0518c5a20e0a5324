"""Whether a request continues a conversation is decided by messages and tokens alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.engine.worker.conversations import (
    Memory,
    Part,
    Parts,
    Prompt,
    hash_messages,
    make_plan,
    split_generated,
)
from runtime.llm.engine.worker.engine import StopScanner
from runtime.llm.inference import ReplyFormat
from runtime.llm.messages import ChatMessage, MessageCall, MessageFunction
from tests.llm.worker.harness import spoken

FIRST = [("system", "Coach."), ("user", "Turn 9?")]
MEMORY = Memory(
    1, hash_messages(spoken(FIRST)), 2, "Brake late.", (0.5, 40), [1, 2, 3, 4], [5], " end"
)
NEXT = [*FIRST, ("assistant", " Brake late.\n"), ("user", "And turn 3?")]
AFTER = (Part("<end>", quoted=False), Part("next", quoted=True))


def letters(tail: str, after: Parts) -> list[int]:
    return [ord(letter) for text in (tail, *(part.text for part in after)) for letter in text]


Talk = list[tuple[str, str]]
CASES: list[tuple[Talk, tuple[float, int], str | None]] = [
    (NEXT, (0.5, 40), None),
    ([*FIRST, ("user", "And turn 3?")], (0.5, 40), None),
    (NEXT, (0.6, 40), "sampler"),
    (NEXT, (0.5, 41), "sampler"),
    ([("system", "Coach!"), *NEXT[1:]], (0.5, 40), "history"),
    ([("user", "Turn 9?")], (0.5, 40), "history"),
    (FIRST, (0.5, 40), "retry"),
    ([*NEXT, ("assistant", "x"), ("user", "more")], (0.5, 40), "turns"),
    ([*FIRST, ("system", "Be brief."), ("user", "And turn 3?")], (0.5, 40), "turns"),
    ([*FIRST, ("assistant", "Brake early."), ("user", "And turn 3?")], (0.5, 40), "edited"),
]


@pytest.mark.parametrize(("messages", "sampler", "reason"), CASES)
def test_a_request_continues_only_the_very_same_conversation(
    messages: Talk, sampler: tuple[float, int], reason: str | None
) -> None:
    made = make_plan(
        MEMORY, Prompt(spoken(messages), [1, 2, 9, 9, 9], AFTER), sampler, 100, letters
    )
    assert (made.kind, made.reason) == (("hit" if reason is None else "rebuilt"), reason)


CALLED = ChatMessage(
    role="assistant",
    content="I look.",
    tool_calls=[
        MessageCall(
            id="c1",
            type="function",
            function=MessageFunction(name="brake", arguments={"turn": 9}),
        )
    ],
)
TEXT = 'I look.\n<tool_call>\n{"arguments": {"turn": 9.0}, "name": "brake"}\n</tool_call>'


@pytest.mark.parametrize(
    ("reply", "echo", "fresh", "reason"),
    [
        (TEXT, CALLED, ["tool"], None),
        (TEXT, CALLED, ["tool", "tool"], None),
        (TEXT, CALLED, ["user"], None),
        (TEXT, CALLED, ["tool", "user"], "turns"),
        (TEXT, CALLED, [], "turns"),
        (TEXT, {**CALLED, "content": "I do."}, ["tool"], "edited"),
        (TEXT.replace("9", "8"), CALLED, ["tool"], "edited"),
        ("I look.", CALLED, ["tool"], "edited"),
        (f"<think>hm</think>\n\n{TEXT}", CALLED, ["tool"], "thought"),
    ],
)
def test_a_call_that_comes_back_with_its_results_goes_on(
    reply: str, echo: ChatMessage, fresh: list[str], reason: str | None
) -> None:
    memory = replace(MEMORY, reply=reply)
    turns = [ChatMessage(role=role, content="34 bar") for role in fresh]
    messages = [*spoken(FIRST), echo, *turns]
    form = ReplyFormat("tagged", thinks=True)
    prompt = Prompt(messages, [1, 2, 9], AFTER, format=form)
    assert make_plan(memory, prompt, (0.5, 40), 100, letters).reason == reason


def test_a_template_that_cannot_tell_the_last_reply_apart_is_rendered_anew() -> None:
    made = make_plan(MEMORY, Prompt(spoken(NEXT), [1, 2, 9], None), (0.5, 40), 100, letters)
    assert (made.reason, made.keep, made.feed) == ("template", 2, [9])


@pytest.mark.parametrize(
    ("reply", "pieces", "expected"),
    [
        ("ab", [(7, b"a"), (8, b"b")], ([7, 8], "")),
        ("a b", [(7, b"a"), (8, b" bST"), (9, b"OP")], ([7], " b")),
        ("", [(7, b"STOP")], ([], "")),
        ("é", [(7, b"\xc3"), (8, b"\xa9!")], ([], "é")),
        ("\ufffd", [(7, b"\xc3")], ([7], "")),
    ],
)
def test_the_tokens_of_a_reply_are_those_whose_text_was_shown(
    reply: str, pieces: list[tuple[int, bytes]], expected: tuple[list[int], str]
) -> None:
    assert split_generated(reply, pieces) == expected


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(st.text("ab<|>", max_size=6), max_size=10),
    st.lists(st.text("ab<|>", min_size=1, max_size=5), max_size=3),
)
def test_the_cut_at_a_stop_text_does_not_depend_on_the_pieces(
    pieces: list[str], stops: list[str]
) -> None:
    scanner, text = StopScanner([*stops, ""]), "".join(pieces)
    shown = "".join(scanner.feed(piece) for piece in pieces) + scanner.flush()
    found = [(text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text]
    assert scanner.stopped == bool(found)
    assert shown == (text[: min(found)[1]] if found else text)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["brake <|im", "_end|> now"], ["brake ", ""]),
        (["brake <|im", "ola|>"], ["brake ", "<|imola|>"]),
        (["<", "<|im_end|>"], ["", "<"]),
    ],
)
def test_an_end_that_may_begin_a_stop_text_is_held_back(
    pieces: list[str], shown: list[str]
) -> None:
    scanner = StopScanner(["<|im_end|>"])
    assert [scanner.feed(piece) for piece in pieces] == shown
