"""Runs an encoder once in a worker process, before it gets its name."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runtime.llm.commands.pull.fetch import PullFailed, say
from runtime.llm.engine.process import Worker, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Embed, Embedded, EncoderLoaded, LoadEncoder
from runtime.llm.inference import Vectors

LOAD_S: Final = 120.0


def embedded(
    model: Path, vocab: Path, texts: Sequence[str] = ("a test",), max_seq: int | None = None
) -> Vectors:
    """The vectors of *texts*. Raises `PullFailed` where the file cannot be used as an encoder."""
    say("testing")
    try:
        return asyncio.run(_embedded(model, vocab, texts, max_seq))
    except (WorkerGone, OSError):
        raise PullFailed("the model cannot be used: its process ended unexpectedly") from None
    except WorkerFailed as failure:
        raise PullFailed(f"the model cannot be used: {failure}") from None


async def _embedded(model: Path, vocab: Path, texts: Sequence[str], max_seq: int | None) -> Vectors:
    worker = await Worker.start()
    try:
        load = LoadEncoder(str(model), str(vocab), 1, None, max_seq)
        await worker.ask(load, EncoderLoaded, LOAD_S)
        answer = await worker.ask(Embed(list(texts)), Embedded, LOAD_S)
    finally:
        await worker.close()
    return Vectors(answer.width, answer.vectors, sum(answer.tokens))
