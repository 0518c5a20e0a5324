"""From the signals of frames to rows and samples."""

import itertools
import math
import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.can import assembler
from runtime.bridge.can.assembler import Flush
from runtime.bridge.can.decoder import Column, Decoder
from runtime.bridge.can.frame_columns import GPS_DISTANCE
from runtime.bridge.can.frames import Batch, CanFrame
from runtime.bridge.can.rules import NO_RULES, Plan, Steps
from runtime.bridge.session.recording import WIDE

T0 = 1_763_000_000.0


class Told(Decoder):
    """Decodes the frames of this test, whose signals stand beside them."""

    def __init__(self, units: Mapping[str, str] | None = None) -> None:
        super().__init__({})
        self.units = dict(units or {})

    def knows(self, key: int) -> bool:
        return True

    def decode(self, batch: Batch) -> list[Column]:
        columns: dict[str, tuple[list[int], list[float]]] = {}
        for row, key in enumerate(batch.key.tolist()):
            for name, value in SIGNALS[key].items():
                rows, values = columns.setdefault(name, ([], []))
                rows.append(row)
                values.append(value)
        return [
            Column(name, place, np.array(rows, np.intp), np.array(values))
            for place, (name, (rows, values)) in enumerate(columns.items())
        ]


SIGNALS: list[Mapping[str, float]] = []
"""By the key of a frame."""


def frame_of(t: float, signals: Mapping[str, float]) -> CanFrame:
    """A frame that tells these signals."""
    SIGNALS.append(signals)
    return CanFrame(t, len(SIGNALS) - 1, b"")


def assembling(
    flush_ms: float = 100.0, units: Mapping[str, str] | None = None, plan: Plan = NO_RULES
) -> assembler.Assembler:
    """An assembler of such frames, of a database with these signals and units."""
    return assembler.Assembler(Told(units), plan, flush_ms)


def drive(seconds: float, **signals: float) -> list[CanFrame]:
    """50 frames a second that all say the same, from `T0`."""
    return [frame_of(T0 + n / 50, signals) for n in range(round(seconds * 50))]


def pairs_of(frames: list[CanFrame]) -> list[tuple[float, Mapping[str, float]]]:
    """Time and signals of each frame."""
    return [(frame.t, SIGNALS[frame.key]) for frame in frames]


def rows(flushes: list[Flush]) -> list[Mapping[str, float]]:
    return [flush.wide for flush in flushes if flush.wide is not None]


def samples(flushes: list[Flush], name: str) -> list[tuple[float, float]]:
    return [
        pair
        for flush in flushes
        if name in flush.samples
        for pair in zip(*(part.tolist() for part in flush.samples[name]), strict=True)
    ]


def column(flushes: list[Flush], name: str) -> list[float]:
    return [row[name] for row in rows(flushes)]


def seconds(flushes: list[Flush]) -> list[float]:
    """When rows came, from `T0`, to the microsecond."""
    return [round(row["timestamp"] - T0, 6) for row in rows(flushes)]


def heard(flushes: list[Flush], name: str) -> list[float]:
    """When samples came, from `T0`."""
    return [round(t - T0, 6) for t, _ in samples(flushes, name)]


def test_a_row_comes_for_every_hundred_milliseconds_of_the_bus() -> None:
    flushes = assembling(100).feed(drive(10.05, speed_ms=20.0))
    assert seconds(flushes) == [n / 10 for n in range(1, 101)]
    assert set(rows(flushes)[0]) == set(WIDE)
    assert column(flushes, "distance_m") == pytest.approx([2.0 * n for n in range(1, 101)], abs=0.1)
    assert set(column(flushes, "speed_ms")) == {20.0}


def test_frames_at_any_speed_and_in_any_pieces_give_the_same_rows() -> None:
    chance = random.Random(2)
    frames = [
        frame_of(T0 + n / 250, {"g_long": chance.gauss(0, 1), "speed_ms": 30.0, "oil": float(n)})
        for n in range(2500)
    ]
    whole = assembling(100).feed(frames)
    pieces, at = assembling(100), 0
    flushes: list[Flush] = []
    while at < len(frames):
        n = chance.randrange(1, 90)
        flushes += pieces.feed(frames[at : at + n])
        at += n
    assert repr(rows(flushes)) == repr(rows(whole))
    assert samples(flushes, "oil") == samples(whole, "oil")


def test_columns_and_samples_are_parted_by_name() -> None:
    flushes = assembling(100).feed(drive(0.31, rpm=5000.0, water_temp_c=90.0, lat=52.0, lon=-1.0))
    row = rows(flushes)[0]
    assert (row["rpm"], row["lat"], row["lon"]) == (5000.0, 52.0, -1.0)
    assert set(flushes[0].samples) == {"water_temp_c"}
    assert flushes[0].extras == {"water_temp_c": 90.0}
    assert heard(flushes, "water_temp_c") == [n / 50 for n in range(15)]


