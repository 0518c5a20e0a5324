"""The gate that is set where nobody says where the line is, and the moments at which it is crossed.

Every drive is computed from a formula, so that the true moment of a crossing is known. The plans of
`tests.bridge.truth.drives` are held to the same 40 ms through the routes.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pytest

from runtime.bridge.session.gates import choose_gate, find_crossings
from runtime.bridge.session.geometry import Plane, build_ring
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Gate
from runtime.bridge.session.series import build_series, measure_distance
from tests.bridge.session.sessions import at, change, frames
from tests.bridge.truth.circuits import KART, ROAD_CAR, Bend, Circuit, lay_out
from tests.bridge.truth.drives import PLANS, Drive, Plan, degrees, drive

PLAN: Final = {plan.name: plan for plan in PLANS}
CLUB: Final = PLAN["club-pits-25hz"]._replace(pits=False, hz=10.0, laps=4, place=(0.0, 10.0))
EIGHT: Final = lay_out([350, 350], [Bend(240, 60), Bend(-240, 60)])


def frames_of(made: Drive) -> Frames:
    """What was recorded; the other columns are null."""
    t, rest = made.columns["timestamp"], {n: v for n, v in made.columns.items() if n in WIDE[1:]}
    return frames(t, **rest)


def assert_laps(made: Drive, laps: Laps) -> None:
    """Every lap that closes at the gate, each as long as it really was."""
    starts = [made.station_at(lap.t_start) for lap in laps.complete]
    length = made.circuit.length_m
    around = (np.array(starts) - starts[0] + length / 2) % length - length / 2
    edges = made.lap_edges(starts[0] + float(np.median(around)))
    np.testing.assert_allclose([lap.duration_s for lap in laps.complete], np.diff(edges), atol=0.04)


@pytest.mark.parametrize("hz", [1.0, 5.0, 100.0])
def test_laps_are_right_at_any_rate(hz: float) -> None:
    made = drive(CLUB._replace(hz=hz))

    assert_laps(made, detect(frames_of(made)))


def test_laps_are_right_without_a_recorded_speed() -> None:
    made = drive(CLUB)

    assert_laps(made, detect(change(frames_of(made), speed_ms=np.nan)))


@pytest.mark.parametrize(("begin", "laps", "count"), [(0.1, 4, 4), (0.45, 2, 2), (0.8, 1, 1)])
def test_a_recording_that_begins_at_speed_keeps_its_first_lap(
    begin: float, laps: int, count: int
) -> None:
    begin_m = begin * CLUB.circuit.length_m
    made = drive(CLUB._replace(laps=laps, begin_m=begin_m, end_m=begin_m + 60.0))

    result = detect(frames_of(made))

    assert_laps(made, result)
    assert len(result.complete) == count


def test_a_pass_wide_of_the_others_still_ends_its_lap() -> None:
    """Whatever the gate, one lap goes through it 24 m to the side of where the recording began."""
    made = drive(CLUB._replace(laps=6, begin_m=40.0))
    c, length = made.columns, made.circuit.length_m
    way = np.interp(c["timestamp"], made.t, made.way)
    aside = np.interp(way, [0.98 * length, length], [-12.0, 12.0])
    there, here = made.circuit.at(way, aside), made.circuit.at(way, 0.0 * way)
    lat, lon = degrees(CLUB.place, there[0] - here[0], there[1] - here[1])
    c["lat"], c["lon"] = c["lat"] + lat - CLUB.place[0], c["lon"] + lon - CLUB.place[1]

    laps = detect(frames_of(made))

    assert_laps(made, laps)
    assert len(laps.complete) >= 6


@pytest.mark.parametrize("lane_m", [15.0, 20.0])
def test_a_leg_beside_the_gate_in_the_same_direction_ends_no_lap(lane_m: float) -> None:
    """A kart track that comes by twice: two straights in one direction beside each other."""
    twice = [(0, 0), (200, 0), (240, -30), (200, -60), (0, -60), (-30, -20), (0, lane_m),
             (200, lane_m), (260, 60), (100, 100), (-60, 60), (-40, 10)]  # fmt: skip
    made = drive(Plan("twice", circuit_through(twice), KART, 6, 10.0))

    assert_laps(made, detect(frames_of(made)))


def circuit_through(points: Sequence[tuple[float, float]]) -> Circuit:
    """A smooth closed path through points in metres."""
    x, y = np.array(points, dtype=float).T
    steps = np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0]))
    ring = build_ring(x, y, np.append(0.0, np.cumsum(steps[:-1])), float(steps.sum()), step_m=1.0)
    return Circuit(ring.x, ring.y, np.arctan2(*ring.chords), np.radians(ring.curvature), ring.step)


@pytest.mark.parametrize("seed", [13, 73, 109])
def test_no_lap_is_cut_where_straights_lie_beside_each_other(seed: int) -> None:
    """Three of them 20 m apart, two in one direction, and a pit exit beside the third."""
    plan = PLAN["beside-bursts"]._replace(clock="even", pits=True, laps=3, seed=seed)

    laps = detect(frames_of(drive(plan)))

    assert laps.length_m == pytest.approx(plan.circuit.length_m, rel=0.01)
    assert len(laps.complete) == 3


def test_an_eight_of_two_equal_halves_is_one_lap() -> None:
    made = drive(Plan("eight", EIGHT, ROAD_CAR, 6, 10.0, begin_m=-20.0))

    laps = detect(frames_of(made))

    assert laps.length_m == pytest.approx(EIGHT.length_m, rel=0.02)
    assert_laps(made, laps)


def test_a_drive_that_closes_no_lap_has_no_gate() -> None:
    made = drive(CLUB._replace(laps=1, begin_m=0.0, end_m=-0.1 * CLUB.circuit.length_m))
    session = build_series(frames_of(made))

    assert choose_gate(session, measure_distance(session)) is None


def test_noise_on_the_opposite_leg_is_no_crossing() -> None:
    """At 100 Hz a fix is often behind the one before it, on the way back too."""
    chance = np.random.default_rng(0)
    t = np.arange(0.0, 60.0, 0.01)
    place = np.abs((t % 40.0) - 20.0) * 10.0 - 100.0  # from 100 m past the gate to 100 m before it
    x, y = chance.normal(place, 0.5), np.where(t % 40 < 20, 12.0, 0.0)
    session = build_series(frames(t, speed_ms=10.0, **at(x, y)))

    crossings = find_crossings(session, Gate(0.0, 10.0, 90.0))

    assert crossings.tolist() == pytest.approx([30.0] * len(crossings), abs=0.05)
    assert len(crossings) > 0


@pytest.mark.parametrize(
    ("rounds", "road_m"),
    [(2.3, 1500.0), (1.2, 1800.0)],
    ids=["twice around a roundabout", "once around a block"],
)
def test_a_loop_of_a_road_drive_is_no_lap(rounds: float, road_m: float) -> None:
    """The way there is straight, and so is the way on."""
    radius = 60.0 if rounds > 2 else 180.0
    along = np.arange(0.0, 2 * math.pi * rounds * radius, 1.5)
    way = np.arange(-road_m, 0.0, 1.5)
    x = np.concatenate([way, radius * np.sin(along / radius)])
    y = np.concatenate([np.zeros(len(way)), radius * (1 - np.cos(along / radius))])
    course = along[-1] / radius
    on = np.arange(1.5, road_m, 1.5)
    x = np.concatenate([x, x[-1] + on * math.cos(course)])
    y = np.concatenate([y, y[-1] + on * math.sin(course)])
    session = frames([0.1 * i for i in range(len(x))], speed_ms=15.0, **at(x, y))

    assert not detect(session).complete


def test_three_laps_after_a_long_way_to_the_circuit_count() -> None:
    columns = frames_of(drive(CLUB._replace(laps=3, begin_m=0.0))).columns
    there = np.arange(-20_000.0, 0.0, 4.0)
    x, y = Plane(0.0, 10.0).xy(columns["lat"], columns["lon"])
    here = at(np.append(there + x[0], x), np.append(np.full(len(there), y[0]), y))
    t = columns[TIMESTAMP]
    clock = np.append(t[0] + np.arange(-len(there), 0) * 0.1, t)
    speed = np.append(np.full(len(there), 40.0), columns["speed_ms"])

    assert len(detect(frames(clock, speed_ms=speed, **here)).complete) == 3
