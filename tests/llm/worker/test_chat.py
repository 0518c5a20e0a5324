"""A worker process with a chat model, driven over its socket as the server drives it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runtime.llm.engine.protocol import (
    MAX_HEAD,
    PREFIX,
    ChatLoaded,
    Close,
    Drop,
    Embed,
    Ended,
    Failed,
    LoadChat,
    Ok,
    Open,
    Prepare,
    Prepared,
    Run,
    Split,
    TextPiece,
    Warm,
    encode,
)
from runtime.llm.engine.worker.threads import BROKEN
from runtime.llm.inference import GREEDY
from tests.llm import tinymodel
from tests.llm.worker.harness import Reply, Worker, engine, spoken, worker

WORDS = [
    [b"red1 ", b"red2 ", b"red3"],
    [b"green1 ", b"STOP", b"green3"],
    [b"bl\xc3", b"\xbce \xf0\x9f", b"\x8f\x81"],
    [b"go", b"<|im_", b"end|>ld"],
]


CONTEXT = 32_768
"""So that a reply without end takes many seconds to fill it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def recall(folder: Path) -> Path:
    return tinymodel.write_recall(folder / "recall.gguf", WORDS)


@pytest.fixture(scope="module")
def endless(folder: Path) -> Path:
    shape = tinymodel.Shape(context=CONTEXT)
    return tinymodel.write_recall(folder / "endless.gguf", WORDS, endless=True, shape=shape)


@pytest.fixture(scope="module")
def noise(folder: Path) -> Path:
    return tinymodel.write_random(folder / "noise.gguf")


@pytest.fixture(scope="module")
def shared(recall: Path) -> Iterator[Worker]:
    with engine(recall) as started:
        yield started


@pytest.fixture(scope="module")
def babbler(endless: Path) -> Iterator[Worker]:
    with engine(endless, budget=CONTEXT) as started:
        yield started


@pytest.fixture(scope="module")
def random(noise: Path) -> Iterator[Worker]:
    with engine(noise) as started:
        yield started


def test_a_model_without_a_template_speaks_chatml(folder: Path) -> None:
    shape = tinymodel.Shape(template=None)
    with engine(tinymodel.write_recall(folder / "plain.gguf", WORDS, shape=shape)) as started:
        reply = started.ask([("user", "<red>")])
    assert reply.text == "red1 red2 red3"


@pytest.mark.parametrize(("secret", "shown"), [("<green>", "green1 "), ("<red>", "red1 red2 red3")])
def test_a_stop_text_ends_the_reply_and_is_no_part_of_it(
    shared: Worker, secret: str, shown: str
) -> None:
    reply = shared.ask([("user", secret)], stop=["TOP", "STO"])
    assert reply.text == (shown if secret == "<red>" else "green1 S"[:7])
    assert reply.ended.finish == "stop"


def test_an_end_of_turn_that_the_model_spells_out_ends_the_reply(shared: Worker) -> None:
    assert shared.ask([("user", "<gold>")]).text == "go"


def test_a_top_k_of_one_is_greedy_and_zero_means_off(random: Worker) -> None:
    ask = [("user", "hello")]
    greedy = random.ask(ask, max_output=16).text
    assert random.ask(ask, temperature=2.0, top_k=1, seed=5, max_output=16).text == greedy
    assert random.ask(ask, temperature=2.0, top_k=0, seed=5, max_output=16).text != greedy


def test_an_abort_ends_one_of_two_replies(endless: Path) -> None:
    with engine(endless, budget=CONTEXT, parallel=2) as started:
        prepared = [started.prepare([("user", secret)]) for secret in ("<red>", "<green>")]
        jobs = [each.job for each in prepared if isinstance(each, Prepared)]
        first, second = (started.send(Run(job, None, GREEDY, 0, [])) for job in jobs)
        seen: set[int] = set()
        while len(seen) < 2:
            started.expect(TextPiece)
            seen.add(started.answered)
        started.send(Drop(jobs[1]))
        while isinstance(event := started.event(), TextPiece):
            pass
        assert isinstance(event, Ended)
        assert (started.answered, event.finish) == (second, "aborted")
        started.expect(TextPiece)
        assert started.answered == first
        started.send(Drop(jobs[0]))
        assert started.finish().ended.finish == "aborted"
        assert started.ask([("user", "<red>")], max_output=3).text == "red1 red2 red3"


def test_an_abort_in_the_prefill_leaves_the_engine_usable(folder: Path) -> None:
    shape = tinymodel.Shape(width=512, layers=6, heads=8, kv_heads=8, ffn=1024, context=8192)
    with engine(tinymodel.write_random(folder / "slow.gguf", shape), budget=8192) as started:
        started.start([("user", "x" * 8000)])
        started.abort()
        ended = started.finish().ended
        after = started.ask([("user", "hi")], max_output=2).ended
    assert (ended.finish, ended.completion_tokens) == ("aborted", 0)
    assert after.finish in ("stop", "length")


