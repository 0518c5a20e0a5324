"""The server's side and the real encoder process, with a tiny model."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from runtime.llm.engine.embedding import Embedder
from runtime.llm.engine.pool import Pool
from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.settings import LlmSettings
from tests.llm.engine import onnxkit
from tests.llm.serverkit import processes_below
from tests.waiting import until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model; it is shared, so nothing is changed in it."""
    folder = tmp_path_factory.mktemp("encoders")
    onnxkit.write_tiny(folder)
    return folder


@pytest.fixture
async def embedder() -> AsyncIterator[Embedder]:
    descriptors, before = psutil.Process().num_fds(), processes_below(os.getpid())
    pool = Pool(LlmSettings(embedding_threads=1))
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


async def test_a_document_becomes_passages_and_a_heading_of_any_length_cuts_none(
    embedder: Embedder, folder: Path
) -> None:
    text = "\n\n".join(f"lap {n} was fast and the car turned well. " * 6 for n in range(50))
    passages = await embedder.passages(found(folder), text)
    assert len(passages.texts) == len(passages.vectors) > 25
    alone = await embedder.embed(found(folder), [passages.texts[7]], "document")
    assert alone.floats(0) == pytest.approx(passages.vectors.floats(7), abs=1e-6)
    words = "東" * 1000
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
    (encoder,) = embedder._pool.list_engines("embedding")
    os.kill(encoder.worker.pid, signal.SIGKILL)
    again = await task
    assert again.tokens == right.tokens
    for at in range(0, len(texts), 97):
        assert again.floats(at) == pytest.approx(right.floats(at), abs=1e-6)
    assert embedder._pool.list_engines("embedding") != [encoder]
