"""How often, how long and what share of a lap: counted and summed from the frames; pure."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of
from runtime.bridge.coach.agents.measures import not_recorded
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, listed, no_corner
from runtime.bridge.session.definitions import (
    BRAKING_BAR,
    CLOSED_PCT,
    FULL_PCT,
    POWER_PCT,
    QUANTITIES,
    RELEASED_BAR,
    find_lifts,
    find_missing,
    is_brake_told,
    is_coasting,
    is_full_throttle,
    is_on_brake,
    is_told,
    list_brakings,
)
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Samples
from runtime.bridge.session.series import Flags
from runtime.bridge.session.units import KMH

TOOL: Final = "amount_facts"
LISTED: Final = 12
"""Laps that are told one by one; of more the ends."""


class _State(NamedTuple):
    """Something that a driver does for a while."""

    quantities: tuple[str, ...]
    does: str
    """Behind *you*, with what counts as it."""
    on: Callable[[Drive], Flags]


_STATES: Final[Mapping[str, _State]] = {
    "brake": _State(
        ("brake",),
        f"were on the brake ({RELEASED_BAR:g} bar or more)",
        lambda drive: is_on_brake(drive.series),
    ),
    "full": _State(
        ("throttle",),
        f"were at full throttle ({FULL_PCT:g} % or more)",
        lambda drive: is_full_throttle(drive.series),
    ),
    "throttle": _State(
        ("throttle",),
        f"were on the throttle ({CLOSED_PCT:g} % or more)",
        lambda drive: drive.series["throttle_pct"] >= CLOSED_PCT,
    ),
    "coast": _State(
        ("throttle", "brake", "speed"),
        f"coasted (brake off, throttle under {CLOSED_PCT:g} %)",
        lambda drive: is_coasting(drive.series),
    ),
}


class _Event(NamedTuple):
    """Something that happens several times a lap."""

    channel: str
    does: str
    basis: str
    at: Callable[[Drive], Indices]


_EVENTS: Final[Mapping[str, _Event]] = {
    "brakings": _Event(
        "brake_bar",
        "braked",
        f"{BRAKING_BAR:g} bar or more, counted anew once the brake was off",
        lambda drive: list_brakings(drive.series).begins,
    ),
    "lifts": _Event(
        "throttle_pct",
        "lifted",
        f"from {POWER_PCT:g} % of throttle or more to under {CLOSED_PCT:g} %",
        lambda drive: find_lifts(drive.series),
    ),
}


def amount(drive: Drive, topic: Topic) -> Found:
    """What is asked for, of one lap, or lap by lap with the middle of all."""
    try:
        laps = [lap.number or 0 for lap in laps_of(drive, topic.laps[:1])]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if topic.what == "speed":
        return _speed(drive, topic, laps)
    if topic.what.endswith("_corners"):
        return _in_corners(drive, topic.what.removesuffix("_corners"), laps)
    if topic.what in _EVENTS:
        return _events(drive, _EVENTS[topic.what], topic, laps)
    if topic.corners:
        return Found(TOOL, "Ask for one corner with its coasting time or its braking.", empty=True)
    return _share(drive, _STATES[topic.what], topic, laps)


def _recorded(drive: Drive, channel: str) -> bool:
    return not bool(np.isnan(drive.series[channel]).all())


def _where(drive: Drive, topic: Topic) -> tuple[Flags, str]:
    """The frames of the straight or sector that is named. Raises `Missing`."""
    mask: Flags = np.ones(len(drive.series), dtype=bool)
    p, length = drive.progress.p, drive.length_m
    for name in topic.straights[:1]:
        for one in drive.straights:
            if one.name == name:
                return (p - one.start_m) % length <= (
                    one.end_m - one.start_m
                ) % length, f" on {name}"
    for number in topic.sectors[:1]:
        if number <= len(drive.sectors):
            span = drive.sectors[number - 1]
            return (p >= span.start_m) & (p < span.end_m), f" in sector {number}"
    return mask, ""


def _share(drive: Drive, state: _State, topic: Topic, laps: Sequence[int]) -> Found:
    """Seconds and share of the time, of a lap or in the middle of all."""
    if missing := find_missing(drive.series, state.quantities):
        return Found(TOOL, not_recorded(QUANTITIES[missing[0]][0]), empty=True)
    mask, where = _where(drive, topic)
    if "brake" in state.quantities:
        mask = mask & is_brake_told(drive.series)
    if "throttle" in state.quantities:
        mask = mask & is_told(drive.series, "throttle_pct")
    on, weight = state.on(drive) & mask, drive.series.weight
    numbers = list(laps) or [lap.number or 0 for lap in drive.counted]
    spent, whole = {}, {}
    for lap in numbers:
        inside = drive.lap_of == lap
        spent[lap] = float(weight[on & inside].sum())
        whole[lap] = float(weight[mask & inside].sum())
    share = {lap: 100.0 * spent[lap] / whole[lap] for lap in numbers if whole[lap] > 0}
    facts = tuple(
        fact
        for lap in share
        for fact in (
            Fact(f"lap {lap}, time in which you {state.does}{where}", spent[lap], "s"),
            Fact(f"lap {lap}, share of it", share[lap], "%"),
        )
    )
    if not share:
        return Found(TOOL, f"Nothing was recorded{where}.", empty=True)
    of = "the lap" if not where else f"your time{where}"
    if len(share) == 1:
        lap = next(iter(share))
        text = (
            f"On lap {lap} you {state.does}{where} for {spent[lap]:.1f} s, {share[lap]:.1f} %"
            f" of {of}."
        )
        return Found(TOOL, text, (), facts)
    summary = (
        f"You {state.does}{where} for {median(spent[lap] for lap in share):.1f} s a lap,"
        f" {median(share.values()):.1f} % of {of}, in the middle of {len(share)} laps."
    )
    told = [f"{spent[lap]:.1f} s ({share[lap]:.1f} %) on lap {lap}" for lap in share]
    return Found(TOOL, summary, (f"Lap by lap: {listed(told, LISTED)}.",), facts)


def _events(drive: Drive, event: _Event, topic: Topic, laps: Sequence[int]) -> Found:
    """How often, of a lap or lap by lap."""
    if not _recorded(drive, event.channel):
        return Found(TOOL, not_recorded(event.channel), empty=True)
    frames = event.at(drive)
    if topic.corners:
        return _at_corner(drive, event, topic.corners[0], frames, laps)
    mask, where = _where(drive, topic)
    frames = frames[mask[frames]]
    counts = {
        lap.number or 0: int((drive.lap_of[frames] == lap.number).sum()) for lap in drive.counted
    }
    return _counted(counts, laps, f"{event.does}{where}", event.basis)


def _counted(counts: Mapping[int, int], laps: Sequence[int], does: str, basis: str) -> Found:
    facts = tuple(Fact(f"lap {lap}, times you {does}", n) for lap, n in counts.items())
    behind = f" ({basis})"
    if laps or len(counts) == 1:
        lap = laps[0] if laps else next(iter(counts))
        return Found(TOOL, f"On lap {lap} you {does} {_times(counts[lap])}{behind}.", (), facts)
    if not any(counts.values()):
        text = f"You {does} on none of {len(counts)} laps{behind}."
        return Found(TOOL, text, (), facts)
    if len(set(counts.values())) == 1:
        text = f"You {does} {_times(next(iter(counts.values())))} on every lap{behind}."
        return Found(TOOL, text, (), facts)
    total, middle = sum(counts.values()), median(counts.values())
    text = f"You {does} {middle:g} times a lap in the middle of {len(counts)} laps{behind}."
    told = [f"{_times(n)} on lap {lap}" for lap, n in counts.items()]
    return Found(TOOL, text, (f"In all {total}: {listed(told, LISTED)}.",), facts)


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _at_corner(
    drive: Drive, event: _Event, name: str, frames: Indices, laps: Sequence[int]
) -> Found:
    """How often from the approach of a corner to its exit."""
    passes = passes_of(drive)
    if name not in passes:
        return Found(TOOL, no_corner(passes), empty=True)
    counts = {
        one.lap: int(((frames >= one.approach) & (frames < one.last)).sum()) for one in passes[name]
    }
    if not counts or (laps and laps[0] not in counts):
        return Found(TOOL, f"{name} was not driven whole on that lap.", empty=True)
    return _counted(counts, laps, f"{event.does} for {name}", event.basis)


def _in_corners(drive: Drive, what: str, laps: Sequence[int]) -> Found:
    """For how many corners the brake or the lift is used, on a lap or on most passes."""
    event = _EVENTS["brakings" if what == "brak" else "lifts"]
    if not _recorded(drive, event.channel):
        return Found(TOOL, not_recorded(event.channel), empty=True)
    frames, passes, own = event.at(drive), passes_of(drive), []
    for name, all_ in passes.items():
        chosen = [one for one in all_ if not laps or one.lap in laps]
        does = [bool(((frames >= one.approach) & (frames < one.last)).any()) for one in chosen]
        if what == "brak":
            does = [one.brake_point_m is not None for one in chosen]
        if chosen and 2 * sum(does) > len(does):
            own.append(name)
    basis = f"on lap {laps[0]}" if laps else "on most of your passes"
    word = "brake" if what == "brak" else "lift"
    text = f"You {word} for {len(own)} of {len(passes)} corners, {basis}."
    without = [name for name in passes if name not in own]
    details = (f"You do not for {joined(without)}.",) if own and without else ()
    return Found(TOOL, text, details, (Fact(f"corners you {word} for", len(own)),))


def _speed(drive: Drive, topic: Topic, laps: Sequence[int]) -> Found:
    """How often and how long a speed was exceeded, or not reached."""
    speed, limit = drive.series["speed_ms"] * KMH, topic.value or 0.0
    if bool(np.isnan(speed).all()):
        return Found(TOOL, not_recorded("speed_ms"), empty=True)
    numbers = list(laps) or [lap.number or 0 for lap in drive.counted]
    on = (speed < limit if topic.how == "under" else speed > limit) & np.isin(drive.lap_of, numbers)
    known = np.flatnonzero(~np.isnan(speed) & np.isin(drive.lap_of, numbers))
    begun = int(on[known][:1].sum() + (on[known][1:] & ~on[known][:-1]).sum())
    seconds = float(drive.series.weight[on].sum())
    whole = float(drive.series.weight[np.isin(drive.lap_of, numbers)].sum())
    side = "below" if topic.how == "under" else "above"
    where = f"on lap {laps[0]}" if laps else f"in your {len(numbers)} complete laps"
    facts = (
        Fact(f"times {side} {limit:g} km/h", begun),
        Fact(f"time {side} {limit:g} km/h", seconds, "s"),
    )
    if not begun:
        edge = float(np.nanmin(speed[known]) if topic.how == "under" else np.nanmax(speed[known]))
        ends = "lowest" if topic.how == "under" else "highest"
        text = f"Never {where}: your {ends} speed there was {edge:.1f} km/h."
        return Found(TOOL, text, (), facts)
    text = (
        f"You went {side} {limit:g} km/h {_times(begun)} {where}, for {seconds:.1f} s in all,"
        f" {100.0 * seconds / whole:.1f} % of the time."
    )
    return Found(TOOL, text, (), facts)


def corrections(drive: Drive, topic: Topic) -> Found:
    """How often the steering was corrected, in a corner or on a lap."""
    try:
        laps = [lap.number or 0 for lap in laps_of(drive, topic.laps[:1])]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if not _recorded(drive, "steering_deg"):
        return Found(TOOL, not_recorded("steering_deg"), empty=True)
    passes = passes_of(drive)
    if any(name not in passes for name in topic.corners):
        return Found(TOOL, no_corner(passes), empty=True)
    counts: dict[int, int] = {}
    for name, all_ in passes.items():
        for one in all_ if not topic.corners or name in topic.corners else ():
            counts[one.lap] = counts.get(one.lap, 0) + (one.steering_corrections or 0)
    if not counts or (laps and laps[0] not in counts):
        return Found(TOOL, "No pass of it was driven whole there.", empty=True)
    where = f" in {topic.corners[0]}" if topic.corners else " in the corners"
    basis = "changes of the steering's side, 3 degrees or more on both"
    return _counted(counts, laps, f"corrected the steering{where}", basis)


def gear_changes(drive: Drive, topic: Topic, gears: Samples) -> Found:
    """How often the gear changed on each lap."""
    try:
        laps = [lap.number or 0 for lap in laps_of(drive, topic.laps[:1])]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    order = np.argsort(gears.t, kind="stable")
    t, value = gears.t[order], gears.value[order]
    known = np.flatnonzero(np.isfinite(value) & (value >= 1))
    t, value = t[known], value[known]
    changed = t[1:][np.diff(value) != 0]
    counts = {
        lap.number or 0: int(((changed >= lap.t_start) & (changed < lap.t_end)).sum())
        for lap in drive.counted
    }
    return _counted(counts, laps, "changed gear", "steps of the recorded gear, neutral left out")
