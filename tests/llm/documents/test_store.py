"""The document store as its callers see it: documents in, hits out, tenants apart."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.llm.documents.document import StoreFailed, StoreLimit, TenantInfo
from runtime.llm.documents.sql import Commit, Replace
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    Matrix,
    document,
    fill,
    query,
    randoms,
)


async def test_a_list_without_a_limit_goes_over_its_inner_pages(
    store: DocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.documents.store._PAGE", 3)
    own = store.for_tenant("a")
    for number in range(10):
        await own.replace(document(f"{number}"))

    page = await own.documents()

    assert [one.id for one in page.documents] == [str(number) for number in range(10)]
    assert not page.more


async def test_equal_scores_stand_by_document_then_chunk(store: DocumentStore) -> None:
    own = store.for_tenant("a")
    vector = randoms(1, 1)
    for name in ("c", "a", "b"):
        await own.replace(document(name, ("x",) * 40, vectors=np.repeat(vector, 40, axis=0)))

    hits = await own.search(query(vector[0]), MODEL, 50)

    assert [(hit.document_id, hit.chunk_index) for hit in hits] == [
        *(("a", number) for number in range(40)),
        *(("b", number) for number in range(10)),
    ]
    assert len({hit.score for hit in hits}) == 1


BAD: dict[str, Matrix] = {
    "too few": randoms(1, 1),
    "too many": randoms(3, 1),
    "too narrow": randoms(2, 1)[:, :383],
}


@pytest.mark.parametrize("what", BAD)
async def test_vectors_that_are_none_are_refused_before_anything_is_stored(
    store: DocumentStore, what: str
) -> None:
    own = store.for_tenant("a")

    with pytest.raises(ValueError, match="vector"):
        await own.replace(document("d", ("x", "y"), vectors=BAD[what]))

    assert (await store.figures())[:3] == (0, 0, 0)


async def test_documents_without_chunks_id_or_readable_metadata_are_refused(
    store: DocumentStore,
) -> None:
    own = store.for_tenant("a")
    good = document("d")

    for bad in ({"texts": (), "vectors": b""}, {"id": ""}, {"metadata": "{"}, {"metadata": "NaN"}):
        with pytest.raises(ValueError):  # noqa: PT011  # each has words of its own
            await own.replace(type(good)(**{**vars(good), **bad}))
    with pytest.raises(ValueError, match="tenant"):
        store.for_tenant("")

    assert await store.tenants() == []


async def test_the_caps_hold_over_all_tenants_and_an_equal_replace_passes(opened: Open) -> None:
    store = await opened(max_chunks=5, max_tenants=2)
    await store.for_tenant("a").replace(document("d", ("x",) * 3))
    await store.for_tenant("b").replace(document("d", ("x",) * 2))

    with pytest.raises(StoreLimit, match="5 chunks"):
        await store.for_tenant("a").replace(document("e"))
    with pytest.raises(StoreLimit, match="5 chunks"):
        await store.for_tenant("a").replace(document("d", ("x",) * 4))
    await store.for_tenant("a").replace(document("d", ("y",) * 3))
    await store.for_tenant("b").replace(document("d", ("y",)))
    with pytest.raises(StoreLimit, match="2 tenants"):
        await store.for_tenant("c").replace(document("d"))

    assert (await store.figures())[:3] == (2, 2, 4)
    assert StoreLimit.status == 413


async def test_a_caller_that_goes_away_does_not_stop_its_write_and_search_follows(
    opened: Open,
) -> None:
    store = await opened()
    own = store.for_tenant("a")
    await fill(store, "a", randoms(50, 1))
    vector = randoms(1, 9)
    assert await own.search(query(vector[0]), MODEL, 1)

    gone = 0
    for moment in range(12):
        task = asyncio.create_task(own.replace(document(f"x{moment}", vectors=vector)))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        gone += task.cancelled()  # a write on a quick disk may be done before
        await own.delete("none")  # behind the cancelled write, if it had begun
    assert gone
    hits = await own.search(query(vector[0]), MODEL, 12)
    listed = {one.id for one in (await own.documents()).documents if one.id.startswith("x")}

    assert {hit.document_id for hit in hits if hit.score > 0.99} == listed


async def test_reads_do_not_wait_for_a_write(store: DocumentStore) -> None:
    await fill(store, "a", randoms(20, 1))

    async with store.database.exclusive():
        hits = await store.for_tenant("a").search(query(randoms(20, 1)[3]), MODEL, 1)
        page = await store.for_tenant("a").documents()
        tenants = await store.tenants()

    assert hits[0].text == "text 3 of a"
    assert len(page.documents) == len(tenants) == 1


async def test_readers_see_the_old_document_or_the_new_one_never_a_part(
    store: DocumentStore,
) -> None:
    own = store.for_tenant("a")
    vector = randoms(1, 1)
    rows = np.repeat(vector, 12, axis=0)
    await own.replace(document("d", ("0",) * 12, vectors=rows))
    done = asyncio.Event()

    async def write() -> None:
        for number in range(1, 60):
            await own.replace(document("d", (f"{number}",) * 12, vectors=rows))
        done.set()

    async def read() -> int:
        seen = 0
        while not done.is_set():
            hits = await own.search(query(vector[0]), MODEL, 50)
            assert len(hits) == 12
            assert len({hit.text for hit in hits}) == 1
            assert int(hits[0].text) >= seen
            seen = int(hits[0].text)
        return seen

    await asyncio.gather(write(), read(), read(), read())


def test_numpy_and_usearch_are_loaded_by_the_first_search_not_before(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
from runtime.llm.documents.store import DocumentStore
async def main():
    store = await DocumentStore.open(Path(sys.argv[1]))
    own = store.for_tenant("a")
    await own.documents(); await own.delete("x"); await store.tenants(); await store.figures()
    print([name for name in ("numpy", "usearch") if name in sys.modules])
    await own.search(bytes(1536), "m", 5)
    await store.close()
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


async def test_writes_at_once_share_commits_and_each_stands_for_itself(
    store: DocumentStore,
) -> None:
    await store.for_tenant("a").replace(document("000"))
    commits = 0
    writer = store.database._writer
    run = writer.run

    async def counting(work: Any, *args: Any, **options: Any) -> Any:
        nonlocal commits
        commits += 1
        return await run(work, *args, **options)

    writer.run = counting  # type: ignore[method-assign]
    mine, full = store.for_tenant("a"), store.for_tenant("b")
    wide = document("wide", ("one", "two"))
    store.settings = replace(store.settings, max_chunks=100)  # one of the two has room
    results = await asyncio.gather(
        *(mine.replace(document(f"{n:03d}", seed=n)) for n in range(99)),
        full.replace(wide),  # takes the store over its limit
        mine.replace(document("050", seed=200)),
        mine.delete("051"),
        mine.delete("no such document"),
        return_exceptions=True,
    )
    listed = [info.id for info in (await mine.documents()).documents]

    assert results[:99] == [True, *[False] * 98]
    assert isinstance(results[99], StoreLimit)
    assert results[100:] == [True, 1, 0]
    assert listed == [f"{n:03d}" for n in range(99) if n != 51]
    assert await store.tenants() == [TenantInfo("a", 98, 98)]
    assert commits < 20


async def test_clients_that_write_one_document_after_another_stay_in_one_group(
    store: DocumentStore,
) -> None:
    clients, rounds = 8, 10
    groups: list[int] = []

    others: list[asyncio.Task[None]] = []

    async def client(number: int) -> None:
        for turn in range(rounds):
            await store.for_tenant("ada").replace(document(f"{number}-{turn}"))

    async def follow(commit: Commit) -> None:
        groups.append(len(commit.results))
        while len(others) < clients - 1:  # they come while the first is under way
            others.append(asyncio.create_task(client(1 + len(others))))
            await asyncio.sleep(0.001)

    store.database.follow = follow
    await client(0)
    await asyncio.gather(*others)
    assert sum(groups) == clients * rounds
    assert len(groups) < rounds + clients // 2


async def test_writes_whose_commit_fails_are_told_apart(store: DocumentStore) -> None:
    mine = store.for_tenant("a")
    await mine.replace(document("first", seed=0))

    broken = replace(document("first", seed=3), vectors=bytes(8))

    results = await asyncio.gather(
        mine.replace(document("good", seed=1)),
        store.database.write(Replace("a", broken, 100, 100, now=0), adds=8),
        mine.replace(document("fine", seed=2)),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [bool, StoreFailed, bool]
    assert [info.id for info in (await mine.documents()).documents] == ["fine", "first", "good"]
