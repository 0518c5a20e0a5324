"""Habits that cost time over several sessions, and that what was not recorded shows none."""

import math

import pytest

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.insights import Driving, Piece, driving, insights
from runtime.bridge.api.coaching import piece_of
from runtime.bridge.cues.model import Burst
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.series import series
from tests.bridge.analysis.lapkit import TRACKS
from tools.drive import drive

LARKFELL = TRACKS["larkfell"]
USUAL_G = 2.29


def piece(corner: str, *, coasting: int = 0, speed_kmh: float = 90.0, grip: float = 0.9) -> Piece:
    return Piece((corner,), True, 100, coasting, 5, speed_kmh, grip)


def test_habits_are_found_where_they_are() -> None:
    lazy = Driving(
        (piece("T1", coasting=40, grip=0.5), piece("T2", coasting=40, grip=0.55)),
        tuple(("T1", 0.5) for _ in range(3)),
        gain_s=0.5,
        best_s=90.0,
        laps=3,
        told=1000,
        coasting=400,
        envelope_g=1.1,
    )
    found = insights([lazy], [], USUAL_G)
    assert len(found) == 3
    assert [one.effort for one in found] == sorted(one.effort for one in found)
    assert {"coast_excess", "grip_headroom", "nothing_time"} == {one.id for one in found}
    quick = Driving((piece("T1", speed_kmh=120.0),), (), 0.1, 80.0, 3, 1000, 10)
    assert insights([quick], [], USUAL_G) == ()
    assert insights([], [], USUAL_G) == ()


def test_grip_in_hand_is_what_this_car_reached_here_and_none_in_danger_zones() -> None:
    pieces = (piece("T1", grip=0.5), piece("T2", grip=0.4), piece("T3", grip=0.6))
    calm = Driving(pieces, (), 0.1, 80.0, 3, 1000, 0, envelope_g=1.1)

    (found,) = insights([calm], [], USUAL_G)
    (spared,) = insights([calm._replace(spared=frozenset({"T2", "T3"}))], [], USUAL_G)

    assert (found.id, found.corners) == ("grip_headroom", ("T2", "T1", "T3"))
    assert found.gain_s == pytest.approx(0.4 * 1.1 * 0.5)
    assert spared.corners == ("T1",)
    assert insights([calm._replace(spared=frozenset({"T1", "T2", "T3"}))], [], USUAL_G) == ()


def test_a_slow_surface_is_no_grip_in_hand() -> None:
    frames = drive(LARKFELL, 3, seed=4, skill=0.99).frames
    found = detect_laps(series(frames), gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    seen = driving(drive_of(found, LARKFELL))

    assert seen.envelope_g is not None
    assert "grip_headroom" not in {one.id for one in insights([seen], [], USUAL_G)}


def test_bursts_without_accelerations_say_nothing_of_grip() -> None:
    known = Burst(
        corners_visited=("T1", "T2"),
        in_corner=True,
        frame_count=10,
        max_combo_g=0.3,
        avg_speed_kmh=90.0,
        trail_brake_frames=1,
    )
    unknown = known._replace(max_combo_g=math.nan)
    assert insights([], [piece_of(unknown, USUAL_G)] * 3, USUAL_G) == ()
    (found,) = insights([], [piece_of(one, USUAL_G) for one in (known, unknown)], USUAL_G)
    assert (found.id, found.corners) == ("grip_headroom", ("T1", "T2"))
