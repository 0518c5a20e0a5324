"""Single facts about how a corner was driven, on one pass beside the quickest; pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_judged import judged, judged_all, usuals
from runtime.bridge.coach.agents.corner_said import (
    SAME_M,
    TOOL,
    beside_quickest,
    middle_of,
    placed,
    quickest_of,
    said,
    signed,
)
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of
from runtime.bridge.coach.agents.measures import Measure, key_of, measure_of, not_recorded
from runtime.bridge.coach.agents.risk_answers import at_board, dry_points
from runtime.bridge.coach.agents.values import Cell, Fact, Found
from runtime.bridge.coach.agents.words import joined, listed, no_corner, numbered

MOST: Final = 4
"""Corners that are told of in one answer."""
LISTED: Final = 6
"""Passes whose values are listed one by one."""


def measure(drive: Drive, topic: Topic, references: References = NONE) -> Found:
    """One measure of the corners that are named, or of all, on the laps that are named."""
    passes = passes_of(drive)
    asked = measure_of(topic.what, topic.spot, topic.how)
    if any(name not in passes for name in topic.corners):
        return Found(TOOL, no_corner(passes), empty=True)
    if bool(np.isnan(drive.series[asked.channel]).all()):
        return Found(TOOL, not_recorded(asked.channel), empty=True)
    try:
        laps = [lap.number or 0 for lap in laps_of(drive, topic.laps)]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if not topic.corners:
        if topic.spot == "rank":
            return _ranked(drive, asked, laps, topic.how)
        if topic.how == "judged" and topic.what == "brake_point" and not laps:
            return judged_all(drive, asked, topic.spot, references)
        return _everywhere(drive, asked, laps)
    found = [
        _in_corner(drive, topic, asked, name, passes[name], laps, references)
        for name in topic.corners[:MOST]
    ]
    known = tuple(row for name in topic.corners[:MOST] for row in _rows(drive, asked, passes[name]))
    if len(found) == 1:
        return replace(found[0], known=known)
    told = " ".join(one.summary for one in found)
    facts = tuple(fact for one in found for fact in one.facts)
    return Found(TOOL, told, (), facts, known=known, empty=all(one.empty for one in found))


def _rows(drive: Drive, asked: Measure, passes: Sequence[Pass]) -> list[dict[str, Cell]]:
    """A measure of each pass as analytics name it."""
    key = key_of(asked)
    if not key:
        return []
    return [{"corner": one.corner, "lap": one.lap, key: asked.read(drive, one)} for one in passes]


def _in_corner(
    drive: Drive,
    topic: Topic,
    asked: Measure,
    name: str,
    passes: Sequence[Pass],
    laps: Sequence[int],
    references: References,
) -> Found:
    if not passes:
        return Found(TOOL, f"{name} was not driven whole on any complete lap.", empty=True)
    by_lap = {one.lap: one for one in passes}
    if gone := [lap for lap in laps if lap not in by_lap]:
        text = f"Lap {gone[0]} did not pass {name} whole; it was passed on {numbered(by_lap)}."
        return Found(TOOL, text, empty=True)
    values = {one.lap: asked.read(drive, one) for one in passes}
    facts = tuple(
        Fact(f"{name}, {asked.label}, lap {lap}", value, asked.unit, asked.digits)
        for lap, value in values.items()
        if value is not None
    )
    quickest = quickest_of(passes)
    if topic.what == "brake_point":
        points = [one for one in values.values() if one is not None]
        if topic.wet:
            return Found(TOOL, dry_points(name, points), (), facts)
        if topic.value is not None and points:
            return Found(TOOL, at_board(name, topic.value, points), (), facts)
    if topic.what == "brake_point" and topic.should and topic.how != "judged":
        own = usuals(drive, asked, references).get(name) if topic.spot else None
        return _brake_there(
            asked,
            name,
            values,
            quickest,
            laps,
            facts,
            name in dangers(drive),
            topic.spot,
            own.own if own is not None else middle_of(values),
        )
    if topic.how == "judged":
        return judged(drive, topic, asked, name, values, laps, facts, references)
    chosen, whose = _chosen(topic, values, quickest, laps)
    if len(chosen) > 1:
        told = [f"{said(asked, values[lap], name)} on lap {lap}" for lap in chosen]
        text = f"{asked.label[:1].upper()}{asked.label[1:]} in {name}: {listed(told, 2 * LISTED)}."
        return Found(TOOL, text, (), facts)
    value = values[chosen[0]] if chosen else middle_of(values)
    sentence = signed(asked, value, name)
    summary = f"{whose} {sentence}."
    return Found(TOOL, summary, tuple(beside_quickest(asked, values, chosen, quickest)), facts)


def _chosen(
    topic: Topic,
    values: dict[int, float | None],
    quickest: Pass,
    laps: Sequence[int],
) -> tuple[list[int], str]:
    """The laps whose number is told, and what a sentence calls them; none: the middle of all."""
    known = [lap for lap, value in values.items() if value is not None]
    if laps:
        return list(laps), f"On lap {laps[0]}"
    if topic.how == "each":
        return known or list(values), ""
    if topic.how == "mean" and known:
        return [], f"In the middle of {len(known)} passes"
    if topic.how in ("most", "least") and known:
        pick = max if topic.how == "most" else min
        lap = pick(known, key=lambda each: values[each] or 0.0)
        ends = {"time": ("longest", "shortest"), "brake_point": ("earliest", "latest")}
        most, least = ends.get(topic.what, ("highest", "lowest"))
        return [lap], f"On lap {lap}, the {most if topic.how == 'most' else least} of all,"
    return [quickest.lap], f"On your quickest pass, lap {quickest.lap},"


def _brake_there(
    asked: Measure,
    name: str,
    values: dict[int, float | None],
    quickest: Pass,
    laps: Sequence[int],
    facts: tuple[Fact, ...],
    danger: bool,
    spot: str,
    usual: float | None,
) -> Found:
    """Where to brake: as on the quickest pass, and what another lap did.

    With *danger*, not later than in the middle of all passes. Whether it should be later or earlier
    is said of the *usual* point.
    """
    aim = values[quickest.lap]
    as_there = f"as on your quickest pass, lap {quickest.lap}"
    middle = middle_of(values)
    if danger and middle is not None and (aim is None or aim < middle):
        aim, as_there = middle, f"as in the middle of your {len(values)} passes, and no later"
    answer = ""
    if spot in ("later", "earlier") and usual is not None and aim is not None:
        gap = usual - aim if spot == "later" else aim - usual
        answer = (
            f"Yes, by {gap:.0f} m: "
            if gap >= SAME_M and not (danger and spot == "later")
            else "No: "
        )
    if aim is None:
        summary = f"{name} goes without braking above 5 bar, {as_there}."
    else:
        side = "before" if aim >= 0 else "behind"
        summary = f"{answer}Brake {asked.text(abs(aim))} {side} the entry of {name}, {as_there}."
        summary = summary.replace(": Brake", ": brake")
    details = []
    for lap in laps[:1]:
        if lap == quickest.lap and not danger:
            details.append(f"Lap {lap} is that pass: keep it.")
            continue
        text = f"On lap {lap} {signed(asked, values[lap], name)}"
        own = values[lap]
        if own is not None and aim is not None and abs(own - aim) >= SAME_M:
            text += f", {abs(own - aim):.0f} m {'earlier' if own > aim else 'later'}"
        details.append(f"{text}.")
    known = [value for value in values.values() if value is not None]
    if len(known) > 1:
        details += beside_quickest(asked, values, [quickest.lap], quickest)
    return Found(TOOL, summary, tuple(details[:2]), facts)


def _of_all(drive: Drive, asked: Measure, laps: Sequence[int]) -> dict[str, tuple[float, int]]:
    """A measure of every corner with its lap: the one that is named, else the quickest pass."""
    found = {}
    for name, passes in passes_of(drive).items():
        chosen = [one for one in passes if one.lap == laps[0]] if laps else list(passes)
        if not chosen:
            continue
        one = quickest_of(chosen)
        value = asked.read(drive, one)
        if value is not None:
            found[name] = (value, one.lap)
    return found


def _middles(drive: Drive, asked: Measure) -> dict[str, tuple[float, int]]:
    """A measure of every corner in the middle of its passes, with the lap of the quickest."""
    found = {}
    for name, passes in passes_of(drive).items():
        value = middle_of({one.lap: asked.read(drive, one) for one in passes})
        if value is not None:
            found[name] = (value, quickest_of(passes).lap)
    return found


def _everywhere(drive: Drive, asked: Measure, laps: Sequence[int]) -> Found:
    """A measure of every corner, on its quickest pass or on a lap."""
    found = _of_all(drive, asked, laps)
    if not found:
        return Found(TOOL, f"No pass has a number for the {asked.label}.", empty=True)
    told = [f"{name} {placed(asked, value)}" for name, (value, _) in found.items()]
    whose = f"on lap {laps[0]}" if laps else "on your quickest pass of each corner"
    label = f"{asked.label[:1].upper()}{asked.label[1:]}"
    return Found(TOOL, f"{label} {whose}: {joined(told)}.", (), _facts_of(asked, found))


def _facts_of(asked: Measure, found: dict[str, tuple[float, int]]) -> tuple[Fact, ...]:
    return tuple(
        Fact(f"{name}, {asked.label}, lap {lap}", value, asked.unit, asked.digits)
        for name, (value, lap) in found.items()
    )


def _ranked(drive: Drive, asked: Measure, laps: Sequence[int], how: str) -> Found:
    """The corner that is driven fastest, or slowest, by its slowest point."""
    found = _of_all(drive, asked, laps)
    if asked.channel != "speed_ms" and not laps:
        found = _middles(drive, asked)
    if not found:
        return Found(TOOL, f"No pass has a number for the {asked.label}.", empty=True)
    ranked = sorted(found, key=lambda name: found[name][0], reverse=how != "least")
    (first, *rest), word = ranked, "slowest" if how == "least" else "fastest"
    value, lap = found[first]
    whose = f"lap {lap}" if laps else f"your quickest pass, lap {lap}"
    if asked.channel != "speed_ms":
        ends = ("least", "most") if asked.unit in ("s", "") else ("lowest", "highest")
        most = ends[how != "least"]
        told = [f"{name} with {asked.text(found[name][0])}" for name in rest[:2]]
        if asked.none and asked.label.startswith("braking"):
            end, basis = ("latest", "earliest")[how != "least"], f"on lap {lap}"
            basis = basis if laps else "in the middle of your passes"
            text = f"You brake {end} for {first}: {asked.text(value)} before its entry {basis}."
            return Found(TOOL, text, (f"Next come {joined(told)}.",), _facts_of(asked, found))
        text = f"{first} has the {most} {asked.label.removeprefix('highest ')}: {asked.text(value)}"
        basis = f"on lap {lap}" if laps else "in the middle of its passes"
        details = (f"Next come {joined(told)}.",) if told else ()
        return Found(TOOL, f"{text} {basis}.", details, _facts_of(asked, found))
    summary = f"Your {word} corner is {first}: {asked.text(value)} at its slowest point on {whose}."
    next_ones = [f"{name} with {asked.text(found[name][0])}" for name in rest[:2]]
    details = (f"Next come {joined(next_ones)}.",) if next_ones else ()
    return Found(TOOL, summary, details, _facts_of(asked, found))
