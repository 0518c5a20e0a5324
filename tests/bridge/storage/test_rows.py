"""Single frames that come one by one: stored as if they had come as columns."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.recording import WIDE, Frames, Samples
from runtime.bridge.storage import blocks
from runtime.bridge.storage.errors import StoreFailed
from runtime.bridge.storage.operations import Work
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Row, Transaction
from runtime.bridge.storage.values import Backend, RowAppended
from tests.bridge.storage.storekit import NOON, equal, exported, frames, opened


def rows_of(given: Frames) -> list[Row]:
    return list(zip(*(given.columns[name].tolist() for name in WIDE), strict=True))


def begun(store: Store, session_id: str, given: Frames) -> "list[asyncio.Future[object]]":
    """All rows of *given* on their way."""
    tickets = []
    for row in rows_of(given):
        ticket: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        store.append_row(session_id, row, ticket)
        tickets.append(ticket)
    return tickets


async def appended(store: Store, session_id: str, given: Frames) -> list[RowAppended]:
    found = await asyncio.gather(*begun(store, session_id, given))
    assert all(isinstance(one, RowAppended) for one in found)
    return [one for one in found if isinstance(one, RowAppended)]


async def test_rows_are_stored_bit_for_bit_as_columns_are(kind: Backend, path: Path) -> None:
    nan = float("nan")
    given = frames(300, distance_m=nan, speed_ms=[nan, *np.linspace(0, 50, 299)], g_lat=-0.0)
    store = await opened(path, kind)
    whole = await store.append_frames("whole", given, now_ms=NOON)
    where = [
        one for at in range(0, 300, 50) for one in await appended(store, "rows", cut(given, at))
    ]
    assert [one.idx for one in where] == list(range(300))
    distances = np.array([one.distance_m for one in where])
    assert np.array_equal(distances, whole.distance_m, equal_nan=True)
    both = [await store.read_frames(name) for name in ("whole", "rows")]
    assert equal(*both)
    mine, theirs = (store.session(name) for name in ("rows", "whole"))
    assert mine is not None
    assert theirs is not None
    same = ("n_frames", "n_signals", "t_start", "t_end", "distance_m")
    assert [getattr(mine, name) for name in same] == [getattr(theirs, name) for name in same]
    assert mine.version == 301
    assert await store.capabilities("rows") == await store.capabilities("whole")
    counted = await store.capabilities("rows")
    assert await store.recompute_capabilities("rows") == len(counted)
    assert await store.capabilities("rows") == counted
    await store.end_session("rows", NOON)
    await store.rename_session("whole", "rows")
    assert equal(await store.read_frames("rows"), both[0])
    assert await exported(store, "rows", "telemetry")
    await store.close()


def cut(given: Frames, at: int) -> Frames:
    return Frames({name: column[at : at + 50] for name, column in given.columns.items()})


async def test_rows_and_columns_of_one_commit_keep_their_order(store: Store) -> None:
    first = begun(store, "s", frames(3))
    columns = asyncio.create_task(store.append_frames("s", frames(2, t0=10)))
    await asyncio.sleep(0)
    last = begun(store, "s", frames(4, t0=20))
    others = begun(store, "other", frames(2))
    await asyncio.gather(*first, *last, *others)
    assert (await columns).first_idx == 3
    stored = await store.read_frames("s")
    assert stored.columns["timestamp"].tolist()[:5] == pytest.approx([0, 0.01, 0.02, 10, 10.01])
    assert len(stored) == 9
    assert store.version("s") == 1 + 3 + 1 + 4


async def test_a_recount_in_the_same_commit_sees_the_rows(store: Store) -> None:
    await store.append_frames("s", frames(5))
    tickets = begun(store, "s", frames(5, t0=1))
    assert await store.recompute_capabilities("s") > 0
    await asyncio.gather(*tickets)
    (speed,) = [row for row in await store.capabilities("s") if row.name == "speed_ms"]
    assert speed.n_samples == 10


async def test_rows_are_settled_when_their_session_ends_in_the_same_commit(store: Store) -> None:
    await store.append_frames("s", frames(1))
    tickets = begun(store, "s", frames(5, t0=1))
    ended = await store.end_session("s", NOON)
    await asyncio.gather(*tickets)
    assert ended.n_frames == 6
    rows = await store.read(lambda reader: reader.rows("SELECT n_frames, dirty FROM sessions"))
    assert rows == [(6, 0)]


async def test_a_bad_neighbour_does_not_fail_rows(store: Store) -> None:
    def broken(tx: Transaction) -> None:
        tx.run("INSERT INTO no_such_table VALUES (1)")

    tickets = begun(store, "s", frames(3))
    spoiled = asyncio.create_task(store.write(Work(broken)))
    await asyncio.sleep(0)
    tickets += begun(store, "s", frames(3, t0=5))
    with pytest.raises(StoreFailed):
        await spoiled
    where = await asyncio.gather(*tickets)
    assert [one.idx for one in where if isinstance(one, RowAppended)] == list(range(6))
    assert len(await store.read_frames("s")) == 6


class Deaf:
    """One who cannot be told."""

    def done(self) -> bool:
        return False

    def set_result(self, result: object, /) -> None:
        raise ValueError("not now")

    def set_exception(self, error: Exception, /) -> None:
        raise error


async def test_one_who_cannot_be_told_keeps_nobody_else_waiting(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    row = rows_of(frames(1))[0]
    before = begun(store, "s", frames(1))
    store.append_row("s", row, Deaf())
    behind = begun(store, "s", frames(1, t0=1))

    first, last = await asyncio.wait_for(asyncio.gather(*before, *behind), 20)

    assert isinstance(first, RowAppended)
    assert isinstance(last, RowAppended)
    assert (first.idx, last.idx) == (0, 2)
    assert "could not be told" in caplog.text
    assert (await store.append_frames("s", frames(1, t0=9))).first_idx == 3


async def test_rows_are_packed_as_they_were_whatever_happened_to_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LOOSE", 40)

    def broken(tx: Transaction) -> None:
        tx.flush()
        tx.run("INSERT INTO no_such_table VALUES (1)")

    given = frames(200, rpm=float("nan"))
    expected = {name: column.copy() for name, column in given.columns.items()}
    for number, at in enumerate(range(0, 200, 10)):
        piece = {name: column[at : at + 10] for name, column in given.columns.items()}
        await appended(store, "s", Frames(piece))
        if number % 3 == 0:
            with pytest.raises(StoreFailed):
                await store.write(Work(broken))
        if number % 5 == 1:
            await store.append_signals("s", {"rpm": Samples(piece["timestamp"][3:4], np.ones(1))})
            expected["rpm"][at + 3] = 1.0
    assert equal(await store.read_frames("s"), Frames(expected))
    await store.end_session("s", NOON)
    assert equal(await store.read_frames("s"), Frames(expected))


async def test_rows_that_were_accepted_are_written_by_a_close(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    tickets = begun(store, "s", frames(7))
    await store.close()
    assert len(await asyncio.gather(*tickets)) == 7
    store = await opened(path, kind)
    assert len(await store.read_frames("s")) == 7
    await store.close()


async def test_a_commit_that_fails_leaves_no_row_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await appended(store, "s", frames(2))
    connection = store._opened.engine.writer

    def broken() -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "commit", broken)
        failed = await asyncio.gather(*begun(store, "s", frames(3, t0=5)), return_exceptions=True)
    assert [type(one) for one in failed] == [StoreFailed] * 3
    assert [one.idx for one in await appended(store, "s", frames(2, t0=9))] == [2, 3]
    assert len(await store.read_frames("s")) == 4
