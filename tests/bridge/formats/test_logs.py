"""Bus logs and foreign formats become sessions, on both databases, or nothing at all."""

import asyncio
import importlib.util
import io
import math
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import BinaryIO

import can
import numpy as np
import pytest

from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.formats import child_process
from runtime.bridge.formats.detection import read_recording
from runtime.bridge.formats.options import (
    BusChoice,
    FormatNotInstalled,
    Options,
    UnreadableRecording,
)
from runtime.bridge.formats.readers import xrk
from runtime.bridge.session.recording import WIDE, Recording
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import ONE_BACKEND, Start
from tests.bridge.formats.logkit import BEGIN, FORMS, drive, messages, write

DATA = Path(__file__).parents[3] / "data"
SHARED = DATA.parent.parent / "shared" / "data"
CAR = "tarnhow-pip-180"
SECONDS = 30.0


def read_log(path: Path, choice: BusChoice | None = None) -> Recording:
    with path.open("rb") as stream:
        return read_recording(stream, path.name, Options(bus=choice or BusChoice(DATA, car=CAR)))


@ONE_BACKEND
@pytest.mark.parametrize("suffix", FORMS)
async def test_a_bus_log_becomes_a_session(suffix: str, bridge: Bridge, tmp_path: Path) -> None:
    path = write(tmp_path / f"drive{suffix}", drive(SECONDS))
    body = {"path": str(path), "car": CAR, "session_id": "one", "driver": "Ada"}
    done = await bridge.ok("POST", "/session/import", body)
    assert done["format"] == {".log": "candump"}.get(suffix, suffix[1:])
    assert done["facts"]["dbc"] == "paddock-dash.dbc"
    assert done["facts"]["car"] == CAR
    assert done["n_frames"] == pytest.approx(SECONDS * 10, abs=2)
    assert done["distance_m"] == pytest.approx(SECONDS * 44.7 * 0.44704, rel=0.02)
    assert done["duration_s"] == pytest.approx(SECONDS, abs=0.2)
    assert done["warnings"] == []
    listed = await bridge.ok("GET", "/session/one/capabilities")
    names = {signal["name"] for signal in listed["signals"]}
    assert {"speed_mph", "yaw_rate_dps", "water_temp_c", "rpm"} <= names
    status, code = await bridge.refused("POST", "/session/import", body)
    assert (status, code) == (409, "session_exists")


def test_the_frames_hold_what_the_bus_told(tmp_path: Path) -> None:
    recording = read_log(write(tmp_path / "a.log", drive(SECONDS)))
    columns = recording.frames.columns
    assert np.allclose(columns["g_lat"], 0.4)
    assert np.allclose(columns["g_long"], -0.3)
    assert np.allclose(columns["combo_g"], 0.5)
    assert np.allclose(columns["speed_ms"], 44.7 * 0.44704)
    assert np.allclose(columns["steering_deg"], 12.5)
    assert set(np.round(columns["brake_bar"], 3)) == {0.0, round(145 * 0.0689476, 3)}
    steps = np.diff(columns["timestamp"])
    assert steps[:-1] == pytest.approx(0.1, abs=1e-6)
    for t, lat in zip(columns["timestamp"].tolist(), columns["lat"].tolist(), strict=True):
        sent = math.floor((t - BEGIN - 0.003) * 20 + 1e-6) / 20
        assert lat == pytest.approx(52.5 + 0.002 * math.sin(sent / 10), abs=2e-7)
    assert "rpm_per_kmh" not in recording.signals  # no wheel speeds were sent
    assert len(recording.signals["speed_mph"].t) == SECONDS * 20


def test_a_car_that_stands_has_as_many_frames_as_one_that_moves(tmp_path: Path) -> None:
    frames = [frame for frame in drive(20) if frame.arbitration_id != 0x420]
    still = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages[0x420]
    payload = still.encode({"rpm": 900, "speed_mph": 0.0, "gear": 0, "water_temp_f": 180.0})
    frames += [
        can.Message(timestamp=BEGIN + at / 20, arbitration_id=0x420, is_extended_id=False,
                    data=payload, channel=0)
        for at in range(400)
    ]  # fmt: skip
    frames.sort(key=lambda frame: frame.timestamp)
    recording = read_log(write(tmp_path / "a.log", frames))
    assert set(recording.frames.columns["speed_ms"]) == {0.0}
    assert np.diff(recording.frames.columns["timestamp"])[:-1] == pytest.approx(0.1, abs=1e-6)


