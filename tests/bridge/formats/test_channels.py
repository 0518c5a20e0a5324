"""Channels are known by name, unit and values, by one table for every source."""

import numpy as np
import pytest

from runtime.bridge.formats.column_mapping import find_channels
from runtime.bridge.formats.options import Options
from runtime.bridge.session.channels import (
    BUS_STATED,
    SIGNALS,
    BadMapping,
    Channel,
    Choice,
    Profile,
    describe,
    find_signal,
    match_channels,
    normalise_name,
)
from runtime.bridge.session.recording import Samples

LIVES = Profile(levels=50, usual=1.0)
DEAD = Profile(constant=True, dead=True, levels=1)
FAST = Profile(levels=50, usual=9.0)


def match(*channels: Channel) -> dict[str, str]:
    """Which channel each signal is taken from."""
    return {name: match.channel for name, match in match_channels(channels).items()}


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Speed_Limit", "km/h"),
        ("CRUISE_SET_SPEED", "km/h"),
        ("GPS Speed Accuracy", "m/s"),
        ("TPS", "V"),
        ("TPS", "mV"),
        ("ACCEL", "mm"),
        ("Steering", "deg/s"),
        ("Engine Speed", "km/h"),
        ("steering_torque", "Nm"),
        ("Foo", "%"),
        ("ax", ""),
    ],
)
def test_false_friends_are_no_signal(name: str, unit: str) -> None:
    assert match(Channel(name, unit, "", LIVES)) == {}


def test_a_wheel_is_no_speed_of_the_car() -> None:
    assert set(match(Channel("WHEEL_SPEED_FL", "km/h", "", LIVES))) == {"wheel_speed_fl_kmh"}


@pytest.mark.parametrize(
    ("name", "usual"), [("brake_pressed", 40.0), ("throttle", 255.0), ("latacc", 120.0)]
)
def test_values_that_no_car_can_have_speak_against_a_name(name: str, usual: float) -> None:
    assert match(Channel(name, profile=Profile(levels=9, usual=usual))) == {}


@pytest.mark.parametrize(
    ("name", "unit", "signals"),
    [
        ("Laengs", "", set()),
        ("LONG_ACCEL", "Unit_MeterPerSeconSquar", {"g_long"}),
        ("LONG_ACCEL", "furlong/s2", set()),
        ("RPM", "turns", {"rpm"}),
    ],
)
def test_a_unit_of_a_bus_that_nobody_knows_is_not_taken_for_the_usual_one(
    name: str, unit: str, signals: set[str]
) -> None:
    assert set(match_channels([Channel(name, unit)], stated=BUS_STATED)) == signals


def test_a_pressure_of_a_bus_without_a_unit_is_a_raw_count() -> None:
    raw = [Channel("BRAKE_PRESSURE", profile=LIVES)]
    assert match_channels(raw, stated=BUS_STATED) == {}
    assert match_channels(raw)["brake_bar"].assumed


@pytest.mark.parametrize(
    ("channels", "signal", "best"),
    [
        ((Channel("latacc", "g", "", Profile(constant=True, levels=1)),
          Channel("latacc-calc", "g", "", LIVES)), "g_lat", "latacc-calc"),
        ((Channel("latacc", "g", "", LIVES), Channel("latacc-calc", "g", "", LIVES)),
         "g_lat", "latacc"),
        ((Channel("rpm-obd", profile=LIVES), Channel("rpm-canbus", profile=LIVES)),
         "rpm", "rpm-canbus"),
        ((Channel("throttle", "%", "", LIVES._replace(share=0.1)),
          Channel("accelerator_pos", "%", "", LIVES)), "throttle_pct", "accelerator_pos"),
        ((Channel("TPS", "%", "", LIVES), Channel("Foo", "%", "Percentage Throttle Load", FAST)),
         "throttle_pct", "TPS"),
        ((Channel("a", "%", "Percentage Throttle Load", Profile(levels=3)),
          Channel("b", "%", "Percentage Throttle Load", Profile(levels=90))), "throttle_pct", "b"),
        ((Channel("TPS", "%", "", DEAD),), "throttle_pct", "TPS"),
        ((Channel("TPS", "%", "", DEAD), Channel("speed", "m/s", "", FAST)), "throttle_pct", ""),
        ((Channel("TPS", "%", "", DEAD), Channel("speed", "km/h", "", FAST)),
         "throttle_pct", "TPS"),
        ((Channel("lon_g", "", "", LIVES), Channel("long", "", "", LIVES)), "lon", "long"),
    ],
)  # fmt: skip
def test_the_best_of_several_is_taken(
    channels: tuple[Channel, ...], signal: str, best: str
) -> None:
    assert match(*channels)[signal] == best
    assert match(*channels[::-1])[signal] == best


def test_what_stands_still_for_a_whole_drive_may_be_sound() -> None:
    channels = [Channel("speed", "m/s", "", FAST), *(Channel(n, "", "", DEAD) for n in ("sats",))]
    assert match(*channels)["satellites"] == "sats"
    assert match(Channel("speed", "m/s", "", DEAD._replace(usual=30.0)))["speed_ms"] == "speed"


