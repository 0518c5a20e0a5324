"""Names and units of channels: the one table by which any source finds the bridge's signals.

Files, live buses and frames over HTTP name channels as their makers like. `SIGNALS` holds the
names that are in use, best first, and the units that a quantity comes in; `match_channels` picks
the channel of each signal, for all sources by the same rules. Sources of the names: exports of
Racelogic, RaceChrono, Harry's LapTimer, TrackAddict, RaceBox, AiM, MoTeC, iRacing and the public
DBC files of opendbc; German, French and Spanish words come last.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple
from unicodedata import combining, normalize

import numpy as np

from runtime.bridge.session.recording import Mapped, Numbers, Samples
from runtime.bridge.session.units import KMH

DEAD_S: Final = 60.0
"""A sensor whose value does not change for this long, while the car moves, is dead."""
_SAMPLED: Final = 512
_SPEED: Final = "speed_ms"
_DRIVING_MS: Final = 5.0
_SPARSE: Final = 0.5
"""A channel with less than this share of the values of another is the sparser one."""
_USUAL: Final = 95.0
"""Percentile of the magnitudes that must be credible; single values beyond it are outliers."""
NONE: Final = "none"
"""In a mapping: the signal has no channel."""


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
"""Conversion to the bridge's unit, by the units of one kind of quantity (as `normalise_unit`)."""


def _same(*names: str) -> dict[str, Scale]:
    return dict.fromkeys(names, SAME)


def _times(kind: Units, factor: float) -> Units:
    return {unit: Scale(scale.factor * factor, scale.offset) for unit, scale in kind.items()}


SPEED: Final[Units] = {
    **dict.fromkeys(("kmh", "km/h", "kph", "kmph", "unitkilometerperhour"), FROM_KMH),
    **dict.fromkeys(("knots", "knot", "kts", "kt", "kn"), Scale(1.852 / KMH)),
    **_same("m/s", "ms", "mps", "ms-1", "m/sec", "meters/second"),
    "mph": Scale(0.44704),
}
PRESSURE: Final[Units] = {
    **_same("bar", "unitbar"),
    "psi": Scale(0.0689476),
    "kpa": Scale(0.01),
    "mpa": Scale(10.0),
    "mbar": Scale(0.001),
    "hpa": Scale(0.001),
    "pa": Scale(1e-5),
}
TEMPERATURE: Final[Units] = {
    **_same("c", "°c", "degc", "celsius", "unitdegrecelsi"),
    **dict.fromkeys(("f", "°f", "degf", "fahrenheit"), Scale(5 / 9, -160 / 9)),
    "k": Scale(1.0, -273.15),
}
LENGTH: Final[Units] = {
    **_same("m", "metres", "meters"),
    "km": Scale(1000.0),
    **dict.fromkeys(("ft", "feet"), Scale(0.3048)),
    **dict.fromkeys(("mi", "miles"), Scale(1609.344)),
}
ANGLE: Final[Units] = {
    **_same("deg", "°", "degrees", "degree", "unitdegreofarc"),
    "rad": Scale(57.29577951308232),
}
ACCELERATION: Final[Units] = {
    **_same("g", "gs", "unitforceofgravi"),
    **dict.fromkeys(
        ("m/s2", "m/s²", "m/s^2", "m/s/s", "mps2", "ms2", "unitmeterperseconsquar"),
        Scale(1 / 9.80665),
    ),
}
FRACTION: Final = "fraction"
"""Of 1; a percentage without a unit that stays within `_FRACTIONS` is one too."""
PERCENT: Final[Units] = {
    **_same("%", "pct", "percent", "unitpercent"),
    **dict.fromkeys((FRACTION, "0-1", "0..1"), Scale(100.0)),
}
_FRACTIONS: Final = (0.2, 1.05)
"""The largest value of a pedal that was used and runs from 0 to 1."""
ROTATION: Final[Units] = _same(
    "rpm", "1/min", "r/min", "min-1", "u/min", "tr/min", "revs/min", "unitminutinver"
)
TURNING: Final[Units] = {
    **_same("deg/s", "°/s", "dps", "degrees/s", "deg/sec", "degs", "unitdegreofarcpersecon"),
    "rad/s": ANGLE["rad"],
}
VOLTAGE: Final[Units] = {**_same("v", "volt", "volts"), "mv": Scale(0.001)}
RATIO: Final[Units] = _same("lambda", "la")
COUNT: Final[Units] = _same("gear", "#", "count", "laps", "lap", "sats")
SWITCH: Final[Units] = _same("bool", "boolean", "on/off", "0/1")
MILLISECONDS: Final[Units] = {}
_KMH: Final = _times(SPEED, KMH)
_KPA: Final = _times(PRESSURE, 100.0)
KINDS: Final = (
    SPEED, PRESSURE, TEMPERATURE, LENGTH, ANGLE, ACCELERATION, PERCENT, ROTATION, TURNING, VOLTAGE,
    RATIO, COUNT, SWITCH, _same("l", "litre", "liter", "gal"), _same("afr", "a/f"),
    _same("nm", "unitnewtometer", "unitcentinewtometer"),
)  # fmt: skip
"""The known units of each kind of quantity."""
NATURAL: Final = (ROTATION, PERCENT, ANGLE, ACCELERATION, LENGTH, COUNT, SWITCH)
"""Kinds whose unit goes without saying: 1/min, %, degrees, g, m, a number, on or off."""

