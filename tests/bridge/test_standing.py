"""A car that stops in a lap is a car that stopped, however its telemetry came."""

from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Final

import can
import numpy as np
import pytest

from runtime.bridge.can.frames import CanFrame
from runtime.bridge.session.recording import TIMESTAMP, Numbers
from runtime.bridge.session.units import KMH
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import Start
from tests.bridge.formats.logkit import write
from tests.bridge.simulator.drivekit import LARKFELL, MESSAGES, VESPER, flushed, vesper

LAP_S: Final = 60.0
BRAKES_S: Final = 30.0
"""Of the drive, within its first lap."""
BRAKING_S: Final = 4.0
STOOD_S: Final = 20.0
SECONDS: Final = 170.0
BEGIN: Final = 1_700_000_000.0
IDS: Final = (0x420, 0x422, 0x423, 0x452)
SPEED: Final = "speed_mph"
Way = Callable[[Bridge, str, Path], Coroutine[None, None, None]]


def pace(t: Numbers) -> Numbers:
    """How fast the drive goes on: 1 but for braking to a stand, standing and leaving again."""
    stands = BRAKES_S + BRAKING_S
    goes = stands + STOOD_S
    return np.interp(t, [BRAKES_S, stands, goes, goes + BRAKING_S], [1.0, 0.0, 0.0, 1.0])


def moments(hz: float) -> tuple[Numbers, Numbers]:
    """Times, and how far the drive without a stop has come at each of them."""
    fine = np.arange(0.0, SECONDS, 0.001)
    come = np.concatenate([[0.0], np.cumsum(pace(fine[:-1] + 0.0005)) * 0.001])
    t = np.arange(0.0, SECONDS, 1 / hz)
    return t, np.interp(t, fine, come)


@cache
def told() -> list[CanFrame]:
    """The drive with the stop, as the bus tells it 20 times a second."""
    t, come = moments(20.0)
    values = vesper(lap_seconds=LAP_S).encode_at(come)
    rate = pace(t)
    values[SPEED] = (np.array(values[SPEED]) * rate).tolist()
    values["inline_accel_g"] = np.where(rate == 1, values["inline_accel_g"], 0.0).tolist()
    frames = []
    for row, at in enumerate(t.tolist()):
        for place, key in enumerate(IDS):
            message = MESSAGES[key]
            data = message.encode(
                {one.name: values[one.name][row] for one in message.signals}, strict=False
            )
            frames.append(CanFrame(BEGIN + at + place / 1000, key, data))
    return frames


async def by_bus(bridge: Bridge, session_id: str, folder: Path) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": session_id, "track": LARKFELL.id})
    assert bridge.service.live is not None
    assert bridge.service.recorder is not None
    bridge.service.live.take_flushes(flushed(told()))
    await bridge.service.recorder.wait_until_stored()


async def by_log(bridge: Bridge, session_id: str, folder: Path) -> None:
    log = [
        can.Message(
            timestamp=one.t,
            arbitration_id=one.key,
            is_extended_id=False,
            data=one.data,
            channel=0,
        )
        for one in told()
    ]
    path = write(folder / "drive.log", log)
    body = {"path": str(path), "car": VESPER.id, "session_id": session_id, "track": LARKFELL.id}
    await bridge.ok("POST", "/session/import", body)


async def by_frames(bridge: Bridge, session_id: str, folder: Path) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": session_id, "track": LARKFELL.id})
    t, come = moments(10.0)
    seen = vesper(lap_seconds=LAP_S).drive.signals(come)
    columns = {
        TIMESTAMP: BEGIN + t,
        "lat": seen["gps_lat"],
        "lon": seen["gps_lon"],
        "speed_ms": seen[SPEED] * 0.44704 * pace(t),
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    frames = [dict(zip(columns, row, strict=True)) for row in rows]
    await bridge.ok("POST", f"/session/{session_id}/frames", {"frames": frames})


@pytest.mark.parametrize("way", [by_bus, by_log, by_frames])
async def test_a_stop_in_a_lap_is_time_of_the_lap_and_an_incident(
    start: Start, tmp_path: Path, way: Way
) -> None:
    async with start() as bridge:
        await way(bridge, "stopped", tmp_path)
        found = await bridge.ok("GET", "/session/stopped/laps")
        first, second = (lap for lap in found["laps"] if lap["kind"] == "lap")
        assert (first["valid"], second["valid"]) == (True, True)
        longer = STOOD_S + BRAKING_S
        driver = vesper(lap_seconds=LAP_S).drive.driver
        driven_s = [driver.lap(number).seconds for number in range(2)]
        assert first["duration_s"] == pytest.approx(driven_s[0] + longer, abs=0.1)
        assert second["duration_s"] == pytest.approx(driven_s[1], abs=0.1)
        listed = await bridge.ok("GET", "/session/stopped/incidents?lap=1")
        (stop,) = (one for one in listed["incidents"] if one["kind"] == "stopped")
        assert stop["t_end"] - stop["t_start"] == pytest.approx(STOOD_S, abs=2.0)
        stats = await bridge.ok("GET", "/session/stopped/stats?lap=1")
        mean = LARKFELL.length_m / (driven_s[0] + longer) * KMH
        assert stats["average_speed_kmh"] == pytest.approx(mean, rel=0.01)
