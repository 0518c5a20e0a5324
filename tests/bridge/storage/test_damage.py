"""Damaged files: what can be read is read, the rest is kept aside, and it is said."""

import asyncio
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.storage import sqlite
from runtime.bridge.storage.backend import FrameRun, Run
from runtime.bridge.storage.errors import StoreFailed, StoreUnusable
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.telemetry import make_frame_matrix
from runtime.bridge.storage.transaction import Transaction
from runtime.web.instance import AlreadyRunning
from tests.bridge.storage.storekit import DRIVER, NOON, frames, opened, recording, series

WAL: Final = {"lightweight": "-wal", "analytical": ".wal"}
APPENDS: Final = 30
EACH: Final = 20
Damage = Callable[[bytearray, random.Random], None]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Databases whose process was killed with everything in the log, by back-end."""
    made = {}
    for kind in WAL:
        folder = tmp_path_factory.mktemp(kind)
        pid = os.spawnv(
            os.P_NOWAIT,
            sys.executable,
            [sys.executable, "-c", _PROGRAM, kind, str(folder / "bridge.db"), str(APPENDS)],
        )
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        assert (folder / f"bridge.db{WAL[kind]}").stat().st_size > 0
        made[kind] = folder
    return made


_PROGRAM: Final = f"""
import asyncio, os, sys
from pathlib import Path
from tests.bridge.storage.storekit import frames, opened

