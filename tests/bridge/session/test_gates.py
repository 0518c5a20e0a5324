"""The gate that is set where nobody says where the line is, and the moments at which it is crossed.

Every drive is computed from a formula, so that the true moment of a crossing is known.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pytest

from runtime.bridge.session.gates import choose_gate, find_crossings
from runtime.bridge.session.geometry import Plane, Ring, build_ring
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.recording import TIMESTAMP, Frames, Gate, Numbers
from runtime.bridge.session.series import build_series, measure_distance
from tests.bridge.session.sessions import at, change, frames, keep
from tests.bridge.truth.drives import PLANS, drive

Points = Sequence[tuple[float, float]]

ROAD: Final = [(0, 0), (500, 0), (760, 60), (800, 200), (650, 300), (520, 240), (400, 330),
               (180, 380), (-60, 300), (-150, 150), (-120, 30)]  # fmt: skip
HAIRPINS: Final = [(0, 0), (200, 0), (222, 10), (222, 22), (205, 30), (60, 32), (48, 42), (60, 52),
                   (210, 54), (235, 90), (120, 110), (-30, 100), (-50, 40), (-30, 8)]  # fmt: skip
EIGHT: Final = [(0, 0), (150, 120), (320, 170), (430, 60), (430, -60), (320, -170), (150, -120),
                (0, 0.01), (-150, 120), (-320, 170), (-430, 60), (-430, -60), (-320, -170),
                (-150, -120)]  # fmt: skip


def close_path(points: Points) -> Ring:
    """A smooth closed path through points in metres."""
    x, y = np.array(points, dtype=float).T
    steps = np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0]))
    return build_ring(x, y, np.append(0.0, np.cumsum(steps[:-1])), float(steps.sum()), step_m=2.0)


class Driven(NamedTuple):
    """A drive, and when it really was how far along its path."""

    frames: Frames
    path: Ring
    t: Numbers
    s: Numbers
    """Metres along the path, laps added up."""

    def times(self, gate: Gate) -> Numbers:
        """When the car was beside the gate's middle, true to a millisecond."""
        x, y = Plane(0.0, 10.0).xy(np.array([gate.lat]), np.array([gate.lon]))
        every = np.arange(0.0, self.path.length_m, 0.25)
        px, py = self.path.at(every)
        place = every[int(np.hypot(px - x, py - y).argmin())]
        first = math.ceil((self.s[0] - place) / self.path.length_m)
        last = math.floor((self.s[-1] - place) / self.path.length_m)
        passes = place + np.arange(first, last + 1) * self.path.length_m
        times: Numbers = np.interp(passes, self.s, self.t)
        return times


def drive_path(
    points: Points,
    laps: float,
    *,
    begin: float = 0.0,
    hz: float = 10.0,
    noise_m: float = 0.5,
    drift_m: float = 0.0,
    fastest_ms: float = 50.0,
    beside: Sequence[tuple[float, float, float]] = (),
    slow: Sequence[tuple[float, float, float]] = (),
    seed: int = 0,
) -> Driven:
    """*laps* round a path from lap *begin* on, as fast as 1.2 g of grip lets.

    *beside*: metres to the right from one lap to another (5.9 is nine tenths into lap 5).
    *slow*: in the same way the share of the speed that is driven.
    """
    path = close_path(points)
    s = np.arange(begin, begin + laps, 1.0 / path.length_m) * path.length_m
    bend = np.radians(np.abs(path.curvature))
    reach = max(1, round(30.0 / path.step))
    smooth = np.convolve(np.tile(bend, 3), np.ones(reach) / reach, "same")[len(bend) : -len(bend)]
    allowed = np.minimum(np.sqrt(12.0 / np.maximum(smooth, 1e-4)), fastest_ms)
    around = np.append(np.arange(len(path)) * path.step, path.length_m)
    speed = np.interp(s % path.length_m, around, np.append(allowed, allowed[0]))
    chance = np.random.default_rng(seed)
    lap = np.floor(s / path.length_m)
    pace = 1.0 + 0.02 * np.sin(lap * 2.3)
    speed = speed * pace
    for share, start, end in slow:
        speed = np.where(
            (s / path.length_m >= start) & (s / path.length_m < end), speed * share, speed
        )
    speed = np.convolve(np.pad(speed, 40, mode="edge"), np.ones(81) / 81, "valid")
    t = np.append(0.0, np.cumsum(2 * np.diff(s) / (speed[1:] + speed[:-1])))
    aside = np.zeros(len(s))
    for metres, start, end in beside:
        ramp = 20.0 / path.length_m
        place = [start, start + ramp, end - ramp, end]
        aside += np.interp(s / path.length_m, place, [0.0, metres, metres, 0.0])
    when = np.arange(0.0, t[-1], 1 / hz)
    at_s = np.interp(when, t, s)
    x, y = path.at(at_s)
    ahead, behind = path.at(at_s + 1.0), path.at(at_s - 1.0)
    dx, dy = ahead[0] - behind[0], ahead[1] - behind[1]
    right = np.interp(at_s, s, aside) + np.interp(
        np.floor(at_s / path.length_m), np.arange(200), chance.uniform(-3, 3, 200)
    ) * np.sin(at_s / path.length_m * 2 * math.pi * 3)
    wander = drift_m * np.sin(when / 70.0)
    x = x + right * dy / np.hypot(dx, dy) + chance.normal(0, noise_m, len(x)) + wander
    y = y - right * dx / np.hypot(dx, dy) + chance.normal(0, noise_m, len(y)) - wander
    session = frames(when, speed_ms=np.interp(when, t, speed), **at(x, y))
    return Driven(session, path, t, s)


