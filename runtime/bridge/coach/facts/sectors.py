"""Facts about sectors, the ideal lap they make, and what is possible on the circuit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.laps import compose_ideal_lap, measure_sectors
from runtime.bridge.analysis.losses import WORTH_S, measure_losses_to_file
from runtime.bridge.analysis.passes import USUAL_LAPS
from runtime.bridge.analysis.quantities import name_sector
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Value
from runtime.bridge.coach.facts.comparisons import Lost, rank_lost, tell_lost, tell_values
from runtime.bridge.coach.facts.drivers import duel, tell_sectors
from runtime.bridge.coach.facts.measures import FALLS, RISES, complete
from runtime.bridge.coach.facts.reviews import usual_to_best
from runtime.bridge.coach.facts.view import (
    LEVEL_S,
    NO_CIRCUIT,
    Facts,
    Tell,
    View,
    gap,
    in_sector,
    judge,
    lap_time,
    list_named_times,
    span,
    teller,
)
from runtime.bridge.coach.need import NeedKind, Order, Slots
from runtime.bridge.coach.scene import Scene, Tellers

STEP_S: Final = 0.1
"""The smallest step to a next goal."""


def _numbers(view: View) -> tuple[int, ...]:
    return tuple(range(1, len(view.drive.sectors) + 1))


def _tell_times(view: View) -> Facts:
    """Return the best and usual times of the named sectors, else of all; or those of laps."""
    order: Order | None = "least"
    if view.listed or view.slots.which == "lap":
        of_laps = replace(view.slots, corners=(), which="lap")
        order = complete(of_laps, "time", best=True).order
    timed = view.about(quantity="time", order=order, spot=None, also=(), corners=())
    return tell_values(timed.about(sectors=view.slots.sectors or _numbers(view)))


def _tell_rank(view: View) -> Facts:
    if len(view.counted) < 2:
        return (view.fact("sector-one-lap", {}), *_tell_times(view))
    ranked = _rank(view)
    order, losing = view.slots.order, view.slots.quantity == "time"
    least = order in (FALLS if losing else RISES)  # the best sector, or the least loss
    ranked = ranked[::-1] if least else ranked
    if not ranked:
        return (view.fact("sector-unknown", {}),)
    fact = tell_lost(view, ranked, min(view.slots.place, len(ranked)) - 1, least=least)
    if view.slots.whether and view.slots.sectors:
        names = map(name_sector, view.slots.sectors)
        fact = judge(fact, view.slots, so=ranked[0].where in names)
    return (fact,)


def _rank(view: View) -> list[Lost]:
    return rank_lost(view, list(map(name_sector, _numbers(view))))


def _tell_explain(view: View) -> Facts:
    ranked = _rank(view)
    names = list(map(name_sector, view.slots.sectors))
    if not ranked or len(view.counted) < 2:
        return _tell_rank(view)
    at = next((at for at, lost in enumerate(ranked) if lost.where in names), 0)
    lead, seconds = tell_lost(view, ranked, at), ranked[at].seconds
    if names and view.slots.claims and view.slots.order in ("most", "worst"):
        lead = judge(lead, view.slots, so=at == 0)
    sector = (lead.place.sector or 0) if lead.place else 0
    own = view.passes(view.named[0]) if view.named else view.usual_passes
    losses = [
        loss
        for loss in view.losses(own, view.best_passes)
        if in_sector(view.drive, loss.corner, sector)
    ]
    if not losses and seconds >= WORTH_S:
        values: dict[str, Cell] = {"sector": sector, "least": span(WORTH_S)}
        return (lead, view.fact("sector-no-corner", values))
    corners = [view.loss("sector-corner", loss, view.drive.best) for loss in losses[:2]]
    return (lead, *corners)


# The ideal lap, and what is possible


def _tell_ideal(view: View) -> Facts:
    ideal, best = compose_ideal_lap(view.drive).sectors, view.drive.best
    if ideal.lap_s is None:
        return (view.fact("ideal-unknown", {}),)
    gain = best.duration_s - ideal.lap_s
    values: dict[str, Cell] = {"time": lap_time(ideal.lap_s), "gain": span(gain)}
    values |= {"best": best.number or 0, "best_time": lap_time(best.duration_s)}
    values["same"] = "yes" if gain < LEVEL_S else "no"
    facts = [view.fact("ideal-lap", values, [best], basis="ideal", gain_s=gain)]
    row = dict(zip(view.counted, measure_sectors(view.drive), strict=True))[best]
    if len(ideal.parts) == 3 and None not in row:
        values = {}
        for at, (part, own) in enumerate(zip(ideal.parts, row, strict=True), 1):
            values |= {f"s{at}": span(part.time_s or 0.0), f"lap{at}": part.from_lap or 0}
            values[f"gap{at}"] = gap((own or 0.0) - (part.time_s or 0.0))
        laps = [part.from_lap or 0 for part in ideal.parts]
        facts.append(view.fact("ideal-sectors", values, laps, basis="ideal"))
    return tuple(facts)


def _tell_honest(view: View) -> Facts:
    ideal = compose_ideal_lap(view.drive)
    if ideal.sectors.lap_s is None:
        return (view.fact("ideal-unknown", {}),)
    laps = tuple(sorted({part.from_lap or 0 for part in ideal.sectors.parts}))
    if (ideal.sectors.gain_s or 0.0) < LEVEL_S:
        laps = (view.drive.best.number or 0,)
    values: dict[str, Cell] = {"time": lap_time(ideal.sectors.lap_s), "count": len(laps)}
    values |= {"named": laps, "gain": span(ideal.sectors.gain_s or 0.0)}
    facts = [view.fact("ideal-honest", values, laps, basis="ideal")]
    return (*facts, *usual_to_best(view, "ideal-usual"))


def _tell_theory(view: View) -> Facts:
    best, targets = view.drive.best, measure_losses_to_file(view.drive, view.best_passes)
    reference = view.scene.references.of(view.scene.track)
    facts: list[Fact] = []

    def tell_gap(kind: str, basis: Basis, seconds: float) -> None:
        """State what could be driven, *seconds* quicker than the best lap."""
        values: dict[str, Cell] = {"time": lap_time(best.duration_s - seconds)}
        values |= {"gap": span(abs(seconds)), "side": "behind" if seconds > 0 else "ahead"}
        values |= {"lap": best.number or 0, "count": len(targets)}
        facts.append(view.fact(kind, values, [best], basis=basis, gain_s=seconds))

    if reference is not None:
        tell_gap("theory-reference", "reference", best.duration_s - reference.lap_time_s)
    if targets:
        tell_gap("theory-speeds", "theory", sum(target.lost_s for target in targets))
        corner, lost, own, file = targets[0]
        if lost >= WORTH_S:
            values: dict[str, Cell] = {"corner": Corner(corner), "lost": span(lost)}
            values |= {"own": Value(own, "km/h"), "file": Value(file, "km/h")}
            facts.append(view.fact("theory-corner", values, [best], corner, basis="theory"))
        facts.append(view.fact("theory-limits", {}, basis="theory"))
    if facts:
        return tuple(facts)
    nothing = view.fact("theory-none", {}) if view.scene.track else NO_CIRCUIT
    return (nothing, *_tell_ideal(view)[:1])


def _tell_goal(view: View) -> Facts:
    ideal, best = compose_ideal_lap(view.drive), view.drive.best
    values: dict[str, Cell] = {"best": lap_time(best.duration_s), "lap": best.number or 0}
    facts: list[Fact] = []
    targets = list_named_times(view.slots, best.duration_s)
    for target in targets[:1]:
        off = best.duration_s - target
        reach = "done" if off <= 0 else "parts" if off <= (ideal.sectors.gain_s or 0.0) else "more"
        named: dict[str, Cell] = {"target": lap_time(target), "gap": span(abs(off)), "reach": reach}
        facts.append(view.fact("goal-named", {**values, **named}, [best]))
    if not targets or targets[0] >= best.duration_s:
        goal = lap_time(best.duration_s - max((ideal.sectors.gain_s or 0.0) / 2, STEP_S))
        facts.append(view.fact("goal-lap", {**values, "goal": goal}, [best]))
    if len(view.counted) < USUAL_LAPS:
        return tuple(facts)
    facts += usual_to_best(view, "ideal-usual")
    losses = view.losses(view.usual_passes, view.best_passes)[:1]
    return (*facts, *(view.loss("goal-corner", loss, best, "best_lap") for loss in losses))


def _or_against(tell: Tell) -> Tell:
    """Compare sectors with another driver's if one is named."""
    return lambda view: duel(tell_sectors)(view) if view.name != "own" else tell(view)