BUS_STATED: Final = (PRESSURE,)
"""Kinds that a bus must state the unit of: without one they are usually raw counts."""


def normalise_unit(text: str) -> str:
    """Normalise a unit for comparison."""
    return re.sub(r"[\s_\[\]()]+", "", text.casefold())


class Signal(NamedTuple):
    """A signal of the bridge: names of its channels, and the units they come in."""

    units: Units
    names: Mapping[str, int]
    """Rank of each name (as `normalise_name`); 0 is the best."""
    stated: frozenset[str] = frozenset()
    """Names that count only where the source states a unit of this kind."""
    usual: str = ""
    """The unit of a channel that states none; empty: the bridge's unit."""
    credible: float = np.inf
    """The magnitude, in the bridge's unit, that nearly all values stay below."""
    steady: bool = False
    """Whether a sound channel may stay constant for a whole drive."""


_WORDS: Final = re.compile(r"[^\W\d_a-z]+(?=[^\W\d_a-z][a-z])|[^\W\d_a-z]?[a-z]+|[^\W\d_a-z]+|\d+")
"""Words of a name, also in camelCase."""
_SHORT: Final = 4
"""Names of at most this many letters keep their word breaks: ``lon_g`` is not ``long``."""


def normalise_name(name: str) -> str:
    """Normalise a name for comparison: letters and digits, in lower case."""
    return _key(_words(name))


def _words(name: str) -> list[str]:
    """Split a name into words in lower case, without accents."""
    if not name.isascii():
        name = "".join(char for char in normalize("NFKD", name) if not combining(char))
    return [word.casefold() for word in _WORDS.findall(name)]


def _key(words: Sequence[str]) -> str:
    key = "".join(words)
    return key if len(key) > _SHORT else "_".join(words)


def _signal(
    units: Units, names: str, usual: str = "", credible: float = np.inf, *, steady: bool = False
) -> Signal:
    """*names*: best first; a name with a question mark counts only with a stated unit."""
    words = names.split()
    ranks: dict[str, int] = {}
    for rank, word in enumerate(words):
        ranks.setdefault(normalise_name(word), rank)
    stated = frozenset(normalise_name(word) for word in words if word.endswith("?"))
    return Signal(units, ranks, stated, usual, credible, steady)


