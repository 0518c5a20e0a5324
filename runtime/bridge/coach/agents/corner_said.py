"""How one measure of a corner is said: by itself, and beside the other passes; pure."""

from collections.abc import Sequence
from statistics import median
from typing import Final

from runtime.bridge.analysis.passes import Pass, by_time
from runtime.bridge.coach.agents.measures import Measure

TOOL: Final = "corner_facts"
SAME_M: Final = 3.0
"""Places that are nearer to each other are one place."""


def quickest_of(passes: Sequence[Pass]) -> Pass:
    """The pass with the shortest time, the earliest of equals."""
    return by_time(passes)[0]


def middle_of(values: dict[int, float | None]) -> float | None:
    """The median of what is known."""
    known = [value for value in values.values() if value is not None]
    return median(known) if known else None


def said(asked: Measure, value: float | None, name: str) -> str:
    """A number with its unit, or what is said where there is none."""
    return asked.text(value) if value is not None else asked.none.format(corner=name) or "unknown"


def signed(asked: Measure, value: float | None, name: str) -> str:
    """A sentence; a place in front of the entry and one behind it are told without a sign."""
    if value is None and not asked.none:
        return f"the {asked.label} in {name} is not known"
    if value is not None and value < 0 and asked.unit == "m":
        text = asked.sentence(-value, name)
        if " before the " in text:
            return text.replace(" before the ", " behind the ")
        return text.replace(" behind the ", " before the ")
    return asked.sentence(value, name)


def beside_quickest(
    asked: Measure, values: dict[int, float | None], chosen: Sequence[int], quickest: Pass
) -> list[str]:
    """The same measure on the quickest pass, and over all passes."""
    known = {lap: value for lap, value in values.items() if value is not None}
    told = []
    if chosen and chosen[0] != quickest.lap and quickest.lap in known:
        told.append(
            f"Your quickest pass, lap {quickest.lap}, had {placed(asked, known[quickest.lap])}."
        )
    if len(known) > 1:
        low, high = min(known.values()), max(known.values())
        if asked.text(low) == asked.text(high):
            told.append(f"It is the same on all {len(known)} passes.")
        else:
            between = f"{placed(asked, low)} and {placed(asked, high)}"
            told.append(f"Your {len(known)} passes lie between {between}.")
    return told


def placed(asked: Measure, value: float) -> str:
    """A number; a place on the other side of where it is counted from without its sign."""
    if asked.unit == "m" and value < 0:
        side = "before the apex" if asked.label.endswith("apex") else "behind the entry"
        return f"{asked.text(-value)} {side}"
    return asked.text(value)
