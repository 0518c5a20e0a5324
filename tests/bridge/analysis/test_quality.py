"""Smoothness, repeatability, the used grip, and what sessions say of a driver."""

import numpy as np
import pytest

from runtime.bridge.analysis.corners import (
    measure_consistency,
    measure_smoothness,
    measure_track_out,
)
from runtime.bridge.analysis.driver import DriverEvent, classify_limit, list_events
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.grip import find_oscillations, measure_bands
from runtime.bridge.analysis.highlights import find_highlights
from runtime.bridge.analysis.reference import ReferenceLap, References, Target
from runtime.bridge.session.recording import Numbers
from tests.bridge.analysis.cornerkit import (
    between,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import keep


def limit_to(most_g: float) -> References:
    return References(
        {
            "ring": ReferenceLap(
                track="ring", lap_time_s=40.0, corners={"Turn 1": Target(4.0)}, max_combo_g=most_g
            )
        }
    )


def test_an_even_hand_is_perfectly_smooth() -> None:
    session = ring_frames(2, hz=50.0, steering_deg=lambda way: way % 1000, brake_bar=3.0)
    result = measure_smoothness(drive_on(session, ring_track()))

    assert list(result) == ["Turn 1", "Turn 2"]
    assert result["Turn 1"].steering_dot_std == pytest.approx(0.0, abs=1e-6)
    assert result["Turn 1"].brake_dot_std == 0.0
    assert result["Turn 1"].throttle_dot_std is None


def test_the_calmest_pass_is_shown() -> None:
    chance = np.random.default_rng(5)

    def steering(way: Numbers) -> Numbers:
        return chance.normal(30, np.where(way < 1000, 2.0, 0.1))

    session = ring_frames(2, hz=50.0, steering_deg=steering)
    result = measure_smoothness(drive_on(session, ring_track()))["Turn 1"]
    assert result.lap == 2
    # differences of independent errors, by a 50th of a second
    assert result.steering_dot_std == pytest.approx(0.1 * np.sqrt(2) * 50, rel=0.2)


def test_an_even_driver_is_consistent_and_another_is_not() -> None:
    even = measure_consistency(drive_on(ring_frames(3, hz=20.0), ring_track()))
    assert even.lap_time_std == pytest.approx(0.0, abs=1e-3)

    def pace(way: Numbers) -> Numbers:
        speed: Numbers = 25.0 - 5.0 * between(way, 200, 300) * (way > 1000)
        return speed

    result = measure_consistency(drive_on(pace_frames(pace, 2, hz=50.0), ring_track()))
    assert result.lap_time_spread == pytest.approx(1.0, abs=0.02)
    assert result.lap_time_std == pytest.approx(1.0 / np.sqrt(2), abs=0.02)
    assert result.most_variable_corner is not None
    assert result.most_variable_corner.corner == "Turn 1"
    assert result.per_corner_std["Turn 2"] == pytest.approx(0.0, abs=0.01)


def test_one_lap_does_not_vary() -> None:
    result = measure_consistency(drive_on(ring_frames(1), ring_track()))

    assert (result.lap_time_std, result.lap_time_spread) == (0.0, 0.0)
    assert result.most_variable_corner is None


def test_distance_to_the_line() -> None:
    result = measure_track_out(drive_on(ring_frames(2, hz=20.0), ring_track()))

    assert result is not None
    assert result.max_xte_m < 0.2
    assert result.samples == pytest.approx(2 * 800, abs=2)
    assert measure_track_out(drive_on(ring_frames(2))) is None


@pytest.mark.parametrize(
    ("combo", "band"),
    [
        (0.0, "under_driving"),
        (0.549, "under_driving"),
        (0.55, "approaching_peak"),
        (0.80, "at_peak"),
        (0.949, "at_peak"),
        (0.95, "over_driving"),
        (3.0, "over_driving"),
    ],
)
def test_bands_of_the_used_grip(combo: float, band: str) -> None:
    result = measure_bands(drive_on(ring_frames(1, combo_g=combo), ring_track()), limit_to(1.0))

    assert result is not None
    assert result.dominant_band == band
    assert result.pct_per_band[result.dominant_band] == pytest.approx(100.0)
    assert result.interpretation


def test_shares_of_the_bands_are_shares_of_time() -> None:
    session = ring_frames(2, hz=50.0, combo_g=lambda way: 0.2 + 0.7 * between(way, 0, 300))
    result = measure_bands(drive_on(session, ring_track()), limit_to(1.0))

    assert result is not None
    assert sum(result.pct_per_band.values()) == pytest.approx(100.0)
    assert result.pct_per_band["at_peak"] == pytest.approx(30.0, abs=0.2)
    assert measure_bands(drive_on(without(session, "combo_g"), ring_track())) is None


@pytest.mark.parametrize("hz", [20.0, 50.0, 100.0])
def test_grip_that_goes_back_and_forth_is_an_oscillation(hz: float) -> None:
    def combo(way: Numbers) -> Numbers:
        used: Numbers = 0.7 + 0.29 * np.sin(2 * np.pi * way / 37.5)
        return np.where((way > 500) & (way < 575), used, 0.4)

    session = ring_frames(2, hz=hz, combo_g=combo)
    result = find_oscillations(drive_on(session, ring_track()), limit_to(1.0))

    assert len(result) == 1
    assert result[0].crossings >= 4
    assert result[0].t_end - result[0].t_start == pytest.approx(3.0)
    assert result[0].peak_combo_g == pytest.approx(0.99, abs=0.02)
    assert result[0].severity == "high"


def test_ten_frames_a_second_show_no_oscillation() -> None:
    def combo(way: Numbers) -> Numbers:
        return np.where((way > 500) & (way < 575), 0.7 + 0.29 * np.sin(way / 6.0), 0.4)

    for hz, shown in ((20.0, 1), (10.0, 0)):
        session = ring_frames(2, hz=hz, combo_g=combo)
        assert len(find_oscillations(drive_on(session, ring_track()), limit_to(1.0))) == shown


def test_noise_on_the_edge_of_a_band_is_no_oscillation() -> None:
    chance = np.random.default_rng(2)
    noise = chance.normal(0.6, 0.02, 100 * 1000)
    session = ring_frames(2, hz=100.0, combo_g=lambda way: noise[: len(way)])

    assert find_oscillations(drive_on(session, ring_track()), limit_to(1.0)) == ()


def test_a_pause_is_no_change_of_band() -> None:
    session = ring_frames(2, hz=50.0, combo_g=lambda way: np.where(way > 550, 0.9, 0.4))
    t = session.columns["timestamp"]
    paused = keep(session, (t < 37.5) | (t > 39))

    assert find_oscillations(drive_on(paused, ring_track()), limit_to(1.0)) == ()


def test_a_session_leaves_events_in_a_history() -> None:
    def pace(way: Numbers) -> Numbers:
        speed: Numbers = 25.0 - 8.0 * between(way, 200, 300) * (way < 1000)
        return speed

    drive = drive_on(pace_frames(pace, 3, hz=20.0), ring_track())
    card, moments = grade_session(drive), find_highlights(drive)
    result = list_events(card, moments, None)

    grades = [item for item in result if item.kind == "grade"]
    assert [item.corner for item in grades] == ["Turn 1", "Turn 2"]
    assert [item.text for item in grades] == [item.letter for item in card.corners]
    (best,) = [item for item in result if item.kind == "pb_lap_s"]
    assert best == DriverEvent("pb_lap_s", None, card.best_lap_s, f"{card.best_lap_s:.3f}")
    keys = [(item.kind, item.corner) for item in result]
    assert len(keys) == len(set(keys))
    assert ("improvement", "Turn 1") in keys
    assert list_events(card, moments, None) == result
    slower = list_events(card, moments, card.best_lap_s)
    assert {item.kind for item in slower} == {"grade", "improvement"}


def test_a_mistake_is_an_event_for_its_corner() -> None:
    drive = drive_on(ring_frames(2, combo_g=lambda way: 1 + between(way, 240, 260)), ring_track())
    result = list_events(grade_session(drive), find_highlights(drive, limit_to(1.0)), 1.0)

    assert [item.corner for item in result if item.kind == "mistake"] == ["Turn 1"]


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ({}, "unknown"),
        ({"a": []}, "unknown"),
        ({"a": [0.7, 0.7]}, "under_limit"),
        ({"a": [0.75]}, "at_limit"),
        ({"a": [0.9, 0.7], "b": [0.95, 0.75]}, "oscillating"),
        ({"a": [0.9, 0.8], "b": [0.9]}, "at_limit"),
    ],
)
def test_how_a_driver_uses_the_grip(scores: dict[str, list[float]], kind: str) -> None:
    assert classify_limit(scores) == kind