def test_a_clock_that_was_set_back_folds_nothing(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.log", drive(10)).read_bytes()
    later = write(tmp_path / "b.log", drive(10, BEGIN - 5000)).read_bytes()
    (tmp_path / "c.log").write_bytes(lines + later)
    recording = read_log(tmp_path / "c.log")
    assert (np.diff(recording.frames.columns["timestamp"]) > 0).all()
    assert {doubt.code: doubt.times for doubt in recording.doubts} == {"clock_set_back": 1}
    assert np.ptp(recording.frames.columns["timestamp"]) == pytest.approx(20, abs=0.3)


def test_without_a_car_file_names_and_units_tell_the_columns(tmp_path: Path) -> None:
    recording = read_log(write(tmp_path / "a.log", drive(10)), BusChoice(DATA))
    columns = recording.frames.columns
    assert np.allclose(columns["speed_ms"], 44.7 * 0.44704)
    assert np.allclose(columns["g_lat"], 0.4)
    assert columns["brake_bar"].max() == pytest.approx(145 * 0.0689476)
    speed = recording.mapping["speed_ms"]
    assert (speed.channel, speed.unit, speed.others) == ("speed_mph", "mph", ())


@ONE_BACKEND
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dbc": ["nowhere"]}, "there is no nowhere"),
        ({"dbc": ["/etc/other.dbc"]}, "data folder"),
        ({"dbc": ["../../other.dbc"]}, "data folder"),
        ({"car": "/etc/other.yaml"}, "data folder"),
        ({"channel": "can7"}, "it has can0"),
    ],
)
async def test_a_wrong_choice_is_told_and_leaves_nothing(
    change: dict[str, object], message: str, bridge: Bridge, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.log", drive(2))
    answer = await bridge.post("/session/import", {"path": str(path), **change})
    assert answer.status == 422
    assert message in answer.json["error"]
    assert (await bridge.ok("GET", "/sessions"))["sessions"] == []


@ONE_BACKEND
async def test_a_log_of_another_bus_is_told(bridge: Bridge, tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", [frame for frame in messages(50) if frame.is_extended_id])
    answer = await bridge.post("/session/import", {"path": str(path)})
    assert answer.status == 422
    assert "give the DBC file of its bus" in answer.json["error"]


@pytest.mark.slow
async def test_a_bus_log_in_mf4_becomes_a_session(start: Start, tmp_path: Path) -> None:
    write(tmp_path / "a.log", drive(5))
    script = (
        "import sys, can\n"
        "with can.LogReader(sys.argv[1]) as log, can.MF4Writer(sys.argv[2]) as mdf:\n"
        " for one in log: one.channel = 1; mdf.on_message_received(one)"
    )
    made = [sys.executable, "-c", script, str(tmp_path / "a.log"), str(tmp_path / "a.mf4")]
    await asyncio.to_thread(subprocess.run, made, check=True, capture_output=True)
    async with start() as bridge:
        done = await bridge.ok(
            "POST", "/session/import", {"path": str(tmp_path / "a.mf4"), "car": CAR}
        )
        assert done["format"] == "mf4"
        assert done["distance_m"] == pytest.approx(5 * 44.7 * 0.44704, rel=0.05)


@pytest.mark.slow
def test_other_mf4_files_give_their_own_channels(tmp_path: Path) -> None:
    asammdf = pytest.importorskip("asammdf")
    t = np.arange(200) / 20
    mdf = asammdf.MDF()
    mdf.append(
        [
            asammdf.Signal(np.full(200, 72.0), t, name="vehicle_speed", unit="km/h"),
            asammdf.Signal(np.arange(200), t, name="Oil Pressure", unit="bar"),
        ]
    )
    mdf.save(tmp_path / "a.mf4")
    mdf.close()
    recording = read_log(tmp_path / "a.mf4")
    assert np.allclose(recording.frames.columns["speed_ms"], 20.0)
    assert recording.signals["oil_press_bar"].value.tolist() == list(range(200))


@pytest.mark.slow
def test_a_real_mf4_log_is_read() -> None:
    path = SHARED / "css-canedge-00000170.MF4"
    if not path.is_file():
        pytest.skip("the folder of real files is not beside the project")
    with pytest.raises(UnreadableRecording, match="none of the 2 ids"):
        read_log(path)


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"<hCNF", bytes(3000), b"\xff" * 500])
def test_what_is_no_aim_file_is_told(data: bytes) -> None:
    with pytest.raises(UnreadableRecording):
        read_recording(io.BytesIO(data), "a.xrk")


