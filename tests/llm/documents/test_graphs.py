"""Large collections in the store: graphs that grow, follow writes, are saved, lost and damaged."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.llm.documents.document import Hit
from runtime.llm.documents.search import LiveIndex, Search
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    Matrix,
    clustered,
    document,
    files_with,
    fill,
    named,
    query,
)

VECTORS = clustered(500, seed=1, topics=10)
QUERIES = [query(wanted) for wanted in clustered(15, seed=2, topics=10)]


def some(count: int, seed: int) -> Matrix:
    return clustered(count, seed, topics=10)


async def answers(store: DocumentStore, tenant: str = "a") -> list[list[Hit]]:
    own = store.for_tenant(tenant)
    return [await own.search(wanted, MODEL, 10) for wanted in QUERIES]


def graphs(folder: Path) -> list[Path]:
    return sorted((folder / "data" / "indexes").glob("*"))


@pytest.fixture
async def expected(opened: Open, tmp_path: Path) -> list[list[Hit]]:
    """What an exact search of `VECTORS` finds."""
    store = await opened(tmp_path / "other")
    await fill(store, "a", VECTORS)
    return await answers(store)


def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The collections whose rows are read to build an index, as it happens."""
    seen: list[int] = []
    real = LiveIndex._read_rows

    def noted(self: LiveIndex, *rest: object) -> object:
        seen.append(self.collection)
        return real(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(LiveIndex, "_read_rows", noted)
    return seen


async def test_a_graph_is_built_behind_the_first_search_and_saved(
    opened: Open, tmp_path: Path, expected: list[list[Hit]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(exact_max=100)
    await fill(store, "a", VECTORS)
    assert await answers(store) == expected  # rows, while the graph is built
    await store.settle()
    assert await answers(store) == expected
    await store.close()
    built = builds(monkeypatch)

    again = await opened(exact_max=100)
    first = await answers(again)
    await again.settle()

    assert (first, await answers(again)) == (expected, expected)
    assert built == []
    assert len(graphs(tmp_path)) == 1


def in_graph(store: DocumentStore) -> list[int]:
    """The chunks in the graph of the first collection: a wrong one would only cost time."""
    assert store._search is not None
    graph = store._search._indexes[1].graph
    assert graph is not None
    return sorted(graph.ids().tolist())


async def in_rows(store: DocumentStore) -> list[int]:
    def ids(connection: sqlite3.Connection) -> list[int]:
        listed = connection.execute("SELECT id FROM chunks WHERE collection = 1 ORDER BY id")
        return [number for (number,) in listed]

    return await store.database.read(ids)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def garbage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3000:-1000] = b"\xa5" * 2000
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lost(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [truncate, flip, zero, garbage, empty, lost, a_folder])
async def test_a_damaged_index_file_changes_no_answer(
    opened: Open, tmp_path: Path, expected: list[list[Hit]], damage: Callable[[Path], None]
) -> None:
    store = await opened(exact_max=100)
    await fill(store, "a", VECTORS)
    await answers(store)
    await store.settle()
    await store.close()
    damage(graphs(tmp_path)[0])

    again = await opened(exact_max=100)
    first = await answers(again)
    await again.settle()

    assert (first, await answers(again)) == (expected, expected)


async def test_index_files_of_two_tenants_that_were_swapped_change_no_answer(
    opened: Open, tmp_path: Path, expected: list[list[Hit]]
) -> None:
    store = await opened(exact_max=100)
    await fill(store, "a", VECTORS)
    await fill(store, "b", VECTORS[::-1].copy())
    await answers(store, "a")
    of_b = await answers(store, "b")
    await store.settle()
    await store.close()
    one, two = graphs(tmp_path)
    one.rename(tmp_path / "kept")
    two.rename(one)
    (tmp_path / "kept").rename(two)

    again = await opened(exact_max=100)
    first = await answers(again, "a"), await answers(again, "b")
    await again.settle()

    assert first == (expected, of_b)
    assert (await answers(again, "a"), await answers(again, "b")) == (expected, of_b)


@pytest.mark.parametrize("kind", ["usearch 0.0.1 ip f16 384 16 128", ""])
async def test_a_file_of_another_version_is_not_read(
    opened: Open, kind: str, expected: list[list[Hit]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(exact_max=100)
    await fill(store, "a", VECTORS)
    await answers(store)
    await store.settle()
    async with store.database.exclusive() as writer:
        await writer.run(lambda c: c.execute("UPDATE collections SET file_format = ?", (kind,)))
    await store.close()
    built = builds(monkeypatch)

    again = await opened(exact_max=100)
    await answers(again)
    await again.settle()

    assert await answers(again) == expected
    assert len(built) == 1


async def test_a_graph_follows_writes_and_is_built_anew_when_much_is_gone(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, store = await opened(), await opened(tmp_path / "other", exact_max=100)
    for one in (exact, store):
        await fill(one, "a", VECTORS, each=20)
        await answers(one)
        await one.settle()
    built = builds(monkeypatch)

    for number in range(20):
        for one in (exact, store):
            own = one.for_tenant("a")
            if number % 3:
                await own.delete(f"d{number:04}")
            else:
                new = document(f"d{number:04}", ["new"] * 7, vectors=some(7, 50 + number))
                await own.replace(new)
        assert await answers(store) == await answers(exact)
    await store.settle()

    assert built
    assert await answers(store) == await answers(exact)
    assert in_graph(store) == await in_rows(store)


async def test_writes_during_a_build_are_in_the_built_graph(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, exact = await opened(exact_max=100), await opened(tmp_path / "other")
    for one in (store, exact):
        await fill(one, "a", VECTORS, each=20)
    loop, started, go_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    real = LiveIndex.build

    def slow(self: LiveIndex, *rest: object) -> bool:
        made = real(self, *rest)  # type: ignore[arg-type]
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(30)
        return made

    monkeypatch.setattr(LiveIndex, "build", slow)
    await store.for_tenant("a").search(QUERIES[0], MODEL, 1)
    await started.wait()
    for one in (store, exact):
        await one.for_tenant("a").replace(document("d0002", ["n"] * 9, vectors=some(9, 8)))
        await one.for_tenant("a").replace(document("new", ["n"] * 9, vectors=some(9, 9)))
        await one.for_tenant("a").delete("d0004")
        await one.for_tenant("a").delete("new")
        await one.for_tenant("a").replace(document("new", ["m"] * 5, vectors=some(5, 10)))
    during = await answers(store)
    go_on.set()
    await store.settle()

    expected = await answers(exact)
    assert during == expected
    assert await answers(store) == expected
    assert in_graph(store) == await in_rows(store)


async def test_memory_of_indexes_is_bounded_and_one_that_goes_comes_back(
    opened: Open, expected: list[list[Hit]]
) -> None:
    store = await opened(index_bytes=3_000_000)
    for tenant in "abcdef":
        await fill(store, tenant, VECTORS)
        assert [list(map(named, hits)) for hits in await answers(store, tenant)]
        assert store._search is not None
        assert store._search.nbytes <= 3_000_000

    assert await answers(store, "a") == expected


@pytest.mark.parametrize("broken", ["_read_rows", "_catch_up"])
async def test_an_index_that_fails_is_reported_and_searches_go_on(
    opened: Open,
    expected: list[list[Hit]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    broken: str,
) -> None:
    def fail(self: LiveIndex, *rest: object) -> None:
        raise MemoryError

    store = await opened()
    await fill(store, "a", VECTORS[:400])
    await answers(store)
    await store.close()
    store = await opened()
    monkeypatch.setattr(LiveIndex, broken, fail)
    await fill(store, "a", VECTORS)

    assert await answers(store) == expected
    assert caplog.text.count("an index failed") == 1


async def test_a_graph_with_much_to_add_catches_up_in_the_background(
    opened: Open, tmp_path: Path
) -> None:
    store, exact = await opened(exact_max=100), await opened(tmp_path / "other")
    for one in (store, exact):
        await fill(one, "a", VECTORS)
        await answers(one)
        await one.settle()
        await one.for_tenant("a").replace(document("new", ["n"] * 90, vectors=some(90, 5)))

    assert await answers(store) == await answers(exact)
    await store.settle()
    assert await answers(store) == await answers(exact)
    assert in_graph(store) == await in_rows(store)


async def test_a_tenant_that_is_deleted_leaves_no_index_file(opened: Open, tmp_path: Path) -> None:
    store = await opened(exact_max=100)
    for tenant in ("secret-name", "b"):
        await fill(store, tenant, VECTORS)
        await answers(store, tenant)
    await store.settle()
    assert len(graphs(tmp_path)) == 2
    assert files_with(tmp_path / "data" / "indexes", ["secret", "name"]) == []
    assert "secret" not in " ".join(path.name for path in graphs(tmp_path))

    await store.delete_tenant("secret-name")

    assert len(graphs(tmp_path)) == 1


async def test_files_that_nobody_knows_are_swept_away_at_the_start(
    opened: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "indexes"
    folder.mkdir(parents=True)
    for name in ("1-5.hnsw", "7-1.tmp"):
        (folder / name).write_bytes(b"old")
    (folder / "notes.txt").write_text("mine")

    await opened()

    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


async def test_an_index_file_that_cannot_be_written_costs_only_a_warning(
    opened: Open, tmp_path: Path, expected: list[list[Hit]], caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(exact_max=100)
    (tmp_path / "data" / "indexes").write_text("in the way")
    await fill(store, "a", VECTORS)

    await answers(store)
    await store.settle()

    assert await answers(store) == expected
    assert "an index file cannot be written" in caplog.text
    assert logging.getLevelName(caplog.records[-1].levelno) == "WARNING"


async def test_a_store_that_closes_does_not_wait_for_a_build(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.documents.sql.BLOCK", 50)
    store = await opened(exact_max=100)
    await fill(store, "a", VECTORS)
    loop, begun, read = asyncio.get_running_loop(), asyncio.Event(), []
    real = Search._go_on

    def noted(self: Search) -> None:
        read.append(1)
        loop.call_soon_threadsafe(begun.set)
        self._stop.wait(30)
        real(self)

    monkeypatch.setattr(Search, "_go_on", noted)
    await store.for_tenant("a").search(QUERIES[0], MODEL, 1)
    await begun.wait()
    await store.close()

    assert read == [1]
