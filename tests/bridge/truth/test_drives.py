"""Ten drives on circuits that no track file knows, against what was really driven.

Positions have 0.5 m of noise, east and north, independent from fix to fix. The bridge sets the
gate where it likes, so nobody can say beforehand when it was passed: the times here are those at
which the drive itself passed that very place. The place is read from the moments at which the
bridge's laps begin and end: the drive knows where it was then, and the median of those places is
the gate. A wrong or missing pass moves the median by no more than noise, and then disagrees with
the drive's own passes of it.

Forty milliseconds are within reach. At the gate a car with speed v is at most a few metres from
straight on for half a second, so that the n fixes within it tell the crossing to 0.5 m / (v √n):
of the kart at 20 m/s and 10 Hz to 11 ms, of the road car at 40 m/s and 25 Hz to 4 ms. The pass
of a lap's two ends adds up to √2 times as much.
"""

from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from tests.bridge.bridgekit import Bridge
from tests.bridge.truth.asking import bring, look, send
from tests.bridge.truth.circuits import Corner
from tests.bridge.truth.drives import PLANS, Drive, Plan, drive
from tests.bridge.truth.exports import write_racechrono, write_vbo
from tests.bridge.truth.seen import Seen

LAP_S = 0.040
FILES = {"club-pits-25hz": write_vbo, "beside-bursts": write_racechrono, "sweepers": write_vbo}
"""What comes as a file; the rest comes as frames."""
driven = cache(drive)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=PLANS, ids=lambda p: p.name)
async def seen(
    request: pytest.FixtureRequest, shared_bridge: Bridge, folder: Path
) -> AsyncIterator[Seen]:
    """Each drive in turn, as the bridge tells it."""
    plan: Plan = request.param
    made, done = driven(plan), None
    if plan.name in FILES:
        file = folder / f"{plan.name}.{'csv' if plan.clock == 'bursts' else 'vbo'}"
        FILES[plan.name](file, made)
        done = await bring(shared_bridge, plan.name, file, driver=plan.name)
    else:
        await send(shared_bridge, plan.name, made.columns, driver=plan.name)
    yield Seen(made, await look(shared_bridge, plan.name, done))


def test_every_resource_answers(seen: Seen) -> None:
    assert set(seen.view.status.values()) == {200}, seen.view.status


def test_top_speed_is_right(seen: Seen) -> None:
    top = seen.made.top_speed_ms * 3.6

    assert seen.view.said["stats"]["top_speed_kmh"] == pytest.approx(top, rel=0.01)


def test_average_speed_and_time_on_track_are_right(seen: Seen) -> None:
    stats = seen.view.said["stats"]

    average = 3.6 * seen.made.distance_m / seen.made.recorded_s
    assert stats["average_speed_kmh"] == pytest.approx(average, rel=0.01)
    assert stats["time_on_track_s"] == pytest.approx(seen.made.moving_s, rel=0.01)


def test_no_circuit_is_named_that_the_drive_was_not_at(seen: Seen) -> None:
    assert not seen.view.is_default_circuit


def test_all_resources_tell_the_same_laps(seen: Seen) -> None:
    said, times = seen.view.said, seen.view.times

    table = said["lap_time_table"]
    assert [lap["lap_time_s"] for lap in table["laps"]] == pytest.approx(times, abs=1e-3)
    assert [lap["lap_time_s"] for lap in said["session"]["laps"]] == pytest.approx(times, abs=1e-3)
    counts = [said[name]["lap_count"] for name in ("lap_time_table", "session", "sessions")]
    counts += [said["stats"]["n_laps"], said["lap_time_distribution"]["lap_count"]]
    counts += [said["corners"]["lap_count"], len(said["map"]["lap_polylines"])]
    assert set(counts) == {len(times)}
    bests = [said[name]["best_lap_s"] for name in ("lap_time_table", "session", "sessions")]
    bests += [said["stats"]["best_lap_s"], said["lap_time_distribution"]["min_s"]]
    bests += [said["ideal_lap"]["best_actual_lap_s"], said["board"][0]["lap_time_s"]]
    assert bests == pytest.approx([min(times)] * len(bests), abs=1e-3)
    if seen.view.done:
        assert seen.view.done["n_laps"] == len(times)
        assert seen.view.done["best_lap_s"] == pytest.approx(min(times), abs=1e-3)


