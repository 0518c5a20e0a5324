"""Counts and shares come from the frames: brakings, lifts, gear changes, time spent, speeds."""

import asyncio
from statistics import median
from typing import Final

import numpy as np
import pytest

from runtime.bridge.session.definitions import find_brakings, find_lifts
from runtime.bridge.session.series import series
from tests.bridge.bridgekit import Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import TRUE, ask, filled, gears, numbers_in
from tests.bridge.session.sessions import frames as recorded

HZ: Final = 20.0


def brakes(lap: int) -> int:
    """How often a lap went over 5 bar, having been under 2 before; frame by frame."""
    count, down = 0, False
    for value in TRUE.on_lap(lap, "brake_bar"):
        if value > 5 and not down:
            count, down = count + 1, True
        elif value < 2:
            down = False
    return count


def lifted(lap: int) -> int:
    """How often the throttle of a lap fell under 5 %, having been at 20 or more."""
    count, open_ = 0, False
    for value in TRUE.on_lap(lap, "throttle_pct"):
        if value >= 20:
            open_ = True
        elif value < 5 and open_:
            count, open_ = count + 1, False
    return count


def seconds(lap: int, name: str, least: float) -> float:
    """Of a lap with a channel at *least* or more."""
    return float((TRUE.on_lap(lap, name) >= least).sum()) / HZ


def coasted(lap: int) -> float:
    """Seconds of a lap off both pedals."""
    throttle, brake = TRUE.on_lap(lap, "throttle_pct"), TRUE.on_lap(lap, "brake_bar")
    return float(((throttle < 5) & (brake < 2)).sum()) / HZ


def shifts(lap: int) -> int:
    """Gear changes of a lap."""
    begin, end = TRUE.driven.crossings_s[lap - 1 : lap + 1]
    found = gears(TRUE.frames)
    inside = (found.t >= begin) & (found.t < end)
    return int((np.diff(found.value[inside]) != 0).sum())


def above(kmh: float) -> float:
    """Seconds of the complete laps above a speed."""
    return sum(float((TRUE.on_lap(lap, "speed_ms") * 3.6 > kmh).sum()) / HZ for lap in TRUE.laps)


LAPS: Final = list(TRUE.laps)
ASKED: Final = (
    ("How many times do I brake per lap?", median(map(brakes, LAPS)), 0.6),
    ("How many times did I brake on lap 2?", brakes(2), 0.5),
    ("How many times do I lift?", median(map(lifted, LAPS)), 0.6),
    ("How many gear changes per lap?", median(map(shifts, LAPS)), 0.6),
    ("How many gear changes on lap 3?", shifts(3), 0.5),
    ("How long am I at full throttle on lap 2?", seconds(2, "throttle_pct", 95), 0.3),
    (
        "What share of the lap am I at full throttle?",
        median(100 * seconds(lap, "throttle_pct", 95) / TRUE.time(lap) for lap in LAPS),
        0.5,
    ),
    (
        "What percentage of the lap am I on the brakes?",
        median(100 * seconds(lap, "brake_bar", 2) / TRUE.time(lap) for lap in LAPS),
        0.5,
    ),
    (
        "How much time do I spend braking per lap?",
        median(seconds(lap, "brake_bar", 2) for lap in LAPS),
        0.4,
    ),
    ("How long do I coast per lap?", median(map(coasted, LAPS)), 0.4),
    ("How often did I go above 170?", above(170), 0.6),
    ("How many corners do I brake for?", 11, 0.0),
    ("How many times did I correct the steering in turn 5?", None, 0.0),
)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question, each in a conversation of its own; two of a session with few channels."""

    async def work() -> dict[str, Json]:
        async with bridging(settings_for(tmp_path_factory.mktemp("amounts"))) as bridge:
            await filled(bridge)
            found = {}
            for question, *_ in ASKED:
                found[question] = await ask(bridge, question)
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
            for question in ("How many times do I lift?", "How many gear changes per lap?"):
                found[f"bare {question}"] = await ask(bridge, question, "bare")
            return found

    return asyncio.run(work())


@pytest.mark.parametrize(("question", "value", "near"), ASKED, ids=[one[0] for one in ASKED])
def test_what_is_counted_is_what_the_frames_show(
    question: str, value: float | None, near: float, answered: dict[str, Json]
) -> None:
    found = answered[question]
    first = found["sources"][0]["summary"]
    assert found["sources"][0]["tool"] == "amount_facts"
    if value is None:
        assert "corrected the steering in Turn 5" in first
        return
    assert any(abs(number - value) <= near for number in numbers_in(first)), (value, first)


def test_what_was_not_recorded_is_not_counted(answered: dict[str, Json]) -> None:
    assert "throttle_pct" in answered["bare How many times do I lift?"]["answer"]
    assert "gear_position" in answered["bare How many gear changes per lap?"]["answer"]


def test_a_flicker_of_a_pedal_is_no_second_braking_and_no_lift() -> None:
    brake = np.array([0, 6, 4, 6, 3, 9, 0, 1, 7, 7, 0.0])
    throttle = np.array([100, 15, 100, 15, 5, 0, 12, 9, 30, 0, np.nan, 50.0])
    begins, ends = find_brakings(brake >= 5, brake < 2)
    assert (begins.tolist(), ends.tolist()) == ([1, 8], [6, 10])
    drive = series(recorded(np.arange(12.0), throttle_pct=throttle))
    assert find_lifts(drive).tolist() == [5, 9]
