"""A bridge that drives a synthetic car: from bytes on a bus to laps, grades, streams, files."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.lifespan import choose_lap_seconds
from runtime.bridge.settings import BridgeSettings
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.conftest import Start
from tests.bridge.live.streamkit import listening
from tests.bridge.simulator.drivekit import LARKFELL, vesper
from tests.waiting import until

LAP_S = 21.0
FRAME_S = 0.1
FAST = {"simulate": True, "simulate_speed": 100.0, "simulate_lap_seconds": LAP_S}


async def driven(bridge: Bridge, laps: int) -> str:
    """Drive so many laps; the session that they were recorded in."""

    def enough() -> bool:
        state = bridge.service.simulator.state() if bridge.service.simulator else None
        return state is not None and state.laps > laps

    await until(enough, limit_s=50)
    assert bridge.service.bus is not None
    await asyncio.to_thread(bridge.service.bus.stop)
    await recorded(bridge)
    session_id = bridge.service.bus_session()
    assert session_id is not None
    return session_id


async def recorded(bridge: Bridge) -> None:
    """Everything that came is on disk."""
    await asyncio.sleep(0)  # what the reader has handed over
    assert bridge.service.recorder is not None
    await bridge.service.recorder.wait_until_stored()


async def test_simulated_laps_take_the_time_that_was_driven(start: Start) -> None:
    async with start(**FAST) as bridge:
        session_id = await driven(bridge, 2)
        assert session_id.startswith("sim-")
        found = await bridge.ok("GET", f"/session/{session_id}/laps")
        laps = [lap for lap in found["laps"] if lap["kind"] == "lap"][:2]
        assert [lap["method"] for lap in laps] == ["gps"] * 2
        driver = vesper(lap_seconds=LAP_S).drive.driver
        times = [driver.lap(number).seconds for number in range(2)]
        # At 160 m/s, which such a lap takes, a row is 16 m long.
        assert [lap["duration_s"] for lap in laps] == pytest.approx(times, abs=1.5 * FRAME_S)
        await every_channel_is_there(bridge, session_id)
        card = await bridge.ok("GET", f"/session/{session_id}/scorecard")
        assert [one["corner"] for one in card["corners"]] == [
            f"Turn {number}" for number in range(1, 12)
        ]
        assert {one["grade"] for one in card["corners"]} <= set("ABCDF")
        table = await bridge.get(f"/session/{session_id}/export.parquet")
        frames = pq.read_table(io.BytesIO(table.body))
        assert frames["frame_idx"].to_pylist() == list(range(len(frames)))
        detail = await bridge.ok("GET", f"/session/{session_id}")
        assert detail["notes"], "the coach said nothing in two laps"
        entries = (await bridge.ok("GET", "/leaderboard"))["entries"]
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert detail["laps"]
        # its clock runs ahead of the day's: nothing was recorded later than now
        assert max(one["recorded_at"] for one in (*detail["laps"], *entries)) <= now


async def every_channel_is_there(bridge: Bridge, session_id: str) -> None:
    """Each signal of the bus is a capability, under its own or the car file's name."""
    wiring = bridge.service.wiring
    assert wiring.car is not None
    listed = await bridge.ok("GET", f"/session/{session_id}/capabilities")
    names = {signal["name"] for signal in listed["signals"]}
    rules = wiring.car.file.signals
    for message in wiring.messages.values():
        for signal in message.signals:
            rule = rules.get(signal.name)
            own = (
                {signal.name}
                if rule is None
                else {
                    rule.canonical or rule.rename_to or signal.name,
                    *(made.name for made in rule.derive),
                }
            )
            assert own & names, signal.name


async def test_a_session_that_is_started_takes_the_frames_and_its_own_distance(
    start: Start,
) -> None:
    async with start(**FAST) as bridge:
        await until(lambda: bridge.service.bus_session() is not None)
        begun = await bridge.ok("POST", "/session/start", {"session_id": "mine"})
        await until(lambda: bridge.service.bus_session() == begun["session_id"])
        assert (await bridge.ok("GET", "/health"))["active_session_id"] == "mine"

        def far() -> bool:
            row = bridge.service.db.session("mine")
            return row is not None and row.n_frames > 50

        await until(far)
        assert bridge.service.bus is not None
        await asyncio.to_thread(bridge.service.bus.stop)
        await recorded(bridge)
        frames = await bridge.service.db.read_frames("mine")
        distance = frames.columns["distance_m"]
        assert distance[0] < 1000.0
        assert (distance[1:] >= distance[:-1]).all()


async def test_the_car_keeps_out_of_a_session_that_is_started_where_it_drives_apart(
    start: Start,
) -> None:
    async with start(**FAST, simulate_apart=True) as bridge:
        await until(lambda: bridge.service.bus_session() is not None)
        own = str(bridge.service.bus_session())
        await bridge.ok("POST", "/session/start", {"session_id": "mine"})
        before = bridge.service.db.session(own)
        assert before is not None

        def drives_on() -> bool:
            row = bridge.service.db.session(own)
            return row is not None and row.n_frames > before.n_frames + 50

        await until(drives_on)
        mine = bridge.service.db.session("mine")
        assert mine is not None
        assert mine.n_frames == 0


