"""Damaged files of every program are a recording of what is left, or an error in words."""

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.formats.detection import read_recording
from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.formats.readers import rcz
from tests.bridge.truth.drives import FILE_PLAN, Drive, drive
from tests.bridge.truth.exports import EXPORTS


@pytest.fixture(scope="module")
def brief() -> Drive:
    """The first seconds of a drive."""
    made = drive(FILE_PLAN)
    return replace(made, columns={name: values[:16] for name, values in made.columns.items()})


def test_random_bytes_are_no_recording() -> None:
    chance = np.random.default_rng(5)
    for suffix in sorted({export.suffix for export in EXPORTS.values()}):
        for size in (0, 1, 100, 5000):
            with pytest.raises(UnreadableRecording):
                read_recording(io.BytesIO(chance.bytes(size)), f"a{suffix}")


def bomb_rcz(brief: Drive) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"channel_1_100_0_{number}_0", bytes(1 << 20))
    return packed.getvalue()


def bomb_gpx(brief: Drive) -> bytes:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    data = EXPORTS["gpx"].write(brief).decode()
    kind = f'?>\n<!DOCTYPE gpx [<!ENTITY e0 "ha">{entities}]>'
    return data.replace("?>", kind, 1).replace("500.1", "&e9;", 1).encode()


def write_nested_gpx(brief: Drive) -> bytes:
    return b"<gpx>" + b"<a>" * 1_000_000


def bomb_ld(brief: Drive) -> bytes:
    """A list of 4,000 channels that all are the rest of the file."""
    data = bytearray(EXPORTS["motec-ld"].write(brief)[:1762])
    for at in range(4000):
        place = len(data)
        name = f"c{at}".encode()
        data += struct.pack("<4I4H4h32s8s12s40x", 0, place + 124, 1762, 2**31, 0, 7, 4, 100, 0, 1,
                            1, 0, name, b"", b"")  # fmt: skip
    return bytes(data)


def bomb_ibt(brief: Drive) -> bytes:
    """4,000 variables that all lie at the begin of a row of one byte."""
    data = EXPORTS["ibt"].write(brief)
    variable = struct.pack("<3i?3x32s64s32s", 1, 0, 1, False, b"SessionTime", b"", b"")
    head = bytearray(data[:144])
    struct.pack_into("<ii4xi", head, 24, 4000, 144, 1)
    struct.pack_into("<i", head, 36, 1)
    return bytes(head) + variable * 4000 + bytes(1 << 20)


@pytest.mark.parametrize(
    ("make", "suffix", "message"),
    [
        (bomb_rcz, ".rcz", "unpacks to more than"),
        (bomb_gpx, ".gpx", "document type"),
        (write_nested_gpx, ".gpx", "nested too deeply"),
        (bomb_ld, ".ld", "overlap"),
        (bomb_ibt, ".ibt", "too many"),
        (lambda _: b"time,lat\n" + b"1," * 1_000_000, ".csv", "longer than"),
    ],
)
def test_a_small_file_takes_no_large_memory(
    make: Callable[[Drive], bytes],
    suffix: str,
    message: str,
    brief: Drive,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rcz, "LARGEST_FILE", 2 << 20)
    data = make(brief)
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableRecording, match=message):
            read_recording(io.BytesIO(data), f"a{suffix}")
        assert tracemalloc.get_traced_memory()[1] < (64 << 20) + 4 * len(data)
    finally:
        tracemalloc.stop()
