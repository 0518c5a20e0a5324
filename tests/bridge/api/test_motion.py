"""What a bridge says of a car's motion where a sensor failed, or where there was none."""

import io

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.session.recording import Frames
from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.conftest import ONE_BACKEND
from tests.bridge.session.sessions import change
from tools.drive import drive

pytestmark = ONE_BACKEND


async def send(bridge: Bridge, frames: Frames, name: str = "s") -> Json:
    """Record a session on the oval, and its statistics."""
    await bridge.ok("POST", "/session/start", {"session_id": name, "track": OVAL.name})
    await bridge.ok("POST", f"/session/{name}/frames", {"frames": frame_objects(frames)})
    return await bridge.ok("GET", f"/session/{name}/stats")


@pytest.mark.parametrize("wrong", [88_130.0, 130.0])
async def test_a_speed_that_no_car_had_is_in_no_answer(bridge: Bridge, wrong: float) -> None:
    frames = change(drive(OVAL, 2, hz=10.0).frames, distance_m=np.nan)
    speed = frames.columns["speed_ms"].copy()
    at = len(speed) // 2
    speed[at] = wrong
    true = (await send(bridge, frames, "true"))["stats"]
    body = (await send(bridge, change(frames, speed_ms=speed)))["stats"]

    for name in ("top_speed_kmh", "average_speed_kmh", "max_accel_g", "max_decel_g"):
        assert body[name] == pytest.approx(true[name], rel=0.01), name
    assert body["distance_m"] == pytest.approx(true["distance_m"], rel=0.001)
    assert body["best_lap_s"] == true["best_lap_s"]
    top = true["top_speed_kmh"]
    table = await bridge.ok("GET", "/session/s/lap_time_table")
    assert all(lap["max_speed_kmh"] <= top for lap in table["laps"])
    straights = (await bridge.ok("GET", "/session/s/straight_line_speed"))["straights"]
    assert all(straight["top_speed_kmh"] <= top for straight in straights)
    detail = await bridge.ok("GET", "/session/s")
    assert detail["distance_m"] == pytest.approx(true["distance_m"], rel=0.001)
    assert all(lap["avg_speed_kmh"] <= top for lap in detail["laps"])
    # What was recorded stays as it was.
    export = await bridge.get("/session/s/export.parquet")
    assert pq.read_table(io.BytesIO(export.body))["speed_ms"][at].as_py() == wrong


async def test_accelerations_without_a_sensor_are_told_as_computed(bridge: Bridge) -> None:
    true = drive(OVAL, 2, hz=10.0).frames
    bare = change(true, g_lat=np.nan, g_long=np.nan, combo_g=np.nan, brake_bar=np.nan)
    measured = await send(bridge, true, "true")
    body = await send(bridge, bare)

    names = ["braking", "combo_g", "g_lat", "g_long", "yaw_rate"]
    assert measured["derived"] == ["yaw_rate"]
    assert body["derived"] == names
    for name in ("max_g_lat", "max_combo_g", "max_decel_g"):
        assert body["stats"][name] == pytest.approx(measured["stats"][name], abs=0.15), name
    assert body["stats"]["max_brake_bar"] is None
    for path in ("friction_circle", "corners", "incidents", "brake_acceleration", "map"):
        assert (await bridge.ok("GET", f"/session/s/{path}"))["derived"] == names, path
    assert (await bridge.ok("GET", "/session/s"))["derived"] == names
    compared = await bridge.ok("GET", "/session/s/compare?a=1&b=true:best")
    assert compared["a"]["derived"] == names
    assert compared["b"]["derived"] == ["yaw_rate"]
    kinds = {each["kind"] for each in (await bridge.ok("GET", "/session/s/incidents"))["incidents"]}
    assert not kinds & {"over_g", "hard_deceleration"}
    table = pq.read_table(io.BytesIO((await bridge.get("/session/s/export.parquet")).body))
    assert table["g_lat"].null_count == len(table)
