"""A session that is deleted is gone from every table, for good; one that is corrected is not."""

import asyncio
from operator import methodcaller
from pathlib import Path

import pytest

from runtime.bridge.session.recording import VideoFrame
from runtime.bridge.storage import schema, sessions
from runtime.bridge.storage.coaching import EventRow, NewEvent, add_events, read_driver_events
from runtime.bridge.storage.errors import SessionInUse, UnknownSession
from runtime.bridge.storage.records import Backend, LapRow, NoteRow, SessionMeta
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction
from tests.bridge.storage.storekit import DRIVER, NOON, equal, frames, opened, series

TABLES = {
    table.name: table.columns.split(" ")
    for step in schema.STEPS
    for table in (*step, *schema.BLOCKS)
    if isinstance(table, schema.Table)
}


async def fill(store: Store, session_id: str, n: int = 3000) -> None:
    """Telemetry that is partly packed, and a row of every table that names sessions."""
    await store.append_frames(session_id, frames(n), {"boost": series(n)}, DRIVER, NOON)
    await store.append_frames(session_id, frames(50, t0=n / 100), {"oil": series(50)}, now_ms=NOON)
    await store.append_video(session_id, [VideoFrame(0.0, None, "in.mp4", 0.0)])
    await store.put_lap_cache(session_id, store.version(session_id), "{}")

    def insert(tx: Transaction) -> None:
        for name in sessions.NAMED_BY:
            first = TABLES[name][0]
            if name not in ("session_laps_cache", "spectator_tokens"):
                number = tx.next_id(name)
                tx.run(
                    f"INSERT INTO {name} ({first}, session_id) VALUES (?, ?)", (number, session_id)
                )
        token = f"{session_id}-token", session_id
        tx.run("INSERT INTO spectator_tokens (token_hash, session_id) VALUES (?, ?)", token)
        payload = f'{{"session_id":"{session_id}"}}'
        number = tx.next_id("notifications")
        tx.run("INSERT INTO notifications (id, payload) VALUES (?, ?)", (number, payload))

    await store.write(insert)


async def left(store: Store, key: int, session_id: str) -> dict[str, int]:
    """How many rows of each table are of a session."""
    found = {}
    for name, columns in TABLES.items():
        if name in (table.name for table in schema.BLOCKS) and store.backend != "lightweight":
            continue
        tests = [f"session_key = {key}"] if "session_key" in columns else []
        tests += [f"session_id = '{session_id}'"] if "session_id" in columns else []
        tests += ["payload LIKE '%\"" + session_id + "\"%'"] if "payload" in columns else []
        if tests:
            query = f"SELECT count(*) FROM {name} WHERE {' OR '.join(tests)}"
            found[name] = (await store.read(methodcaller("rows", query)))[0][0]
    return {name: count for name, count in found.items() if count}


def key_of(store: Store, session_id: str) -> int:
    row = store.session(session_id)
    assert row is not None
    return row.key


async def test_nothing_is_left_of_a_deleted_session_and_all_of_the_others(
    kind: Backend, path: Path
) -> None:
    store = await opened(path, kind)
    await fill(store, "gone")
    await fill(store, "here")
    gone, here = key_of(store, "gone"), key_of(store, "here")
    before = await left(store, here, "here"), await store.read_frames("here")
    assert set(before[0]) >= {*sessions.NAMED_BY, "sessions", "video_frames", "notifications"}
    assert (await left(store, gone, "gone")).keys() == before[0].keys()

    await store.delete_session("gone")

    with pytest.raises(UnknownSession):
        await store.read_frames("gone")
    with pytest.raises(UnknownSession):
        await store.delete_session("gone")
    assert [row.session_id for row in store.sessions()] == ["here"]
    await store.close()  # which ends what goes piece by piece
    store = await opened(path, kind)
    assert store.recovered_from is None
    assert await left(store, gone, "gone") == {}
    after = await left(store, here, "here")
    named = {*sessions.NAMED_BY, "sessions", "video_frames", "notifications"}
    assert {name: after[name] for name in named} == {name: before[0][name] for name in named}
    assert equal(await store.read_frames("here"), before[1])
    assert (await store.samples_total())["boost"] == 3000
    await store.close()


