"""Who tells the facts of each need."""

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
from runtime.bridge.coach.facts.view import (
    NO_COMPLETE_LAP,
    NO_CORNERS,
    Facts,
    correct_strange,
    not_recorded,
)
from runtime.bridge.coach.need import Need, NeedKind, Slots
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
"""Kinds that are told of another driver's session as of one's own where it asks about that one."""


def tell(scene: Scene, need: Need) -> Facts:
    """The facts that a need asks for; first what it names that there is not, and leaves out."""
    wrong = correct_strange(scene, need.slots)
    if wrong and not _goes_on(need.slots):
        return wrong
    if aside := need.slots.besides:
        wrong = (*wrong, Fact("left-out", {"corners": tuple(map(Corner, aside))}))
    try:
        told = _tell(scene, need)
        if need.slots.quantity == "traffic" and need.kind != "unrecorded":
            told = (not_recorded("traffic"), *(replace(fact, verdict=None) for fact in told))
        day = TELLERS["session_time"](scene, Slots()) if _asks_of_day(need, told) else ()
        return (*wrong, *day[:1], *told[:1], *_tell_over(need.slots.over, told), *told[1:])
    except NoCorners:
        return (*wrong, NO_CORNERS)
    except NoSuchLap:
        return (*wrong, NO_COMPLETE_LAP)


def _tell(scene: Scene, need: Need) -> Facts:
    """The facts of a need; of another driver's session where it asks about that one alone."""
    name = next((name for name in need.slots.drivers if name in scene.rivals), "")
    if not (name and need.slots.alone and need.kind in OF_ANYBODY):
        return TELLERS[need.kind](scene, need.slots)
    theirs = replace(scene, driver=name, outing=scene.rivals[name], rivals={}, earlier=())
    own = replace(need.slots, drivers=(), alone=False)
    return (Fact("of-driver", {"who": name}), *TELLERS[need.kind](theirs, own)[:3])


def _asks_of_day(need: Need, told: Facts) -> bool:
    """Whether it asks about another day what is told of this session."""
    of_days = need.kind in ("progress", "no_progress", "improved", "session_time")
    return need.slots.other_day and not of_days and bool(told) and bool(told[0].session_id)


def _tell_over(laps: int, told: Facts) -> Facts:
    """What the seconds of the first fact come to over so many laps."""
    each_s = told[0].gain_s if told else None
    if not laps or not each_s:
        return ()
    total, each = (Value(round(abs(each_s), 2) * times, "s") for times in (laps, 1))
    values: dict[str, Cell] = {"count": laps, "total": total, "each": each}
    sums = replace(told[0], kind="over-laps", values=values, gain_s=None, verdict=None)
    return (replace(sums, concept=None),)


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
