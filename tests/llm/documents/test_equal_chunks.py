"""Many chunks with one vector, and graphs that find too little: the answers stay right."""

import sqlite3

import numpy as np
import pytest

from runtime.llm.documents import search
from runtime.llm.documents.document import WIDTH, NewDocument
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    Matrix,
    Model,
    assert_same,
    clustered,
    document,
    query,
    unit,
)

BOILERPLATE = clustered(1, seed=90, topics=10)


class Both:
    """A store and what it should answer."""

    def __init__(self, store: DocumentStore, model: Model) -> None:
        self.store, self.model = store, model

    async def replace(self, new: NewDocument) -> None:
        await self.store.for_tenant("a").replace(new)
        self.model.replace("a", new)

    async def delete(self, name: str) -> None:
        await self.store.for_tenant("a").delete(name)
        self.model.delete("a", name)

    async def answer_alike(self, queries: Matrix, k: int = 10) -> None:
        for one in queries:
            found = await self.store.for_tenant("a").search(query(one), MODEL, k)
            assert_same(found, self.model.search("a", query(one), MODEL, k))


def page(number: int, rows: Matrix) -> NewDocument:
    return document(f"d{number:03}", [f"{number}/{at}" for at in range(len(rows))], vectors=rows)


async def filled(store: DocumentStore, shared: Matrix) -> Both:
    """Forty documents, last one first, of ten chunks each and fifteen shared ones."""
    both = Both(store, Model())
    own = clustered(400, seed=1, topics=10)
    for number in reversed(range(40)):
        mixed = np.concatenate((shared[number::40], own[number::40]))
        await both.replace(page(number, mixed))
    return both


ASKED = np.concatenate((BOILERPLATE, clustered(10, seed=2, topics=10)))


def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The collections all of whose chunks are compared, as it happens."""
    seen: list[int] = []
    real = search.scan

    def noted(connection: sqlite3.Connection, collection: int, *rest: object) -> object:
        seen.append(collection)
        return real(connection, collection, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "scan", noted)
    return seen


async def test_equal_chunks_stand_by_document_then_chunk_in_a_graph(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = await filled(await opened(exact_max=100), np.repeat(BOILERPLATE, 600, axis=0))
    await both.answer_alike(ASKED[:1])
    await both.store.settle()
    scanned = scans(monkeypatch)

    await both.answer_alike(ASKED)
    for number in (39, 0, 1):  # the first chunk that came, then the first ones in order
        await both.delete(f"d{number:03}")
        await both.answer_alike(ASKED)
    await both.replace(page(0, np.repeat(BOILERPLATE, 3, axis=0)))
    await both.answer_alike(ASKED)
    await both.store.settle()
    await both.answer_alike(ASKED, k=40)
    assert scanned == []
    await both.store.close()

    both.store = await opened(exact_max=100)
    await both.answer_alike(ASKED[:1])
    await both.store.settle()
    scanned.clear()
    await both.answer_alike(ASKED)
    for number in range(40):
        await both.delete(f"d{number:03}")
        if number % 9 == 0:
            await both.answer_alike(ASKED)
    assert scanned == []


async def test_nearly_equal_chunks_are_all_compared(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = 1e-8 * np.random.default_rng(5).standard_normal((600, WIDTH))
    both = await filled(await opened(exact_max=100), unit(BOILERPLATE + noise))
    await both.answer_alike(ASKED[:1])
    await both.store.settle()
    scanned = scans(monkeypatch)

    await both.answer_alike(ASKED)

    assert 0 < len(scanned) < len(ASKED)
