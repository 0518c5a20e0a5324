"""What the car's further channels say: fuel, oil, water, tyres, the gear."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.quantities import passes_in
from runtime.bridge.coach.fact import Cell, Corner, Fact, Place, Term, Unit, Value
from runtime.bridge.coach.need import Quantity, Slots
from runtime.bridge.coach.scene import Scene
from runtime.bridge.session.recording import Samples

WHEELS: Final = ("fl", "fr", "rl", "rr")
LAST_S: Final = 10.0
"""The last reading is the median of so many seconds."""
NEAR_S: Final = 1.0
"""A gear that was told longer before a place is not the one there."""


class Channel(NamedTuple):
    """A signal that says something about a quantity."""

    signal: str
    unit: Unit
    factor: float = 1.0
    """From the unit of the signal to *unit*."""


CHANNELS: Final[Mapping[Quantity, tuple[Channel, ...]]] = {
    "gear": (Channel("gear_position", ""),),
    "fuel": (Channel("fuel_level_l", "l"), Channel("fuel_level_pct", "%")),
    "oil": (Channel("oil_temp_c", "°C"), Channel("oil_press_bar", "bar")),
    "water": (Channel("water_temp_c", "°C"), Channel("coolant_temp_c", "°C")),
    "battery": (Channel("battery_v", "V"),),
    "tyre_temperature": tuple(Channel(f"tire_temp_{wheel}_c", "°C") for wheel in WHEELS),
    "tyre_pressure": tuple(Channel(f"tpms_{wheel}_kpa", "bar", 0.01) for wheel in WHEELS),
    "heart_rate": (Channel("heart_rate", "/min"),),
}


def signals_for(quantities: Iterable[Quantity | None]) -> tuple[str, ...]:
    """The signals that any of these may be read from."""
    wanted = (CHANNELS.get(quantity, ()) for quantity in quantities if quantity is not None)
    return tuple(channel.signal for channels in wanted for channel in channels)


def tell_channels(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """What the channels of the quantity that is asked for say; none: none was recorded."""
    if slots.quantity is None:
        return ()
    recorded = [
        (channel, scene.channels[channel.signal])
        for channel in CHANNELS.get(slots.quantity, ())
        if channel.signal in scene.channels
    ]
    if slots.quantity == "gear":
        return tuple(fact for _, told in recorded for fact in _tell_gears(scene, slots, told))
    if len(recorded) == len(WHEELS):
        return (_tell_wheels(slots.quantity, recorded),)
    return tuple(_tell_range(channel, told) for channel, told in recorded)


def _tell_range(channel: Channel, told: Samples) -> Fact:
    low, high = np.min(told.value), np.max(told.value)
    values: dict[str, Cell] = {"channel": Term("signal", channel.signal)}
    for name, number in (("last", _last(told)), ("low", low), ("high", high)):
        values[name] = Value(float(number) * channel.factor, channel.unit)
    return Fact("channel-range", values)


def _tell_wheels(quantity: Quantity, recorded: list[tuple[Channel, Samples]]) -> Fact:
    ends = {
        wheel: Value(_last(told) * channel.factor, channel.unit)
        for wheel, (channel, told) in zip(WHEELS, recorded, strict=True)
    }
    return Fact("channel-wheels", {"quantity": Term("quantity", quantity), **ends})


def _tell_gears(scene: Scene, slots: Slots, told: Samples) -> tuple[Fact, ...]:
    """The gear at the slowest point of each corner that is named, else which were used."""
    facts = []
    for name in slots.corners:
        if there := _gears_in(scene, name, told):
            usual = max(sorted(set(there)), key=there.count)
            values: dict[str, Cell] = {"corner": Corner(name), "gear": usual, "count": len(there)}
            facts.append(Fact("channel-gear", values, Place(corner=name)))
    used = told.value[told.value > 0].astype(int)  # 0: neutral, or the car does not tell
    if not facts and len(used):
        facts.append(Fact("channel-gears", {"low": int(used.min()), "high": int(used.max())}))
    return tuple(facts)


def _gears_in(scene: Scene, corner: str, told: Samples) -> list[int]:
    """The gear of each pass through a corner, where its slowest point is."""
    if scene.outing is None:
        return []
    drive = scene.outing.drive
    counted = drive.series.counted(told.t)
    order = np.argsort(counted, kind="stable")
    times, gears = counted[order], told.value[order]
    found = []
    for each in passes_in(drive, corner):
        window = drive.series["speed_ms"][each.first : each.last]
        if not len(window) or np.isnan(window).all():
            continue
        t = drive.series.t[each.first + int(np.nanargmin(window))]
        at = int(np.searchsorted(times, t, side="right")) - 1
        if at >= 0 and t - times[at] <= NEAR_S and gears[at] > 0:
            found.append(int(gears[at]))
    return found


def _last(told: Samples) -> float:
    """The value of the last readings."""
    return float(np.median(told.value[told.t >= np.max(told.t) - LAST_S]))
