"""The interface of the store; every test runs on both back-ends."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.recording import (
    WIDE,
    WIDE_SIGNALS,
    Frames,
    Gate,
    Recording,
    Samples,
    VideoFrame,
)
from runtime.bridge.storage import sqlite, transaction
from runtime.bridge.storage.errors import (
    BadFrames,
    SessionExists,
    StoreFailed,
)
from runtime.bridge.storage.records import (
    Backend,
    LapRow,
    NoteRow,
    SessionMeta,
    SignalRow,
    recording_from_meta,
)
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction
from tests.bridge.storage.storekit import (
    DRIVER,
    NOON,
    SEED,
    equal,
    frames,
    opened,
    pairs,
    recording,
    samples,
    series,
)


async def test_a_session_gets_an_id_of_its_track_and_the_time(store: Store) -> None:
    first, resumed = await store.start_session(DRIVER, None, "oval", NOON)
    second, _ = await store.start_session(DRIVER, None, "oval", NOON)
    third, _ = await store.start_session(DRIVER, None, "oval", NOON + 999)
    assert not resumed
    assert first.session_id == "oval-20231114-221320"
    assert second.session_id == "oval-20231114-221320-2"
    assert third.session_id == "oval-20231114-221320-3"


async def test_a_session_that_goes_on_keeps_what_is_known_of_it(store: Store) -> None:
    await store.start_session(SessionMeta(driver="Ada", note=""), "s", "x", NOON)
    await store.end_session("s", NOON + 5)
    row, resumed = await store.start_session(
        SessionMeta(driver="Bea", note="wet", meta={"a": 1}), "s", "x", NOON + 9
    )
    assert resumed
    assert (row.driver, row.note, row.meta, row.started_at) == ("Ada", "wet", {"a": 1}, NOON)
    assert row.ended_at is None


async def test_the_active_session_is_the_one_started_last_whatever_the_clock_says(
    store: Store,
) -> None:
    assert store.active_session() is None
    await store.start_session(DRIVER, "a", "x", NOON)
    await store.start_session(DRIVER, "b", "x", NOON - 86_400_000)
    await store.append_frames("by-frames", frames(1))
    assert store.active_session() == "b"
    await store.end_session("b", NOON)
    assert store.active_session() == "a"
    await store.start_session(DRIVER, "b", "x", NOON)
    assert store.active_session() == "b"


async def test_sessions_are_listed_newest_first_then_by_id(store: Store) -> None:
    for sid, at in (("a", NOON), ("c", NOON), ("b", NOON), ("d", NOON + 1)):
        await store.start_session(SessionMeta(driver=sid.upper(), track="Oval"), sid, "x", at)
    await store.end_session("c", NOON)
    assert [row.session_id for row in store.sessions()] == ["d", "c", "b", "a"]
    assert [row.session_id for row in store.sessions(2, active_only=True)] == ["d", "b"]
    assert [row.session_id for row in store.sessions(driver=" b")] == ["b"]


async def test_frames_come_back_as_they_went_in(store: Store) -> None:
    given = frames(700)
    first = await store.append_frames("s", given, meta=DRIVER, now_ms=NOON)
    second = await store.append_frames("s", frames(3, t0=7.0))
    assert (first.first_idx, first.last_idx) == (0, 699)
    assert (second.first_idx, second.last_idx) == (700, 702)
    read = await store.read_frames("s")
    assert equal(Frames({name: read.columns[name][:700] for name in WIDE}), given)
    row = store.session("s")
    assert row is not None
    assert (row.n_frames, row.driver, row.started_at, row.t_end) == (703, "Ada", NOON, 7.02)


def cut(given: Frames, at: int, count: int) -> Frames:
    return Frames({name: column[at : at + count] for name, column in given.columns.items()})


async def test_frames_that_come_one_by_one_are_stored_as_if_they_had_come_together(
    store: Store,
) -> None:
    nan = float("nan")
    given = frames(300, distance_m=nan, speed_ms=[nan, *np.linspace(0, 50, 299)], g_lat=-0.0)
    whole = await store.append_frames("whole", given, now_ms=NOON)
    where = [
        appended
        for at in range(0, 300, 50)
        for appended in await asyncio.gather(
            *(store.append_frames("rows", cut(given, one, 1)) for one in range(at, at + 50))
        )
    ]
    assert [appended.first_idx for appended in where] == list(range(300))
    distances = np.concatenate([appended.distance_m for appended in where])
    assert np.array_equal(distances, whole.distance_m, equal_nan=True)
    assert equal(await store.read_frames("rows"), await store.read_frames("whole"))
    assert store.version("rows") == 301
    assert await store.capabilities("rows") == await store.capabilities("whole")
    counted = await store.capabilities("rows")
    assert await store.recompute_capabilities("rows") == len(counted)
    assert await store.capabilities("rows") == counted


async def test_frames_are_packed_as_they_were_whatever_happened_to_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOOSE", 40)

    def broken(tx: Transaction) -> None:
        tx.flush()
        tx.run("INSERT INTO no_such_table VALUES (1)")

    given = frames(200, rpm=float("nan"))
    expected = {name: column.copy() for name, column in given.columns.items()}
    for number, at in enumerate(range(0, 200, 10)):
        piece = cut(given, at, 10)
        await asyncio.gather(*(store.append_frames("s", cut(piece, one, 1)) for one in range(10)))
        if number % 3 == 0:
            with pytest.raises(StoreFailed):
                await store.write(broken)
        if number % 5 == 1:
            t = piece.columns["timestamp"][3:4]
            await store.append_signals("s", {"rpm": Samples(t, np.ones(1))})
            expected["rpm"][at + 3] = 1.0
    assert equal(await store.read_frames("s"), Frames(expected))
    await store.end_session("s", NOON)
    assert equal(await store.read_frames("s"), Frames(expected))


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [("rpm", np.inf, "rpm"), ("lat", -np.inf, "lat"), ("timestamp", np.nan, "timestamp")],
)
async def test_numbers_that_cannot_be_kept_are_refused_by_name(
    store: Store, column: str, value: float, named: str
) -> None:
    with pytest.raises(BadFrames, match=named) as caught:
        await store.append_frames("s", frames(2, **{column: value}))
    assert caught.value.status == 400
    assert store.session("s") is None


async def test_samples_are_kept_by_time_and_the_later_one_wins(store: Store) -> None:
    first = await store.append_signals("s", {"x": samples((2, 20), (1, 10), (2, 21))}, DRIVER, NOON)
    second = await store.append_signals(
        "s", {"x": samples((1.5, 15), (2, 22), (3, 30)), "y": samples((0, 1))}
    )
    read = await store.read_signals("s", ["x", "y", "z"])
    assert (first.newly_discovered, second.newly_discovered) == (("x",), ("y",))
    assert (first.capabilities_count, second.capabilities_count) == (1, 2)
    assert pairs(read["x"]) == [(1, 10), (1.5, 15), (2, 22), (3, 30)]
    assert pairs(read["z"]) == []
    capability = (await store.capabilities("s"))[0]
    assert (capability.name, capability.n_samples, capability.t_start, capability.t_end) == (
        *("x", 4, 1.0),
        3.0,
    )
    assert capability.mean_hz == 2.0


async def test_samples_in_packed_blocks_are_replaced_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "AT_ONCE", 10)
    monkeypatch.setattr(sqlite, "BLOCK", 16)
    await store.append_signals("s", {"x": series(40)})
    await store.append_signals("s", {"x": samples((0.1, 7), (0.105, 8), (0.2, 9))})
    await store.append_signals("s", {"x": Samples(series(20).t, np.zeros(20))})
    read = dict(pairs((await store.read_signals("s", ["x"]))["x"]))
    assert len(read) == 41
    assert (read[0.1], read[0.105], read[0.2]) == (0, 8, 9)
    assert (await store.capabilities("s"))[0].n_samples == 41
    assert await store.recompute_capabilities("s") == 1
    assert (await store.capabilities("s"))[0].n_samples == 41


async def test_samples_of_wide_columns_fill_empty_cells_next_to_them(store: Store) -> None:
    await store.append_frames("s", frames(10, hz=10, rpm=[np.nan, 1.0, *[np.nan] * 8]))
    posted = samples((0.04, 100), (0.1, 200), (0.5, 300), (0.52, 301), (5, 400))
    result = await store.append_signals("s", {"rpm": posted, "x": samples((0, 1))})
    rpm = (await store.read_frames("s")).columns["rpm"]
    assert (result.n_appended, result.n_rejected) == (3, 3)
    assert rpm[[0, 1, 5]].tolist() == [100, 1, 300]
    assert np.isnan(rpm).sum() == 7
    counted = {row.name: row.n_samples for row in await store.capabilities("s")}
    assert counted["rpm"] == 3
    nothing = await store.append_signals("unknown", {"rpm": posted})
    assert (nothing.n_appended, nothing.n_rejected) == (0, 5)
    assert store.session("unknown") is None


async def test_a_name_first_used_by_two_callers_at_once_is_registered_once(store: Store) -> None:
    results = await asyncio.gather(
        *(store.append_signals("s", {"new": samples((n, n))}) for n in range(8))
    )
    named = [row for row in store.registry() if row.name == "new"]
    assert [row.discovery for row in named] == ["discovered"]
    assert sum(len(result.newly_discovered) for result in results) == 1
    assert named[0].signal_id == len(SEED) + 1


async def test_a_full_catalogue_costs_frames_and_imports_only_their_new_names(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "MOST_DISCOVERED", 2)
    known, new = samples((0, 0)), samples((0, 1), (1, 2))
    done = await store.append_frames("s", frames(2), {"c": new, "a": known, "b": known})
    assert (done.newly_discovered, done.left_out) == (("a", "b"), ("c",))
    recording = Recording(frames(3), {"a": new, "d": new, "e": new})
    brought = await store.import_recording("i", recording)
    assert (brought.n_frames, brought.n_signals, brought.left_out) == (3, 1, ("d", "e"))
    (doubt,) = brought.doubts
    assert (doubt.code, doubt.times) == ("registry_full", 2)
    assert len((await store.read_signals("i", ["a"]))["a"].t) == 2
    spared = await store.append_signals("s", {"a": samples((5, 5)), "f": new}, spare=True)
    assert (spared.n_appended, spared.n_rejected) == (1, 2)
    assert pairs((await store.read_signals("s", ["a"]))["a"]) == [(0, 0), (5, 5)]
    assert {row.name for row in store.registry()}.isdisjoint("cdef")


async def test_the_catalogue_is_seeded_once_and_grows(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    before = store.registry()
    await store.append_signals("s", {"boost": samples((0, 1))}, now_ms=NOON)
    await store.close()
    store = await Store.open(path, kind, [*SEED, SignalRow("boost", "kPa", discovery="static_dbc")])
    boost = next(row for row in store.registry() if row.name == "boost")
    assert store.registry()[: len(before)] == before
    assert [row.name for row in before[:11]] == list(WIDE_SIGNALS)
    assert (boost.units, boost.discovery, boost.discovered_at) == ("kPa", "static_dbc", NOON)
    assert (await store.samples_total())["boost"] == 1
    await store.close()


async def test_capabilities_leave_out_columns_that_are_never_there(store: Store) -> None:
    await store.append_frames("s", frames(201), {"oil_temp_c": samples((0, 90), (1, 91), (2, 92))})
    rows = {row.name: row for row in await store.capabilities("s")}
    assert "lat" not in rows
    assert rows["speed_ms"].mean_hz == pytest.approx(100.5)
    assert (rows["oil_temp_c"].mean_hz, rows["oil_temp_c"].useful) == (1.5, True)
    assert rows["oil_temp_c"].units == "C"
    assert list(rows) == sorted(rows)
    assert await store.signal_names("s") == list(rows)


async def test_every_write_of_telemetry_changes_the_version(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await store.start_session(DRIVER, "s", "x", NOON)
    seen = [store.version("s")]
    await store.append_frames("s", frames(2, rpm=np.nan))
    seen.append(store.version("s"))
    await store.append_signals("s", {"x": samples((0, 1))})
    seen.append(store.version("s"))
    await store.append_signals("s", {"rpm": samples((0, 1))})
    seen.append(store.version("s"))
    await store.put_lap(LapRow("s", 1, 60.0, NOON))
    assert store.version("s") == seen[-1]
    await store.close()
    store = await opened(path, kind)
    assert store.version("s") == seen[-1]
    assert seen == sorted(set(seen))
    await store.close()


async def test_a_recording_is_brought_in_whole(store: Store) -> None:
    gate = Gate(50.0, 6.0, 90.0)
    given = recording(3000, rpm=np.nan)
    given = Recording(
        given.frames,
        {**given.signals, "rpm": samples((1.0, 5000.0))},
        video=tuple(VideoFrame(n / 10, None, "a.mp4", n / 10) for n in range(40)),
        created=given.created,
        start=gate,
        splits=(gate,),
        facts={"coordinate_encoding": "minutes"},
    )
    result = await store.import_recording("s", given, SessionMeta(driver="Ada", source="x.vbo"))
    row = store.session("s")
    assert row is not None
    assert (result.n_frames, result.n_signals, result.capabilities_count) == (3000, 2, 11)
    assert (row.started_at, row.ended_at) == (1_600_000_000_000, 1_600_000_029_990)
    assert recording_from_meta(row.meta).start == gate
    assert recording_from_meta(row.meta).facts == {"coordinate_encoding": "minutes"}
    read = await store.read_frames("s")
    assert read.columns["rpm"][100] == 5000.0
    assert np.array_equal(read.columns["g_lat"], given.frames.columns["g_lat"])
    assert pairs((await store.read_signals("s", ["signal_1"]))["signal_1"]) == pairs(
        given.signals["signal_1"]
    )
    assert len(await store.video("s")) == 40


async def test_a_recording_fills_a_bare_session_and_no_other(store: Store) -> None:
    await store.start_session(SessionMeta(driver="Ada"), "s", "x", NOON)
    await store.append_video("s", [VideoFrame(0.0, None, "before.mp4", None)])
    await store.put_lap(LapRow("s", 1, 60.0, NOON))
    await store.import_recording("s", recording(100), SessionMeta(driver="Bea", car="Kart"))
    row = store.session("s")
    assert row is not None
    assert (row.driver, row.car, row.started_at, row.ended_at) == ("Ada", "Kart", NOON, None)
    assert row.n_frames == 100
    assert len(await store.video("s")) == 1
    assert len(await store.laps("s")) == 1
    with pytest.raises(SessionExists) as caught:
        await store.import_recording("s", recording(100))
    assert (caught.value.status, caught.value.session_id) == (409, "s")
    appended = await store.append_frames("s", frames(1, t0=99.0))
    assert appended.first_idx == 100


async def test_a_recording_that_cannot_be_kept_leaves_nothing(store: Store) -> None:
    bad = recording(70_000)
    bad.frames.columns["rpm"][69_000] = np.inf
    for given in (bad, Recording(frames(0))):
        with pytest.raises(BadFrames):
            await store.import_recording("s", given)
    assert store.session("s") is None
    counts = await store.read(
        lambda reader: [
            reader.rows(f"SELECT count(*) FROM {table}")[0][0]
            for table in ("telemetry", "telemetry_signals", "staged", "sessions")
        ]
    )
    assert counts == [0, 0, 0, 0]


async def test_live_frames_get_through_beside_an_import(store: Store) -> None:
    importing = asyncio.create_task(store.import_recording("big", recording(200_000, signals=4)))
    live = 0
    while not importing.done():
        await store.append_frames("live", frames(1, t0=live / 10))
        live += 1
    assert (await importing).n_frames == 200_000
    assert live > 5
    assert len(await store.read_frames("live")) == live


async def test_a_lap_of_no_session_makes_one_that_is_not_active(kind: Backend, path: Path) -> None:
    store = await opened(path, kind)
    await store.put_lap(LapRow("s", 1, 61.5, NOON))
    await store.put_lap(LapRow("s", 2, 60.5, NOON + 1))
    await store.close()
    store = await opened(path, kind)
    (row,) = store.sessions()
    assert (row.session_id, row.started_at, row.n_frames) == ("s", NOON, 0)
    assert store.active_session() is None
    await store.close()


async def test_notes_are_the_last_ones_oldest_first(store: Store) -> None:
    for n in range(5):
        await store.add_note(NoteRow("s", f"note {n} é\u0301", NOON, burst_id=n, concept="eob"))
    notes = await store.notes("s", 3)
    assert [note.burst_id for note in notes] == [2, 3, 4]
    assert notes[0].text == "note 2 \u00e9\u0301"
    assert await store.notes("nobody") == []


async def test_laps_are_cached_for_one_version(store: Store) -> None:
    await store.append_frames("s", frames(2))
    first = store.version("s")
    await store.put_lap_cache("s", first, '{"laps": []}')
    assert await store.lap_cache("s", first) == '{"laps": []}'
    await store.append_frames("s", frames(2, t0=1.0))
    second = store.version("s")
    await store.put_lap_cache("s", second, "[]")
    await store.put_lap_cache("s", first, "found too late")
    assert await store.lap_cache("s", first) is None
    assert await store.lap_cache("s", second) == "[]"
