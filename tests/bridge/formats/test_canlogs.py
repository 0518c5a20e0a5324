"""Logs of every format give the frames that were written, whatever lies between them."""

import io
import struct
import zlib
from pathlib import Path

import pytest

from runtime.bridge.can.frames import EXTENDED
from runtime.bridge.formats.can_recording import Tally
from runtime.bridge.formats.options import UnreadableRecording
from tests.bridge.formats.logkit import FORMS, Frame, frames_of, messages, plain, write

FRAMES = 3000


def read(suffix: str, data: bytes) -> tuple[list[Frame], Tally]:
    """The frames in the bytes of a log, and what was counted."""
    tally = Tally()
    return frames_of(FORMS[suffix].reader(io.BytesIO(data), tally)), tally


@pytest.mark.parametrize("suffix", FORMS)
def test_every_frame_that_python_can_writes_is_read(suffix: str, tmp_path: Path) -> None:
    simple = suffix == ".trc"  # python-can's writer knows neither remote nor FD frames
    written = messages(FRAMES, flexible=not simple, remote=not simple)
    path = write(tmp_path / f"a{suffix}", written)
    with path.open("rb") as stream:
        tally = Tally()
        frames = frames_of(FORMS[suffix].reader(stream, tally))
    expected = plain(written)
    assert [frame[1:] for frame in frames] == [frame[1:] for frame in expected]
    assert max(abs(a[0] - b[0]) for a, b in zip(frames, expected, strict=True)) < 1e-6
    assert tally.remote == FRAMES - len(expected)
    assert tally.malformed == 0
    assert sorted(tally.channels) == list(FORMS[suffix].channels)


@pytest.mark.parametrize("suffix", FORMS)
def test_one_channel_is_taken_alone(suffix: str, tmp_path: Path) -> None:
    written = messages(400, flexible=False, remote=False)
    path = write(tmp_path / f"a{suffix}", written)
    with path.open("rb") as stream:
        tally = Tally(FORMS[suffix].channels[1])
        frames = frames_of(FORMS[suffix].reader(stream, tally))
    assert [frame[2] for frame in frames] == [bytes(frame.data) for frame in written[1::2]]
    assert tally.others == 200


ONE: Frame = (1700000000.25, 0x123, bytes.fromhex("11223344"))
LINES = {
    "log file": (b"(1700000000.250000) can0 123#11223344", ONE),
    "with direction": (b"(1700000000.250000) can0 123#11223344 R", ONE),
    "lower case": (b"(1700000000.250000) vcan12 123#aabb", (*ONE[:2], b"\xaa\xbb")),
    "29 bits": (b"(1700000000.250000) can0 00000123#11", (ONE[0], 0x123 | EXTENDED, b"\x11")),
    "flexible": (b"(1700000000.250000) can0 123##111223344", ONE),
    "console": (b" (1700000000.250000)  can0  123   [4]  11 22 33 44", ONE),
    "console, text": (b" (1700000000.250000)  can0  123   [4]  11 22 33 44   '.\"3D'", ONE),
    "console, flags": (b" (1700000000.250000)  can0  RX - -  123   [4]  11 22 33 44", ONE),
    "console, date": (b" (2023-11-14 22:13:20.250000)  can0  123   [4]  11 22 33 44", ONE),
    "empty": (b"(1700000000.250000) can0 123#", (*ONE[:2], b"")),
    "relative": (b"(0.250000) can0 123#11223344", (0.25, *ONE[1:])),
    "zero": (b" (000.250000)  can0  123   [4]  11 22 33 44", (0.25, *ONE[1:])),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_each_form_of_candump_is_read(name: str, end: bytes) -> None:
    line, frame = LINES[name]
    frames, tally = read(".log", (line + end) * 2)
    assert frames == [frame] * 2
    assert tally.malformed == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"(1700000000.25) can0 123#112", "malformed"),
        (b"(1700000000.25) can0 823#11", "malformed"),
        (b"(1700000000.25) can0 12#11", "malformed"),
        (b"(x) can0 123#11", "malformed"),
        (b"(1700000000.250000) can0 123#1122334455667788GG", "malformed"),
        (b"hello", "malformed"),
        (b"x" * 9000, "malformed"),
        (b"(1700000000.250000) can0 20000004#0000000000000000", "errors"),
        (b"(1700000000.250000) can0 123#R", "remote"),
        (b" (1700000000.250000)  can0  123   [0]  remote request", "remote"),
    ],
)
def test_what_is_no_data_frame_is_counted(line: bytes, what: str) -> None:
    good = LINES["log file"][0]
    frames, tally = read(".log", b"\n".join([good, line, good]))
    assert frames == [ONE, ONE]
    counts = {name: getattr(tally, name) for name in ("malformed", "errors", "remote")}
    assert counts.pop(what) == 1
    assert not any(counts.values())