def assert_laps(drive: Driven, laps: Laps, count: int, within_s: float = 0.040) -> None:
    """So many laps, each as long as it really was."""
    assert laps.gate is not None
    assert len(laps.complete) == count
    truth = drive.times(laps.gate)
    ours = np.array([(lap.t_start, lap.duration_s) for lap in laps.complete])
    nearest = np.abs(truth[None, :] - ours[:, :1]).argmin(axis=1)
    np.testing.assert_allclose(ours[:, 1], np.diff(truth)[nearest], atol=within_s)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("points", "fastest_ms"),
    [(ROAD, 50.0), (HAIRPINS, 25.0), (EIGHT, 40.0)],
    ids=["road", "hairpins", "eight"],
)
def test_laps_of_a_noisy_drive_are_right_to_40_ms(
    points: Points, fastest_ms: float, seed: int
) -> None:
    drive = drive_path(points, 6.3, begin=0.2, fastest_ms=fastest_ms, seed=seed)

    assert_laps(drive, detect(drive.frames), 6)


@pytest.mark.parametrize("hz", [1.0, 5.0, 25.0, 100.0])
def test_laps_are_right_at_any_rate(hz: float) -> None:
    drive = drive_path(ROAD, 5.4, hz=hz)

    assert_laps(drive, detect(drive.frames), 5)


def test_laps_are_right_without_a_recorded_speed() -> None:
    drive = drive_path(ROAD, 5.4)

    assert_laps(drive, detect(change(drive.frames, speed_ms=np.nan)), 5)


def test_fixes_that_are_held_are_no_places() -> None:
    drive = drive_path(ROAD, 5.4, hz=50.0)
    fix = np.arange(len(drive.frames)) // 5 * 5
    lat, lon = (drive.frames.columns[name][fix] for name in ("lat", "lon"))

    assert_laps(drive, detect(change(drive.frames, lat=lat, lon=lon)), 5)


@pytest.mark.parametrize(
    ("begin", "laps", "count"), [(0.1, 4.02, 4), (0.45, 2.03, 2), (0.8, 1.02, 1)]
)
def test_a_recording_that_begins_at_speed_keeps_its_first_lap(
    begin: float, laps: float, count: int
) -> None:
    drive = drive_path(ROAD, laps, begin=begin)

    assert_laps(drive, detect(drive.frames), count)


def test_a_pit_exit_beside_the_line_is_no_gate() -> None:
    """The recording begins in the pit lane, 21 m beside the straight, and is soon fast there."""
    pits = [(21.0, 0.0, 0.25)]
    drive = drive_path(ROAD, 6.3, begin=0.05, beside=pits, slow=[(0.4, 0.0, 0.2)])

    laps = detect(drive.frames)

    assert_laps(drive, laps, 6 if laps.complete[0].t_start < drive.t[-1] / 6.5 else 5)
    assert laps.gate is not None
    x, y = Plane(0.0, 10.0).xy(np.array([laps.gate.lat]), np.array([laps.gate.lon]))
    px, py = drive.path.at(np.arange(0.0, drive.path.length_m, 1.0))
    assert np.hypot(px - x, py - y).min() < 6.0


def test_a_pass_wide_of_the_others_still_ends_its_lap() -> None:
    """Whatever the gate, one lap goes through it 24 m to the side of where the recording began."""
    drive = drive_path(ROAD, 6.4, begin=0.02, beside=[(-12.0, 0.0, 0.99), (12.0, 1.0, 6.4)])

    assert_laps(drive, detect(drive.frames), 6)


