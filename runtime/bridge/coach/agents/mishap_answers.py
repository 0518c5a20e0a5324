"""Single facts about spins, excursions, stops and locked wheels; pure."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.incidents import ASSISTS, Active, Incident, incidents
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of
from runtime.bridge.coach.agents.series_answers import place_of
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import no_corner
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner, inside

TOOL: Final = "incident_facts"
AROUND_M: Final = 100.0
"""So far around a corner an incident counts as one of it."""
NAMES: Final = {
    "spin": ("spin", "spins"),
    "off_line": ("excursion", "excursions"),
    "stopped": ("stop", "stops"),
    "lock": ("locked wheel", "locked wheels"),
    "any": ("incident", "incidents"),
}
ASSIST: Final = "abs_active"


def mishap(
    drive: Drive,
    topic: Topic,
    active: Sequence[Active] = (),
    assisted: frozenset[str] = frozenset(),
) -> Found:
    """Whether something of the kind happened, how often and where.

    *assisted* are the signals of assistance systems that the session has.
    """
    what = topic.what
    if text := _blind(drive, what, assisted):
        return Found(TOOL, text, empty=True)
    try:
        laps = [lap.number for lap in laps_of(drive, topic.laps)]
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    corners = {one.name: one for one in _corners(drive)}
    if any(name not in corners for name in topic.corners):
        return Found(TOOL, no_corner(corners), empty=True)
    kind = ASSIST if what == "lock" else what
    found = [one for one in incidents(drive, active) if what == "any" or one.kind == kind]
    if what == "any":
        found = [one for one in found if one.kind not in ASSISTS]
    if laps:
        found = [one for one in found if one.lap in laps]
    for name in topic.corners[:1]:
        corner = corners[name]
        begin, end = corner.entry.distance_m - AROUND_M, corner.exit.distance_m + AROUND_M
        found = [one for one in found if _inside(drive, one, begin, end)]
    return _told(drive, topic, found, laps)


def _told(
    drive: Drive, topic: Topic, found: Sequence[Incident], laps: Sequence[int | None]
) -> Found:
    singular, plural = NAMES[topic.what]
    if laps:
        where = f"on lap {laps[0]}"
    elif topic.corners:
        where = f"around {topic.corners[0]}"
    else:
        n = len(drive.counted)
        where = f"in your {n} complete laps" if n != 1 else "in your only complete lap"
        if any(one.lap is None for one in found):
            where = "in the session"
    facts = [Fact(plural, len(found))]
    if not found and topic.said:
        shows = f"The data show no {singular} {where}"
        text = f"{shows}, and what was not recorded there, or was too short, they cannot show."
        return Found(TOOL, text, (), tuple(facts))
    if not found:
        return Found(TOOL, f"No: the data show no {singular} {where}.", (), tuple(facts))
    count = f"{len(found)} {singular if len(found) == 1 else plural}"
    worst = max(found, key=lambda one: one.magnitude)
    details = [_sentence(drive, worst, first=True)]
    rest = [one for one in found if one is not worst]
    if rest:
        details.append(_sentence(drive, rest[0], first=False))
    facts += [Fact(f"{one.kind.replace('_', ' ')} on lap {one.lap}", one.clause) for one in found]
    return Found(TOOL, f"Yes: the data show {count} {where}.", tuple(details), tuple(facts))


def _sentence(drive: Drive, one: Incident, *, first: bool) -> str:
    at = place_of(drive, one.frame)
    lap = f"on lap {one.lap}" if one.lap else "outside a complete lap"
    speed = float(drive.series["speed_ms"][one.frame]) * KMH
    fast = f" at {speed:.0f} km/h" if speed == speed else ""
    begin = "The worst was" if first else "Another was"
    return f"{begin} {lap}{f' {at}' if at else ''}{fast}: {one.clause}."


def _blind(drive: Drive, what: str, assisted: frozenset[str]) -> str:
    """Why nobody can know; empty where the data would show it."""
    if what == "lock" and ASSIST not in assisted:
        shows = "the channel abs_active would show them"
        return f"Locked wheels are not recorded in this session: {shows}."
    if what == "spin" and not drive.series.gps_usable:
        return "Spins are not recorded in this session: positions (lat, lon) would show them."
    if what == "off_line" and bool(np.isnan(drive.progress.offset).all()):
        return (
            "Whether you left the track is not recorded in this session: positions (lat, lon) on a"
            " track file with a reference line would show it."
        )
    if what == "stopped" and bool(np.isnan(drive.series["speed_ms"]).all()):
        return "Stops are not recorded in this session: the channel speed_ms would show them."
    return ""


def _corners(drive: Drive) -> Sequence[Corner]:
    try:
        return drive.corners
    except NoGeometry:
        return ()


def _inside(drive: Drive, one: Incident, begin: float, end: float) -> bool:
    place = float(drive.progress.p[one.frame])
    length = drive.length_m
    return place == place and inside(place, begin % length, end % length, length)
