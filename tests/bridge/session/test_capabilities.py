"""What a session's signals are good for."""

import pytest

from runtime.bridge.session.capabilities import COACHES, coaching

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
