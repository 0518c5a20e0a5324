"""The short way of single frames: the same rows, answers and errors as on the common way."""

import asyncio
import json
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.api import frames
from runtime.bridge.api.frames import plain_row
from runtime.bridge.session.ingest import BadBatch, read_frame
from runtime.bridge.session.recording import WIDE
from runtime.bridge.storage import writer
from runtime.bridge.storage.errors import StoreFull
from runtime.bridge.storage.operations import Work
from runtime.web.guard import Guard
from runtime.web.serve import GUARD
from tests.bridge.bridgekit import Bridge, bridging, settings_for

Sent = dict[str, float | int | bool | str | None]
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.sampled_from([0.0, -0.0, 1e11, 1e11 + 1, 1.7e308]),
)
CELLS = st.one_of(NUMBERS, st.none(), st.booleans(), st.just("1"))
OTHERS = ("t", "speed", "speed_kmh", "oil_temp_c", "session_id", "")


@given(
    st.dictionaries(st.sampled_from(WIDE), NUMBERS),
    st.dictionaries(st.sampled_from((*WIDE, *OTHERS)), CELLS, max_size=3),
)
def test_a_row_has_the_numbers_that_the_common_way_reads(plain: Sent, odd: Sent) -> None:
    body = json.dumps({**plain, **odd}).encode()
    row = plain_row(body)
    try:
        batch = read_frame(orjson.loads(body))
    except BadBatch:
        assert row is None
        return
    if row is None:
        assert odd
        return
    assert not batch.extras
    assert not batch.ignored
    expected = [float(batch.frames.columns[name][0]) for name in WIDE]
    assert np.array_equal(np.array(row) + 0.0, expected, equal_nan=True)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b"{", b'{"rpm":1}', b'{"timestamp":NaN}', b'{"timestamp":null}']
)
def test_what_is_no_frame_is_no_row(body: bytes) -> None:
    assert plain_row(body) is None


def test_only_so_many_shapes_of_bodies_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_SHAPES", 2)
    for name in WIDE[1:]:
        row = plain_row(json.dumps({"timestamp": 1.0, name: 2.0}).encode())
        assert row is not None
        assert row[WIDE.index(name)] == 2.0
    assert len(frames._shapes) <= 2


def guard(bridge: Bridge) -> Guard:
    return bridge.app[GUARD]


async def test_frames_of_both_ways_are_one_session(bridge: Bridge) -> None:
    for at in range(12):
        body = {"timestamp": float(at), "speed_ms": 20.0}
        if at % 4 == 3:
            await bridge.ok("POST", "/session/s/frames", {"frames": [body]})
            continue
        answer = await bridge.ok("POST", "/session/s/frame", body)
        assert answer == {"saved": True, "session_id": "s", "frame_idx": at}
    assert guard(bridge).heads
    frames = await bridge.service.db.read_frames("s")
    assert frames.columns["distance_m"].tolist() == [20.0 * at for at in range(12)]
    row = bridge.service.session("s")
    assert (row.n_frames, row.t_start, row.t_end) == (12, 0.0, 11.0)


async def test_many_frames_at_once_get_numbers_without_gaps(bridge: Bridge) -> None:
    body = {"timestamp": 1.0, "rpm": 5000.0}
    await bridge.ok("POST", "/session/s/frame", body)
    answers = await asyncio.gather(
        *(bridge.ok("POST", "/session/s/frame", body) for _ in range(60))
    )
    assert sorted(answer["frame_idx"] for answer in answers) == list(range(1, 61))


async def test_listeners_hear_frames_of_the_short_way(bridge: Bridge) -> None:
    body = {"timestamp": 1.0, "speed_ms": 30.0, "g_lat": -0.0}
    await bridge.ok("POST", "/session/s/frame", body)
    with_hub = bridge.service.hub.subscribe("telemetry", ["s"])
    await bridge.ok("POST", "/session/s/frame", {**body, "timestamp": 2.0})
    told = await asyncio.wait_for(anext(with_hub), 20)
    frame = json.loads(told.split(b"data: ", 1)[1])
    assert (frame["timestamp"], frame["distance_m"], frame["frame_idx"]) == (2.0, 30.0, 1)
    assert frame["rpm"] is None
    assert "-0.0" not in told.decode()


async def test_errors_of_the_store_are_told(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"timestamp": 1.0, "rpm": 5000.0}
    await bridge.ok("POST", "/session/s/frame", body)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "MOST_WAITING", 0)
        busy = await bridge.post("/session/s/frame", body)
        assert (busy.status, busy.json["code"]) == (503, "store_busy")
        assert busy.headers["Retry-After"] == "1"

    def full(*_: object) -> None:
        raise StoreFull

    connection = bridge.service.db._opened.engine.writer
    with monkeypatch.context() as patch:
        patch.setattr(connection, "commit", full)
        refused = await bridge.post("/session/s/frame", body)
        assert (refused.status, refused.json["code"]) == (503, "disk_full")
    answer = await bridge.ok("POST", "/session/s/frame", body)
    assert answer["frame_idx"] == 1


async def test_a_write_that_comes_later_is_never_overtaken(bridge: Bridge) -> None:
    store = bridge.service.db
    ticket: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    nan = float("nan")
    store.append_row("s", (1.0, *[nan] * (len(WIDE) - 1)), ticket)
    there = await store.write(Work(lambda tx: tx.session("s")))
    tx_saw = there is not None
    await ticket
    assert tx_saw


async def test_frames_are_taken_with_each_back_end_through_a_restart(tmp_path: Path) -> None:
    for kind in ("lightweight", "analytical"):
        folder = tmp_path / kind
        folder.mkdir()
        settings = settings_for(folder, db_backend=kind)
        for start in (0, 20):
            async with bridging(settings) as bridge:
                for at in range(start, start + 20):
                    sent = {"timestamp": at / 10, "lat": 54.0, "lon": -3.0, "g_long": None}
                    answer = await bridge.ok("POST", "/session/s/frame", sent)
                    assert answer["frame_idx"] == at
                assert guard(bridge).heads
        async with bridging(settings) as bridge:
            stored = await bridge.service.db.read_frames("s")
            assert stored.columns["timestamp"].tolist() == [at / 10 for at in range(40)]
            assert set(stored.columns["lat"].tolist()) == {54.0}
            assert np.isnan(stored.columns["g_long"]).all()
