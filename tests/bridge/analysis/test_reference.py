"""Reference laps: what corners are compared with, and the files that hold it."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from runtime.bridge.analysis.drive import NoSuchLap
from runtime.bridge.analysis.passes import list_passes
from runtime.bridge.analysis.reference import (
    NONE,
    ReferenceBook,
    ReferenceLap,
    References,
    Target,
    find_aims,
    find_basis,
    format_reference,
    make_reference,
    parse_reference,
    read_references,
    write_reference,
)
from runtime.bridge.track.model import TrackError
from tests.bridge.analysis.cornerkit import between, drive_on, pace_frames, ring_frames, ring_track

SMALL: dict[str, Any] = {
    "track": "Ring",
    "lap_time_s": 38.5,
    "corners": {"Turn 1": {"corner_time_s": 3.5, "entry_speed_kmh": 90, "brake_point_m": -4.5}},
}


def text(**changes: Any) -> str:
    return json.dumps({**SMALL, **changes})


def test_a_small_file_is_enough() -> None:
    lap = parse_reference(text())

    assert lap.lap_time_s == 38.5
    assert lap.corners["Turn 1"] == Target(3.5, entry_speed_kmh=90.0, brake_point_m=-4.5)
    assert lap.max_combo_g is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"track": ""}, "track"),
        ({"track": None}, "track"),
        ({"lap_time_s": 0}, "lap_time_s"),
        ({"lap_time_s": -3}, "lap_time_s"),
        ({"lap_time_s": "fast"}, "lap_time_s"),
        ({"lap_time_s": 1e400}, "not a number"),
        ({"corners": {}}, "corners"),
        ({"corners": None}, "corners"),
        ({"corners": [1]}, "corners"),
        ({"corners": {"Turn 1": 5}}, "corners.Turn 1"),
        ({"corners": {"Turn 1": {}}}, "corner_time_s"),
        ({"corners": {"Turn 1": {"corner_time_s": 0}}}, "corner_time_s"),
        ({"corners": {"Turn 1": {"corner_time_s": 1, "entry_speed_kmh": -1}}}, "entry_speed_kmh"),
        ({"corners": {"Turn 1": {"corner_time_s": 1, "peak_brake_bar": True}}}, "peak_brake_bar"),
        ({"n_frames": 1.5}, "n_frames"),
        ({"max_combo_g": -1}, "max_combo_g"),
    ],
)
def test_what_is_no_reference_says_where(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(TrackError) as problem:
        parse_reference(text(**changes))
    assert named in str(problem.value)


@pytest.mark.parametrize("broken", ["", "{", "[]", "null", '{"lap_time_s": NaN}'])
def test_what_is_no_json_object_is_refused(broken: str) -> None:
    with pytest.raises(TrackError):
        parse_reference(broken)


def test_a_lap_written_is_the_lap_read() -> None:
    session = ring_frames(
        2, brake_bar=lambda way: 20.0 * between(way, 150, 230), g_lat=1.1, g_long=0
    )
    lap = make_reference(drive_on(session, ring_track()), 2, "s1")
    again = parse_reference(format_reference(lap))

    assert (again.track, again.source_file) == ("ring", "s1, lap 2")
    assert again.lap_time_s == pytest.approx(40.0, abs=1e-3)
    assert again.n_frames == lap.n_frames
    assert again.max_combo_g == pytest.approx(1.1)
    assert list(again.corners) == ["Turn 1", "Turn 2"]
    for name, target in lap.corners.items():
        read = asdict(again.corners[name])
        for key, value in asdict(target).items():
            assert read[key] == (value if value is None else pytest.approx(value, abs=1e-4))


def test_the_best_lap_is_the_reference_where_none_is_named() -> None:
    session = pace_frames(lambda way: 25.0 + 0.001 * way, 3)
    drive = drive_on(session, ring_track())

    assert make_reference(drive).lap_time_s == min(lap.duration_s for lap in drive.counted)
    with pytest.raises(NoSuchLap):
        make_reference(drive, 4)


def references(*names: str, track: str = "ring") -> References:
    lap = ReferenceLap(track=track, lap_time_s=38.0, corners={name: Target(3.0) for name in names})
    return References({"ring": lap})


def test_the_file_counts_where_it_names_a_corner_and_the_session_elsewhere() -> None:
    drive = drive_on(ring_frames(2), ring_track())
    result = find_aims(drive, references("Turn 2", "Elsewhere"))

    assert result["Turn 1"].basis == "session_best"
    assert result["Turn 1"].own is result["Turn 1"].target
    assert result["Turn 2"] == (Target(3.0, approach_m=0.0), "reference_file", None)
    assert find_basis(drive, references("Turn 2")) == "reference_file"
    assert find_basis(drive, references("Elsewhere")) == "session_best"
    assert find_basis(drive) == "session_best"


def test_a_file_of_another_circuit_does_not_count() -> None:
    drive = drive_on(ring_frames(2), ring_track())

    assert find_aims(drive, references("Turn 1", track="Oval"))["Turn 1"].basis == "session_best"
    assert references("Turn 1", track="RING").of(drive.track) is not None
    assert references("Turn 1").of(None) is None
    assert NONE.of(drive.track) is None


def test_the_session_is_compared_with_its_quickest_pass() -> None:
    drive = drive_on(pace_frames(lambda way: 25.0 + 0.001 * way, 3), ring_track())

    for name, aim in find_aims(drive).items():
        times = [passage.corner_time_s for passage in list_passes(drive)[name]]
        assert aim.target.corner_time_s == min(times)
        assert aim.own is not None
        assert aim.own.lap == 3


def test_the_folder_is_read_anew_when_a_file_changes(tmp_path: Path) -> None:
    book = ReferenceBook(tmp_path / "reference")
    assert book.current() is NONE

    path = tmp_path / "reference" / "ring.json"
    write_reference(path, parse_reference(text()))
    first = book.current()
    assert first.laps["ring"].lap_time_s == 38.5
    assert book.current() is first

    write_reference(path, parse_reference(text(lap_time_s=37.0)), force=True)
    os.utime(path, ns=(1, 1))
    assert book.current().laps["ring"].lap_time_s == 37.0

    path.unlink()
    assert book.current().laps == {}


def test_a_file_that_is_no_reference_is_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    (tmp_path / "latin.json").write_bytes(b'{"track": "\xe9"}')
    (tmp_path / "ring.json").write_text(text(), encoding="utf-8")
    book = ReferenceBook(tmp_path)

    assert list(book.current().laps) == ["ring"]
    assert list(book.current().unreadable) == ["bad", "latin"]
    assert "bad.json: track" in caplog.text
    assert read_references(tmp_path / "nowhere").laps == {}
