"""Answers a question from the notes, with or without a local model."""

from collections.abc import Callable
from typing import NamedTuple

from notes import embed, sentences
from search import Hit, Store

LIMIT = 0.2
NO_NOTE = "I have no note on that."
Model = Callable[[str], str]


class Answer(NamedTuple):
    """What is said, the notes it rests on, and who phrased it."""

    text: str
    sources: list[str]
    by: str  # "model", "note" or "nobody"


def prompt(question: str, hits: list[Hit]) -> str:
    """Instruction, notes with their names, and the question at the end."""
    notes = "\n".join(f"[{hit.chunk.source}] {hit.chunk.text}" for hit in hits)
    rule = "Answer in one short sentence, only from these notes."
    return f"{rule}\n\n{notes}\n\nQuestion: {question}"


def best_sentence(question: str, text: str) -> str:
    """The sentence of a text that is closest to the question."""
    asked = embed(question) or []

    def score(sentence: str) -> float:
        vector = embed(sentence) or []
        return sum(a * b for a, b in zip(asked, vector, strict=False))

    return max(sentences(text), key=score)


def answer(question: str, store: Store, model: Model | None = None) -> Answer:
    """Answer from the notes that reach the limit, or decline.

    A model that fails or says nothing is replaced by the best sentence.
    """
    hits = [hit for hit in store.search(question) if hit.score >= LIMIT]
    if not hits:
        return Answer(NO_NOTE, [], "nobody")
    if model is not None:
        try:
            text = model(prompt(question, hits)).strip()
        except (OSError, ValueError):  # not reachable, cut off, or not understood
            text = ""
        if text:
            sources = list(dict.fromkeys(hit.chunk.source for hit in hits))
            return Answer(text, sources, "model")
    best = hits[0].chunk
    return Answer(best_sentence(question, best.text), [best.source], "note")
