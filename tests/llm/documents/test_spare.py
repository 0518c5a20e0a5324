"""A full disk: documents can still be deleted, the errors have numbers, and the figures say so."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.documents.errors import StoreFull
from runtime.llm.documents.spare import NAME, SHARE, Spare
from runtime.llm.documents.store import DocumentStore
from tests.llm.documents.conftest import Open
from tests.llm.documents.kit import document

DISK = 8 << 20


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
        assert (small_disk / "data" / NAME).stat().st_size == DISK // SHARE
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


async def test_the_figures_tell_of_a_full_disk_until_a_document_is_stored(
    crowded: DocumentStore, small_disk: Path
) -> None:
    own, big = crowded.for_tenant("a"), document("big", ("x" * 400,) * 10)
    before = await crowded.figures()
    for _ in range(2):
        with pytest.raises(StoreFull):
            await own.replace(big)
    refused = await crowded.figures()
    assert await own.delete("00") == 10
    after_delete = await crowded.figures()
    (small_disk / "theirs").unlink()
    await own.replace(big)
    after = await crowded.figures()

    assert (before.full, before.found_full) == (False, 0)
    assert (refused.full, refused.found_full) == (True, 2)
    assert (after_delete.full, after_delete.found_full) == (True, 2)
    assert (after.full, after.found_full) == (False, 2)


async def test_a_refused_document_is_told_what_it_takes_and_what_is_free(
    crowded: DocumentStore,
) -> None:
    with pytest.raises(StoreFull) as full:
        await crowded.for_tenant("a").replace(document("big", ("x" * 400,) * 1000))

    assert "the write takes about 4.9 MB" in full.value.message
    assert "kB are free" in full.value.message


@pytest.fixture
async def robbed(crowded: DocumentStore, small_disk: Path) -> DocumentStore:
    """The same after somebody took the spare room too, and a delete found none."""
    (small_disk / "data" / NAME).unlink()
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
    assert (small_disk / "data" / NAME).stat().st_size == DISK // SHARE


async def test_a_small_disk_is_used_almost_whole(small_disk: Path, opened: Open) -> None:
    store = await opened(small_disk / "data")

    await store.for_tenant("a").replace(document("big", ("x" * 400,) * 1000))

    assert (await store.figures()).chunks == 1000


def test_on_a_large_disk_the_spare_is_as_large_as_asked_for(tmp_path: Path) -> None:
    room = Spare(tmp_path, 1 << 20)
    room.keep()

    assert room.missing == 0
    assert (tmp_path / NAME).stat().st_blocks * 512 >= 1 << 20


def test_a_system_without_reservations_writes_the_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    room = Spare(tmp_path, 3_000_000)
    room.keep()

    assert (tmp_path / NAME).stat().st_size == 3_000_000
    assert room.give_up()
    assert not room.give_up()
    assert (room.missing, list(tmp_path.iterdir())) == (3_000_000, [])


def test_where_little_is_free_nothing_is_taken(small_disk: Path) -> None:
    room = Spare(small_disk, 1 << 20)
    (small_disk / "theirs").write_bytes(bytes(DISK - DISK // SHARE - (64 << 10)))
    room.keep(leave=1)

    assert room.missing == DISK // SHARE
    assert not (small_disk / NAME).exists()


async def test_where_no_spare_could_be_made_a_refusal_says_what_is_left_for_deletes(
    small_disk: Path, opened: Open
) -> None:
    (small_disk / "theirs").write_bytes(bytes(DISK - DISK // SHARE - (300 << 10)))
    store = await opened(small_disk / "data")
    fill_up(small_disk, leaving=400 << 10)

    with pytest.raises(StoreFull) as full:
        await store.for_tenant("a").replace(document("big", ("x" * 400,) * 30))

    assert "the write takes about 147 kB, 525 kB are kept for deletes" in full.value.message


def test_a_link_in_its_place_is_replaced_and_what_it_names_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / NAME).symlink_to(theirs)
    Spare(folder, 1 << 20).keep()

    assert theirs.read_text() == "precious"
    assert not (folder / NAME).is_symlink()
