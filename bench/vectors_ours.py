"""The document store as a process that answers commands: filled, searched, opened again.

Imports nothing of its own beside the store's entry, so that a start is the start of the store.
"""

import asyncio
import time
from pathlib import Path
from typing import Final

from bench.vectors_answer import Fields, number, serve, text
from runtime.llm.documents.store import DocumentStore, TenantDocuments
from runtime.llm.documents.values import VECTOR_BYTES, NewDocument

MODEL: Final = "all-minilm-l6-v2"
PER_DOCUMENT: Final = 50
NEAREST: Final = 10
WARMING: Final = 5


class Ours:
    """One store and what can be done with it."""

    def __init__(self) -> None:
        self._store: DocumentStore | None = None

    @property
    def store(self) -> DocumentStore:
        """The open store; raises RuntimeError before it is opened."""
        if self._store is None:
            raise RuntimeError("the store is not open")
        return self._store

    def ready(self, _: Fields) -> Fields:
        """Load the libraries that a search loads, which are no memory of the store's."""
        import numpy as np
        import usearch.index

        return {"libraries": [np.__version__, usearch.index.__name__]}

    async def open(self, command: Fields) -> Fields:
        """Open the store of a folder."""
        self._store = await DocumentStore.open(Path(text(command, "folder")))
        return {}

    async def fill(self, command: Fields) -> Fields:
        """Add the rows of a file as documents of 50 chunks, each durable before the next."""
        from bench.vectors_data import blocks, sentences

        tenant = self._tenant(command)
        words = sentences(PER_DOCUMENT, 60)
        started = time.perf_counter()
        for first, rows in blocks(Path(text(command, "vectors")), PER_DOCUMENT):
            texts = tuple(f"{first + at} {words[at]}" for at in range(len(rows)))
            name = f"{first // PER_DOCUMENT:06d}"
            new = NewDocument(name, MODEL, texts, rows.tobytes(), chars=sum(map(len, texts)))
            await tenant.replace(new)
        return {"fill_s": time.perf_counter() - started}

    async def ask(self, command: Fields) -> Fields:
        """Time each query, and say what was found."""
        tenant = self._tenant(command)
        queries = _queries(command)
        for query in queries[:WARMING]:
            await tenant.search(query, MODEL, NEAREST)
        times: list[float] = []
        found: list[list[int]] = []
        for query in queries:
            started = time.perf_counter()
            hits = await tenant.search(query, MODEL, NEAREST)
            times.append((time.perf_counter() - started) * 1e3)
            found.append([int(h.document_id) * PER_DOCUMENT + h.chunk_index for h in hits])
        return {"times_ms": times, "found": found}

    async def first(self, command: Fields) -> Fields:
        """Open the store and answer one query, as a server that has just started."""
        await self.open(command)
        [query] = _queries(command, 1)
        hits = await self._tenant(command).search(query, MODEL, NEAREST)
        return {"hits": len(hits)}

    async def settle(self, command: Fields) -> Fields:
        """Search once, so that an index is wanted, and wait until it answers."""
        [query] = _queries(command, 1)
        started = time.perf_counter()
        await self._tenant(command).search(query, MODEL, NEAREST)
        await self.store.settle()
        return {"seconds": time.perf_counter() - started}

    async def add(self, command: Fields) -> Fields:
        """Add chunks one by one from several callers, each waiting for its own to be on disk."""
        tenant, callers = self._tenant(command), number(command, "callers")
        rows = _queries({**command, "queries": command["vectors"]})
        seconds = number(command, "ms") / 1e3
        from bench.vectors_data import sentences

        texts = sentences(256, 40)
        await tenant.search(rows[0], MODEL, NEAREST)  # with an index that has to follow
        done, started = 0, time.perf_counter()

        async def call() -> None:
            nonlocal done
            while time.perf_counter() - started < seconds:
                number, done = done, done + 1
                words, row = texts[number % len(texts)], rows[number % len(rows)]
                await tenant.replace(
                    NewDocument(f"{callers}-{number}", MODEL, (words,), row, chars=len(words))
                )

        await asyncio.gather(*(call() for _ in range(callers)))
        return {"adds": done, "seconds": time.perf_counter() - started}

    async def close(self, _: Fields) -> Fields:
        """Close the store."""
        await self.store.close()
        self._store = None
        return {}

    def _tenant(self, command: Fields) -> TenantDocuments:
        return self.store.for_tenant(text(command, "tenant"))


def _queries(command: Fields, most: int | None = None) -> list[bytes]:
    """The rows of a file as bytes, at most so many."""
    with Path(text(command, "queries")).open("rb") as file:
        data = file.read() if most is None else file.read(most * VECTOR_BYTES)
    return [data[at : at + VECTOR_BYTES] for at in range(0, len(data), VECTOR_BYTES)]


if __name__ == "__main__":
    ours = Ours()
    serve(
        {
            "ready": ours.ready,
            "open": ours.open,
            "fill": ours.fill,
            "ask": ours.ask,
            "first": ours.first,
            "settle": ours.settle,
            "add": ours.add,
            "close": ours.close,
        }
    )
