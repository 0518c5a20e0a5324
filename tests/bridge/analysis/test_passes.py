"""Passes of corners whose every number is known beforehand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, list_passes
from runtime.bridge.session.recording import Numbers
from tests.bridge.analysis.cornerkit import (
    LENGTH,
    TWO,
    Curve,
    between,
    corner,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import keep


def one(drive: Drive, name: str = "Turn 1") -> Pass:
    """The only pass of a corner."""
    (result,) = list_passes(drive)[name]
    return result


@pytest.mark.parametrize("hz", [1.0, 5.0, 10.0, 100.0, 200.0])
def test_an_even_drive_takes_as_long_as_the_window_is_long(hz: float) -> None:
    drive = drive_on(ring_frames(3, speed=20.0, hz=hz), ring_track())

    result = list_passes(drive)
    assert [p.lap for p in result["Turn 1"]] == [1, 2, 3]
    for p in (*result["Turn 1"], *result["Turn 2"]):
        assert p.corner_time_s == pytest.approx(100 / 20, abs=0.01)
        assert p.entry_speed_kmh == pytest.approx(72.0)
        assert p.exit_speed_kmh == pytest.approx(72.0)
        assert p.min_speed_kmh == pytest.approx(72.0)
    assert result["Turn 1"][0].t_entry == pytest.approx((400 + 200) / 20, abs=0.01)


def test_speeds_are_those_of_the_places_not_of_the_frames() -> None:
    def pace(way: Numbers) -> Numbers:
        return 30.0 - 10.0 * np.interp(way % LENGTH, [200, 250, 300], [0, 1, 0])

    p = list_passes(drive_on(pace_frames(pace, 1, hz=20.0), ring_track()))["Turn 1"][0]

    assert p.entry_speed_kmh == pytest.approx(108.0, abs=0.3)
    assert p.apex_speed_kmh == pytest.approx(72.0, abs=1.0)
    assert p.min_speed_kmh == pytest.approx(72.0, abs=0.5)
    assert p.exit_speed_kmh == pytest.approx(108.0, abs=0.3)
    # time of two even ramps over the way: 50/10 ln(30/20) each
    assert p.corner_time_s == pytest.approx(2 * 5 * np.log(1.5), abs=0.01)


@pytest.mark.parametrize(
    ("brake", "peak", "point", "release"),
    [
        (lambda way: 40.0 * between(way, 120, 230), 40.0, 80.0, 30.0),
        (lambda way: 8.0 * between(way, 220, 240), 8.0, -20.0, 40.0),  # inside the window
        (0.0, 0.0, None, None),
        (4.9, 4.9, None, None),  # hardly touched
        (9.0, 9.0, 540.0, None),  # held since the last apex, and still at the exit
        (lambda way: 30.0 * between(way, 940, 230), 30.0, 260.0, 30.0),  # from far away
        # the dab at the top of the straight is not the braking for the corner
        (lambda way: 30.0 * between(way, 20, 40) + 40.0 * between(way, 150, 230), 40.0, 50.0, 30.0),
        # released before the entry, and pressed once more behind the apex
        (lambda way: 30.0 * between(way, 120, 180) + 8 * between(way, 270, 280), 30.0, 80.0, 80.0),
    ],
)
def test_braking_is_measured_from_the_entry(
    brake: Curve | float, peak: float, point: float | None, release: float | None
) -> None:
    p = one(drive_on(ring_frames(1, hz=100.0, brake_bar=brake, throttle_pct=0.0), ring_track()))

    assert p.peak_brake_bar == peak
    assert p.brake_point_m == (None if point is None else pytest.approx(point, abs=0.5))
    assert p.brake_release_m == (None if release is None else pytest.approx(release, abs=0.5))
    assert p.nothing_time_s == 0.0
    assert p.trail_brake_bar_at_apex == (brake if isinstance(brake, float) else 0.0)


def test_braking_for_the_last_corner_is_not_that_for_this_one() -> None:
    near = (corner("Turn 1", 1, 200, 250, 300), corner("Turn 2", 2, 350, 400, 450))
    session = ring_frames(
        1, hz=100.0, brake_bar=lambda way: 50 * between(way, 150, 220) + 20 * between(way, 330, 360)
    )

    p = one(drive_on(session, ring_track(near)), "Turn 2")
    assert p.peak_brake_bar == 20.0
    assert p.brake_point_m == pytest.approx(20.0, abs=0.5)


@pytest.mark.parametrize(
    ("released_m", "opened_m", "seconds"), [(230, 280, 50 / 25), (260, 240, 0.0)]
)
def test_time_on_no_pedal_and_coasting(released_m: float, opened_m: float, seconds: float) -> None:
    session = ring_frames(
        1,
        hz=100.0,
        brake_bar=lambda way: 30.0 * between(way, 150, released_m),
        throttle_pct=lambda way: 80.0 * between(way, opened_m, 150),
    )

    p = one(drive_on(session, ring_track()))
    assert p.nothing_time_s == pytest.approx(seconds, abs=0.011)
    assert p.coast_seconds == pytest.approx(seconds, abs=0.011)
    assert p.throttle_at_exit_pct == 80.0


def test_a_lift_before_the_braking_counts_as_coasting_of_its_corner() -> None:
    session = ring_frames(
        1,
        hz=100.0,
        brake_bar=lambda way: 30.0 * between(way, 150, 200),
        throttle_pct=lambda way: 80.0 * (between(way, 0, 20) + between(way, 60, 110) + (way > 200)),
    )

    p = one(drive_on(session, ring_track()))
    assert p.coast_seconds == pytest.approx((150 - 110) / 25, abs=0.011)


@pytest.mark.parametrize(("amplitude", "corrections"), [(10.0, 4), (3.0, 4), (2.9, 0), (0.0, 0)])
def test_steering_corrections_need_three_degrees_on_both_sides(
    amplitude: float, corrections: int
) -> None:
    def steering(way: Numbers) -> Numbers:  # five half waves of 20 m in the window
        return amplitude * np.sign(np.sin(np.pi * (way - 200) / 20))

    p = one(drive_on(ring_frames(1, hz=100.0, steering_deg=steering), ring_track()))
    assert p.steering_corrections == corrections


def test_largest_accelerations_are_without_sign() -> None:
    session = ring_frames(1, g_lat=lambda way: -1.5 * between(way, 240, 250), g_long=0.0)

    p = one(drive_on(session, ring_track()))
    assert (p.max_g_lat, p.max_combo_g) == (1.5, 1.5)


def test_a_corner_over_start_finish_belongs_to_the_lap_of_its_apex() -> None:
    over = (corner("Turn 1", 1, 960, 20, 60), corner("Turn 2", 2, 930, 990, 30))
    result = list_passes(drive_on(ring_frames(3, hz=50.0), ring_track(over)))

    assert [p.lap for p in result["Turn 1"]] == [1, 2, 3]
    assert [p.lap for p in result["Turn 2"]] == [1, 2, 3]
    for passes in result.values():
        for p in passes:
            assert p.corner_time_s == pytest.approx(100 / 25, abs=0.01)


def test_braking_before_start_finish_counts_for_the_first_corner() -> None:
    first = (corner("Turn 1", 1, 50, 80, 120),)
    session = ring_frames(2, hz=100.0, brake_bar=lambda way: 40.0 * between(way, 950, 60))

    result = list_passes(drive_on(session, ring_track(first)))["Turn 1"]
    assert [p.lap for p in result] == [1, 2]
    for p in result:
        assert p.brake_point_m == pytest.approx(100.0, abs=0.5)


@pytest.mark.parametrize("name", ["Turn 1", "Turn 2"])
def test_a_corner_in_which_recording_paused_has_no_pass(name: str) -> None:
    session = ring_frames(2, hz=10.0)
    way = np.arange(len(session)) * 2.5 - 400
    middle = {"Turn 1": 1250, "Turn 2": 1650}[name]
    drive = drive_on(keep(session, np.abs(way - middle) > 30), ring_track())

    laps = {corner: [p.lap for p in passes] for corner, passes in list_passes(drive).items()}
    assert laps == {"Turn 1": [1, 2], "Turn 2": [1, 2]} | {name: [1]}


def test_an_approach_begins_behind_a_pause() -> None:
    session = ring_frames(
        1, hz=50.0, brake_bar=lambda way: 60 * between(way, 20, 40) + 20 * between(way, 150, 210)
    )
    way = np.arange(len(session)) * 0.5 - 400
    p = one(drive_on(keep(session, np.abs(way - 90) > 20), ring_track()))

    assert p.peak_brake_bar == 20.0
    assert p.brake_point_m == pytest.approx(50.0, abs=0.6)


def test_a_recording_too_slow_for_the_corner_has_no_pass() -> None:
    short = (corner("Turn 1", 1, 200, 210, 220),)

    assert list_passes(drive_on(ring_frames(1, hz=1.0), ring_track(short))) == {"Turn 1": ()}


"""What is computed of speed and positions instead."""


def test_without_positions_the_distance_tells_the_place() -> None:
    session = without(ring_frames(2, distance_m=lambda way: way + 400), "lat", "lon")
    result = list_passes(drive_on(session, ring_track()))

    assert [p.lap for p in result["Turn 1"]] == [1, 2]
    assert result["Turn 1"][0].corner_time_s == pytest.approx(4.0, abs=0.01)


def test_a_part_of_a_lap_shows_the_corners_it_holds() -> None:
    session = ring_frames(0, begin_m=-450.0, speed=25.0)  # from 550 m over the line to 100 m
    drive = drive_on(session, ring_track(), partial=True)

    result = list_passes(drive)
    assert [p.lap for p in result["Turn 2"]] == [1]
    assert result["Turn 1"] == ()


@given(
    hz=st.sampled_from([2.0, 10.0, 33.0]),
    speed=st.floats(15.0, 45.0),
    begin=st.floats(-500.0, -50.0),
    seed=st.integers(0, 2**16),
)
def test_corner_times_and_stretches_between_add_up_to_the_lap(
    hz: float, speed: float, begin: float, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    phase = chance.uniform(0, 2 * np.pi)

    def pace(way: Numbers) -> Numbers:
        return speed * (1 + 0.3 * np.sin(2 * np.pi * way / LENGTH + phase))

    drive = drive_on(pace_frames(pace, 2, hz=hz, begin_m=begin), ring_track())
    result = list_passes(drive)
    for lap in drive.counted:
        inside = [p for passes in result.values() for p in passes if p.lap == lap.number]
        bounds = [lap.t_start, *(t for p in inside for t in (p.t_entry, p.t_exit)), lap.t_end]
        assert bounds == sorted(bounds)
        assert len(inside) in (len(TWO), len(TWO) - 1)  # at 2 Hz a fast corner has too few frames