@pytest.mark.parametrize(
    ("name", "unit", "signal", "value"),
    [
        ("ECT", "F", "coolant_temp_c", 100.0),
        ("Oil Temp", "C", "oil_temp_c", 212.0),
        ("WHEEL_RL", "m/s", "wheel_speed_rl_kmh", 212 * 3.6),
        ("wheel_speed_lf", "km/h", "wheel_speed_fl_kmh", 212.0),
        ("WheelSpeedRearLeft", "km/h", "wheel_speed_rl_kmh", 212.0),
        ("tire_pressure_rr", "bar", "tpms_rr_kpa", 21_200.0),
        ("Gear", "", "gear_position", 212.0),
        ("Fuel Level", "%", "fuel_level_pct", 212.0),
        ("yaw_rate", "rad/s", "yaw_rate_dps", 12_146.705),
        ("brake_press_psi", "", "brake_bar", 212 * 0.0689476),
        ("velocity knots", "", "speed_ms", 212 * 1.852 / 3.6),
        ("MPH", "", "speed_ms", 212 * 0.44704),
        ("Geschwindigkeit (km/h)", "", "speed_ms", 212 / 3.6),
        ("Régime moteur (tr/min)", "", "rpm", 212.0),
        ("Presión de freno (bar)", "", "brake_bar", 212.0),
        ("speed_ms", "", "speed_ms", 212.0),
        ("Accel Lateral", "m/s2", "g_lat", 212 / 9.80665),
    ],
)
def test_values_are_converted_to_the_unit_of_the_signal(
    name: str, unit: str, signal: str, value: float
) -> None:
    match = match_channels([Channel(name, unit)])[signal]
    assert match.convert(Samples(np.zeros(1), np.full(1, 212.0))).value[0] == pytest.approx(value)
    assert not match.assumed or signal == "gear_position"


@pytest.mark.parametrize(("name", "unit"), [("Fuel Level", "l"), ("Lambda 1", "afr")])
def test_another_unit_is_another_quantity(name: str, unit: str) -> None:
    assert match(Channel(name, unit)) == {}


@pytest.mark.parametrize(
    ("values", "seconds", "dead"),
    [([1.0] * 100, 60.0, True), ([1.0] * 100, 59.0, False), ([1.0] * 99 + [2.0], 60.0, False)],
)
def test_a_channel_that_never_changes_is_dead(
    values: list[float], seconds: float, dead: bool
) -> None:
    assert describe(Samples(np.linspace(0, seconds, 100), np.array(values))).dead is dead


@pytest.mark.parametrize(
    ("unit", "most", "factor"), [("", 1.0, 100.0), ("", 80.0, 1.0), ("%", 1.0, 1.0), ("", 0.1, 1.0)]
)
def test_a_pedal_from_0_to_1_is_a_fraction_unless_the_unit_says_otherwise(
    unit: str, most: float, factor: float
) -> None:
    match = match_channels([Channel("Throttle", unit, "", LIVES._replace(most=most))])
    assert match["throttle_pct"].scale.factor == factor


def test_a_person_decides_against_the_table() -> None:
    channels = [
        Channel("velocity", "km/h", "", LIVES), Channel("GroundSpeed", "", "", LIVES),
        Channel("Throttle", "%", "", LIVES), Channel("AuxPedal", "", "", LIVES),
    ]  # fmt: skip
    texts = {
        "speed_ms": "groundspeed:mph",
        "throttle_pct": "none",
        "brake_position_pct": "AuxPedal",
    }
    matches = match_channels(channels, {name: Choice(text) for name, text in texts.items()})
    assert (matches["speed_ms"].channel, matches["speed_ms"].unit) == ("GroundSpeed", "mph")
    assert matches["speed_ms"].scale.factor == 0.44704
    assert matches["throttle_pct"].report().channel is None
    assert matches["throttle_pct"].report().why == "given"
    assert matches["throttle_pct"].others == ("Throttle",)
    assert matches["brake_position_pct"].channel == "AuxPedal"


@pytest.mark.parametrize(
    ("signal", "text", "message"),
    [
        ("speed", "velocity", "known are speed_ms, g_lat"),
        ("speed_ms", "Velo", "known are velocity, rpm:2"),
        ("speed_ms", "velocity:psi", "the unit must be one of kmh"),
        ("rpm", "rpm:2:furlongs", "the unit must be one of rpm"),
    ],
)
def test_a_mapping_that_does_not_fit_names_what_there_is(
    signal: str, text: str, message: str
) -> None:
    with pytest.raises(BadMapping, match=message):
        match_channels([Channel("velocity"), Channel("rpm:2")], {signal: Choice(text)})


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("EngineSpeed", "rpm"),
        ("rpm-obd", "rpm"),
        ("ThrottlePos", "throttle_pct"),
        ("vehicle_speed_kmh", "speed_ms"),
        ("brake_press_psi", "brake_bar"),
        ("latitude", "lat"),
        ("LapDist", "distance_m"),
        ("vehicle_speed", None),  # in which unit?
        ("brake_pressure_front", None),
        ("oil_temp", None),
        ("Lap", "lap_number"),
        ("brake_pressed", "brake_switch"),
        ("cadence", None),
    ],
)
def test_a_number_without_a_unit_is_a_signal_where_its_name_says_enough(
    key: str, column: str | None
) -> None:
    signal = find_signal(key)
    assert (signal.name if signal else None) == column


def test_what_was_kept_counts_as_far_as_the_file_has_the_channels() -> None:
    kept = {"can-1": {"rpm": "ENG_REV2", "throttle_pct": "Aux", "speed_ms": "none"}}
    channels = [Channel("RPM", "rpm", "", LIVES), Channel("Aux", "%", "", LIVES)]
    matches = find_channels(channels, "can-1", Options(kept=kept))
    assert (matches["rpm"].channel, matches["rpm"].why) == ("RPM", "name")
    assert (matches["throttle_pct"].channel, matches["throttle_pct"].why) == ("Aux", "kept")
    assert find_channels(channels, "can-2", Options(kept=kept)).keys() == {"rpm"}


def test_no_name_of_the_table_stands_for_two_signals() -> None:
    keys = [key for signal in SIGNALS.values() for key in signal.names if key not in signal.stated]
    assert len(keys) == len(set(keys))
    assert normalise_name("lon_g") != normalise_name("long")
