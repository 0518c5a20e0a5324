"""Drives that once gave laps that nobody drove, and such that look like them and are laps."""

from typing import Final

import numpy as np
import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.truth.asking import View, look, send
from tests.bridge.truth.circuits import Numbers
from tests.bridge.truth.drives import EPOCH_S, degrees
from tests.bridge.truth.test_edges import FROM_LINE, LARKFELL_M, line_times, way_of, without

HZ: Final = 10.0
PLACE: Final = (47.3, 8.4)
pytestmark = pytest.mark.asyncio(loop_scope="module")


def on_road(length_m: float, seed: int = 3) -> dict[str, Numbers]:
    """Time, distance and speed of a drive on country roads that never comes by again."""
    rng = np.random.default_rng(seed)
    knots = np.cumsum(rng.exponential(400.0, int(length_m / 300.0) + 50))
    way = np.arange(0.0, length_m, 1.0)
    speed = np.interp(way, knots, rng.uniform(6.0, 32.0, len(knots)))
    t = np.concatenate([[0.0], np.cumsum(1.0 / speed[1:])])
    clock = np.arange(0.0, t[-1], 1.0 / HZ)
    return {
        "timestamp": clock + EPOCH_S,
        "distance_m": np.interp(clock, t, way),
        "speed_ms": np.interp(clock, t, speed),
    }


def on_map(legs: list[tuple[Numbers, Numbers, float]], seed: int = 5) -> dict[str, Numbers]:
    """A drive along legs, each points east and north and m/s; a leg of 0 m/s stands for 8 s."""
    rng = np.random.default_rng(seed)
    xs, ys, ts, now = [], [], [], 0.0
    for x, y, speed in legs:
        steps = np.hypot(np.diff(x), np.diff(y))
        took = np.concatenate([[0.0], np.cumsum(steps / speed)]) if speed else np.array([0.0, 8.0])
        xs.append(x if speed else np.repeat(x[-1:], 2))
        ys.append(y if speed else np.repeat(y[-1:], 2))
        ts.append(now + took)
        now += float(took[-1]) + 1e-3
    t, x, y = (np.concatenate(each) for each in (ts, xs, ys))
    clock = np.arange(0.0, now, 1.0 / HZ)
    x, y = np.interp(clock, t, x), np.interp(clock, t, y)
    rolled = np.convolve(np.hypot(np.gradient(x), np.gradient(y)) * HZ, np.ones(9) / 9, "same")
    noise = rng.normal(0.0, 0.5, (2, len(clock)))
    lat, lon = degrees(PLACE, x + noise[0], y + noise[1])
    return {"timestamp": clock + EPOCH_S, "lat": lat, "lon": lon, "speed_ms": rolled}


def line(x0: float, y0: float, x1: float, y1: float) -> tuple[Numbers, Numbers]:
    """Points of a straight way."""
    return np.linspace(x0, x1, 200), np.linspace(y0, y1, 200)


def arc(x: float, y: float, radius: float, begin: float, end: float) -> tuple[Numbers, Numbers]:
    """Points of a round way about a middle, from one angle to the other, in degrees."""
    angle = np.radians(np.linspace(begin, end, 200))
    return x + radius * np.cos(angle), y + radius * np.sin(angle)


def check_no_laps(view: View) -> None:
    """Nothing is a lap of anything."""
    assert not view.laps
    assert not view.said["board"]
    assert view.said["session"]["laps"] == []


async def test_a_named_track_gives_no_laps_to_a_drive_that_repeats_at_another_length(
    shared_bridge: Bridge,
) -> None:
    columns = without(FROM_LINE, "lat", "lon", "g_lat", "g_long")
    await send(shared_bridge, "elsewhere", columns, track="Larkfell")

    check_no_laps(await look(shared_bridge, "elsewhere"))


@pytest.mark.parametrize("track", ["Larkfell", "Tarn Oval"])
@pytest.mark.parametrize("seed", [3, 4])
async def test_a_named_track_gives_no_laps_to_a_drive_that_never_repeats(
    shared_bridge: Bridge, track: str, seed: int
) -> None:
    road = on_road(17_000.0, seed)
    del road["distance_m"]
    sid = f"road-{track.split()[0]}-{seed}"
    await send(shared_bridge, sid, road, track=track)

    check_no_laps(await look(shared_bridge, sid))


@pytest.mark.parametrize("wheel", [1.0, 1.02, 0.97], ids=["true", "long", "short"])
async def test_a_drive_that_repeats_at_the_length_of_its_track_has_its_laps(
    shared_bridge: Bridge, wheel: float
) -> None:
    scale = wheel * LARKFELL_M / FROM_LINE.circuit.length_m
    speed = scale * FROM_LINE.columns["speed_ms"]
    columns = without(FROM_LINE, "lat", "lon", "g_lat", "g_long", speed_ms=speed)
    sid = f"repeats-{wheel}"
    await send(shared_bridge, sid, columns, track="Larkfell")

    view = await look(shared_bridge, sid)

    # Where the line is nobody knows: the laps begin where the recording does.
    assert view.times == pytest.approx(line_times(FROM_LINE), rel=0.015)
    assert view.said["session"]["session"]["track"] == "Larkfell"


