"""What a session's signals are good for."""

import numpy as np
import pytest

from runtime.bridge.telemetry.capabilities import (
    COACHES,
    Extent,
    coaching,
    duration_s,
    extents,
    is_useful,
)
from runtime.bridge.telemetry.values import TIMESTAMP, WIDE, Frames, Samples

NAN = float("nan")


def test_the_extent_of_each_signal_is_found() -> None:
    columns = {name: np.full(3, NAN) for name in WIDE}
    columns[TIMESTAMP] = np.array([10.0, 11.0, 12.0])
    columns["rpm"] = np.array([NAN, 1000.0, 2000.0])
    columns["speed_ms"] = np.array([1.0, 2.0, 3.0])
    signals = {
        "oil": Samples(np.array([15.0, 9.0]), np.array([1.0, 2.0])),
        "none": Samples(np.empty(0), np.empty(0)),
        "rpm": Samples(np.array([1.0]), np.array([1.0])),
    }
    found = extents(Frames(columns), signals)
    assert found == {"oil": (2, 9, 15), "rpm": (2, 11, 12), "speed_ms": (3, 10, 12)}
    assert list(found) == sorted(found)
    assert duration_s(found) == 6
    assert duration_s({}) == 0


@pytest.mark.parametrize(
    ("extent", "hz"),
    [
        (Extent(3, 0, 1), 3.0),
        (Extent(1, 5, 5), 0.0),
        (Extent(2, 5, 5), 0.0),
        (Extent(101, 0, 10), 10.1),
    ],
)
def test_the_rate_is_samples_by_time(extent: Extent, hz: float) -> None:
    assert extent.mean_hz == hz


def test_a_signal_is_useful_from_its_least_rate_on() -> None:
    assert is_useful(0.0, None)
    assert is_useful(5.0, 5.0)
    assert not is_useful(4.999, 5.0)


WIDE_RATES = dict.fromkeys(
    ("speed_ms", "distance_m", "brake_bar", "throttle_pct", "g_lat", "combo_g", "rpm"), 10.0
)


def test_a_plain_session_gets_the_coaches_that_need_no_more() -> None:
    found = coaching(WIDE_RATES)
    assert found.available == ("base_pace_note", "trail_brake_score", "mid_corner_coasting")
    reasons = {coach.coach_id: coach.reason for coach in found.disabled}
    assert reasons == {
        "oil_temp_warning": "missing signal: oil_temp_c",
        "clutch_balance": "missing signal: clutch_pos_pct",
        "tpms_drift": "missing signal: tpms_fl_kpa",
        "slip_angle_oscillation": "combo_g came at 10.0 Hz, needs 20 Hz",
    }
    assert len(found.disabled[2].reasons) == 4


def test_nothing_disables_everything_and_everything_nothing() -> None:
    assert len(coaching({}).disabled) == len(COACHES) == 7
    every = {name: 100.0 for coach in COACHES for name in coach.requires}
    assert coaching(every).available == tuple(coach.id for coach in COACHES)


@pytest.mark.parametrize(
    ("coach", "signal", "least"),
    [
        ("oil_temp_warning", "oil_temp_c", 1.0),
        ("clutch_balance", "clutch_pos_pct", 5.0),
        ("tpms_drift", "tpms_fl_kpa", 0.2),
        ("slip_angle_oscillation", "combo_g", 20.0),
        ("slip_angle_oscillation", "g_lat", 20.0),
        ("mid_corner_coasting", "brake_bar", 10.0),
        ("mid_corner_coasting", "throttle_pct", 10.0),
    ],
)
def test_a_coach_runs_from_its_rate_on(coach: str, signal: str, least: float) -> None:
    every = {name: 100.0 for c in COACHES for name in c.requires}
    assert coach in coaching(every | {signal: least}).available
    assert coach not in coaching(every | {signal: least - 0.01}).available
