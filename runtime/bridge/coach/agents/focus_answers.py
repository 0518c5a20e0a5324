"""What to work on, as the debrief of the session has it; pure."""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.highlights import Moment
from runtime.bridge.analysis.laps import ideal_lap
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined
from runtime.bridge.coach.warm.findings import Finding, found_in, tellable
from runtime.bridge.coach.warm.pedagogy import mark_of, tip_of
from runtime.bridge.coach.warm.problems import goal, paragraph
from runtime.bridge.session.ranking import time_text

TOOL: Final = "focus_facts"


def focus(
    drive: Drive, topic: Topic, references: References = NONE, moments: Sequence[Moment] = ()
) -> Found:
    """The one thing to work on, why, and what comes next."""
    found = tellable(found_in(drive, references), moments)
    if not found:
        return _none(drive)
    first, *rest = found
    place = f"at {first.corner}" if first.corner else "all around the lap"
    summary = f"Work on one thing: {place}, {tip_of(first)}."
    if topic.what == "wrong":
        summary = f"{_why(drive, first)}"
    mark = mark_of(first, goal(first))
    details = [_why(drive, first)]
    if topic.what == "wrong":
        details = [f"Work on that first: {place}, {tip_of(first)}."]
    elif mark:
        details.append(f"You will know that it works when you {mark}.")
    if rest:
        details.append(f"Behind it come {joined([one.corner for one in rest[:2]])}.")
    facts = tuple(Fact(f"{one.corner or 'the lap'}, to work on", tip_of(one)) for one in found)
    if topic.value is not None:
        summary, details = _reach(drive, topic.value, summary, details)
    return Found(TOOL, summary, tuple(details), facts)


def _why(drive: Drive, one: Finding) -> str:
    told = paragraph(one, None, alone=len(drive.counted) < 2)
    return told.replace("**", "")


def _none(drive: Drive) -> Found:
    if len(drive.counted) < 2:
        text = "Drive three more laps at the same pace: one lap alone names no corner to work on."
        return Found(TOOL, text)
    return Found(TOOL, "Repeat it: no corner stands out, so now it is about rhythm.")


def _reach(
    drive: Drive, target_s: float, summary: str, details: list[str]
) -> tuple[str, list[str]]:
    """How far a time is away, before what to work on."""
    best, ideal = drive.best.duration_s, ideal_lap(drive).sectors.lap_s
    gap = best - target_s
    if gap < 0:
        text = f"You are there: your best lap, {time_text(best)}, is {-gap:.3f} s under it."
        return text, [summary, *details]
    within = "more than your best sectors together give"
    if ideal is not None and ideal <= target_s:
        within = "and your best sectors together reach it"
    return f"{time_text(target_s)} is {gap:.3f} s away, {within}.", [summary, *details]
