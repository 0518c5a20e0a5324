"""Keeps chunks with their vectors and finds the best for a question."""

from typing import NamedTuple

from notes import chunks, embed


class Chunk(NamedTuple):
    """One piece of a note."""

    source: str
    number: int
    text: str


class Hit(NamedTuple):
    """A chunk with its cosine similarity to the question."""

    score: float
    chunk: Chunk


class Store:
    """All notes of one user, held in memory."""

    def __init__(self) -> None:
        self._rows: list[tuple[Chunk, list[float]]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, source: str, text: str) -> int:
        """Add or replace a note; return the number of its chunks."""
        rows = []
        for number, piece in enumerate(chunks(text)):
            vector = embed(f"{source} {piece}")
            if vector is not None:
                rows.append((Chunk(source, number, piece), vector))
        kept = [row for row in self._rows if row[0].source != source]
        self._rows = kept + rows
        return len(rows)

    def search(self, question: str, k: int = 3) -> list[Hit]:
        """The best k chunks, best first; equal scores by source and number."""
        asked = embed(question)
        if asked is None:
            return []
        hits = [
            Hit(sum(a * b for a, b in zip(asked, vector, strict=True)), chunk)
            for chunk, vector in self._rows
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk.source, hit.chunk.number))
        return hits[:k]