@pytest.mark.parametrize(
    ("signals", "speed"),
    [
        ({"speed_ms": 20.0, "wheel_speed_fl_kmh": 99.0, "speed_mph": 9.0}, 20.0),
        ({"wheel_speed_fl_kmh": 72.0, "wheel_speed_fr_kmh": 72.0, "wheel_speed_rl_kmh": 79.2,
          "wheel_speed_rr_kmh": 0.0, "gps_speed_kmh": 99.0}, 20.0),
        ({"wheel_speed_rl_mph": 100.0}, 44.704),
        ({"gps_speed_kmh": 72.0, "speed_mph": 3.0}, 20.0),
        ({"speed_mph": 100.0}, 44.704),
        ({"speed_ms": -3.0}, 3.0),
    ],
)  # fmt: skip
def test_the_speed_is_the_best_one_that_is_told(signals: dict[str, float], speed: float) -> None:
    flushes = assembling(100).feed(drive(1.05, **signals))
    assert column(flushes, "speed_ms") == pytest.approx([speed] * 10)
    assert column(flushes, "distance_m")[-1] == pytest.approx(speed, rel=0.02)


def test_a_speed_sensor_that_dies_is_replaced_by_the_next_best() -> None:
    frames = drive(6.05, wheel_speed_fl_kmh=36.0)
    both = [
        frame_of(t, {**signals, "speed_ms": 20.0} if t < T0 + 2 else signals)
        for t, signals in pairs_of(frames)
    ]
    values = column(assembling(100).feed(both), "speed_ms")
    assert values[:20] == [20.0] * 20
    assert values[-30:] == [10.0] * 30


def test_a_sensor_that_dies_does_not_tell_its_last_value_for_ever() -> None:
    frames = drive(4.05, rpm=4000.0, speed_ms=9.0)
    dies = [
        frame_of(t, {**signals, "brake_bar": 30.0, "g_vert": 1.0} if t < T0 + 1 else signals)
        for t, signals in pairs_of(frames)
    ]
    flushes = assembling(100).feed(dies)
    values = {round(row["timestamp"] - T0, 1): row["brake_bar"] for row in rows(flushes)}
    assert values[1.9] == 30.0
    assert all(math.isnan(values[n / 10]) for n in range(21, 41))
    assert set(column(flushes, "rpm")) == {4000.0}


def test_a_signal_that_comes_seldom_is_no_dead_one() -> None:
    frames = [
        frame_of(t, {**signals, "lat": 50.0, "lon": 1.0} if n % 50 == 0 else signals)
        for n, (t, signals) in enumerate(pairs_of(drive(10.05, speed_ms=9.0)))
    ]  # a GPS of 1 Hz
    assert set(column(assembling(100).feed(frames), "lat")) == {50.0}


def test_extras_that_are_gone_for_long_are_no_latest_values() -> None:
    frames = drive(20.05, speed_ms=9.0, oil=1.0)
    once = [frame_of(t, {**s, "tyre": 2.0} if t < T0 + 0.1 else s) for t, s in pairs_of(frames)]
    flushes = assembling(100).feed(once)
    assert flushes[50].extras == {"oil": 1.0, "tyre": 2.0}
    assert flushes[-1].extras == {"oil": 1.0}


@pytest.mark.parametrize(("lat", "lon"), [(0.0, 0.0), (91.0, 5.0), (5.0, 181.0), (214.7, 214.7)])
def test_a_place_without_a_fix_is_null(lat: float, lon: float) -> None:
    row = rows(assembling(100).feed(drive(0.3, lat=lat, lon=lon)))[0]
    assert math.isnan(row["lat"])
    assert math.isnan(row["lon"])


@pytest.mark.parametrize("signals", [{"speed_ms": 0.0}, {"rpm": 900.0}])
def test_a_car_that_stands_gives_as_many_rows_as_one_that_moves(signals: dict[str, float]) -> None:
    flushes = assembling(100).feed(drive(10.02, oil=5.0, **signals))
    assert seconds(flushes) == [n / 10 for n in range(1, 101)]
    assert len(samples(flushes, "oil")) == 500
    assert len(flushes) == 100


def test_a_silent_bus_gives_what_is_left_one_row_that_shows_it_and_no_more() -> None:
    assembler = assembling(100)
    assembler.feed(drive(1.06, speed_ms=20.0, rpm=4000.0, oil=5.0))
    assert assembler.tick(T0 + 1.06) == []
    (left,) = assembler.tick(T0 + 1.11)
    assert left.wide is not None
    assert seconds([left]) == [1.1]
    assert left.wide["rpm"] == 4000.0
    assert heard([left], "oil") == [1.0, 1.02, 1.04]
    assert assembler.tick(T0 + 1.9) == []
    (blank,) = assembler.tick(T0 + 2.2)
    assert blank.wide is not None
    assert math.isnan(blank.wide["rpm"])
    assert math.isnan(blank.wide["speed_ms"])
    assert blank.wide["distance_m"] >= left.wide["distance_m"]
    assert [assembler.tick(T0 + n) for n in range(3, 100)] == [[]] * 97
    again = assembler.feed([frame_of(T0 + 200 + n / 50, {"rpm": 1.0}) for n in range(20)])
    assert column(again, "rpm") == [1.0] * 3


