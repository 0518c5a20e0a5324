"""Scores, letters, weights, what a loss is made of, and the scorecard."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import NoSuchLap
from runtime.bridge.analysis.grading import (
    ADVICE,
    SINGLE,
    attribute_loss,
    grade_session,
    phrase_advice,
    score_pass,
    sort_by_cost,
    weigh_corners,
)
from runtime.bridge.analysis.passes import choose_usual, list_passes
from runtime.bridge.analysis.reference import NONE, ReferenceLap, References, Target
from runtime.bridge.session.recording import Numbers
from tests.bridge.analysis.cornerkit import (
    TWO,
    between,
    corner,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    take_pass,
    without,
)
from tests.bridge.session.sessions import change


@pytest.mark.parametrize(
    ("own", "total"),
    [
        ({}, 1.0),
        ({"apex_speed_kmh": 76.1}, 1.0),  # 4.9 % off costs nothing
        ({"apex_speed_kmh": 72.0}, 1 - 0.25 / 3),  # 10 % of 30 %
        ({"apex_speed_kmh": 50.0}, 0.75),  # more than 30 %
        ({"apex_speed_kmh": 0.0}, 0.75),
        ({"apex_speed_kmh": 120.0}, 1.0),  # faster is not worse
        ({"entry_speed_kmh": 85.0}, 1 - 0.10 / 2),
        ({"exit_speed_kmh": 85.0}, 1 - 0.30 / 2),
        ({"t_exit": 1.0 + 4.0 / 0.85}, 1 - 0.15 / 2),
        ({"t_exit": 4.0}, 1.0),
        ({"trail_brake_bar_at_apex": 2.0}, 1 - 0.05 / 2),
        ({"trail_brake_bar_at_apex": 9.0}, 1.0),
        ({"nothing_time_s": 0.75}, 1 - 0.15 / 2),
        ({"nothing_time_s": 3.0}, 0.85),
    ],
)
def test_each_part_of_a_score_has_its_weight(own: dict[str, Any], total: float) -> None:
    assert score_pass(take_pass(**own), take_pass()).total == pytest.approx(total)


def test_a_target_that_does_not_trail_asks_for_none() -> None:
    target = take_pass(trail_brake_bar_at_apex=0.0)

    assert score_pass(take_pass(trail_brake_bar_at_apex=0.0), target).total == 1.0
    little = score_pass(
        take_pass(trail_brake_bar_at_apex=0.3), take_pass(trail_brake_bar_at_apex=0.6)
    )
    assert little.total == pytest.approx(1 - 0.7 * 0.05)  # 0.3 of 1 bar at least


def test_parts_without_a_channel_leave_their_weight_to_the_others() -> None:
    own = take_pass(nothing_time_s=None, trail_brake_bar_at_apex=None, exit_speed_kmh=85.0)

    result = score_pass(own, take_pass())
    assert result.total == pytest.approx(1 - 0.30 / 2 / 0.80)
    assert result.graded_on == ("entry_speed", "apex_speed", "exit_speed", "corner_time")


@pytest.mark.parametrize(
    ("own", "cause", "seconds"),
    [
        ({"brake_point_m": 95.0}, "early_brake", 0.04 * 15 / 5),
        ({"brake_point_m": 75.0}, "late_brake", 0.05 * 5 / 5),
        ({"brake_point_m": 380.0}, "early_brake", 0.3),  # its share of the second lost
        ({"brake_point_m": -80.0}, "late_brake", 0.4),
        ({"apex_speed_kmh": 76.0}, "low_apex_speed", 0.1),
        ({"apex_speed_kmh": 30.0}, "low_apex_speed", 0.5),
        ({"exit_speed_kmh": 96.0}, "low_exit_speed", 0.2),
        ({"throttle_at_exit_pct": 60.0}, "early_lift", 0.04),
        ({"coast_seconds": 0.4}, "coast_in_corner", 0.34),
        ({"nothing_time_s": 0.5}, "nothing_time", 0.3),
        ({"steering_corrections": 4}, "exit_understeer", 0.16),
        ({"steering_corrections": 40}, "exit_understeer", 0.25),
    ],
)
def test_each_cause_has_its_seconds_and_its_share(
    own: dict[str, Any], cause: str, seconds: float
) -> None:
    (result,) = attribute_loss(take_pass(t_exit=6.0, **own), take_pass())

    assert result.cause == cause
    assert result.seconds_lost == pytest.approx(seconds)


@pytest.mark.parametrize(
    "own",
    [
        {"brake_point_m": 85.0},
        {"brake_point_m": 77.0},
        {"brake_point_m": None},
        {"apex_speed_kmh": 78.5},
        {"exit_speed_kmh": None},
        {"throttle_at_exit_pct": 85.0},
        {"coast_seconds": 0.2},
        {"coast_seconds": None},
        {"nothing_time_s": 0.3},
        {"steering_corrections": 2},
        {"steering_corrections": None},
    ],
)
def test_what_is_within_its_bounds_is_no_cause(own: dict[str, Any]) -> None:
    assert attribute_loss(take_pass(t_exit=6.0, **own), take_pass()) == ()


@pytest.mark.parametrize("loss", [-1.0, 0.0, 0.05])
def test_a_small_loss_is_not_looked_into(loss: float) -> None:
    assert attribute_loss(take_pass(t_exit=5.0 + loss, apex_speed_kmh=40.0), take_pass()) == ()


@given(
    loss=st.floats(0.06, 8),
    brake=st.floats(-50, 250),
    apex=st.floats(20, 90),
    leave=st.floats(20, 110),
    coast=st.floats(0, 4),
    nothing=st.floats(0, 3),
    corrections=st.integers(0, 20),
)
def test_causes_never_explain_more_than_was_lost(
    loss: float,
    brake: float,
    apex: float,
    leave: float,
    coast: float,
    nothing: float,
    corrections: int,
) -> None:
    own = take_pass(
        t_exit=5.0 + loss,
        brake_point_m=brake,
        apex_speed_kmh=apex,
        exit_speed_kmh=leave,
        coast_seconds=coast,
        nothing_time_s=nothing,
        steering_corrections=corrections,
    )
    result = [cause.seconds_lost for cause in attribute_loss(own, take_pass())]

    assert sum(result) <= loss + 1e-9
    assert result == sorted(result, reverse=True)
    assert all(seconds > 0 for seconds in result)


def test_the_sentence_is_about_the_largest_cause() -> None:
    causes = attribute_loss(
        take_pass(t_exit=6.0, apex_speed_kmh=70.0, coast_seconds=0.3), take_pass()
    )

    assert [cause.cause for cause in causes] == ["coast_in_corner", "low_apex_speed"]
    assert phrase_advice("Turn {1}", causes).startswith("Turn {1}: stay on a pedal")
    assert "0.3 s" in phrase_advice("Turn 1", causes)
    assert "well driven" in phrase_advice("Turn 1", ())
    assert set(ADVICE) >= {cause.cause for cause in causes}


def test_weights_follow_the_straight_behind_a_corner() -> None:
    # behind Turn 1 lie 300 m, behind Turn 2 500 m
    result = weigh_corners(drive_on(ring_frames(1), ring_track()))

    assert result["Turn 1"] / result["Turn 2"] == pytest.approx((0.5 + 0.5 * 300 / 500) / 1.0)
    assert sum(result.values()) == pytest.approx(1.0)


def test_weights_of_the_track_file_count_where_all_are_there() -> None:
    both = tuple(replace(item, leverage=value) for item, value in zip(TWO, (0.1, 0.3), strict=True))

    assert weigh_corners(drive_on(ring_frames(1), ring_track(both))) == pytest.approx(
        {"Turn 1": 0.25, "Turn 2": 0.75}
    )
    half = (both[0], TWO[1])
    assert weigh_corners(drive_on(ring_frames(1), ring_track(half)))["Turn 1"] != pytest.approx(
        0.25
    )


def test_corners_that_overlap_leave_no_straight_between() -> None:
    near = (corner("Turn 1", 1, 100, 150, 260), corner("Turn 2", 2, 240, 300, 350))

    result = weigh_corners(drive_on(ring_frames(1), ring_track(near)))
    assert result["Turn 1"] == pytest.approx(result["Turn 2"] / 2)


def laps_of(*speeds: float) -> Any:
    """A session whose laps take Turn 1 at these speeds (m/s), off the brake; 30 m/s elsewhere."""

    def pace(way: Numbers) -> Numbers:
        lap = (way // 1000).astype(int).clip(0, len(speeds) - 1)
        slow = np.array(speeds)[lap]
        speed: Numbers = 30.0 - (30.0 - slow) * between(way, 180, 320)
        return speed

    return change(pace_frames(pace, len(speeds), hz=20.0), brake_bar=0.0)


def test_against_the_own_best_the_usual_pass_is_graded() -> None:
    card = grade_session(drive_on(laps_of(25.0, 20.0, 24.0), ring_track()))

    assert (card.basis, card.n_laps, card.reference_lap_s) == ("session_best", 3, None)
    first, second = card.corners
    assert first.own is not None
    assert (first.own.lap, first.n_passes) == (3, 3)
    assert first.letter == "A"
    assert second.score is not None
    assert second.detail == "A+"
    assert card.letter == "A"


@pytest.mark.parametrize(
    ("speeds", "usual"),
    [
        ((25.0, 22.0), 2),
        ((25.0, 24.6, 24.9), 3),  # every score is full
        ((24.8, 25.0, 24.2, 24.4, 24.6), 5),
        ((25.0, 16.0, 15.0, 24.9, 15.5), 2),
        ((25.0, 24.9, 24.8, 24.7), 3),  # of an even number the slower one in the middle
    ],
)
def test_the_usual_pass_is_the_one_whose_time_is_in_the_middle(
    speeds: tuple[float, ...], usual: int
) -> None:
    drive = drive_on(laps_of(*speeds), ring_track())
    first = grade_session(drive).corners[0]
    times = sorted(passage.corner_time_s for passage in list_passes(drive)["Turn 1"])

    assert first.own is not None
    assert first.own.lap == usual
    assert first.own.corner_time_s == times[len(times) // 2]
    assert first.delta_time_s == pytest.approx(times[len(times) // 2] - times[0])


def test_the_figures_of_the_usual_pass_are_medians() -> None:
    points = (121.0, 127.0, None, 124.0)
    ranked = [take_pass(lap=lap, brake_point_m=point) for lap, point in enumerate(points, 1)]

    assert (choose_usual(ranked).lap, choose_usual(ranked).brake_point_m) == (3, 124.0)
    assert choose_usual(ranked[:2]) == ranked[1]


def test_corners_are_ordered_by_the_seconds_that_they_cost_whatever_they_weigh() -> None:
    drive = drive_on(laps_of(25.0, 16.0, 24.0, 15.0, 15.5), ring_track())
    first, second = grade_session(drive).corners
    light = first._replace(weight=0.01, delta_time_s=0.2)
    heavy = second._replace(weight=0.99, delta_time_s=0.1)

    assert sort_by_cost((heavy, light)) == [light, heavy]
    assert sort_by_cost((heavy._replace(delta_time_s=0.0), light._replace(delta_time_s=-0.1))) == []


def test_a_wide_spread_lowers_the_grade() -> None:
    drive = drive_on(laps_of(25.0, 16.0, 24.0, 15.0, 15.5), ring_track())
    card = grade_session(drive)

    first = card.corners[0]
    assert first.own is not None
    assert first.own.lap == 2
    assert first.letter == "F"
    assert first.delta_time_s == pytest.approx(100 / 16 - 100 / 25, abs=0.05)
    assert first.apex_delta_kmh == pytest.approx((16 - 25) * 3.6, abs=0.5)
    assert [cause.cause for cause in first.causes] == ["low_exit_speed", "low_apex_speed"]
    assert card.total == pytest.approx(
        sum(grade.weight * grade.score.total for grade in card.corners if grade.score)
    )
    assert "behind the best passes; most is to be found in Turn 1" in card.summary
    assert card.summary.startswith("The usual pass of every corner together is ")
    assert grade_session(drive, lap=4).summary.startswith("Lap 4 is ")


def test_a_single_pass_without_a_reference_has_no_grade() -> None:
    card = grade_session(drive_on(laps_of(25.0), ring_track()))

    for grade in card.corners:
        assert (grade.letter, grade.score, grade.ungraded) == (None, None, SINGLE)
        assert grade.own is not None
    assert (card.letter, card.total) == (None, None)
    assert "nothing is graded" in card.summary


def file(lap_s: float = 38.0, **corners: Target) -> References:
    named = {name.replace("_", " "): target for name, target in corners.items()}
    return References({"ring": ReferenceLap(track="ring", lap_time_s=lap_s, corners=named)})


def test_against_a_file_the_best_pass_is_graded_and_may_win() -> None:
    drive = drive_on(laps_of(25.0, 20.0), ring_track())
    target = Target(5.0, entry_speed_kmh=72.0, apex_speed_kmh=72.0, exit_speed_kmh=72.0)
    card = grade_session(drive, file(Turn_1=target))

    first, second = card.corners
    assert card.basis == "reference_file"
    assert first.own is not None
    assert (first.own.lap, first.basis, first.letter) == (1, "reference_file", "A")
    assert first.delta_time_s == pytest.approx(-1.0, abs=0.01)
    assert second.basis == "session_best"


@pytest.mark.parametrize(
    ("ahead", "message"),
    [
        (0.3, "is within 0.300 s of the reference"),
        (-0.2, "is 0.200 s ahead of the reference"),
        (1.0, "has a meaningful gap of 1.000 s to the reference"),
        (2.5, "is 2.500 s behind the reference"),
    ],
)
def test_the_summary_speaks_of_the_gap(ahead: float, message: str) -> None:
    drive = drive_on(laps_of(25.0, 25.0), ring_track())
    card = grade_session(drive, file(drive.best.duration_s - ahead, Turn_1=Target(4.0)))

    assert message in card.summary


def test_the_passes_of_one_lap_can_be_graded() -> None:
    drive = drive_on(laps_of(25.0, 20.0, 24.0), ring_track())

    card = grade_session(drive, NONE, 2)
    assert [grade.own.lap for grade in card.corners if grade.own] == [2, 2]
    assert card.corners[0].n_passes == 3
    with pytest.raises(NoSuchLap):
        grade_session(drive, NONE, 4)


def test_a_corner_never_driven_whole_stays_in_the_list() -> None:
    short = (*TWO, corner("Turn 3", 3, 800, 801, 802))
    card = grade_session(drive_on(laps_of(25.0, 24.0), ring_track(short)))

    last = card.corners[2]
    assert (last.corner, last.n_passes, last.own, last.letter) == ("Turn 3", 0, None, None)


def test_a_session_with_nothing_but_positions_is_graded() -> None:
    session = without(laps_of(25.0, 20.0, 24.0), "speed_ms")
    card = grade_session(drive_on(session, ring_track()))

    first = card.corners[0]
    assert first.score is not None
    assert not {"entry_speed", "apex_speed", "nothing_time"} & {*first.score.graded_on}
    assert first.letter is not None


def test_a_circuit_without_corners_has_nothing_to_grade() -> None:
    card = grade_session(drive_on(ring_frames(2)))

    assert (card.corners, card.letter) == ((), None)


def test_leverages_of_zero_are_no_weights() -> None:
    none = tuple(replace(item, leverage=0.0) for item in TWO)
    track = replace(ring_track(), corners=none)

    assert sum(weigh_corners(drive_on(ring_frames(1), track)).values()) == pytest.approx(1.0)
