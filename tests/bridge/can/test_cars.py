"""The folder of cars: what is listed, and what a broken file does."""

import os
from pathlib import Path

import pytest

from runtime.bridge.can.carfile import CarError, parse_car
from runtime.bridge.can.cars import ROLES, NoCarsDir, find_car, find_role, load_car, load_cars
from runtime.bridge.can.dbc import load_dbc

HATCH = "tarnhow-pip-180"
COUPE = "oberling-vesper-30"


@pytest.fixture
def cars(root: Path) -> Path:
    return root / "data" / "cars"


def test_the_shipped_cars_are_listed_by_id(cars: Path) -> None:
    coupe, hatch = load_cars(cars, HATCH)
    assert (coupe.id, coupe.loaded, coupe.error) == (COUPE, False, None)
    assert (hatch.id, hatch.loaded, hatch.error) == (HATCH, True, None)
    assert (hatch.frame_count, hatch.channel_count) == (8, 29)
    assert (hatch.make, hatch.year) == ("Tarnhow", 2014)
    assert (hatch.dash_logger.total_frames, hatch.dash_logger.total_channels) == (8, 29)
    assert (hatch.can_bus.bitrate_bps, hatch.can_bus.id_width) == (1_000_000, 11)
    assert tuple(hatch.channels[0].model_dump().values()) == ("rpm", "0x420", 10.0, "powertrain")
    assert {channel.role for channel in hatch.channels} < ROLES


def test_a_role_is_taken_from_frame_then_constraint_then_name(cars: Path) -> None:
    roles = {channel.name: channel.role for channel in load_cars(cars)[0].channels}
    assert roles["stability_flag"] == "driver_input"
    assert roles["steer_angle_deg"] == "driver_input"
    assert roles["tire_temp_fl_f"] == "tires"


@pytest.mark.parametrize("car", [HATCH, COUPE])
def test_a_shipped_car_speaks_of_channels_that_its_bus_has(root: Path, car: str) -> None:
    pack = load_dbc(root / "data" / "dbc" / "paddock-dash.dbc")
    file = load_car(root / "data" / "cars" / f"{car}.yaml").file
    listed = set()
    for number, frame in file.frames.items():
        message = pack.messages[number]
        assert message.name == frame.dbc_message
        assert list(frame.channels) == [signal.name for signal in message.signals]
        if message.cycle_time:
            assert frame.rate_hz == 1000 / message.cycle_time
        listed |= set(frame.channels)
    assert listed >= file.signals.keys()
    assert listed >= file.known_constraints.keys()
    assert listed >= {signed.channel for signed in file.signed_channels_first_capture_verify}
    assert file.dash_logger.total_channels == len(listed)
    assert file.dash_logger.total_frames == len(file.frames)


BROKEN: list[tuple[str, bytes, str]] = [
    ("alias", b"car: &a {make: X}\nwiring: *a\n", "anchors are not allowed"),
    ("tag", b"car: !!python/object:os.system {}\n", "tags are not allowed"),
    ("twice", b"car: {make: A}\ncar: {make: B}\n", "line 2, column 1: the key car comes twice"),
    ("deep", b"car: {}\nwiring: " + b"[" * 30 + b"]" * 30, "nested deeper than 20"),
    ("unknown key", b"car: {maker: X}\n", "car.maker: unknown key"),
    ("no car", b"frames: {}\n", "car: is missing"),
    ("empty", b"", "car: is missing"),
    ("a list", b"- car\n", "must be a mapping"),
    ("syntax", b"car: [\n", "line 2"),
    ("not text", b"\xff\xfe", "not UTF-8"),
    ("large", b"#" * (257 << 10), "larger than 256 KiB"),
    ("year", b"car: {year: no}\n", "car.year: must be a whole number"),
    ("sixty", b"car: {}\ncan_bus: {bitrate_bps: 1:30}\n", "can_bus.bitrate_bps: must be a whole"),
    ("id", b"car: {}\nframes: {0x42z: {}}\n", "frames.0x42z: must be a whole number"),
    ("two documents", b"car: {}\n---\ncar: {}\n", "one document"),
    ("formula", b"car: {}\nderived: {a: {formula: warp, bind: {x: b}}}\n", "unknown formula: warp"),
]


@pytest.mark.parametrize(("data", "message"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_broken_file_is_listed_with_its_error(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "broken.yaml").write_bytes(data)
    (tmp_path / "good.yaml").write_text("car: {make: 911, year: 1999}\n")
    broken, good = load_cars(tmp_path, "broken")
    assert (broken.id, broken.loaded, broken.channels) == ("broken", False, [])
    assert message in (broken.error or "")
    assert (good.error, good.make, good.year) == (None, "911", 1999)


def test_words_that_plain_yaml_would_change_stay_as_written() -> None:
    car = parse_car(
        b"car: {make: no, model: 1:30, chassis: 2026-01-01, engine: ~, notes: 1e3}\n"
    ).car
    assert (car.make, car.model, car.chassis, car.engine) == ("no", "1:30", "2026-01-01", "")
    assert car.notes == "1e3"


def test_a_missing_folder_and_an_empty_one_differ(tmp_path: Path) -> None:
    assert load_cars(tmp_path) == []
    with pytest.raises(NoCarsDir) as caught:
        load_cars(tmp_path / "none")
    assert (caught.value.status, caught.value.code) == (404, "no_cars_dir")
    assert caught.value.cars_dir.endswith("none")


def test_what_is_no_file_does_not_stop_the_list(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / ".hidden.yaml").write_text("car: {}")
    assert [(car.id, car.error) for car in load_cars(tmp_path)] == [
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
    ]


def test_a_car_is_found_by_id_and_by_path(cars: Path) -> None:
    path = cars / f"{HATCH}.yaml"
    assert find_car(cars, HATCH) == path
    assert find_car(cars, str(path)) == path
    for other in ("none", "../cars/none", "", "/etc/passwd"):
        with pytest.raises(CarError):
            find_car(cars, other)


@pytest.mark.parametrize(
    ("channel", "role"),
    [
        ("throttle_pos_pct", "driver_input"),
        ("gps_lat", "position"),
        ("tire_press_fl_psi", "tires"),
        ("battery_volt", "electrical"),
        ("ambient_temp_f", "ambient"),
        ("yaw_rate_degs", "chassis"),
        ("OIL_TEMP", "powertrain"),
        ("x1", "other"),
    ],
)
def test_a_role_is_guessed_from_the_words_of_a_name(channel: str, role: str) -> None:
    assert find_role(channel) == role
