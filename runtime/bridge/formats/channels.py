"""Names and units of channels: under which ones loggers write what the bridge knows.

`WIDE_CHANNELS` and `TALL_CHANNELS` are the one table. `sort_channels` maps the columns of formats
whose names are fixed (VBO, RaceChrono); `match_columns` maps channels that are named freely (AiM,
MF4, CAN logs without a car file).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.motion import FASTEST_MS
from runtime.bridge.session.names import LONGEST_NAME, clean_name
from runtime.bridge.session.recording import WIDE, Numbers, ReadWarning, Samples
from runtime.bridge.session.units import KMH

TIME: Final = ("time", "utc_time", "utc", "timestamp")
LAT: Final = ("lat", "latitude")
LON: Final = ("long", "lng", "lon", "longitude")
VIDEO_FILE: Final = ("avifileindex", "avi_file_index")
DEAD_S: Final = 60.0
"""A sensor whose value has stood for so long, while the car moved, is none."""
NO_NUMBERS: Final = (  # the first words of a name, and the number that stands for no reading
    ("gear", 255.0),
    ("clutch", 255.0),
    ("afr", 500.0),
    ("egt", -50.0),
    ("vehicle_speed", 500.0),
)
LARGEST_STEERING_DEG: Final = 500.0
_SHOWN: Final = 4
_SAMPLED: Final = 512
_SPEED: Final = "speed_ms"
_DRIVING_MS: Final = 5.0
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "lat": ("gps_latitude", "gps_lat", *LAT),
    "lon": ("gps_longitude", "gps_lon", "gps_long", *LON),
}
"""In degrees; a channel in another unit is not taken."""


class Scale(NamedTuple):
    """value · factor + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, values: Numbers) -> Numbers:
        """Convert values to the unit of the bridge."""
        if self == SAME:
            return values
        return values * self.factor + self.offset


SAME: Final = Scale()
FROM_KMH: Final = Scale(1 / KMH)
Units = Mapping[str, Scale]
"""The units of one kind of quantity, as files name them, to the unit of the bridge."""


def _same(*names: str) -> dict[str, Scale]:
    return dict.fromkeys(names, SAME)


def _times(kind: Units, factor: float) -> Units:
    return {unit: Scale(one.factor * factor, one.offset * factor) for unit, one in kind.items()}


SPEED: Final[Units] = {
    **dict.fromkeys(("kmh", "km/h", "kph", "kmph"), FROM_KMH),
    **dict.fromkeys(("knots", "knot", "kts", "kt", "kn"), Scale(1.852 / KMH)),
    **_same("m/s", "ms", "mps", "ms-1"),
    "mph": Scale(0.44704),
}
PRESSURE: Final[Units] = {
    "bar": SAME,
    "psi": Scale(0.0689476),
    "kpa": Scale(0.01),
    "mpa": Scale(10.0),
    "mbar": Scale(0.001),
    "hpa": Scale(0.001),
    "pa": Scale(1e-5),
}
TEMPERATURE: Final[Units] = {
    **_same("c", "°c", "degc", "celsius"),
    **dict.fromkeys(("f", "°f", "degf", "fahrenheit"), Scale(5 / 9, -160 / 9)),
    "k": Scale(1.0, -273.15),
}
LENGTH: Final[Units] = {"m": SAME, **dict.fromkeys(("ft", "feet"), Scale(0.3048))}
ANGLE: Final[Units] = {**_same("deg", "°", "degrees"), "rad": Scale(57.29577951308232)}
ACCELERATION: Final[Units] = {
    "g": SAME,
    **dict.fromkeys(("m/s2", "m/s²", "m/s^2", "m/s/s"), Scale(1 / 9.80665)),
}
PERCENT: Final[Units] = _same("%", "pct", "percent")
ROTATION: Final[Units] = _same("rpm", "1/min", "r/min", "min-1")
TURNING: Final[Units] = {
    **_same("deg/s", "°/s", "dps", "degrees/s"),
    "rad/s": ANGLE["rad"],
}
VOLTAGE: Final[Units] = {"v": SAME, "volt": SAME, "mv": Scale(0.001)}
RATIO: Final[Units] = _same("lambda", "la")
COUNT: Final[Units] = _same("gear", "#")
MILLISECONDS: Final[Units] = {}
_KMH: Final = _times(SPEED, KMH)
_KPA: Final = _times(PRESSURE, 100.0)
KINDS: Final = (
    SPEED, PRESSURE, TEMPERATURE, LENGTH, ANGLE, ACCELERATION, PERCENT, ROTATION, TURNING, VOLTAGE,
    RATIO, COUNT, _same("l", "litre", "liter", "gal"), _same("afr", "a/f"),
)  # fmt: skip
"""Of each kind of quantity the units that are known."""


