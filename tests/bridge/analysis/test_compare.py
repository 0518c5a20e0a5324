"""Two laps on one axis: deltas whose answer is known, references, and laps that do not fit."""

import numpy as np
import pytest

from runtime.bridge.analysis.compare import (
    Circuit,
    Comparison,
    Reference,
    compare_sides,
    compose_ideal,
    describe_circuit,
    explain_mismatch,
    measure_side,
    parse_side,
    sample_channel,
    scale_side,
)
from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Gate
from tests.bridge.analysis.lapkit import (
    LENGTH,
    OVAL,
    drive_circle,
    drive_laps,
    on_track,
    oval,
    session,
)
from tests.bridge.session.sessions import keep
from tools.drive import USUAL, drive

TWO = [(20.0, 20.0, 20.0), (30.0, 20.0, 10.0)]


def laps_of(drive: Drive, a: int | None, b: int | None) -> Comparison:
    where = describe_circuit(drive)
    return compare_sides(measure_side(drive, a, where), measure_side(drive, b, where), where)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", Reference("lap", lap=7)),
        ("best", Reference("best")),
        ("ideal", Reference("ideal")),
        ("record", Reference("record")),
        ("run-2:3", Reference("lap", "run-2", 3)),
        ("run:2:3", Reference("lap", "run:2", 3)),
        ("other:best", Reference("best", "other")),
        ("other:ideal", Reference("ideal", "other")),
        ("1:35.2", Reference("target", time_s=95.2)),
        ("1:35", Reference("lap", "1", 35)),
        ("95.25", Reference("target", time_s=95.25)),
    ],
)
def test_a_reference_is_read_as_it_is_written(text: str, expected: Reference) -> None:
    assert parse_side(text) == expected