def test_sectors_add_up_to_their_laps(seen: Seen) -> None:
    said = seen.view.said
    laps, rows = said["lap_time_table"]["laps"], said["sector_times"]["laps"]
    for lap, sums in zip(laps, rows, strict=True):
        times = [sector["time_s"] for sector in lap["sectors"]]
        assert times == [sums["s1"], sums["s2"], sums["s3"]]
        if None not in times:  # a gap leaves its sector without a time
            assert sum(times) == pytest.approx(lap["lap_time_s"], abs=2e-3)
    ideal = said["ideal_lap"]
    assert ideal["ideal_lap_s"] <= ideal["best_actual_lap_s"] + 1e-9


def test_all_resources_tell_the_same_corners(seen: Seen) -> None:
    said = seen.view.said
    names = [corner["name"] for corner in said["corners"]["corners"]]

    assert [corner["name"] for corner in said["map"]["corners"]] == names
    banded = [name for band in said["corner_classification"]["bands"] for name in band["corners"]]
    assert sorted(banded) == sorted(names)
    assert set(said["map"]["per_corner_color"]) == set(names)


def test_every_lap_is_there_and_none_besides(seen: Seen) -> None:
    assert len(seen.view.laps) == len(seen.lap_times)
    assert {lap["method"] for lap in seen.view.laps} == {"gps"}


def test_every_flying_lap_counts(seen: Seen) -> None:
    """From the pits to the pits as a timekeeper at the line counts; else every lap that closes."""
    if seen.plan.pits:
        assert len(seen.view.laps) == seen.plan.laps
    else:
        assert len(seen.view.laps) >= seen.plan.laps


def test_every_lap_time_is_right(seen: Seen) -> None:
    errors = np.array(seen.view.times) - seen.lap_times

    assert np.abs(errors).max() <= LAP_S, (errors * 1000).round()


def test_the_best_lap_is_the_fastest_one(seen: Seen) -> None:
    best = min(seen.lap_times)

    assert seen.view.said["stats"]["best_lap_s"] == pytest.approx(best, abs=LAP_S)
    number = seen.view.said["lap_time_table"]["best_lap_number"]
    assert seen.lap_times[number - 1] == pytest.approx(best, abs=LAP_S)


def test_the_length_of_the_circuit_is_right(seen: Seen) -> None:
    length = seen.view.said["laps"]["track_length_m"]

    assert length == pytest.approx(seen.made.circuit.length_m, rel=0.01)


def test_corners_are_those_of_the_curvature(seen: Seen) -> None:
    corners = seen.view.said["map"]["corners"]
    scale = seen.made.circuit.length_m / seen.view.said["map"]["track_length_m"]
    apexes = [seen.gate_m + corner["apex_m"] * scale for corner in corners]

    assert abs(len(corners) - len(seen.made.corners)) <= 1
    met = [any(is_inside(seen.made, corner, m) for m in apexes) for corner in seen.made.corners]
    assert sum(met) >= len(met) - 1, met


def is_inside(made: Drive, corner: Corner, station_m: float, slack_m: float = 10.0) -> bool:
    since = (station_m - corner.begin_m + slack_m) % made.circuit.length_m
    return since <= corner.end_m - corner.begin_m + 2 * slack_m


def test_no_corner_is_a_spin_and_no_grip_a_fault(seen: Seen) -> None:
    kinds = [incident["kind"] for incident in seen.view.said["incidents"]["incidents"]]

    assert not {"spin", "over_g"} & set(kinds)


def test_distance_is_right(seen: Seen) -> None:
    for told in (seen.view.full, seen.view.said["stats"], seen.view.said["session"]):
        assert told["distance_m"] == pytest.approx(seen.made.distance_m, rel=0.005)