WIDE_TABLE: Final[Mapping[str, Signal]] = {
    "speed_ms": _signal(
        SPEED,
        "velocity gps_speed speed_gps ground_speed speed_over_ground speed vehicle_speed speed_ms "
        "veh_speed veh_spd vehspd car_speed ecu_vehicle_speed velo speed_vehicle vehicle_spd "
        "vehicle_speed_sensor vss xmission_speed di_vehicle_speed vehicle_velocity "
        "cf_clu_vehicle_speed esp_v_signal speedometer? vs? kmh kph mph "
        "geschwindigkeit gps_geschwindigkeit vitesse vitesse_gps velocidad velocidad_gps",
        "km/h",
    ),
    "g_lat": _signal(
        ACCELERATION,
        "indicated_lateral_acceleration lateral_acceleration latacc lateral_acc latg lateral_g "
        "g_lat lat_g glat lat_acc lateralacc accel_lat acc_lat lateral_accel lat_accel g_force_lat "
        "lateral_g_force cg_accel_lateral accel_lateral acceleration_lateral accy_can "
        "vehicle_lateral_acceleration lateral_acceleration_sensor esp_querbeschleunigung "
        "querbeschleunigung acceleration_laterale aceleracion_lateral g_force_y ay?",
        credible=8.0,
    ),
    "g_long": _signal(
        ACCELERATION,
        "indicated_longitudinal_acceleration longitudinal_acceleration longacc longitudinal_acc "
        "longg longitudinal_g g_long long_g long_acc lon_g inlineacc accel_long acc_long "
        "inline_accel inline_acc inline_acceleration longitudinalacc longitudinal_accel long_accel "
        "longaccel lonacc lon_acc lon_accel lineacc line_acc g_force_long g_lon "
        "longitudinal_g_force cg_accel_longitudinal accel_longitudinal acceleration_longitudinal "
        "inline_g lineal_g accx_can vehicle_longitudinal_acceleration esp_laengsbeschl "
        "langsbeschleunigung laengsbeschleunigung acceleration_longitudinale "
        "aceleracion_longitudinal g_force_x ax?",
        credible=8.0,
    ),
    "combo_g": _signal(
        ACCELERATION,
        "comboacc combo_g combinedg combined_acc combined_g g_combined g_force_combined g_sum "
        "total_g",
        credible=10.0,
    ),
    "brake_bar": _signal(
        PRESSURE,
        "brake_pressure brake_pressure_front brakepress brake_bar brake_press brake_press_bar "
        "brake_press_front front_brake_pressure brake_pres_front brake_pres brake_prs "
        "f_brake_press front_brake_press front_brake brake_pressure_f f_brake_pressure brake_p "
        "frontbrake "
        "brk_press_f brk_press brake_press_f brakepress_f brake_circuit_pressure p_brake_f "
        "pbrake_f p_brake_front brake_line_pressure brake_line_press lf_brake_line_press "
        "brake_pressure_fl brake_press_fl master_cylinder_pressure brake_master_cylinder_pressure "
        "brake_pressure_driver driver_brake_pressure esp_bremsdruck brakes_front brake? brk? "
        "bremsdruck pression_frein pression_de_frein pression_freins presion_freno "
        "presion_de_freno",
        "bar",
        300.0,
    ),
    "throttle_pct": _signal(
        PERCENT,
        "throttle_position throttle tps accelerator_pedal_position throttle_pedal accelerator_pos "
        "throttle_pos throttle_pct throttle_position_1 tps_1 tps1 accelerator_pedal "
        "accelerator_position accel_pedal_position "
        "accel_pedal_pos accel_pedal accel_pos gas_pedal_position gas_pedal_pos gas_pedal "
        "pedal_position pedal_pos throttle_pedal_position throttle_pedal_pos pps app aps "
        "accelerator pedal_gas di_accel_pedal_pos obd_abs_pedal_pos accelerator_pedal_position_d "
        "accelerator_pos_d mo_fahrpedalrohwert_01 ath "
        "absolute_throttle_position obd_abs_throttle_pos percentage_throttle_load "
        "relative_throttle_position gas? gaspedal gaspedalstellung fahrpedal drosselklappe "
        "accelerateur pedale_accelerateur papillon acelerador",
        "%",
        130.0,
    ),
    "steering_deg": _signal(
        ANGLE,
        "steering_angle steering steerangle steering_deg steering_wheel_angle steered_angle "
        "steer_wheel_angle steering_pos steering_position steerpos steer_pos steer_ang strang swa "
        "sas_angle steer lenkwinkel lenkradwinkel angle_volant angle_du_volant angulo_volante "
        "angulo_del_volante",
        "deg",
    ),
    "rpm": _signal(
        ROTATION,
        "engine_speed rpm engine_rpm eng_speed eng_spd eng_rpm engine_revs revs rpms nmot "
        "motor_rpm engine_rev n_engine n_mot mo_drehzahl_01 drehzahl motordrehzahl regime "
        "regime_moteur revoluciones",
        "rpm",
        25_000.0,
    ),
    "lat": _signal(
        ANGLE,
        "lat latitude gps_latitude gps_lat vbox_lat_min breitengrad breite latitud",
        steady=True,
    ),
    "lon": _signal(
        ANGLE,
        "lon long lng longitude gps_longitude gps_lon gps_long vbox_long_minutes langengrad "
        "laengengrad lange laenge longitud",
        steady=True,
    ),
    "distance_m": _signal(
        LENGTH,
        "distance_m lap_distance lap_dist lapdist laptrigger_lapdist_dls distance_lap "
        "distance_round_track distance_in_lap distance_traveled distance_travelled corr_dist "
        "distance dist",
    ),
}
"""Signals that are columns of the frames."""