@pytest.mark.parametrize(
    "text", ["", "worst", "1.2.3", ":3", "s:", "0.5", "99:59.0", "1:60.0", "-1", "nan"]
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_side(text)


def test_the_delta_grows_where_time_is_lost() -> None:
    result = laps_of(drive_laps(TWO), 2, 1)

    at = result.distance_m
    expected = np.interp(at, [0, 1000, 2000, 3000], [0.0, 10.0, 10.0, 0.0])
    np.testing.assert_allclose(result.delta_s, expected, atol=1e-6)
    assert result.gap_s == pytest.approx(0.0)
    assert [sector.delta_s for sector in result.sectors] == pytest.approx([10.0, 0.0, -10.0])
    minis = [sector.delta_s or 0.0 for sector in result.mini_sectors]
    assert len(minis) == 25
    assert sum(minis) == pytest.approx(0.0, abs=1e-6)
    assert minis[0] == pytest.approx(10.0 * 3 / 25)
    assert result.b.speed_kmh[100] == pytest.approx(180.0)
    assert result.a.speed_kmh[100] == pytest.approx(120.0)


def test_corner_and_mini_sector_deltas_are_those_of_the_true_times() -> None:
    drive, truth = oval(3, hz=50.0)

    result = laps_of(drive, 1, 2)

    assert result.gap_s == pytest.approx(truth[0] - truth[1], abs=0.01)
    assert result.delta_s[-1] == pytest.approx(result.gap_s, abs=1e-9)
    assert sum(item.delta_s or 0.0 for item in result.mini_sectors) == pytest.approx(result.gap_s)
    assert [item.part.span.name for item in result.corners] == ["Turn 1", "Turn 2"]
    for corner in result.corners:
        span = corner.part.span
        change = np.interp([span.start_m, span.end_m], result.distance_m, result.delta_s)
        assert corner.part.delta_s == pytest.approx(change[1] - change[0], abs=0.01)
        inside = (result.distance_m >= span.start_m) & (result.distance_m <= span.end_m)
        assert corner.a_min_kmh == pytest.approx(result.a.speed_kmh[inside].min())


def test_laps_of_sessions_of_different_lengths_are_scaled_before_they_are_subtracted() -> None:
    # The same even lap, 1000 m long on the one's line and 1030 m on the other's.
    short = drive_circle()
    gate = short.laps.gate
    assert gate is not None
    columns = dict(short.series.frames.columns)
    for name, origin in (("lat", gate.lat), ("lon", gate.lon)):
        columns[name] = origin + 1.03 * (columns[name] - origin)
    long = drive_of(detect(type(short.series.frames)(columns), gate=gate))
    assert long.length_m == pytest.approx(1030.0, abs=1.0)
    where = describe_circuit(short)

    result = compare_sides(measure_side(short, 1, where), measure_side(long, 1, where), where)

    assert np.abs(result.delta_s).max() < 0.01
    assert explain_mismatch(where, describe_circuit(long)) is None


def test_a_target_is_the_best_lap_in_another_time() -> None:
    drive = drive_laps([(20.0, 20.0, 20.0), (25.0, 20.0, 20.0)])

    side = scale_side(drive, 54.0)

    assert (side.time_s, side.lap) == (54.0, None)
    assert side.elapsed[-1] == pytest.approx(54.0)
    assert side.sectors == pytest.approx([18.0, 18.0, 18.0])
    assert side.speed_kmh[300] == pytest.approx(200.0)
    assert np.isnan(side.throttle_pct).all()


def test_the_ideal_lap_has_times_of_parts_only() -> None:
    drive = drive_laps(TWO)
    where = describe_circuit(drive)

    result = compare_sides(measure_side(drive, 1, where), compose_ideal(drive, where), where)

    assert result.b.time_s == pytest.approx(50.0)
    assert [sector.delta_s for sector in result.sectors] == pytest.approx([0.0, 0.0, 10.0])
    assert all((sector.delta_s or 0.0) >= -1e-9 for sector in result.mini_sectors)
    assert np.isnan(result.delta_s).all()


def test_what_was_not_recorded_is_null_and_a_pause_is_not_bridged() -> None:
    frames = session(TWO, throttle_pct=40.0)
    t = frames.columns["timestamp"]
    paused = drive_of(detect(keep(frames, (t < 70.0) | (t > 74.0)), track_length_m=LENGTH))

    result = laps_of(paused, 2, 1)

    gone = np.isnan(result.delta_s)
    at = result.distance_m
    assert gone[(at > 10 / 30 * 1000 + 10) & (at < 14 / 30 * 1000 - 10)].all()
    assert not gone[at < 300].any()
    assert not gone[at > 500].any()
    assert np.isnan(result.a.throttle_pct[gone]).all()
    assert np.isnan(result.a.brake_bar).all()
    assert result.sectors[0].delta_s is None
    assert [sector.delta_s is None for sector in result.mini_sectors[:5]] == [
        *(False, False, True, True, False)
    ]


def test_a_sparse_channel_is_read_between_its_samples() -> None:
    drive = drive_laps(TWO, hz=10.0)
    series = drive.series
    sparse = np.where(np.arange(len(series)) % 3 == 0, series.t * 2.0, np.nan)
    series["brake_bar"]  # makes the channel
    series._channels["brake_bar"] = sparse

    t = np.array([1.0, 10.05, np.nan, 119.0])
    np.testing.assert_allclose(sample_channel(series, "brake_bar", t), t * 2.0)

    series._channels["brake_bar"] = np.where(np.arange(len(series)) % 20 == 0, 1.0, np.nan)
    far = sample_channel(series, "brake_bar", np.array([1.0, 2.0, 4.0]))
    assert [bool(nothing) for nothing in np.isnan(far)] == [True, False, False]


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (Circuit("elsewhere", 1000.0, None, (), (), (), ()), "another circuit"),
        (Circuit(None, 1200.0, None, (), (), (), ()), "1200 m long"),
        (Circuit(None, 1000.0, Gate(0.001, 10.0, 0.0), (), (), (), ()), "begins 111 m away"),
    ],
)
def test_laps_of_another_place_do_not_fit(other: Circuit, word: str) -> None:
    here = Circuit("here", 1000.0, Gate(0.0, 10.0, 0.0), (), (), (), ())

    assert word in (explain_mismatch(here, other) or "")
    assert explain_mismatch(here, here) is None


def test_positions_with_errors_give_deltas_near_the_truth() -> None:
    driven = drive(OVAL, 3, hz=10.0, seed=3, skill=0.85, noise=USUAL)
    clean = drive(OVAL, 3, hz=50.0, seed=3, skill=0.85)

    noisy, true = on_track(OVAL, driven.frames), on_track(OVAL, clean.frames)

    away = laps_of(noisy, 1, 2).delta_s - laps_of(true, 1, 2).delta_s
    assert np.nanmax(np.abs(away)) < 0.15
