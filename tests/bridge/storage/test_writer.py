"""The one thread that writes: groups, refusals, callers that leave, readers that stall."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from runtime.bridge.storage import reading, writer
from runtime.bridge.storage.backend import Connection, FrameRun
from runtime.bridge.storage.errors import BadFrames, StoreBusy, StoreFailed, UnknownSession
from runtime.bridge.storage.records import Backend, LapRow
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.telemetry import make_frame_matrix
from runtime.bridge.storage.transaction import Transaction
from tests.bridge.storage.storekit import DRIVER, NOON, equal, frames, opened, samples


class Held:
    """A write that lasts until it is let go."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.go = threading.Event()

    def work(self, tx: Transaction) -> int:
        self.running.set()
        assert self.go.wait(30)
        return 7

    async def begun(self, store: Store) -> "asyncio.Task[int]":
        """Have it run."""
        task = asyncio.create_task(store.write(self.work))
        assert await asyncio.to_thread(self.running.wait, 30)
        return task


async def test_what_comes_in_during_a_commit_is_committed_together(store: Store) -> None:
    held = Held()
    first = await held.begun(store)
    before = store.figures().commits
    rest = [asyncio.create_task(store.append_frames("s", frames(1))) for _ in range(50)]
    await asyncio.sleep(0)
    assert store.figures().queued == 50
    held.go.set()
    await asyncio.gather(first, *rest)
    after = store.figures()
    assert after.commits == before + 2
    assert after.queued == 0
    assert after.group_mean > 1


async def test_a_group_takes_no_more_rows_than_its_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "GROUP_ROWS", 10)
    held = Held()
    first = await held.begun(store)
    before = store.figures().commits
    rest = [asyncio.create_task(store.append_frames("s", frames(4))) for _ in range(6)]
    rest.append(asyncio.create_task(store.append_frames("s", frames(40))))
    await asyncio.sleep(0)
    held.go.set()
    await asyncio.gather(first, *rest)
    assert store.figures().commits == before + 1 + 3 + 1


async def test_one_bad_write_does_not_fail_its_neighbours(store: Store) -> None:
    def broken(tx: Transaction) -> None:
        tx.run("INSERT INTO laps (id) VALUES (?)", (99,))
        tx.run("INSERT INTO no_such_table VALUES (1)")

    held = Held()
    first = await held.begun(store)
    results = asyncio.gather(
        store.append_frames("s", frames(2)),
        store.write(broken),
        store.append_frames("s", frames(1, rpm=float("inf"))),
        store.end_session("nobody", NOON),
        store.append_frames("s", frames(3)),
        store.append_signals("s", {"x": samples((0, 1))}),
        return_exceptions=True,
    )
    await asyncio.sleep(0)
    held.go.set()
    await first
    kinds = [type(result) for result in await results]
    assert kinds[1:4] == [StoreFailed, BadFrames, UnknownSession]
    assert not any(issubclass(kind, Exception) for kind in (kinds[0], *kinds[4:]))
    assert len(await store.read_frames("s")) == 5
    assert await store.laps() == []
    assert store.figures().failed == 3


async def test_a_commit_that_fails_leaves_no_frame_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.append_frames("s", frames(2))

    def broken() -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(store._opened.engine.writer, "commit", broken)
        failed = await asyncio.gather(
            *(store.append_frames("s", frames(1, t0=5)) for _ in range(3)), return_exceptions=True
        )
    assert [type(one) for one in failed] == [StoreFailed] * 3
    assert (await store.append_frames("s", frames(2, t0=9))).first_idx == 2
    assert len(await store.read_frames("s")) == 4


async def test_a_caller_that_leaves_does_not_stop_its_write(store: Store) -> None:
    held = Held()
    first = await held.begun(store)
    leaving = asyncio.create_task(store.append_frames("s", frames(3)))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    held.go.set()
    assert await first == 7
    await store.put_lap(LapRow("s", 1, 60.0, NOON))
    assert len(await store.read_frames("s")) == 3