def scale_of(units: Units, *texts: str, default: Scale = SAME) -> Scale:
    """The scale of the first text that names one of *units*, alone or as its last word."""
    for text in texts:
        words = text.strip().strip("[]()").lower().replace("_", " ").split()
        for word in words[-1:]:
            if word.strip("[]()") in units:
                return units[word.strip("[]()")]
    return default


class Known(NamedTuple):
    """A signal of the bridge: what a channel must be called to be it. Names are best first."""

    units: Units
    """The units that it may come in; a guessed channel in a unit of another kind is not it."""
    names: tuple[str, ...] = ()
    """In files of every format, in the form of `key_of`."""
    aliases: tuple[str, ...] = ()
    """In files whose makers name channels as they like."""
    functions: tuple[str, ...] = ()
    """What a logger says that a channel is for."""
    default: Scale = SAME
    """Where a file of fixed names tells no unit."""


def _known(
    units: Units, names: str, aliases: str = "", functions: str = "", default: Scale = SAME
) -> Known:
    return Known(
        units, tuple(names.split()), tuple(aliases.split()), tuple(functions.split()), default
    )


WIDE_CHANNELS: Final[Mapping[str, Known]] = {
    "speed_ms": _known(
        SPEED,
        "velocity velocity_kmh velocity_knots velocity_mph speed speed_kmh",
        "gps_speed vehicle_speed veh_speed speed_mph speed_ms ecu_speed ecu_vehicle_speed "
        "ground_speed speed_gps veh_spd vehspd",
        "vehicle_speed",
        FROM_KMH,
    ),
    "g_lat": _known(
        ACCELERATION,
        "indicated_lateral_acceleration lateral_acceleration latacc lateral_acc latg lateral_g "
        "g_lat",
        "lateralacc accel_lat acc_lat lateral_accel lateral_accel_g lat_accel gps_lateralacc "
        "gps_lateral_acc lataccel latacc_g ay gps_latacc",
        "lateral_acceleration",
    ),
    "g_long": _known(
        ACCELERATION,
        "indicated_longitudinal_acceleration longitudinal_acceleration longacc longitudinal_acc "
        "longg longitudinal_g g_long",
        "inlineacc accel_long acc_long inline_accel inline_accel_g longitudinalacc "
        "longitudinal_accel long_accel gps_inlineacc gps_inline_acc longaccel ax gps_lonacc",
        "inline_acceleration",
    ),
    "combo_g": _known(ACCELERATION, "comboacc combo_g combinedg combined_acc"),
    "brake_bar": _known(
        PRESSURE,
        "brake_pressure brake_pressure_front brakepress brake_bar",
        "brake_press brake_press_psi brake_press_bar f_brake_press front_brake brake_pressure_f "
        "brakepressure brake_p frontbrake brk_press_f brk_press brake_press_f brakepress_f "
        "brake_circuit_pressure p_brake_f",
        "brake_circuit_pressure",
    ),
    "throttle_pct": _known(
        PERCENT,
        "throttle_position throttle tps accelerator_pedal_position throttle_pedal accelerator_pos "
        "throttle_pos throttle_pct",
        "throttle_pos_pct throttlepos accelerator_pedal ecu_throttle ecu_tps pedal_position pps "
        "ecu_pps accelerator pedal_pos accelerator_pos accel_pedal ecu_throttle_pos app",
        "percentage_throttle_load",
    ),
    "steering_deg": _known(
        ANGLE,
        "steering_angle steering steerangle steering_deg",
        "steer_angle steer_angle_deg steer steering_angle_deg steering_wheel_angle "
        "ecu_steer_angle steering_pos steerpos steer_pos steer_ang strang swa",
        "steering_angle",
    ),
    "rpm": _known(
        ROTATION,
        "engine_speed rpm",
        "ecu_rpm engine_rpm enginespeed engine_speed_rpm rpm_ecu",
        "engine_rpm",
    ),
}
"""What is a column of the frames."""


