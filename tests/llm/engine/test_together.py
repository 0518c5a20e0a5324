"""The server's side and the real encoder process, with a tiny model."""

import asyncio
import math
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from runtime.llm.engine.embedding import Embedder, Vectors
from runtime.llm.engine.pool import Pool, PoolSettings
from runtime.llm.engine.sessions import Sessions
from runtime.llm.errors import EmbedBusy, EmbedFailed
from runtime.llm.models.catalog import Catalog, Entry
from tests.llm.engine import onnxkit
from tests.llm.serverkit import processes_below, until

TEXTS = ["brake late for the corner", "the water is cold", "a", "speed " * 300, "", "Épée 東京 🏁"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model; it is shared, so nothing is changed in it."""
    folder = tmp_path_factory.mktemp("encoders")
    onnxkit.write_tiny(folder)
    return folder


@pytest.fixture
async def embedder() -> AsyncIterator[Embedder]:
    descriptors, before = psutil.Process().num_fds(), processes_below(os.getpid())
    pool = Pool(PoolSettings(embedding_threads=1), Sessions())
    embedder = Embedder(pool)
    yield embedder
    await embedder.close()
    await pool.close()
    assert processes_below(os.getpid()) == before
    await until(lambda: psutil.Process().num_fds() <= descriptors)


def found(folder: Path, model: str = "tiny-embed") -> Entry:
    entry = Catalog([folder]).find(model)
    assert entry is not None
    return entry


def cosine(vectors: Vectors, one: int, two: int) -> float:
    return math.fsum(a * b for a, b in zip(vectors.floats(one), vectors.floats(two), strict=True))


async def test_texts_become_unit_vectors_of_their_own(embedder: Embedder, folder: Path) -> None:
    vectors = await embedder.embed(found(folder), TEXTS)
    assert (len(vectors), vectors.width, vectors.truncated) == (6, 384, 1)
    for at in range(len(TEXTS)):
        assert cosine(vectors, at, at) == pytest.approx(1, abs=1e-5)
        assert vectors.tokens[at] >= 2
    assert cosine(vectors, 0, 1) < 0.999
    (encoder,) = embedder._pool.loaded("embedding")
    assert (encoder.model_id, encoder.encoder.width, encoder.attempt.result) == (
        "tiny-embed",
        384,
        "ok",
    )


async def test_a_document_becomes_passages(embedder: Embedder, folder: Path) -> None:
    text = "\n\n".join(f"lap {n} was fast and the car turned well. " * 6 for n in range(50))
    passages = await embedder.passages(found(folder), text)
    assert len(passages.texts) == len(passages.vectors) > 25
    (alone,) = (await embedder.embed(found(folder), [passages.texts[7]], "document"),)
    assert alone.floats(0) == pytest.approx(passages.vectors.floats(7), abs=1e-6)


async def test_a_heading_of_any_length_leaves_every_word_of_a_document_in_its_vectors(
    embedder: Embedder, folder: Path
) -> None:
    words = "東" * 2000
    for heading in ("lap", "lap " * 5000, "京" * 5000, "🏁" * 5000):
        passages = await embedder.passages(found(folder), words, heading)
        assert passages.vectors.truncated == 0
        assert sum(map(len, passages.texts)) >= len(words)


async def test_a_process_killed_in_a_request_costs_no_answer(
    embedder: Embedder, folder: Path
) -> None:
    entry = found(folder)
    texts = [f"{word} and more of the same" for word in onnxkit.WORDS] * 6
    right = await embedder.embed(entry, texts)
    before = embedder.totals.texts
    task = asyncio.create_task(embedder.embed(entry, texts))
    await until(lambda: embedder.totals.texts > before + 64)
    (encoder,) = embedder._pool.loaded("embedding")
    os.kill(encoder.worker.pid, signal.SIGKILL)
    again = await task
    assert again.tokens == right.tokens
    for at in range(0, len(texts), 97):
        assert again.floats(at) == pytest.approx(right.floats(at), abs=1e-6)
    assert embedder._pool.loaded("embedding") != [encoder]


async def test_a_process_killed_again_and_again_fails_the_request_and_the_next_is_served(
    embedder: Embedder, folder: Path
) -> None:
    entry = found(folder)
    await embedder.warm(entry)
    task = asyncio.create_task(embedder.embed(entry, ["word " * 100] * 2000))
    killed: set[int] = set()
    while not task.done():
        for encoder in embedder._pool.loaded("embedding"):
            if encoder.worker.pid not in killed and embedder.totals.seconds:
                killed.add(encoder.worker.pid)
                os.kill(encoder.worker.pid, signal.SIGKILL)
        await asyncio.wait({task}, timeout=0.005)
    with pytest.raises(EmbedFailed, match="ended unexpectedly"):
        await task
    assert len(await embedder.embed(entry, ["x"])) == 1


async def test_a_flood_is_refused_and_what_was_admitted_is_answered(
    embedder: Embedder, folder: Path
) -> None:
    entry = found(folder)
    await embedder.warm(entry)
    tasks = [asyncio.create_task(embedder.embed(entry, ["x"] * 20)) for _ in range(60)]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(result, Vectors) for result in results) == 33
    assert sum(isinstance(result, EmbedBusy) for result in results) == 27


@pytest.mark.parametrize("damage", [b"", b"no model at all", bytes(5000)])
async def test_a_damaged_file_says_so_without_its_path(
    embedder: Embedder, tmp_path: Path, damage: bytes
) -> None:
    path = onnxkit.write_tiny(tmp_path)
    path.write_bytes(path.read_bytes()[:3000] + damage)
    with pytest.raises(EmbedFailed, match="tiny-embed cannot be loaded") as caught:
        await embedder.embed(found(tmp_path), ["x"])
    assert str(tmp_path) not in caught.value.message
    assert embedder._pool.failures[0].result.startswith("failed: ")
