"""Telemetry comes in over HTTP, and is kept, or the answer says that it was not."""

import asyncio
import io
import json

import numpy as np
import pytest

from runtime.bridge.storage import transaction
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import ROOT, Bridge, Json, frame_objects
from tests.bridge.conftest import Start
from tools.drive import drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEPT: list[tuple[str, str]] = [
    ("temp(C)", "temp(C)"),
    ("Öldruck°", "Öldruck°"),
    ("tyre[0]", "tyre[0]"),
    ("a+b", "a+b"),
    ("Größe", "Größe"),
    ("油温", "油温"),
    ("oil#temp", "oil_temp"),
    ("a,b", "a_b"),
    ("c\nd", "c_d"),
    ("", "unnamed"),
    ("x" * 129, "x" * 128),
    (" speed_ms ", "speed_ms_2"),
]
"""Keys of frames that are no plain names, and the names of their signals."""


@pytest.fixture
def bridge(each_bridge: Bridge) -> Bridge:
    """One for all tests, each of which has a session of its own."""
    return each_bridge


def frame(t: float, **values: Json) -> dict[str, Json]:
    return {"timestamp": t, **values}


async def value_of(bridge: Bridge, sid: str, name: str) -> Json:
    """The first value of a signal, as it is asked for over HTTP."""
    answer = await bridge.get(f"/session/{sid}/signals", params={"names": name, "axis": "time"})
    assert answer.status == 200, answer.body
    return answer.json["rows"][0][name]


async def test_frames_are_appended_in_order_and_numbered_from_zero(
    bridge: Bridge, sid: str
) -> None:
    first = await bridge.ok(
        "POST", f"/session/{sid}/frames", {"frames": [frame(0.0), frame(0.1)], "driver": "Mia"}
    )
    assert (first["first_frame_idx"], first["last_frame_idx"], first["n_appended"]) == (0, 1, 2)
    one = await bridge.ok("POST", f"/session/{sid}/frame", frame(0.2, speed_ms=10))
    assert one == {"saved": True, "session_id": sid, "frame_idx": 2}
    rows = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert [row["driver"] for row in rows if row["session_id"] == sid] == ["Mia"]
    assert (await bridge.ok("GET", f"/session/{sid}"))["n_frames"] == 3


async def test_concurrent_frames_never_share_an_index(bridge: Bridge, sid: str) -> None:
    answers = await asyncio.gather(
        *(bridge.ok("POST", f"/session/{sid}/frame", frame(n / 10)) for n in range(60))
    )
    assert sorted(answer["frame_idx"] for answer in answers) == list(range(60))


@pytest.mark.parametrize("how", ["frames", "columns", "frame"])
async def test_a_number_under_any_key_is_kept_and_can_be_asked_for(
    bridge: Bridge, sid: str, how: str
) -> None:
    frame = {"timestamp": 1.0} | {key: at + 0.5 for at, (key, _) in enumerate(KEPT)}
    bodies: dict[str, Json] = {
        "frames": {"frames": [frame]},
        "columns": {"columns": {name: [value] for name, value in frame.items()}},
        "frame": frame,
    }
    path = "frame" if how == "frame" else "frames"
    answer = await bridge.ok("POST", f"/session/{sid}/{path}", bodies[how])
    assert not answer.get("ignored")
    for at, (_, name) in enumerate(KEPT):
        assert await value_of(bridge, sid, name) == at + 0.5
    listed = (await bridge.ok("GET", "/signals/registry"))["signals"]
    assert {name for _, name in KEPT} <= {one["name"] for one in listed}


async def test_what_is_no_number_is_told(bridge: Bridge, sid: str) -> None:
    ignored = [{"name": "note", "reason": "not a number"}, {"name": "x", "reason": "not a number"}]
    frame = {"timestamp": 1, "speed_ms": 3, "note": "wet", "x": [1], "source": "can", "gear": None}
    many = await bridge.ok("POST", f"/session/{sid}/frames", {"frames": [frame]})
    assert (many["n_ignored"], many["ignored"]) == (2, ignored)
    one = await bridge.ok("POST", f"/session/{sid}/frame", frame)
    assert one["ignored"] == ignored
    clean = await bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": 2, "speed_ms": 3})
    assert "ignored" not in clean


