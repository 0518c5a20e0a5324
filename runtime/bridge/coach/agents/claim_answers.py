"""Says of what a driver holds to be so whether it is, first of all, and the number then; pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of, lost_to, slowest_of
from runtime.bridge.coach.agents.lap_tools import SAME_S
from runtime.bridge.coach.agents.measures import not_recorded
from runtime.bridge.coach.agents.pass_claims import CORNERS, holds
from runtime.bridge.coach.agents.pass_habits import TOOL, verdict
from runtime.bridge.coach.agents.sector_answers import times_of
from runtime.bridge.coach.agents.series_answers import place_of
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import no_corner
from runtime.bridge.session.ranking import time_text
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH


def claim(drive: Drive, topic: Topic, references: References = NONE) -> Found:
    """Whether it is so, in the first word, with the number that was measured."""
    if topic.corners:
        passes = passes_of(drive)
        if any(name not in passes for name in topic.corners):
            return Found(TOOL, no_corner(passes), empty=True)
        if any(not passes[name] for name in topic.corners):
            text = f"{topic.corners[0]} was not driven whole on any complete lap."
            return Found(TOOL, text, empty=True)
    try:
        found = CHECKS[topic.what](drive, topic, references)
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    apart = topic.every == "never" and topic.what in ("measure", "speed", "peak")
    denied = topic.every == "not" or (topic.every == "never" and not apart)
    return replace(found, summary=_turned(found.summary)) if denied else found


def _turned(text: str) -> str:
    """The verdict on the opposite."""
    for word, other in (("Yes: ", "No: "), ("No: ", "Yes: ")):
        if text.startswith(word):
            return f"{other}{text.removeprefix(word)}"
    return text


def _lap_time(drive: Drive, topic: Topic, _: References) -> Found:
    laps = {lap.number: lap.duration_s for lap in drive.counted}
    facts = tuple(Fact(f"lap {number}", time, "lap") for number, time in laps.items())
    best, named = drive.best, laps_of(drive, topic.laps[:1])
    if topic.every == "all":
        own = [number for number, time in laps.items() if holds(time, topic)]
        claimed = time_text(topic.value or 0.0)
        ends = f"your times lie between {time_text(min(laps.values()))} and"
        n = f"{len(own) or 'none'} of your {len(laps)} laps"
        text = f"{n} {'are' if len(own) != 1 else 'is'} {topic.how} {claimed}; {ends}"
        if topic.how == "equal":
            text = f"{n} took {claimed[: -(3 - topic.digits)] if topic.digits < 3 else claimed}"
            text = f"{text.removesuffix('.')}; {ends}"
        text += f" {time_text(max(laps.values()))}"
        return Found(TOOL, verdict(len(own) == len(laps), f"{text}."), (), facts)
    lap = named[0] if named else best
    if not named and topic.how == "over":
        lap = slowest_of(drive)
    if not named and topic.how == "equal":
        lap = next((one for one in drive.counted if holds(one.duration_s, topic)), best)
    so = holds(lap.duration_s, topic)
    which = "your best lap was" if lap is best else "your slowest lap was"
    if lap not in (best, slowest_of(drive)) or (named and isinstance(topic.laps[0], int)):
        which = "that was"
    text = f"{which} lap {lap.number} in {time_text(lap.duration_s)}"
    gap = lap.duration_s - (topic.value or 0.0)
    if not (so and topic.how == "equal"):
        side = "slower" if gap > 0 else "faster"
        text += f", {abs(gap):.3f} s {side} than {time_text(topic.value or 0.0)}"
    return Found(TOOL, verdict(so, f"{text}."), (), facts)


def _lap_count(drive: Drive, topic: Topic, _: References) -> Found:
    n = len(drive.counted)
    text = f"you drove {n} complete lap{'s' if n != 1 else ''}."
    so = holds(float(n), topic) if topic.how else n == topic.value
    return Found(TOOL, verdict(so, text), (), (Fact("complete laps", n),))


def _two_laps(drive: Drive, topic: Topic, _: References) -> Found:
    """Two laps beside each other: whole, in a corner or in a sector."""
    one, other = laps_of(drive, topic.laps[:2])
    where, own, its = "", one.duration_s, other.duration_s
    details: tuple[str, ...] = ()
    if topic.corners:
        name = topic.corners[0]
        times = {each.lap: each.corner_time_s for each in passes_of(drive)[name]}
        if one.number not in times or other.number not in times:
            raise Missing(f"{name} was not passed whole on both laps.")
        where, own, its = f" in {name}", times[one.number], times[other.number]
    elif topic.sectors:
        where, own, its = _in_sector(drive, topic.sectors[0], one.number, other.number)
    else:
        slow, quick = (one, other) if own > its else (other, one)
        details = tuple(lost_to(drive, slow, quick)[:2]) if slow is not quick else ()
    gap = own - its
    so = gap > SAME_S if topic.how == "slower" else gap < -SAME_S
    pair = f"{time_text(own)} to {time_text(its)}"
    if where:
        pair = f"{own:.2f} s to {its:.2f} s"
    word = "slower" if gap > 0 else "faster"
    digits = 2 if where else 3
    text = f"lap {one.number} was {abs(gap):.{digits}f} s {word}{where} than lap {other.number}"
    if abs(gap) <= SAME_S:
        text = f"lap {one.number} was as fast{where} as lap {other.number}"
    facts = (
        Fact(f"lap {one.number}{where}", own, "s", 3),
        Fact(f"lap {other.number}{where}", its, "s", 3),
    )
    return Found(TOOL, verdict(so, f"{text}, {pair}."), details, facts)


def _in_sector(
    drive: Drive, number: int, one: int | None, other: int | None
) -> tuple[str, float, float]:
    found = times_of(drive, number)
    if one not in found or other not in found:
        raise Missing(f"Sector {number} has no time on both laps.")
    return f" in sector {number}", found[one or 0], found[other or 0]


class _End(NamedTuple):
    """The highest, or the lowest, that a channel was in complete laps."""

    value: float
    frame: int
    laps: Mapping[int, float]
    """The same of each lap."""


def _end(drive: Drive, topic: Topic, values: Numbers, *, least: bool) -> _End | None:
    named = laps_of(drive, topic.laps[:1])
    numbers = [one.number or 0 for one in (named or drive.counted)]
    known = np.flatnonzero(np.isin(drive.lap_of, numbers) & ~np.isnan(values))
    if not len(known):
        return None
    frame = int(known[values[known].argmin() if least else values[known].argmax()])
    of_lap = {lap: values[known[drive.lap_of[known] == lap]] for lap in numbers}
    laps = {
        lap: float(own.min() if least else own.max()) for lap, own in of_lap.items() if len(own)
    }
    return _End(float(values[frame]), frame, laps)


def _told(drive: Drive, one: _End, topic: Topic, named: str, unit: str) -> Found:
    """Whether it was so anywhere, or on every lap."""
    so = holds(one.value, topic)
    place, lap = place_of(drive, one.frame), int(drive.lap_of[one.frame])
    at = f"{place} on lap {lap}" if place else f"on lap {lap}"
    text = f"your {named} in a complete lap was {one.value:.1f} {unit}, {at}."
    facts = (Fact(named, one.value, unit),)
    if topic.spot == "lap" and not topic.laps and topic.every == "all":
        own = [lap for lap, value in one.laps.items() if holds(value, topic)]
        low, high = min(one.laps.values()), max(one.laps.values())
        text = (
            f"so it was on {len(own)} of your {len(one.laps)} laps; your {named} of a lap lay"
            f" between {low:.1f} and {high:.1f} {unit}."
        )
        return Found(TOOL, verdict(len(own) == len(one.laps), text), (), facts)
    return Found(TOOL, verdict(not so if topic.every == "never" else so, text), (), facts)


def _speed(drive: Drive, topic: Topic, _: References) -> Found:
    """Whether a speed was reached, anywhere, on a lap or on all of them."""
    always = topic.every == "all" and topic.spot != "lap"
    least = (topic.how == "under") != always and topic.how in ("under", "over")
    least = least and topic.spot != "lap"
    found = _end(drive, topic, drive.series["speed_ms"] * KMH, least=least)
    if found is None:
        return Found(TOOL, not_recorded("speed_ms"), empty=True)
    return _told(drive, found, topic, f"{'lowest' if least else 'highest'} speed", "km/h")


def _peak(drive: Drive, topic: Topic, _: References) -> Found:
    """Whether the brake was pressed so hard."""
    found = _end(drive, topic, drive.series["brake_bar"], least=False)
    if found is None:
        return Found(TOOL, not_recorded("brake_bar"), empty=True)
    spot = "lap" if topic.every == "all" else ""
    return _told(drive, found, replace(topic, spot=spot), "highest brake pressure", "bar")


Check = Callable[[Drive, Topic, References], Found]
CHECKS: Final[Mapping[str, Check]] = {
    "time": _lap_time,
    "count": _lap_count,
    "laps": _two_laps,
    "speed": _speed,
    "peak": _peak,
    **CORNERS,
}
"""By what is held to be so."""
