"""What a logger of a race car records becomes what the coach needs, and nothing else."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.formats import child_process
from runtime.bridge.formats.detection import read_recording
from runtime.bridge.formats.logger_laps import (
    HALF_WIDTH_M,
    Lap,
    find_start_line,
    list_line_crossings,
    read_lap_counter,
)
from runtime.bridge.formats.readers.xrk_child import convert_laps
from runtime.bridge.formats.recording_builder import build_from_channels
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Gate, Numbers, Recording, Samples
from tests.bridge.bridgekit import Bridge
from tests.bridge.formats.aimkit import Drive
from tests.bridge.formats.logkit import BEGIN


@pytest.fixture(scope="module")
def drive() -> Drive:
    return Drive()


def import_drive(drive: Drive, monkeypatch: pytest.MonkeyPatch, **meta: object) -> Recording:
    monkeypatch.setattr(
        child_process, "read_in_child", lambda stream, extra: drive.child_output(**meta)
    )
    return read_recording(io.BytesIO(b"x"), "a.xrk")


def at_frames(drive: Drive, recording: Recording, values: Numbers) -> Numbers:
    return np.interp(recording.frames.columns["timestamp"] - BEGIN, drive.t, values)


def codes(recording: Recording) -> set[str]:
    return {doubt.code for doubt in recording.doubts}


def test_a_dead_sensor_fills_nothing_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    drive = Drive()
    whole = drive.channels()
    monkeypatch.setattr(
        drive, "channels", lambda: {k: v for k, v in whole.items() if k[-1] not in "S4"}
    )
    recording = import_drive(drive, monkeypatch)
    assert "BRK_PRESS1" in recording.signals
    assert np.isnan(recording.frames.columns["brake_bar"]).all()
    brake = recording.mapping["brake_bar"]
    assert (brake.channel, brake.constant) == (None, ("BRK_PRESS1", "BRK_PRESS2"))
    assert {d.code: d.times for d in recording.doubts}["dead_channels"] == 2


def test_signs_and_zeros_are_put_right_and_told(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = import_drive(drive, monkeypatch)
    columns = recording.frames.columns
    moving = columns["speed_ms"] > 5
    for name, true in (("g_lat", drive.lateral), ("g_long", drive.along)):
        off = columns[name] - at_frames(drive, recording, true)
        assert np.abs(np.median(off[moving])) < 0.02
    lateral = at_frames(drive, recording, drive.lateral)
    assert np.corrcoef(columns["steering_deg"][moving], lateral[moving])[0, 1] > 0.95
    assert columns["brake_bar"].min() == 0.0
    assert codes(recording) == {
        "dead_channels", "steering_sign_flipped", "g_lat_offset", "g_long_offset", "brake_offset",
    }  # fmt: skip
    assert np.allclose(recording.signals["STEER_POS"].value, drive.channels()["STEER_POS"].value)


def test_laps_agree_with_the_logger(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = import_drive(drive, monkeypatch)
    laps = detect(recording.frames, gate=recording.start).complete
    seconds = np.diff(drive.marks)
    assert [lap.duration_s for lap in laps] == pytest.approx(seconds, abs=0.05)
    assert recording.facts["logged_laps"] == ", ".join(f"{lap:.3f}" for lap in seconds)
    assert recording.facts["start_line"] == "where the logger began its laps"


def test_the_way_through_the_pits_begins_no_lap(monkeypatch: pytest.MonkeyPatch) -> None:
    drive = Drive(pit_m=HALF_WIDTH_M + 7)
    drive.marks = drive.marks[1:]  # the logger did not count that crossing
    recording = import_drive(drive, monkeypatch)
    laps = detect(recording.frames, gate=recording.start).complete
    assert [lap.duration_s for lap in laps] == pytest.approx(np.diff(drive.marks), abs=0.05)


@pytest.mark.parametrize(
    "marks",
    [[], [-50.0], [1e9], [40.0, 50.0, 60.0, 70.0], [5.0], [np.nan]],
    ids=["none", "before", "after", "at many places", "standing", "no number"],
)
def test_marks_that_are_at_no_one_place_give_no_line(drive: Drive, marks: list[float]) -> None:
    recording = build_from_channels(drive.channels(), {}, form="mf4")
    assert find_start_line(recording.frames, marks) is None


def test_a_mark_that_is_off_does_not_move_the_line(drive: Drive) -> None:
    frames = build_from_channels(drive.channels(), {}, form="mf4").frames
    line = find_start_line(frames, drive.marks)
    moved = find_start_line(frames, [*drive.marks, drive.marks[2] + 7.0])
    assert isinstance(line, Gate)
    assert isinstance(moved, Gate)
    assert (moved.lat, moved.lon) == pytest.approx((line.lat, line.lon), abs=1e-5)


@pytest.mark.parametrize(
    ("laps", "marks"),
    [
        ([Lap(0, 9, whole=False), Lap(9, 20, whole=True), Lap(20, 25, whole=False)], [9, 20]),
        ([Lap(0, 9, whole=False), Lap(9, 25, whole=False)], [9]),
        ([Lap(0, 25, whole=False)], []),
        ([], []),
    ],
)
def test_laps_meet_at_the_line(laps: list[Lap], marks: list[float]) -> None:
    assert list_line_crossings(laps) == marks


@pytest.mark.parametrize(
    ("values", "laps"),
    [
        ([8, 8, 9, 9, 9, 10], [(2.0, 5.0)]),
        ([8, 8, 9, 9, 9, 9], []),
        ([8, 9, 11, 12, 12, 13], []),  # it left one out
        ([1, 0, 1, 0, 1, 0], []),
    ],
)
def test_a_channel_that_counts_laps_tells_them(
    values: list[int], laps: list[tuple[float, float]]
) -> None:
    counted = {"lap_number": Samples(np.arange(6.0), np.array(values, np.float64))}
    assert [(lap.begin, lap.end) for lap in read_lap_counter(counted)] == laps


@pytest.mark.parametrize(
    ("row", "laps"),
    [
        ({"start_time": 0, "end_time": 4000, "lap_type": "out"}, [(0.0, 4.0, False)]),
        ({"start_time": 4000, "end_time": 9000, "lap_type": "full"}, [(4.0, 9.0, True)]),
        ({"start_time": 4000, "end_time": 9000}, [(4.0, 9.0, True)]),
        ({"start_time": 9000, "end_time": 9000, "lap_type": "full"}, []),
        ({"start_time": None, "end_time": 9000, "lap_type": "full"}, []),
        ({}, []),
    ],
)
def test_laps_of_a_file_are_taken_as_they_are(
    row: Mapping[str, object], laps: list[tuple[float, float, bool]]
) -> None:
    assert convert_laps([row]) == laps


async def test_driver_car_and_place_come_from_the_file(
    bridge: Bridge, drive: Drive, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(child_process, "read_in_child", lambda stream, extra: drive.child_output())
    path = tmp_path / "a.xrk"
    path.write_bytes(b"x")
    done = await bridge.ok("POST", "/session/import", {"path": str(path)})
    assert done["session_id"].startswith("three-bends-")
    assert done["n_laps"] == drive.laps
    assert done["best_lap_s"] == pytest.approx(min(np.diff(drive.marks)), abs=0.05)
    fields = {"driver": "Mia", "car": "Pip", "track": "Elsewhere", "session_id": "two"}
    await bridge.ok("POST", "/session/import", {"path": str(path), **fields})
    kept = {}
    for session in (await bridge.ok("GET", "/sessions"))["sessions"]:
        kept[session["session_id"]] = session["driver"], session["car"], session["track"]
    assert kept[done["session_id"]] == ("Ada", "Tarn 3", "Three Bends")
    assert kept["two"] == ("Mia", "Pip", "Elsewhere")


def test_names_that_are_taken_lose_no_channel() -> None:
    t = np.arange(40) / 10
    names = ("rpm", "lat", "rpm ", " rpm", "x" * 140, "x" * 150)
    recording = build_from_channels({name: Samples(t, t) for name in names}, {}, form="mf4")
    assert len(recording.signals) == len(names)
    assert np.isfinite(recording.frames.columns["rpm"]).any()


def test_a_car_that_stood_all_the_time_has_no_dead_sensor() -> None:
    t = np.arange(1000) / 10
    channels = {"speed": Samples(t, np.zeros(1000)), "brake_press": Samples(t, np.zeros(1000))}
    recording = build_from_channels(channels, {"speed": "m/s", "brake_press": "bar"}, form="mf4")
    assert set(recording.frames.columns["brake_bar"]) == {0.0}
    assert recording.doubts == ()
