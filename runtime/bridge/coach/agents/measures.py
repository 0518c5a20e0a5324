"""What can be measured of one pass through a corner, and how it is said; pure."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.pedals import opening_m
from runtime.bridge.session.definitions import FULL_PCT
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH

Read = Callable[[Drive, Pass], float | None]


class Measure(NamedTuple):
    """One number of a pass."""

    label: str
    unit: str
    digits: int
    says: str
    """What is said of it, with *value* and *corner* to be filled in."""
    channel: str
    """The column that gives it."""
    read: Read
    low: bool = False
    """Whether less is what a driver looks for."""
    none: str = ""
    """What is said where the channel is there and the pass has no such number."""

    def text(self, value: float) -> str:
        """The number with its unit."""
        return f"{value:.{self.digits}f} {self.unit}".rstrip()

    def sentence(self, value: float | None, corner: str) -> str:
        """What was measured in a corner, without its subject's lap."""
        if value is None:
            return self.none.format(corner=corner)
        return self.says.format(value=self.text(value), corner=corner)


def _of_frames(name: str, pick: Callable[[Numbers], float], *, approach: bool = False) -> Read:
    """A number of the frames of a pass, its approach among them where that is asked for."""

    def read(drive: Drive, one: Pass) -> float | None:
        values = drive.series[name][one.approach if approach else one.first : one.last]
        known = values[~np.isnan(values)]
        return float(pick(known)) if len(known) else None

    return read


def _full(values: Numbers) -> float:
    return 100.0 * float((values >= FULL_PCT).mean())


def _rpm(drive: Drive, one: Pass) -> float | None:
    value = float(drive.series["rpm"][one.apex_frame])
    return None if value != value else value


