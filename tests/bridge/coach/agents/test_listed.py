"""Long lists: how many there are is said, and which of them are told."""

import re
from typing import Final

import numpy as np
import pytest

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.coach.agents.amount_answers import amount
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_answers import measure
from runtime.bridge.coach.agents.lap_answers import MOST_LISTED, MOST_TOLD, lap_count
from runtime.bridge.coach.agents.rank_answers import lap_rank
from runtime.bridge.coach.agents.series_answers import extreme
from runtime.bridge.coach.agents.words import listed
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.series import series
from tests.bridge.coach.warm.modelkit import LARKFELL
from tools.drive import drive

LAPS: Final = 33


@pytest.fixture(scope="module")
def long() -> Drive:
    """A session of many laps."""
    frames = drive(LARKFELL, LAPS, hz=5.0, seed=3, skill=0.8).frames
    found = detect_laps(series(frames), gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    return drive_of(found, LARKFELL)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "0"),
        (3, "0, 1 and 2"),
        (4, "0, 1, 2 and 3"),
        (5, "the first 2 of 5 laps: 0 and 1; the last 2: 3 and 4"),
        (40, "the first 2 of 40 laps: 0 and 1; the last 2: 38 and 39"),
    ],
)
def test_a_list_that_is_too_long_shows_its_ends_and_tells_its_length(
    count: int, expected: str
) -> None:
    assert listed([str(at) for at in range(count)], 4) == expected


@pytest.mark.parametrize(
    "topic",
    [
        Topic("amount", "throttle", how="each"),
        Topic("amount", "brakings", how="each"),
    ],
)
def test_amounts_lap_by_lap(long: Drive, topic: Topic) -> None:
    said = " ".join((amount(long, topic).summary, *amount(long, topic).details))

    assert f"the first 6 of {LAPS} laps: " in said or " on every lap" in said


def test_times_speeds_and_corners_lap_by_lap(long: Drive) -> None:
    times = lap_count(long, Topic("count", "lap", how="each")).summary
    speeds = extreme(long, Topic("extreme", "speed", how="each")).summary
    corner = measure(long, Topic("measure", "speed", "apex", "each", ("Turn 4",))).summary

    half = MOST_LISTED // 2
    assert f"the first {half} of {LAPS} laps: " in times
    assert times.endswith(f"on lap {LAPS}.")
    for said in (speeds, corner):
        assert f"the first 6 of {LAPS} laps: " in said
        assert said.endswith(f"on lap {LAPS}.")


def test_a_ranking_tells_how_many_it_leaves_out(long: Drive) -> None:
    said = lap_rank(long, Topic("rank", "order", value=0.0)).summary
    top = lap_rank(long, Topic("rank", "order", value=5.0)).summary

    assert len(re.findall(r"lap \d+ in", said)) == MOST_LISTED
    assert said.endswith(f", and {LAPS - MOST_LISTED} more.")
    assert len(re.findall(r"lap \d+ in", top)) == 5
    assert "more" not in top


@pytest.mark.parametrize(("how", "word"), [("least", "fastest"), ("most", "slowest")])
def test_laps_on_one_side_of_a_time_begin_with_the_end_that_counts(
    long: Drive, how: str, word: str
) -> None:
    times = np.array([lap.duration_s for lap in long.counted])
    limit = float(times.max() + 1 if how == "least" else times.min() - 1)

    found = lap_count(long, Topic("count", "lap", how=how, value=limit))

    assert found.summary.startswith(f"{LAPS} of your {LAPS} laps")
    end = times.min() if how == "least" else times.max()
    number = next(lap.number for lap in long.counted if lap.duration_s == end)
    assert found.details[0].startswith(f"The {word} {MOST_TOLD} of them are lap {number} in ")
