"""What a channel said at a place: so far into the lap, at the line, before a corner; pure."""

from typing import Final

import numpy as np

from runtime.bridge.analysis.compare import channel_at, moments
from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of
from runtime.bridge.coach.agents.measures import not_recorded
from runtime.bridge.coach.agents.series_answers import QUANTITIES, Quantity
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, no_corner
from runtime.bridge.session.laps import Segment

TOOL: Final = "place_facts"
PERCENT: Final = Quantity("throttle_pct", "throttle", "%", 0)


def at_place(drive: Drive, topic: Topic) -> Found:
    """A channel where the question says, on the laps that it names, else on the best one."""
    asked = PERCENT if topic.what == "throttle" else QUANTITIES[topic.what]
    if bool(np.isnan(drive.series[asked.channel]).all()):
        return Found(TOOL, not_recorded(asked.channel), empty=True)
    place, length = topic.value or 0.0, drive.length_m
    said = f"{place:.0f} m into the lap" if place else "at the start/finish line"
    if topic.corners:
        try:
            known = {one.name: one for one in drive.corners}
        except NoGeometry:
            known = {}
        if topic.corners[0] not in known:
            return Found(TOOL, no_corner(known), empty=True)
        said = f"{place:.0f} m before the entry of {topic.corners[0]}"
        place = (known[topic.corners[0]].entry.distance_m - place) % length
    if not 0.0 <= place <= length:
        return Found(TOOL, f"A lap is {length:.0f} m long.", empty=True)
    try:
        laps = laps_of(drive, topic.laps) or (drive.best,)
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    values = {lap.number or 0: _value(drive, asked, lap, place) for lap in drive.counted}
    facts = tuple(
        Fact(f"{asked.name} {said}, lap {lap}", value, asked.unit, asked.digits)
        for lap, value in values.items()
        if value is not None
    )
    told = [
        f"{value:.{asked.digits}f} {asked.unit} on lap {lap.number}"
        for lap in laps
        if (value := values[lap.number or 0]) is not None
    ]
    if not told:
        return Found(TOOL, f"Nothing of the {asked.name} was recorded {said}.", empty=True)
    known_values = [one for one in values.values() if one is not None]
    low, high = min(known_values), max(known_values)
    between = f"{low:.{asked.digits}f} and {high:.{asked.digits}f} {asked.unit}"
    details = (f"Your {len(facts)} laps lie between {between} there.",) if len(facts) > 1 else ()
    return Found(TOOL, f"Your {asked.name} {said} was {joined(told)}.", details, facts)


def _value(drive: Drive, asked: Quantity, lap: Segment, place: float) -> float | None:
    moment = moments(drive, lap, np.array([place]))
    value = float(channel_at(drive.series, asked.channel, moment)[0]) * asked.scale
    return None if value != value else abs(value) if asked.size else value
