"""Which coaches can use the signals of a session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple


@dataclass(frozen=True)
class Coach:
    """Something that advises a driver, with the signals that it needs."""

    id: str
    name: str
    requires: tuple[str, ...]
    rates: Mapping[str, float]
    """Least samples a second, where it matters."""


class DisabledCoach(NamedTuple):
    """A coach that cannot run, and why."""

    coach_id: str
    name: str
    reasons: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The first one."""
        return self.reasons[0]


class Coaching(NamedTuple):
    """Which coaches can run on a session."""

    available: tuple[str, ...]
    disabled: tuple[DisabledCoach, ...]


def _coach(id_: str, name: str, requires: str, **rates: float) -> Coach:
    return Coach(id_, name, tuple(requires.split()), rates)


COACHES: Final = (
    _coach("base_pace_note", "Pace notes", "speed_ms distance_m"),
    _coach("trail_brake_score", "Trail braking", "brake_bar throttle_pct g_lat speed_ms"),
    _coach("oil_temp_warning", "Oil temperature", "oil_temp_c distance_m", oil_temp_c=1.0),
    _coach("clutch_balance", "Clutch balance", "clutch_pos_pct rpm", clutch_pos_pct=5.0),
    _coach(
        "tpms_drift",
        "Tyre pressure drift",
        "tpms_fl_kpa tpms_fr_kpa tpms_rl_kpa tpms_rr_kpa",
        tpms_fl_kpa=0.2,  # real sensors send about once a second
    ),
    _coach(
        "slip_angle_oscillation",
        "Slip angle oscillation",
        "combo_g g_lat",
        combo_g=20.0,
        g_lat=20.0,
    ),
    _coach(
        "mid_corner_coasting",
        "Coasting in mid-corner",
        "brake_bar throttle_pct g_lat speed_ms",
        brake_bar=10.0,
        throttle_pct=10.0,
    ),
)


def coaching(rates: Mapping[str, float]) -> Coaching:
    """Which coaches can run, from the samples a second of each signal that is there."""
    available: list[str] = []
    disabled: list[DisabledCoach] = []
    for coach in COACHES:
        reasons = [f"missing signal: {name}" for name in coach.requires if name not in rates]
        reasons += [
            f"{name} came at {rates[name]:.1f} Hz, needs {least:g} Hz"
            for name, least in coach.rates.items()
            if name in rates and rates[name] < least
        ]
        if reasons:
            disabled.append(DisabledCoach(coach.id, coach.name, tuple(reasons)))
        else:
            available.append(coach.id)
    return Coaching(tuple(available), tuple(disabled))