def _wheels() -> dict[str, Signal]:
    signals = {}
    for wheel, other, long in (
        ("fl", "lf", "front_left"),
        ("fr", "rf", "front_right"),
        ("rl", "lr", "rear_left"),
        ("rr", "rr", "rear_right"),
    ):
        speeds = (
            "wheel_speed_{0} wheel_{0} ws_{0} wheelspeed_{0} whl_spd_{0} {0}_wheel_speed {0}_speed "
        )
        tyres = (
            "tpms_{0} tpms_press_{0} tyre_pressure_{0} tire_pressure_{0} tire_press_{0} "
            "tyre_press_{0} "
        )
        for name, words, kind, usual in (
            (f"wheel_speed_{wheel}_kmh", speeds, _KMH, "km/h"),
            (f"tpms_{wheel}_kpa", tyres, _KPA, "kpa"),
        ):
            spellings = "".join(words.format(place) for place in (wheel, other, long))
            signals[name] = _signal(
                kind, f"{name} {spellings}", usual, steady=name.startswith("tpms")
            )
    return signals


TALL_TABLE: Final[Mapping[str, Signal]] = {
    "lap_number": _signal(
        COUNT,
        "lap_number lap lap_no lap_num lap_nr laps lap_count lap_counter current_lap session_lap "
        "lap_index laps_completed runde rundennummer tour vuelta",
        steady=True,
    ),
    "brake_switch": _signal(
        SWITCH,
        "brake_switch brake_sw brk_sw brake_pressed brake_light brake_lights brake_light_switch "
        "brake_on brake_contact brake_pedal_switch brake_pedal_pressed brake_pedal_status "
        "brake_status brake_active brake_human driver_brake_switch brake_applied stop_light "
        "gps_brk_on",
        credible=1.0,
    ),
    "brake_position_pct": _signal(
        PERCENT,
        "brake_position_pct brake_position brake_pos brake_pedal_position brake_pedal_pos "
        "brake_pedal brake_pct brake brake_raw bps bremse bremspedal frein pedale_frein freno",
        "%",
        130.0,
    ),
    "coolant_temp_c": _signal(
        TEMPERATURE,
        "coolant_temp_c coolant_temperature coolant_temp engine_coolant_temperature "
        "engine_coolant_temp water_temperature water_temp ect clt",
        "c",
        steady=True,
    ),
    "oil_temp_c": _signal(
        TEMPERATURE,
        "oil_temp_c oil_temperature oil_temp engine_oil_temperature engine_oil_temp eot",
        "c",
        steady=True,
    ),
    "oil_press_bar": _signal(
        PRESSURE,
        "oil_press_bar oil_pressure oil_press engine_oil_pressure engine_oil_press",
        "bar",
        steady=True,
    ),
    "fuel_level_pct": _signal(
        PERCENT, "fuel_level_pct fuel_level fuel_lev fuel_tank_level", steady=True
    ),
    "battery_v": _signal(
        VOLTAGE,
        "battery_v battery_voltage external_voltage batt_voltage vbat batt_volt",
        "v",
        steady=True,
    ),
    "heading_deg": _signal(
        ANGLE, "heading_deg heading bearing course gps_heading gps_course", steady=True
    ),
    "altitude_m": _signal(LENGTH, "altitude_m height altitude alt elevation", steady=True),
    "satellites": _signal(COUNT, "satellites sats gps_nsat nsat", steady=True),
    "vert_vel_ms": _signal(
        SPEED, "vert_vel_ms vert_vel vertical_velocity velocity_vertical", "m/s", steady=True
    ),
    "avitime_ms": _signal(MILLISECONDS, "avitime_ms avitime avisynctime", steady=True),
    "intake_air_temp_c": _signal(
        TEMPERATURE,
        "intake_air_temp_c iat intake_air_temperature intake_air_temp intake_temp",
        "c",
        steady=True,
    ),
    "gear_position": _signal(COUNT, "gear_position gear gear_pos current_gear gear_number"),
    "clutch_pos_pct": _signal(PERCENT, "clutch_pos_pct clutch_position clutch_pos clutch"),
    "yaw_rate_dps": _signal(
        TURNING, "yaw_rate_dps yaw_rate yawrate gyro_yaw chassis_yaw_rate", "deg/s"
    ),
    "lambda": _signal(RATIO, "lambda lambda_1", steady=True),
    **_wheels(),
}
"""Signals stored outside the frames."""
SIGNALS: Final[Mapping[str, Signal]] = {**WIDE_TABLE, **TALL_TABLE}