@pytest.mark.parametrize("suffix", [".xrz", ".xrk"])
def test_a_file_that_unpacks_to_too_much_is_refused_before_anything_is_unpacked(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xrk, "LARGEST_FILE", 16 << 20)
    monkeypatch.setattr(
        child_process, "read_in_child", lambda *_: pytest.fail("a reader was started")
    )
    packed = zlib.compress(bytes(64 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableRecording, match="unpacks to more than 16 MiB"):
            read_recording(io.BytesIO(packed), f"a{suffix}")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_packed_file_of_an_ordinary_size_reaches_its_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces: list[bytes] = []

    def read_in_child(stream: BinaryIO, _extra: str) -> child_process.ChildOutput:
        pieces.append(stream.read())
        raise UnreadableRecording("enough")

    monkeypatch.setattr(child_process, "read_in_child", read_in_child)
    packed = zlib.compress(bytes(1 << 20))
    contents = [packed, packed[:500], packed[:20] + b"?" * 500, b"<hCNF", b""]
    for content in contents:
        with pytest.raises(UnreadableRecording, match="enough"):
            read_recording(io.BytesIO(content), "a.xrz")
    assert pieces == contents


@pytest.mark.parametrize(("name", "package"), [("a.mf4", "asammdf"), ("a.xrz", "libxrk")])
def test_a_missing_extra_is_named(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    with pytest.raises(FormatNotInstalled, match=package) as error:
        read_recording(io.BytesIO(b"x" * 50), name)
    assert (error.value.status, error.value.code) == (422, "format_not_installed")


def test_a_real_drive_agrees_with_cantools() -> None:
    log, dbc = (
        SHARED / "moteclog-can_sample.head5000.log",
        SHARED / "moteclog-sample_can_spec.dbc",
    )
    if not log.is_file():
        pytest.skip("the folder of real files is not beside the project")
    recording = read_log(log, BusChoice(DATA, (str(dbc),), dbc_anywhere=True))
    pack = load_dbc(dbc)
    expected: dict[str, list[tuple[float, float]]] = {}
    with can.LogReader(log) as reader:
        for frame in reader:
            message = pack.messages.get(frame.arbitration_id)
            if message is not None:
                values = message.decode(
                    bytes(frame.data), allow_truncated=True, decode_choices=False
                )
                for name, value in values.items():  # type: ignore[union-attr]
                    expected.setdefault(name, []).append((frame.timestamp, float(value)))  # type: ignore[arg-type]
    taken = {signal: mapped.channel for signal, mapped in recording.mapping.items()}
    named = {signal for signal, channel in taken.items() if channel} - set(WIDE)
    assert set(recording.signals) == set(expected) | named
    wanted = {"rpm": "RPM", "throttle_pct": "THROTTLE", "steering_deg": "STEER_ANGLE"}
    assert wanted.items() <= taken.items()
    assert (taken["yaw_rate_dps"], recording.mapping["yaw_rate_dps"].unit) == ("GYRO_YAW", "rad/s")
    for name, pairs in expected.items():
        samples = recording.signals[name]
        assert samples.value.tolist() == [value for _, value in pairs]
        assert np.allclose(samples.t, [t for t, _ in pairs], rtol=0, atol=1e-4)
    t, speed = np.array(expected["SPEED"]).T
    driven = float(np.sum((speed[1:] + speed[:-1]) / 2 * np.diff(t)))
    assert recording.frames.columns["distance_m"][-1] == pytest.approx(driven, abs=0.1)
