"""Single facts about the order of laps: the second fastest, those near the best one; pure."""

from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import (
    MOST_LISTED,
    Missing,
    lap_rows,
    laps_of,
    lost_to,
    slowest_of,
)
from runtime.bridge.coach.agents.lap_tools import SAME_S
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, ordinal
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.ranking import time_text

TOOL: Final = "lap_facts"


def lap_rank(drive: Drive, topic: Topic) -> Found:
    """The laps by their time, one place of that order, or those near the best one."""
    ranked = sorted(drive.counted, key=lambda one: (one.duration_s, one.t_start))
    facts = tuple(Fact(f"lap {one.number}", one.duration_s, "lap") for one in ranked)
    known = lap_rows(drive)
    value = topic.value or 0.0
    if topic.what == "place":
        place = int(value)
        if place > len(ranked):
            n = len(ranked)
            text = (
                f"There is no {ordinal(place)} lap: {n} lap{'s are' if n != 1 else ' is'} complete."
            )
            return Found(TOOL, text, (), facts, known=known)
        if topic.how == "least":
            ranked = ranked[::-1]
        word = ordinal(place).replace("fastest", "slowest" if topic.how == "least" else "fastest")
        lap = ranked[place - 1]
        gap = lap.duration_s - drive.best.duration_s
        beside = f", {gap:.3f} s slower than your best, lap {drive.best.number}" if gap > 0 else ""
        text = f"Your {word} lap was lap {lap.number} in {time_text(lap.duration_s)}{beside}."
        return Found(TOOL, text, (), facts, known=known)
    if topic.what == "within":
        near = [one for one in ranked if one is not drive.best]
        near = [one for one in near if one.duration_s - drive.best.duration_s <= value]
        n = len(near)
        head = f"{n} lap{'s are' if n != 1 else ' is'} within {value:g} s of your best"
        text = f"{head}, lap {drive.best.number} in {time_text(drive.best.duration_s)}"
        return Found(
            TOOL, f"{text}: {_told(near)}." if near else f"{text}.", (), facts, known=known
        )
    if topic.what == "claim":
        return _claim(drive, topic, facts)
    if topic.what == "than":
        return _than(drive, topic, ranked, facts)
    if topic.what == "gap":
        mean = sum(one.duration_s for one in ranked) / len(ranked)
        gap = mean - drive.best.duration_s
        times = f"{time_text(mean)} to {time_text(drive.best.duration_s)}"
        text = f"Your average lap is {gap:.3f} s slower than your best, {times}."
        return Found(TOOL, text, (), (*facts, Fact("average lap less best", gap, "s", 3)))
    if topic.how == "least":
        ranked = ranked[::-1]
    word = "slowest" if topic.how == "least" else "fastest"
    text = f"Your laps from the {word}: {_told(ranked[: int(value) or None])}."
    return Found(TOOL, text, (), facts, known=known)


def _claim(drive: Drive, topic: Topic, facts: tuple[Fact, ...]) -> Found:
    """Whether a lap was the best, or the slowest, as the driver has it."""
    try:
        (lap,) = laps_of(drive, topic.laps[:1])
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    slow = topic.how == "least"
    end, word = (slowest_of(drive), "slowest") if slow else (drive.best, "best")
    own, gap = time_text(lap.duration_s), abs(lap.duration_s - end.duration_s)
    if lap is end or gap < SAME_S:
        text = f"Yes: lap {lap.number} was your {word}, {own}."
        return Found(TOOL, text, (), facts)
    side = "faster" if slow else "slower"
    text = (
        f"No: your {word} lap was lap {end.number} in {time_text(end.duration_s)}; lap"
        f" {lap.number} took {own}, {gap:.3f} s {side}."
    )
    details = () if slow else tuple(lost_to(drive, lap, end)[:2])
    return Found(TOOL, text, details, facts)


def _than(drive: Drive, topic: Topic, ranked: list[Segment], facts: tuple[Fact, ...]) -> Found:
    """How many laps were faster, or slower, than one of them."""
    try:
        (lap,) = laps_of(drive, topic.laps[:1])
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    slower = topic.how == "most"
    own = [
        one
        for one in ranked
        if (one.duration_s > lap.duration_s if slower else one.duration_s < lap.duration_s)
    ]
    n, word = len(own), "slower" if slower else "faster"
    head = f"{n} lap{'s were' if n != 1 else ' was'} {word} than lap {lap.number}"
    return Found(TOOL, f"{head}: {_told(own)}." if own else f"{head}.", (), facts)


def _told(laps: list[Segment]) -> str:
    """The laps in their order; of many those that come first in it."""
    told = [f"lap {one.number} in {time_text(one.duration_s)}" for one in laps[:MOST_LISTED]]
    more = f", and {len(laps) - len(told)} more" if len(laps) > len(told) else ""
    return joined(told) + more
