"""Who is embedded when, by which encoder, and what happens if it dies: with pretended processes."""

import asyncio
import itertools
import os
import random
import struct
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from runtime.llm.engine.embedding import SLICE_TEXTS, Embedder, Purpose, make_slices
from runtime.llm.engine.pool import Pool
from runtime.llm.engine.process import WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import (
    Chunks,
    Command,
    Embed,
    Embedded,
    EncoderLoaded,
    Event,
    Fit,
    LoadEncoder,
    Split,
)
from runtime.llm.errors import EmbedBusy, EmbedFailed
from runtime.llm.inference import Vectors
from runtime.llm.settings import LlmSettings
from runtime.web.errors import ShuttingDown
from tests.llm.engine import scripted
from tests.llm.engine.pretended import Pretender, Rig, entry, failure, settle
from tests.llm.serverkit import processes_below
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("nothing_blocks_the_loop")


def vectors(*rows: tuple[float, ...]) -> Vectors:
    data = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    return Vectors(len(rows[0]), data, sum(range(3, 3 + len(rows))))


def test_a_shortened_vector_is_of_unit_length_again() -> None:
    short = vectors((0.6, 0.0, 0.8), (0.0, 3.0, 4.0)).shorten(2)
    assert (short.width, short.tokens) == (2, 7)
    assert short.floats(0) == [1.0, 0.0]
    assert short.floats(1) == [0.0, 1.0]


# --- what comes out


async def test_vectors_come_back_in_the_order_of_the_texts(rig: Rig) -> None:
    texts = ["word " * (n * 7 % 41) + str(n) for n in range(100)]
    vectors = await rig.embedder.embed(entry(), texts)

    assert [vectors.row(at) for at in range(100)] == [scripted.row(text) for text in texts]
    assert vectors.tokens == sum(map(scripted.tokens, texts))
    assert vectors.width == scripted.WIDTH
    lengths = [[len(text) for text in c.texts] for c in rig.slices if isinstance(c, Embed)]
    assert list(itertools.chain(*lengths)) == sorted(map(len, texts))
    assert [len(part) for part in lengths] == [16] * 6 + [4]


@pytest.mark.parametrize(
    ("purpose", "sent"), [("query", "ask: x"), ("document", "doc: x"), (None, "x")]
)
async def test_each_purpose_has_its_prefix(rig: Rig, purpose: Purpose | None, sent: str) -> None:
    prefixed = entry(query_prefix="ask: ", doc_prefix="doc: ")
    vectors = await rig.embedder.embed(prefixed, ["x"], purpose)
    assert vectors.data == scripted.row(sent)


async def test_a_document_is_cut_and_each_chunk_embedded_behind_its_heading(rig: Rig) -> None:
    titled = entry(doc_prefix="doc: ")
    passages = await rig.embedder.passages(titled, "one\n\n\n\nthree", "Laps")
    assert passages.texts == ("one", "three")
    assert rig.slices == [
        Split("one\n\n\n\nthree"),
        Fit(["one", "three"], "doc: Laps\n"),
        Embed(["doc: Laps\none", "doc: Laps\nthree"]),
    ]


@pytest.mark.parametrize(
    ("heading", "kept"),
    [("", ""), (" ", ""), ("x" * 61, "x" * 61), ("x" * 62, "x" * 61), ("é" * 31, "é" * 30)],
)
async def test_a_heading_leaves_half_of_the_input_to_the_text(
    rig: Rig, heading: str, kept: str
) -> None:
    await rig.embedder.passages(entry(), "one", heading)
    assert rig.slices[1] == Fit(["one"], f"{kept}\n" if kept else "")


async def test_nothing_becomes_no_vectors(rig: Rig) -> None:
    assert await rig.embedder.embed(entry(), []) == Vectors(4, b"", 0)
    passages = await rig.embedder.passages(entry(), " ")
    assert (passages.texts, len(passages.vectors)) == ((), 0)


