"""Under which names, functions and units loggers know what the bridge knows."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from runtime.bridge.formats.vbo import units
from runtime.bridge.formats.vbo.columns import TALL_TARGETS, WIDE_TARGETS
from runtime.bridge.formats.vbo.units import SAME, Scale


class Known(NamedTuple):
    """A signal of the bridge: what a channel must be called to be it."""

    names: tuple[str, ...]
    """In the form of `key_of`, best first."""
    units: Mapping[str, Scale]
    """The units that it may come in; a channel in a unit of another kind is not it."""
    functions: tuple[str, ...] = ()
    """What the logger says that a channel is for, in the form of `key_of`."""


_PERCENT: Final[Mapping[str, Scale]] = dict.fromkeys(("%", "pct", "percent"), SAME)
_ROTATION: Final[Mapping[str, Scale]] = dict.fromkeys(("rpm", "1/min", "r/min", "min-1"), SAME)
_TURNING: Final[Mapping[str, Scale]] = {
    **dict.fromkeys(("deg/s", "°/s", "dps", "degrees/s"), SAME),
    "rad/s": units.ANGLE["rad"],
}
_VOLTAGE: Final[Mapping[str, Scale]] = {"v": SAME, "volt": SAME, "mv": Scale(0.001)}
_RATIO: Final[Mapping[str, Scale]] = {"lambda": SAME, "la": SAME}
_COUNT: Final[Mapping[str, Scale]] = {"gear": SAME, "#": SAME}
_MIXTURE: Final[Mapping[str, Scale]] = dict.fromkeys(("afr", "a/f"), SAME)
_VOLUME: Final[Mapping[str, Scale]] = dict.fromkeys(("l", "litre", "liter", "gal"), SAME)


def _times(kind: Mapping[str, Scale], factor: float) -> Mapping[str, Scale]:
    return {unit: Scale(one.factor * factor, one.offset * factor) for unit, one in kind.items()}


_KMH: Final = _times(units.SPEED, 3.6)
_KPA: Final = _times(units.PRESSURE, 100.0)
KINDS: Final = (
    units.SPEED, units.PRESSURE, units.TEMPERATURE, units.LENGTH, units.ANGLE, units.ACCELERATION,
    _PERCENT, _ROTATION, _TURNING, _VOLTAGE, _RATIO, _COUNT, _VOLUME,
    _MIXTURE,
)  # fmt: skip
"""Of each kind of quantity the units that are known."""


def _wide(
    column: str,
    names: str,
    functions: tuple[str, ...] = (),
    kind: Mapping[str, Scale] | None = None,
) -> Known:
    target = WIDE_TARGETS[column]
    return Known((*target.names, *names.split()), kind or target.units, functions)


def _tall(
    names: str, kind: Mapping[str, Scale], functions: tuple[str, ...] = (), like: str = ""
) -> Known:
    first = TALL_TARGETS[like].names if like else ()
    return Known((*first, *names.split()), kind, functions)


COLUMNS: Final[Mapping[str, Known]] = {
    "speed_ms": _wide(
        "speed_ms",
        "gps_speed vehicle_speed veh_speed speed_mph speed_ms ecu_speed ecu_vehicle_speed "
        "ground_speed speed_gps veh_spd vehspd",
        ("vehicle_speed",),
    ),
    "g_lat": _wide(
        "g_lat",
        "lateralacc accel_lat acc_lat lateral_accel lateral_accel_g lat_accel gps_lateralacc "
        "gps_lateral_acc lataccel latacc_g ay gps_latacc",
        ("lateral_acceleration",),
    ),
    "g_long": _wide(
        "g_long",
        "inlineacc accel_long acc_long inline_accel inline_accel_g longitudinalacc "
        "longitudinal_accel long_accel gps_inlineacc gps_inline_acc longaccel ax gps_lonacc",
        ("inline_acceleration",),
    ),
    "combo_g": _wide("combo_g", ""),
    "brake_bar": _wide(
        "brake_bar",
        "brake_press brake_press_psi brake_press_bar f_brake_press front_brake brake_pressure_f "
        "brakepressure brake_p frontbrake brk_press_f brk_press brake_press_f brakepress_f "
        "brake_circuit_pressure p_brake_f",
        ("brake_circuit_pressure",),
    ),
    "throttle_pct": _wide(
        "throttle_pct",
        "throttle_pos_pct throttlepos accelerator_pedal ecu_throttle ecu_tps pedal_position pps "
        "ecu_pps accelerator pedal_pos accelerator_pos accel_pedal ecu_throttle_pos app",
        ("percentage_throttle_load",),
        _PERCENT,
    ),
    "steering_deg": _wide(
        "steering_deg",
        "steer_angle steer_angle_deg steer steering_angle_deg steering_wheel_angle "
        "ecu_steer_angle steering_pos steerpos steer_pos steer_ang strang swa",
        ("steering_angle",),
    ),
    "rpm": _wide(
        "rpm", "ecu_rpm engine_rpm enginespeed engine_speed_rpm rpm_ecu", ("engine_rpm",), _ROTATION
    ),
}
"""Best first; what is a column of the frames."""


def _wheels() -> dict[str, Known]:
    known = {}
    for wheel, other in (("fl", "lf"), ("fr", "rf"), ("rl", "lr"), ("rr", "rr")):
        speeds = "wheel_speed_{0} wheel_{0} ws_{0} wheelspeed_{0} whl_spd_{0} {0}_wheel_speed"
        tyres = "tpms_{0} tpms_press_{0} tyre_pressure_{0} tire_pressure_{0} tire_press_{0}"
        for name, words, kind in (
            (f"wheel_speed_{wheel}_kmh", speeds, _KMH),
            (f"tpms_{wheel}_kpa", tyres, _KPA),
        ):
            known[name] = _tall(f"{words.format(wheel)} {words.format(other)}", kind)
    return known


SIGNALS: Final[Mapping[str, Known]] = {
    "coolant_temp_c": _tall(
        "ect water_temp water_temperature engine_coolant_temp ecu_ect ecu_water_temp clt",
        units.TEMPERATURE,
        ("water_temperature",),
        "coolant_temp_c",
    ),
    "oil_temp_c": _tall(
        "engine_oil_temp eot ecu_oil_temp", units.TEMPERATURE, ("oil_temperature",), "oil_temp_c"
    ),
    "intake_air_temp_c": _tall(
        "iat intake_air_temp intake_air_temperature ecu_iat",
        units.TEMPERATURE,
        ("intake_air_temperature",),
    ),
    "oil_press_bar": _tall("oil_press ecu_oil_press", units.PRESSURE, (), "oil_press_bar"),
    "gear_position": _tall("gear gear_pos ecu_gear current_gear", _COUNT, ("gear",)),
    "fuel_level_pct": _tall("fuel_lev", _PERCENT, (), "fuel_level_pct"),
    "clutch_pos_pct": _tall("clutch_position clutch_pos clutch", _PERCENT),
    "brake_position_pct": _tall("brake_pos brake", _PERCENT, (), "brake_position_pct"),
    "battery_v": _tall(
        "external_voltage ecu_batt_voltage vbat batt_volt", _VOLTAGE, (), "battery_v"
    ),
    "yaw_rate_dps": _tall("yaw_rate yawrate gyro_yaw", _TURNING, ("yaw_rate",)),
    "lambda": _tall("lambda_1 ecu_lambda", _RATIO, ("lambda",)),
    "heading_deg": _tall("gps_heading gps_course", units.ANGLE, (), "heading_deg"),
    "altitude_m": _tall("gps_altitude gps_alt", units.LENGTH, (), "altitude_m"),
    "satellites": _tall("gps_satellites gps_nsat", _COUNT, (), "satellites"),
    **_wheels(),
}
"""What is a signal beside the frames."""