def _wheels() -> dict[str, Known]:
    known = {}
    for wheel, other in (("fl", "lf"), ("fr", "rf"), ("rl", "lr"), ("rr", "rr")):
        speeds = "wheel_speed_{0} wheel_{0} ws_{0} wheelspeed_{0} whl_spd_{0} {0}_wheel_speed "
        tyres = "tpms_{0} tpms_press_{0} tyre_pressure_{0} tire_pressure_{0} tire_press_{0} "
        for name, words, kind in (
            (f"wheel_speed_{wheel}_kmh", speeds, _KMH),
            (f"tpms_{wheel}_kpa", tyres, _KPA),
        ):
            known[name] = _known(kind, "", words.format(wheel) + words.format(other))
    return known


TALL_CHANNELS: Final[Mapping[str, Known]] = {
    "coolant_temp_c": _known(
        TEMPERATURE,
        "coolant_temperature coolant_temp",
        "ect water_temp water_temperature engine_coolant_temp ecu_ect ecu_water_temp clt",
        "water_temperature",
    ),
    "oil_temp_c": _known(
        TEMPERATURE,
        "oil_temperature oil_temp",
        "engine_oil_temp eot ecu_oil_temp",
        "oil_temperature",
    ),
    "oil_press_bar": _known(PRESSURE, "oil_pressure", "oil_press ecu_oil_press"),
    "fuel_level_pct": _known(PERCENT, "fuel_level", "fuel_lev"),
    "battery_v": _known(
        VOLTAGE, "battery_voltage", "external_voltage ecu_batt_voltage vbat batt_volt"
    ),
    "brake_position_pct": _known(PERCENT, "brake_position", "brake_pos brake"),
    "heading_deg": _known(ANGLE, "heading bearing", "gps_heading gps_course"),
    "altitude_m": _known(LENGTH, "height altitude", "gps_altitude gps_alt"),
    "satellites": _known(COUNT, "sats satellites", "gps_satellites gps_nsat"),
    "vert_vel_ms": _known(SPEED, "vert_vel vertvel vertical_velocity"),
    "avitime_ms": _known(MILLISECONDS, "avitime avisynctime"),
    "intake_air_temp_c": _known(
        TEMPERATURE,
        "",
        "iat intake_air_temp intake_air_temperature ecu_iat",
        "intake_air_temperature",
    ),
    "gear_position": _known(COUNT, "", "gear gear_pos ecu_gear current_gear", "gear"),
    "clutch_pos_pct": _known(PERCENT, "", "clutch_position clutch_pos clutch"),
    "yaw_rate_dps": _known(TURNING, "", "yaw_rate yawrate gyro_yaw", "yaw_rate"),
    "lambda": _known(RATIO, "", "lambda_1 ecu_lambda", "lambda"),
    **_wheels(),
}
"""What is a signal beside the frames."""


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


def align_texts(lines: Sequence[str], count: int) -> tuple[str, ...]:
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
    doubts: tuple[ReadWarning, ...]


def sort_channels(channels: Sequence[Channel]) -> Sorted:
    """Map channels to signals, converted and without the numbers that stand for no reading."""
    doubts: list[ReadWarning] = []
    used: set[str] = set()
    found: dict[str, dict[str, Numbers]] = {"wide": {}, "tall": {}}
    for kind, targets in (("wide", WIDE_CHANNELS), ("tall", TALL_CHANNELS)):
        for name, known in targets.items():
            channel = first_of(channels, known.names)
            if channel is None or channel.name in used:
                continue
            used.add(channel.name)
            values = _converted(channel, name, known, doubts)
            values = _without_sentinels(key_of(name), values, channel.name, doubts)
            found[kind][name] = values
    own: list[str] = []
    tall = found["tall"]
    fixed = (name for name, known in TALL_CHANNELS.items() if known.names)
    taken = {*WIDE, *WIDE_CHANNELS, *fixed}
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


