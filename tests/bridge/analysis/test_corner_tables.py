"""The tables of corners: end of braking, throttle, speed classes, brake zones, reports."""

import numpy as np
import pytest

from runtime.bridge.analysis.corners import classify_corners, report_corners
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.pedals import (
    find_throttle_changes,
    measure_brake_acceleration,
    measure_brake_ends,
    rate_trail_braking,
    summarise_throttle,
)
from runtime.bridge.analysis.reference import ReferenceLap, References, Target
from runtime.bridge.session.recording import Frames, Numbers
from tests.bridge.analysis.cornerkit import (
    between,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import change


def press_pedals(laps: int = 2, hz: float = 100.0) -> Frames:
    """Brakes of 42 bar that fall evenly to 0 from 200 m to 230 m, throttle from 280 m on."""

    def brake(way: Numbers) -> Numbers:
        return np.interp(way % 1000, [150, 150.01, 200, 230], [0, 42, 42, 0])

    return ring_frames(
        laps, hz=hz, brake_bar=brake, throttle_pct=lambda way: 80 * between(way, 280, 150)
    )


def test_the_end_of_braking() -> None:
    result = measure_brake_ends(drive_on(press_pedals(), ring_track()))

    first, second = result.corners
    assert (first.corner, first.n_passes, second.n_passes) == ("Turn 1", 2, 2)
    # below 2 bar at 230 - 2/42*30 m; the throttle comes at 280 m
    assert first.brake_release_m == pytest.approx(30 - 2 / 42 * 30, abs=0.3)
    assert first.nothing_time_s == pytest.approx((50 + 2 / 42 * 30) / 25, abs=0.03)
    assert first.bar_at_apex == 0.0
    assert second.nothing_time_s is None
    assert result.per_corner_avg_s == {"Turn 1": first.nothing_time_s}
    assert (result.worst_corner, result.average_nothing_time_s) == ("Turn 1", first.nothing_time_s)


def test_the_release_rate_is_pressure_by_time() -> None:
    def brake(way: Numbers) -> Numbers:
        return np.interp(way % 1000, [150, 190, 240], [0, 50, 0])

    (first, _) = measure_brake_ends(
        drive_on(ring_frames(1, hz=100.0, brake_bar=brake), ring_track())
    ).corners
    assert first.release_rate_bar_s == pytest.approx(50 / 50 * 25, rel=0.02)


def test_the_release_begins_where_the_brake_is_no_longer_held() -> None:
    def brake(way: Numbers) -> Numbers:
        return np.interp(way % 1000, [110, 120, 200, 225], [0, 50, 50, 0])

    (first, _) = measure_brake_ends(
        drive_on(ring_frames(1, hz=100.0, brake_bar=brake), ring_track())
    ).corners
    assert first.release_rate_bar_s == pytest.approx(50 / 25 * 25, rel=0.03)


def test_pedals_without_a_pause_give_zero_and_missing_ones_nothing() -> None:
    smooth = ring_frames(1, brake_bar=0.0, throttle_pct=50.0)

    result = measure_brake_ends(drive_on(smooth, ring_track()))
    assert (result.average_nothing_time_s, result.worst_corner, result.per_corner_avg_s) == (
        0.0,
        None,
        {},
    )
    bare = measure_brake_ends(drive_on(without(smooth, "throttle_pct"), ring_track()))
    assert bare.average_nothing_time_s is None


def test_the_throttle_of_a_corner_as_a_box() -> None:
    def throttle(way: Numbers) -> Numbers:
        return np.clip(way % 1000 - 200, 0, 100)

    first, second = summarise_throttle(
        drive_on(ring_frames(3, hz=50.0, throttle_pct=throttle), ring_track())
    )
    assert (first.n_passes, second.n_passes) == (3, 3)
    assert first.n_samples == pytest.approx(3 * 200, abs=3)
    assert first.median_pct == pytest.approx(50, abs=0.6)
    assert (first.q1_pct, first.q3_pct) == pytest.approx((25, 75), abs=0.6)
    assert first.mean_pct == pytest.approx(50, abs=0.6)
    assert first.max_pct == pytest.approx(100, abs=1)
    assert (second.min_pct, second.q1_pct, second.max_pct) == (100, 100, 100)


@pytest.mark.parametrize(
    ("low", "med", "classes"),
    [
        (80.0, 130.0, [["Turn 1"], ["Turn 2"], []]),
        (50.0, 60.0, [[], [], ["Turn 1", "Turn 2"]]),
        (50.0, 80.0, [[], ["Turn 1"], ["Turn 2"]]),
        (100.0, 130.0, [["Turn 1", "Turn 2"], [], []]),
    ],
)
def test_corners_are_slow_medium_or_fast(low: float, med: float, classes: list[list[str]]) -> None:
    def pace(way: Numbers) -> Numbers:
        speed: Numbers = 25.0 - 5.0 * between(way, 180, 320)  # 72 and 90 km/h
        return speed

    result = classify_corners(drive_on(pace_frames(pace, 2), ring_track()), low, med)
    assert [item.band for item in result] == ["low_speed", "med_speed", "high_speed"]
    assert [list(item.corners) for item in result] == classes
    for item in result:
        assert (item.mean_apex_kmh is None) == (not item.corners)


def test_one_slow_lap_does_not_make_a_slow_corner() -> None:
    def pace(way: Numbers) -> Numbers:
        speed: Numbers = 25.0 - 10.0 * between(way, 180, 320) * (way > 4000)
        return speed

    slow, medium, _ = classify_corners(drive_on(pace_frames(pace, 5), ring_track()))
    assert (slow.corners, medium.corners) == ((), ("Turn 1", "Turn 2"))
    assert medium.mean_apex_kmh == pytest.approx((90 + (4 * 90 + 54) / 5) / 2, abs=0.1)


def test_brake_zones_belong_to_the_corner_ahead() -> None:
    session = ring_frames(
        2,
        hz=100.0,
        brake_bar=lambda way: 40.0 * between(way, 150, 200) + 26 * between(way, 950, 975),
        g_long=lambda way: -1.1 * between(way, 160, 170) - 0.5 * between(way, 900, 990),
    )
    result = measure_brake_acceleration(drive_on(session, ring_track()))

    (zone,) = (
        result.brake_zones
    )  # that at 950 m lies more than 400 m before Turn 2, 288 m before Turn 1
    assert (zone.corner, zone.n_passes) == ("Turn 1", 4)
    assert zone.max_decel_g == pytest.approx((2 * -1.1 + 2 * -0.5) / 4)
    assert zone.duration_s == pytest.approx((2 + 1) / 2, abs=0.02)


def test_a_zone_without_a_corner_ahead_belongs_to_none() -> None:
    session = ring_frames(2, hz=50.0, brake_bar=lambda way: 40.0 * between(way, 720, 760))

    assert measure_brake_acceleration(drive_on(session, ring_track())).brake_zones == ()


def test_a_pause_parts_a_brake_zone() -> None:
    from tests.bridge.session.sessions import keep

    session = ring_frames(1, hz=50.0, brake_bar=lambda way: 40.0 * between(way, 100, 200))
    way = np.arange(len(session)) * 0.5 - 400
    (zone,) = measure_brake_acceleration(
        drive_on(keep(session, np.abs(way - 150) > 15), ring_track())
    ).brake_zones

    assert zone.n_passes == 2
    assert zone.max_decel_g == pytest.approx(0.0, abs=0.01)  # from an even speed


def test_corner_exits_count_the_push_behind_the_apex() -> None:
    session = ring_frames(
        2,
        hz=50.0,
        throttle_pct=lambda way: 51.0 * between(way, 270, 400),
        g_long=lambda way: 0.9 * between(way, 255, 265) + 0.4 * between(way, 280, 290),
    )
    first, second = measure_brake_acceleration(drive_on(session, ring_track())).corner_exits

    assert (first.corner, first.n_passes) == ("Turn 1", 2)
    assert first.max_long_accel_g == pytest.approx(0.4)
    assert first.exit_speed_kmh == pytest.approx(90.0)
    assert second.max_long_accel_g is None


def test_the_best_pass_has_the_largest_minimum_speed() -> None:
    def pace(way: Numbers) -> Numbers:
        low = np.where(way < 1000, 15.0, 20.0)
        return 25.0 - (25.0 - low) * np.interp(way % 1000, [200, 240, 300], [0, 1, 0])

    drive = drive_on(change(pace_frames(pace, 2, hz=50.0), brake_bar=0.0), ring_track())
    target = Target(4.5, entry_speed_kmh=95.0, exit_speed_kmh=90.0, min_speed_kmh=74.0)
    lap = ReferenceLap(track="ring", lap_time_s=40.0, corners={"Turn 1": target})
    result = report_corners(drive, References({"ring": lap}))
    card = grade_session(drive, References({"ring": lap}))
    first, second = result.corners

    assert (result.track, result.lap_count, result.reference_available) == ("Ring", 2, True)
    assert first.best_pass is not None
    assert first.best_pass.lap_number == 2
    assert first.best_pass.apex_distance_m == pytest.approx(240, abs=1)
    assert first.reference_delta_kmh == pytest.approx(-2.0, abs=0.2)
    assert first.reference_delta_entry_kmh == pytest.approx(-5.0, abs=0.2)
    assert first.reference_delta_exit_kmh == pytest.approx(0.0, abs=0.2)
    assert first.reference_delta_time_s == pytest.approx(first.best_pass.corner_time_s - 4.5)
    assert [first.grade, second.grade] == [corner.letter for corner in card.corners]
    assert first.averages is not None
    assert first.averages.apex_speed_kmh == pytest.approx((54 + 72) / 2, abs=0.4)
    assert second.reference_delta_kmh is None


@pytest.mark.parametrize("lap", [None, 1, 2])
def test_a_corner_has_the_letter_of_the_scorecard(lap: int | None) -> None:
    session = pace_frames(lambda way: np.where((way > 200) & (way < 300), 15.0, 25.0), 2)
    result = report_corners(drive_on(session, ring_track(), lap=lap))
    card = grade_session(drive_on(session, ring_track()), lap=lap)

    assert not result.reference_available
    assert [corner.grade for corner in result.corners] == [corner.letter for corner in card.corners]
    assert {corner.reference_delta_kmh for corner in result.corners} == {None}


def test_without_speed_the_quickest_pass_is_the_best() -> None:
    session = without(pace_frames(lambda way: 25 + way / 1000, 2), "speed_ms")
    first = report_corners(drive_on(session, ring_track())).corners[0]

    assert first.best_pass is not None
    assert (first.best_pass.lap_number, first.best_pass.apex_distance_m) == (2, None)


@pytest.mark.parametrize(
    ("peak", "apex", "quality"),
    [(40.0, 4.0, 1.0), (40.0, 8.0, 0.5), (40.0, 20.0, 0.0), (12.0, 3.0, 1.0), (12.0, 5.5, 0.5)],
)
def test_trail_braking_is_best_at_a_tenth_of_the_peak(
    peak: float, apex: float, quality: float
) -> None:
    session = ring_frames(
        1,
        hz=50.0,
        brake_bar=lambda way: peak * between(way, 150, 200) + apex * between(way, 200, 255),
    )
    (result,) = rate_trail_braking(drive_on(session, ring_track()))

    assert (result.corner, result.lap, result.peak_bar, result.apex_bar) == (
        "Turn 1",
        1,
        peak,
        apex,
    )
    assert result.quality == pytest.approx(quality)


def test_throttle_in_a_slow_car_is_a_change_of_speed() -> None:
    session = ring_frames(
        1,
        hz=20.0,
        g_lat=1.0,
        throttle_pct=lambda way: np.interp(way % 1000, [250, 270], [20, 60]),
    )
    lap = ReferenceLap(
        track="ring", lap_time_s=40.0, corners={"Turn 1": Target(4.0, entry_speed_kmh=95.0)}
    )
    result = find_throttle_changes(drive_on(session, ring_track()), References({"ring": lap}))

    assert [item.corner for item in result] == ["Turn 1", "Turn 1"]  # 0.8 s of rise, 0.5 s apart
    assert result[0].distance_m == pytest.approx(251, abs=2)
    assert [result[0].speed_kmh, result[0].reference_kmh] == pytest.approx([90.0, 95.0])
    assert result[1].throttle_dot == pytest.approx(40 / 0.8, rel=0.05)
    assert find_throttle_changes(drive_on(change(session, g_lat=0.4), ring_track())) == ()