async def test_what_was_embedded_is_counted(rig: Rig) -> None:
    def slow(_: Pretender, command: Command) -> Event:
        rig.now += 0 if isinstance(command, LoadEncoder) else 2
        return scripted.answer(command)

    rig.answer = slow
    await rig.embedder.embed(entry(), ["one two", "x"])
    await rig.embedder.passages(entry(), "y")
    totals = rig.embedder.totals
    assert (totals.requests, totals.texts, totals.tokens, totals.errors) == (2, 3, 10, 0)
    assert totals.seconds == 8


@pytest.mark.parametrize(
    ("length", "max_tokens", "most"),
    [(10, 128, 16), (5000, 512, 16), (5000, 8192, 1), (1022, 8192, 8)],
)
def test_long_inputs_make_small_slices(length: int, max_tokens: int, most: int) -> None:
    cut = make_slices(["x" * length] * 50, max_tokens)
    assert max(map(len, cut)) == most <= SLICE_TEXTS
    assert sorted(itertools.chain(*cut)) == list(range(50))


# --- who is next


async def test_a_long_request_holds_up_a_short_one_by_one_slice_only(rig: Rig) -> None:
    tasks = [rig.embed("L", 80), rig.embed("1"), rig.embed("2"), rig.embed("3")]
    await asyncio.gather(*tasks)
    assert rig.order == "L123LLLL"


async def test_long_requests_take_turns(rig: Rig) -> None:
    await asyncio.gather(rig.embed("A", 48), rig.embed("B", 32), rig.embed("C", 48))
    assert rig.order == "ABCABCAC"


async def test_one_slice_is_computed_at_a_time_over_all_models() -> None:
    rig = Rig(encoders=3)
    await asyncio.gather(*(rig.embed("x", 40, model) for model in "abcabc"))
    assert len(rig.slices) == 18
    assert rig.most_at_work == 1
    assert rig.at_work == 0


async def test_a_client_has_thirty_two_waiting_and_leaves_places_to_others(rig: Rig) -> None:
    rig.gate.clear()
    embed = rig.embedder.embed
    tasks = [asyncio.create_task(embed(entry(), ["x"], client="ann")) for _ in range(33)]
    await settle()
    assert (rig.embedder.running, rig.embedder.waiting) == (1, 32)
    error = await failure(embed(entry(), ["x"], client="ann"))
    assert isinstance(error, EmbedBusy)
    assert (error.status, error.headers) == (429, {"Retry-After": "1"})
    passages = rig.embedder.passages(entry(), "x", client="ann")
    assert isinstance(await failure(passages), EmbedBusy)
    assert await rig.embedder.width(entry()) == 4
    tasks += [asyncio.create_task(embed(entry(), ["x"], client="bob")) for _ in range(32)]
    await settle()
    assert rig.embedder.waiting == 64

    rig.gate.set()
    await asyncio.gather(*tasks)
    assert (rig.embedder.running, rig.embedder.waiting) == (0, 0)
    await embed(entry(), ["x"], client="ann")
    assert (rig.embedder.totals.refused, rig.embedder.totals.errors) == (2, 0)


async def test_a_request_that_is_left_gives_up_its_turns_but_not_the_slice_under_way(
    rig: Rig,
) -> None:
    rig.gate.clear()
    long, leaver, last = rig.embed("L", 64), rig.embed("Q"), rig.embed("Z")
    await settle()
    long.cancel()
    leaver.cancel()
    await settle()
    assert long.cancelled()
    assert leaver.cancelled()
    assert rig.order == "L"  # it is still under way, and the last one waits for it
    assert not last.done()
    rig.gate.set()
    assert (await last).data == scripted.row("Z")
    assert rig.order == "LZ"
    assert rig.embedder.totals.errors == 0


async def test_an_encoder_is_kept_until_a_slice_that_nobody_wants_has_ended(rig: Rig) -> None:
    rig.gate.clear()
    leaver = rig.embed("x")
    await settle()
    leaver.cancel()
    await settle()
    assert rig.pool.unload_idle(0) == 0
    rig.gate.set()
    await settle()
    assert rig.pool.unload_idle(0) == 1


# --- what goes wrong