@pytest.mark.parametrize("lane_m", [15.0, 20.0])
def test_a_leg_beside_the_gate_in_the_same_direction_ends_no_lap(lane_m: float) -> None:
    """A kart track that comes by twice: two straights in one direction beside each other."""
    twice = [(0, 0), (200, 0), (240, -30), (200, -60), (0, -60), (-30, -20), (0, lane_m),
             (200, lane_m), (260, 60), (100, 100), (-60, 60), (-40, 10)]  # fmt: skip
    drive = drive_path(twice, 6.4, fastest_ms=22.0, noise_m=0.3)

    assert_laps(drive, detect(drive.frames), 6)


@pytest.mark.parametrize("seed", [13, 73, 109])
def test_no_lap_is_cut_where_straights_lie_beside_each_other(seed: int) -> None:
    """Three of them 20 m apart, two in one direction, and a pit exit beside the third."""
    plan = next(plan for plan in PLANS if plan.name == "beside-bursts")
    made = drive(plan._replace(clock="even", pits=True, laps=3, seed=seed))
    count = len(made.columns["timestamp"])

    laps = detect(Frames({**frames(np.zeros(count)).columns, **made.columns}))

    assert laps.length_m == pytest.approx(plan.circuit.length_m, rel=0.01)
    assert len(laps.complete) == 3


def test_a_lap_with_a_pause_of_the_recording_is_no_shorter_than_the_others() -> None:
    session = drive_path(HAIRPINS, 3.3, fastest_ms=20.0)
    t = session.frames.columns[TIMESTAMP]
    middle = t[len(t) // 2]

    laps = detect(keep(session.frames, (t < middle) | (t > middle + 4.0)))

    assert laps.length_m == pytest.approx(session.path.length_m, rel=0.05)
    assert len(laps.complete) >= 2


def test_an_eight_of_two_equal_halves_is_one_lap() -> None:
    drive = drive_path(EIGHT, 6.3, begin=0.98, fastest_ms=40.0)

    laps = detect(drive.frames)

    assert laps.length_m == pytest.approx(drive.path.length_m, rel=0.02)
    assert_laps(drive, laps, 6)


def test_a_drive_that_closes_no_lap_has_no_gate() -> None:
    drive = drive_path(ROAD, 0.9)
    session = build_series(drive.frames)

    assert choose_gate(session, measure_distance(session)) is None


def test_noise_on_the_opposite_leg_is_no_crossing() -> None:
    """At 100 Hz a fix is often behind the one before it, on the way back too."""
    chance = np.random.default_rng(0)
    t = np.arange(0.0, 60.0, 0.01)
    place = np.abs((t % 40.0) - 20.0) * 10.0 - 100.0  # from 100 m past the gate to 100 m before it
    x, y = chance.normal(place, 0.5), np.where(t % 40 < 20, 12.0, 0.0)
    session = build_series(frames(t, speed_ms=10.0, **at(x, y)))

    crossings = find_crossings(session, Gate(0.0, 10.0, 90.0))

    assert crossings.tolist() == pytest.approx([30.0] * len(crossings), abs=0.05)
    assert len(crossings) > 0


@pytest.mark.parametrize(
    ("rounds", "road_m"),
    [(2.3, 1500.0), (1.2, 1800.0)],
    ids=["twice around a roundabout", "once around a block"],
)
def test_a_loop_of_a_road_drive_is_no_lap(rounds: float, road_m: float) -> None:
    """The way there is straight, and so is the way on."""
    radius = 60.0 if rounds > 2 else 180.0
    along = np.arange(0.0, 2 * math.pi * rounds * radius, 1.5)
    way = np.arange(-road_m, 0.0, 1.5)
    x = np.concatenate([way, radius * np.sin(along / radius)])
    y = np.concatenate([np.zeros(len(way)), radius * (1 - np.cos(along / radius))])
    course = along[-1] / radius
    on = np.arange(1.5, road_m, 1.5)
    x = np.concatenate([x, x[-1] + on * math.cos(course)])
    y = np.concatenate([y, y[-1] + on * math.sin(course)])
    session = frames([0.1 * i for i in range(len(x))], speed_ms=15.0, **at(x, y))

    assert not detect(session).complete


def test_three_laps_after_a_long_way_to_the_circuit_count() -> None:
    drive = drive_path(ROAD, 3.2)
    columns = drive.frames.columns
    there = np.arange(-20_000.0, 0.0, 4.0)
    x, y = Plane(0.0, 10.0).xy(columns["lat"], columns["lon"])
    here = at(np.append(there + x[0], x), np.append(np.full(len(there), y[0]), y))
    clock = np.append((np.arange(len(there)) - len(there)) * 0.1, columns[TIMESTAMP])
    speed = np.append(np.full(len(there), 40.0), columns["speed_ms"])

    assert len(detect(frames(clock, speed_ms=speed, **here)).complete) == 3
