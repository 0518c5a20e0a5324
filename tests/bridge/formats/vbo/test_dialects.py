"""Every dialect tells the same drive."""

from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.session.recording import WIDE, Recording
from tests.bridge.formats.vbo.vbokit import (
    ALL_DIALECTS,
    MIDNIGHT,
    NATIVE,
    VARIANT_B,
    Circuit,
    Dialect,
    Drive,
    drive,
    read,
    vbo_bytes,
)


@pytest.fixture(scope="module")
def driven() -> Drive:
    return drive(laps=1.4)


def codes(recording: Recording) -> set[str]:
    return {doubt.code for doubt in recording.doubts}


@pytest.mark.parametrize("name", ALL_DIALECTS)
def test_every_dialect_gives_the_truth_in_the_units_of_the_bridge(name: str, driven: Drive) -> None:
    columns = read(vbo_bytes(driven, ALL_DIALECTS[name])).frames.columns
    assert set(columns) == set(WIDE)
    table = {
        "lat": (driven.lat, 1e-8),
        "lon": (driven.lon, 1e-8),
        "speed_ms": (driven.speed_ms, 3e-4),
        "g_lat": (driven.g_lat, 1e-5),
        "g_long": (driven.g_long, 1e-5),
        "combo_g": (np.hypot(driven.g_lat, driven.g_long), 1e-5),
        "brake_bar": (driven.brake_bar, 1e-4),
        "throttle_pct": (driven.throttle_pct, 1e-3),
        "steering_deg": (driven.steering_deg, 1e-4),
        "rpm": (driven.rpm, 1e-2),
    }
    for column, (truth, tolerance) in table.items():
        assert np.max(np.abs(columns[column] - truth)) < tolerance, column
    driven_m = driven.along_m - driven.along_m[0]
    assert np.max(np.abs(columns["distance_m"] - driven_m)) < 0.05
    since = columns["timestamp"] - columns["timestamp"][0]
    assert np.max(np.abs(since - (driven.t - driven.t[0]))) < 1e-6


@pytest.mark.parametrize("name", sorted(set(ALL_DIALECTS) - {"degrees"}))
def test_the_start_line_is_found_whatever_its_segment_means(name: str, driven: Drive) -> None:
    start = read(vbo_bytes(driven, ALL_DIALECTS[name])).start
    lat, lon, heading = driven.gate
    assert start is not None
    assert abs(start.lat - lat) < 1e-7
    assert abs(start.lon - lon) < 1e-7
    assert abs(start.heading - heading) < 0.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("native", set()),
        ("variant_b", set()),
        ("degrees", set()),
        ("decimal_comma", set()),
        ("lateral_left", {"g_lat_sign_flipped"}),
        ("fraction", {"throttle_fraction"}),
        ("ddmm", {"coordinates_ddmm"}),
    ],
)
def test_only_what_was_guessed_is_doubted(name: str, expected: set[str], driven: Drive) -> None:
    assert codes(read(vbo_bytes(driven, ALL_DIALECTS[name]))) == expected


def test_steering_that_counts_to_the_left_is_turned(driven: Drive) -> None:
    right = read(vbo_bytes(driven))
    left = read(vbo_bytes(replace(driven, steering_deg=-driven.steering_deg)))
    assert codes(left) == {"steering_sign_flipped"}
    assert left.facts["steering_sign"] == "flipped"
    for name in ("steering_deg", "g_lat"):
        assert np.array_equal(left.frames.columns[name], right.frames.columns[name])


def test_steering_that_follows_no_bend_is_left_as_it_is(driven: Drive) -> None:
    noise = np.random.default_rng(4).normal(0.0, 20.0, len(driven.t))
    for angle in (noise, np.full(len(noise), -3.0), -driven.g_long):
        assert codes(read(vbo_bytes(replace(driven, steering_deg=angle)))) <= {"dead_channels"}


def test_the_facts_say_how_the_file_was_read(driven: Drive) -> None:
    assert dict(read(vbo_bytes(driven)).facts) == {
        "format": "vbo",
        "coordinate_encoding": "minutes",
        "longitude_positive": "west",
        "time_encoding": "hhmmss",
        "time_base": "utc",
        "text_encoding": "cp1252",
    }


def test_a_dated_file_has_unix_times_and_the_moment_of_its_creation(driven: Drive) -> None:
    recording = read(vbo_bytes(driven))
    assert recording.frames.columns["timestamp"][0] == pytest.approx(MIDNIGHT + 51_930.2, abs=1e-6)
    assert recording.created == MIDNIGHT + 14 * 3600 + 25 * 60 + 30


def test_a_file_without_a_date_starts_at_zero(driven: Drive) -> None:
    for dialect in (VARIANT_B, Dialect(created="")):
        recording = read(vbo_bytes(driven, dialect))
        assert recording.frames.columns["timestamp"][0] == 0.0
        assert recording.created is None
        assert recording.facts["time_base"] == "zero"


def test_a_drive_over_midnight_goes_on() -> None:
    late = drive(laps=0.5, start_s=86_390.0)
    recording = read(vbo_bytes(late))
    t = recording.frames.columns["timestamp"]
    assert np.allclose(np.diff(t), 0.1, atol=1e-6)
    assert t[-1] > MIDNIGHT + 86_400
    assert codes(recording) == {"midnight"}