def _converted(channel: Channel, name: str, known: Known, doubts: list[ReadWarning]) -> Numbers:
    texts = (channel.name, channel.described, channel.unit)
    scale = scale_of(known.units, *texts, default=known.default)
    values = scale(channel.values)
    if name == "throttle_pct" and channel.unit != "%":
        highest = np.nanmax(values, initial=-np.inf)
        if 0.2 < highest <= 1.05:
            doubts.append(ReadWarning("throttle_fraction", "throttle runs from 0 to 1: times 100"))
            return values * 100.0
    if name == "speed_ms":
        below, above = values < 0.0, values > FASTEST_MS
        if below.any():
            doubts.append(
                ReadWarning("speed_negative", "speeds below zero are null", int(below.sum()))
            )
        if above.any():
            text = f"speeds above {FASTEST_MS * KMH:.0f} km/h, which no car can have, are null"
            doubts.append(ReadWarning("speed_impossible", text, int(above.sum())))
        if below.any() or above.any():
            return np.where(below | above, np.nan, values)
    return values


def _without_sentinels(key: str, values: Numbers, name: str, doubts: list[ReadWarning]) -> Numbers:
    if key == "steering_deg" or key.startswith("steering_angle"):
        bad = np.abs(values) > LARGEST_STEERING_DEG
    else:
        numbers = [no for word, no in NO_NUMBERS if f"{key}_".startswith(f"{word}_")]
        bad = np.isin(values, numbers) if numbers else np.zeros(0, bool)
    if not bad.any():
        return values
    text = f"{clean_name(name)}: numbers that stand for no reading"
    doubts.append(ReadWarning("sentinel_values", text, int(bad.sum())))
    return np.where(bad, np.nan, values)


class ChannelStats(NamedTuple):
    """What is known of a channel."""

    unit: str = ""
    function: str = ""
    """What the logger says that it is for."""
    dead: bool = False
    """It never changed in a minute or more."""
    levels: int = 0
    """How many different values it has, roughly: the finer channel is the better one."""
    most: float = 0.0
    """The largest value of some hundreds."""
    name: str = ""
    """As the file has it, where it is kept under another one."""


class ColumnMatch(NamedTuple):
    """A channel that fills a column of the frames, or is a signal of the catalog."""

    column: str
    channel: str
    """Empty: there are dead channels alone."""
    scale: Scale = SAME
    others: tuple[str, ...] = ()
    """Channels that might have been it too."""
    dead: tuple[str, ...] = ()
    """Such channels that never change."""

    def __str__(self) -> str:
        how = "" if self.scale == SAME else f" times {self.scale.factor:.6g}"
        return f"{self.column} from {self.channel}{how}"

    @property
    def choice(self) -> str:
        """In words why this one; empty where there was no other."""
        parts = [f"rather than {_listed(self.others)}"] if self.others else []
        parts += [f"never changing: {_listed(self.dead)}"] if self.dead else []
        return f"{self.column}: {self.channel or 'none'} ({'; '.join(parts)})" if parts else ""


class ColumnMatches(NamedTuple):
    """What the channels of a recording are."""

    columns: tuple[ColumnMatch, ...]
    signals: tuple[ColumnMatch, ...]
    refused: tuple[ColumnMatch, ...]
    """Columns without a channel that lives."""

    @property
    def dead(self) -> tuple[str, ...]:
        """Channels that never change and therefore fill no column."""
        both = (*self.columns, *self.refused)
        names = (name for match in both for name in match.dead if name != match.channel)
        return tuple(dict.fromkeys(names))

    def facts(self) -> dict[str, str]:
        """In words, for whoever imports the file."""
        told = {"columns": ", ".join(map(str, self.columns)) or "none"}
        if self.signals:
            told["signals"] = ", ".join(map(str, self.signals))
        if choices := [match.choice for match in (*self.columns, *self.refused) if match.choice]:
            told["choices"] = "; ".join(choices)
        return told


