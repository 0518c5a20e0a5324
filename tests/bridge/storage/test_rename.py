"""A session that takes another id keeps everything that was written about it."""

from operator import methodcaller
from pathlib import Path

import pytest

from runtime.bridge.storage import schema
from runtime.bridge.storage.errors import UnknownSession
from runtime.bridge.storage.records import Backend, LapRow, NoteRow
from runtime.bridge.storage.sessions import ABOUT_SESSIONS
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction
from tests.bridge.storage.storekit import DRIVER, NOON, equal, frames, opened, series

LIVE = "_live"
DATED = "live-20231114-221320"
KEPT = ("sessions", "session_laps_cache", "spectator_tokens")


async def test_a_renamed_session_is_the_same_under_its_new_id(store: Store) -> None:
    await store.append_frames(LIVE, frames(300), {"boost": series(20)}, DRIVER, NOON)
    await store.put_lap(LapRow(LIVE, 1, 61.5, NOON))
    await store.add_note(NoteRow(LIVE, "brake later", NOON))
    before = store.session(LIVE), await store.capabilities(LIVE), await store.read_frames(LIVE)
    assert before[0] is not None

    row = await store.rename_session(LIVE, "live")

    assert row.session_id == DATED
    assert row.ended_at == NOON + 2990
    assert (row.driver, row.n_frames, row.distance_m) == ("Ada", 300, before[0].distance_m)
    assert (store.session(LIVE), store.session(DATED)) == (None, row)
    assert equal(await store.read_frames(DATED), before[2])
    assert await store.capabilities(DATED) == before[1]
    assert [lap.lap_time_s for lap in await store.laps(DATED)] == [61.5]
    assert [note.text for note in await store.notes(DATED)] == ["brake later"]
    assert (await store.laps(LIVE), await store.notes(LIVE)) == ([], [])


async def test_the_old_id_begins_anew_and_both_outlive_a_restart(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await store.append_frames(LIVE, frames(50), now_ms=NOON)
    await store.rename_session(LIVE, "live")
    appended = await store.append_frames(LIVE, frames(7, t0=9.0), now_ms=NOON)
    assert (appended.first_idx, appended.last_idx) == (0, 6)
    second = await store.rename_session(LIVE, "live")
    await store.append_frames(LIVE, frames(3), now_ms=NOON + 1)
    await store.close()

    store = await opened(path, kind)
    counts = {row.session_id: row.n_frames for row in store.sessions()}
    read = {sid: len(await store.read_frames(sid)) for sid in counts}
    await store.close()

    assert second.session_id == f"{DATED}-2"
    assert counts == read == {DATED: 50, f"{DATED}-2": 7, LIVE: 3}


async def test_an_end_that_a_session_has_stays(store: Store) -> None:
    await store.append_frames("s", frames(50), now_ms=NOON)
    await store.end_session("s", NOON + 77)
    assert (await store.rename_session("s", "live")).ended_at == NOON + 77


async def test_a_session_that_is_not_there_cannot_be_renamed(store: Store) -> None:
    with pytest.raises(UnknownSession):
        await store.rename_session(LIVE, "live")
    assert store.sessions() == []


async def test_rows_of_every_table_that_names_sessions_go_along(store: Store) -> None:
    tables = {
        table.name: table.columns.split(" ")[0]
        for step in schema.STEPS
        for table in step
        if isinstance(table, schema.Table) and "session_id text" in table.columns
    }
    assert set(tables) == {*ABOUT_SESSIONS, *KEPT}
    await store.append_frames(LIVE, frames(2), now_ms=NOON)

    def insert(tx: Transaction) -> None:
        for name in ABOUT_SESSIONS:
            tx.run(f"INSERT INTO {name} ({tables[name]}, session_id) VALUES (1, ?)", (LIVE,))

    await store.write(insert)
    await store.rename_session(LIVE, "live")

    for name in ABOUT_SESSIONS:
        query = f"SELECT session_id FROM {name}"
        assert await store.read(methodcaller("rows", query)) == [(DATED,)]