def _index() -> dict[str, tuple[str, ...]]:
    places: dict[str, list[str]] = {}
    for name, signal in SIGNALS.items():
        for key in signal.names:
            places.setdefault(key, []).append(name)
    return {key: tuple(names) for key, names in places.items()}


_INDEX: Final = _index()
"""The signals that a name may mean."""
_SOURCES: Final = {
    **dict.fromkeys(("gps", "gnss"), 1),
    **dict.fromkeys(("calc", "calculated"), 2),
    **dict.fromkeys(("can", "canbus", "ecu"), 3),
    **dict.fromkeys(("obd", "obd2", "obdii"), 4),
}
"""Words before or after a name that say where a channel comes from; smaller is better."""
_UNIT_WORDS: Final = frozenset(unit for kind in KINDS for unit in kind)
_BRACKETS: Final = re.compile(r"[\[(]([^\[\]()]*)[\])]")


class _Form(NamedTuple):
    """A name without its words of source and unit."""

    key: str
    units: tuple[str, ...]
    source: int


@functools.lru_cache(maxsize=8192)
def _forms(name: str) -> tuple[_Form, ...]:
    """Return the name as it is, then with its words of source and unit removed one by one."""
    units: tuple[str, ...] = ()
    source = 0
    for inside in _BRACKETS.findall(name):
        source = max(source, _SOURCES.get(normalise_unit(inside), 0))
        if normalise_unit(inside) in _UNIT_WORDS:
            units += (normalise_unit(inside),)
    plain = _BRACKETS.sub(" ", name).strip()
    last = re.split(r"[\s_]+", plain)[-1]
    is_unit = normalise_unit(last) in _UNIT_WORDS and not last.isalnum()  # with signs, as m/s
    if is_unit and len(last) < len(plain):
        units += (normalise_unit(last),)
        plain = plain[: -len(last)]
    words = _words(plain)
    if words and words[0] in SPEED and len(words) == 1:  # a speed named by its unit
        units += (words[0],)
    forms = [_Form(normalise_name(name), units, 0), _Form(_key(words), units, source)]
    while len(words) > 1:
        if words[-1] in _SOURCES or words[0] in _SOURCES:
            at = -1 if words[-1] in _SOURCES else 0
            source = max(source, _SOURCES[words.pop(at)])
        elif words[-1] in _UNIT_WORDS:
            units += (words.pop(),)
        else:
            break
        forms.append(_Form(_key(words), units, source))
    return tuple(dict.fromkeys(forms))


