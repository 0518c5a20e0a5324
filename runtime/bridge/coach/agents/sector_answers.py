"""Single facts about sectors; pure."""

from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.laps import Part, parts, sector_table, times
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of, where
from runtime.bridge.coach.agents.lap_tools import SAME_S
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined

TOOL: Final = "sector_facts"


class _Sector(NamedTuple):
    """A sector over the session."""

    name: str
    """With its number."""
    best_s: float
    best_lap: int
    usual_s: float
    """The middle of all laps."""
    by_lap: dict[int, float]

    @property
    def lost_s(self) -> float:
        """How much longer the usual time is than the best."""
        return self.usual_s - self.best_s


def _sectors(drive: Drive) -> dict[int, _Sector]:
    """The sectors with a time, by their number from 1."""
    found = {}
    for at, span in enumerate(drive.sectors):
        by_lap = {
            lap.number or 0: seconds
            for lap, row in zip(drive.counted, sector_table(drive), strict=True)
            if (seconds := row[at]) is not None
        }
        if not by_lap:
            continue
        best = min(by_lap, key=lambda lap: (by_lap[lap], lap))
        name = f"Sector {at + 1}"
        named = name if span.name == name else f"{name} ({span.name})"
        usual = median(by_lap.values())
        found[at + 1] = _Sector(named, by_lap[best], best, usual, by_lap)
    return found


def times_of(drive: Drive, number: int) -> dict[int, float]:
    """The times of a sector by lap; empty where it has none."""
    found = _sectors(drive)
    return found[number].by_lap if number in found else {}


def sector_fact(drive: Drive, topic: Topic) -> Found:
    """How one sector was driven, on a lap or over the session."""
    found = _sectors(drive)
    number = topic.sectors[0]
    if number not in found:
        have = joined([one.name for one in found.values()]) if found else "none with a time"
        return Found(TOOL, f"There is no sector {number}; the lap has {have}.", empty=True)
    one = found[number]
    try:
        laps = laps_of(drive, topic.laps)
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    facts = [
        Fact(f"{one.name}, best", one.best_s, "s", 3),
        Fact(f"{one.name}, usual", one.usual_s, "s", 3),
    ]
    facts += [
        Fact(f"{one.name}, lap {lap}", seconds, "s", 3) for lap, seconds in one.by_lap.items()
    ]
    if laps:
        told = [_on_lap(one, lap.number or 0) for lap in laps]
        return Found(
            TOOL, " ".join(told), tuple(_inside(drive, number, laps[0].number)), tuple(facts)
        )
    if topic.what == "lap":
        summary = f"Lap {one.best_lap} had your best {one.name}: {one.best_s:.3f} s."
        return Found(TOOL, summary, (f"As a rule it takes {one.usual_s:.3f} s.",), tuple(facts))
    if topic.what == "best":
        summary = f"Your best {one.name} is {one.best_s:.3f} s, on lap {one.best_lap}."
        return Found(TOOL, summary, (f"As a rule it takes {one.usual_s:.3f} s.",), tuple(facts))
    if topic.what == "worst":
        lap = max(one.by_lap, key=lambda each: one.by_lap[each])
        summary = f"Your slowest {one.name} is {one.by_lap[lap]:.3f} s, on lap {lap}."
        best = f"Your best there is {one.best_s:.3f} s, on lap {one.best_lap}."
        return Found(TOOL, summary, (best,), tuple(facts))
    if len(one.by_lap) == 1:
        summary = f"{one.name} took {one.best_s:.3f} s, on your only lap with a time there."
        return Found(TOOL, summary, (), tuple(facts))
    summary = (
        f"{one.name} took {one.usual_s:.3f} s as a rule, {one.lost_s:.3f} s over your best there,"
        f" {one.best_s:.3f} s on lap {one.best_lap}."
    )
    most = max(found.values(), key=lambda each: each.lost_s)
    rank = sorted(found, key=lambda n: -found[n].lost_s).index(number) + 1
    if most is one:
        details = ["It is the sector that costs you most."]
    else:
        place = "second" if rank < len(found) else "third"
        details = [f"It comes {place} of the sectors by what it costs, after {most.name}."]
    return Found(TOOL, summary, (*details, *_inside(drive, number, None)), tuple(facts))


def _on_lap(one: _Sector, lap: int) -> str:
    if lap not in one.by_lap:
        return f"{one.name} has no time on lap {lap}, because recording paused in it."
    own = one.by_lap[lap]
    if lap == one.best_lap:
        return f"{one.name} took {own:.3f} s on lap {lap}, your best there."
    more = own - one.best_s
    return (
        f"{one.name} took {own:.3f} s on lap {lap}, {more:.3f} s over your best there,"
        f" on lap {one.best_lap}."
    )


