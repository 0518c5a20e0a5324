"""What the signals of a session are good for: how often each came, which coaches can use them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.telemetry.values import TIMESTAMP, WIDE_SIGNALS, Frames, Samples


class Extent(NamedTuple):
    """How much there is of one signal."""

    n_samples: int
    t_start: float
    """Seconds."""
    t_end: float

    @property
    def mean_hz(self) -> float:
        """Samples a second; 0 for a single sample or no time between them."""
        span = self.t_end - self.t_start
        return self.n_samples / span if self.n_samples > 1 and span > 0 else 0.0


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


def extents(frames: Frames, signals: Mapping[str, Samples]) -> dict[str, Extent]:
    """How much there is of each signal, by name; a column that is null throughout is none.

    A signal that comes both ways counts by its column.
    """
    t = frames.columns[TIMESTAMP]
    found = {
        name: Extent(len(samples.t), float(samples.t.min()), float(samples.t.max()))
        for name, samples in signals.items()
        if len(samples.t)
    }
    for name in WIDE_SIGNALS:
        times = t[~np.isnan(frames.columns[name])]
        if len(times):
            found[name] = Extent(len(times), float(times.min()), float(times.max()))
    return dict(sorted(found.items()))


def duration_s(found: Mapping[str, Extent]) -> float:
    """From the first sample of any signal to the last of any."""
    if not found:
        return 0.0
    return max(e.t_end for e in found.values()) - min(e.t_start for e in found.values())


def is_useful(mean_hz: float, min_useful_hz: float | None) -> bool:
    """Whether a signal came often enough."""
    return min_useful_hz is None or mean_hz >= min_useful_hz


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