def test_a_job_is_prepared_while_another_runs(babbler: Worker) -> None:
    running = babbler.start([("user", "<red>")])
    other = babbler.send(Prepare("e", spoken([("user", "hi")])))
    while isinstance(event := babbler.event(), TextPiece):
        assert babbler.answered == running
    assert isinstance(event, Prepared)
    assert event.job == babbler.answered == other
    babbler.abort()
    assert babbler.finish().ended.finish == "aborted"
    babbler.send(Drop(other))
    babbler.send(Warm())
    babbler.expect(Ok)  # done in their order
    babbler.send(Run(other, None, GREEDY, 0, []))
    assert babbler.expect(Ended).reason == "this prompt is not prepared"


def test_a_context_that_is_closed_in_the_middle_of_its_reply_is_freed_behind_it(
    endless: Path,
) -> None:
    with engine(endless, budget=CONTEXT) as started:
        started.start([("user", "<red>")])
        started.expect(TextPiece)
        started.send(Close("e"))
        while isinstance(event := started.event(), TextPiece):
            pass
        assert isinstance(event, Ok)
        started.abort()
        assert started.finish().ended.finish == "aborted"
        started.open()
        assert started.ask([("user", "<red>")], max_output=3).text == "red1 red2 red3"


# --- conversations: what is kept, what is fed, what is given up

FIRST = [("system", "<green>"), ("user", "one")]
REPLY = "green1 STOPgreen3"


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


# --- commands that cannot be done


@pytest.mark.parametrize(
    ("budget", "cells", "reason"),
    [
        (0, 64, "budget does not fit"),
        (128, 64, "budget does not fit"),
        (1 << 40, 1 << 40, "not enough memory: needs"),
    ],
)
def test_a_context_that_cannot_be_is_refused(
    shared: Worker, budget: int, cells: int, reason: str
) -> None:
    shared.send(Open("other", budget, cells, 4))
    failed = shared.expect(Failed)
    assert reason in failed.reason
    assert (failed.short_of > 0) == ("memory" in reason)


def test_a_context_that_the_engine_cannot_make_is_refused_in_words(recall: Path) -> None:
    with engine(recall) as started:
        process = psutil.Process(started.process.pid)
        limit = process.memory_info().vms + (200 << 20)
        process.rlimit(psutil.RLIMIT_AS, (limit, limit))
        started.send(Open("big", 1 << 19, 1 << 20, 4))
        reason = started.expect(Failed).reason
        assert started.ask([("user", "<red>")]).text == "red1 red2 red3"
    assert reason == "a context of 524288 tokens cannot be created for this model"


def test_what_comes_before_a_model_is_refused() -> None:
    with worker() as started:
        for command in (Open("e", 64, 64, 4), Warm(), Embed(["a"]), Split("a")):
            assert started.failure(command) == "no model is loaded"
        assert isinstance(started.prepare([("user", "hi")]), Failed)


def test_a_second_model_a_second_name_and_an_unknown_engine_are_refused(
    shared: Worker, recall: Path
) -> None:
    assert "already" in shared.failure(LoadChat(str(recall), 0, 1))
    assert "already" in shared.failure(Open("e", 64, 64, 4))
    assert shared.failure(Prepare("nobody", spoken([("user", "hi")]))) == "this engine is not open"


def test_a_given_chat_template_stands_in_for_that_of_the_file(recall: Path) -> None:
    sizes: dict[str, int] = {}
    for template in ("", "{{ messages[-1]['content'] }}"):
        with worker() as started:
            started.send(LoadChat(str(recall), 0, 1, template))
            loaded = started.expect(ChatLoaded)
            started.open()
            prepared = started.prepare([("user", "a")])
            assert isinstance(prepared, Prepared)
            sizes[loaded.template] = prepared.prompt_tokens
    assert sizes["given"] == 1
    assert sizes["file"] > 1


# --- ends


def test_the_end_of_the_socket_ends_the_process_in_the_middle_of_a_reply(endless: Path) -> None:
    with engine(endless) as started:
        started.start([("user", "<red>")])
        started.expect(TextPiece)
        started.socket.close()
        assert started.process.wait(30) == 0


def framed(head: bytes) -> bytes:
    return PREFIX.pack(1, len(head), 0) + head


@pytest.mark.parametrize(
    "data",
    [
        framed(b"oops"),
        encode(1, Ok()),
        PREFIX.pack(1, MAX_HEAD + 1, 0),
    ],
)
def test_what_is_not_a_command_ends_the_process_with_a_status(data: bytes) -> None:
    with worker() as started:
        started.socket.sendall(data)
        assert started.event() is None
        assert started.process.wait(30) == BROKEN


def test_the_end_within_a_message_ends_the_process(shared: Worker) -> None:
    with worker() as started:
        started.socket.sendall(encode(1, Warm())[:-3])
        started.socket.close()
        assert started.process.wait(30) == 0


def test_an_interrupt_from_the_keyboard_is_left_to_the_server(shared: Worker) -> None:
    os.kill(shared.process.pid, signal.SIGINT)
    assert shared.ask([("user", "<red>")]).text == "red1 red2 red3"


def test_the_template_process_ends_with_the_engine_process(folder: Path) -> None:
    shape = tinymodel.Shape(template="{{ messages[0].content }}")
    with worker() as started:
        started.load(tinymodel.write_recall(folder / "child.gguf", WORDS, shape=shape))
        children = psutil.Process(started.process.pid).children()
        assert len(children) == 1
        started.process.kill()
        gone, alive = psutil.wait_procs(children, timeout=30)
    assert (len(gone), alive) == (1, [])
