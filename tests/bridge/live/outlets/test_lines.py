"""Line protocol: every name and text comes through, or something that is near it."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.live.outlets.influx import to_line
from runtime.bridge.live.outlets.points import Point, Value

WORDS = [
    ("Mia", "Mia"),
    ("Mia Hansen, Jr.", r"Mia\ Hansen\,\ Jr."),
    ("a=b", r"a\=b"),
    ('"Ace"', '"Ace"'),
    ("Müller Ⅳ 🏎", r"Müller\ Ⅳ\ 🏎"),
    ("two\nlines\r\t\0", r"two\ lines"),
    ("back\\slash\\", "back/slash/"),
    ("half \ud83d pair", r"half\ \ \ pair"),
    ("x 1i\ntelemetry lap=9 1", r"x\ 1i\ telemetry\ lap\=9\ 1"),
]


def line(fields: dict[str, Value], driver: str = "Mia") -> str:
    tags = {"session": "s", "driver": driver}
    return to_line(Point("telemetry", 1_700_000_000_000_000_000, tags, fields)).decode()


@pytest.mark.parametrize(("name", "written"), WORDS, ids=ascii)
def test_a_driver_may_have_any_name(name: str, written: str) -> None:
    told = line({"rpm": 7000.0}, name)
    assert told == f"telemetry,session=s,driver={written} rpm=7000.0 1700000000000000000\n"


@pytest.mark.parametrize("name", ["", " ", "\n", "\0"])
def test_a_tag_that_says_nothing_is_left_out(name: str) -> None:
    assert line({"rpm": 1.0}, name).startswith("telemetry,session=s rpm=1.0 ")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.0, "1.0"),
        (-0.1, "-0.1"),
        (1e-7, "1e-07"),
        (1e300, "1e+300"),
        (True, "true"),
        (False, "false"),
        ("", '""'),
        ('He said "brake", now=late', r'"He said \"brake\", now=late"'),
        ("C:\\tracks\\", r'"C:\\tracks\\"'),
        ("two\nlines", '"two lines"'),
        ("später", '"später"'),
    ],
    ids=ascii,
)
def test_a_value_is_written_in_its_type(value: Value, written: str) -> None:
    assert line({"x": value}) == f"telemetry,session=s,driver=Mia x={written} 1700000000000000000\n"


def test_what_is_not_finite_was_not_recorded() -> None:
    assert " rpm=1.0 " in line({"rpm": 1.0, "a": math.nan, "b": math.inf, "c": -math.inf})
    assert line({"a": math.nan}) == ""


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("time", "time_"),
        ("driver", "driver_"),
        ("_field", "field"),
        ("__", "_"),
        ("oil temp, °C", r"oil\ temp\,\ °C"),
        ("a=b", r"a\=b"),
        ("T\\", "T/"),
    ],
    ids=ascii,
)
def test_a_signal_keeps_a_name_that_no_server_refuses(name: str, written: str) -> None:
    assert f" {written}=1.0 " in line({name: 1.0})


LINE = re.compile(
    r"cues,session=s(?:,driver=(?:\\.|[^ ,=\\])+)?"
    r' (?:\\.|[^ ,=\\])+="(?:\\.|[^"\\])*",n=2\.0 1\n'
)


@settings(max_examples=50)
@given(
    driver=st.text(max_size=30),
    signal=st.text(min_size=1, max_size=30).filter(lambda name: name != "n"),
    text=st.text(max_size=30),
)
def test_whatever_is_told_is_one_point_with_its_parts(driver: str, signal: str, text: str) -> None:
    point = Point("cues", 1, {"session": "s", "driver": driver}, {signal: text, "n": 2.0})
    assert LINE.fullmatch(to_line(point).decode())
