"""The right reader is chosen, and its refusals become answers."""

import io
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.formats.detection import read_recording
from runtime.bridge.formats.options import Options, UnparsableVbo, UnreadableRecording
from runtime.bridge.session.laps import detect
from tests.bridge.formats.vbo.vbokit import drive, vbo_bytes

ROWS = b"1767150797.44,0,31.0,121.0,36.5,0.1,\n1767150797.54,0,31.00003,121.0,36.5,0.1,3000\n"
CHRONO = (
    b"This file is created using RaceChrono Pro v9.1.3 ( http://example.invalid/ ).\r\n"
    b"Format,3\r\nSession title,\"A, B\"\r\nTrack name,Circle\r\nCreated,31/12/2025,02:54\r\n\r\n"
    b"timestamp,lap_number,latitude,longitude,speed,longitudinal_acc,speed\r\n"
    b"unix time,,deg,deg,m/s,G,m/s\r\n"
    b",,100: gps,100: gps,100: gps,calc,200: obd\r\n" + ROWS
)  # fmt: skip


def test_encodings_are_handed_on() -> None:
    data = io.BytesIO(vbo_bytes(drive(laps=0.1)))
    recording = read_recording(data, "a.VBO", Options("ddmm", "seconds"))
    assert recording.facts["coordinate_encoding"] == "ddmm"
    assert recording.facts["time_encoding"] == "seconds"


@pytest.mark.parametrize("name", ["a.csv", "a.vbo", "A.CSV"])
def test_a_racechrono_export_is_known_by_its_first_line(name: str) -> None:
    recording = read_recording(io.BytesIO(CHRONO), name)
    columns = recording.frames.columns
    assert columns["timestamp"].tolist() == [1767150797.44, 1767150797.54]
    assert columns["speed_ms"].tolist() == [36.5, 36.5]  # metres a second, of the GPS receiver
    assert columns["lat"].tolist() == [31.0, 31.00003]
    assert columns["lon"].tolist() == [121.0, 121.0]
    assert columns["g_long"].tolist() == [0.1, 0.1]
    assert columns["distance_m"][-1] == pytest.approx(3.65, abs=0.001)  # 0.1 s at 36.5 m/s
    assert recording.signals["speed_obd"].value.tolist() == [3000.0]
    assert recording.signals["speed_obd"].t.tolist() == [1767150797.54]
    assert recording.comments == ("Session title: A, B", "Track name: Circle")
    assert recording.created == 1767149640.0
    assert recording.unmapped == ("speed_obd",)


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"hello", "a.vbo", "no .data. section"),
        (b"", "a.vbo", "no .data. section"),
        (b"PK\x03\x04" + bytes(100), "a.vbo", "ZIP"),
        (b"\x1f\x8b" + bytes(100), "a.vbo", "gzip"),
        ("[data]".encode("utf-16"), "a.vbo", "UTF-16"),
        (b"a,b\n1,2\n", "a.csv", "no column of time"),
        (b"1,2\n3,4\n", "a.csv", "names no columns"),
        (b"hello, world\n", "a.csv", "no known format"),
        (b"", "a.csv", "no known format"),
        (b"MDF     4.10", "a.mf4", "MDF"),
        (b"<log/>", "a.ldx", "no known format"),
        (CHRONO.replace(b"\r\ntimestamp", b"\r\nspan"), "a.csv", "no column of time"),
        (CHRONO.replace(ROWS, b""), "a.csv", "no column of time"),
        (CHRONO.replace(ROWS, b"a,b\n"), "a.csv", "no column of time"),
        (CHRONO.replace(b"1767150797", b"x"), "a.csv", "no column of time"),
        (CHRONO[:100], "a.csv", "no rows of numbers"),
        (b"timestamp,lat,lon\n1000,46.1,\n1001,,9.7\n", "a.csv", "no channel with values"),
        (CHRONO.replace(b"Format", b'"' * 70_000), "a.csv", "longer than"),
        (b"time" + b",speed" * 1100 + b"\n" + b"1" + b",2" * 1100, "a.csv", "more than 1024 col"),
    ],
)
def test_what_cannot_be_read_is_an_answer_in_words(data: bytes, name: str, message: str) -> None:
    with pytest.raises(UnreadableRecording, match=message) as error:
        read_recording(io.BytesIO(data), name)
    assert error.value.status == 422
    assert isinstance(error.value, UnparsableVbo) == name.endswith(".vbo")
    assert error.value.code == ("unparsable_vbo" if name.endswith(".vbo") else "unparsable_file")


def test_a_real_racechrono_lap_agrees_with_its_own_distance(root: Path) -> None:
    path = root.parent / "shared" / "data" / "racechrono-v3-tianma-lap9.csv"
    if not path.is_file():
        pytest.skip("the folder of real files is not beside the project")
    with path.open("rb") as stream:
        recording = read_recording(stream, path.name)
    columns, signals = recording.frames.columns, recording.signals
    logged = signals["distance_traveled"].value
    assert len(recording.frames) == len(path.read_text("utf-8").splitlines()) - 12
    assert columns["distance_m"][-1] == pytest.approx(logged[-1] - logged[0], rel=2e-3)
    assert columns["lat"][0] == 31.0781678
    assert columns["lon"][0] == 121.1164132
    v, t = columns["speed_ms"], columns["timestamp"]
    driven = float(np.sum((v[1:] + v[:-1]) / 2 * np.diff(t)))
    assert columns["distance_m"][-1] == pytest.approx(driven, rel=0.01)
    assert columns["timestamp"][0] == 1767150797.44
    lean = signals["lean_angle"].value  # positive to the right, unlike this file's acceleration
    assert np.corrcoef(lean, columns["g_lat"])[0, 1] > 0.95
    assert {doubt.code for doubt in recording.doubts} == {
        "time_not_increasing",
        "g_lat_sign_flipped",
        "throttle_stretched",  # the pedal rests at 19 %, and ends at 95 %
    }
    assert {0.0, 100.0} < set(columns["throttle_pct"])
    (lap,) = detect(recording.frames, gate=recording.start).complete
    assert lap.duration_s == pytest.approx(76.329, abs=0.005)
    assert recording.facts["logged_laps"] == "76.329"
    assert recording.facts["venue"] == "Tianma"
