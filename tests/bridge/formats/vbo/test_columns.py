"""Names and units of files become signals of the bridge, and no number is lost."""

import numpy as np
import pytest

from runtime.bridge.formats.column_mapping import align_texts, make_unique
from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import Recording
from tests.bridge.formats.vbo.vbokit import read


def file_of(names: str, rows: str, head: str = "") -> Recording:
    return read(f"{head}\n[column names]\n{names}\n[data]\n{rows}\n".encode())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a", "b"], ("", "", "a", "b")),
        (["", "a", "(null)", "b", "", ""], ("", "a", "", "b")),
        (["x", "y", "z", "a", "b"], ("y", "z", "a", "b")),
        (["a b c d"], ("a", "b", "c", "d")),
        (["a b c"], ("", "", "", "a b c")),
        ([], ("",) * 4),
    ],
)
def test_units_belong_to_the_last_columns(lines: list[str], expected: tuple[str, ...]) -> None:
    assert align_texts(lines, 4) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ("a", "b")),
        (["a", "A", "a"], ("a", "A_2", "a_3")),
        (["a", "a_2", "a"], ("a", "a_2", "a_3")),
        (["a", "a", "a_2"], ("a", "a_3", "a_2")),
    ],
)
def test_names_of_a_kind_get_a_number(names: list[str], expected: tuple[str, ...]) -> None:
    assert make_unique(names) == expected


def test_the_first_name_of_the_list_wins_and_the_others_stay() -> None:
    recording = file_of(
        "time Brake_Pressure_Front Brake_Pressure rpm Engine_Speed", "1 2 3 4 5\n2 2 3 4 5"
    )
    assert recording.frames.columns["brake_bar"][0] == 3.0
    assert recording.frames.columns["rpm"][0] == 5.0
    assert recording.signals["Brake_Pressure_Front"].value[0] == 2.0
    assert recording.signals["rpm_2"].value[0] == 4.0  # the name of a frame's column is taken
    assert recording.unmapped == ("Brake_Pressure_Front", "rpm_2")


@pytest.mark.parametrize(
    ("name", "value", "signal"),
    [
        ("Steering_Angle", "1024", "steering_deg"),
        ("Steering_Angle", "-501", "steering_deg"),
        ("Gear", "255", "Gear"),
        ("Clutch_Position", "255", "Clutch_Position"),
        ("AFR", "500", "AFR"),
        ("EGT_1", "-50", "EGT_1"),
        ("Vehicle_Speed", "500", "Vehicle_Speed"),
    ],
)
def test_numbers_that_stand_for_no_reading_are_null_and_counted(
    name: str, value: str, signal: str
) -> None:
    recording = file_of(f"time velocity {name}", f"1 0 {value}\n2 9 3\n3 8 {value}")
    wide = recording.frames.columns.get(signal)
    kept = wide[~np.isnan(wide)] if wide is not None else recording.signals[signal].value
    assert kept.tolist() == [3.0]
    assert [(d.code, d.times) for d in recording.doubts if d.code == "sentinel_values"] == [
        ("sentinel_values", 2)
    ]


@pytest.mark.parametrize("name", ["Gearbox_Temp", "Coolant_Temperature"])
def test_the_same_number_of_another_channel_is_a_reading(name: str) -> None:
    recording = file_of(f"time {name}", "1 255\n2 255")
    assert next(iter(recording.signals.values())).value.tolist() == [255.0, 255.0]


def test_speed_in_knots_is_told_by_the_header() -> None:
    head = "[header]\nsatellites\ntime\nvelocity knots\n"
    recording = file_of("time velocity", "1 100\n2 100", head)  # one line too many for alignment
    assert recording.frames.columns["speed_ms"][0] == pytest.approx(51.4444, rel=1e-4)


def test_columns_of_variant_b_may_have_blanks_in_their_names() -> None:
    data = b"[channel names]\ntime,Wheel Speed FL,Velocity\n[data]\n0.0,5,36\n0.1,6,36\n"
    recording = read(data)
    assert recording.signals["Wheel_Speed_FL"].value.tolist() == [5.0, 6.0]
    assert recording.frames.columns["speed_ms"][0] == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no .data. section"),
        (b"[header]\ntime\n[column names]\ntime\n", "no .data. section"),
        (b"[header]\ntime\n[data]\n1\n", "names no columns"),
        (b"[column names]\n\n[data]\n1\n", "names no columns"),
        (b"[column names]\ntime v\n[data]\n", "no rows"),
        (b"[column names]\ntime v\n[data]\n1\n1 2 3\n", "no row can be read"),
        (b"[column names]\nv w\n[data]\n1 2\n", "no time column"),
        (b"[column names]\ntime v\n[data]\n-1 2\n", "no row of the file has a time"),
        (b"[column names]\n" + b"c " * 257 + b"\n[data]\n1\n", "more than 256 columns"),
        (b"x" * 70_000, "longer than 65536"),
        (b"x" * 1000 + b"\n", "no .data. section"),
        ((b"x" * 1000 + b"\n") * 2000 + b"[data]\n1\n", "no .data. section"),
    ],
)
def test_a_file_without_what_is_needed_is_refused_in_words(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableRecording, match=message):
        read(data)


def test_sections_come_in_any_order_and_case() -> None:
    data = (
        b"\xef\xbb\xbf[COMMENTS]\r\n hello \r\n[Odd One]\r\n1\r\n"
        b"[Column  Names]\r\ntime velocity \r\n"
        b"[HEADER]\r\ntime\r\nvelocity knots\r\n[DATA]\r\n\r\n1 10\r\n2 10\r\n"
    )
    recording = read(data)
    assert recording.comments == ("hello",)
    assert recording.frames.columns["speed_ms"][0] == pytest.approx(5.14444, rel=1e-4)


def test_counted_laps_and_gears_keep_their_own_name_beside_that_of_the_signal() -> None:
    recording = file_of("time Lap_Number Gear", "1 3 2\n2 4 3")
    assert recording.signals["lap_number"].value.tolist() == [3.0, 4.0]
    assert recording.signals["gear_position"].value.tolist() == [2.0, 3.0]
    assert recording.unmapped == ("Lap_Number", "Gear")