MEASURES: Final[dict[str, Measure]] = {
    "speed": Measure(
        "lowest speed",
        "km/h",
        1,
        "you were down to {value} at the slowest point of {corner}",
        "speed_ms",
        lambda _, one: one.min_speed_kmh,
    ),
    "speed entry": Measure(
        "entry speed",
        "km/h",
        1,
        "you were doing {value} at the entry of {corner}",
        "speed_ms",
        lambda _, one: one.entry_speed_kmh,
    ),
    "speed apex": Measure(
        "speed at the apex",
        "km/h",
        1,
        "you were doing {value} at the apex of {corner}",
        "speed_ms",
        lambda _, one: one.apex_speed_kmh,
    ),
    "speed exit": Measure(
        "exit speed",
        "km/h",
        1,
        "you were doing {value} at the exit of {corner}",
        "speed_ms",
        lambda _, one: one.exit_speed_kmh,
    ),
    "speed top": Measure(
        "highest speed",
        "km/h",
        1,
        "you were doing {value} at most in {corner}",
        "speed_ms",
        _of_frames("speed_ms", lambda values: float(values.max()) * KMH),
    ),
    "brake_point": Measure(
        "braking before the entry",
        "m",
        0,
        "you began to brake {value} before the entry of {corner}",
        "brake_bar",
        lambda _, one: one.brake_point_m,
        none="you did not brake for {corner} at all: never with 5 bar or more",
    ),
    "brake_release": Measure(
        "brake released behind the entry",
        "m",
        0,
        "you were off the brake {value} behind the entry of {corner}",
        "brake_bar",
        lambda _, one: one.brake_release_m,
        none="you never had 5 bar of brake for {corner}, or not off it before the exit",
    ),
    "brake_pressure": Measure(
        "highest brake pressure",
        "bar",
        1,
        "you braked with {value} at most for {corner}",
        "brake_bar",
        lambda _, one: one.peak_brake_bar,
    ),
    "trail_brake": Measure(
        "brake pressure at the apex",
        "bar",
        1,
        "you still had {value} of brake at the apex of {corner}",
        "brake_bar",
        lambda _, one: one.trail_brake_bar_at_apex,
    ),
    "g_lat": Measure(
        "lateral acceleration",
        "g",
        2,
        "you pulled {value} of lateral acceleration in {corner}",
        "g_lat",
        lambda _, one: one.max_g_lat,
    ),
    "g_total": Measure(
        "combined acceleration",
        "g",
        2,
        "you pulled {value} in all in {corner}",
        "g_lat",
        lambda _, one: one.max_combo_g,
    ),
    "g_brake": Measure(
        "deceleration",
        "g",
        2,
        "you slowed with {value} at most for {corner}",
        "g_long",
        _of_frames("g_long", lambda values: max(-float(values.min()), 0.0), approach=True),
    ),
    "g_accel": Measure(
        "acceleration",
        "g",
        2,
        "you sped up with {value} at most in {corner}",
        "g_long",
        _of_frames("g_long", lambda values: max(float(values.max()), 0.0)),
    ),
    "corrections": Measure(
        "steering corrections",
        "",
        0,
        "you corrected the steering {value} times in {corner}",
        "steering_deg",
        lambda _, one: one.steering_corrections,
        low=True,
    ),
    "steering": Measure(
        "largest steering angle",
        "degrees",
        0,
        "you steered {value} at most in {corner}",
        "steering_deg",
        _of_frames("steering_deg", lambda values: float(np.abs(values).max())),
    ),
    "coast": Measure(
        "coasting time",
        "s",
        2,
        "you coasted for {value} in {corner}",
        "throttle_pct",
        lambda _, one: one.coast_seconds,
        low=True,
    ),
    "throttle_on": Measure(
        "throttle behind the apex",
        "m",
        0,
        "the throttle opened {value} behind the apex of {corner}",
        "throttle_pct",
        opening_m,
        none="the throttle did not open (20 % or more, and stay there) before the exit of {corner}",
    ),
    "throttle_exit": Measure(
        "throttle at the exit",
        "%",
        0,
        "you had {value} of throttle at the exit of {corner}",
        "throttle_pct",
        lambda _, one: one.throttle_at_exit_pct,
    ),
    "throttle": Measure(
        "share of full throttle",
        "%",
        0,
        "you were at full throttle for {value} of {corner}",
        "throttle_pct",
        _of_frames("throttle_pct", _full),
    ),
    "rpm": Measure(
        "engine speed at the apex",
        "1/min",
        0,
        "the engine turned {value} at the apex of {corner}",
        "rpm",
        _rpm,
    ),
    "time": Measure(
        "corner time",
        "s",
        2,
        "you took {value} for {corner}, its braking zone included",
        "speed_ms",
        lambda _, one: one.corner_time_s,
        low=True,
    ),
}
"""By what a topic asks for, with its spot."""
NAMES: Final = {
    "speed_ms": "speed",
    "brake_bar": "brake pressure",
    "throttle_pct": "throttle",
    "g_lat": "lateral acceleration",
    "g_long": "longitudinal acceleration",
    "steering_deg": "steering angle",
    "rpm": "engine speed",
    "combo_g": "combined acceleration",
}


KEYS: Final = {
    "speed": "min_speed_kmh",
    "speed entry": "entry_speed_kmh",
    "speed apex": "apex_speed_kmh",
    "speed exit": "exit_speed_kmh",
    "brake_point": "brake_point_m",
    "brake_pressure": "peak_brake_bar",
    "g_lat": "max_g_lat",
    "g_total": "max_combo_g",
    "coast": "coast_seconds",
    "corrections": "steering_corrections",
    "time": "corner_time_s",
}
"""What analytics call a measure, where they have it."""


def key_of(asked: Measure) -> str:
    """What analytics call it; empty where they do not have it."""
    return next((KEYS.get(name, "") for name, one in MEASURES.items() if one is asked), "")


def measure_of(what: str, spot: str, how: str = "") -> Measure:
    """The measure that is asked for."""
    if what == "speed" and not spot and how == "most":
        return MEASURES["speed top"]
    return MEASURES.get(f"{what} {spot}") or MEASURES[what]


def not_recorded(channel: str) -> str:
    """What is said of a channel that a session does not have."""
    name = NAMES.get(channel, channel.replace("_", " "))
    return f"The {name} is not recorded in this session: the channel {channel} would give it."
