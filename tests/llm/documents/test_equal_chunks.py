"""Many chunks with one vector, and graphs that find too little: the answers stay right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.llm.documents import hnsw
from runtime.llm.documents.exact import Best
from runtime.llm.documents.groups import Groups
from runtime.llm.documents.hnsw import HnswIndex
from runtime.llm.documents.index import LiveIndex, wanted
from runtime.llm.documents.jobs import Jobs
from runtime.llm.documents.store import DocumentStore
from runtime.llm.documents.values import WIDTH, NewDocument
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    Matrix,
    Model,
    assert_same,
    clustered,
    document,
    query,
    randoms,
    unit,
)

FEW = randoms(6, seed=1)
BOILERPLATE = clustered(1, seed=90, topics=10)
STEPS = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 39), max_size=20)), max_size=12)


def subspace(count: int, seed: int) -> Matrix:
    """Unit vectors in 24 dimensions of the 384."""
    base = np.random.default_rng(3).standard_normal((24, WIDTH))
    return unit(np.random.default_rng(seed).standard_normal((count, 24)) @ base)


def grouped(index: HnswIndex) -> dict[int, set[int]]:
    """All chunks of a small graph by the number of their vector in `FEW`."""
    near = index.near(FEW[0], 50)
    assert near.whole
    groups = [{id_, *near.others.get(id_, ())} for id_ in near.ids.tolist()]
    return {next(iter(group)) % len(FEW): group for group in groups}


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_a_graph_has_each_vector_once_and_all_its_chunks(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, list[int]]]
) -> None:
    index, have = HnswIndex(), set[int]()
    for add, ids in steps:
        if add:
            index.add(ids, FEW[[id_ % len(FEW) for id_ in ids]])
            have |= set(ids)
        else:
            index.remove(ids)
            have -= set(ids)
    path = tmp_path_factory.mktemp("graph") / "saved"
    index.save(path)

    wanted_groups = {
        number: {id_ for id_ in have if id_ % len(FEW) == number}
        for number in {id_ % len(FEW) for id_ in have}
    }
    for one in (index, HnswIndex.load(path)):
        assert (len(one), one.nodes) == (len(have), len(wanted_groups))
        assert set(one.ids().tolist()) == have
        assert grouped(one) == wanted_groups
        one.remove(list(have))
        assert (len(one), one.nodes, one.ids().tolist()) == (0, 0, [])


def test_a_chunk_that_comes_with_another_vector_is_refused() -> None:
    groups = Groups()
    groups.add([1, 2], FEW[[0, 0]])

    with pytest.raises(ValueError, match="never changes"):
        groups.add([1], FEW[[1]])


def test_many_equal_chunks_hide_no_others() -> None:
    rows = subspace(6000, seed=1)
    rows[np.random.default_rng(4).permutation(6000)[:2500]] = rows[0]
    ids, index = np.arange(6000), HnswIndex()
    index.add(ids.tolist(), rows)
    hit = 0.0
    for one in subspace(100, seed=2):
        near = index.near(one, wanted(10))
        among = np.asarray([i for n in near.ids.tolist() for i in (n, *near.others.get(n, ()))])
        found, true = Best(one, 10), Best(one, 10)
        found.push(among, rows[among])
        true.push(ids, rows)
        hit += len(np.intersect1d(found.ids, true.ids)) / len(true.ids)

    assert hit / 100 >= 0.99


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
    real = Jobs.scan

    def noted(self: Jobs, collection: int, *rest: object) -> object:
        seen.append(collection)
        return real(self, collection, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Jobs, "scan", noted)
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


async def test_a_collection_on_which_a_graph_finds_too_little_is_searched_exactly(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hnsw, "EXPANSIONS", (16, 17))
    rows, asked = randoms(3000, seed=1), randoms(8, seed=2)
    both = Both(await opened(exact_max=100), Model())
    for number in range(10):
        await both.replace(page(number, rows[number::10]))
    await both.answer_alike(asked[:1])
    await both.store.settle()
    scanned = scans(monkeypatch)

    await both.answer_alike(asked)
    await both.store.close()
    both.store = await opened(exact_max=100)
    await both.answer_alike(asked[:1])
    await both.store.settle()
    await both.answer_alike(asked)

    assert len(scanned) == 2 * len(asked) + 1


@pytest.mark.parametrize(("expansions", "faithful"), [((16,), False), ((16, 1024), True)])
def test_a_graph_is_searched_wider_until_it_finds_enough(
    monkeypatch: pytest.MonkeyPatch, expansions: tuple[int, ...], faithful: bool
) -> None:
    monkeypatch.setattr(hnsw, "EXPANSIONS", expansions)
    rows = randoms(3000, seed=1)
    index = LiveIndex.built([(range(3000), rows.tobytes())], 3000, exact_max=100)

    index.prove(lambda: None)

    assert index.faithful is faithful
    assert (index.candidates(rows[0], 10, 1.0) is not None) is faithful
    assert not index.outgrown


def test_a_graph_that_has_doubled_is_tried_anew() -> None:
    rows = randoms(1100, seed=1)
    index = LiveIndex.built([(range(400), rows[:400].tobytes())], 400, exact_max=100)
    index.prove(lambda: None)
    index.apply((), range(400, 900), rows[400:900])
    before = index.outgrown
    index.apply((), range(900, 1100), rows[900:])

    assert (before, index.outgrown) == (False, True)
