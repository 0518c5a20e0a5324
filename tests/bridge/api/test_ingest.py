"""Telemetry comes in over HTTP: frames in batches and one by one, signals, video."""

import asyncio
import io
import json
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tools.drive import drive

DATA = Path(__file__).resolve().parents[3] / "data"


def frame(t: float, **values: Json) -> dict[str, Json]:
    return {"timestamp": t, **values}


async def test_frames_are_appended_in_order_and_numbered_from_zero(bridge: Bridge) -> None:
    first = await bridge.ok(
        "POST", "/session/s/frames", {"frames": [frame(0.0), frame(0.1)], "driver": "Mia"}
    )
    assert (first["first_frame_idx"], first["last_frame_idx"], first["n_appended"]) == (0, 1, 2)
    one = await bridge.ok("POST", "/session/s/frame", frame(0.2, speed_ms=10))
    assert one == {"saved": True, "session_id": "s", "frame_idx": 2}
    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert row["driver"] == "Mia"
    assert (await bridge.ok("GET", "/session/s"))["n_frames"] == 3


async def test_concurrent_frames_never_share_an_index(bridge: Bridge) -> None:
    answers = await asyncio.gather(
        *(bridge.ok("POST", "/session/s/frame", frame(n / 10)) for n in range(60))
    )
    assert sorted(answer["frame_idx"] for answer in answers) == list(range(60))


async def test_aliases_and_units_become_the_canonical_columns(bridge: Bridge) -> None:
    await bridge.ok(
        "POST",
        "/session/s/frame",
        {"t": 5, "speed_kmh": 36, "brake_psi": 100, "lng": 7.5, "lat": 50, "g_lat": 3, "g_long": 4},
    )
    frames = await bridge.service.db.read_frames("s")
    found = {name: column[0] for name, column in frames.columns.items()}
    assert found["speed_ms"] == pytest.approx(10)
    assert found["brake_bar"] == pytest.approx(6.89476)
    assert (found["timestamp"], found["lon"], found["combo_g"]) == (5, 7.5, 5)
    assert np.isnan(found["rpm"])


async def test_unknown_numbers_of_a_frame_are_kept_as_signals(bridge: Bridge) -> None:
    await bridge.ok(
        "POST",
        "/session/s/frames",
        {"frames": [frame(0, oil_temp_c=90), frame(1, oil_temp_c=91, boost=1.2, note="text")]},
    )
    names = await bridge.service.db.signal_names("s")
    assert {"oil_temp_c", "boost"} <= set(names)
    samples = await bridge.service.db.read_signals("s", ["oil_temp_c", "boost"])
    assert samples["oil_temp_c"].value.tolist() == [90, 91]
    assert samples["boost"].t.tolist() == [1]


async def test_bad_frames_of_a_batch_are_named_and_the_others_stored(bridge: Bridge) -> None:
    answer = await bridge.ok(
        "POST",
        "/session/s/frames",
        {"frames": [frame(0), {"speed_ms": 1}, 7, frame(1, rpm="high"), frame(2)]},
    )
    assert (answer["n_appended"], answer["n_rejected"]) == (2, 3)
    assert [one["index"] for one in answer["rejected"]] == [1, 2, 3]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"frames": []},
        {"frames": {}},
        {"frames": [{}]},
        {"frames": [{"timestamp": None}]},
        {"frames": [{"timestamp": 0, "rpm": "x"}]},
        {"columns": {"timestamp": [0], "rpm": [1, 2]}},
        {"frames": [{"timestamp": 0}], "columns": {"timestamp": [0]}},
    ],
)
async def test_a_batch_without_a_good_frame_is_refused_whole(bridge: Bridge, body: Json) -> None:
    answer = await bridge.post("/session/s/frames", body)
    assert (answer.status, answer.json["saved"]) == (400, False)
    assert (await bridge.get("/session/s")).status == 404


async def test_columns_are_taken_in_place_of_frames(bridge: Bridge) -> None:
    answer = await bridge.ok(
        "POST",
        "/session/s/frames",
        {"columns": {"timestamp": [0, 1, 2], "speed_ms": [1, None, 3], "boost": [1, 2, 3]}},
    )
    assert answer["n_appended"] == 3
    frames = await bridge.service.db.read_frames("s")
    assert np.array_equal(frames.columns["speed_ms"], [1, np.nan, 3], equal_nan=True)


async def test_missing_distance_is_integrated_over_requests(bridge: Bridge) -> None:
    for at in range(4):
        await bridge.ok("POST", "/session/s/frame", frame(at * 0.5, speed_ms=20))
    frames = await bridge.service.db.read_frames("s")
    assert frames.columns["distance_m"].tolist() == [0, 10, 20, 30]


async def test_a_whole_drive_sent_in_batches_has_its_laps(bridge: Bridge) -> None:
    driven = drive(Library.read(DATA / "tracks").tracks["tarn-oval"], 3)
    objects = frame_objects(driven.frames)
    for at in range(0, len(objects), 500):
        await bridge.ok("POST", "/session/s/frames", {"frames": objects[at : at + 500]})
    stored = await bridge.service.db.read_frames("s")
    for name, column in driven.frames.columns.items():
        assert np.array_equal(stored.columns[name], column, equal_nan=True), name
    laps = (await bridge.ok("GET", "/session/s/laps"))["laps"]
    times = [lap["duration_s"] for lap in laps if lap["kind"] == "lap"]
    assert times == pytest.approx(list(driven.lap_times_s), abs=0.05)


@pytest.mark.parametrize("name", ["start", "a b", "-x", "x" * 129])
async def test_no_session_is_made_under_an_id_that_cannot_be_one(bridge: Bridge, name: str) -> None:
    answer = await bridge.post(f"/session/{name}/frames", {"frames": [frame(0)]})
    assert answer.status in (404, 405)


async def test_signals_are_taken_in_every_form(bridge: Bridge) -> None:
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


async def test_a_later_sample_of_the_same_moment_wins(bridge: Bridge) -> None:
    for value in (1, 2):
        await bridge.ok("POST", "/session/s/signals", {"signals": [["x", 0, value]]})
    samples = await bridge.service.db.read_signals("s", ["x"])
    assert samples["x"].value.tolist() == [2]


@pytest.mark.parametrize("body", [{}, {"signals": []}, {"signals": [["x", 0]]}, {"signals": 7}])
async def test_signals_without_a_good_sample_are_refused(bridge: Bridge, body: Json) -> None:
    answer = await bridge.post("/session/s/signals", body)
    assert (answer.status, answer.json["saved"]) == (400, False)


async def test_video_frames_replace_those_of_the_same_moment(bridge: Bridge) -> None:
    body = {"frames": [{"timestamp": 1, "file_path": "a.mp4", "avitime_ms": 40}]}
    for _ in range(2):
        answer = await bridge.ok("POST", "/session/s/video_frames", body)
        assert answer == {"saved": True, "session_id": "s", "n_appended": 1}
    assert len(await bridge.service.db.video("s")) == 1
    nothing: list[Json] = [{}, {"frames": []}, {"frames": [{"timestamp": 1}]}]
    for wrong in nothing:
        assert (await bridge.post("/session/s/video_frames", wrong)).status == 400


async def test_a_body_over_the_cap_is_413(bridge: Bridge) -> None:
    too_many = {"frames": [{"timestamp": 0}] * 100_001}
    body = io.BytesIO(json.dumps(too_many).encode())
    answer = await bridge.request("POST", "/session/s/frames", data=body)
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
