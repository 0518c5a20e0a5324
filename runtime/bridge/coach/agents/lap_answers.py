"""Single facts about laps: which was best, what one lost, what a usual one takes; pure."""

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.laps import ideal_lap, parts, times
from runtime.bridge.coach.agents.asked import Lap, Topic
from runtime.bridge.coach.agents.lap_tools import LEAST_PART_S, SAME_S, lap_delta
from runtime.bridge.coach.agents.values import Cell, Fact, Found
from runtime.bridge.coach.agents.words import joined, known, listed, numbered, ordinal
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.ranking import time_text

TOOL: Final = "lap_facts"
MOST_LISTED: Final = 30
MOST_TOLD: Final = 12
"""Laps that are told one by one."""


class PartLoss(NamedTuple):
    """A corner or a straight, and how much longer one lap took there than another."""

    name: str
    seconds: float

    @property
    def text(self) -> str:
        """Where and how much."""
        return f"{self.seconds:.2f} s {where(self.name)}"


def where(name: str) -> str:
    """A place of the circuit behind its preposition."""
    return f"on {name}" if "straight" in name.casefold() else f"in {name}"


class Missing(Exception):
    """A lap is asked for that there is not; the text says which there are."""


def laps_of(drive: Drive, laps: Sequence[Lap]) -> tuple[Segment, ...]:
    """The complete laps that a question names. Raises `Missing`."""
    by_number = {one.number: one for one in drive.counted}
    found = []
    for lap in laps:
        if lap == "best":
            found.append(drive.best)
        elif lap == "slowest":
            found.append(slowest_of(drive))
        elif lap == "first":
            found.append(drive.counted[0])
        elif lap == "last":
            found.append(drive.counted[-1])
        elif lap in by_number:
            found.append(by_number[lap])
        else:
            raise Missing(f"There is no complete lap {lap}; the session has {numbered(by_number)}.")
    return tuple(found)


def slowest_of(drive: Drive) -> Segment:
    """The slowest of the laps looked at, the latest of equals."""
    return max(drive.counted, key=lambda one: (one.duration_s, one.t_start))


def lap_fact(drive: Drive, topic: Topic) -> Found:
    """One lap: its time, beside the session's best."""
    try:
        (lap,) = laps_of(drive, topic.laps[:1])
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if len(drive.counted) > 1 and slowest_of(drive).duration_s - drive.best.duration_s < SAME_S:
        return _level(drive)
    if lap is drive.best:
        return _best(drive, lap, named=topic.laps[0] != "best")
    gap = lap.duration_s - drive.best.duration_s
    rank = 1 + sum(1 for one in drive.counted if one.duration_s < lap.duration_s - SAME_S)
    beside = f"{gap:.3f} s slower than your best, lap {drive.best.number}"
    time = time_text(lap.duration_s)
    if topic.laps[0] == "slowest":
        summary = f"Your slowest lap was lap {lap.number} in {time}, {beside}."
    elif topic.laps[0] == "last":
        summary = f"Your last complete lap, lap {lap.number}, took {time}, {beside}."
    else:
        summary = f"Lap {lap.number} took {time}, {beside}."
    details = lost_to(drive, lap, drive.best)
    if topic.laps[0] != "slowest" and not topic.why:
        details = [f"It is the {ordinal(rank)} of {len(drive.counted)} laps.", *details]
    facts = (
        Fact(f"lap {lap.number}", lap.duration_s, "lap"),
        Fact("best lap", drive.best.duration_s, "lap"),
        Fact(f"lap {lap.number} less best lap", gap, "s", 3),
        *(Fact(f"{one.name}, lost", one.seconds, "s", 2) for one in losses(drive, lap, drive.best)),
    )
    return Found(TOOL, summary, tuple(details[:2]), facts, known=lap_rows(drive))


def lap_rows(drive: Drive) -> tuple[dict[str, Cell], ...]:
    """The lap times as analytics name them."""
    return tuple({"lap": lap.number, "lap_time_s": lap.duration_s} for lap in drive.counted)


def _level(drive: Drive) -> Found:
    """What is said where all laps took the same time."""
    time = drive.best.duration_s
    summary = (
        f"All your {len(drive.counted)} laps took {time_text(time)}: none is faster or slower."
    )
    return Found(TOOL, summary, (), (Fact("best lap", time, "lap"),))


def _best(drive: Drive, lap: Segment, *, named: bool) -> Found:
    time = time_text(lap.duration_s)
    facts = [Fact("best lap", lap.duration_s, "lap"), Fact("best lap, number", lap.number or 0)]
    others = sorted((one for one in drive.counted if one is not lap), key=lambda o: o.duration_s)
    if not others:
        return Found(TOOL, f"Your best lap was {time}, your only complete one.", (), tuple(facts))
    second, slow = others[0], others[-1]
    gap = second.duration_s - lap.duration_s
    facts.append(Fact("lead over the next best", gap, "s", 3))
    lead = f"{gap:.3f} s faster than the next best, lap {second.number}"
    if gap < SAME_S:
        lead = f"level with lap {second.number}"
    summary = f"Your best lap was lap {lap.number} in {time}, {lead}."
    if named:
        summary = f"Lap {lap.number} took {time}, your best: {lead}."
    details = []
    if slow is not second:
        behind = slow.duration_s - lap.duration_s
        facts.append(Fact("lead over the slowest", behind, "s", 3))
        details.append(f"Your slowest, lap {slow.number}, took {behind:.3f} s longer.")
    return Found(TOOL, summary, tuple(details), tuple(facts), known=lap_rows(drive))