async def test_a_crash_behind_the_commit_leaves_no_telemetry(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await fill(store, "gone")
    key = await store.write(lambda tx: sessions.delete_session(tx, "gone"))
    assert (await left(store, key, "gone")).keys() >= {"staged", "video_frames"}
    await store.close()

    store = await opened(path, kind)
    await store.close()
    store = await opened(path, kind)
    assert await left(store, key, "gone") == {}
    await store.close()


async def test_a_new_session_of_the_same_id_has_nothing_of_the_old_one(store: Store) -> None:
    await fill(store, "s")
    before = store.session("s")
    assert before is not None

    await store.delete_session("s")
    await store.append_frames("s", frames(7), now_ms=NOON + 1)

    after = store.session("s")
    assert after is not None
    assert (after.n_frames, after.driver, after.started_at) == (7, None, NOON + 1)
    assert after.key > before.key
    assert len(await store.read_frames("s")) == 7
    assert (await store.laps("s"), await store.notes("s")) == ([], [])
    assert await store.lap_cache("s", before.version) is None


async def test_writes_that_meet_a_deletion_are_before_it_or_behind_it(store: Store) -> None:
    await store.append_frames("s", frames(10), now_ms=NOON)
    done = await asyncio.gather(
        store.append_frames("s", frames(5, t0=1.0)),
        store.delete_session("s"),
        store.append_frames("s", frames(3)),
    )
    assert (done[0].first_idx, done[2].first_idx) == (10, 0)
    assert len(await store.read_frames("s")) == 3


async def test_what_was_on_its_way_about_a_deleted_session_is_not_kept(store: Store) -> None:
    await fill(store, "s")
    key, version = key_of(store, "s"), store.version("s")
    await store.delete_session("s")

    note = await store.add_note(NoteRow("s", "brake later", NOON))
    events = [NewEvent("grade", "T1", 0.9, "A")]
    assert await add_events(store, "Ada", "s", events, NOON) == 0
    await store.put_lap_cache("s", version, "{}")

    assert note.id == 0
    kept = await left(store, key, "s")
    assert set(kept) <= {"staged", "telemetry", "telemetry_signals", "telemetry_blocks"} | {
        "signal_blocks",
        "session_capabilities",
        "video_frames",
    }
    await store.add_note(NoteRow("elsewhere", "hello", NOON))
    assert [one.text for one in await store.notes("elsewhere")] == ["hello"]


async def test_the_active_session_stays(store: Store) -> None:
    for name in ("first", "second"):
        await store.start_session(DRIVER, name, name, NOON)
    with pytest.raises(SessionInUse, match="end it first"):
        await store.delete_session("second")
    await store.delete_session("first")
    await store.end_session("second", NOON + 1)
    await store.delete_session("second")
    assert store.sessions() == []


async def test_a_corrected_session_says_something_else_and_remembers_it_so(store: Store) -> None:
    await store.append_frames("s", frames(30), meta=DRIVER, now_ms=NOON)
    await add_events(store, "Ada", "s", [NewEvent("grade", "T1", 0.9, "A")], NOON)
    await add_events(store, "Eve", "s", [NewEvent("grade", "T1", 0.5, "F")], NOON)
    before = store.version("s")

    async def events(driver: str) -> list[EventRow]:
        return await store.read(lambda reader: read_driver_events(reader, driver))

    row = await store.change_session("s", {"driver": " Bob", "note": "wet"})
    assert (row.driver, row.track, row.note, row.n_frames) == ("Bob", "Oval", "wet", 30)
    assert row.version == before
    assert [event.text for event in await events("bob")] == ["A"]
    assert (await events("ada"), len(await events("eve"))) == ([], 1)

    row = await store.change_session("s", {"driver": None, "track": "", "note": ""})
    assert (row.driver, row.track, row.note) == (None, None, None)
    assert row.version > before
    assert await events("bob") == []
    with pytest.raises(UnknownSession):
        await store.change_session("t", {"note": ""})


async def test_a_correction_outlives_a_restart(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await store.append_frames("s", frames(30), meta=SessionMeta(driver="Ada"), now_ms=NOON)
    await store.put_lap(LapRow("s", 1, 61.5, NOON))
    await store.change_session("s", {"driver": "Bob", "car": "hatch"})
    await store.append_frames("s", frames(3, t0=9.0), meta=SessionMeta(driver="Ada"))
    await store.close()
    store = await opened(path, kind)
    row = store.session("s")
    assert row is not None
    assert (row.driver, row.car, row.n_frames) == ("Bob", "hatch", 33)
    assert [lap.lap_time_s for lap in await store.laps("s")] == [61.5]
    await store.close()