_TELLS: Final[Mapping[NeedKind, Tell]] = {
    "ideal_honest": _tell_honest,
    "theory": _tell_theory,
    "sector_times": _or_against(_tell_times),
    "sector_rank": _or_against(_tell_rank),
    "sector_explain": _or_against(_tell_explain),
    "lap_goal": _tell_goal,
}


def _tell_ideals(scene: Scene, slots: Slots) -> Facts:
    """State the ideal lap; if the question is about the other driver's too, also that of both
    together."""
    other = next((name for name in slots.drivers if name in scene.rivals), "")
    both = not slots.alone and bool(other)
    facts = teller(_tell_ideal)(scene, replace(slots, mine=both))
    if scene.outing is None or not both:
        return facts
    drives = [outing.drive for outing in (scene.outing, scene.rivals[other])]
    rows = [[part.time_s for part in compose_ideal_lap(drive).sectors.parts] for drive in drives]
    pairs = [[time for time in pair if time is not None] for pair in zip(*rows, strict=False)]
    if len(rows[0]) != len(rows[1]) or not all(pairs):
        return facts
    total = sum(map(min, pairs))
    gain = min(drive.best.duration_s for drive in drives) - total
    view = View(scene, slots, scene.outing, "own")
    values: dict[str, Cell] = {"time": lap_time(total), "gain": span(gain)}
    values["same"] = "yes" if gain < LEVEL_S else "no"
    shared = view.fact("ideal-shared", values, basis="ideal", other=other)
    return (shared, *facts)


TELLERS: Final[Tellers] = {kind: teller(tell) for kind, tell in _TELLS.items()} | {
    "ideal_lap": _tell_ideals
}
