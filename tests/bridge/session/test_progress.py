"""Lap progress: on the reference line, by distance, and the moments at which places are reached."""

import math

import numpy as np
import pytest

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.progress import (
    APART_M,
    Progress,
    Span,
    divide_in_thirds,
    measure_progress,
    smooth_progress,
    time_crossings,
    time_sectors,
    unwrap_lap,
)
from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers
from tests.bridge.session.sessions import METRES, change, circle, circle_gate, frames, keep

LENGTH = 1000.0
GATE = circle_gate()


def circle_line(shift_m: float = 0.0) -> Line:
    radius = LENGTH / (2 * math.pi)
    distance = np.arange(0, LENGTH, 5.0)
    angle = distance / radius
    x, y = radius * np.sin(angle), radius * np.cos(angle) - radius + shift_m
    return Line(distance, y / METRES, 10.0 + x / METRES, np.full(len(distance), np.nan), LENGTH)


def apart(result: Numbers, expected: Numbers) -> float:
    return float(np.abs((result - expected + LENGTH / 2) % LENGTH - LENGTH / 2).max())


def place_frames(session: Frames, line: Line | None = None) -> tuple[Laps, Progress]:
    laps = detect(session, gate=GATE, track_length_m=LENGTH)
    progress = measure_progress(laps, line)
    assert progress is not None
    return laps, progress


def progress_of(session: Frames, line: Line | None = None) -> tuple[Progress, Numbers]:
    laps, progress = place_frames(session, line)
    return progress, (laps.series.t * 25.0 - 200.0) % LENGTH


def test_positions_are_projected_on_the_line() -> None:
    result, expected = progress_of(circle(130), circle_line())

    assert result.basis == "line"
    assert apart(result.p, expected) < 0.05
    assert np.abs(result.offset).max() < 0.05
    assert ((result.p >= 0) & (result.p < LENGTH)).all()


def test_beside_the_line_is_positive_to_the_right() -> None:
    result, _ = progress_of(
        circle(130), circle_line(shift_m=4.0)
    )  # the line lies 4 m further north

    top, bottom = result.offset[80], result.offset[280]  # at the gate, and half a lap later
    assert (top, bottom) == (pytest.approx(4.0, abs=0.05), pytest.approx(-4.0, abs=0.05))


@pytest.mark.parametrize(("shift", "basis"), [(25.0, "line"), (60.0, "distance")])
def test_the_line_must_be_within_30_metres(shift: float, basis: str) -> None:
    result, _ = progress_of(circle(130), circle_line(shift_m=shift))

    assert result.basis == basis


def test_without_a_line_each_lap_is_stretched_to_the_length() -> None:
    session = circle(130)
    result, expected = progress_of(change(session, distance_m=session.columns["distance_m"] * 1.1))

    assert result.basis == "distance"
    t = session.columns[TIMESTAMP]
    laps = (t > 8) & (t < 128)
    assert apart(result.p[laps], expected[laps]) < 0.2
    out = result.p[:80]  # before the first lap: driven metres back from the line
    assert apart(out, (t[:80] - 8.0) * 27.5 % LENGTH) < 0.2
    assert np.isnan(result.offset).all()


def test_frames_without_a_fix_are_placed_by_their_distance() -> None:
    session = circle(130)
    session.columns["lat"][500:560] = np.nan
    session.columns["lat"][:5] = np.nan
    result, expected = progress_of(session, circle_line())

    assert result.basis == "line"
    assert apart(result.p[400:], expected[400:]) < 0.1
    assert np.isnan(result.offset[500:560]).all()


def test_a_neighbouring_piece_of_track_does_not_catch_the_car() -> None:
    # Out and back along two straights 12 m apart: each fix is nearer to the wrong one at times.
    leg, gap = 600.0, 12.0
    s = np.arange(0.0, 2 * leg + 2 * gap, 4.0)
    length = 2 * leg + 2 * gap
    x = np.interp(s, [0, leg, leg + gap, 2 * leg + gap, length], [0, leg, leg, 0, 0])
    y = np.interp(s, [0, leg, leg + gap, 2 * leg + gap, length], [0, 0, gap, gap, 0])
    line = Line(s, y / METRES, 10.0 + x / METRES, np.full(len(s), np.nan), length)
    t = np.arange(0.0, 60.0, 0.1)
    way = 20.0 * t
    px, py = np.interp(way, s, x), np.interp(way, s, y)
    astray = (way > 200) & (way < 400)
    py = np.where(astray, py + 7.0, py)  # nearer to the way back than to the way out
    session = frames(t, distance_m=way, speed_ms=20.0, lat=py / METRES, lon=10.0 + px / METRES)

    result = measure_progress(detect(session, track_length_m=length), line)

    assert result is not None
    assert np.abs(result.p[astray] - way[astray]).max() < 1.0


