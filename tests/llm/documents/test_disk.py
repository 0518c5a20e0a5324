"""The store and its disk: full, damaged, of another version, and free of what was deleted."""

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.llm.documents import schema
from runtime.llm.documents.database import SPARE_FILE, SPARE_SHARE, Spare
from runtime.llm.documents.document import (
    VECTOR_BYTES,
    StoreFailed,
    StoreFull,
    StoreUnusable,
    TenantInfo,
    Where,
)
from runtime.llm.documents.sql import Totals
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import (
    MODEL,
    clustered,
    document,
    files_with,
    fill,
    found_in,
    query,
    randoms,
)

DISK = 8 << 20

# --- a full disk


async def write_until_full(store: DocumentStore) -> list[str]:
    """Add documents until there is no room; the ids of those that were stored."""
    own = store.for_tenant("a")
    stored: list[str] = []

    async def write() -> None:
        for number in range(100_000):
            await own.replace(document(f"{number:05}", ("x" * 400,) * 20, seed=number % 50))
            stored.append(f"{number:05}")

    with pytest.raises(StoreFull) as full:
        await write()
    assert (full.value.status, full.value.code) == (503, "disk_full")
    assert full.value.headers == {"Retry-After": "10"}
    return stored


async def assert_only_reads(store: DocumentStore, stored: list[str]) -> None:
    own = store.for_tenant("a")
    for _ in range(2):
        with pytest.raises(StoreFull):
            await own.replace(document("more", ("x" * 400,) * 100))
        with pytest.raises(StoreFull):
            await own.replace(document(stored[0], ("y" * 400,) * 400))
        page = await own.documents()
        hits = await own.search(query(randoms(20, 1)[3]), MODEL, 3)
        assert [one.id for one in page.documents] == stored
        assert {one.chunk_count for one in page.documents} == {20}
        assert all(hit.text == "x" * 400 for hit in hits)
        assert (await store.figures())[:3] == (1, len(stored), 20 * len(stored))


async def test_a_database_that_may_not_grow_is_still_read(
    store: DocumentStore,
) -> None:
    async def limit(pages: int) -> None:
        async with store.database.exclusive() as writer:
            await writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchall())

    await limit(1_500)
    stored = await write_until_full(store)
    assert stored
    await assert_only_reads(store, stored)
    await limit(1 << 30)

    await store.for_tenant("a").replace(document("more", ("x" * 400,) * 100))

    assert len((await store.for_tenant("a").documents()).documents) == len(stored) + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_full_disk_refuses_writes_and_the_same_store_writes_again_when_there_is_room(
    small_disk: Path, opened: Open
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4 << 20))
    store = await opened(small_disk / "data", spare_bytes=0)
    stored = await write_until_full(store)
    assert stored
    await assert_only_reads(store, stored)
    ballast.unlink()

    await store.for_tenant("a").replace(document("more", ("x" * 400,) * 100))
    await store.close()
    again = await opened(small_disk / "data", spare_bytes=0)

    names = [one.id for one in (await again.for_tenant("a").documents()).documents]
    assert names == [*stored, "more"]