async def test_a_full_queue_refuses_and_recovers(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_WAITING", 3)
    held = Held()
    first = await held.begun(store)
    waiting = [asyncio.create_task(store.append_frames("s", frames(1))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(StoreBusy) as caught:
        await store.append_frames("s", frames(1))
    assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "1"})
    assert store.figures().refused == 1
    held.go.set()
    await asyncio.gather(first, *waiting)
    assert (await store.append_frames("s", frames(1))).first_idx == 3


async def test_what_waits_is_limited_by_its_size_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_ROWS", 1000)
    held = Held()
    first = await held.begun(store)
    waiting = asyncio.create_task(store.append_frames("s", frames(1000)))
    await asyncio.sleep(0)
    with pytest.raises(StoreBusy):
        await store.append_frames("s", frames(1))
    held.go.set()
    await asyncio.gather(first, waiting)


async def test_reads_are_limited_in_number(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store._looking is not None
    await store._looking  # which reads too
    monkeypatch.setattr(reading, "MOST_WAITING", 2)
    await store.append_frames("s", frames(1))
    go = threading.Event()
    held = [asyncio.create_task(store.read(lambda _: go.wait(30))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(StoreBusy):
        await store.read_frames("s")
    go.set()
    await asyncio.gather(*held)
    assert len(await store.read_frames("s")) == 1


async def test_a_stalled_reader_stops_neither_writers_nor_other_readers(store: Store) -> None:
    await store.append_frames("s", frames(600))
    go, inside = threading.Event(), threading.Event()

    def stalled(reader: Connection) -> int:
        before: int = reader.frames(1).shape[1]
        inside.set()
        assert go.wait(30)
        after: int = reader.frames(1).shape[1]
        assert after == before  # it still sees the commit that it began with
        return after

    reading = asyncio.create_task(store.read(stalled))
    assert await asyncio.to_thread(inside.wait, 30)
    await store.append_frames("s", frames(5000, t0=10))
    await store.end_session("s", NOON)
    assert len(await store.read_frames("s")) == 5600
    go.set()
    assert await reading == 600


async def test_reads_see_what_was_acknowledged_before_they_began(store: Store) -> None:
    async def both(n: int) -> None:
        appended = await store.append_frames(f"s{n}", frames(1))
        read = await store.read_frames(f"s{n}")
        assert len(read) == appended.last_idx + 1

    await asyncio.gather(*(both(n) for n in range(40)))


async def test_closing_finishes_what_was_accepted(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    held = Held()
    first = await held.begun(store)
    rest = [asyncio.create_task(store.append_frames("s", frames(2))) for _ in range(10)]
    await asyncio.sleep(0)
    held.go.set()
    await store.close()
    assert await first == 7
    assert len(await asyncio.gather(*rest)) == 10
    with pytest.raises(StoreBusy):
        await store.append_frames("s", frames(1))
    store = await opened(path, kind)
    assert len(await store.read_frames("s")) == 20
    await store.close()


async def test_a_quiet_session_is_settled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "QUIET_S", 0.0)
    await store.start_session(DRIVER, "s", "x", NOON)
    settled = asyncio.Event()
    told = store._writer._transact

    def telling(work: Callable[[Transaction], object], size: int = 1) -> Exception | None:
        error = told(work, size)
        if not store._state.sessions["s"].dirty:
            store._loop.call_soon_threadsafe(settled.set)
        return error

    monkeypatch.setattr(store._writer, "_transact", telling)
    await store.append_frames("s", frames(20))
    await asyncio.wait_for(settled.wait(), 20)
    rows = await store.read(lambda reader: reader.rows("SELECT n_frames, dirty FROM sessions"))
    assert rows == [(20, 0)]
    monkeypatch.setattr(writer, "QUIET_S", 60.0)
    await store.append_frames("s", frames(1, t0=9))
    rows = await store.read(lambda reader: reader.rows("SELECT dirty FROM sessions"))
    assert rows == [(1,)]


async def test_an_engine_that_gives_up_is_opened_anew(path: Path) -> None:
    def fatal(tx: Transaction) -> None:
        tx.connection.insert_frames([FrameRun(1, 3, make_frame_matrix(frames(2)))])
        raise duckdb.FatalException("FATAL Error: the database has been invalidated")

    store = await opened(path, "analytical")
    await store.append_frames("s", frames(3), {"x": samples((0, 1))})
    version = store.version("s")
    before = await store.read_frames("s")
    with pytest.raises(StoreFailed):
        await store.write(fatal)
    assert equal(await store.read_frames("s"), before)
    assert store.version("s") > version
    assert (await store.append_frames("s", frames(1, t0=9))).first_idx == 3
    assert len((await store.read_signals("s", ["x"]))["x"].t) == 1
    await store.close()