@pytest.mark.parametrize("modulus", [1000.0, 4096.0, 6553.6, 9999.9])
@pytest.mark.parametrize("track", ["", "Tarn Oval", "Larkfell"])
async def test_a_counter_that_comes_to_its_end_makes_no_laps(
    shared_bridge: Bridge, modulus: float, track: str
) -> None:
    road = on_road(32_000.0)
    driven_m = float(np.ptp(road["distance_m"]))
    road["distance_m"] = (road["distance_m"] + 300.0) % modulus
    sid = f"wraps-{modulus:.0f}-{track[:4]}"
    await send(shared_bridge, sid, road, **({"track": track} if track else {}))

    view = await look(shared_bridge, sid)

    check_no_laps(view)
    assert not view.is_default_circuit or track == "Larkfell"
    assert "oval" not in str(view.said["session"]["session"]["track"]).lower() or track
    assert view.said["session"]["distance_m"] == pytest.approx(driven_m, rel=0.005)


async def test_a_counter_that_comes_to_its_end_leaves_a_named_track_its_laps(
    shared_bridge: Bridge,
) -> None:
    way = way_of(FROM_LINE) * LARKFELL_M / FROM_LINE.circuit.length_m
    columns = without(FROM_LINE, "lat", "lon", distance_m=way % 1000.0)
    await send(shared_bridge, "wraps-on-laps", columns, track="Larkfell")

    view = await look(shared_bridge, "wraps-on-laps")

    assert view.times == pytest.approx(line_times(FROM_LINE), abs=0.5)


async def test_runs_down_a_strip_with_the_way_back_beside_it_are_no_laps(
    shared_bridge: Bridge,
) -> None:
    waits = (*line(0, 0, 0, 0.1), 0.0)
    run = [(*line(0, 0, 0, 800), 40.0), (*arc(20, 800, 20, 180, 0), 8.0)]
    back = [(*line(40, 800, 40, 0), 14.0), (*arc(20, 0, 20, 0, -180), 6.0)]
    legs = [waits, *([*run, *back, waits] * 4)]
    await send(shared_bridge, "drag", on_map(legs))

    check_no_laps(await look(shared_bridge, "drag"))


@pytest.mark.parametrize("stops", [True, False])
async def test_up_and_down_one_road_is_no_lap(shared_bridge: Bridge, stops: bool) -> None:
    height = np.linspace(0.0, 3000.0, 400)
    bends = 120.0 * np.sin(height / 150.0)
    legs = []
    for _ in range(3):
        legs += [(bends, height, 25.0), (*arc(bends[-1] + 4, 3000, 4, 180, 0), 4.0)]
        legs += [(bends[::-1] + 8.0, height[::-1], 15.0), (*arc(4, 0, 4, 0, -180), 4.0)]
        legs += [(bends[:1], height[:1], 0.0)] * stops
    await send(shared_bridge, f"hill-{stops}", on_map(legs))

    check_no_laps(await look(shared_bridge, f"hill-{stops}"))


async def test_up_and_down_a_strip_without_a_stop_is_no_lap(shared_bridge: Bridge) -> None:
    run = [(*line(0, 0, 0, 400), 35.0), (*arc(6, 400, 6, 180, 0), 5.0)]
    back = [(*line(12, 400, 12, 0), 12.0), (*arc(6, 0, 6, 0, -180), 4.0)]
    await send(shared_bridge, "strip", on_map([*run, *back] * 5))

    check_no_laps(await look(shared_bridge, "strip"))


async def test_a_stage_driven_twice_with_the_way_back_to_its_start_is_no_lap(
    shared_bridge: Bridge,
) -> None:
    along = np.linspace(0.0, 4000.0, 400)
    stage = 250.0 * np.sin(along / 220.0)
    back = line(4000.0, -900.0, 0.0, -900.0)
    end = line(4000.0, stage[-1], 4000.0, -900.0)
    begin = line(0.0, -900.0, 0.0, 0.0)
    stand = (along[:1], stage[:1], 0.0)
    finish = (along[-1:], stage[-1:], 0.0)
    legs = [stand, (along, stage, 28.0), finish, (*end, 12.0), (*back, 14.0), (*begin, 12.0)]
    await send(shared_bridge, "stage", on_map([*legs, *legs[:3]]))

    check_no_laps(await look(shared_bridge, "stage"))


async def test_circles_on_a_pad_are_no_laps(shared_bridge: Bridge) -> None:
    angle = np.linspace(0.0, 2 * np.pi * 14, 3000)
    x, y = 20.0 * np.cos(angle), 20.0 * np.sin(angle)
    legs = [(*line(20, -260, 20, 0), 10.0), (x, y, 12.0), (*line(20, 0, 20, 260), 12.0)]
    await send(shared_bridge, "pad", on_map(legs))

    check_no_laps(await look(shared_bridge, "pad"))
