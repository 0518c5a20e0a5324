"""Loads a sentence encoder in a process of its own and sees that it makes the right vectors."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from runtime.llm.commands.pull.fetch import PullFailed
from runtime.llm.engine.embedding import Vectors
from runtime.llm.engine.process import Worker, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Embed, Embedded, EncoderLoaded, LoadEncoder

LOAD_S: Final = 120.0
TOLERANCE: Final = 1e-3
"""How far a number of a vector may be off; float16 weights cost about a tenth of that."""


class Golden(NamedTuple):
    """A text and the vector that the model's authors' program makes of it."""

    text: str
    vector: Sequence[float]


def embedded(model: Path, vocab: Path, texts: Sequence[str], max_seq: int | None) -> Vectors:
    """The vectors of *texts*. Raises `PullFailed` where the file cannot be used as an encoder."""
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
    return Vectors(answer.width, answer.vectors, tuple(answer.tokens))


def check(model: Path, vocab: Path, golden: Sequence[Golden], max_seq: int | None) -> None:
    """Raise `PullFailed` unless the encoder makes the golden vectors, within `TOLERANCE`."""
    vectors = embedded(model, vocab, [one.text for one in golden], max_seq)
    for number, one in enumerate(golden):
        if vectors.width != len(one.vector) or distance(vectors.floats(number), one.vector) > (
            TOLERANCE
        ):
            raise PullFailed("the self-test failed: the model makes other vectors than it should")


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference of two vectors of the same width; infinite where one is no number."""
    gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return max(gaps) if all(map(math.isfinite, gaps)) else math.inf
