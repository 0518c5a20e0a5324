"""Guesses which column of a frame a channel is, from its name and unit, where no car file says."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from runtime.bridge.telemetry.values import Numbers, Samples
from runtime.bridge.vbo import units
from runtime.bridge.vbo.columns import LAT, LON, WIDE_TARGETS, key_of
from runtime.bridge.vbo.units import SAME, Scale, scale_of

_DEGREES: Final[Mapping[str, Scale]] = units.ANGLE
_FURTHER: Final[Mapping[str, tuple[str, ...]]] = {
    "speed_ms": (
        "gps_speed", "vehicle_speed", "veh_speed", "speed_mph", "speed_ms", "ecu_speed",
        "ecu_vehicle_speed", "ground_speed", "speed_gps",
    ),
    "g_lat": (
        "lateralacc", "accel_lat", "acc_lat", "lateral_accel", "lateral_accel_g", "lat_accel",
        "gps_lateralacc", "gps_lateral_acc", "lataccel", "latacc_g", "ay",
    ),
    "g_long": (
        "inlineacc", "accel_long", "acc_long", "inline_accel", "inline_accel_g", "longitudinalacc",
        "longitudinal_accel", "long_accel", "gps_inlineacc", "gps_inline_acc", "longaccel", "ax",
    ),
    "brake_bar": (
        "brake_press", "brake_press_psi", "brake_press_bar", "f_brake_press", "front_brake",
        "brake_pressure_f", "brakepressure", "brake_p", "frontbrake", "brk_press_f",
    ),
    "throttle_pct": (
        "throttle_pos_pct", "throttlepos", "accelerator_pedal", "ecu_throttle", "ecu_tps",
        "pedal_position", "pps", "ecu_pps", "accelerator",
    ),
    "steering_deg": (
        "steer_angle", "steer_angle_deg", "steer", "steering_angle_deg", "steering_wheel_angle",
        "ecu_steer_angle", "steering_pos", "steerpos",
    ),
    "rpm": ("ecu_rpm", "engine_rpm", "enginespeed", "engine_speed_rpm", "rpm_ecu"),
}  # fmt: skip
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "lat": ("gps_latitude", "gps_lat", *LAT),
    "lon": ("gps_longitude", "gps_lon", "gps_long", *LON),
}
"""In degrees; a channel in another unit is not taken."""


class Guess(NamedTuple):
    """A channel that fills a column of the frames."""

    column: str
    channel: str
    scale: Scale

    def __str__(self) -> str:
        how = "" if self.scale == SAME else f" times {self.scale.factor:.6g}"
        return f"{self.column} from {self.channel}{how}"


def guess(channels: Mapping[str, str]) -> list[Guess]:
    """The best channel for each column, given names with their units; later names count less."""
    by_key: dict[str, str] = {}
    for name in channels:
        by_key.setdefault(key_of(name), name)
    found = []
    for column, target in WIDE_TARGETS.items():
        for key in (*target.names, *_FURTHER.get(column, ())):
            if key in by_key:
                name = by_key[key]
                scale = _scale(column, name, channels[name], target.units)
                found.append(Guess(column, name, scale))
                break
    for column, keys in _PLACES.items():
        for key in keys:
            if key in by_key and channels[by_key[key]].strip().lower() in ("", *_DEGREES):
                found.append(Guess(column, by_key[key], SAME))
                break
    return found


def _scale(column: str, name: str, unit: str, known: Mapping[str, Scale]) -> Scale:
    default = SAME
    if column == "speed_ms" and not unit:
        default = Scale(1 / 3.6) if not name.lower().endswith("_ms") else SAME
    return scale_of(known, unit, name, default=default)


def applied(one: Guess, samples: Samples) -> Samples:
    """The samples of a channel in the unit of its column."""
    values: Numbers = one.scale(samples.value)
    return Samples(samples.t, values)
