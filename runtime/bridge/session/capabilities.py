"""Finds the coaches that can use the signals of a session."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Coach(NamedTuple):
    """Something that advises a driver, with the signals that it needs."""

    id: str
    name: str
    requires: Mapping[str, float]
    """Least samples a second of each signal; 0: any."""


class DisabledCoach(NamedTuple):
    """A coach that cannot run, and why."""

    coach_id: str
    name: str
    reasons: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The first reason."""
        return self.reasons[0]


class Coaching(NamedTuple):
    """The coaches that can and cannot run on a session."""

    available: tuple[str, ...]
    disabled: tuple[DisabledCoach, ...]


OSCILLATION_HZ: Final = 20.0
"""At a lower rate, oscillating grip is not visible."""
COACHES: Final = (
    Coach("base_pace_note", "Pace notes", {"speed_ms": 0.0, "distance_m": 0.0}),
    Coach(
        "trail_brake_score",
        "Trail braking",
        dict.fromkeys(("brake_bar", "throttle_pct", "g_lat", "speed_ms"), 0.0),
    ),
    Coach("oil_temp_warning", "Oil temperature", {"oil_temp_c": 1.0, "distance_m": 0.0}),
    Coach("clutch_balance", "Clutch balance", {"clutch_pos_pct": 5.0, "rpm": 0.0}),
    Coach(
        "tpms_drift",
        "Tyre pressure drift",  # real sensors send about once a second
        {"tpms_fl_kpa": 0.2, "tpms_fr_kpa": 0.0, "tpms_rl_kpa": 0.0, "tpms_rr_kpa": 0.0},
    ),
    Coach(
        "slip_angle_oscillation",
        "Slip angle oscillation",
        dict.fromkeys(("combo_g", "g_lat"), OSCILLATION_HZ),
    ),
    Coach(
        "mid_corner_coasting",
        "Coasting in mid-corner",
        {"brake_bar": 10.0, "throttle_pct": 10.0, "g_lat": 0.0, "speed_ms": 0.0},
    ),
)


def find_coaches(rates: Mapping[str, float]) -> Coaching:
    """Find the coaches that can run, from the samples a second of each recorded signal."""
    available: list[str] = []
    disabled: list[DisabledCoach] = []
    for coach in COACHES:
        reasons = [f"missing signal: {name}" for name in coach.requires if name not in rates]
        reasons += [
            f"{name} came at {rates[name]:.1f} Hz, needs {least:g} Hz"
            for name, least in coach.requires.items()
            if rates.get(name, least) < least
        ]
        if reasons:
            disabled.append(DisabledCoach(coach.id, coach.name, tuple(reasons)))
        else:
            available.append(coach.id)
    return Coaching(tuple(available), tuple(disabled))