def test_finishing_gives_what_is_not_due_yet_once() -> None:
    assembler = assembling(100)
    assert assembler.finish() == []
    assert assembler.tick(T0) == []
    assert assembler.feed(drive(0.06, rpm=1.0, oil=2.0)) == []
    (left,) = assembler.finish()
    assert left.wide is not None
    assert seconds([left]) == [0.04]
    assert len(samples([left], "oil")) == 3
    assert assembler.finish() == []
    assert column(assembler.feed([frame_of(T0 + 0.2, {"rpm": 2.0})]), "rpm") == [1.0]


def test_a_told_distance_steers_the_column_and_is_kept_under_its_own_name() -> None:
    frames = [
        frame_of(T0 + n / 50, {"distance_m": 700.0 + n * 0.4, "speed_ms": 20.0}) for n in range(500)
    ]
    flushes = assembling(100).feed(frames)
    assert column(flushes, "distance_m")[-1] == pytest.approx(198.0, abs=1.0)
    assert samples(flushes, GPS_DISTANCE)[0] == (T0, 700.0)


stamps = st.lists(
    st.one_of(st.floats(0, 20), st.sampled_from([0.0, 1.0, 1.05, 1.1, 5.0, -3600.0, math.nan])),
    max_size=60,
)


@given(stamps, st.integers(10, 1000))
def test_whatever_the_stamps_rows_and_samples_grow_strictly(
    times: list[float], flush_ms: int
) -> None:
    assembler = assembling(flush_ms)
    frames = [frame_of(T0 + t, {"oil": float(n), "speed_ms": 5.0}) for n, t in enumerate(times)]
    flushes = [*assembler.feed(frames), *assembler.tick(T0 + 30), *assembler.finish()]
    at = column(flushes, "timestamp")
    assert all(a < b for a, b in itertools.pairwise(at))
    oil = [t for t, _ in samples(flushes, "oil")]
    assert all(a < b for a, b in itertools.pairwise(oil))
    assert len(oil) == sum(not math.isnan(t) for t in times)
    metres = column(flushes, "distance_m")
    assert all(a <= b for a, b in itertools.pairwise(metres))


FOREIGN = {
    "VehicleSpeed": "km/h",
    "EngineSpeed": "rpm",
    "AccelPedal": "%",
    "BrakePressFront": "kPa",
    "BRAKE_PRESSED": "",
    "LAT_ACCEL": "m/s^2",
    "Latacc": "g",
    "SpeedLimit": "km/h",
    "BRAKE_PRESSURE": "",
    "CoolantTemp": "degC",
}
"""Signals of a database without a car file."""


def test_a_foreign_database_fills_the_columns_by_names_and_units() -> None:
    signals = {
        "VehicleSpeed": 72.0, "EngineSpeed": 5000.0, "AccelPedal": 40.0, "BrakePressFront": 1200.0,
        "LAT_ACCEL": 9.80665, "SpeedLimit": 200.0, "CoolantTemp": 90.0, "BRAKE_PRESSED": 1.0,
    }  # fmt: skip
    flushes = assembling(100, FOREIGN).feed(drive(1.0, **signals))
    row = rows(flushes)[-1]
    values = {name: row[name] for name in ("speed_ms", "rpm", "throttle_pct", "brake_bar", "g_lat")}
    assert values == pytest.approx(
        {"speed_ms": 20.0, "rpm": 5000.0, "throttle_pct": 40.0, "brake_bar": 12.0, "g_lat": 1.0}
    )
    assert row["distance_m"] == pytest.approx(20.0, abs=2.5)
    extras = flushes[-1].extras
    assert {extras[name] for name in ("CoolantTemp", "coolant_temp_c")} == {90.0}
    assert extras["brake_switch"] == 1.0
    assert extras["SpeedLimit"] == 200.0


def test_a_signal_that_stands_gives_way_to_one_that_lives() -> None:
    frames = [
        frame_of(T0 + n / 50, {"Latacc": 0.0, "LAT_ACCEL": 0.0 if n < 50 else 9.80665})
        for n in range(100)
    ]
    assert column(assembling(100, FOREIGN).feed(frames), "g_lat")[-1] == pytest.approx(1.0)


def test_what_the_car_file_names_is_left_to_it() -> None:
    plan = Plan({"EngineSpeed": Steps((), ("revs",), ())}, ())
    flushes = assembling(100, FOREIGN, plan).feed(
        drive(0.5, EngineSpeed=5000.0, VehicleSpeed=36.0, speed_ms=3.0)
    )
    row = rows(flushes)[-1]
    assert math.isnan(row["rpm"])
    assert flushes[-1].extras["revs"] == 5000.0
    assert row["speed_ms"] == 3.0
