"""Single facts about how a corner was driven, on one pass beside the quickest; pure."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Final

import numpy as np

from runtime.bridge.agents.asked import Topic
from runtime.bridge.agents.corner_words import speeds_of, why_slow
from runtime.bridge.agents.lap_answers import Missing, laps_of
from runtime.bridge.agents.measures import Measure, key_of, measure_of, not_recorded
from runtime.bridge.agents.risk_answers import at_board, dry_points
from runtime.bridge.agents.values import Cell, Fact, Found
from runtime.bridge.agents.words import joined, no_corner, numbered
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import NONE, References, aims
from runtime.bridge.laps.stats import deviation

TOOL: Final = "corner_facts"
MOST: Final = 4
"""Corners that are told of in one answer."""
LISTED: Final = 6
"""Passes whose values are listed one by one."""
SAME_M: Final = 3.0


def quickest_of(passes: Sequence[Pass]) -> Pass:
    """The pass with the shortest time, the earliest of equals."""
    return min(passes, key=lambda one: (one.corner_time_s, one.t_entry))


def measure(drive: Drive, topic: Topic) -> Found:
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
        return _everywhere(drive, asked, laps)
    found = [
        _in_corner(drive, topic, asked, name, passes[name], laps) for name in topic.corners[:MOST]
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
    if topic.what == "brake_point" and topic.should:
        return _brake_there(asked, name, values, quickest, laps, facts)
    if topic.how == "judged":
        return _judged(topic, asked, name, values, quickest, laps, facts)
    chosen, whose = _chosen(topic, values, quickest, laps)
    if len(chosen) > 1:
        told = [f"{_said(asked, values[lap], name)} on lap {lap}" for lap in chosen]
        text = f"{asked.label[:1].upper()}{asked.label[1:]} in {name}: {joined(told)}."
        return Found(TOOL, text, (), facts)
    value = values[chosen[0]] if chosen else _middle(values)
    sentence = _signed(asked, value, name)
    summary = f"{whose} {sentence}."
    return Found(TOOL, summary, tuple(_beside(asked, values, chosen, quickest)), facts)


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
        return (known or list(values))[: LISTED * 2], ""
    if topic.how == "mean" and known:
        return [], f"In the middle of {len(known)} passes"
    if topic.how in ("most", "least") and known:
        pick = max if topic.how == "most" else min
        lap = pick(known, key=lambda each: values[each] or 0.0)
        ends = {"time": ("longest", "shortest"), "brake_point": ("earliest", "latest")}
        most, least = ends.get(topic.what, ("highest", "lowest"))
        return [lap], f"On lap {lap}, the {most if topic.how == 'most' else least} of all,"
    return [quickest.lap], f"On your quickest pass, lap {quickest.lap},"


def _middle(values: dict[int, float | None]) -> float | None:
    known = [value for value in values.values() if value is not None]
    return median(known) if known else None


def _said(asked: Measure, value: float | None, name: str) -> str:
    return asked.text(value) if value is not None else asked.none.format(corner=name) or "unknown"


def _signed(asked: Measure, value: float | None, name: str) -> str:
    """A sentence; a place in front of the entry and one behind it are told without a sign."""
    if value is None and not asked.none:
        return f"the {asked.label} in {name} is not known"
    if value is not None and value < 0 and asked.unit == "m":
        text = asked.sentence(-value, name)
        if " before the " in text:
            return text.replace(" before the ", " behind the ")
        return text.replace(" behind the ", " before the ")
    return asked.sentence(value, name)


def _beside(
    asked: Measure, values: dict[int, float | None], chosen: Sequence[int], quickest: Pass
) -> list[str]:
    """The same measure on the quickest pass, and over all passes."""
    known = {lap: value for lap, value in values.items() if value is not None}
    told = []
    if chosen and chosen[0] != quickest.lap and quickest.lap in known:
        told.append(
            f"Your quickest pass, lap {quickest.lap}, had {_place(asked, known[quickest.lap])}."
        )
    if len(known) > 1:
        low, high = min(known.values()), max(known.values())
        if asked.text(low) == asked.text(high):
            told.append(f"It is the same on all {len(known)} passes.")
        else:
            between = f"{_place(asked, low)} and {_place(asked, high)}"
            told.append(f"Your {len(known)} passes lie between {between}.")
    return told


def _place(asked: Measure, value: float) -> str:
    if asked.unit == "m" and value < 0:
        side = "before the apex" if asked.label.endswith("apex") else "behind the entry"
        return f"{asked.text(-value)} {side}"
    return asked.text(value)


def _judged(
    topic: Topic,
    asked: Measure,
    name: str,
    values: dict[int, float | None],
    quickest: Pass,
    laps: Sequence[int],
    facts: tuple[Fact, ...],
) -> Found:
    """A number beside that of the quickest pass: of a lap, else the middle of all."""
    own = values[laps[0]] if laps else _middle(values)
    aim = values[quickest.lap]
    whose = f"On lap {laps[0]}" if laps else f"In the middle of {len(values)} passes"
    sentence = f"{whose} {_signed(asked, own, name)}"
    if own is None or aim is None:
        return Found(TOOL, f"{sentence}.", tuple(_beside(asked, values, laps, quickest)), facts)
    gap, beside = own - aim, f"your quickest pass, lap {quickest.lap}"
    if asked.text(abs(gap)) == asked.text(0.0):
        return Found(TOOL, f"{sentence}, as on {beside}.", (), facts)
    more, less = ("earlier", "later") if topic.what == "brake_point" else ("more", "less")
    answer = ""
    if topic.what == "brake_point" and topic.spot:
        wrong = -gap if topic.spot == "late" else gap
        answer = "Yes, by that measure: " if wrong >= SAME_M else "No: "
        sentence = sentence[:1].lower() + sentence[1:]
    text = f"{asked.text(abs(gap))} {more if gap > 0 else less} than on {beside}"
    facts = (*facts, Fact(f"{name}, {asked.label}, less quickest", gap, asked.unit, asked.digits))
    return Found(
        TOOL, f"{answer}{sentence}, {text}.", tuple(_beside(asked, values, (), quickest)), facts
    )


def _brake_there(
    asked: Measure,
    name: str,
    values: dict[int, float | None],
    quickest: Pass,
    laps: Sequence[int],
    facts: tuple[Fact, ...],
) -> Found:
    """Where to brake: as on the quickest pass, and what another lap did."""
    aim = values[quickest.lap]
    as_there = f"as on your quickest pass, lap {quickest.lap}"
    if aim is None:
        summary = f"{name} goes without braking above 5 bar, {as_there}."
    else:
        side = "before" if aim >= 0 else "behind"
        summary = f"Brake {asked.text(abs(aim))} {side} the entry of {name}, {as_there}."
    details = []
    for lap in laps[:1]:
        if lap == quickest.lap:
            details.append(f"Lap {lap} is that pass: keep it.")
            continue
        text = f"On lap {lap} {_signed(asked, values[lap], name)}"
        own = values[lap]
        if own is not None and aim is not None and abs(own - aim) >= SAME_M:
            text += f", {abs(own - aim):.0f} m {'earlier' if own > aim else 'later'}"
        details.append(f"{text}.")
    known = [value for value in values.values() if value is not None]
    if len(known) > 1:
        details += _beside(asked, values, [quickest.lap], quickest)
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
        value = _middle({one.lap: asked.read(drive, one) for one in passes})
        if value is not None:
            found[name] = (value, quickest_of(passes).lap)
    return found


def _everywhere(drive: Drive, asked: Measure, laps: Sequence[int]) -> Found:
    """A measure of every corner, on its quickest pass or on a lap."""
    found = _of_all(drive, asked, laps)
    if not found:
        return Found(TOOL, f"No pass has a number for the {asked.label}.", empty=True)
    told = [f"{name} {_place(asked, value)}" for name, (value, _) in found.items()]
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
        text = f"{first} has the {most} {asked.label.removeprefix('highest ')}: {asked.text(value)}"
        basis = f"on lap {lap}" if laps else "in the middle of its passes"
        details = (f"Next come {joined(told)}.",) if told else ()
        return Found(TOOL, f"{text} {basis}.", details, _facts_of(asked, found))
    summary = f"Your {word} corner is {first}: {asked.text(value)} at its slowest point on {whose}."
    next_ones = [f"{name} with {asked.text(found[name][0])}" for name in rest[:2]]
    details = (f"Next come {joined(next_ones)}.",) if next_ones else ()
    return Found(TOOL, summary, details, _facts_of(asked, found))


def spread(drive: Drive, topic: Topic) -> Found:
    """How repeatable one corner is."""
    passes = passes_of(drive)
    name = topic.corners[0]
    if name not in passes:
        return Found(TOOL, no_corner(passes), empty=True)
    seconds = [one.corner_time_s for one in passes[name]]
    if len(seconds) < 2:
        return Found(TOOL, f"One pass of {name} cannot be repeatable; drive a second.", empty=True)
    found = {
        one: deviation([p.corner_time_s for p in all_], sample=True) or 0.0
        for one, all_ in passes.items()
        if len(all_) > 1
    }
    ranked = sorted(found, key=lambda one: -found[one])
    facts = (
        Fact(f"{name}, standard deviation", found[name], "s", 3),
        Fact(f"{name}, shortest time", min(seconds), "s", 2),
        Fact(f"{name}, longest time", max(seconds), "s", 2),
    )
    summary = (
        f"Your {len(seconds)} passes of {name} have a standard deviation of {found[name]:.2f} s:"
        f" they took {min(seconds):.2f} to {max(seconds):.2f} s."
    )
    rank = ranked.index(name) + 1
    beside = f"Of {len(ranked)} corners {rank - 1} var{'ies' if rank == 2 else 'y'} more"
    if rank == 1:
        beside = "No corner varies more"
    elif rank == len(ranked):
        beside = "No corner varies less"
    return Found(TOOL, summary, (f"{beside}.",), facts)


def on_lap(drive: Drive, topic: Topic, references: References = NONE) -> Found:
    """A corner on the laps that are named, beside the pass it is compared with."""
    passes = passes_of(drive)
    name = topic.corners[0]
    if name not in passes:
        return Found(TOOL, no_corner(passes), empty=True)
    try:
        laps = [lap.number or 0 for lap in laps_of(drive, topic.laps)]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    by_lap = {one.lap: one for one in passes[name]}
    if gone := [lap for lap in laps if lap not in by_lap]:
        text = f"Lap {gone[0]} did not pass {name} whole; it was passed on {numbered(by_lap)}."
        return Found(TOOL, text, empty=True)
    own = by_lap[laps[0]]
    aim = aims(drive, references)[name]
    if len(laps) > 1:
        other = by_lap[laps[1]]
        return _two(name, own, other)
    lap = f"lap {aim.own.lap}" if aim.own is not None else "the reference lap"
    target = aim.target
    gap = own.corner_time_s - target.corner_time_s
    facts = (
        Fact(f"{name}, time on lap {own.lap}", own.corner_time_s, "s", 2),
        Fact(f"{name}, time lost", gap, "s", 2),
    )
    if aim.own is own:
        summary = (
            f"{name} took {own.corner_time_s:.2f} s on lap {own.lap}, your quickest pass there."
        )
        return Found(TOOL, summary, tuple(speeds_of(own)), facts)
    beside = f"your quickest pass, {lap}" if aim.own is not None else lap
    more = f"{abs(gap):.2f} s {'longer' if gap >= 0 else 'less'} than {beside}"
    summary = f"{name} took {own.corner_time_s:.2f} s on lap {own.lap}, {more}."
    why = why_slow(own, target, beside)
    if why and (topic.why or topic.should):
        return Found(TOOL, f"{name}: {why[0][:1].lower()}{why[0][1:]}", (summary, *why[1:]), facts)
    return Found(TOOL, summary, tuple(why), facts)


def _two(name: str, own: Pass, other: Pass) -> Found:
    gap = own.corner_time_s - other.corner_time_s
    word = "longer" if gap >= 0 else "less"
    summary = (
        f"{name} took {own.corner_time_s:.2f} s on lap {own.lap}, {abs(gap):.2f} s {word} than on"
        f" lap {other.lap}."
    )
    facts = tuple(
        Fact(f"{name}, time on lap {one.lap}", one.corner_time_s, "s", 2) for one in (own, other)
    )
    slow, quick = (own, other) if gap >= 0 else (other, own)
    return Found(TOOL, summary, tuple(why_slow(slow, quick, f"lap {quick.lap}")), facts)
