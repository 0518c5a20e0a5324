"""Says of what a driver holds to do in a corner on how many passes it is done; pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.lap_answers import laps_of
from runtime.bridge.coach.agents.measures import Measure, measure_of, not_recorded
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined
from runtime.bridge.session.definitions import BRAKING_BAR, find_lifts, is_full_throttle
from runtime.bridge.session.series import Series

TOOL: Final = "claim_facts"
EVEN_M: Final = 5.0
"""Brake points that lie within are one point."""
TRAIL_BAR: Final = 3.0
TURNING_G: Final = 0.4
"""So much of both at once is trail braking."""
UNKNOWN: Final = "That I can neither confirm nor deny: nothing that was recorded tells it of {}."
Check = Callable[[Drive, Topic, References], Found]


def verdict(so: bool, text: str) -> str:
    """A sentence that begins with whether it is so."""
    return f"{'Yes' if so else 'No'}: {text}"


def read(drive: Drive, asked: Measure, name: str) -> dict[int, float]:
    """A measure of each pass that has it, by lap."""
    values = {one.lap: asked.read(drive, one) for one in passes_of(drive)[name]}
    return {lap: value for lap, value in values.items() if value is not None}


def _on(drive: Drive, topic: Topic, does: Callable[[Pass], bool], word: str) -> Found:
    """On how many passes something was done."""
    name = topic.corners[0]
    laps = [lap.number for lap in laps_of(drive, topic.laps[:1])]
    passes = [one for one in passes_of(drive)[name] if not laps or one.lap in laps]
    own = [one.lap for one in passes if does(one)]
    fact = (Fact(f"{name}, passes on which you {word}", len(own)),)
    if not own:
        return Found(
            TOOL, verdict(False, f"on none of {len(passes)} passes of {name} you {word}."), (), fact
        )
    so = len(own) == len(passes) or topic.every != "all"
    on = f"on {len(own)} of {len(passes)} passes of {name} you {word}"
    laps_told = f" (lap{'s' if len(own) > 1 else ''} {joined([str(lap) for lap in own])})"
    text = f"{on}{laps_told if len(own) < len(passes) else ''}."
    return Found(TOOL, verdict(so, text), (), fact)


def _braked(drive: Drive, topic: Topic, _: References) -> Found:
    if bool(np.isnan(drive.series["brake_bar"]).all()):
        return Found(TOOL, not_recorded("brake_bar"), empty=True)
    found = _on(
        drive, topic, lambda one: one.brake_point_m is not None, "braked with 5 bar or more"
    )
    peaks = [one.peak_brake_bar for one in passes_of(drive)[topic.corners[0]]]
    known = [peak for peak in peaks if peak is not None and peak >= BRAKING_BAR]
    if not known:
        return found
    return replace(found, details=(f"You braked with {min(known):.0f} to {max(known):.0f} bar.",))


def _throttled(
    drive: Drive, topic: Topic, does: Callable[[Series, Pass], bool], word: str
) -> Found:
    """On how many passes the driver's right foot did something."""
    series = drive.series
    if bool(np.isnan(series["throttle_pct"]).all()):
        return Found(TOOL, not_recorded("throttle_pct"), empty=True)
    return _on(drive, topic, lambda one: does(series, one), word)


def _lifted(drive: Drive, topic: Topic, _: References) -> Found:
    """Whether the throttle was closed on the way to a corner's exit."""
    word = "lifted (throttle from 20 % or more to under 5 %)"
    return _throttled(
        drive,
        topic,
        lambda series, one: len(find_lifts(series, slice(one.approach, one.last))) > 0,
        word,
    )


def _full(drive: Drive, topic: Topic, _: References) -> Found:
    word = "reached full throttle between entry and exit"
    return _throttled(
        drive, topic, lambda series, one: bool(is_full_throttle(series)[one.frames].any()), word
    )


def _flat(drive: Drive, topic: Topic, _: References) -> Found:
    word = "kept full throttle (95 % or more) from entry to exit"
    return _throttled(
        drive, topic, lambda series, one: bool(is_full_throttle(series)[one.frames].all()), word
    )


def _trailed(drive: Drive, topic: Topic, _: References) -> Found:
    """Whether the brake was still used while the car turned."""
    brake, turning = drive.series["brake_bar"], np.abs(drive.series["g_lat"])
    for channel in ("brake_bar", "g_lat"):
        if bool(np.isnan(drive.series[channel]).all()):
            return Found(TOOL, not_recorded(channel), empty=True)
    both = (brake > TRAIL_BAR) & (turning > TURNING_G)
    word = f"braked over {TRAIL_BAR:.0f} bar while you turned with over {TURNING_G:.1f} g"
    return _on(drive, topic, lambda one: bool(both[one.frames].any()), word)


def _same_point(drive: Drive, topic: Topic, _: References) -> Found:
    name = topic.corners[0]
    values = read(drive, measure_of("brake_point", ""), name)
    if len(values) < 2:
        return Found(TOOL, UNKNOWN.format(name), empty=True)
    low, high = min(values.values()), max(values.values())
    text = (
        f"your {len(values)} passes began to brake between {low:.0f} m and {high:.0f} m before the"
        f" entry of {name}, {high - low:.0f} m apart."
    )
    fact = Fact(f"{name}, brake points apart", high - low, "m", 0)
    return Found(TOOL, verdict(high - low <= EVEN_M, text), (), (fact,))


HABITS: Final[Mapping[str, Check]] = {
    "braked": _braked,
    "lifted": _lifted,
    "full": _full,
    "flat": _flat,
    "trailed": _trailed,
    "same_point": _same_point,
}
"""By what is held to be done in a corner."""
