"""The driver on paper: physics that holds together, and truth that is true."""

import numpy as np
import pytest

from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.recording import TIMESTAMP, WIDE
from runtime.bridge.simulator.car import Car, G
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tests.bridge.track.examples import DATA
from tools.drive import USUAL, drive

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


@EVERY
def test_the_truth_is_the_time_between_crossings(track: Track) -> None:
    driven = drive(track, 3, hz=20.0)
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


def test_the_same_arguments_give_the_same_frames_and_others_do_not() -> None:
    once, again = (drive(LARKFELL, 2, seed=5, noise=USUAL) for _ in range(2))
    other = drive(LARKFELL, 2, seed=6, noise=USUAL)

    for name in WIDE:
        np.testing.assert_array_equal(once.frames.columns[name], again.frames.columns[name])
    assert other.lap_times_s != once.lap_times_s
