"""Frames and samples from JSON: names, units, what is usable, and what happens to the rest."""

import math
from typing import Any

import numpy as np
import pytest

from runtime.bridge.session.ingest import (
    MAX_NAMES,
    BadBatch,
    BatchTooLarge,
    FrameBatch,
    SampleBatch,
    read_columns,
    read_frame,
    read_frames,
    read_samples,
)
from runtime.bridge.session.names import NAMES
from runtime.bridge.session.recording import WIDE


def row(batch: FrameBatch, index: int = 0) -> dict[str, float]:
    columns = batch.frames.columns
    return {
        name: float(columns[name][index]) for name in WIDE if not math.isnan(columns[name][index])
    }


SPELLED: list[tuple[dict[str, object], dict[str, float]]] = [
    ({"timestamp": 5, "speed_ms": 20}, {"timestamp": 5, "speed_ms": 20}),
    ({"t": 5, "speed": 20}, {"timestamp": 5, "speed_ms": 20}),
    ({"time": 1_700_000_000_500}, {"timestamp": 1_700_000_000.5}),
    ({"t": 1e11}, {"timestamp": 1e11}),
    ({"t": 5, "speed_kmh": 36}, {"timestamp": 5, "speed_ms": 10}),
    ({"t": 5, "speed_ms": 1, "speed": 2, "speed_kmh": 36}, {"timestamp": 5, "speed_ms": 1}),
    ({"t": 5, "speed_ms": None, "speed": 2}, {"timestamp": 5, "speed_ms": 2}),
    ({"t": 5, "brake_pressure": 30}, {"timestamp": 5, "brake_bar": 30}),
    ({"t": 5, "brake_psi": 600}, {"timestamp": 5, "brake_bar": 41.36856}),
    ({"t": 5, "throttle": 50}, {"timestamp": 5, "throttle_pct": 50}),
    ({"t": 5, "steering": -3}, {"timestamp": 5, "steering_deg": -3}),
    ({"t": 5, "distance": 7, "lng": -1}, {"timestamp": 5, "distance_m": 7, "lon": -1}),
    ({"t": 5, "long": -1, "lat": 2}, {"timestamp": 5, "lon": -1, "lat": 2}),
    ({"t": 5, "g_lat": 3, "g_long": -4}, {"timestamp": 5, "g_lat": 3, "g_long": -4, "combo_g": 5}),
    (
        {"t": 5, "g_lat": 3, "g_long": -4, "combo_g": 1},
        {"timestamp": 5, "g_lat": 3, "g_long": -4, "combo_g": 1},
    ),
    ({"t": 5, "g_lat": 3}, {"timestamp": 5, "g_lat": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("frame", "expected"), SPELLED)
def test_every_spelling_of_a_column_is_understood(
    frame: dict[str, Any], expected: dict[str, float]
) -> None:
    assert row(read_frames([frame])) == pytest.approx(expected)
    assert row(read_frame(frame)) == pytest.approx(expected)
    assert row(read_columns({key: [value] for key, value in frame.items()})) == pytest.approx(
        expected
    )


def test_further_numbers_become_signals_at_the_time_of_their_frame() -> None:
    frames = [
        {"t": 1, "oil_temp_c": 90, "abs_active": True, "source": "can", "frame_idx": 7},
        {"t": 2, "oil_temp_c": None, "session_id": "x", "note": "wet"},
        {"t": 3, "oil_temp_c": 91.5},
    ]
    batch = read_frames(frames)
    assert {n: (s.t.tolist(), s.value.tolist()) for n, s in batch.extras.items()} == {
        "abs_active": ([1.0], [1.0]),
        "oil_temp_c": ([1.0, 3.0], [90.0, 91.5]),
    }
    assert batch.ignored == (("note", "not a number"),)
    assert batch.n_rejected == 0


def test_unusable_frames_are_left_out_with_their_reason() -> None:
    frames = [
        {"t": 1, "rpm": 1000, "x": 1},
        {"rpm": 2000, "x": 2},
        {"t": "3", "x": 3},
        {"t": 4, "rpm": "fast"},
        {"t": 5, "brake_bar": float("inf")},
        {"t": 6, "lat": True},
        {"t": 7, "x": 10**400},
        [8],
        {"t": 9, "rpm": 9000, "x": None},
    ]
    batch = read_frames(frames)
    assert batch.frames.columns["timestamp"].tolist() == [1.0, 9.0]
    assert batch.frames.columns["rpm"].tolist() == [1000.0, 9000.0]
    assert batch.extras["x"].t.tolist() == [1.0]
    assert [(r.index, r.reason) for r in batch.rejected] == [
        (1, "timestamp is missing"),
        (2, "t is not a number"),
        (3, "rpm is not a number"),
        (4, "brake_bar is not a number"),
        (5, "lat is not a number"),
        (6, "x is infinite"),
        (7, "not an object"),
    ]
    assert batch.n_rejected == 7
    for index, frame in enumerate(frames):
        if 0 < index < 8:
            with pytest.raises(BadBatch):
                read_frame(frame)


def test_only_the_first_twenty_reasons_are_kept() -> None:
    batch = read_frames([{"t": 0}, *[{"rpm": 1}] * 30])
    assert (batch.n_rejected, len(batch.rejected), batch.rejected[0].index) == (30, 20, 1)


@pytest.mark.parametrize("frames", [None, [], {}, "x", [{}], [{"rpm": 1}], [None], [[]]])
def test_a_batch_without_a_usable_frame_is_refused(frames: object) -> None:
    with pytest.raises(BadBatch):
        read_frames(frames)


@pytest.mark.parametrize(
    "columns", [None, {}, {"t": 1}, {"t": []}, {"t": [1], "rpm": [1, 2]}, {"rpm": [1]}, [[1]]]
)
def test_columns_that_do_not_fit_are_refused(columns: object) -> None:
    with pytest.raises(BadBatch):
        read_columns(columns)


def test_too_much_is_refused() -> None:
    with pytest.raises(BatchTooLarge):
        read_frames([{"t": 1}] * 100_001)
    with pytest.raises(BatchTooLarge):
        read_columns({"t": [1] * 100_001})
    with pytest.raises(BatchTooLarge):
        read_frames([{"t": 1, f"n{i}": 1} for i in range(MAX_NAMES + 50)])


def test_a_name_that_cannot_be_asked_for_is_changed() -> None:
    frame = {"t": 1, "a\nb": 1, "x" * 129: 2, "": 3, "ok-1 %": 4, "a_b": 5, "a,b": 6}
    named = {"a_b": 5, "a_b_2": 1, "a_b_3": 6, "x" * 128: 2, "unnamed": 3, "ok-1 %": 4}
    for batch in (read_frames([frame]), read_frame(frame)):
        assert {name: item.value[0] for name, item in batch.extras.items()} == named
        assert batch.ignored == ()


def test_sparse_names_end_up_where_they_were() -> None:
    frames: list[dict[str, object]] = [{"t": i, f"n{i}": i * 2} for i in range(1, 300)]
    frames[10]["speed"] = 30
    batch = read_frames(frames)
    assert batch.extras["n250"].t.tolist() == [250.0]
    assert batch.extras["n250"].value.tolist() == [500.0]
    assert batch.frames.columns["speed_ms"][10] == 30.0
    assert np.isnan(batch.frames.columns["speed_ms"]).sum() == 298


def test_minus_zero_is_zero() -> None:
    for batch in (
        read_frames([{"t": -0.0, "g_lat": -0.0, "x": -0.0}]),
        read_frame({"t": -0.0, "x": -0.0}),
    ):
        assert not np.signbit(batch.frames.columns["timestamp"]).any()
        assert not np.signbit(batch.extras["x"].value).any()


def plain(batch: SampleBatch) -> dict[str, list[tuple[float, float]]]:
    return {
        name: list(zip(samples.t.tolist(), samples.value.tolist(), strict=True))
        for name, samples in batch.samples.items()
    }


def test_what_is_unusable_is_left_out_with_its_reason() -> None:
    batch = read_samples(
        [
            ["ok", 1, 2],
            ["a\n", 1, 2],
            [5, 1, 2],
            ["x", None, 2],
            ["x", 1, None],
            ["x", 1, "2"],
            ["x", True, 2],
            ["x", 1, float("nan")],
            ["x", 1],
            {"signal_id": 9, "t": 1, "value": 2},
            "x",
        ]
    )
    assert plain(batch) == {"ok": [(1.0, 2.0)]}
    assert [(r.index, r.reason) for r in batch.rejected] == [
        (1, NAMES),
        (2, "the signal has no name"),
        (3, "t must be a finite number"),
        (4, "value must be a finite number"),
        (5, "value must be a finite number"),
        (6, "t must be a finite number"),
        (7, "value must be a finite number"),
        (8, "the signal has no name"),
        (9, "the signal has no name"),
        (10, "the signal has no name"),
    ]


@pytest.mark.parametrize("signals", [None, [], {}, [[]], [["x", 1, None]], [None]])
def test_nothing_usable_is_refused(signals: object) -> None:
    with pytest.raises(BadBatch):
        read_samples(signals)


def test_a_column_may_come_under_the_name_of_its_maker() -> None:
    frame = {
        "timestamp": 1.0, "EngineSpeed": 5000, "throttle_pos-obd": 40.0, "velocity-kmh": 72.0,
        "brake_press_psi": 100.0, "LapDist": 12.5, "oil_temp": 90.0,
    }  # fmt: skip
    batch = read_frames([frame])
    columns = {name: values[0] for name, values in batch.frames.columns.items()}
    assert (columns["rpm"], columns["throttle_pct"], columns["distance_m"]) == (5000, 40, 12.5)
    assert columns["speed_ms"] == pytest.approx(20.0)
    assert columns["brake_bar"] == pytest.approx(6.89476)
    assert set(batch.extras) == {"oil_temp"}


def test_the_column_s_own_name_wins_and_the_other_is_a_signal() -> None:
    rows = [
        {"timestamp": 1.0, "rpm": 4000, "EngineSpeed": 5000},
        {"timestamp": 2.0, "rpm": None, "EngineSpeed": 5100, "rpm-obd": 3},
        {"timestamp": 3.0, "vehicle_speed": 50.0, "brake_pressure_front": 2.0},
    ]
    batch = read_frames(rows)
    assert batch.frames.columns["rpm"][:2].tolist() == [4000, 5100]
    reported = {name: samples.value.tolist() for name, samples in batch.extras.items()}
    assert reported == {
        "EngineSpeed": [5000], "rpm-obd": [3], "vehicle_speed": [50], "brake_pressure_front": [2],
    }  # fmt: skip
    assert np.isnan(batch.frames.columns["speed_ms"]).all(), "in which unit?"


@pytest.mark.parametrize(
    ("key", "signal"),
    [("BRAKE_PRESSED", "brake_switch"), ("brake_pos-obd", "brake_position_pct")],
)
def test_signals_that_a_series_is_read_with_have_their_names_too(key: str, signal: str) -> None:
    batch = read_frames([{"timestamp": 1.0, key: True}, {"timestamp": 2.0, key: 0}])
    assert batch.extras[signal].value.tolist() == batch.extras[key].value.tolist() == [1.0, 0.0]