async def test_on_a_full_disk_documents_can_be_deleted_and_their_room_used_again(
    small_disk: Path, opened: Open
) -> None:
    store = await opened(small_disk / "data", spare_bytes=1 << 20)
    stored = await write_until_full(store)
    assert free(small_disk) < 2 << 20

    for name in stored:
        assert await store.for_tenant("a").delete(name) == 20
    for number in range(len(stored) // 2):
        await store.for_tenant("b").replace(document(f"{number}", ("x" * 400,) * 20))
    assert (await store.figures())[:3] == (1, len(stored) // 2, 20 * (len(stored) // 2))


async def test_a_full_disk_costs_an_index_file_only(
    small_disk: Path, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened(small_disk / "data", exact_max=100, spare_bytes=0)
    vectors = clustered(1500, seed=1)
    await fill(store, "a", vectors)
    (small_disk / "ballast").write_bytes(bytes(free(small_disk) - (300 << 10)))

    await store.for_tenant("a").search(query(vectors[5]), MODEL, 1)
    await store.settle()
    (hit,) = await store.for_tenant("a").search(query(vectors[5]), MODEL, 1)

    assert hit.text == "text 5 of a"
    assert "an index file cannot be written" in caplog.text
    assert list((small_disk / "data" / "indexes").iterdir()) == []


def free(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


# --- room that is kept for deletes


def fill_up(folder: Path, leaving: int = 0) -> None:
    """Take what is left, as another program does."""
    with (folder / "theirs").open("ab") as file:
        file.write(bytes(shutil.disk_usage(folder).free - leaving))


@pytest.fixture
async def crowded(small_disk: Path, opened: Open) -> DocumentStore:
    """A store with 20 documents on a disk that another program has filled."""
    store = await opened(small_disk / "data")
    for number in range(20):
        await store.for_tenant("a").replace(document(f"{number:02}", ("x" * 400,) * 10))
    fill_up(small_disk)
    assert shutil.disk_usage(small_disk).free == 0
    return store


async def test_on_a_disk_that_others_filled_documents_can_be_deleted_one_after_the_other(
    crowded: DocumentStore, small_disk: Path
) -> None:
    for number in range(20):
        assert await crowded.for_tenant("a").delete(f"{number:02}") == 10
        assert (small_disk / "data" / SPARE_FILE).stat().st_size == DISK // SPARE_SHARE
        fill_up(small_disk)

    assert shutil.disk_usage(small_disk).free == 0


async def test_on_a_disk_that_others_filled_a_tenant_can_be_deleted(
    crowded: DocumentStore,
) -> None:
    assert await crowded.delete_tenant("a") == 200
    assert (await crowded.figures())[:3] == (0, 0, 0)


async def test_what_was_deleted_there_makes_room_for_another_document(
    crowded: DocumentStore,
) -> None:
    own = crowded.for_tenant("a")
    for number in range(5):
        await own.delete(f"{number:02}")

    await own.replace(document("new", ("x" * 400,) * 10))

    assert len((await own.documents()).documents) == 16


async def test_a_refused_document_is_told_what_it_takes_and_what_is_free(
    crowded: DocumentStore,
) -> None:
    with pytest.raises(StoreFull) as full:
        await crowded.for_tenant("a").replace(document("big", ("x" * 400,) * 1000))

    assert "the write needs about 4.9 MB" in full.value.message
    assert "kB are free" in full.value.message


@pytest.fixture
async def robbed(crowded: DocumentStore, small_disk: Path) -> DocumentStore:
    """The same after somebody took the spare room too, and a delete found none."""
    (small_disk / "data" / SPARE_FILE).unlink()
    fill_up(small_disk)
    with pytest.raises(StoreFull):
        await crowded.for_tenant("a").delete("00")
    return crowded


async def test_a_delete_of_nothing_does_not_say_that_there_is_room(robbed: DocumentStore) -> None:
    assert await robbed.for_tenant("a").delete("never") == 0
    assert (await robbed.figures()).full


async def test_room_that_somebody_took_away_is_kept_again_once_there_is_some(
    robbed: DocumentStore, small_disk: Path
) -> None:
    (small_disk / "theirs").unlink()

    assert await robbed.for_tenant("a").delete("00") == 10
    assert (small_disk / "data" / SPARE_FILE).stat().st_size == DISK // SPARE_SHARE


async def test_a_small_disk_is_used_almost_whole(small_disk: Path, opened: Open) -> None:
    store = await opened(small_disk / "data")

    await store.for_tenant("a").replace(document("big", ("x" * 400,) * 1000))

    assert (await store.figures()).chunks == 1000


def test_on_a_large_disk_the_spare_is_as_large_as_asked_for(tmp_path: Path) -> None:
    room = Spare(tmp_path, 1 << 20)
    room.keep()

    assert room.missing == 0
    assert (tmp_path / SPARE_FILE).stat().st_blocks * 512 >= 1 << 20


def test_a_system_without_reservations_writes_the_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    room = Spare(tmp_path, 3_000_000)
    room.keep()

    assert (tmp_path / SPARE_FILE).stat().st_size == 3_000_000
    assert room.give_up()
    assert not room.give_up()
    assert (room.missing, list(tmp_path.iterdir())) == (3_000_000, [])


def test_where_little_is_free_nothing_is_taken(small_disk: Path) -> None:
    room = Spare(small_disk, 1 << 20)
    (small_disk / "theirs").write_bytes(bytes(DISK - DISK // SPARE_SHARE - (64 << 10)))
    room.keep(leave=1)

    assert room.missing == DISK // SPARE_SHARE
    assert not (small_disk / SPARE_FILE).exists()


async def test_where_no_spare_could_be_made_a_refusal_says_what_is_left_for_deletes(
    small_disk: Path, opened: Open
) -> None:
    (small_disk / "theirs").write_bytes(bytes(DISK - DISK // SPARE_SHARE - (300 << 10)))
    store = await opened(small_disk / "data")
    fill_up(small_disk, leaving=400 << 10)

    with pytest.raises(StoreFull) as full:
        await store.for_tenant("a").replace(document("big", ("x" * 400,) * 30))

    assert "the write needs about 147 kB, 525 kB are reserved for deletes" in full.value.message


def test_a_link_in_its_place_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / SPARE_FILE).symlink_to(theirs)
    Spare(folder, 1 << 20).keep()

    assert theirs.read_text() == "precious"
    assert not (folder / SPARE_FILE).is_symlink()


# --- deleted text


async def test_what_was_deleted_is_in_no_file_right_after(opened: Open, tmp_path: Path) -> None:
    store = await opened(exact_max=50, spare_bytes=0)
    own, chance = store.for_tenant("a"), random.Random(1)
    live: dict[str, list[str]] = {}
    dead: set[str] = set()
    words = 0
    for step in range(120):
        name = f"d{chance.randrange(40):02}"
        gone = live.pop(name, [])
        if chance.random() < 0.35:
            await own.delete(name)
        else:
            texts, new = [], []
            for _ in range(chance.choice((1, 1, 2, 5, 20))):
                new.append(f"zebra{words:06}")
                words += 1
                texts.append(new[-1] * chance.choice((1, 10, 40, 300)))
            live[name] = [*new, f"giraffe{step:06}"]
            metadata = {"w": live[name][-1] * chance.choice((1, 1, 100))}
            await own.replace(document(name, texts, seed=step, metadata=metadata))
        dead.update(gone)
        if gone:
            assert dead & found_in(tmp_path / "data", "(zebra|giraffe)[0-9]{6}") == set()
    await own.search(query(randoms(1, 1)[0]), MODEL, 1)
    await store.settle()
    everything = [word for own_words in live.values() for word in own_words]
    assert files_with(tmp_path / "data", everything) != []

    await store.delete_tenant("a")

    assert files_with(tmp_path / "data", ["zebra", "giraffe"]) == []


async def test_a_row_keeps_no_text_in_the_pages_that_sqlite_copies_rows_between(
    store: DocumentStore,
) -> None:
    (page,) = await store.database.read(lambda c: c.execute("PRAGMA page_size").fetchone())
    columns = await store.database.read(
        lambda c: [row[1] for row in c.execute("PRAGMA table_info(chunks)")]
    )

    most_kept = page - 35  # bytes of a table's row; the rest is in pages of its own
    assert most_kept < VECTOR_BYTES
    assert columns.index("vector") < columns.index("text") < columns.index("metadata")


async def test_a_reader_of_the_past_delays_that_until_the_next_write_and_no_write(
    store: DocumentStore, tmp_path: Path
) -> None:
    own = store.for_tenant("a")
    await own.replace(document("d", ("zebra" * 50,)))
    await own.replace(document("e"))
    connection = await asyncio.to_thread(schema.open_for_reading, store.database.path)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM chunks").fetchone()

    assert await own.delete("d") == 1
    while_read = files_with(tmp_path / "data", ["zebra"])
    connection.close()
    await own.replace(document("f"))

    assert while_read != []
    assert files_with(tmp_path / "data", ["zebra"]) == []


async def test_a_search_that_read_the_past_tidies_up_when_it_ends(
    store: DocumentStore, tmp_path: Path
) -> None:
    own = store.for_tenant("a")
    await own.replace(document("d", ("zebra" * 50,)))
    store.database._old_text = True

    await own.search(query(randoms(1, 1)[0]), MODEL, 1, Where(frozenset("d")))
    await store.database.drain()

    assert not store.database._old_text


# --- a damaged or foreign database


def noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(10_000))


def no_sqlite(path: Path) -> None:
    path.write_bytes(b"-- dump of the documents\n" * 50)


def broken_tree(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // schema.PAGE_BYTES):
        start = page * schema.PAGE_BYTES
        data[start : start + 100] = b"\xff" * 100
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 20 * schema.PAGE_BYTES])


@pytest.mark.parametrize("damage", [noise, no_sqlite, broken_tree, cut])
async def test_a_damaged_database_is_put_aside_and_a_fresh_one_begun(
    opened: Open,
    tmp_path: Path,
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = await opened()
    await fill(store, "a", randoms(60, 1), each=10)
    await store.close()
    path = tmp_path / "data" / schema.DATABASE
    damage(path)
    broken = path.read_bytes()

    again = await opened()
    await again.for_tenant("b").replace(document("d"))

    assert again.recovered_from is not None
    assert again.recovered_from.startswith("documents.sqlite3.corrupt-2")
    assert path.with_name(again.recovered_from).read_bytes() == broken
    assert await again.tenants() == [TenantInfo("b", 1, 1)]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert store.recovered_from is None


async def test_two_damaged_databases_in_one_second_are_both_kept(
    opened: Open, tmp_path: Path
) -> None:
    names = set()
    for _ in range(3):
        (tmp_path / "data").mkdir(exist_ok=True)
        noise(tmp_path / "data" / schema.DATABASE)
        store = await opened()
        names.add(store.recovered_from)
        await store.close()

    assert len(names) == 3
    assert all((tmp_path / "data" / f"{name}").exists() for name in names)


async def test_a_file_of_nothing_is_a_new_database(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / schema.DATABASE).touch()

    store = await opened()

    assert store.recovered_from is None
    assert await store.tenants() == []


async def test_damage_that_shows_later_fails_the_request_and_not_the_store(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(schema, "CHECKED_BYTES", 0)
    store = await opened()
    await fill(store, "a", randoms(300, 1))
    await fill(store, "b", randoms(10, 1))
    await store.close()
    path = tmp_path / "data" / schema.DATABASE
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // schema.PAGE_BYTES * schema.PAGE_BYTES
    data[middle : middle + 100 * schema.PAGE_BYTES] = b"\xff" * 100 * schema.PAGE_BYTES
    path.write_bytes(data)

    again = await opened()
    with pytest.raises(StoreFailed) as failed:
        await again.for_tenant("a").search(query(randoms(1, 1)[0]), MODEL, 5)

    assert (failed.value.status, failed.value.code) == (500, "api_error")
    assert "sqlite" not in failed.value.message.lower()
    assert "the document store failed" in caplog.text
    assert (await again.figures())[:3] == (2, 4, 310)
    assert [info.tenant for info in await again.tenants()] == ["a", "b"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("PRAGMA user_version = 99", "newer version"),
        ("PRAGMA application_id = 7", "another program"),
    ],
)
async def test_a_database_of_a_newer_version_or_another_program_is_left_as_it_is(
    opened: Open, tmp_path: Path, statement: str, words: str
) -> None:
    store = await opened()
    await store.for_tenant("a").replace(document("d"))
    await store.close()
    path = tmp_path / "data" / schema.DATABASE
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    files = set(path.parent.iterdir())

    with pytest.raises(StoreUnusable, match=words):
        await opened()

    assert path.read_bytes() == before
    assert set(path.parent.iterdir()) == files


async def test_somebody_elses_tables_are_left_as_they_are(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    connection = sqlite3.connect(tmp_path / "data" / schema.DATABASE)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()

    with pytest.raises(StoreUnusable, match="another program"):
        await opened()


async def test_a_folder_that_is_a_file_is_refused(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")

    with pytest.raises(StoreUnusable, match="cannot be used"):
        await opened()


async def test_what_an_empty_tenant_had_belongs_to_the_anonymous_one(
    opened: Open,
) -> None:
    store = await opened()
    for tenant, names in (("legacy", "abc"), ("anonymous", "cd"), ("other", "e")):
        for name in names:
            new = document(name, (f"{name} of {tenant}",) * 2, seed=ord(name))
            await store.for_tenant(tenant).replace(new)
    await store.for_tenant("legacy").replace(document("m", seed=1, model="second"))
    await rename(store, "legacy", "")
    await store.close()

    again = await opened()
    own = again.for_tenant("anonymous")
    listed = [one.id for one in (await own.documents()).documents]
    hits = {name: await own.search(query(randoms(2, ord(name))[0]), MODEL, 1) for name in "abcd"}

    assert listed == ["a", "b", "c", "d", "m"]
    assert [hits[name][0].text for name in "abcd"] == [
        "a of legacy",
        "b of legacy",
        "c of anonymous",
        "d of anonymous",
    ]
    assert await again.tenants() == [TenantInfo("anonymous", 5, 9), TenantInfo("other", 1, 2)]
    assert again.database.totals == Totals(2, 6, 11)


async def test_an_empty_tenant_alone_becomes_the_anonymous_one(opened: Open) -> None:
    store = await opened()
    await store.for_tenant("legacy").replace(document("a"))
    await rename(store, "legacy", "")
    await store.close()

    again = await opened()

    assert await again.tenants() == [TenantInfo("anonymous", 1, 1)]


async def rename(store: DocumentStore, old: str, new: str) -> None:
    async with store.database.exclusive() as writer:
        await writer.run(
            lambda c: c.execute("UPDATE tenants SET name = ? WHERE name = ?", (new, old))
        )


async def test_a_closed_store_says_so(store: DocumentStore) -> None:
    await store.close()

    with pytest.raises(StoreFailed):
        await store.for_tenant("a").replace(document("d"))
    with pytest.raises(StoreFailed):
        await store.tenants()
