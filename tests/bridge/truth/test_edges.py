"""Recordings that once led to a false circuit, lap or number, against what was driven."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.truth.asking import DEFAULT_CIRCUIT, bring, look, send
from tests.bridge.truth.circuits import KART, Bend, Numbers, lay_out
from tests.bridge.truth.drives import PLANS, Drive, Plan, degrees, drive
from tests.bridge.truth.exports import write_vbo
from tests.bridge.truth.seen import Seen
from tests.bridge.truth.test_drives import LAP_S

BY_NAME: Final = {plan.name: plan for plan in PLANS}
FROM_LINE: Final = drive(
    BY_NAME["hairpins-irregular"]._replace(clock="even", hz=20.0, begin_m=0.0, seed=31)
)
"""Six laps of 1.9 km and a little more, from the line, at 20 Hz."""
LARKFELL_M: Final = 3613.44
"""Length of the default circuit, as its track file says."""
pytestmark = pytest.mark.asyncio(loop_scope="module")


def without(made: Drive, *names: str, **more: Numbers) -> dict[str, Numbers]:
    """The recorded columns, less some and with others."""
    return {name: v for name, v in made.columns.items() if name not in names} | more


def line_times(made: Drive) -> Numbers:
    """Seconds from line to line."""
    laps = np.arange(made.plan.laps + 1) * made.circuit.length_m
    return np.diff(np.interp(laps, made.way, made.t))


def way_of(made: Drive) -> Numbers:
    """Metres from the line at each row."""
    return np.interp(made.columns["timestamp"], made.t, made.way)


async def test_a_pass_25_m_off_is_a_pass(shared_bridge: Bridge) -> None:
    made = drive(BY_NAME["club-pits-jitter"]._replace(clock="even", hz=10.0, seed=32))
    way = way_of(made)
    third = 2 * made.circuit.length_m
    # For 800 m around the line the receiver is 25 m to the left of the car.
    off = -25.0 * np.clip((400.0 - np.abs(way - third)) / 200.0, 0.0, 1.0)
    beside, on = made.circuit.at(way, off), made.circuit.at(way, 0.0 * way)
    lat, lon = degrees(made.plan.place, beside[0] - on[0], beside[1] - on[1])
    columns = without(
        made,
        lat=made.columns["lat"] + lat - made.plan.place[0],
        lon=made.columns["lon"] + lon - made.plan.place[1],
    )
    await send(shared_bridge, "off", columns)

    seen = Seen(made, await look(shared_bridge, "off"))

    assert len(seen.view.laps) == len(seen.lap_times)
    assert len(seen.view.laps) >= made.plan.laps
    assert np.abs(np.array(seen.view.times) - seen.lap_times).max() <= LAP_S


async def test_a_column_of_zeros_does_not_win_over_a_measured_one(
    shared_bridge: Bridge, folder: Path
) -> None:
    made = FROM_LINE
    side = made.columns["g_lat"]
    write_vbo(folder / "zeros.vbo", made, {"latacc": 0.0 * side, "latacc-calc": side})

    await bring(shared_bridge, "zeros", folder / "zeros.vbo")

    view = await look(shared_bridge, "zeros")
    largest = np.abs(side).max()
    assert view.said["stats"]["max_g_lat"] == pytest.approx(largest, abs=0.02)


async def test_a_track_name_that_is_no_circuit_here_is_kept(shared_bridge: Bridge) -> None:
    about = {"session_id": "named", "driver": "Eva", "track": "Nowhere Ring"}
    await shared_bridge.ok("POST", "/session/start", about)
    await send(shared_bridge, "named", FROM_LINE.columns)

    view = await look(shared_bridge, "named")

    assert view.said["session"]["session"]["track"] == "Nowhere Ring"
    assert len(view.laps) == FROM_LINE.plan.laps
    assert {entry["track"] for entry in view.said["board"]} == {"Nowhere Ring"}
    assert not view.is_default_circuit
    assert abs(len(view.said["corners"]["corners"]) - len(FROM_LINE.corners)) <= 1


@pytest.mark.parametrize(
    ("rpm", "throttle"),
    [("EngineSpeed", "GasPedalPosition"), ("rpm-obd", "throttle_pos-obd"), ("ECU_RPM", "ECU_TPS")],
)
async def test_channels_are_known_by_the_names_that_loggers_give_them(
    shared_bridge: Bridge, folder: Path, rpm: str, throttle: str
) -> None:
    made = FROM_LINE
    file = folder / f"{rpm}.vbo"
    turning = 2000 + 60 * made.columns["speed_ms"]
    write_vbo(file, made, {rpm: turning, throttle: made.columns["throttle_pct"]})

    sid = f"named-{rpm}"
    await bring(shared_bridge, sid, file)

    path = f"/session/{sid}/signals?names=rpm,throttle_pct&rate_hz=20"  # the last minute
    signals = await shared_bridge.ok("GET", path)
    assert signals["missing"] == []
    for name, truth in (("rpm", turning), ("throttle_pct", made.columns["throttle_pct"])):
        values = [row[name] for row in signals["rows"]]
        assert np.mean(values) == pytest.approx(truth[-len(values) :].mean(), rel=0.01), name


async def test_a_drive_elsewhere_that_was_started_without_a_track_is_at_no_known_circuit(
    shared_bridge: Bridge,
) -> None:
    await shared_bridge.ok("POST", "/session/start", {"session_id": "elsewhere", "driver": "Eva"})
    await send(shared_bridge, "elsewhere", FROM_LINE.columns)

    view = await look(shared_bridge, "elsewhere")

    assert not view.is_default_circuit
    assert len(view.laps) == FROM_LINE.plan.laps
    entries = (await shared_bridge.ok("GET", f"/leaderboard?track={DEFAULT_CIRCUIT}"))["entries"]
    assert not [entry for entry in entries if entry["session_id"] == "elsewhere"]


async def test_the_same_without_positions_has_no_laps_and_no_rank(shared_bridge: Bridge) -> None:
    await shared_bridge.ok("POST", "/session/start", {"session_id": "blind", "driver": "Eva"})
    await send(shared_bridge, "blind", without(FROM_LINE, "lat", "lon"))

    view = await look(shared_bridge, "blind")

    assert not view.is_default_circuit
    assert view.laps == []
    assert view.said["board"] == []
    assert view.full["distance_m"] == pytest.approx(FROM_LINE.distance_m, rel=0.005)


async def test_a_kart_track_that_fits_into_a_car_park_has_its_laps(shared_bridge: Bridge) -> None:
    bends = [(180, 9), (-180, 9), (180, 9), (90, 12), (90, 12)]
    folded = lay_out([60, 55, 55, 70, 20], [Bend(*bend) for bend in bends])
    made = drive(Plan("folded", folded, KART, 6, 10.0, begin_m=-30.0, end_m=40.0, seed=53))
    await send(shared_bridge, "folded", made.columns)

    seen = Seen(made, await look(shared_bridge, "folded"))

    assert np.hypot(np.ptp(folded.x), np.ptp(folded.y)) < 150.0
    assert len(seen.view.laps) == len(seen.lap_times) >= made.plan.laps
    assert np.abs(np.array(seen.view.times) - seen.lap_times).max() <= LAP_S
    assert abs(len(seen.view.said["corners"]["corners"]) - len(made.corners)) <= 1


async def test_a_lap_in_which_the_clock_was_put_forward_has_no_time(shared_bridge: Bridge) -> None:
    made = FROM_LINE
    t = made.columns["timestamp"].copy()
    t[len(t) // 2 :] += 3.0
    await send(shared_bridge, "forward", without(made, timestamp=t))

    view = await look(shared_bridge, "forward")

    table = [lap["lap_time_s"] for lap in view.said["lap_time_table"]["laps"]]
    assert len(table) == made.plan.laps - 1
    assert max(table) < max(line_times(made)) + LAP_S


async def test_frames_out_of_order_add_no_way(shared_bridge: Bridge) -> None:
    order = np.arange(len(FROM_LINE.columns["timestamp"]))
    for place in range(20, len(order) - 20, 20):
        order[place : place + 2] = order[place : place + 2][::-1]
    await send(shared_bridge, "shuffled", {k: v[order] for k, v in FROM_LINE.columns.items()})

    view = await look(shared_bridge, "shuffled")

    assert view.full["distance_m"] == pytest.approx(FROM_LINE.distance_m, rel=0.005)


async def test_frozen_positions_far_away_leave_a_good_distance_its_laps(
    shared_bridge: Bridge,
) -> None:
    way = way_of(FROM_LINE) * LARKFELL_M / FROM_LINE.circuit.length_m
    still = np.full(len(way), 1.0)
    columns = without(FROM_LINE, lat=47.0 * still, lon=8.0 * still, distance_m=way)
    await send(shared_bridge, "frozen", columns, track="Larkfell Circuit")

    view = await look(shared_bridge, "frozen")

    assert view.times == pytest.approx(line_times(FROM_LINE), abs=LAP_S)
    assert view.said["session"]["session"]["track"] == "Larkfell Circuit"


@pytest.mark.parametrize("name", ["lap_number", "Lap", "lap_count"])
async def test_a_lap_counter_makes_laps_without_positions(shared_bridge: Bridge, name: str) -> None:
    counter = np.floor(way_of(FROM_LINE) / FROM_LINE.circuit.length_m) + 1.0
    columns = without(FROM_LINE, "lat", "lon", **{name: counter})
    await send(shared_bridge, f"counter-{name}", columns)

    view = await look(shared_bridge, f"counter-{name}")

    # The counter changes with the first row behind the line: up to a row late at each end.
    assert view.times == pytest.approx(line_times(FROM_LINE), abs=1 / FROM_LINE.plan.hz)
    assert not view.is_default_circuit


async def test_a_distance_that_begins_anew_makes_laps_without_positions(
    shared_bridge: Bridge,
) -> None:
    since = way_of(FROM_LINE) % FROM_LINE.circuit.length_m
    await send(shared_bridge, "anew", without(FROM_LINE, "lat", "lon", distance_m=since))

    view = await look(shared_bridge, "anew")

    assert view.times == pytest.approx(line_times(FROM_LINE), abs=LAP_S)
    assert view.said["laps"]["track_length_m"] == pytest.approx(
        FROM_LINE.circuit.length_m, rel=0.01
    )
    assert not view.is_default_circuit
    driven_m = np.ptp(way_of(FROM_LINE))
    assert view.said["session"]["distance_m"] == pytest.approx(driven_m, rel=0.005)


@pytest.mark.parametrize(
    "plan",
    [
        BY_NAME["beside-bursts"]._replace(name="beside-pits", clock="even", pits=True, laps=2),
        BY_NAME["hairpins-irregular"]._replace(name="one-gap", clock="gap", pits=True, laps=1),
        BY_NAME["esses-gap"]._replace(name="esses-gap-3", laps=3, seed=41),
    ],
    ids=lambda plan: plan.name,
)
async def test_neither_a_straight_beside_nor_a_gap_makes_a_false_lap(
    shared_bridge: Bridge, plan: Plan
) -> None:
    made = drive(plan)
    await send(shared_bridge, plan.name, made.columns)

    seen = Seen(made, await look(shared_bridge, plan.name))

    assert len(seen.view.laps) == len(seen.lap_times) >= plan.laps
    assert np.abs(np.array(seen.view.times) - seen.lap_times).max() <= LAP_S


@pytest.mark.parametrize("way_in", ["frames", "vbo"])
async def test_an_impossible_speed_is_no_top_speed(
    shared_bridge: Bridge, folder: Path, way_in: str
) -> None:
    speed = FROM_LINE.columns["speed_ms"].copy()
    speed[1234] = 317_270 / 3.6
    made = replace(FROM_LINE, columns=FROM_LINE.columns | {"speed_ms": speed})
    sid = f"impossible-{way_in}"
    if way_in == "vbo":
        write_vbo(folder / "impossible.vbo", made)
        await bring(shared_bridge, sid, folder / "impossible.vbo")
    else:
        await send(shared_bridge, sid, made.columns)

    view = await look(shared_bridge, sid)

    stats = view.said["stats"]
    assert stats["top_speed_kmh"] == pytest.approx(made.top_speed_ms * 3.6, rel=0.01)
    average = 3.6 * made.distance_m / made.recorded_s
    assert stats["average_speed_kmh"] == pytest.approx(average, rel=0.01)
    assert stats["distance_m"] == pytest.approx(made.distance_m, rel=0.005)
    straights = view.said["straight_line_speed"]["straights"]
    fastest = max(straight["top_speed_kmh"] or 0.0 for straight in straights)
    assert fastest <= made.top_speed_ms * 3.6 * 1.01


@pytest.mark.parametrize("measured", [True, False])
async def test_the_yaw_rate_is_measured_or_told_as_computed(
    shared_bridge: Bridge, measured: bool
) -> None:
    plan = BY_NAME["kart"]._replace(hz=25.0, seed=51, laps=2)
    made = drive(plan)
    turning = np.degrees(made.speed * made.circuit.bend_at(made.way))
    recorded = 1.5 * np.interp(made.columns["timestamp"], made.t, turning)
    more = {"yaw_rate_dps": recorded} if measured else {}
    sid = f"yaw-{measured}"
    await send(shared_bridge, sid, without(made, **more))

    said = (await look(shared_bridge, sid)).said["stats"]

    true = np.abs(recorded).max() if measured else np.abs(turning).max()
    assert said["max_yaw_rate_dps"] == pytest.approx(true, rel=1e-3 if measured else 0.2)
    assert ("yaw_rate" in said["derived"]) is not measured


async def test_without_positions_or_a_sensor_no_yaw_rate_is_known(shared_bridge: Bridge) -> None:
    way = way_of(FROM_LINE)
    columns = without(FROM_LINE, "lat", "lon", distance_m=way % FROM_LINE.circuit.length_m)
    await send(shared_bridge, "no-yaw", columns)

    said = (await look(shared_bridge, "no-yaw")).said["stats"]

    assert said["max_yaw_rate_dps"] is None
    assert "yaw_rate" not in said["derived"]


async def test_corners_of_two_unnamed_circuits_are_kept_apart(shared_bridge: Bridge) -> None:
    for name in ("club-pits-25hz", "hairpins-irregular"):
        made = drive(BY_NAME[name]._replace(clock="even", hz=10.0, laps=2, seed=52))
        sid = f"two-{name[:4]}"
        await send(shared_bridge, sid, made.columns, driver="Pia")
        await shared_bridge.ok("POST", "/coach/debrief", {"session_id": sid, "driver_id": "Pia"})

    profile = await shared_bridge.ok("GET", "/driver/Pia/profile")

    history = profile["corner_history"]
    # A circuit is called by the first session there, which may be one of another test.
    assert len([name for name in history if name.startswith("C1 (")]) == 2
    assert all(len({one["session_id"] for one in scores}) == 1 for scores in history.values())


@pytest.mark.parametrize(("full", "doubted"), [(1.0, True), (100.0, False)])
async def test_a_throttle_that_seems_to_be_a_fraction_is_doubted(
    shared_bridge: Bridge, full: float, doubted: bool
) -> None:
    frames = [{"t": n / 10, "throttle": full * (n % 11) / 10} for n in range(50)]
    body = {"frames": frames}
    done = await shared_bridge.ok("POST", f"/session/pedal-{full}/frames", body)

    assert [doubt.split(":")[0] for doubt in done.get("doubts", [])] == ["throttle_pct"] * doubted