@pytest.mark.parametrize("encoding", ["degrees", "minutes", "ddmm"])
def test_a_forced_encoding_is_obeyed(encoding: str, driven: Drive) -> None:
    dialect = Dialect(coordinates="minutes", gate="none")
    forced = read(
        vbo_bytes(driven, dialect),
        coordinate_encoding=encoding,  # type: ignore[arg-type]
    )
    lat = float(np.nan_to_num(forced.frames.columns["lat"][0], nan=-1))
    assert {"minutes": 52, "ddmm": 31, "degrees": -1}[encoding] == int(lat)
    assert forced.facts["coordinate_encoding"] == encoding


def test_forced_seconds_are_obeyed(driven: Drive) -> None:
    t = read(vbo_bytes(driven), time_encoding="seconds").frames.columns["timestamp"]
    assert t[0] == 0.0
    assert np.max(np.diff(t)) > 40


@pytest.mark.parametrize("coordinates", ["degrees", "minutes"])
@pytest.mark.parametrize(("lat", "lon"), [(0.2, 0.4), (-0.3, -0.9), (1.1, 2.5)])
def test_near_the_equator_the_speed_tells_degrees_from_minutes(
    coordinates: str, lat: float, lon: float
) -> None:
    near = drive(Circuit(lat=lat, lon=lon), laps=0.6)
    dialect = Dialect(coordinates=coordinates)  # type: ignore[arg-type]
    columns = read(vbo_bytes(near, dialect)).frames.columns
    assert np.max(np.abs(columns["lat"] - near.lat)) < 1e-6
    assert np.max(np.abs(columns["lon"] - near.lon)) < 1e-6


@pytest.mark.parametrize(("lat", "lon"), [(38.16, -122.45), (-33.8, 150.87), (-34.7, -58.5)])
def test_west_is_positive_in_minutes_on_every_quarter_of_the_globe(lat: float, lon: float) -> None:
    there = drive(Circuit(lat=lat, lon=lon), laps=0.6)
    recording = read(vbo_bytes(there))
    assert np.max(np.abs(recording.frames.columns["lon"] - there.lon)) < 1e-7
    assert recording.start is not None
    assert abs(recording.start.lon - there.gate[1]) < 1e-7


def test_headings_show_that_a_file_counts_longitude_to_the_east() -> None:
    mirrored = vbo_bytes(drive(Circuit(lat=38.0, lon=122.0), laps=0.6))
    rows = mirrored.split(b"\r\n")
    start = rows.index(b"[data]") + 1
    for at in range(start, len(rows) - 1):
        rows[at] = rows[at].replace(b" -07", b" +07")
    recording = read(b"\r\n".join(rows))
    assert "longitude_east_positive" in codes(recording)
    assert recording.frames.columns["lon"][0] == pytest.approx(122.0, abs=0.01)


def test_satellites_are_told_apart_from_their_flags(driven: Drive) -> None:
    signals = read(vbo_bytes(driven, Dialect(satellites=9 + 64 + 128))).signals
    assert set(signals["satellites"].value) == {9.0}
    assert set(signals["brake_trigger"].value) == {1.0}
    assert set(signals["dgps_fix"].value) == {1.0}
    assert "dgps_fix" not in read(vbo_bytes(driven, NATIVE)).signals


def test_columns_without_a_number_in_frames_are_null(driven: Drive) -> None:
    recording = read(b"[column names]\ntime velocity\n[data]\n000001.00 36\n000002.00 36\n")
    columns = recording.frames.columns
    assert list(columns["speed_ms"]) == [10.0, 10.0]
    assert list(columns["distance_m"]) == [0.0, 10.0]
    assert all(np.isnan(columns[name]).all() for name in ("lat", "g_lat", "brake_bar"))
    assert "no_positions" in codes(recording)


def with_rows(text: str, rows: int = 300) -> Recording:
    """A file with that head, whose rows hold *text* behind their time."""
    head = "[column names]\ntime lat long velocity\n[data]\n"
    return read((head + "".join(f"{n * 0.1:.1f} {text}\n" for n in range(rows))).encode())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("3120 -300 nan", "values_unreadable"),
        ("3120 -300 inf", "values_unreadable"),
        ("3120 -300 1e300", "values_unreadable"),
        ("3120 -300 " + "9" * 400, "values_unreadable"),
        ("3120 -300 5000", "speed_impossible"),
        ("3120 -300 -5", "speed_negative"),
        ("0 0 80", "positions_zero"),
    ],
)
def test_every_null_that_was_a_number_is_counted(text: str, code: str) -> None:
    recording = with_rows(text)
    column = "lat" if code == "positions_zero" else "speed_ms"
    assert np.isnan(recording.frames.columns[column]).all()
    assert {doubt.code: doubt.times for doubt in recording.doubts}[code] == 300


def test_the_fastest_cars_are_believed() -> None:
    recording = with_rows("3120 -300 420")
    assert recording.frames.columns["speed_ms"].max() == pytest.approx(420 / 3.6)
    assert codes(recording) == set()


@pytest.mark.parametrize(
    ("created", "doubted"),
    [
        ("15/06/2025 @ 14:25:30", False),
        ("15/06/2025 @ 04:25:30", False),  # ten hours behind
        ("15/06/2025 @ 00:00:00", False),  # a date alone
        ("15/06/2025", False),
        ("15/06/2025 @ 00:10:00", True),
    ],
)
def test_a_day_that_no_time_zone_explains_is_doubted(
    created: str, doubted: bool, driven: Drive
) -> None:
    recording = read(vbo_bytes(driven, Dialect(created=f"File created on {created}")))
    assert ("date_uncertain" in codes(recording)) is doubted
    assert recording.frames.columns["timestamp"][0] == pytest.approx(MIDNIGHT + 51_930.2, abs=1e-6)
