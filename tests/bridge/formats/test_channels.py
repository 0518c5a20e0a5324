"""Channels are known by name, unit and function, and only where these agree."""

import numpy as np
import pytest

from runtime.bridge.formats.channels import ChannelStats as Stats
from runtime.bridge.formats.channels import convert, describe, match_columns
from runtime.bridge.session.recording import Samples


def column(channels: dict[str, Stats], name: str) -> str:
    """Which channel fills a column."""
    found = {one.column: one.channel for one in match_columns(channels).columns}
    return found.get(name, "")


@pytest.mark.parametrize(
    ("name", "unit", "function", "filled"),
    [
        ("PEDAL_POS", "%", "", "throttle_pct"),
        ("Foo", "%", "Percentage Throttle Load", "throttle_pct"),
        ("TPS", "V", "", ""),
        ("TPS", "mV", "", ""),
        ("TPS", "deg", "", ""),
        ("Foo", "bar", "Brake Circuit Pressure", "brake_bar"),
        ("Brake Press", "%", "", ""),
        ("brake_press", "psi", "", "brake_bar"),
        ("Foo", "deg", "Steering Angle", "steering_deg"),
        ("Steering", "deg/s", "", ""),
        ("Foo", "g", "Lateral Acceleration", "g_lat"),
        ("Foo", "deg/s", "Lateral Acceleration", ""),
        ("Foo", "g", "Inline Acceleration", "g_long"),
        ("Foo", "rpm", "Engine RPM", "rpm"),
        ("Foo", "", "", ""),
        ("Foo", "", "Number", ""),
        ("RPM", "turns", "", "rpm"),  # a unit that nobody knows is no reason against a name
    ],
)
def test_a_channel_fills_the_column_that_it_is(
    name: str, unit: str, function: str, filled: str
) -> None:
    found = match_columns({name: Stats(unit, function)})
    assert [one.column for one in found.columns] == ([filled] if filled else [])


@pytest.mark.parametrize(
    ("channels", "best"),
    [
        ({"TPS": Stats("%"), "Foo": Stats("%", "Percentage Throttle Load", levels=9)}, "TPS"),
        ({"TPS": Stats("%", dead=True), "Foo": Stats("%", "Percentage Throttle Load")}, "Foo"),
        ({"TPS": Stats("V"), "Foo": Stats("%", "Percentage Throttle Load")}, "Foo"),
        ({"pps": Stats("%"), "throttle": Stats("%")}, "throttle"),
        (
            {
                "a": Stats("%", "Percentage Throttle Load", levels=3),
                "b": Stats("%", "Percentage Throttle Load", levels=90),
            },
            "b",
        ),
        ({"TPS": Stats("%", dead=True)}, "TPS"),
        ({"TPS": Stats("%", dead=True), "speed": Stats("m/s", most=9.0)}, ""),
        ({"TPS": Stats("%", dead=True), "speed": Stats("km/h", most=9.0)}, "TPS"),
    ],
)
def test_the_best_of_several_is_taken(channels: dict[str, Stats], best: str) -> None:
    assert column(channels, "throttle_pct") == best


@pytest.mark.parametrize(
    ("name", "unit", "signal", "value"),
    [
        ("ECT", "F", "coolant_temp_c", 100.0),
        ("Oil Temp", "C", "oil_temp_c", 212.0),
        ("WHEEL_RL", "m/s", "wheel_speed_rl_kmh", 212 * 3.6),
        ("wheel_speed_lf", "km/h", "wheel_speed_fl_kmh", 212.0),
        ("tire_pressure_rr", "bar", "tpms_rr_kpa", 21_200.0),
        ("Gear", "", "gear_position", 212.0),
        ("Fuel Level", "l", "", 0.0),
        ("Fuel Level", "%", "fuel_level_pct", 212.0),
        ("yaw_rate", "rad/s", "yaw_rate_dps", 12_146.705),
        ("Lambda 1", "afr", "", 0.0),
    ],
)
def test_signals_of_the_catalog_are_known(name: str, unit: str, signal: str, value: float) -> None:
    found = match_columns({name: Stats(unit)}).signals
    assert [one.column for one in found] == ([signal] if signal else [])
    if signal:
        told_value = convert(found[0], Samples(np.zeros(1), np.full(1, 212.0))).value[0]
        assert told_value == pytest.approx(value)


def test_what_is_there_under_its_own_name_is_not_guessed() -> None:
    channels = {"oil_temp_c": Stats("C"), "Oil Temp": Stats("C"), "rpm": Stats(), "RPM 2": Stats()}
    assert match_columns(channels).signals == ()
    assert match_columns(channels).columns == ()


@pytest.mark.parametrize(
    ("values", "seconds", "dead"),
    [([1.0] * 100, 60.0, True), ([1.0] * 100, 59.0, False), ([1.0] * 99 + [2.0], 60.0, False)],
)
def test_a_channel_that_never_changes_is_dead(
    values: list[float], seconds: float, dead: bool
) -> None:
    assert describe(Samples(np.linspace(0, seconds, 100), np.array(values))).dead is dead


def test_facts_tell_what_was_chosen_and_what_not() -> None:
    many = {f"p{n}": Stats("bar", "Brake Circuit Pressure", levels=n) for n in range(7)}
    facts = match_columns(many).facts()
    assert facts["columns"] == "brake_bar from p6"
    assert facts["choices"] == "brake_bar: p6 (rather than p5, p4, p3, p2 and 2 more)"
    assert match_columns({}).facts() == {"columns": "none"}
