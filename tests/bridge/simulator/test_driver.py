"""The driver of the synthetic car: laps that differ, faults that cost time and fade."""

import itertools

import numpy as np
import pytest

from runtime.bridge.analysis.grading import find_zones
from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.session.recording import WIDE, LiveFrame
from runtime.bridge.simulator.course import BAR_PER_PSI, MPH, choose_course, find_natural_seconds
from runtime.bridge.simulator.driver import HABITS, SLIPS, Driver, run_wide, slow_down
from runtime.bridge.simulator.sensors import SimulatedDrive
from tests.bridge.simulator.drivekit import LARKFELL

CLEAN_S = find_natural_seconds(LARKFELL)
COURSE = choose_course(LARKFELL, CLEAN_S)


@pytest.fixture(scope="module", params=range(4))
def driver(request: pytest.FixtureRequest) -> Driver:
    return Driver(COURSE, request.param)


def times(driver: Driver, count: int = 20) -> list[float]:
    return [driver.lap(number).seconds for number in range(count)]


def test_laps_differ_by_tenths_to_seconds_and_become_quicker(driver: Driver) -> None:
    laps = times(driver)
    assert all(0.0 < lap - CLEAN_S < 4.0 for lap in laps)
    assert len({round(lap, 2) for lap in laps}) > 15
    assert np.mean(laps[:3]) - np.mean(laps[-3:]) > 0.7


def test_three_habits_at_three_bends_fade(driver: Driver) -> None:
    assert {one.kind for one in driver.habits} == set(HABITS)
    assert len({one.bend for one in driver.habits}) == len(HABITS)
    for habit in driver.habits:
        sizes = [
            fault.size
            for number in range(20)
            for fault in driver.lap(number).faults
            if (fault.kind, fault.bend) == habit[:2]
        ]
        assert len(sizes) == 20
        assert sizes[0] > 0.8
        assert sizes[5] < 0.5 < sizes[2]
        assert sizes[-1] < 0.2


def test_now_and_then_another_bend_goes_wrong_and_the_car_runs_wide_there() -> None:
    driver = Driver(COURSE)
    slips = [
        fault for number in range(60) for fault in driver.lap(number).faults if fault.kind in SLIPS
    ]
    assert {one.kind for one in slips} == set(SLIPS)
    assert 15 < len(slips) < 45
    assert not {one.bend for one in slips} & {one.bend for one in driver.habits}
    s = np.arange(0.0, LARKFELL.length_m)
    for slip in slips:
        aside = run_wide(slip, s)
        assert 0.5 < np.abs(aside).max() <= 3.0
        assert np.sign(aside[np.abs(aside).argmax()]) == slip.bend.outside


def test_each_fault_costs_time_and_none_at_start_finish() -> None:
    driver = Driver(COURSE)
    s, speed = COURSE.lap.s, COURSE.lap.speed
    for habit, kind in itertools.product(driver.habits, (*HABITS, *SLIPS)):
        share = slow_down(habit._replace(kind=kind), s)
        lost = np.trapezoid((1.0 / share - 1.0) / speed, s)
        assert 0.1 < lost < 2.5, kind
        assert (share[0], share[-1]) == (1.0, 1.0)


def frames_of(drive: SimulatedDrive, laps: int) -> list[LiveFrame]:
    """What the bus would bring ten times a second."""
    t = np.arange(0.0, drive.duration(laps), 0.1)
    seen = drive.signals(t)
    g = [seen["lateral_accel_g"], seen["inline_accel_g"]]
    columns = {
        **dict.fromkeys(WIDE, np.full(len(t), np.nan)),
        "timestamp": t,
        "speed_ms": seen["speed_mph"] * MPH,
        "g_lat": g[0],
        "g_long": g[1],
        "combo_g": np.hypot(*g),
        "brake_bar": seen["brake_press_psi"] * BAR_PER_PSI,
        "throttle_pct": seen["throttle_pos_pct"],
        "steering_deg": seen["steer_angle_deg"],
        "lat": seen["gps_lat"],
        "lon": seen["gps_lon"],
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [LiveFrame("s", "can", dict(zip(columns, row, strict=True))) for row in rows]


def test_the_coach_speaks_of_the_habits_before_their_corners() -> None:
    """After the first lap, in which it reads the circuit out; in danger zones of no speed."""
    drive = SimulatedDrive(COURSE)
    engine = CueEngine(lambda _: LARKFELL)
    told = set()
    for frame in frames_of(drive, laps=4):
        for cue in engine.feed(frame):
            if drive.laps_at(frame.t) > 0 and cue.corner is not None:
                told.add(cue.corner)
    corners = LARKFELL.in_lap_order()
    wrong = {
        min(corners, key=lambda one: abs(one.apex.distance_m - habit.bend.apex_m)).name
        for habit in drive.driver.habits
    }
    safe = {one.name for one in corners if not find_zones(one, LARKFELL)}
    assert wrong & safe
    assert wrong & safe <= told