class Deadly:
    """Answers of processes that die of a text as often as it says."""

    def __init__(self, text: str, times: int) -> None:
        self.text, self.left = text, times

    def __call__(self, process: Pretender, command: Command) -> Event:
        texts = command.texts if isinstance(command, Embed) else []
        if self.text in texts and self.left:
            self.left -= 1
            process.kill()
            raise WorkerGone
        return scripted.answer(command)


async def test_a_slice_whose_process_died_is_done_once_more_by_another(rig: Rig) -> None:
    texts = [str(n) * 3 for n in range(40)]
    rig.answer = Deadly(texts[20], 1)
    vectors = await rig.embedder.embed(entry(), texts)
    assert vectors.data == b"".join(map(scripted.row, texts))
    assert len(rig.loads) == 2
    assert len(rig.slices) == 4
    assert rig.embedder.totals.errors == 0


async def test_a_text_that_kills_twice_fails_and_the_others_go_on(rig: Rig) -> None:
    rig.answer = Deadly("bad", 2)
    before, bad, after = rig.embed("b", 40), rig.embed("bad"), rig.embed("after", 40)
    with pytest.raises(EmbedFailed, match="ended unexpectedly"):
        await bad
    assert (len(await before), len(await after)) == (40, 40)
    assert rig.embedder.totals.errors == 1


WRONG: list[Event] = [
    Embedded(4, [3], 0, bytes(12)),
    Embedded(8, [3], 0, bytes(32)),
    Embedded(4, [3, 3], 0, bytes(32)),
    Embedded(4, [], 0, b""),
    Chunks(["x"]),
    EncoderLoaded(4, 128),
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_an_answer_that_cannot_be_right_costs_the_process(rig: Rig, wrong: Event) -> None:
    answers = iter([EncoderLoaded(4, 128), wrong])
    rig.answer = lambda process, command: next(answers, None) or scripted.answer(command)
    vectors = await rig.embedder.embed(entry(), ["x"])
    assert vectors.data == scripted.row("x")
    assert [process.alive for process in rig.processes] == [False, True]


async def test_texts_that_the_model_refuses_are_not_tried_again(rig: Rig) -> None:
    def answer(process: Pretender, command: Command) -> Event:
        if isinstance(command, Embed):
            raise WorkerFailed("a number is not finite")
        return scripted.answer(command)

    rig.answer = answer
    found = await failure(rig.embedder.embed(entry(), ["x"]))
    assert found.message == "the model a cannot embed this: a number is not finite"
    assert len(rig.slices) == 1
    assert rig.pool.is_loaded("a")


async def test_a_file_that_became_another_model_in_the_middle_is_noticed(rig: Rig) -> None:
    def answer(process: Pretender, command: Command) -> Event:
        if isinstance(command, LoadEncoder) and process is not rig.processes[0]:
            return EncoderLoaded(8, 128)
        return Deadly("x", 1)(process, command)

    rig.answer = answer
    with pytest.raises(EmbedFailed, match="was replaced"):
        await rig.embedder.embed(entry(), ["x"])
    await settle()
    assert [encoder.users for encoder in rig.encoders] == [0]


# --- warming and ending


async def test_a_model_is_proved_once_for_all_who_warm_it(rig: Rig) -> None:
    rig.gate.clear()
    tasks = [asyncio.create_task(rig.embedder.warm(entry())) for _ in range(50)]
    await settle()
    tasks[9].cancel()
    rig.gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    await rig.embedder.warm(entry())
    assert len(rig.slices) == 1
    assert rig.embedder.totals.requests == 0


async def test_the_end_is_told_to_all_who_wait_wherever_they_are() -> None:
    rig = Rig()
    rig.gate.clear()
    working, turn, spare = rig.embed("x", 40), rig.embed("x", 40), rig.embed("x", 40, "b")
    await settle()
    place = rig.embed("x", model="c")
    warm = asyncio.create_task(rig.embedder.warm(entry("b")))
    await settle()
    closing = asyncio.create_task(rig.close())
    await settle()
    rig.gate.set()
    await closing
    tasks = [working, turn, spare, place, warm]
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in found] == [ShuttingDown] * 5
    assert rig.living == []
    with pytest.raises(ShuttingDown):
        await rig.embedder.embed(entry(), ["x"])
    assert rig.embedder.waiting == rig.embedder.running == 0


