"""Loads a sentence encoder in a process of its own and sees that it makes the right vectors."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from runtime.llm.embed.process import EncoderFailed, EncoderGone, EncoderProcess
from runtime.llm.embed.protocol import Embed, Embedded, Load
from runtime.llm.embed.values import Vectors
from runtime.llm.models.pull.fetch import PullFailed

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
    except EncoderFailed as failure:
        raise PullFailed(f"the model cannot be used: {failure}") from None
    except (EncoderGone, OSError):
        raise PullFailed("the model cannot be used: its process ended unexpectedly") from None


async def _embedded(model: Path, vocab: Path, texts: Sequence[str], max_seq: int | None) -> Vectors:
    process = await EncoderProcess.start()
    try:
        load = Load(process.next_id(), str(model), str(vocab), 1, None, max_seq)
        await process.ask(load, LOAD_S)
        answer = await process.ask(Embed(process.next_id(), list(texts)), LOAD_S)
    finally:
        await process.close()
    if not isinstance(answer.message, Embedded) or len(answer.message.tokens) != len(texts):
        raise EncoderGone
    return Vectors(answer.message.width, answer.body, tuple(answer.message.tokens))


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