def test_without_a_line_and_a_length_there_is_no_progress() -> None:
    assert measure_progress(detect(frames(np.arange(40.0), speed_ms=10.0))) is None


def test_a_lap_is_continuous_though_its_first_fix_falls_before_the_line() -> None:
    laps, result = place_frames(circle(130), circle_line())
    early = result._replace(p=(result.p - 3.0) % LENGTH)

    level = unwrap_lap(early, laps.complete[1])

    assert level[0] == pytest.approx(
        -3.0 + 25 * (laps.series.t[laps.complete[1].first] - 48), abs=0.1
    )
    assert (np.diff(level) > 0).all()


@pytest.mark.parametrize("line", [circle_line(), None], ids=["line", "distance"])
def test_places_are_reached_at_interpolated_moments(line: Line | None) -> None:
    laps, result = place_frames(circle(130), line)

    places = np.array([0.0, 1.0, 250.0, 999.9, LENGTH])
    times = time_crossings(laps.series, result, laps.complete[1], places)

    expected = [48.0, 48.04, 58.0, 87.996, 88.0]
    assert times == pytest.approx(expected, abs=2e-3)


def test_a_place_that_was_passed_during_a_pause_has_no_moment() -> None:
    session = circle(130)
    t = session.columns[TIMESTAMP]
    laps, result = place_frames(keep(session, (t < 60) | (t > 61.5)), circle_line())

    times = time_crossings(laps.series, result, laps.complete[1], np.array([200.0, 320.0, 400.0]))

    assert times == pytest.approx([56.0, np.nan, 64.0], abs=2e-3, nan_ok=True)


def test_sectors_add_up_to_the_lap() -> None:
    laps, result = place_frames(circle(130), circle_line())
    sectors = [Span("S1", 0, 100), Span("S2", 100, 600), Span("S3", 600, LENGTH)]

    for lap in laps.complete:
        times = time_sectors(laps, result, lap, sectors)
        assert times == pytest.approx([4.0, 20.0, 16.0], abs=2e-3)
        assert sum(time for time in times if time) == pytest.approx(lap.duration_s, abs=1e-9)


@pytest.mark.parametrize(
    ("pause", "expected"),
    [
        ((50.0, 51.5), [None, 40 / 3, 40 / 3]),
        ((60.7, 62.0), [None, None, 40 / 3]),  # over a border
    ],
)
def test_a_pause_takes_the_sectors_away_in_which_it_lies(
    pause: tuple[float, float], expected: list[float | None]
) -> None:
    session = circle(130)
    t = session.columns[TIMESTAMP]
    running = (t < pause[0]) | (t > pause[1])
    laps, progress = place_frames(keep(session, running), circle_line())

    times = time_sectors(laps, progress, laps.complete[1], divide_in_thirds(LENGTH))

    assert times == [item if item is None else pytest.approx(item, abs=0.01) for item in expected]


HZ = 10.0


def rolling(seconds: float = 120.0) -> tuple[Numbers, Numbers]:
    """Times, and metres of a car that speeds up and slows down."""
    t: Numbers = np.arange(0.0, seconds, 1.0 / HZ)
    return t, 30.0 * t - 60.0 * np.cos(t / 6.0)


def test_jitter_becomes_a_fifth_at_most() -> None:
    t, truth = rolling()
    jitter = np.random.default_rng(4).normal(0.0, 1.5, len(t))

    even = smooth_progress(truth + jitter, truth, t, 1.0 / HZ)

    assert np.std(even - truth) < np.std(jitter) / 5.0


def test_where_wheels_lock_the_fixes_count() -> None:
    t, truth = rolling()
    rolled = truth.copy()
    locked = (t > 60.0) & (t < 62.0)
    rolled[t >= 60.0] -= truth[t >= 60.0] - np.where(
        locked[t >= 60.0], truth[t >= 60.0][0], truth[t >= 60.0] - np.ptp(truth[locked])
    )

    even = smooth_progress(truth, rolled, t, 1.0 / HZ)

    assert np.abs(even - truth).max() <= 2 * APART_M


def test_a_pause_is_not_averaged_over() -> None:
    t, truth = rolling()
    after = t >= 60.0
    t, place = np.where(after, t + 30.0, t), np.where(after, truth + 400.0, truth)

    even = smooth_progress(place, truth, t, 1.0 / HZ)

    assert even == pytest.approx(place, abs=1e-6)


@pytest.mark.parametrize(("count", "hz"), [(1, 10.0), (2, 10.0), (30, 10.0), (500, 1.0), (9, 0.0)])
def test_short_and_slow_recordings_keep_their_length(count: int, hz: float) -> None:
    period = 1.0 / hz if hz else 0.0
    t: Numbers = np.arange(count, dtype=np.float64) * (period or 1.0)
    place: Numbers = 20.0 * t

    assert smooth_progress(place, place, t, period) == pytest.approx(place, abs=1e-6)
    assert len(smooth_progress(place + 1.0, place, t, period)) == count
