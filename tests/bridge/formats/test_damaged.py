"""Damaged files of every program are a recording of what is left, or an error in words."""

import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.formats.formats import read_recording
from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import TIMESTAMP
from tests.bridge.truth.drives import FILE_PLAN, Drive, drive
from tests.bridge.truth.exports import EXPORTS

EDITS = 40
CUTS = 12


@pytest.fixture(scope="module")
def brief() -> Drive:
    """The first seconds of a drive."""
    made = drive(FILE_PLAN)
    return replace(made, columns={name: values[:16] for name, values in made.columns.items()})


def damage(data: bytes) -> Iterator[bytes]:
    """Copies that are cut, overwritten, doubled or of another encoding."""
    chance = np.random.default_rng(len(data))
    for at in chance.integers(0, len(data), CUTS):
        yield data[:at]
        yield data[at:]
    for _ in range(EDITS):
        copy = bytearray(data)
        for _ in range(chance.integers(1, 8)):
            # most damage goes where the structure is
            reach = len(data) if chance.random() < 0.5 else min(len(data), 600)
            at = int(chance.integers(0, reach))
            copy[at : at + int(chance.integers(0, 9))] = chance.bytes(int(chance.integers(0, 9)))
        yield bytes(copy)
    yield data.replace(b"\n", b"\r")
    yield data.replace(b",", b"\0")
    yield data + data
    yield data.decode("latin-1").encode("utf-16")
    yield data[:40] + b"\xff" * len(data)
    yield data[:40] + bytes(len(data))


@pytest.mark.parametrize("name", EXPORTS)
def test_whatever_is_damaged_is_read_or_refused_in_words(name: str, brief: Drive) -> None:
    export = EXPORTS[name]
    data = export.write(brief)
    whole = read_recording(io.BytesIO(data), f"a{export.suffix}")
    assert len(whole.frames) >= 15

    for copy in damage(data):
        with suppress(UnreadableRecording):
            recording = read_recording(io.BytesIO(copy), f"a{export.suffix}")
            assert np.isfinite(recording.frames.columns[TIMESTAMP]).all()


def test_random_bytes_are_no_recording() -> None:
    chance = np.random.default_rng(5)
    for suffix in sorted({export.suffix for export in EXPORTS.values()}):
        for size in (0, 1, 100, 5000):
            with pytest.raises(UnreadableRecording):
                read_recording(io.BytesIO(chance.bytes(size)), f"a{suffix}")
