"""A disk without room: writes say so, reads go on, and the same store writes again with room."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.bridge.storage.errors import StoreFull
from runtime.bridge.storage.records import Backend, SessionMeta
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import NOON, frames, opened, recording

BALLAST_MB = 6


@pytest.fixture(params=[12, 40], ids=["12MB", "40MB"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A small file system; the larger one has room for more than the engines keep in their logs."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(folder: Path) -> Path:
    """Take what is left of the disk; the file that does."""
    ballast = folder / "others"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def filled(store: Store, session_id: str) -> int:
    """Append until the disk is full; how many frames were acknowledged."""
    acknowledged = 0
    while True:
        chunk = frames(1000, t0=acknowledged / 100)
        try:
            appended = await store.append_frames(session_id, chunk)
        except StoreFull:
            return acknowledged
        acknowledged = appended.last_idx + 1


async def test_a_full_disk_stops_writes_only_and_only_until_there_is_room(
    kind: Backend, small_disk: Path
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(BALLAST_MB << 20))
    path = small_disk / "bridge.db"
    store = await opened(path, kind)
    acknowledged = await filled(store, "s")
    assert acknowledged > 0
    results = await asyncio.gather(
        *(store.append_frames("s", frames(2000)) for _ in range(3)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, StoreFull)]
    assert [(full.status, full.headers) for full in refused] == [(503, {"Retry-After": "10"})] * 3
    with pytest.raises(StoreFull):
        await store.import_recording("whole", recording(60_000))
    assert store.session("whole") is None
    assert len(await store.read_frames("s")) == acknowledged

    ballast.unlink()
    appended = await store.append_frames("s", frames(100, t0=1000))
    assert appended.first_idx == acknowledged
    await store.import_recording("whole", recording(10_000))
    await store.close()

    store = await opened(path, kind)
    assert len(await store.read_frames("s")) == acknowledged + 100
    assert store.recovered_from is None
    await store.close()


@pytest.mark.parametrize("filled_by", ["the store", "others"])
async def test_a_database_on_a_full_disk_opens_reads_and_writes_again_with_room(
    kind: Backend, small_disk: Path, filled_by: str
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(BALLAST_MB << 20))
    path = small_disk / "bridge.db"
    store = await opened(path, kind)
    await store.start_session(SessionMeta(driver="Ada"), "s", "s", NOON)
    if filled_by == "the store":
        acknowledged = await filled(store, "s")
    else:
        acknowledged = (await store.append_frames("s", frames(3000))).last_idx + 1
    await store.close()
    others = fill_up(small_disk)

    store = await opened(path, kind)
    assert store.recovered_from is None
    assert len(await store.read_frames("s")) == acknowledged
    assert store.active_session() == "s"
    with pytest.raises(StoreFull):
        await store.append_frames("s", frames(3000, t0=1000))
    before = store.version("s")

    ballast.unlink()
    others.unlink()
    appended = await store.append_frames("s", frames(100, t0=1000))
    assert appended.first_idx == acknowledged
    assert store.version("s") > before
    await store.close()
    store = await opened(path, kind)
    assert len(await store.read_frames("s")) == acknowledged + 100
    assert "corrupt" not in " ".join(names(small_disk))
    await store.close()


async def test_a_database_that_was_killed_on_a_full_disk_is_counted_when_it_opens(
    kind: Backend, small_disk: Path
) -> None:
    path = small_disk / "bridge.db"
    other = small_disk / "killed.db"
    store = await opened(path, kind)
    acknowledged = (await store.append_frames("s", frames(500))).last_idx + 1
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + ".wal")):
        if file.exists():  # as a kill would leave them
            shutil.copyfile(file, other.with_name(file.name.replace("bridge", "killed")))
    shutil.copytree(path.with_name("bridge.db.lock"), other.with_name("killed.db.lock"))
    (small_disk / "killed.db.spare").write_bytes(bytes(64 << 10))
    await store.close()
    others = fill_up(small_disk)

    store = await opened(other, kind)
    found = store.session("s")
    assert found is not None
    assert found.n_frames == acknowledged
    told = found.version
    others.unlink()
    await store.append_frames("s", frames(10, t0=1000))
    await store.close()
    store = await opened(other, kind)
    again = store.session("s")
    assert again is not None
    assert again.n_frames == acknowledged + 10
    assert again.version > told
    await store.close()