async def test_bad_frames_of_a_batch_are_named_and_the_others_stored(
    bridge: Bridge, sid: str
) -> None:
    frames = [frame(0, speed_kmh=36, lng=7.5), {"speed_ms": 1}, 7, frame(1, rpm="high"), frame(2)]
    answer = await bridge.ok("POST", f"/session/{sid}/frames", {"frames": frames})
    assert (answer["n_appended"], answer["n_rejected"]) == (2, 3)
    assert [one["index"] for one in answer["rejected"]] == [1, 2, 3]
    stored = await bridge.service.db.read_frames(sid)
    assert stored.columns["speed_ms"][0] == pytest.approx(10)
    assert stored.columns["lon"][0] == 7.5


async def test_a_whole_drive_sent_in_batches_has_its_laps(bridge: Bridge, sid: str) -> None:
    driven = drive(Library.read(ROOT / "data" / "tracks").tracks["tarn-oval"], 3)
    objects = frame_objects(driven.frames)
    for at in range(0, len(objects), 500):
        await bridge.ok("POST", f"/session/{sid}/frames", {"frames": objects[at : at + 500]})
    stored = await bridge.service.db.read_frames(sid)
    for name, column in driven.frames.columns.items():
        assert np.array_equal(stored.columns[name], column, equal_nan=True), name
    laps = (await bridge.ok("GET", f"/session/{sid}/laps"))["laps"]
    times = [lap["duration_s"] for lap in laps if lap["kind"] == "lap"]
    assert times == pytest.approx(list(driven.lap_times_s), abs=0.05)


async def test_signals_are_taken_in_every_form(start: Start, backend: str) -> None:
    async with start(db_backend=backend) as bridge:
        registry = (await bridge.ok("GET", "/signals/registry"))["signals"]
        assert len(registry) == 54
        oil = next(row["signal_id"] for row in registry if row["name"] == "oil_temp_c")
        answer = await bridge.ok(
            "POST",
            "/session/s/signals",
            {
                "signals": [
                    ["gearbox_temp", 0, 80],
                    {"name": "gearbox_temp", "t": 1, "value": 81},
                    {"signal_name": "pit_limiter", "t": 1, "value": True},
                    {"signal_id": oil, "t": 1, "value": 95.5},
                    {"name": "", "t": 1, "value": 1},
                    ["x", "soon", 1],
                ]
            },
        )
        assert answer["n_appended"] == 4
        assert answer["n_rejected"] == 2
        assert answer["names"] == ["gearbox_temp", "oil_temp_c", "pit_limiter"]
        assert sorted(answer["newly_discovered"]) == ["gearbox_temp", "pit_limiter"]
        found = (await bridge.ok("GET", "/signals/registry"))["signals"]
        assert [row["discovery"] for row in found[54:]] == ["discovered", "discovered"]
        assert (await bridge.ok("POST", "/session/s/capabilities/recompute")) == {
            "session_id": "s",
            "capabilities_count": answer["capabilities_count"],
        }


