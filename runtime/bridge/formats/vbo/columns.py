"""The columns of a file under the names and in the units of the bridge; none is dropped."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.motion import FASTEST_MS
from runtime.bridge.formats.vbo import units
from runtime.bridge.formats.vbo.units import SAME, Scale, scale_of
from runtime.bridge.session.names import LONGEST_NAME, clean_name
from runtime.bridge.session.recording import WIDE, Doubt, Numbers

TIME: Final = ("time", "utc_time", "utc", "timestamp")
LAT: Final = ("lat", "latitude")
LON: Final = ("long", "lng", "lon", "longitude")
VIDEO_FILE: Final = ("avifileindex", "avi_file_index")


class Channel(NamedTuple):
    """A column as the file has it."""

    name: str
    values: Numbers
    unit: str = ""
    described: str = ""
    """What the head says about it, often with a unit."""

    @property
    def key(self) -> str:
        """The name in the form in which names are compared."""
        return key_of(self.name)


class Target(NamedTuple):
    """A signal of the bridge: names under which files have it, and the units it may come in."""

    names: tuple[str, ...]
    units: Mapping[str, Scale] = units.PLAIN
    default: Scale = SAME


WIDE_TARGETS: Final[Mapping[str, Target]] = {
    "speed_ms": Target(
        ("velocity", "velocity_kmh", "velocity_knots", "velocity_mph", "speed", "speed_kmh"),
        units.SPEED,
        Scale(1 / 3.6),
    ),
    "g_lat": Target(
        (
            "indicated_lateral_acceleration",
            "lateral_acceleration",
            "latacc",
            "lateral_acc",
            "latg",
            "lateral_g",
            "g_lat",
        ),
        units.ACCELERATION,
    ),
    "g_long": Target(
        (
            "indicated_longitudinal_acceleration",
            "longitudinal_acceleration",
            "longacc",
            "longitudinal_acc",
            "longg",
            "longitudinal_g",
            "g_long",
        ),
        units.ACCELERATION,
    ),
    "combo_g": Target(("comboacc", "combo_g", "combinedg", "combined_acc"), units.ACCELERATION),
    "brake_bar": Target(
        ("brake_pressure", "brake_pressure_front", "brakepress", "brake_bar"), units.PRESSURE
    ),
    "throttle_pct": Target(
        (
            "throttle_position",
            "throttle",
            "tps",
            "accelerator_pedal_position",
            "throttle_pedal",
            "accelerator_pos",
            "throttle_pos",
            "throttle_pct",
        )
    ),
    "steering_deg": Target(
        ("steering_angle", "steering", "steerangle", "steering_deg"), units.ANGLE
    ),
    "rpm": Target(("engine_speed", "rpm")),
}
TALL_TARGETS: Final[Mapping[str, Target]] = {
    "coolant_temp_c": Target(("coolant_temperature", "coolant_temp"), units.TEMPERATURE),
    "oil_temp_c": Target(("oil_temperature", "oil_temp"), units.TEMPERATURE),
    "oil_press_bar": Target(("oil_pressure",), units.PRESSURE),
    "fuel_level_pct": Target(("fuel_level",)),
    "battery_v": Target(("battery_voltage",)),
    "brake_position_pct": Target(("brake_position",)),
    "heading_deg": Target(("heading", "bearing")),
    "altitude_m": Target(("height", "altitude"), units.LENGTH),
    "satellites": Target(("sats", "satellites")),
    "vert_vel_ms": Target(("vert_vel", "vertvel", "vertical_velocity"), units.SPEED),
    "avitime_ms": Target(("avitime", "avisynctime")),
}
NO_NUMBERS: Final = (  # the first words of a name, and the number that stands for no reading
    ("gear", 255.0),
    ("clutch", 255.0),
    ("afr", 500.0),
    ("egt", -50.0),
    ("vehicle_speed", 500.0),
)
LARGEST_STEERING_DEG: Final = 500.0


def key_of(name: str) -> str:
    """A name in lower case with one underscore for everything that is no letter or digit."""
    return re.sub(r"\W+|_+", "_", name.casefold()).strip("_")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, later ones of a kind with a suffix ``_2``, ``_3`` …; case does not tell apart."""
    taken = {name.casefold() for name in names}
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name.casefold()] += 1
        if seen[name.casefold()] > 1:
            number = seen[name.casefold()]
            while f"{name}_{number}".casefold() in taken:
                number += 1
            name = f"{name}_{number}"
            taken.add(name.casefold())
        unique.append(name)
    return tuple(unique)


