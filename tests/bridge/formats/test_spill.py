"""Large recordings lie in a file: the same numbers, little memory, nothing left behind."""

import errno
import gc
import io
import os
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from runtime.bridge.formats import spill
from runtime.bridge.formats.errors import UnparsableVbo
from runtime.bridge.formats.formats import read_recording
from runtime.bridge.formats.spill import Spill
from runtime.bridge.formats.vbo import assemble, pieces, read, table
from runtime.bridge.session.recording import Recording

COLUMNS = "sats time lat long velocity heading height vert-vel steering latacc longacc rpm more"


def drive(rows: int) -> bytes:
    """A file of numbers at even places, in a circle."""
    head = f"File created on 15/06/2025 @ 14:25:30\r\n[column names]\r\n{COLUMNS}\r\n[data]\r\n"
    angle = np.arange(rows) * 0.0009
    noise = np.random.default_rng(1).standard_normal((rows, 5))
    lines = [head]
    for at in range(rows):
        clock = f"1000{at // 100 % 60:02d}.{at % 100 * 10:03d}"
        if at >= 6000:
            clock = f"10{at // 6000:02d}{clock[4:]}"
        lat = 3120 + np.cos(angle[at]) * 0.2
        lon = -270 - np.sin(angle[at]) * 0.2 / np.cos(np.radians(52.0))
        course = np.degrees(-angle[at] + np.pi / 2) % 360
        told = " ".join(f"{value:+.6E}" for value in noise[at])
        lines.append(
            f"009 {clock} {lat:+015.8f} {lon:+015.8f} 120.017 {course:07.3f} +0012.50 +000.00 "
            f"{told}\r\n"
        )
    return "".join(lines).encode()


DATA = drive(7000)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is small counts as large."""
    monkeypatch.setattr(table, "LARGE", 1000)
    monkeypatch.setattr(read, "LARGE", 1000)
    monkeypatch.setattr(table, "_ROWS_WAITING", 1000)
    monkeypatch.setattr(pieces, "PIECE", 777)
    monkeypatch.setattr(assemble, "_PIECE", 555)


def recorded(data: bytes) -> Recording:
    return read_recording(io.BytesIO(data), "a.vbo")


def bits(recording: Recording) -> dict[str, bytes]:
    """Every number of a recording."""
    frames = {name: np.array(values).tobytes() for name, values in recording.frames.columns.items()}
    signals = {name: b"".join(map(bytes, two)) for name, two in recording.signals.items()}
    return {**frames, **signals}


def gaps(data: bytes) -> bytes:
    """The same with rows cut, rows without a time, a zero position and numbers that are none."""
    lines = data.split(b"\r\n")
    for at in range(50, len(lines) - 1, 500):
        lines[at] = lines[at][:50]
        lines[at + 1] = lines[at + 1].replace(b" 10", b" xx", 1)
        lines[at + 2] = b" ".join((b"003", *lines[at + 2].split()[1:-1], b"nan"))
        lines[at + 3] = b" ".join((*lines[at + 3].split()[:-1], b"-0"))
        lines[at + 4] = b" ".join((b"000", *lines[at + 4].split()[1:]))
    return b"\r\n".join(lines)


@pytest.mark.parametrize("data", [DATA, gaps(DATA)], ids=["whole", "gaps"])
def test_a_large_file_is_read_to_the_same_bits(data: bytes, request: pytest.FixtureRequest) -> None:
    before = recorded(data)
    request.getfixturevalue("small")
    after = recorded(data)
    assert bits(after) == bits(before)
    assert (after.doubts, after.facts, after.video) == (before.doubts, before.facts, before.video)
    assert (after.start, after.created, after.unmapped) == (
        before.start, before.created, before.unmapped,
    )  # fmt: skip
    assert len(after.frames) == len(before.frames)
    assert not after.frames.columns["rpm"].flags.writeable


@pytest.mark.usefixtures("small")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors of Linux")
def test_nothing_is_left_behind_when_nobody_looks_any_more() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    recording = recorded(DATA)
    speed = recording.frames.columns["speed_ms"]
    del recording
    gc.collect()
    assert speed[0] > 0  # the view outlives the rest
    del speed
    gc.collect()
    assert set(Path("/proc/self/fd").iterdir()) <= before  # older garbage may have gone, too


@pytest.mark.usefixtures("small")
def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "truncate", full)
    with pytest.raises(UnparsableVbo, match="no room"):
        recorded(DATA)


def test_views_are_what_was_written_and_cannot_be_changed() -> None:
    shelf = Spill()
    first, second = shelf.reserve(3), shelf.reserve(1)
    shelf.write(second, np.array([9.0]))
    shelf.write(first, np.arange(6.0)[::2])
    view = shelf.view(first, 3)
    assert (view.tolist(), shelf.view(second, 1).tolist()) == ([0.0, 2.0, 4.0], [9.0])
    shelf.rest()
    again = shelf.again(view)
    assert again is not None
    assert again().tolist() == view.tolist()
    assert shelf.again(np.zeros(3)) is None
    assert len(shelf.view(first, 0)) == 0
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


def test_a_file_of_usual_size_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill.Spill, "reserve", None)
    assert len(recorded(DATA).frames) > 1000
