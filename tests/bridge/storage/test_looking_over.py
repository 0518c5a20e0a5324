"""A file of SQLite is looked over at the start, so that damage is told before it is met."""

from pathlib import Path

import pytest

from runtime.bridge.storage import reading
from runtime.bridge.storage.records import Backend
from tests.bridge.storage.storekit import NOON, frames, opened
from tests.waiting import until

PAGE = 4096


async def broken(path: Path) -> None:
    """A database with noise in a page that no opening reads."""
    store = await opened(path, "lightweight")
    for name in ("a", "b", "c"):
        await store.append_frames(name, frames(9_000), now_ms=NOON)
    await store.close()
    spoil(path)


def spoil(path: Path) -> None:
    """Put noise into the middle of a file."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // PAGE * PAGE
    data[middle : middle + PAGE] = b"\xa5" * PAGE
    path.write_bytes(data)


async def test_damage_is_told_without_anybody_reading_there(path: Path) -> None:
    await broken(path)
    store = await opened(path, "lightweight")
    assert store.recovered_from is None
    await until(lambda: store.damaged)
    assert [row.n_frames for row in store.sessions()] == [9_000] * 3
    await store.close()


async def test_a_large_file_is_not_looked_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await broken(path)
    monkeypatch.setattr(reading, "CHECKED_BYTES", PAGE)
    store = await opened(path, "lightweight")
    assert store._looking is not None
    await store._looking
    assert not store.damaged
    await store.close()


async def test_a_sound_file_is_found_sound(kind: Backend, path: Path) -> None:
    for _ in range(2):
        store = await opened(path, kind)
        await store.append_frames("a", frames(3_000), now_ms=NOON)
        assert store._looking is not None
        await store._looking
        assert not store.damaged
        await store.close()
