"""Keeps chunks with their vectors and finds the best for a question."""

from typing import NamedTuple


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

    def __len__(self) -> int:
        """Number of chunks."""
        raise NotImplementedError("stage 2")

    def add(self, source: str, text: str) -> int:
        """Add or replace a note; return the number of its chunks.

        The vector of a chunk knows the name of the note too.
        """
        raise NotImplementedError("stage 2")

    def search(self, question: str, k: int = 3) -> list[Hit]:
        """The best k chunks, best first; equal scores by source and number.

        A question without a single word finds nothing.
        """
        raise NotImplementedError("stage 2")