def _inside(drive: Drive, number: int, lap: int | None) -> list[str]:
    """What part of a sector costs most: on a lap or usually, against the best sector's lap."""
    span, best = drive.sectors[number - 1], _sectors(drive)[number]
    inner = [
        part
        for part in parts(drive)
        if span.start_m <= (part.span.start_m + part.span.end_m) / 2 < span.end_m
    ]
    if not inner or lap == best.best_lap:
        return []
    spans = tuple(part.span for part in parts(drive))
    rows = dict(zip((one.number for one in drive.counted), times(drive, spans), strict=True))
    lost = [(_more(part, parts(drive), rows, best.best_lap, lap), part) for part in inner]
    most, part = max(lost, key=lambda pair: pair[0])
    if most < 10 * SAME_S:
        return []
    spot = where(part.span.name)
    if part.corner is None:  # what is lost on a straight is mostly lost in the corner before it
        at = parts(drive).index(part)
        spot += f", behind {parts(drive)[at - 1].span.name}"
    whose = f"lap {lap} took" if lap is not None else "the middle of your laps took"
    return [f"Against lap {best.best_lap} {whose} most {spot}: {most:.2f} s longer."]


def _more(
    part: Part,
    whole: tuple[Part, ...],
    rows: dict[int | None, tuple[float | None, ...]],
    best: int,
    lap: int | None,
) -> float:
    """How much longer a part took than on the lap *best*."""
    at = whole.index(part)
    base = rows[best][at]
    own = [row[at] for number, row in rows.items() if lap is None or number == lap]
    there = [one for one in own if one is not None]
    return median(there) - base if there and base is not None else 0.0


def sector_rank(drive: Drive, topic: Topic) -> Found:
    """Which sector costs most, or least; without either, what each takes."""
    found = _sectors(drive)
    if not found:
        return Found(TOOL, "No sector has a time in this session.", empty=True)
    try:
        laps = laps_of(drive, topic.laps[:2])
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if len(laps) > 1 and laps[0] is not laps[1]:
        return _both(found, laps[0].number or 0, laps[1].number or 0)
    facts = tuple(
        fact
        for one in found.values()
        for fact in (
            Fact(f"{one.name}, best", one.best_s, "s", 3),
            Fact(f"{one.name}, usual", one.usual_s, "s", 3),
            Fact(f"{one.name}, usual less best", one.lost_s, "s", 3),
        )
    )
    if laps:
        return _ranked_on(found, laps[0].number or 0, topic.how, facts)
    if not topic.how:
        told = [f"{one.name} {one.best_s:.3f} s on lap {one.best_lap}" for one in found.values()]
        return Found(TOOL, f"Your best sector times are {joined(told)}.", (), facts)
    if len(drive.counted) == 1:
        return Found(TOOL, "With one lap no sector can be compared; drive a second.", empty=True)
    ranked = sorted(found.values(), key=lambda one: -one.lost_s)
    told = [f"{one.name} with {one.lost_s:.3f} s" for one in ranked]
    if topic.how == "most":
        one = ranked[-1]
        summary = (
            f"{one.name} is your best: your usual time there is {one.lost_s:.3f} s over your best."
        )
        return Found(TOOL, summary, (f"The others cost more: {joined(told[:-1])}.",), facts)
    one = ranked[0]
    summary = (
        f"{one.name} costs you most: your usual {one.usual_s:.3f} s is {one.lost_s:.3f} s over your"
        f" best there, on lap {one.best_lap}."
    )
    return Found(TOOL, summary, (f"Behind it come {joined(told[1:])}.",) if told[1:] else (), facts)


def _both(found: dict[int, _Sector], lap: int, other: int) -> Found:
    """The sectors of two laps side by side."""
    pairs = {
        one.name: (one.by_lap[lap], one.by_lap[other])
        for one in found.values()
        if lap in one.by_lap and other in one.by_lap
    }
    if not pairs:
        return Found(TOOL, f"No sector has a time on both lap {lap} and lap {other}.", empty=True)
    told = [f"{name} {a:.3f} s and {b:.3f} s ({a - b:+.3f} s)" for name, (a, b) in pairs.items()]
    facts = tuple(
        fact
        for name, (a, b) in pairs.items()
        for fact in (
            Fact(f"{name}, lap {lap}", a, "s", 3),
            Fact(f"{name}, lap {other}", b, "s", 3),
            Fact(f"{name}, lap {lap} less lap {other}", a - b, "s", 3),
        )
    )
    return Found(TOOL, f"Lap {lap} and lap {other} by sectors: {joined(told)}.", (), facts)


def _ranked_on(found: dict[int, _Sector], lap: int, how: str, facts: tuple[Fact, ...]) -> Found:
    """The sectors of one lap, each beside the best time there."""
    own = {one.name: one.by_lap[lap] - one.best_s for one in found.values() if lap in one.by_lap}
    if not own:
        return Found(TOOL, f"No sector has a time on lap {lap}.", empty=True)
    ranked = sorted(own, key=lambda name: -own[name])
    if not how:
        told = [
            f"{one.name} {one.by_lap[lap]:.3f} s" for one in found.values() if lap in one.by_lap
        ]
        return Found(TOOL, f"The sectors of lap {lap} are {joined(told)}.", (), facts)
    name = ranked[0] if how == "least" else ranked[-1]
    word = "costs most" if how == "least" else "is the best"
    more = [Fact(f"{each}, lap {lap} less best", own[each], "s", 3) for each in ranked]
    rest = [f"{each} with {own[each]:.3f} s" for each in ranked if each != name]
    summary = f"On lap {lap} {name} {word}: {own[name]:.3f} s over your best there."
    return Found(TOOL, summary, (f"The others: {joined(rest)}.",) if rest else (), (*facts, *more))
