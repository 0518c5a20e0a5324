"""What an early brake costs is charged to its corner, and to nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.analysis.compare import compare_sides, describe_circuit, measure_side
from runtime.bridge.analysis.corners import report_corners
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.laps import compose_ideal_lap, divide_lap, measure_times
from runtime.bridge.analysis.passes import list_passes, measure_approaches
from runtime.bridge.analysis.reference import (
    ReferenceLap,
    References,
    Target,
    find_aims,
    format_reference,
    make_reference,
    parse_reference,
)
from runtime.bridge.session.recording import Numbers
from tests.bridge.analysis.cornerkit import (
    LENGTH,
    between,
    corner,
    drive_on,
    pace_frames,
    ring_track,
)

TRACK = ring_track((corner("Turn 1", 1, 300, 350, 400), corner("Turn 2", 2, 750, 800, 850)))
EARLY_M, LATE_M = 120.0, 60.0
FAST, SLOW = 40.0, 20.0


def _brake_at(way: Numbers) -> Numbers:
    """Metres before the entry of Turn 1 where braking begins: early on the second lap."""
    return np.where(way // LENGTH == 1, EARLY_M, LATE_M)


def _pace(way: Numbers) -> Numbers:
    place, begin = way % LENGTH, 300 - _brake_at(way)
    slowed = FAST - (FAST - SLOW) * np.clip((place - begin) / LATE_M, 0, 1)
    away = SLOW + (FAST - SLOW) * np.clip((place - 350) / 100, 0, 1)
    first = np.where(place < 350, slowed, away)
    second = FAST - 10 * np.clip((place - 700) / 50, 0, 1) + 10 * np.clip((place - 800) / 50, 0, 1)
    return np.where(place < 600, first, second)


def _pressure(way: Numbers) -> Numbers:
    place, begin = way % LENGTH, 300 - _brake_at(way)
    first = (place >= begin) & (place < begin + LATE_M)
    return np.where(first | ((place >= 700) & (place < 750)), 40.0, 0.0)


def _all_early(way: Numbers) -> Numbers:
    return _pace(way % LENGTH + LENGTH)


def _all_early_pressure(way: Numbers) -> Numbers:
    return _pressure(way % LENGTH + LENGTH)


@pytest.fixture(scope="module")
def pair() -> Drive:
    """Two laps that differ in nothing but where braking for Turn 1 begins, and so in how long the
    car rolls at the speed of the corner before it."""
    return drive_on(pace_frames(_pace, 2, hz=100.0, brake_bar=_pressure, throttle_pct=0.0), TRACK)


def test_the_approach_begins_at_the_earliest_braking(pair: Drive) -> None:
    assert measure_approaches(pair) == pytest.approx({"Turn 1": EARLY_M, "Turn 2": 50.0}, abs=0.5)
    for name, passes in list_passes(pair).items():
        for passage in passes:
            ahead = 120.0 if name == "Turn 1" else 50.0
            seconds = ahead / ((passage.entry_speed_kmh or 0.0) / 3.6)
            assert 0.4 * seconds < passage.t_entry - passage.t_start <= seconds + 0.01


def test_an_approach_begins_where_the_throttle_usually_closes() -> None:
    def push(way: Numbers) -> Numbers:
        lifted = np.where(way // LENGTH == 1, 250.0, 90.0)  # on the second lap in the straight
        return np.where((way % LENGTH > 300 - lifted) & (way % LENGTH < 360), 0.0, 100.0)

    session = pace_frames(_pace, 3, hz=100.0, brake_bar=_all_early_pressure, throttle_pct=push)
    lifts = measure_approaches(drive_on(session, TRACK))
    assert lifts["Turn 1"] == pytest.approx(EARLY_M, abs=0.5)

    def roll(way: Numbers) -> Numbers:
        return np.where((way % LENGTH > 120) & (way % LENGTH < 360), 0.0, 100.0)

    session = pace_frames(_pace, 3, hz=100.0, brake_bar=_pressure, throttle_pct=roll)
    assert measure_approaches(drive_on(session, TRACK))["Turn 1"] == pytest.approx(180.0, abs=0.5)


def test_an_approach_ends_at_the_exit_of_the_corner_before() -> None:
    near = ring_track((corner("Turn 1", 1, 200, 250, 300), corner("Turn 2", 2, 330, 400, 450)))
    session = pace_frames(
        lambda way: np.full(len(way), 25.0),
        1,
        hz=100.0,
        brake_bar=lambda way: 40.0 * between(way, 270, 340),
    )

    drive = drive_on(session, near)
    (second,) = list_passes(drive)["Turn 2"]
    assert second.brake_point_m == pytest.approx(60.0, abs=0.5)
    assert measure_approaches(drive) == pytest.approx({"Turn 1": 0.0, "Turn 2": 30.0})
    assert second.corner_time_s == pytest.approx(150 / 25, abs=0.01)


def test_what_an_early_brake_costs_is_lost_in_its_corner_and_not_on_the_straight(
    pair: Drive,
) -> None:
    best, early = pair.counted
    loss = early.duration_s - best.duration_s
    assert loss > 0.5

    names = [part.span.name for part in divide_lap(pair)]
    rows = np.array(measure_times(pair, [part.span for part in divide_lap(pair)]), dtype=np.float64)
    lost = dict(zip(names, (rows[1] - rows[0]).tolist(), strict=True))
    assert lost.pop("Turn 1") == pytest.approx(loss, abs=0.005)
    assert all(abs(seconds) < 0.005 for seconds in lost.values()), lost
    assert compose_ideal_lap(pair).corners_and_straights.lap_s == pytest.approx(
        best.duration_s, abs=0.005
    )

    where = describe_circuit(pair)
    both = compare_sides(measure_side(pair, 2, where), measure_side(pair, 1, where), where)
    deltas = [item.part.delta_s for item in both.corners]
    assert deltas == pytest.approx([loss, 0.0], abs=0.005)
    assert both.corners[0].a_min_kmh == pytest.approx(3.6 * SLOW, abs=0.5)


def test_an_early_brake_is_a_cause_in_its_corner(pair: Drive) -> None:
    best, early = pair.counted
    first, second = grade_session(pair, lap=2).corners

    assert first.delta_time_s == pytest.approx(early.duration_s - best.duration_s, abs=0.005)
    assert first.brake_point_delta_m == pytest.approx(EARLY_M - LATE_M, abs=1.0)
    causes = {loss.cause: loss.seconds_lost for loss in first.causes}
    assert "early_brake" in causes
    assert sum(causes.values()) <= (first.delta_time_s or 0.0) + 1e-9
    assert second.delta_time_s == pytest.approx(0.0, abs=0.005)


def test_one_lap_is_timed_from_where_the_whole_session_is(pair: Drive) -> None:
    late = drive_on(
        pace_frames(_pace, 2, hz=100.0, brake_bar=_pressure, throttle_pct=0.0), TRACK, lap=1
    )

    assert list_passes(late)["Turn 1"] == list_passes(pair)["Turn 1"][:1]


def test_a_reference_is_timed_over_the_approach_of_the_session(pair: Drive) -> None:
    lap = parse_reference(format_reference(replace(make_reference(pair, 1), track="ring")))
    early = drive_on(pace_frames(_all_early, 1, hz=100.0, brake_bar=_all_early_pressure), TRACK)
    assert lap.corners["Turn 1"].approach_m == pytest.approx(EARLY_M, abs=0.5)
    alone = drive_on(pace_frames(_pace, 1, hz=100.0, brake_bar=_pressure), TRACK)
    own = parse_reference(format_reference(replace(make_reference(alone), track="ring")))
    assert own.corners["Turn 1"].approach_m == pytest.approx(LATE_M, abs=0.5)

    best, late = pair.counted
    for kept in (lap, own):
        result = report_corners(early, References({"ring": kept})).corners[0]
        loss = late.duration_s - best.duration_s
        assert result.reference_delta_time_s == pytest.approx(loss, abs=0.01)


def test_a_file_that_tells_nothing_of_the_approach_counts_as_level_there(pair: Drive) -> None:
    first = list_passes(pair)["Turn 1"][0]
    seconds = first.t_exit - first.t_entry
    old = ReferenceLap(track="ring", lap_time_s=30.0, corners={"Turn 1": Target(seconds)})

    aim = find_aims(pair, References({"ring": old}))["Turn 1"]
    assert aim.target.corner_time_s == pytest.approx(first.corner_time_s)
