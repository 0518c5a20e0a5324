"""Habits that cost time over several sessions are the losses that each session shows."""

from functools import cache

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive, NoSuchLap, drive_of
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.insights import MOST, Cost, costs, insights
from runtime.bridge.analysis.losses import losses_between, passes_of_lap, usual_passes
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.recording import Frames
from runtime.bridge.session.series import series
from tests.bridge.analysis.lapkit import TRACKS
from tools.drive import drive

LARKFELL = TRACKS["larkfell"]


@cache
def driven(seed: int = 4, *, places: bool = True) -> Drive:
    columns = dict(drive(LARKFELL, 5, seed=seed, skill=0.9).frames.columns)
    if not places:
        columns |= dict.fromkeys(("lat", "lon"), np.full(len(columns["timestamp"]), np.nan))
    gate = LARKFELL.start if places else None
    found = detect_laps(series(Frames(columns)), gate=gate, track_length_m=LARKFELL.length_m)
    return drive_of(found, LARKFELL if places else None)


def test_what_a_corner_costs_is_what_the_coach_says_of_it() -> None:
    drive = driven()
    best = passes_of_lap(drive, drive.best.number or 0)
    losses = {loss.corner: loss for loss in losses_between(usual_passes(drive), best, drive)}

    found = costs(drive)

    assert found
    for cost in found:
        assert cost.seconds == losses[cost.corner].seconds >= 0.05
        assert (cost.cause, cost.amount) == losses[cost.corner].causes[0]
        assert cost.corner not in dangers(drive)


def test_a_lap_is_looked_at_alone() -> None:
    drive = driven()
    slow = max(drive.counted, key=lambda lap: lap.duration_s).number
    assert sum(cost.seconds for cost in costs(drive, slow)) > sum(c.seconds for c in costs(drive))
    assert costs(drive, drive.best.number) == ()
    with pytest.raises(NoSuchLap):
        costs(drive, 77)


def test_a_habit_is_one_cause_and_costs_its_mean() -> None:
    monday = (Cost("T1", "slow_apex", 4.0, 0.2), Cost("T2", "slow_apex", 9.0, 0.1))
    friday = (Cost("T1", "slow_apex", 2.0, 0.1), Cost("T3", "coasting", 0.4, 0.14))

    coasting, slow = insights([monday, friday])

    assert (slow.id, slow.corners) == ("slow_apex", ("T1", "T2"))
    assert (slow.sessions, slow.evidence) == (2, 3)
    assert slow.gain_s == pytest.approx(0.2)
    assert slow.metric == pytest.approx(3.0)
    assert (coasting.id, coasting.sessions) == ("coasting", 1)
    assert coasting.gain_s == pytest.approx(0.07)
    assert coasting.effort < slow.effort


def test_what_costs_little_is_no_habit() -> None:
    once = (Cost("T1", "coasting", 0.3, 0.06),)
    assert insights([once, (), ()]) == ()
    assert insights([]) == ()
    causes = ("early_brake", "slow_apex", "late_throttle", "coasting")
    found = insights([[Cost("T1", cause, 1.0, 0.1 + at) for at, cause in enumerate(causes)]])
    assert len(found) == MOST
    assert "early_brake" not in {one.id for one in found}  # it costs least


def test_without_corners_there_is_none() -> None:
    assert costs(driven(places=False)) == ()
