"""Conversations in a real engine process: what is kept, what is fed, what is given up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import Forget
from tests.llm import tinymodel
from tests.llm.worker.harness import Reply, Worker, engine

WORDS = [[b"red1 ", b"red2 ", b"red3"], [b"green1 ", b"STOP", b"green3"]]
FIRST = [("system", "<green>"), ("user", "one")]
REPLY = "green1 STOPgreen3"

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
