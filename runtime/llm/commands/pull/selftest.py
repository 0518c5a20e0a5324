"""Test an encoder in a worker process before it is installed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runtime.llm.commands.pull.fetch import PullFailed, say
from runtime.llm.engine.process import Worker, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Embed, Embedded, EncoderLoaded, LoadEncoder
from runtime.llm.inference import Vectors

LOAD_S: Final = 120.0


def embed_texts(
    model: Path, vocab: Path, texts: Sequence[str] = ("a test",), max_seq: int | None = None
) -> Vectors:
    """Embed *texts*. Raises `PullFailed` if the file cannot be used as an encoder."""
    say("testing")
    try:
        return asyncio.run(_embed(model, vocab, texts, max_seq))
    except (WorkerGone, OSError):
        raise PullFailed("the model cannot be used: its process ended unexpectedly") from None
    except WorkerFailed as failure:
        raise PullFailed(f"the model cannot be used: {failure}") from None


async def _embed(model: Path, vocab: Path, texts: Sequence[str], max_seq: int | None) -> Vectors:
    worker = await Worker.start()
    try:
        load = LoadEncoder(str(model), str(vocab), 1, None, max_seq)
        await worker.ask(load, EncoderLoaded, LOAD_S)
        answer = await worker.ask(Embed(list(texts)), Embedded, LOAD_S)
    finally:
        await worker.close()
    return Vectors(answer.width, answer.vectors, sum(answer.tokens))
