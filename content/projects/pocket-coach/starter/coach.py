"""Answers a question from the notes, with or without a local model."""

from collections.abc import Callable
from typing import NamedTuple

from search import Store

LIMIT = 0.2
NO_NOTE = "I have no note on that."
Model = Callable[[str], str]


class Answer(NamedTuple):
    """What is said, the notes it rests on, and who phrased it."""

    text: str
    sources: list[str]
    by: str  # "model", "note" or "nobody"


def answer(question: str, store: Store, model: Model | None = None) -> Answer:
    """Answer from the notes that reach the limit, or decline.

    A model gets the notes with their names first and the question at the end. A
    model that raises OSError or ValueError, or says nothing, is replaced by the
    best sentence of the best chunk.
    """
    raise NotImplementedError("stage 3")
