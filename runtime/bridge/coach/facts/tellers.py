"""Who tells the facts of each need."""

from typing import Final

from runtime.bridge.analysis.drive import NoCorners, NoSuchLap
from runtime.bridge.coach.fact import Corner, Fact
from runtime.bridge.coach.facts import (
    comparisons,
    drivers,
    handling,
    knowledge,
    laps,
    plans,
    reviews,
    sectors,
)
from runtime.bridge.coach.facts.view import NO_COMPLETE_LAP, NO_CORNERS, Facts, correct_strange
from runtime.bridge.coach.need import Need, Slots
from runtime.bridge.coach.scene import Scene, Tellers
from runtime.bridge.coach.stories import Plan, tell_brief


def _tell_brief(scene: Scene, _: Slots) -> Facts:
    """What matters before a session, the one thing to do first."""
    best_s = scene.outing.drive.best.duration_s if scene.outing is not None else None
    day, form, todo, zones = tell_brief(scene, Plan(best_s=best_s)).paragraphs
    return (*todo, *zones[:2], *day[:1], *form[:1])[:4]


TELLERS: Final[Tellers] = {
    "brief": _tell_brief,
    **knowledge.TELLERS,
    **laps.TELLERS,
    **sectors.TELLERS,
    **drivers.TELLERS,
    **comparisons.TELLERS,
    **handling.TELLERS,
    **reviews.TELLERS,
    **plans.TELLERS,
}
"""By kind of need; `query` alone has none: see `sql`."""


def tell(scene: Scene, need: Need) -> Facts:
    """The facts that a need asks for; first what it names that there is not, and leaves out."""
    wrong = correct_strange(scene, need.slots)
    if wrong and not _goes_on(need.slots):
        return wrong
    if aside := need.slots.besides:
        wrong = (*wrong, Fact("left-out", {"corners": tuple(map(Corner, aside))}))
    try:
        return (*wrong, *TELLERS[need.kind](scene, need.slots))
    except NoCorners:
        return (*wrong, NO_CORNERS)
    except NoSuchLap:
        return (*wrong, NO_COMPLETE_LAP)


def _goes_on(slots: Slots) -> bool:
    """Whether the rest of a question has a sense without the strange things that it names."""
    places = slots.corners or slots.straights or slots.sectors
    left = {
        "corner": places,
        "straight": places,
        "sector": places or slots.drivers,
        "lap": slots.laps,
        "driver": slots.drivers,
    }
    return all(left[each.kind] for each in slots.strange)
