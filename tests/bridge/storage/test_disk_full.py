"""A disk without room: writes say so, reads go on, and the same store writes again with room."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.bridge.storage.errors import StoreFull
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Backend
from tests.bridge.storage.storekit import frames, opened, recording

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
