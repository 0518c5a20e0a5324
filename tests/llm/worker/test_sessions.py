"""Conversations in a real engine process: what is kept, what is fed, what is given up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import Forget, Piece
from tests.llm import tinymodel
from tests.llm.worker.harness import Reply, Worker, engine

WORDS = [[b"red1 ", b"red2 ", b"red3"], [b"green1 ", b"STOP", b"green3"]]
FIRST = [("system", "<green>"), ("user", "one")]
REPLY = "green1 STOPgreen3"
SECOND = [*FIRST, ("assistant", REPLY), ("user", "two")]

CONTEXT = 32_768
"""So that a reply without end takes many seconds to fill it."""


@pytest.fixture(scope="module")
def recall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinymodel.write_recall(tmp_path_factory.mktemp("models") / "recall.gguf", WORDS)


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    shape = tinymodel.Shape(context=CONTEXT)
    return tinymodel.write_recall(folder / "endless.gguf", WORDS, endless=True, shape=shape)


@pytest.fixture(scope="module")
def process(recall: Path) -> Iterator[Worker]:
    with engine(recall) as started:
        yield started


@pytest.fixture
def shared(process: Worker) -> Worker:
    process.send(Forget(list("abcdef")))
    return process


def how(reply: Reply) -> tuple[str | None, str | None, bool]:
    return reply.ended.session, reply.ended.session_reason, reply.ended.kept


def test_the_second_turn_feeds_only_what_is_new(shared: Worker) -> None:
    first = shared.ask(FIRST, "a")
    second = shared.ask(SECOND, "a")
    fresh = shared.ask(SECOND)
    assert how(first) == ("miss", None, True)
    assert how(second) == ("hit", None, True)
    assert second.text == fresh.text == REPLY
    assert second.ended.cached_tokens == first.ended.prompt_tokens + 3
    fed = second.ended.prompt_tokens - second.ended.cached_tokens
    assert fed == len("E\nSuser\ntwoE\nSassistant\n")  # E and S: the marks of a turn


def test_a_client_that_does_not_echo_replies_still_continues(shared: Worker) -> None:
    shared.ask(FIRST, "a")
    assert how(shared.ask([*FIRST, ("user", "two")], "a")) == ("hit", None, True)
    assert how(shared.ask([*FIRST, ("user", "two"), ("user", "three")], "a"))[0] == "hit"


@pytest.mark.parametrize(
    ("talk", "temperature", "reason"),
    [
        ([("system", "<red>"), *SECOND[1:]], 0.0, "history"),
        (SECOND, 0.1, "sampler"),
    ],
)
def test_anything_else_is_rebuilt_and_reuses_the_tokens_that_are_the_same(
    shared: Worker, talk: list[tuple[str, str]], temperature: float, reason: str
) -> None:
    shared.ask(FIRST, "a")
    reply = shared.ask(talk, "a", temperature=temperature, top_k=1 if temperature else 40)
    assert how(reply) == ("rebuilt", reason, True)
    assert 0 < reply.ended.cached_tokens < reply.ended.prompt_tokens
    assert reply.text == ("red1 red2 red3" if reason == "history" else REPLY)
    assert how(shared.ask(talk, "a", temperature=temperature, top_k=1 if temperature else 40)) == (
        *("rebuilt", "retry"),
        True,
    )


def test_a_reply_that_a_stop_text_cut_goes_on_from_the_cut(shared: Worker) -> None:
    first = shared.ask(FIRST, "a", stop=["TOP"])
    assert first.text == "green1 S"
    talk = [*FIRST, ("assistant", first.text), ("user", "two")]
    second = shared.ask(talk, "a")
    assert how(second) == ("hit", None, True)
    assert second.ended.cached_tokens == first.ended.prompt_tokens + 1  # the token before the cut
    assert second.text == REPLY


def test_a_reply_that_the_cap_cut_goes_on_with_its_last_token(endless: Path) -> None:
    with engine(endless) as started:
        first = started.ask(FIRST, "a", max_output=2)
        talk = [*FIRST, ("assistant", first.text), ("user", "two")]
        second = started.ask(talk, "a", max_output=3)
        third = started.ask([*talk, ("assistant", second.text), ("user", "x")], "a", max_output=3)
    assert first.ended.finish == "length"
    assert how(second) == how(third) == ("hit", None, True)
    assert second.ended.cached_tokens == first.ended.prompt_tokens + 1
    assert second.text == third.text == REPLY


def test_an_aborted_turn_leaves_the_conversation_as_it_was(endless: Path) -> None:
    with engine(endless, budget=CONTEXT) as started:
        first = started.ask(FIRST, "a", max_output=3)
        talk = [*FIRST, ("assistant", first.text), ("user", "two")]
        started.start(talk, "a")
        started.expect(Piece)
        started.abort()
        aborted = started.finish()
        again = started.ask(talk, "a", max_output=3)
    assert (aborted.ended.finish, how(aborted)) == ("aborted", ("hit", None, True))
    assert how(again) == ("hit", None, True)
    assert again.text == REPLY


def test_a_conversation_without_a_place_takes_that_of_the_least_recently_used(
    shared: Worker,
) -> None:
    for name in "abcde":
        shared.ask(FIRST, name)
    shared.ask(SECOND, "a")
    sixth = shared.ask(FIRST, "f")
    assert tuple(sixth.ended.evicted) == ("b",)
    assert how(shared.ask(SECOND, "a")) == ("rebuilt", "retry", True)
    assert how(shared.ask(SECOND, "c")) == ("hit", None, True)
    assert how(shared.ask(SECOND, "b"))[0] == "miss"


def test_conversations_give_way_when_the_cells_run_out(recall: Path) -> None:
    long = [("system", "<green>"), ("user", "x" * 150)]
    with engine(recall, budget=256, cells=512) as started:
        for name in "ab":
            assert list(started.ask(long, name).ended.evicted) == []
        third = started.ask(long, "c")
        stateless = started.ask(long)
    assert list(third.ended.evicted) == ["a"]
    assert third.text == stateless.text == REPLY
    assert how(third) == ("miss", None, True)


def test_forgotten_conversations_are_gone_and_their_cells_free(shared: Worker) -> None:
    shared.ask(FIRST, "a")
    shared.send(Forget(["a", "nobody"]))
    assert how(shared.ask(SECOND, "a"))[0] == "miss"


def test_a_conversation_that_outgrows_its_budget_is_rebuilt_or_refused(recall: Path) -> None:
    with engine(recall, budget=128) as started:
        started.ask(FIRST, "a")
        talk = [*FIRST, ("assistant", REPLY), ("user", "y" * 40)]
        grown = started.ask(talk, "a")
        burst = started.ask([*talk, ("assistant", grown.text), ("user", "z" * 90)], "a")
        short = started.ask(FIRST, "a")
    assert grown.ended.finish in ("stop", "length")
    assert burst.ended.finish == "failed"
    assert "budget" in burst.ended.reason
    assert short.text == REPLY