async def test_a_full_catalogue_costs_new_names_and_never_the_frames(
    start: Start, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(db_backend=backend) as bridge:
        monkeypatch.setattr(transaction, "MOST_DISCOVERED", 2)
        frame = {"timestamp": 1, "speed_ms": 30, "c": 3, "a": 1, "b": 2}
        answer = await bridge.ok("POST", "/session/s/frames", {"frames": [frame]})
        full = [{"name": "c", "reason": "the catalogue of signals is full"}]
        assert (answer["n_appended"], answer["ignored"]) == (1, full)
        single = await bridge.ok("POST", "/session/s/frame", {**frame, "timestamp": 2, "a": 9})
        assert single["ignored"] == full
        stored = await bridge.service.db.read_frames("s")
        assert stored.columns["speed_ms"].tolist() == [30, 30]
        samples = await bridge.service.db.read_signals("s", ["a", "b", "c"])
        assert {name: one.value.tolist() for name, one in samples.items()} == {
            "a": [1, 9],
            "b": [2, 2],
            "c": [],
        }
        body = {"signals": [["a", 3, 1], ["d", 3, 1]]}
        assert await bridge.refused("POST", "/session/s/signals", body) == (413, "registry_full")
        assert len((await bridge.service.db.read_signals("s", ["a"]))["a"].t) == 2


async def test_samples_may_be_added_to_any_signal_that_is_known(bridge: Bridge, sid: str) -> None:
    await bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": 1, "Öldruck°": 2})
    answer = await bridge.ok("POST", f"/session/{sid}/signals", {"signals": [["Öldruck°", 2, 3]]})
    assert answer["n_appended"] == 1
    unknown = await bridge.post(f"/session/{sid}/signals", {"signals": [["Öltemperatur°", 2, 3]]})
    assert unknown.status == 400
    assert "letters from A to Z" in unknown.json["error"]


async def test_samples_of_a_column_that_fill_no_cell_are_told(bridge: Bridge, sid: str) -> None:
    frames = [{"timestamp": t, "rpm": rpm} for t, rpm in ((0, 1000), (1, None), (2, 3000))]
    await bridge.ok("POST", f"/session/{sid}/frames", {"frames": frames})
    body = {"signals": [["rpm", 50, 1], ["x", 1, 1], ["rpm", 1, 7], ["rpm", 2, 8], ["rpm", 1, 9]]}
    answer = await bridge.ok("POST", f"/session/{sid}/signals", body)
    assert (answer["n_appended"], answer["n_rejected"]) == (2, 3)
    assert [one["index"] for one in answer["rejected"]] == [0, 2, 3]
    assert {one["reason"] for one in answer["rejected"]} == {
        "a column of the frames, and every frame near this time has it already"
    }
    stored = await bridge.service.db.read_frames(sid)
    assert stored.columns["rpm"].tolist() == [1000, 9, 3000]


async def test_a_speed_that_cannot_be_adds_nothing_to_the_distance(
    bridge: Bridge, sid: str
) -> None:
    for speed in (1e300, 1e5, -1e300):
        session = f"{sid}{speed:.0e}".replace("+", "")
        for t, fast in ((0, 10.0), (1, 10.0), (2, speed), (3, 10.0)):
            await bridge.ok("POST", f"/session/{session}/frame", {"timestamp": t, "speed_ms": fast})
        stored = await bridge.service.db.read_frames(session)
        distance = [None if d != d else d for d in stored.columns["distance_m"].tolist()]
        assert distance == [0, 10, None, 20], speed


async def test_a_session_is_as_long_wherever_it_is_asked(bridge: Bridge, sid: str) -> None:
    frames = [{"timestamp": t, "speed_ms": 5.0} for t in range(5)]
    await bridge.ok("POST", f"/session/{sid}/frames", {"frames": [*frames, {"timestamp": 99}]})
    await bridge.ok("POST", f"/session/{sid}/signals", {"signals": [["x", 120, 1]]})
    whole = (await bridge.ok("GET", f"/session/{sid}/laps"))["laps"][0]
    stats = await bridge.ok("GET", f"/session/{sid}/stats?partial=true")
    told = (await bridge.ok("GET", f"/session/{sid}"))["duration_s"]
    assert (told, whole["duration_s"], stats["session_duration_s"]) == (99.0, 99.0, 99.0)


async def test_video_frames_replace_those_of_the_same_moment(bridge: Bridge, sid: str) -> None:
    body = {"frames": [{"timestamp": 1, "file_path": "a.mp4", "avitime_ms": 40}]}
    for _ in range(2):
        answer = await bridge.ok("POST", f"/session/{sid}/video_frames", body)
        assert answer == {"saved": True, "session_id": sid, "n_appended": 1}
    assert len(await bridge.service.db.video(sid)) == 1


async def test_a_body_over_the_cap_is_413(bridge: Bridge, sid: str) -> None:
    too_many = {"frames": [{"timestamp": 0}] * 100_001}
    body = io.BytesIO(json.dumps(too_many).encode())
    answer = await bridge.request("POST", f"/session/{sid}/frames", data=body)
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
