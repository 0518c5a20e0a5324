"""What a session's signals are good for."""

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
