"""The teller of each need."""

from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.drive import NoCorners, NoSuchLap
from runtime.bridge.coach.fact import Cell, Corner, Fact, Value
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
from runtime.bridge.coach.facts.stories import Plan, tell_brief
from runtime.bridge.coach.facts.view import (
    NO_COMPLETE_LAP,
    NO_CORNERS,
    Facts,
    correct_strange,
    not_recorded,
)
from runtime.bridge.coach.need import Need, NeedKind, Slots
from runtime.bridge.coach.scene import Scene, Tellers


def _tell_brief(scene: Scene, _: Slots) -> Facts:
    """State what matters before a session, first the one thing to do."""
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
"""By kind of need; `query` has none: see `sql`."""


OF_ANYBODY: Final[frozenset[NeedKind]] = frozenset(
    {
        "tips",
        "target",
        "drill",
        "loss_rank",
        "strength",
        "summary",
        "coasting",
        "trail_brake",
        "incidents",
    }
)
"""Kinds that answer about another driver's session alone as about the own one."""


def tell(scene: Scene, need: Need) -> Facts:
    """Return the facts that a need asks for, after corrections of unknown names and exclusions."""
    wrong = correct_strange(scene, need.slots)
    if wrong and not _goes_on(need.slots):
        return wrong
    if aside := need.slots.besides:
        wrong = (*wrong, Fact("left-out", {"corners": tuple(map(Corner, aside))}))
    try:
        facts = _tell(scene, need)
        if need.slots.quantity == "traffic" and need.kind != "unrecorded":
            facts = (not_recorded("traffic"), *(replace(fact, verdict=None) for fact in facts))
        day = TELLERS["session_time"](scene, Slots()) if _asks_of_day(need, facts) else ()
        return (*wrong, *day[:1], *facts[:1], *_tell_over(need.slots.over, facts), *facts[1:])
    except NoCorners:
        return (*wrong, NO_CORNERS)
    except NoSuchLap:
        return (*wrong, NO_COMPLETE_LAP)


def _tell(scene: Scene, need: Need) -> Facts:
    """Return the facts of a need, about another driver's session if it asks about that alone."""
    name = next((name for name in need.slots.drivers if name in scene.rivals), "")
    if not (name and need.slots.alone and need.kind in OF_ANYBODY):
        return TELLERS[need.kind](scene, need.slots)
    theirs = replace(scene, driver=name, outing=scene.rivals[name], rivals={}, earlier=())
    own = replace(need.slots, drivers=(), alone=False)
    return (Fact("of-driver", {"who": name}), *TELLERS[need.kind](theirs, own)[:3])


def _asks_of_day(need: Need, facts: Facts) -> bool:
    """Whether the question is about another day than the session of the facts."""
    of_days = need.kind in ("progress", "no_progress", "improved", "session_time")
    return need.slots.other_day and not of_days and bool(facts) and bool(facts[0].session_id)


def _tell_over(laps: int, facts: Facts) -> Facts:
    """Multiply the seconds of the first fact by a number of laps."""
    loss_s = facts[0].gain_s if facts else None
    if not laps or not loss_s:
        return ()
    total, per_lap = (Value(round(abs(loss_s), 2) * times, "s") for times in (laps, 1))
    values: dict[str, Cell] = {"count": laps, "total": total, "each": per_lap}
    sums = replace(facts[0], kind="over-laps", values=values, gain_s=None, verdict=None)
    return (replace(sums, concept=None),)


def _goes_on(slots: Slots) -> bool:
    """Whether the rest of a question makes sense without the unknown names."""
    places = slots.corners or slots.straights or slots.sectors
    left = {
        "corner": places,
        "straight": places,
        "sector": places or slots.drivers,
        "lap": slots.laps,
        "driver": slots.drivers,
    }
    return all(left[strange.kind] for strange in slots.strange)
