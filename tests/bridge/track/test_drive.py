"""The driver on paper: physics that holds together, and truth that is true."""

import numpy as np
import pytest

from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.recording import TIMESTAMP, WIDE
from runtime.bridge.simulator.car import Car, G
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track, TrackError
from tests.bridge.track.examples import DATA
from tools.drive import QUIET, USUAL, drive

TRACKS = Library.read(DATA).tracks
EVERY = pytest.mark.parametrize("track", TRACKS.values(), ids=TRACKS)
LARKFELL = TRACKS["larkfell"]


@EVERY
def test_every_column_is_there_and_finite(track: Track) -> None:
    frames = drive(track, 2, noise=USUAL).frames

    assert list(frames.columns) == list(WIDE)
    for values in frames.columns.values():
        assert values.shape == (len(frames),)
        assert np.isfinite(values).all()


@EVERY
def test_the_tyres_never_give_more_than_the_grip(track: Track) -> None:
    car = Car()
    columns = drive(track, 2, hz=50.0, skill=1.0, car=car).frames.columns
    v = columns["speed_ms"]

    tyres = columns["g_long"] + (car.drag * v**2 + car.rolling) / G
    assert np.hypot(columns["g_lat"], np.minimum(tyres, 0.0)).max() <= car.grip * 1.04
    assert columns["g_long"].min() >= -car.brake_g - 0.25  # and the air helps


def test_a_lap_of_the_circle_is_the_radius_and_the_grip() -> None:
    car = Car(grip=1.0)
    driven = drive(TRACKS["roundel-pad"], 3, skill=1.0, car=car)

    # v2 = mu g r, and a lap is 2 pi r / v
    assert driven.lap_times_s[1] == pytest.approx(2 * np.pi * 150 / np.sqrt(G * 150), rel=5e-3)


def test_speed_distance_time_and_acceleration_agree() -> None:
    columns = drive(LARKFELL, 2, hz=100.0).frames.columns
    t, v = columns[TIMESTAMP], columns["speed_ms"]

    way = np.concatenate([[0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(t))])
    np.testing.assert_allclose(columns["distance_m"], way, atol=0.5)
    slope = np.gradient(v, t) / G
    assert np.abs(slope - columns["g_long"])[5:-5].mean() < 0.02


def test_positions_move_as_fast_as_the_speed_says() -> None:
    columns = drive(LARKFELL, 1, hz=10.0).frames.columns
    x = columns["lon"] * 111_320 * np.cos(np.radians(44.2))
    steps = np.hypot(np.diff(x), np.diff(columns["lat"] * 111_320)) / 0.1

    speed = (columns["speed_ms"][1:] + columns["speed_ms"][:-1]) / 2
    assert np.abs(steps - speed).mean() < 0.1


def test_pedals_and_wheel_are_those_of_the_motion() -> None:
    columns = drive(LARKFELL, 2, hz=50.0).frames.columns

    assert ((columns["brake_bar"] == 0) | (columns["throttle_pct"] == 0)).all()
    assert (columns["g_long"][columns["brake_bar"] > 10] < 0).all()
    bent = np.abs(columns["g_lat"]) > 0.3
    assert (np.sign(columns["steering_deg"][bent]) == np.sign(columns["g_lat"][bent])).all()
    assert (columns["throttle_pct"] <= 100).all()
    assert ((columns["rpm"] >= 900) & (columns["rpm"] <= 7800)).all()


@EVERY
def test_the_truth_is_the_time_between_crossings(track: Track) -> None:
    driven = drive(track, 3, t0=1_000_000.0, hz=20.0)
    columns = driven.frames.columns

    assert len(driven.crossings_s) == 4
    assert np.diff(driven.crossings_s) == pytest.approx(driven.lap_times_s)
    at = np.interp(driven.crossings_s, columns[TIMESTAMP], columns["distance_m"])
    assert np.diff(at) == pytest.approx([track.length_m] * 3, abs=0.05)
    lat, lon = (
        float(np.interp(driven.crossings_s[0], columns[TIMESTAMP], columns[name]))
        for name in ("lat", "lon")
    )
    assert metres_between(lat, lon, track.start.lat, track.start.lon) < 0.5


def test_the_way_out_and_in_are_no_laps() -> None:
    driven = drive(LARKFELL, 0)

    assert driven.lap_times_s == ()
    assert len(driven.crossings_s) == 1
    assert driven.frames.columns["speed_ms"][0] == 0.0
    assert driven.frames.columns["speed_ms"][-1] < 3.0


def test_the_same_arguments_give_the_same_frames_and_others_do_not() -> None:
    once, again = (drive(LARKFELL, 2, seed=5, noise=USUAL) for _ in range(2))
    other = drive(LARKFELL, 2, seed=6, noise=USUAL)

    for name in WIDE:
        np.testing.assert_array_equal(once.frames.columns[name], again.frames.columns[name])
    assert other.lap_times_s != once.lap_times_s


def test_skill_makes_faster_and_more_even_laps() -> None:
    good, poor = (drive(LARKFELL, 6, skill=skill).lap_times_s for skill in (0.98, 0.8))

    assert max(good) < min(poor)
    assert np.std(good) < np.std(poor)


def test_noise_is_as_large_as_it_says() -> None:
    quiet, noisy = (drive(LARKFELL, 8, noise=noise) for noise in (QUIET, USUAL))
    a, b = quiet.frames.columns, noisy.frames.columns

    assert quiet.lap_times_s == noisy.lap_times_s
    assert np.std(b["g_lat"] - a["g_lat"]) == pytest.approx(USUAL.g, rel=0.05)
    off = (b["lat"] - a["lat"]) * 111_320
    assert 0.3 < np.sqrt(np.mean(off**2)) < 4.0
    assert np.std(np.diff(off)) == pytest.approx(USUAL.gps_jitter_m * 2**0.5, rel=0.2)


@pytest.mark.parametrize(
    ("laps", "skill", "hz"), [(-1, 0.9, 10.0), (1, 0.1, 10.0), (1, 1.1, 10.0), (1, 0.9, 0.0)]
)
def test_what_nobody_can_drive_is_refused(laps: int, skill: float, hz: float) -> None:
    with pytest.raises(ValueError, match="skill"):
        drive(LARKFELL, laps, skill=skill, hz=hz)


def test_a_circuit_without_a_line_cannot_be_driven() -> None:
    bare = Track("x", "X", 1000.0, LARKFELL.start)

    with pytest.raises(TrackError, match="no reference line"):
        drive(bare, 1)
