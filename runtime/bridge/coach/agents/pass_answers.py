"""Single facts about how repeatable a corner is, and how it was taken on one lap; pure."""

from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import NONE, References, aims
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_said import TOOL
from runtime.bridge.coach.agents.corner_words import speeds_of, why_slow
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import no_corner, numbered
from runtime.bridge.session.stats import deviation

UNSETTLED: Final = 3
"""So many corrections in a pass hint at a car that slides."""


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


def balance(drive: Drive, topic: Topic) -> Found:
    """What the hands show of the car's balance in a corner; the slip itself is not measured."""
    passes, name = passes_of(drive), topic.corners[0]
    if name not in passes:
        return Found(TOOL, no_corner(passes), empty=True)
    counts = [one.steering_corrections for one in passes[name]]
    known = [count for count in counts if count is not None]
    tells = "Whether the front or the rear slides is not recorded"
    if not known:
        text = f"{tells}, and neither is the steering angle, whose corrections would hint at it."
        return Found(TOOL, text, empty=True)
    low, high = min(known), max(known)
    said = f"{low}" if low == high else f"{low} to {high}"
    shows = "so nothing points to it" if high < UNSETTLED else "which a sliding end would need"
    summary = (
        f"{tells}; your hands made {said} steering corrections a pass in {name}, over"
        f" {len(known)} passes, {shows}."
    )
    fact = Fact(f"{name}, most steering corrections in a pass", high)
    return Found(TOOL, summary, (), (fact,))


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
        return _two(name, own, other, danger=name in dangers(drive))
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
    why = why_slow(own, target, beside, danger=name in dangers(drive))
    if why and (topic.why or topic.should):
        return Found(TOOL, f"{name}: {why[0][:1].lower()}{why[0][1:]}", (summary, *why[1:]), facts)
    return Found(TOOL, summary, tuple(why), facts)


def _two(name: str, own: Pass, other: Pass, *, danger: bool) -> Found:
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
    why = why_slow(slow, quick, f"lap {quick.lap}", danger=danger)
    return Found(TOOL, summary, tuple(why), facts)