async def main():
    store = await opened(Path(sys.argv[2]), sys.argv[1])
    for n in range(int(sys.argv[3])):
        await store.append_frames("s", frames({EACH}, t0=n, rpm=float(n)))
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def flip(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def zero_tail(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start:] = bytes(len(data) - start)


def noise(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start : start + 4096] = chance.randbytes(min(4096, len(data) - start))


def nothing_left(data: bytearray, chance: random.Random) -> None:
    data.clear()


def damaged(source: Path, target: Path, name: str, how: Damage, seed: str) -> None:
    """Copy a database and damage one of its files."""
    shutil.copytree(source, target)
    data = bytearray((target / name).read_bytes())
    how(data, random.Random(seed))
    (target / name).write_bytes(data)


def overwritten(path: Path, where: float) -> bytes:
    """Put 4 kB of noise into a file; what it holds then."""
    data = bytearray(path.read_bytes())
    start = int(where * len(data)) // 4096 * 4096
    data[start : start + 4096] = random.Random(str(where)).randbytes(4096)
    path.write_bytes(data)
    return bytes(data)


def write(path: Path, content: bytes) -> None:
    """Make a file."""
    path.write_bytes(content)


def content_of(folder: Path, name: str) -> bytes:
    """What a file holds."""
    return (folder / name).read_bytes()


def copied(path: Path) -> Path:
    """A copy of a database that is in use: what a kill would leave behind."""
    target = path.parent / "copy"
    target.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file():
            shutil.copy(file, target)
    return target / path.name


async def prefix(store: Store) -> int:
    """How many of the appends are there; they must be the first ones, each of them whole."""
    if store.session("s") is None:
        return 0
    rpm = (await store.read_frames("s")).columns["rpm"].tolist()
    assert rpm == [float(n) for n in range(len(rpm) // EACH) for _ in range(EACH)]
    return len(rpm) // EACH


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("how", [truncate, flip, zero_tail, noise, nothing_left])
async def test_a_damaged_log_costs_only_what_lies_behind_the_damage(
    kind: Backend, killed: dict[str, Path], tmp_path: Path, how: Damage
) -> None:
    kept = []
    for trial in range(6):
        folder = tmp_path / str(trial)
        damaged(killed[kind], folder, f"bridge.db{WAL[kind]}", how, f"{how.__name__}{trial}")
        store = await opened(folder / "bridge.db", kind)
        found = await prefix(store)
        kept.append(found)
        if found < APPENDS:
            assert store.recovered_from is not None
        if store.recovered_from is not None:
            assert content_of(folder, store.recovered_from)
            assert ".corrupt-" in store.recovered_from
        appended = await store.append_frames("s", frames(1, t0=999.0))
        assert appended.first_idx == found * EACH
        await store.close()
        store = await opened(folder / "bridge.db", kind)
        assert store.recovered_from is None
        row = store.session("s")
        assert row is not None
        assert row.n_frames == found * EACH + 1
        await store.close()
    if how is not nothing_left:
        assert max(kept) > 0


@pytest.mark.parametrize("how", ["emptied", "taken away"])
async def test_a_log_without_what_was_acknowledged_is_reported_once(
    kind: Backend,
    killed: dict[str, Path],
    tmp_path: Path,
    how: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(killed[kind], folder)
    wal = folder / f"bridge.db{WAL[kind]}"
    wal.unlink()
    if how == "emptied":
        wal.touch()
    store = await opened(folder / "bridge.db", kind)
    assert store.recovered_from is not None
    assert ".corrupt-" in store.recovered_from
    assert int(content_of(folder, store.recovered_from)) == APPENDS * EACH
    assert f"lacks {APPENDS * EACH} frames" in caplog.text
    await store.append_frames("s", frames(EACH))
    await store.close()
    caplog.clear()
    for _ in range(2):
        store = await opened(folder / "bridge.db", kind)
        assert store.recovered_from is None
        assert len(await store.read_frames("s")) == EACH
        await store.close()
    assert not caplog.text
    for file in folder.glob("bridge.db*"):  # a new database owes nothing
        if file.is_file() and not file.name.endswith(".count"):
            file.unlink()
    store = await opened(folder / "bridge.db", kind)
    assert store.recovered_from is None
    await store.close()


async def test_a_renamed_session_and_an_import_are_counted(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await store.append_frames("s", frames(30))
    await store.rename_session("s", "t")
    await store.append_frames("s", frames(10))
    await store.import_recording("whole", recording(500))
    assert int(path.with_name(f"{path.name}.count").read_text()) == 540
    await store.close()
    store = await opened(path, kind)
    assert store.recovered_from is None
    await store.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_an_intact_log_is_read_to_its_end(
    kind: Backend, killed: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(killed[kind], tmp_path / "copy")
    store = await opened(tmp_path / "copy" / "bridge.db", kind)
    assert await prefix(store) == APPENDS
    assert store.recovered_from is None
    assert not list((tmp_path / "copy").glob("*.corrupt-*"))
    await store.close()


async def settled(path: Path, kind: Backend) -> None:
    """A closed database with some sessions."""
    store = await opened(path, kind)
    for sid in ("a", "b"):
        await store.start_session(DRIVER, sid, "x", NOON)
        await store.append_frames(sid, frames(6000), {"x": series(3000)})
        await store.end_session(sid, NOON)
    await store.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_noise_in_the_main_file_never_keeps_the_store_from_starting(
    kind: Backend, tmp_path: Path
) -> None:
    await settled(tmp_path / "whole" / "bridge.db", kind)
    for place in range(10):
        folder = tmp_path / str(place)
        shutil.copytree(tmp_path / "whole", folder)
        data = overwritten(folder / "bridge.db", place / 10)
        store = await opened(folder / "bridge.db", kind)
        if store.recovered_from is not None:
            assert content_of(folder, store.recovered_from) == data
            assert store.sessions() == []
        for sid in [row.session_id for row in store.sessions()]:
            try:
                read = await store.read_frames(sid)
            except StoreFailed:  # said to be broken, not handed out as if it were not
                continue
            assert len(read) == 6000
        await asyncio.wait_for(store.close(), 30)


@pytest.mark.parametrize(
    ("content", "kept"),
    [(b"", False), (b"not a database at all, only some text\n" * 200, True)],
    ids=["empty", "text"],
)
async def test_a_file_of_no_known_format_is_kept_aside(
    kind: Backend, path: Path, content: bytes, kept: bool
) -> None:
    write(path, content)
    store = await opened(path, kind)
    await store.append_frames("s", frames(1))
    assert (store.recovered_from is not None) == kept
    if store.recovered_from is not None:
        assert content_of(path.parent, store.recovered_from) == content
    await store.close()


async def test_a_file_of_the_other_back_end_is_refused_and_left_alone(
    kind: Backend, path: Path
) -> None:
    store = await opened(path, kind)
    await store.close()
    before = content_of(path.parent, path.name)
    other: Backend = "analytical" if kind == "lightweight" else "lightweight"
    with pytest.raises(StoreUnusable, match="BRIDGE_DB_BACKEND"):
        await opened(path, other)
    assert content_of(path.parent, path.name) == before
    store = await opened(path, "auto")
    assert store.backend == kind
    await store.close()


async def test_a_second_store_is_kept_out_and_told_which_setting_to_change(
    store: Store, kind: Backend, path: Path
) -> None:
    with pytest.raises(AlreadyRunning, match="BRIDGE_DB"):
        await opened(path, kind)
    await store.append_frames("s", frames(1))


async def test_a_folder_that_cannot_be_made_is_named_by_its_setting(
    kind: Backend, tmp_path: Path
) -> None:
    write(tmp_path / "file", b"in the way")
    with pytest.raises(StoreUnusable, match="BRIDGE_DB"):
        await opened(tmp_path / "file" / "deeper" / "bridge.db", kind)


async def test_a_session_left_open_by_a_crash_is_counted_again(
    kind: Backend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOOSE", 50)
    store = await opened(path, kind)
    for n in range(30):
        await store.append_frames(
            "s", frames(7, t0=n, distance_m=float("nan")), {"x": series(3, n)}
        )
    before, caps = store.session("s"), await store.capabilities("s")
    copy = copied(path)
    await store.close()
    store = await opened(copy, kind)
    after = store.session("s")
    assert before is not None
    assert after is not None
    assert await store.capabilities("s") == caps
    assert after.version > before.version
    assert (after.n_frames, after.distance_m) == (210, before.distance_m)
    await store.close()


async def test_an_import_cut_off_by_a_crash_is_cleared_away(kind: Backend, path: Path) -> None:
    def staged(tx: Transaction) -> None:
        tx.run("INSERT INTO staged VALUES (77)")
        tx.connection.insert_frames([FrameRun(77, 0, make_frame_matrix(frames(900)))])
        tx.connection.insert_samples([Run(77, 1, series(900))])

    store = await opened(path, kind)
    await store.append_frames("s", frames(3))
    await store.write(staged)
    await store.close()
    store = await opened(path, kind)
    await store.close()  # what was begun is finished first
    store = await opened(path, kind)
    left = await store.read(
        lambda reader: (
            reader.frames(77).shape[1],
            reader.signals(77),
            reader.rows("SELECT * FROM staged"),
        )
    )
    assert left == (0, {}, [])
    assert len(await store.read_frames("s")) == 3
    await store.close()
