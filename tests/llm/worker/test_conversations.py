"""Whether a request continues a conversation is decided by messages and tokens alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.engine.worker.conversations import (
    Memory,
    Request,
    after_reply,
    digest,
    mismatch,
    plan,
)
from runtime.llm.engine.worker.quoting import Part, Parts

FIRST = [("system", "Coach."), ("user", "Turn 9?")]
MEMORY = Memory(1, digest(FIRST), 2, "Brake late.", 0.5, 40, [1, 2, 3, 4], [5], " end")
NEXT = [*FIRST, ("assistant", " Brake late.\n"), ("user", "And turn 3?")]
AFTER = (Part("<end>", quoted=False), Part("next", quoted=True))


def request(messages: list[tuple[str, str]], **changes: object) -> Request:
    made = Request(messages, [1, 2, 9, 9, 9], AFTER, 0.5, 40)
    return made._replace(**changes)  # type: ignore[arg-type]


def letters(tail: str, after: Parts) -> list[int]:
    return [ord(letter) for text in (tail, *(part.text for part in after)) for letter in text]


CASES: list[tuple[Request, str | None]] = [
    (request(NEXT), None),
    (request([*FIRST, ("user", "And turn 3?")]), None),
    (request(NEXT, temperature=0.6), "sampler"),
    (request(NEXT, top_k=41), "sampler"),
    (request([("system", "Coach!"), *NEXT[1:]]), "history"),
    (request([("user", "Turn 9?")]), "history"),
    (request(FIRST), "retry"),
    (request([*NEXT, ("assistant", "x"), ("user", "more")]), "turns"),
    (request([*FIRST, ("system", "Be brief."), ("user", "And turn 3?")]), "turns"),
    (request([*FIRST, ("assistant", "Brake early."), ("user", "And turn 3?")]), "edited"),
    (request(NEXT, after=None), "template"),
]


@pytest.mark.parametrize(("asked", "reason"), CASES)
def test_a_request_continues_only_the_very_same_conversation(
    asked: Request, reason: str | None
) -> None:
    assert mismatch(MEMORY, asked) == reason
    made = plan(MEMORY, asked, 100, letters)
    assert (made.kind, made.reason) == (("hit" if reason is None else "rebuilt"), reason)


texts = st.text(max_size=6)
messages = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), texts), max_size=4)


@settings(deadline=None)  # the machine may be busy
@given(messages, messages)
def test_only_equal_messages_have_equal_digests(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    assert (digest(one) == digest(other)) == (one == other)


BLANK = replace(MEMORY, tokens=[], pending=[], tail="")


@pytest.mark.parametrize(
    ("reply", "pieces", "stored", "expected"),
    [
        ("ab", [(7, b"a"), (8, b"b")], 2, ([1, 7, 8], [], "")),
        ("ab", [(7, b"a"), (8, b"b")], 1, ([1, 7], [8], "")),
        ("a b", [(7, b"a"), (8, b" bST"), (9, b"OP")], 2, ([1, 7], [], " b")),
        ("", [(7, b"STOP")], 0, ([1], [], "")),
        ("é", [(7, b"\xc3"), (8, b"\xa9!")], 1, ([1], [], "é")),
        ("\ufffd", [(7, b"\xc3")], 0, ([1], [7], "")),
    ],
)
def test_memory_and_reply_agree_after_any_end(
    reply: str,
    pieces: list[tuple[int, bytes]],
    stored: int,
    expected: tuple[list[int], list[int], str],
) -> None:
    memory = after_reply(replace(BLANK, reply=reply), [1], pieces, stored)
    assert (memory.tokens, memory.pending, memory.tail) == expected
