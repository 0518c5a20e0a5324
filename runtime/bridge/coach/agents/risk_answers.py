"""Whether a corner goes flat, what is dangerous there, what dry laps say of wet ones; pure."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import zones_at
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, no_corner
from runtime.bridge.session.definitions import FULL_PCT
from runtime.bridge.track.model import DANGERS, Corner, Track

TOOL: Final = "risk_facts"
BRAKED_BAR: Final = 5.0
SAME_BAR: Final = 0.5
WET: Final = (
    "No lap is recorded as wet, so nothing here says what holds in the wet: brake earlier, softer"
    " and straight, pick up the throttle late, and come up to your pace in small steps."
)
_WALLS: Final = re.compile(r"\b(?:walls?|barriers?|armco|run-?off)\b", re.IGNORECASE)
UNKNOWN: Final = (
    "which does not say that there is none: look at it on a slow lap, and ask the marshals"
)


def risk(
    topic: Topic, drive: Drive | None, track: Track | None, corners: Sequence[Corner]
) -> Found:
    """What is on file, and on record, about a risk; *drive* is None without a complete lap."""
    known = {one.name: one for one in corners}
    if any(name not in known for name in topic.corners):
        return Found(TOOL, no_corner(known), empty=True)
    if not topic.corners:
        may = "No: " if topic.how == "may" else ""
        wet = f"{may}{WET[0].lower()}{WET[1:]}" if may else WET
        everywhere = _everywhere(track, corners, walls=topic.what == "wall")
        return Found(TOOL, wet) if topic.what == "wet" else everywhere
    name = topic.corners[0]
    zones = zones_at(known[name], track)
    dangers = [f"A danger zone is on file there: {one.description}" for one in zones[:1]]
    if topic.what == "flat":
        summary, facts = _flat(name, drive)
        if topic.wet:
            summary = f"Not in the wet: no lap is recorded as wet. {summary}"
        return Found(TOOL, summary, tuple(dangers), facts)
    if topic.what == "wet":
        return Found(TOOL, WET, tuple(dangers))
    told = f"For {name} a danger is on file: {zones[0].description}" if zones else ""
    told = told or f"For {name} no danger is on file, {UNKNOWN}."
    if topic.what == "wall" and not any(_WALLS.search(one.description) for one in zones):
        return Found(TOOL, f"Whether there is a wall at {name} is not on file.", (told,))
    if topic.what == "fear":
        text = f"Take {name} slower until it feels easy: nothing there is worth a fright."
        return Found(TOOL, text, (told,))
    if topic.what == "overtake":
        text = f"Whether {name} is a place to overtake, the data do not tell: your rules of the day"
        return Found(TOOL, f"{text} and the marshals decide it.", (told,))
    return Found(TOOL, told)


def _everywhere(track: Track | None, corners: Sequence[Corner], *, walls: bool = False) -> Found:
    """The dangers on file, the gravest first; of *walls*, those that speak of one."""
    if track is None or not track.danger_zones:
        return Found(TOOL, f"No danger is on file for this circuit, {UNKNOWN}.", empty=True)
    at: dict[str, list[str]] = {}
    near: dict[str, str] = {}
    for zone in sorted(track.danger_zones, key=lambda one: DANGERS.index(one.severity)):
        names = [one.name for one in corners if zone in zones_at(one, track)]
        place = names[0] if names else f"{zone.start_m:.0f} m into the lap"
        at.setdefault(place, []).append(zone.description)
        if _WALLS.search(zone.description):
            near.setdefault(place, zone.description)
    first, *rest = at
    details = [f"{place}: {at[place][0]}" for place in rest]
    gravest = f"The gravest danger on file is at {first}: {at[first][0]}"
    if not walls:
        return Found(TOOL, gravest, tuple(details))
    if not near:
        return Found(TOOL, f"Where walls stand is not on file. {gravest}", tuple(details))
    told = " ".join(f"{place}: {text}" for place, text in near.items())
    text = f"A wall is on file at {told} Others may stand elsewhere."
    return Found(TOOL, text, (gravest, *details))


def _flat(name: str, drive: Drive | None) -> tuple[str, tuple[Fact, ...]]:
    """Whether a corner was ever driven without braking or lifting."""
    passes = passes_of(drive).get(name, ()) if drive is not None else ()
    if drive is None or not passes:
        return f"No complete lap shows whether {name} goes flat: take it as one that does not.", ()
    peaks = [_most(drive, one, "brake_bar") for one in passes]
    if all(one is None for one in peaks):
        return f"Without brake pressure on record nothing shows whether {name} goes flat.", ()
    braked = [one for one in peaks if one is not None and one > BRAKED_BAR]
    on = f"{len(braked)} of {len(passes)} laps"
    if len(braked) == len(passes):
        on = "every lap" if len(passes) > 1 else "your only lap"
    if braked:
        low, high = min(braked), max(braked)
        bars = f"{high:.0f} bar" if high - low < SAME_BAR else f"{low:.0f} to {high:.0f} bar"
        facts = tuple(
            Fact(f"{name}, brake pressure, {one}", value, "bar", 0)
            for one, value in (("least", low), ("most", high))
        )
        return f"No: you brake for {name} on {on} ({bars}).", facts
    least = [one for one in (_least(drive, each) for each in passes) if one is not None]
    lifted = [one for one in least if one < FULL_PCT]
    if lifted:
        text = f"No: you lift in {name} on {len(lifted)} of {len(passes)} laps, down to"
        return f"{text} {min(lifted):.0f} % of throttle.", ()
    if not least:
        return f"Without the throttle on record nothing shows whether {name} goes flat.", ()
    text = f"You were flat in {name} on all {len(passes)} laps on record"
    return f"{text}; that holds for those conditions and tyres alone.", ()


def _most(drive: Drive, one: Pass, channel: str) -> float | None:
    values = drive.series[channel][one.approach : one.last]
    return None if bool(np.isnan(values).all()) else float(np.nanmax(values))


def _least(drive: Drive, one: Pass) -> float | None:
    values = drive.series["throttle_pct"][one.first : one.last]
    return None if bool(np.isnan(values).all()) else float(np.nanmin(values))


def dry_points(name: str, points: Sequence[float]) -> str:
    """Where to brake in the wet, as far as dry laps tell: never the latest of their points."""
    metres = [f"{one:.0f} m" for one in sorted(points, reverse=True)]
    if not metres:
        return WET
    between = metres[0] if metres[0] == metres[-1] else f"{metres[0]} to {metres[-1]}"
    return (
        f"Earlier and softer than in the dry, well before {metres[0]}: no lap is recorded as wet,"
        f" and your dry brake points for {name} lie {between} before its entry."
    )


def at_board(name: str, board_m: float, points: Sequence[float]) -> str:
    """Whether to brake at a board, beside the points that were driven."""
    earliest, latest = max(points), min(points)
    between = joined([f"{latest:.0f} m", f"{earliest:.0f} m"])
    if f"{latest:.0f}" == f"{earliest:.0f}":
        between = f"{latest:.0f} m alone"
    own = f"your passes of {name} began to brake between {between} before the entry"
    if "alone" in between:
        own = f"your passes of {name} all began to brake {latest:.0f} m before the entry"
    if board_m < latest:
        return f"No: {own}, and {board_m:.0f} m is later than any of them."
    if board_m > earliest:
        return f"You can, it is earlier than you need: {own}."
    return f"Yes, that is where you brake: {own}."
