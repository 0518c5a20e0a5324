"""Single facts about a channel over a session, a lap, a sector or a straight; pure."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.channels import BY_ID, Channel, unit_of
from runtime.bridge.coach.agents.corner_said import quickest_of
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of, where
from runtime.bridge.coach.agents.measures import not_recorded
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, listed, no_corner
from runtime.bridge.session.definitions import is_coasting, is_coasting_told, is_full_throttle
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Numbers, Samples
from runtime.bridge.session.series import Flags
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import inside

TOOL: Final = "channel_facts"
AHEAD_M: Final = 300.0
"""So far before a corner a place is told as in front of it."""
BRAKED: Final = frozenset({"brake_pressure", "g_brake"})
"""What happens in front of a corner."""
LISTED: Final = 12
HELD_S: Final = 2.0
"""So long a reading of a slow signal stands."""


class Quantity(NamedTuple):
    """A channel in the unit in which it is told."""

    channel: str
    name: str
    unit: str
    digits: int
    scale: float = 1.0
    size: bool = False
    """Whether its sign is only a side."""
    share: bool = False


QUANTITIES: Final = {
    "speed": Quantity("speed_ms", "speed", "km/h", 1, KMH),
    "brake_pressure": Quantity("brake_bar", "brake pressure", "bar", 1),
    "g_lat": Quantity("g_lat", "lateral acceleration", "g", 2, size=True),
    "g_total": Quantity("combo_g", "combined acceleration", "g", 2),
    "g_brake": Quantity("g_long", "deceleration", "g", 2, -1.0),
    "g_accel": Quantity("g_long", "acceleration", "g", 2),
    "rpm": Quantity("rpm", "engine speed", "1/min", 0),
    "steering": Quantity("steering_deg", "steering angle", "degrees", 0, size=True),
    "throttle": Quantity("throttle_pct", "share of full throttle", "%", 1, share=True),
    "coast": Quantity("throttle_pct", "share of coasting", "%", 1, share=True),
}


COMPUTED: Final = "No sensor measured it: it is computed from speed and positions."


def extreme(drive: Drive, topic: Topic) -> Found:
    """The highest, lowest or mean value of a channel, and where it was."""
    asked = QUANTITIES[topic.what]
    values = _values(drive, topic.what, asked)
    if bool(np.isnan(values).all()):
        return Found(TOOL, not_recorded(asked.channel), empty=True)
    try:
        laps = [] if drive.partial else [lap.number or 0 for lap in laps_of(drive, topic.laps)]
        mask = _mask(drive, topic, laps)
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if topic.how == "each" and not drive.partial:
        return _by_lap(drive, asked, values, mask)
    if len(laps) > 1:
        return _by_lap(drive, asked, values, mask, laps)
    at = _place(topic, laps)
    mean = asked.share or topic.how == "mean"
    if topic.how == "least" and not laps:
        mask = mask & (drive.lap_of > 0)  # on the way out and in everybody is slow
    chosen = np.flatnonzero(mask & ~np.isnan(values))
    if not len(chosen):
        return Found(TOOL, f"Nothing of the {asked.name} was recorded{at}.", empty=True)
    if mean:
        value = _mean(drive, values, chosen)
        label = (
            f"Your {'average ' if not asked.share else ''}{asked.name}{at or ' over the session'}"
        )
        facts = (
            Fact(
                f"{'' if asked.share else 'average '}{asked.name}{at}",
                value,
                asked.unit,
                asked.digits,
            ),
        )
        return Found(TOOL, f"{label} was {_text(asked, value)}.", (), facts)
    frame = int(
        chosen[values[chosen].argmin() if topic.how == "least" else values[chosen].argmax()]
    )
    word = "lowest" if topic.how == "least" else "highest"
    value = float(values[frame])
    named = place_of(drive, frame, approach=topic.what in BRAKED)
    lap = int(drive.lap_of[frame])
    on = "" if drive.partial or laps else f" on lap {lap}" if lap else " outside a complete lap"
    spot = f" {named}" if named and not topic.straights else ""
    behind = f",{spot}{on}" if spot or on else ""
    summary = f"Your {word} {asked.name}{at} was {_text(asked, value)}{behind}."
    facts = (Fact(f"{word} {asked.name}{at}", value, asked.unit, asked.digits),)
    others = tuple(_others(drive, asked, values, topic, laps))
    if asked.channel in drive.series.derived:
        others = (COMPUTED, *others)
    return Found(TOOL, summary, others, facts)


def _values(drive: Drive, what: str, asked: Quantity) -> Numbers:
    series = drive.series
    if what == "g_total":
        return series.combo_g
    values = series[asked.channel]
    if what == "throttle":
        return np.where(np.isnan(values), np.nan, 100.0 * is_full_throttle(series))
    if what == "coast":
        return np.where(is_coasting_told(series), 100.0 * is_coasting(series), np.nan)
    return np.abs(values) if asked.size else values * asked.scale


def _mask(drive: Drive, topic: Topic, laps: list[int]) -> Flags:
    """The frames that are asked for. Raises `Missing`."""
    mask: Flags = np.ones(len(drive.series), dtype=bool)
    if laps:
        mask &= np.isin(drive.lap_of, laps)
    p, length = drive.progress.p, drive.length_m
    for name in topic.straights[:1]:
        for one in drive.straights:
            if one.name == name:
                mask &= (p - one.start_m) % length <= (one.end_m - one.start_m) % length
    for number in topic.sectors[:1]:
        if number > len(drive.sectors):
            raise Missing(f"There is no sector {number}; the lap has {len(drive.sectors)}.")
        span = drive.sectors[number - 1]
        mask &= (p >= span.start_m) & (p < span.end_m)
    return mask


def _place(topic: Topic, laps: list[int]) -> str:
    """Of what a number is, behind its name."""
    parts = [f" {where(name)}" for name in topic.straights[:1]]
    parts += [f" in sector {number}" for number in topic.sectors[:1]]
    parts += [f" on lap {lap}" for lap in laps[:1]]
    return "".join(parts)


def _text(asked: Quantity, value: float) -> str:
    return f"{value:.{asked.digits}f} {asked.unit}"


def _mean(drive: Drive, values: Numbers, chosen: Indices) -> float:
    weight = drive.series.weight[chosen]
    total = float(weight.sum())
    return (
        float(np.dot(values[chosen], weight)) / total if total > 0 else float(values[chosen].mean())
    )


def _of_lap(drive: Drive, asked: Quantity, values: Numbers, mask: Flags, lap: int) -> float | None:
    chosen = np.flatnonzero(mask & (drive.lap_of == lap) & ~np.isnan(values))
    if not len(chosen):
        return None
    return _mean(drive, values, chosen) if asked.share else float(values[chosen].max())


def _by_lap(
    drive: Drive, asked: Quantity, values: Numbers, mask: Flags, laps: list[int] | None = None
) -> Found:
    numbers = laps or [lap.number or 0 for lap in drive.counted]
    found = {lap: _of_lap(drive, asked, values, mask, lap) for lap in numbers}
    told = [f"{_text(asked, v)} on lap {lap}" for lap, v in found.items() if v is not None]
    facts = tuple(
        Fact(f"lap {lap}, {asked.name}", v, asked.unit, asked.digits)
        for lap, v in found.items()
        if v is not None
    )
    label = f"Your {'' if asked.share else 'highest '}{asked.name}"
    return Found(TOOL, f"{label}: {listed(told, LISTED)}.", (), facts)


def _others(
    drive: Drive, asked: Quantity, values: Numbers, topic: Topic, laps: list[int]
) -> list[str]:
    """The same number on the best lap, where the answer is of the whole session."""
    if laps or drive.partial or topic.straights or topic.sectors or topic.how == "least":
        return []
    best = drive.best.number or 0
    value = _of_lap(drive, asked, values, np.ones(len(values), dtype=bool), best)
    return [] if value is None else [f"On your best lap, lap {best}, it was {_text(asked, value)}."]


def place_of(drive: Drive, frame: int, *, approach: bool = False) -> str:
    """Where on the circuit a frame lies; empty where nobody knows.

    With *approach* a place before a corner is told by that corner, and not by its straight.
    """
    p, length = float(drive.progress.p[frame]), drive.length_m
    if p != p:
        return ""
    try:
        corners = drive.corners
    except NoGeometry:
        return f"{p:.0f} m into the lap"
    for corner in corners:
        if inside(p, corner.entry.distance_m, corner.exit.distance_m, length):
            return f"in {corner.name}"
    ahead = min(corners, key=lambda one: (one.entry.distance_m - p) % length, default=None)
    if approach and ahead is not None and (ahead.entry.distance_m - p) % length < AHEAD_M:
        return f"before {ahead.name}"
    for straight in drive.straights:
        if inside(p, straight.start_m, straight.end_m, length):
            return where(straight.name)
    if ahead is not None and (ahead.entry.distance_m - p) % length < AHEAD_M:
        return f"before {ahead.name}"
    return f"{p:.0f} m into the lap"


def channel(
    drive: Drive, topic: Topic, samples: dict[str, Samples], units: dict[str, str]
) -> Found:
    """What a signal outside the frames says, at a corner or over the session."""
    asked = BY_ID[topic.what]
    known = {name: one for name, one in samples.items() if len(one.t)}
    if not known:
        return Found(TOOL, absent(asked), empty=True)
    if topic.corners:
        return _at_corner(drive, topic, asked, known, units)
    if asked.whole:
        values = np.concatenate([one.value for one in known.values()])
        low, high = max(float(values.min()), 1.0), float(values.max())
        facts = (
            Fact(f"highest {asked.name}", high, "", 0),
            Fact(f"lowest {asked.name}", low, "", 0),
        )
        return Found(TOOL, f"You used {asked.name}s {low:.0f} to {high:.0f}.", (), facts)
    told = []
    for name, one in known.items():
        unit = unit_of(name) or units.get(name, "")
        value = float(one.value[one.t.argmax()] if asked.falls else one.value.max())
        told.append(Fact(name if len(known) > 1 else asked.name, value, unit, 1))
    named = [f"{one.text} ({one.label})" if len(known) > 1 else one.text for one in told]
    summary = f"The highest {asked.name} of the session was {joined(named)}."
    if asked.falls:
        summary = f"At the end of the session the {asked.name} was {joined(named)}."
    return Found(TOOL, summary, (), tuple(told))


def absent(asked: Channel) -> str:
    """What is said of a signal that a session does not have."""
    gives = f"the channel {asked.signals[0]} would give it"
    return f"The {asked.name} is not recorded in this session: {gives}."


def _at_corner(
    drive: Drive,
    topic: Topic,
    asked: Channel,
    samples: dict[str, Samples],
    units: dict[str, str],
) -> Found:
    """A signal at the apex of one corner, on a lap or on the quickest pass."""
    passes, name = passes_of(drive), topic.corners[0]
    if not passes.get(name):
        return Found(TOOL, no_corner(passes), empty=True)
    try:
        laps = [lap.number for lap in laps_of(drive, topic.laps)]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    quickest = quickest_of(passes[name])
    signal, one = next(iter(samples.items()))
    order = np.argsort(one.t, kind="stable")
    t, value = one.t[order], one.value[order]
    unit = unit_of(signal) or units.get(signal, "")
    by_lap = {}
    for each in passes[name]:
        moment = float(drive.series.t[each.apex_frame])
        at = int(np.searchsorted(t, moment, side="right")) - 1
        if at >= 0 and moment - t[at] <= HELD_S:
            by_lap[each.lap] = float(value[at])
    lap = laps[0] if laps and laps[0] is not None else quickest.lap
    if lap not in by_lap:
        return Found(TOOL, f"The {asked.name} was not recorded in {name} on lap {lap}.", empty=True)
    facts = tuple(
        Fact(f"{name}, {asked.name} at the apex, lap {n}", v, unit, 0 if asked.whole else 1)
        for n, v in by_lap.items()
    )
    whose = f"On lap {lap}" if laps else f"On your quickest pass, lap {lap},"
    text = (
        f"{asked.name} {by_lap[lap]:.0f}" if asked.whole else f"{by_lap[lap]:.1f} {unit}".rstrip()
    )
    had = "you were in" if asked.whole else f"the {asked.name} was"
    shown = sorted(set(by_lap.values()))
    digits = 0 if asked.whole else 1
    same = f"It is the same on all {len(by_lap)} passes."
    between = f"{shown[0]:.{digits}f} and {shown[-1]:.{digits}f}"
    differs = f"Your {len(by_lap)} passes lie between {between}."
    details = (same if len(shown) == 1 else differs,) if len(by_lap) > 1 else ()
    return Found(TOOL, f"{whose} {had} {text} at the apex of {name}.", details, facts)