async def test_a_session_of_the_bus_that_was_ended_is_followed_by_another(start: Start) -> None:
    async with start(**FAST) as bridge:
        await until(lambda: bridge.service.bus_session() is not None)
        first = bridge.service.bus_session()
        assert first is not None
        await until(lambda: bridge.service.db.session(first) is not None)
        await bridge.ok("POST", f"/session/{first}/end")
        await until(lambda: bridge.service.bus_session() != first)
        second = bridge.service.bus_session()
        assert second is not None
        assert second.startswith("sim-")
        await until(lambda: bridge.service.db.session(second) is not None)
        await bridge.ok("POST", f"/session/{second}/end")
        await until(lambda: bridge.service.bus_session() not in (first, second))


def test_the_usual_car_drives_at_its_own_pace_unless_a_time_is_set() -> None:
    usual, given = BridgeSettings(), BridgeSettings(simulate_lap_seconds=60.0)
    no_line = replace(LARKFELL, line=None)
    assert choose_lap_seconds(usual, LARKFELL) == pytest.approx(112.0, abs=1.0)
    assert choose_lap_seconds(usual, no_line) == choose_lap_seconds(usual, None) == 60.0
    assert choose_lap_seconds(given, LARKFELL) == choose_lap_seconds(given, no_line) == 60.0
    drive = vesper(lap_seconds=choose_lap_seconds(usual, LARKFELL)).drive
    seen = drive.signals(np.arange(0.0, drive.duration(2), 0.1))
    assert np.hypot(seen["lateral_accel_g"], seen["inline_accel_g"]).max() < 2.0


async def _frame(following: Callable[[], Json]) -> Json:
    """The next frame of a stream."""
    while (event := await following()) is not None:
        if event.name == "telemetry":
            return event.data
    raise AssertionError("the stream has ended")


async def test_a_bus_is_heard_and_shown_and_stands_aside_for_a_replay(start: Start) -> None:
    async with (
        start(**FAST) as bridge,
        listening(bridge, "/telemetry/stream?session_id=_live") as everything,
    ):
        first = await _frame(everything.next)
        assert first["source"] == "can"
        assert first["session_id"].startswith("sim-")
        assert first["speed"] == first["speed_ms"]
        async with listening(bridge, "/telemetry/stream?session_id=SIM") as active:
            assert (await _frame(active.next))["session_id"] == first["session_id"]
        shown = await bridge.ok("GET", "/signals/registry?include_can_state=true")
        assert shown["can_state"]["loaded"] is True
        assert shown["unknown_can_ids"] == []
        assert "can_state" not in await bridge.ok("GET", "/signals/registry")
        body = {"frames": [{"timestamp": at / 10, "speed": 20.0} for at in range(100)]}
        await bridge.ok("POST", "/session/recorded/frames", body)
        replay = {"source_session_id": "recorded", "speed": 1.0, "loop": True}
        careful = await bridge.request(
            "POST", "/session/replay/start", json={**replay, "interrupt": False}
        )
        assert (careful.status, careful.json["code"]) == (409, "session_in_use")
        assert careful.json["session_id"] == first["session_id"]
        assert (await bridge.ok("GET", "/diagnostics/can"))["state"] == "running"
        await bridge.ok("POST", "/session/replay/start", replay)
        state = await bridge.ok("GET", "/diagnostics/can")
        assert state["state"] == "stopped_for_replay"
        refused = await bridge.refused("POST", "/session/replay/start", replay)
        assert refused == (409, "replay_running")
        assert (await bridge.ok("GET", "/health"))["replay"]["running"] is True
        await bridge.ok("POST", "/session/replay/stop")
        state = await bridge.ok("GET", "/diagnostics/can")
        assert state["state"] in ("starting", "running")
        assert state["dbc_files"] == ["paddock-dash.dbc"]


async def test_without_a_bus_the_diagnostics_say_so(start: Start) -> None:
    async with start() as bridge:
        state = await bridge.ok("GET", "/diagnostics/can")
        assert (state["loaded"], state["state"], state["interface"]) == (False, "off", None)
        health = await bridge.ok("GET", "/health")
        assert health["simulator"] == {
            "running": False,
            "lap_seconds": None,
            "speed_x": None,
            "reached_x": None,
        }


async def test_the_end_of_a_session_is_told_to_its_driver(start: Start) -> None:
    async with (
        start() as bridge,
        listening(bridge, "/notifications?driver=Ada") as inbox,
    ):
        begun = await bridge.ok("POST", "/session/start", {"driver": "Ada"})
        await bridge.ok("POST", f"/session/{begun['session_id']}/end")
        told = await inbox.next()
        assert told is not None
        assert told.data["kind"] == "session-saved"
        assert told.data["session_id"] == begun["session_id"]
        await bridge.ok("POST", f"/session/{begun['session_id']}/end")
        await bridge.service.inbox.post("medal-earned", "Ada", "Gold", "Well done")
        again = await inbox.next()
        assert again is not None
        assert again.data["kind"] == "medal-earned", "an end that is repeated is no news"