def losses(drive: Drive, lap: Segment, other: Segment) -> list[PartLoss]:
    """Where *lap* took longer than *other*, the largest loss first; gains at the end."""
    spans = tuple(part.span for part in parts(drive))
    if not spans:
        return []
    rows = dict(zip((one.number for one in drive.counted), times(drive, spans), strict=True))
    found = [
        PartLoss(span.name, own - best)
        for span, own, best in zip(spans, rows[lap.number], rows[other.number], strict=True)
        if own is not None and best is not None
    ]
    return sorted(found, key=lambda one: -one.seconds)


def lost_to(drive: Drive, lap: Segment, other: Segment) -> list[str]:
    """Where most of the difference went, in a sentence or two."""
    found = losses(drive, lap, other)
    lost = [one for one in found if one.seconds >= LEAST_PART_S]
    won = [one for one in found[::-1] if one.seconds <= -LEAST_PART_S]
    told = []
    if lost:
        more = f"; next {joined([one.text for one in lost[1:3]])}" if len(lost) > 1 else ""
        told.append(
            f"Against that lap most went {where(lost[0].name)}: {lost[0].seconds:.2f} s{more}."
        )
    if won:
        told.append(f"It was {-won[0].seconds:.2f} s faster {where(won[0].name)}.")
    return told


def versus(drive: Drive, topic: Topic) -> Found:
    """Two laps beside each other; what is one lap is told as one."""
    try:
        first, second = laps_of(drive, topic.laps[:2])
    except Missing as missing:
        return Found("lap_delta", str(missing), empty=True)
    return lap_delta(drive, (first.number or 0, second.number or 0))


def usual_lap(drive: Drive, _: Topic) -> Found:
    """What a lap usually takes."""
    seconds = [one.duration_s for one in drive.counted]
    middle, mean = median(seconds), sum(seconds) / len(seconds)
    laps = f"{len(seconds)} complete lap{'s' if len(seconds) != 1 else ''}"
    facts = (Fact("middle lap", middle, "lap"), Fact("average lap", mean, "lap"))
    summary = f"Your average lap took {time_text(mean)}, over {laps}."
    details = (f"The middle one is {time_text(middle)}, the best {time_text(min(seconds))}.",)
    return Found(TOOL, summary, details, facts)


def ideal(drive: Drive, _: Topic) -> Found:
    """The lap of the best sectors, beside the best that was driven."""
    found = ideal_lap(drive).sectors
    best = drive.best
    if found.lap_s is None:
        text = "A sector has no time, because recording paused in it, so there is no ideal lap."
        return Found(TOOL, text, empty=True)
    gain = found.gain_s or 0.0
    facts = (
        Fact("lap of the best sectors", found.lap_s, "lap"),
        Fact("gain of the best sectors", gain, "s", 3),
    )
    beside = (
        f"{gain:.3f} s faster than your best lap, lap {best.number}"
        if gain >= SAME_S
        else "which is your best lap itself"
    )
    summary = f"Your best sectors together make {time_text(found.lap_s)}, {beside}."
    told = [
        f"{one.name} {one.time_s:.3f} s from lap {one.from_lap}"
        for one in found.parts
        if one.time_s is not None
    ]
    return Found(TOOL, summary, (f"They are {joined(told)}.",), facts)


def lap_count(drive: Drive, topic: Topic) -> Found:
    """How many laps count."""
    n, best = len(drive.counted), drive.best
    if topic.how == "each":
        return _listed(drive)
    if topic.value is not None:
        return _limited(drive, topic.value, under=topic.how == "least")
    summary = f"You drove {n} complete lap{'s' if n != 1 else ''}."
    details = (f"The best is lap {best.number} in {time_text(best.duration_s)}.",) if n > 1 else ()
    if n > 1 and slowest_of(drive).duration_s - best.duration_s < SAME_S:
        details = (f"All took {time_text(best.duration_s)}: none is faster or slower.",)
    more = sum(1 for one in drive.laps.segments if one.kind in ("out", "in", "partial"))
    facts = (Fact("complete laps", n), *known("pieces that are no complete lap", more, ""))
    return Found(TOOL, summary, details, facts)


def _listed(drive: Drive) -> Found:
    """Every lap time."""
    facts = [Fact(f"lap {lap.number}", lap.duration_s, "lap") for lap in drive.counted]
    told = [f"{one.text} on {one.label}" for one in facts]
    best = drive.best
    level = slowest_of(drive).duration_s - best.duration_s < SAME_S
    details = (f"The best is lap {best.number}.",) if len(facts) > 1 and not level else ()
    return Found(TOOL, f"Your lap times: {listed(told, MOST_LISTED)}.", details, tuple(facts))


def _limited(drive: Drive, limit_s: float, *, under: bool) -> Found:
    """How many laps are on one side of a time."""
    own = [lap for lap in drive.counted if (lap.duration_s < limit_s) == under]
    side = "under" if under else "not under"
    facts = (Fact(f"laps {side} {time_text(limit_s)}", len(own)),)
    limit = f"under {time_text(limit_s)}" if under else f"{time_text(limit_s)} or more"
    summary = f"{len(own)} of your {len(drive.counted)} laps took {limit}."
    them = "They are" if len(own) > 1 else "It is"
    if len(own) > MOST_TOLD:
        own.sort(key=lambda lap: lap.duration_s, reverse=not under)
        them = f"The {'fastest' if under else 'slowest'} {MOST_TOLD} of them are"
    told = [f"lap {lap.number} in {time_text(lap.duration_s)}" for lap in own[:MOST_TOLD]]
    return Found(TOOL, summary, (f"{them} {joined(told)}.",) if told else (), facts)