def test_a_relative_asc_log_is_added_up() -> None:
    text = b"date Mon Nov 14 10:13:20.5 pm 2023\nbase dec  timestamps relative\n"
    text += (
        b"0.5 1 291 Rx d 2 17 34\n0.25 1 291x Tx d 0\n0.25 1 ErrorFrame\nnoise\n9 1 zz Rx d 1 0\n"
    )
    frames, tally = read(".asc", text)
    assert frames == [
        (1700000001.0, 0x123, b"\x11\x22"),
        (1700000001.25, 0x123 | EXTENDED, b""),
    ]
    assert (tally.errors, tally.malformed) == (1, 1)


TRACES = {
    "1.0": ";##\n;  old\n     1)      250 0123 2 11 22\n     2)   300 00000123 1 AA\n",
    "1.1": ";$FILEVERSION=1.1\n  1)   250.0  Rx   0123  2  11 22\n 2) 300.0 Tx 00000123 1 AA\n",
    "1.2": ";$FILEVERSION=1.2\n 1)  250.0 1  Rx   0123  2  11 22\n 2) 300 1 Tx 00000123 1 AA\n",
    "1.3": ";$FILEVERSION=1.3\n 1) 250.0 1  Rx  0123 -  2  11 22\n 2) 300 1 Tx 00000123 - 1 AA\n",
    "2.0": ";$FILEVERSION=2.0\n;$COLUMNS=N,O,T,I,d,l,D\n 1 250.0 DT 0123 Rx 2 11 22\n"
    " 2 300 FD 00000123 Tx 1 AA\n",
}


@pytest.mark.parametrize("version", TRACES)
def test_each_version_of_a_trace_is_read(version: str) -> None:
    frames, tally = read(".trc", TRACES[version].encode())
    assert frames == [(0.25, 0x123, b"\x11\x22"), (0.3, 0x123 | EXTENDED, b"\xaa")]
    assert tally.malformed == 0


@pytest.mark.parametrize("suffix", [".asc", ".blf", ".trc"])
def test_another_file_is_refused_in_words(suffix: str) -> None:
    with pytest.raises(UnreadableRecording, match=r"not an? (ASC|BLF|TRC)"):
        read(suffix, b"hello\nworld\n" * 20)


@pytest.mark.parametrize("suffix", [".log", ".asc", ".trc"])
def test_an_odd_line_costs_itself_only(suffix: str, tmp_path: Path) -> None:
    written = messages(60, flexible=False, remote=False)
    lines = write(tmp_path / f"a{suffix}", written).read_bytes().split(b"\n")
    middle = len(lines) // 2
    lines[middle] = lines[middle].replace(b"#", b"#z").replace(b"Rx", b"zz").replace(b"DT", b"zz")
    frames, _ = read(suffix, b"\n".join(lines))
    assert len(frames) == 59


def test_a_cut_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.blf", messages(20_000, flexible=False, remote=False)).read_bytes()
    frames, tally = read(".blf", whole[: len(whole) * 2 // 3])
    assert 1000 < len(frames) < 20_000
    assert [code for code, _ in tally.doubts] == ["log_damaged"]


def test_a_container_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.blf", messages(2)).read_bytes()
    packed = zlib.compress(bytes(80 << 20))
    size = 32 + len(packed)
    container = struct.pack("<4sHHLLH6xL4x", b"LOBJ", 16, 1, size, 10, 2, 1) + packed
    with pytest.raises(UnreadableRecording):
        read(".blf", whole[:144] + container + bytes(size % 4))