async def test_the_end_comes_in_any_moment_of_a_load() -> None:
    for steps in range(25):
        rig = Rig()
        task = rig.embed("x", 20)
        for _ in range(steps):
            await asyncio.sleep(0)
        await rig.close()
        (found,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(found, ShuttingDown | Vectors)
        assert rig.living == []


async def test_a_storm_of_deaths_and_departures_leaves_everything_at_rest() -> None:
    chance = random.Random(7)
    rig = Rig(waiting=100)
    deaths: Counter[str] = Counter()

    def answer(process: Pretender, command: Command) -> Event:
        if chance.random() < 0.05:
            deaths[process.model] += 1
            process.kill()
            raise WorkerGone
        return scripted.answer(command)

    rig.answer = answer
    outcomes: Counter[str] = Counter()
    for _ in range(40):
        tasks = []
        for _ in range(10):
            model = chance.choice("aaab")
            tasks.append(rig.embed("x" * chance.randint(1, 9), chance.randint(1, 50), model))
            for _ in range(chance.randint(0, 12)):
                await asyncio.sleep(0)
        for task in chance.sample(tasks, 4):
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        outcomes.update(type(one).__name__ for one in found)
        await settle()
        assert (rig.embedder.waiting, rig.embedder.running, rig.at_work) == (0, 0, 0)
        assert [encoder.users for encoder in rig.encoders] in ([], [0])
        assert len(rig.living) <= 1
    assert set(outcomes) <= {"Vectors", "CancelledError", "EmbedFailed"}
    assert outcomes["Vectors"] > 100
    assert deaths.total() > 20
    await rig.close()


# --- with processes


def scripted_embedder(answer_s: float = 30.0) -> Embedder:
    pool = Pool(LlmSettings(load_timeout_ms=30_000), scripted.start)
    return Embedder(pool, answer_s=answer_s)


async def end(embedder: Embedder) -> None:
    await embedder.close()
    await embedder._pool.close()


@pytest.fixture
async def embedder() -> AsyncIterator[Embedder]:
    embedder = scripted_embedder()
    yield embedder
    await end(embedder)


@pytest.mark.parametrize("trick", ["crash", "silent"])
async def test_a_process_that_goes_wrong_once_is_replaced(trick: str, tmp_path: Path) -> None:
    embedder = scripted_embedder(2.0 if trick == "silent" else 30.0)
    text = f"!{trick}@{tmp_path / 'done'}"
    try:
        vectors = await embedder.embed(entry(), ["x", text])
    finally:
        await end(embedder)
    assert vectors.data == scripted.row("x") + scripted.row(text)


async def test_processes_that_do_not_listen_are_ended_within_the_limit(
    embedder: Embedder,
) -> None:
    task = asyncio.create_task(embedder.embed(entry(), ["!stubborn"]))
    await until(lambda: embedder._pool.is_loaded("a"))
    async with asyncio.timeout(30):
        await end(embedder)
    with pytest.raises(ShuttingDown):
        await task


async def test_an_end_in_order_is_not_logged_and_leaves_no_process(
    embedder: Embedder, caplog: pytest.LogCaptureFixture
) -> None:
    descriptors, before = psutil.Process().num_fds(), processes_below(os.getpid())
    await embedder.embed(entry(), ["x"] * 40)
    under_way = asyncio.create_task(embedder.embed(entry("b"), ["!silent"]))
    await until(lambda: embedder._pool.is_loaded("b"))
    await end(embedder)
    with pytest.raises(ShuttingDown):
        await under_way
    assert caplog.text == ""
    assert processes_below(os.getpid()) == before
    await until(lambda: psutil.Process().num_fds() <= descriptors)
    assert asyncio.all_tasks() == {asyncio.current_task()}
