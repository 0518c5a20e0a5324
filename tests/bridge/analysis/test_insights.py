"""Habits that cost time over several sessions are the losses that each session shows."""

from functools import cache

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive, NoSuchLap, drive_of
from runtime.bridge.analysis.grading import BOLD, REMEDY, find_dangers
from runtime.bridge.analysis.insights import (
    EFFORT,
    MOST,
    Cost,
    Driven,
    find_insights,
    measure_costs,
)
from runtime.bridge.analysis.losses import find_passes, find_usual_passes, measure_losses
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.recording import Frames
from runtime.bridge.session.series import build_series
from tests.bridge.analysis.lapkit import TRACKS
from tools.drive import drive

LARKFELL = TRACKS["larkfell"]


@cache
def drive_varied(seed: int = 4, *, places: bool = True) -> Drive:
    columns = dict(drive(LARKFELL, 5, seed=seed, skill=0.9).frames.columns)
    if not places:
        columns |= dict.fromkeys(("lat", "lon"), np.full(len(columns["timestamp"]), np.nan))
    gate = LARKFELL.start if places else None
    result = detect_laps(build_series(Frames(columns)), gate=gate, track_length_m=LARKFELL.length_m)
    return drive_of(result, LARKFELL if places else None)


def test_what_a_corner_costs_is_what_the_coach_says_of_it() -> None:
    drive = drive_varied()
    best = find_passes(drive, drive.best.number or 0)
    losses = {loss.corner: loss for loss in measure_losses(find_usual_passes(drive), best, drive)}

    result = measure_costs(drive) or ()

    worth = {name for name, loss in losses.items() if loss.seconds >= 0.02}
    assert {cost.corner for cost in result} == worth
    for cost in result:
        loss = losses[cost.corner]
        assert cost.seconds == loss.seconds
        assert cost.amount == dict(loss.causes).get(cost.cause, loss.seconds)
    assert worth & set(find_dangers(drive))
    assert not [
        item for item in result if item.corner in find_dangers(drive) and item.cause in BOLD
    ]
    assert set(EFFORT) == set(REMEDY)


def test_a_lap_is_looked_at_alone() -> None:
    drive = drive_varied()
    slow = max(drive.counted, key=lambda lap: lap.duration_s).number
    whole = sum(cost.seconds for cost in measure_costs(drive) or ())
    assert sum(cost.seconds for cost in measure_costs(drive, slow) or ()) > whole
    assert measure_costs(drive, drive.best.number) is None
    with pytest.raises(NoSuchLap):
        measure_costs(drive, 77)


def at(*sessions: tuple[Cost, ...], track: str = "Larkfell") -> Driven:
    return Driven("Mia", track, list(sessions))


def test_a_habit_is_one_cause_and_costs_what_it_costs_where_it_shows() -> None:
    monday = (Cost("T1", "slow_apex", 4.0, 0.2), Cost("T2", "slow_apex", 9.0, 0.1))
    friday = (Cost("T1", "slow_apex", 2.0, 0.1), Cost("T3", "coasting", 0.4, 0.14))

    coasting, slow = find_insights([at(monday, friday)])

    assert (slow.id, slow.corners) == ("slow_apex", ("T1", "T2"))
    assert (slow.sessions, slow.looked_at, slow.evidence) == (2, 2, 3)
    assert slow.gain_s == pytest.approx(0.2)
    assert slow.metric == pytest.approx(3.0)
    assert (coasting.id, coasting.sessions, coasting.looked_at) == ("coasting", 1, 2)
    assert coasting.gain_s == pytest.approx(0.14)
    assert coasting.effort < slow.effort


def test_a_loss_is_of_its_circuit_alone() -> None:
    rolled = (Cost("T1", "coasting", 1.0, 0.8),)
    elsewhere = at((Cost("T1", "coasting", 1.0, 0.2),), (), track="Other")

    result = {item.track: item for item in find_insights([at(rolled, ()), elsewhere])}

    assert result["Larkfell"].gain_s == pytest.approx(0.8)
    assert result["Other"].gain_s == pytest.approx(0.2)
    assert [(item.sessions, item.looked_at) for item in result.values()] == [(1, 2), (1, 2)]


def test_what_costs_least_in_all_the_sessions_is_left_out() -> None:
    assert find_insights([]) == find_insights([at((), ())]) == ()
    often = tuple(Cost("T1", cause, 1.0, 0.2) for cause in ("early_brake", "slow_apex", "coasting"))
    once = Cost("T1", "late_throttle", 1.0, 0.5)

    result = find_insights([at((*often, once), often, often)])

    assert len(result) == MOST
    assert "late_throttle" not in {item.id for item in result}


def test_without_corners_there_is_none() -> None:
    assert measure_costs(drive_varied(places=False)) is None