def aligned(lines: Sequence[str], count: int) -> tuple[str, ...]:
    """One text a column from a section; shorter sections belong to the last columns.

    Blank lines in the middle count; a section of one line holds one word a column.
    """
    texts = [line.strip() for line in lines]
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) == 1 and len(texts[0].split()) == count:
        texts = texts[0].split()
    texts = ["" if text.lower() in ("(null)", "null", "-") else text for text in texts[-count:]]
    return ("",) * (count - len(texts)) + tuple(texts)


def first_of(channels: Sequence[Channel], names: Sequence[str]) -> Channel | None:
    """The channel with the earliest of these names."""
    by_key: dict[str, Channel] = {}
    for channel in channels:
        by_key.setdefault(channel.key, channel)
    return next((by_key[name] for name in names if name in by_key), None)


class Sorted(NamedTuple):
    """Channels where they belong."""

    wide: Mapping[str, Numbers]
    tall: Mapping[str, Numbers]
    unmapped: tuple[str, ...]
    """The names of *tall* that are the file's own."""
    doubts: tuple[Doubt, ...]


def sort_channels(channels: Sequence[Channel]) -> Sorted:
    """Map channels to signals, converted and without the numbers that stand for no reading."""
    doubts: list[Doubt] = []
    used: set[str] = set()
    found: dict[str, dict[str, Numbers]] = {"wide": {}, "tall": {}}
    for kind, targets in (("wide", WIDE_TARGETS), ("tall", TALL_TARGETS)):
        for name, target in targets.items():
            channel = first_of(channels, target.names)
            if channel is None or channel.name in used:
                continue
            used.add(channel.name)
            values = _converted(channel, name, target, doubts)
            values = _without_sentinels(key_of(name), values, channel.name, doubts)
            found[kind][name] = values
    own: list[str] = []
    tall = found["tall"]
    taken = {name.casefold() for name in (*WIDE, *WIDE_TARGETS, *TALL_TARGETS)}
    for channel in channels:
        if channel.name in used:
            continue
        name, number = clean_name(channel.name), 2
        while name.casefold() in taken:
            name = f"{clean_name(channel.name)[: LONGEST_NAME - 8]}_{number}"
            number += 1
        taken.add(name.casefold())
        tall[name] = _without_sentinels(channel.key, channel.values, channel.name, doubts)
        own.append(name)
    return Sorted(found["wide"], tall, tuple(own), tuple(doubts))


def _converted(channel: Channel, name: str, target: Target, doubts: list[Doubt]) -> Numbers:
    default = target.default
    scale = scale_of(target.units, channel.name, channel.described, channel.unit, default=default)
    values = scale(channel.values)
    if name == "throttle_pct" and channel.unit != "%":
        highest = np.nanmax(values, initial=-np.inf)
        if 0.2 < highest <= 1.05:
            doubts.append(Doubt("throttle_fraction", "throttle runs from 0 to 1: times 100"))
            return values * 100.0
    if name == "speed_ms":
        below, above = values < 0.0, values > FASTEST_MS
        if below.any():
            doubts.append(Doubt("speed_negative", "speeds below zero are null", int(below.sum())))
        if above.any():
            text = f"speeds above {FASTEST_MS * 3.6:.0f} km/h, which no car can have, are null"
            doubts.append(Doubt("speed_impossible", text, int(above.sum())))
        if below.any() or above.any():
            return np.where(below | above, np.nan, values)
    return values


def _without_sentinels(key: str, values: Numbers, name: str, doubts: list[Doubt]) -> Numbers:
    if key == "steering_deg" or key.startswith("steering_angle"):
        bad = np.abs(values) > LARGEST_STEERING_DEG
    else:
        numbers = [no for word, no in NO_NUMBERS if f"{key}_".startswith(f"{word}_")]
        bad = np.isin(values, numbers) if numbers else np.zeros(0, bool)
    if not bad.any():
        return values
    text = f"{clean_name(name)}: numbers that stand for no reading"
    doubts.append(Doubt("sentinel_values", text, int(bad.sum())))
    return np.where(bad, np.nan, values)
