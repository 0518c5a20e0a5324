"""Signals that take more than arithmetic: functions of the latest values, registered by name."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

Inputs: TypeAlias = Mapping[str, str | Sequence[str]]
Params: TypeAlias = Mapping[str, float | Sequence[float]]

KMH_TO_M_PER_MIN: Final = 1000 / 60
SPEED_FLOOR_KMH: Final = 5.0
CLUTCH_SHARE: Final = 0.12
"""Further off than this from every ratio, the engine is not coupled to the wheels."""


class MethodError(ValueError):
    """A method that is set up wrongly; the text says what."""


class Method(NamedTuple):
    """A method with its inputs bound."""

    inputs: tuple[str, ...]
    """Signals that must have a value."""
    call: Callable[[Mapping[str, float]], float]


def rpm_over_wheel_speed_ratio(inputs: Inputs, params: Params) -> Method:
    """The gear, from how fast the engine turns for each turn of the driven wheels.

    Inputs: ``rpm``, and ``wheels`` in km/h, whose mean counts. Parameters: ``ratios`` from first
    gear up, ``final_drive``, ``tyre_circumference_m``, ``min_speed_kmh`` (5). 0 stands for
    neutral, for a pressed clutch and for a car slower than that.
    """
    _only(inputs, ("rpm", "wheels"), "inputs")
    _only(params, ("ratios", "final_drive", "tyre_circumference_m", "min_speed_kmh"), "params")
    rpm, wheels = inputs.get("rpm"), inputs.get("wheels")
    if not isinstance(rpm, str) or rpm == "":
        raise MethodError("inputs.rpm: must be one signal")
    wheels = (wheels,) if isinstance(wheels, str) else tuple(wheels or ())
    if not 1 <= len(wheels) <= 8:
        raise MethodError("inputs.wheels: must be one to eight signals")
    ratios = params.get("ratios")
    if isinstance(ratios, float | int) or not ratios or not all(ratio > 0 for ratio in ratios):
        raise MethodError("params.ratios: must be a list of ratios above 0")
    final = _above_zero(params, "final_drive")
    metres = _above_zero(params, "tyre_circumference_m")
    floor = _above_zero(params, "min_speed_kmh", SPEED_FLOOR_KMH)

    def gear(values: Mapping[str, float]) -> float:
        kmh = sum(values[wheel] for wheel in wheels) / len(wheels)
        if kmh < floor:
            return 0.0
        observed = values[rpm] * metres / (kmh * KMH_TO_M_PER_MIN * final)
        return float(nearest_gear(observed, ratios))

    return Method((rpm, *wheels), gear)


def nearest_gear(observed: float, ratios: Sequence[float]) -> int:
    """The gear, from 1, whose ratio is nearest; 0 where none is near enough."""
    best = min(range(len(ratios)), key=lambda gear: abs(ratios[gear] - observed))
    return best + 1 if abs(ratios[best] - observed) <= CLUTCH_SHARE * ratios[best] else 0


METHODS: Final[Mapping[str, Callable[[Inputs, Params], Method]]] = {
    "rpm_over_wheel_speed_ratio": rpm_over_wheel_speed_ratio,
}


def bind_method(name: str, inputs: Inputs, params: Params) -> Method:
    """The method of that name; raises `MethodError`."""
    if name not in METHODS:
        raise MethodError(f"method: there is no {name!r}; known: " + ", ".join(METHODS))
    return METHODS[name](inputs, params)


def _only(given: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            raise MethodError(f"{where}.{name}: unknown; known: " + ", ".join(known))


def _above_zero(params: Params, name: str, default: float | None = None) -> float:
    value = params.get(name, default)
    if not isinstance(value, float | int) or not (value > 0 and math.isfinite(value)):
        raise MethodError(f"params.{name}: must be a number above 0")
    return float(value)