def describe(samples: Samples, unit: str = "", function: str = "") -> ChannelStats:
    """What is to be known of a channel; *samples* by time."""
    t, value = samples
    few = value[:: max(1, len(value) // _SAMPLED)].tolist()
    levels = len(set(few))
    dead = levels == 1 and bool(t[-1] - t[0] >= DEAD_S) and bool((value == value[0]).all())
    return ChannelStats(unit, function, dead, levels, max(few, default=0.0))


def match_columns(channels: Mapping[str, ChannelStats]) -> ColumnMatches:
    """The best channel for each signal that is not there under its own name.

    Names count more than functions, earlier names more. A dead channel is the last choice, and
    none where the speed shows that the car moved.
    """
    by_name: dict[str, str] = {}
    by_function: dict[str, list[str]] = {}
    for name, about in channels.items():
        by_name.setdefault(key_of(about.name or name), name)
        if about.function:
            by_function.setdefault(key_of(about.function), []).append(name)

    def best(column: str, known: Known) -> ColumnMatch | None:
        keys = (*known.names, *known.aliases)
        named = [by_name[key] for key in keys if key in by_name]
        meant = [name for function in known.functions for name in by_function.get(function, ())]
        names = list(dict.fromkeys((*named, *meant)))
        ranks = {name: at if name in named else len(names) for at, name in enumerate(names)}
        fitting = [name for name in names if _fits(channels[name].unit, known.units)]
        # equals stay in the order of the file
        fitting.sort(key=lambda n: (channels[n].dead, ranks[n], -channels[n].levels))
        if not fitting:
            return None
        dead = tuple(name for name in fitting if channels[name].dead)
        others = tuple(name for name in fitting[1:] if name not in dead)
        scale = _scale(column, fitting[0], channels[fitting[0]].unit, known.units)
        return ColumnMatch(column, fitting[0], scale, others, dead)

    columns = [match for name, known in WIDE_CHANNELS.items() if (match := best(name, known))]
    signals = [
        match
        for name, known in TALL_CHANNELS.items()
        if known.aliases and (match := best(name, known))
    ]
    speed = next((match for match in columns if match.column == _SPEED), None)
    moved = speed is not None and speed.scale.factor * channels[speed.channel].most > _DRIVING_MS
    columns += _places(channels, by_name)
    kept: list[ColumnMatch] = []
    refused: list[ColumnMatch] = []
    for match in columns:
        if match.column not in channels:
            is_dead = moved and match.channel in match.dead
            (refused if is_dead else kept).append(match._replace(channel="") if is_dead else match)
    living = [match for match in signals if not (moved and match.channel in match.dead)]
    unnamed = tuple(match for match in living if match.column not in channels)
    return ColumnMatches(tuple(kept), unnamed, tuple(refused))


def _places(
    channels: Mapping[str, ChannelStats], by_name: Mapping[str, str]
) -> Iterator[ColumnMatch]:
    for column, keys in _PLACES.items():
        for name in (by_name[key] for key in keys if key in by_name):
            if channels[name].unit.strip().lower() in ("", *ANGLE):
                yield ColumnMatch(column, name)
                break


def _fits(unit: str, known: Units) -> bool:
    """Whether a unit is one of these, or an unknown one."""
    plain = unit.strip().strip("[]()").lower()
    return not plain or plain in known or not any(plain in kind for kind in KINDS)


def _scale(column: str, name: str, unit: str, known: Units) -> Scale:
    kmh = column == _SPEED and not unit and not name.lower().endswith("_ms")
    return scale_of(known, unit, name, default=FROM_KMH if kmh else SAME)


def convert(match: ColumnMatch, samples: Samples) -> Samples:
    """The samples of a channel in the unit of its column."""
    return Samples(samples.t, match.scale(samples.value))


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
