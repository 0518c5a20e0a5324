"""Damaged and hostile files: a recording with doubts or a refusal in words."""

import random
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Recording
from tests.bridge.formats.vbo.vbokit import ALL_DIALECTS, drive, read, vbo_bytes


@cache
def whole(name: str = "native") -> bytes:
    """A sound file of about 80 rows."""
    return vbo_bytes(drive(laps=0.1, lead_m=60.0), ALL_DIALECTS[name])


def check(recording: Recording) -> None:
    """What holds for every recording, however its file looked."""
    columns = recording.frames.columns
    rows = len(recording.frames)
    assert set(columns) == set(WIDE)
    assert {len(values) for values in columns.values()} == {rows}
    assert np.isfinite(columns[TIMESTAMP]).all()
    assert not (np.diff(columns["distance_m"]) < 0).any()
    for name, signal in recording.signals.items():
        assert 0 < len(signal.t) == len(signal.value) <= rows
        assert np.isfinite(signal.value).all(), name
    for values in columns.values():
        assert not np.isinf(values).any()
        assert not np.signbit(values[values == 0.0]).any()
    assert np.nanmax(np.abs(columns["lat"]), initial=0.0) <= 90.0
    assert np.nanmax(np.abs(columns["lon"]), initial=0.0) <= 180.0
    assert all(0.0 <= gate.heading < 360.0 for gate in (recording.start, *recording.splits) if gate)
    assert len({doubt.code for doubt in recording.doubts}) < 20
    assert all(doubt.times >= 1 for doubt in recording.doubts)


def outcome(data: bytes) -> Recording | None:
    try:
        recording = read(data)
    except UnreadableRecording as error:
        text = str(error)
    else:
        check(recording)
        return recording
    assert 5 < len(text) < 300
    return None


def _rows(change: Callable[[list[bytes]], object]) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        lines = data.split(b"\r\n")
        at = lines.index(b"[data]") + 1
        rows = lines[at:]
        change(rows)
        return b"\r\n".join([*lines[:at], *rows])

    return damage


def _cell(row: int, cell: int, text: bytes) -> Callable[[bytes], bytes]:
    def change(rows: list[bytes]) -> None:
        cells = rows[row].split()
        cells[cell] = text
        rows[row] = b" ".join(cells)

    return _rows(change)


def _swap(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new)


def _column(cell: int, text: bytes) -> Callable[[bytes], bytes]:
    def change(rows: list[bytes]) -> None:
        for at, row in enumerate(rows):
            cells = row.split()
            if cells:
                cells[cell] = text
                rows[at] = b" ".join(cells)

    return _rows(change)


READABLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in the middle of a row": (lambda d: d[:-90], "rows_short"),
    "a row of noise": (_rows(lambda r: r.insert(5, b"\xff\x00\xfe\x7f" * 20)), "rows_short"),
    "noise in a cell": (_cell(5, 9, b"\xff\xfe"), "values_unreadable"),
    "a NUL in a cell": (_cell(5, 9, b"1\x002"), "values_unreadable"),
    "a comma in a cell": (_cell(5, 9, b"1,2,3"), "values_unreadable"),
    "two rows glued together": (_rows(lambda r: r.__setitem__(3, r[3] + r.pop(4))), "rows_long"),
    "half a row": (_rows(lambda r: r.__setitem__(3, r[3][:40])), "rows_short"),
    "a row twice": (_rows(lambda r: r.insert(3, r[3])), "time_not_increasing"),
    "a row a second late": (_rows(lambda r: r.insert(20, r.pop(3))), "rows_without_time"),
    "a time of letters": (_cell(5, 1, b"noon"), "rows_without_time"),
    "a time of no day": (_cell(5, 1, b"250000.0"), ""),
    "a negative time": (_cell(5, 1, b"-142530.3"), "rows_without_time"),
    "an endless time": (_cell(5, 1, b"inf"), "rows_without_time"),
    "time runs back": (_cell(30, 1, b"000000.00"), "rows_without_time"),
    "a place of no globe": (_cell(5, 2, b"+9999999.0"), "positions_impossible"),
    "a place far away": (_cell(5, 2, b"+00120.16402910"), "position_jumps"),
    "zero for a place": (lambda d: _cell(5, 3, b"0")(_cell(5, 2, b"0")(d)), ""),
    "no place": (_cell(5, 2, b"nan"), ""),
    "no place at all": (_column(2, b"nan"), ""),
    "no satellites for a while": (_cell(5, 0, b"000"), "no_fix"),
    "satellites below zero": (_cell(5, 0, b"-5"), ""),
    "satellites without end": (_cell(5, 0, b"1e300"), ""),
    "a speed below zero": (_cell(5, 4, b"-50"), "speed_negative"),
    "an endless speed": (_cell(5, 4, b"1e999"), ""),
    "a speed of light": (_cell(5, 4, b"1079252848.8"), ""),
    "no speed": (_column(4, b"nan"), ""),
    "a wheel out of its range": (_cell(5, 12, b"+1.024E+03"), "sentinel_values"),
    "blank lines between rows": (_rows(lambda r: r.insert(3, b"  \t ")), ""),
    "a section after the data": (_rows(lambda r: r.extend([b"[end]", b""])), "rows_short"),
    "line ends of another system": (_swap(b"\r\n", b"\n"), ""),
    "mixed line ends": (lambda d: d.replace(b"\r\n", b"\n", 40), ""),
    "tabs for blanks": (_rows(lambda r: r.__setitem__(3, r[3].replace(b" ", b"\t"))), ""),
    "wide blanks": (_rows(lambda r: r.__setitem__(3, r[3].replace(b" ", b"     "))), ""),
    "no last line end": (lambda d: d.rstrip(), ""),
    "a comment of noise": (_swap(b"(c) Paddock", bytes(range(128, 256))), ""),
    "a date of no calendar": (_swap(b"15/06/2025", b"99/99/9999"), ""),
    "no first line": (lambda d: d.partition(b"\r\n")[2], ""),
    "no header": (_swap(b"[header]", b"[foo]"), ""),
    "no units": (_swap(b"[channel units]", b"[foo]"), ""),
    "a name twice": (_swap(b" Longacc ", b" Latacc "), ""),
    "no names for accelerations": (_swap(b"Latacc Longacc", b"? ?"), ""),
    "a gate of letters": (_swap(b"Start   -", b"Start   x"), ""),
    "a gate of zeros": (_swap(b"Start   ", b"Start   0 0 0 0 "), ""),
    "a gate elsewhere": (_swap(b"Start   ", b"Start   +1 +1 +1 +2 "), "gate_off_path"),
    "an endless gate": (_swap(b"Start   ", b"Start   1e999 1 1 1 "), ""),
    "a hundred gates": (_swap(b"Start   ", b"Split  1 2 3 4\r\n" * 100), "gate_off_path"),
    "names in capitals": (_swap(b"sats time lat long", b"SATS TIME LAT LONG"), ""),
    "an empty section": (_swap(b"[comments]", b"[]\r\n[ ]\r\n[comments]"), ""),
}
UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "only line ends": lambda _: b"\r\n" * 1000,
    "only zeros": lambda _: bytes(5000),
    "noise": lambda _: random.Random(1).randbytes(5000),
    "text of two bytes": lambda d: d.decode("cp1252").encode("utf-16"),
    "cut before the data": lambda d: d[: d.index(b"[data]")],
    "one name too few": _swap(b" Coolant_Temperature\r\n\r\n[data]", b"\r\n\r\n[data]"),
    "times of letters": _column(1, b"noon"),
    "letters for data": _rows(lambda r: r.__setitem__(slice(None), [b"a b c"] * 9)),
    "a page of the web": lambda _: b"<!doctype html><title>Not found</title>" * 50,
    "a name without an end": _swap(b"sats", b"s" * 70_000),
}  # fmt: skip


@pytest.mark.parametrize("name", READABLE)
def test_a_damaged_file_is_read_as_far_as_it_goes(name: str) -> None:
    damage, code = READABLE[name]
    damaged = damage(whole())
    assert damaged != whole()
    recording = outcome(damaged)
    assert recording is not None
    assert len(recording.frames) >= 55
    assert not code or code in {doubt.code for doubt in recording.doubts}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_holds_no_recording_is_refused(name: str) -> None:
    assert outcome(UNREADABLE[name](whole())) is None


def test_a_silent_receiver_that_wakes_up_is_read() -> None:
    data = _rows(lambda rows: rows.__setitem__(slice(0, 9), [
        b"000 " + row.split()[1] + b" 0 0 " + b" ".join(row.split()[4:]) for row in rows[:9]
    ]))(vbo_bytes(drive(laps=0.2)))  # fmt: skip
    recording = read(data)
    check(recording)
    assert np.isnan(recording.frames.columns["lat"]).sum() == 9
