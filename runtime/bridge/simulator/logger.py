"""How the logger of a car would have sent a measurement: the rules of its file, backwards."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from runtime.bridge.can.carfile import CarFile
from runtime.bridge.can.pipeline import Pipeline, Plan
from runtime.bridge.session.values import Numbers
from runtime.bridge.simulator.course import BAR_PER_PSI, Gearbox

LITRES_PER_GAL: Final = 3.785411784
GEAR_METHOD: Final = "rpm_over_wheel_speed_ratio"


class Straight(NamedTuple):
    """A straight line from what is true to what is sent."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, values: Numbers) -> Numbers:
        """The values that are sent."""
        return values * self.factor + self.offset


class _Target(NamedTuple):
    """The signal of the car that a signal of the bus ends up as."""

    name: str
    unit: float
    """One unit of the bus in those of the car."""
    probes: tuple[float, float]
    """Two values of the bus that are certainly within the sensor's range."""


_TARGETS: Final = {
    "steer_angle_deg": _Target("steering_deg", 1.0, (10.0, 40.0)),
    "yaw_rate_degs": _Target("yaw_rate_dps", 1.0, (5.0, 20.0)),
    "roll_rate_degs": _Target("roll_rate_dps", 1.0, (5.0, 20.0)),
    "pitch_rate_degs": _Target("pitch_rate_dps", 1.0, (5.0, 20.0)),
    "lateral_accel_g": _Target("g_lat", 1.0, (0.25, 0.75)),
    "inline_accel_g": _Target("g_long", 1.0, (0.25, 0.75)),
    "vertical_accel_g": _Target("g_vert", 1.0, (0.25, 0.75)),
    "throttle_pos_pct": _Target("throttle_pct", 1.0, (25.0, 75.0)),
    "brake_press_psi": _Target("brake_bar", BAR_PER_PSI, (200.0, 600.0)),
    "fuel_level_gal": _Target("fuel_level_l", LITRES_PER_GAL, (4.0, 8.0)),
}
UPSIDE_DOWN: Final = {"vertical_accel_g": Straight(-1.0)}
"""The usual logger, for a car whose file says nothing."""


def logger_of(plan: Plan | None) -> dict[str, Straight]:
    """By signal of the bus, what makes the car's file arrive at the true value.

    Found by asking the file's own rules about two values; what they leave alone is absent.
    """
    found = dict(UPSIDE_DOWN)
    for raw, target in _TARGETS.items() if plan is not None else ():
        low, high = (_result(plan, raw, probe, target.name) for probe in target.probes)
        if low is None or high is None or low == high:
            continue
        slope = (high - low) / (target.probes[1] - target.probes[0])
        rest = low - slope * target.probes[0]
        found[raw] = Straight(target.unit / slope, -rest / slope)
    return found


def _result(plan: Plan | None, raw: str, probe: float, name: str) -> float | None:
    assert plan is not None
    return Pipeline(plan).feed({raw: probe}).get(name)


def sent(truth: Mapping[str, Numbers], logger: Mapping[str, Straight]) -> dict[str, Numbers]:
    """The measurements as that logger sends them."""
    same = Straight()
    return {name: logger.get(name, same)(values) for name, values in truth.items()}


def gearbox_of(file: CarFile | None) -> Gearbox:
    """The gearbox that the car's file tells of, else a usual one."""
    for use in file.methods.values() if file is not None else ():
        ratios = use.params.get("ratios")
        final, tyre = use.params.get("final_drive"), use.params.get("tyre_circumference_m")
        if use.method != GEAR_METHOD or not isinstance(ratios, tuple):
            continue
        if isinstance(final, float) and isinstance(tyre, float):
            return Gearbox(ratios, final, tyre)
    return Gearbox()