class Profile(NamedTuple):
    """The statistics of a channel's values."""

    constant: bool = False
    dead: bool = False
    """Constant for `DEAD_S` or longer."""
    levels: int = 0
    """Roughly how many different values it has: the finer channel is the better one."""
    usual: float = 0.0
    """The magnitude that nearly all values stay below."""
    most: float = 0.0
    """The largest value."""
    share: float = 1.0
    """The share of the recording for which it has a value."""


UNSEEN: Final = Profile()


def describe(samples: Samples, share: float = 1.0) -> Profile:
    """Compute the profile of a channel; *samples* by time."""
    t, value = samples
    if not len(value):
        return Profile(constant=True, share=0.0)
    few = value[:: max(1, len(value) // _SAMPLED)]
    constant = bool((value == value[0]).all())
    return Profile(
        constant,
        constant and bool(t[-1] - t[0] >= DEAD_S),
        len(np.unique(few)),
        float(np.percentile(np.abs(few), _USUAL)),
        float(value.max()),
        share,
    )


class Channel(NamedTuple):
    """A channel as its source has it."""

    name: str
    unit: str = ""
    purpose: str = ""
    """Its purpose or full name according to the source, often with a unit."""
    profile: Profile = UNSEEN


BY_TABLE: Final = ("name", "purpose")
"""Why a channel was chosen, where the table decided."""
GIVEN: Final = "given"
KEPT: Final = "kept"
BY_CAR: Final = "car"
"""Why it was chosen, where the importer, an earlier import or the car file decided."""


class Match(NamedTuple):
    """The channel that a signal is taken from."""

    signal: str
    channel: str
    """Empty: none."""
    scale: Scale = SAME
    unit: str = ""
    """The unit the channel is read in; empty: that of the signal."""
    why: str = "name"
    """One of `BY_TABLE`, or `GIVEN`, `KEPT` or `BY_CAR`."""
    assumed: bool = False
    """The source states no unit."""
    others: tuple[str, ...] = ()
    """Other candidates, best first."""
    dead: tuple[str, ...] = ()
    """Candidates that never change."""

    def convert(self, samples: Samples) -> Samples:
        """Convert samples of the channel to the unit of the signal."""
        return Samples(samples.t, self.scale(samples.value))

    def report(self) -> Mapped:
        """Return the match as the importer sees it."""
        why = "none" if not self.channel and self.why in BY_TABLE else self.why
        return Mapped(self.channel or None, self.unit, self.assumed, why, self.others, self.dead)


class Choice(NamedTuple):
    """A person's choice for a signal: ``channel``, ``channel:unit`` or ``none``."""

    text: str
    why: str = GIVEN


class BadMapping(ValueError):
    """A mapping names an unknown signal, channel or unit; the text lists the known ones."""

    def __init__(self, message: str, signal: str) -> None:
        super().__init__(message)
        self.signal = signal


class _Candidate(NamedTuple):
    rank: tuple[int, int, int]
    channel: Channel
    scale: Scale
    unit: str
    assumed: bool
    why: str


Stated = Sequence[Units]
"""Kinds of quantity that count only with a stated unit."""


def match_channels(
    channels: Sequence[Channel], choices: Mapping[str, Choice] | None = None, stated: Stated = ()
) -> dict[str, Match]:
    """Find the channel of each signal by `SIGNALS`; signals without a candidate are left out.

    A candidate has a name or purpose of the table, no unit of another kind, and credible values.
    Of several candidates, constant ones come last, then sparse ones; the others are ordered by
    name before purpose, the rank in the table, and resolution. A dead channel does not count if
    the speed shows that the car moved. *choices* override the table; raises `BadMapping`.
    """
    chosen = {
        signal: _choose(channels, signal, choice) for signal, choice in (choices or {}).items()
    }
    used = {match.channel for match in chosen.values() if match.channel}
    candidates: dict[str, list[_Candidate]] = {}
    for channel in channels:
        for signal, candidate in _candidates(channel, stated):
            candidates.setdefault(signal, []).append(candidate)
    matches = dict(chosen)
    for signal in SIGNALS:
        if signal not in chosen and signal in candidates:
            free = [option for option in candidates[signal] if option.channel.name not in used]
            if free:
                matches[signal] = _best(signal, free)
                used.add(matches[signal].channel)
        elif signal in candidates:
            names = (option.channel.name for option in sorted(candidates[signal], key=_rank))
            others = tuple(name for name in names if name != chosen[signal].channel)
            matches[signal] = chosen[signal]._replace(others=others)
    return _drop_dead(matches, {channel.name: channel.profile for channel in channels})


def _rank(candidate: _Candidate) -> tuple[int, int, int]:
    return candidate.rank


def _best(signal: str, candidates: Sequence[_Candidate]) -> Match:
    fullest = max(option.channel.profile.share for option in candidates)

    def order(option: _Candidate) -> tuple[object, ...]:
        profile = option.channel.profile
        sparse = profile.share < _SPARSE * fullest
        return profile.constant, sparse, option.rank, -profile.levels

    best, *rest = sorted(candidates, key=order)
    dead = tuple(option.channel.name for option in candidates if option.channel.profile.dead)
    others = tuple(option.channel.name for option in rest if option.channel.name not in dead)
    return Match(
        signal, best.channel.name, best.scale, best.unit, best.why, best.assumed, others, dead
    )


def _drop_dead(matches: dict[str, Match], profiles: Mapping[str, Profile]) -> dict[str, Match]:
    """The speed shows whether the car moved, and always stays."""
    speed = matches.get(_SPEED)
    if speed is None or not speed.channel:
        return matches
    if profiles[speed.channel].usual * speed.scale.factor <= _DRIVING_MS:
        return matches
    return {
        signal: match._replace(channel="", unit="", assumed=False)
        if match.channel in match.dead
        and match.why in BY_TABLE
        and signal != _SPEED
        and not SIGNALS[signal].steady
        else match
        for signal, match in matches.items()
    }


def _candidates(channel: Channel, stated: Stated) -> Iterator[tuple[str, _Candidate]]:
    """Yield the signals that a channel may carry."""
    seen: set[str] = set()
    for second, text in enumerate((channel.name, channel.purpose)):
        for form in _forms(text) if text else ():
            for name in _INDEX.get(form.key, ()):
                signal = SIGNALS[name]
                read = _unit(channel, signal, form)
                if name in seen or read is None:
                    continue
                unit, scale = read
                if not unit and (form.key in signal.stated or _is_open(channel, signal, stated)):
                    continue
                unit_text = unit or _usual_unit(signal, channel.profile)
                scale = scale if unit else signal.units.get(unit_text, SAME)
                usual = abs(scale(np.array([channel.profile.usual]))[0])
                if usual > signal.credible:
                    continue
                seen.add(name)
                rank = (second, signal.names[form.key], form.source)
                why = "purpose" if second else "name"
                yield name, _Candidate(rank, channel, scale, unit_text, not unit, why)


def _is_open(channel: Channel, signal: Signal, stated: Stated) -> bool:
    """Whether a required unit is missing; on a bus, an unknown unit counts as missing."""
    unknown = bool(stated and normalise_unit(channel.unit)) and len(set(signal.units.values())) > 1
    return unknown or signal.units in stated


def _usual_unit(signal: Signal, profile: Profile) -> str:
    """Return the unit of a channel that states none."""
    low, high = _FRACTIONS
    fraction = signal.units is PERCENT and low < profile.most <= high
    return FRACTION if fraction else signal.usual


def _unit(channel: Channel, signal: Signal, form: _Form) -> tuple[str, Scale] | None:
    """Return the stated unit with its scale, or an empty one; None: a unit of another kind."""
    shown = {normalise_unit(unit): unit.strip(" []()") for unit in (*form.units, channel.unit)}
    last = [unit for text in (channel.name, channel.purpose) for unit in _forms(text)[-1].units]
    for unit in (*form.units, *last, normalise_unit(channel.unit)):
        if unit in signal.units:
            return shown.get(unit, unit), signal.units[unit]
    other = any(unit in _UNIT_WORDS for unit in (*form.units, normalise_unit(channel.unit)))
    return None if other else ("", SAME)


def choose_own_names(names: Iterable[str], made: Set[str]) -> dict[str, Choice]:
    """Choose the channels that already have the name of a signal, *made* by the car file or not.

    Except the distance of a bus: it is kept next to the computed distance.
    """
    own = (name for name in names if name in SIGNALS and name != "distance_m")
    return {name: Choice(name, BY_CAR if name in made else "name") for name in own}


def can_choose(channels: Sequence[Channel], signal: str, choice: Choice) -> bool:
    """Whether the signal, the channel and the unit of a choice exist."""
    try:
        _choose(channels, signal, choice)
    except BadMapping:
        return False
    return True


def _choose(channels: Sequence[Channel], signal: str, choice: Choice) -> Match:
    if signal not in SIGNALS:
        raise BadMapping(f"unknown signal {signal}; known are {', '.join(SIGNALS)}", signal)
    kind = SIGNALS[signal]
    text = choice.text.strip()
    if text == NONE:
        return Match(signal, "", why=choice.why)
    channel, unit = _find_channel(channels, text), ""
    if channel is None:
        text, _, unit = text.rpartition(":")
        channel = _find_channel(channels, text)
    if channel is None:
        names = ", ".join(channel.name for channel in channels)
        raise BadMapping(f"{signal}: unknown channel {choice.text}; known are {names}", signal)
    if unit and normalise_unit(unit) not in kind.units:
        raise BadMapping(f"{signal}: the unit must be one of {', '.join(kind.units)}", signal)
    read = _unit(channel._replace(unit=unit or channel.unit), kind, _forms(channel.name)[-1])
    if unit:
        return Match(signal, channel.name, kind.units[normalise_unit(unit)], unit, choice.why)
    if read is not None and read[0]:
        return Match(signal, channel.name, read[1], read[0], choice.why)
    if channel.name == signal:
        return Match(signal, signal, why=choice.why)
    usual = _usual_unit(kind, channel.profile)
    scale = kind.units.get(usual, SAME)
    return Match(signal, channel.name, scale, usual, choice.why, assumed=True)


def _find_channel(channels: Sequence[Channel], name: str) -> Channel | None:
    """Find a channel by name, if need be regardless of case and signs."""
    exact = next((channel for channel in channels if channel.name == name), None)
    key = normalise_name(name)
    near = (channel for channel in channels if name and normalise_name(channel.name) == key)
    return exact or next(near, None)


class NamedSignal(NamedTuple):
    """The signal that a name means; the better name sorts first."""

    rank: tuple[int, int, int]
    name: str
    scale: Scale


_OPEN: Final = tuple(kind for kind in KINDS if not any(kind is other for other in NATURAL))


@functools.lru_cache(maxsize=8192)
def find_signal(name: str) -> NamedSignal | None:
    """Return the signal of numbers that are known by their *name* alone.

    None if the table does not have the name, or if the name leaves the unit open.
    """
    for signal, candidate in _candidates(Channel(name), stated=_OPEN):
        return NamedSignal(candidate.rank, signal, candidate.scale)
    return None
