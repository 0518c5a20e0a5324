"""Facts about sectors, the ideal lap that they make, and what is possible on the circuit."""

from collections.abc import Mapping
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.laps import ideal_lap, sector_table
from runtime.bridge.analysis.losses import USUAL_LAPS, losses_to_file
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Place, Value
from runtime.bridge.coach.facts.drivers import duel, tell_sectors
from runtime.bridge.coach.facts.general import NO_CIRCUIT
from runtime.bridge.coach.facts.measures import FALLS, RISES
from runtime.bridge.coach.facts.view import (
    LEVEL_S,
    SHOWN_S,
    Facts,
    Tell,
    View,
    gap,
    in_sector,
    lap_time,
    named_times,
    span,
    teller,
    usual_s,
)
from runtime.bridge.coach.need import NeedKind
from runtime.bridge.coach.scene import Tellers
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import Span

STEP_S: Final = 0.1
"""The least that a next goal asks for."""


class Sector(NamedTuple):
    """A sector over the session, seconds."""

    number: int
    where: Span
    by_lap: Mapping[int, float]

    @property
    def best_lap(self) -> int:
        """The lap that was fastest in it, the earliest of equals."""
        return min(self.by_lap, key=lambda lap: (round(self.by_lap[lap], 6), lap))

    @property
    def best_s(self) -> float:
        """Its best time."""
        return self.by_lap[self.best_lap]

    @property
    def usual_s(self) -> float:
        """The median of the laps."""
        return median(self.by_lap.values())

    @property
    def names(self) -> dict[str, Cell]:
        """Number, name (``none`` where it has no own one) and best lap, for a message."""
        own = self.where.name not in (f"Sector {self.number}", f"S{self.number}")
        name = self.where.name if own else "none"
        return {"sector": self.number, "name": name, "best_lap": self.best_lap}

    @property
    def place(self) -> Place:
        """Where it lies."""
        return Place(sector=self.number, start_m=self.where.start_m, end_m=self.where.end_m)


def sectors_of(view: View) -> list[Sector]:
    """The sectors with a time on any of the laps."""
    rows = list(zip(view.counted, sector_table(view.drive), strict=True))
    found = []
    for at, where in enumerate(view.drive.sectors):
        by_lap = {lap.number or 0: row[at] for lap, row in rows if lap in view.pool}
        known = {lap: time for lap, time in by_lap.items() if time is not None}
        if known:
            found.append(Sector(at + 1, where, known))
    return found


def _tell_times(view: View) -> Facts:
    found = sectors_of(view)
    chosen = [each for each in found if each.number in view.slots.sectors] or found
    if not chosen:
        return (view.fact("sector-unknown", {}),)
    if view.named:
        pairs = [(each, lap) for lap in view.named for each in chosen]
        return tuple(_on_lap(view, each, lap) for each, lap in pairs if lap.number in each.by_lap)
    every = view.slots.all_laps or view.slots.order == "each" or "each" in view.slots.laps
    if every and view.slots.sectors:
        return tuple(_every_lap(view, each) for each in chosen)
    return tuple(_times(view, each) for each in chosen)


def _times(view: View, sector: Sector) -> Fact:
    values = {"best": span(sector.best_s), "usual": span(sector.usual_s), **sector.names}
    return view.fact("sector-times", values, [sector.best_lap], place=sector.place)


def _every_lap(view: View, sector: Sector) -> Fact:
    laps, times = list(sector.by_lap), tuple(span(time) for time in sector.by_lap.values())
    values = {**sector.names, "first": laps[0], "last": laps[-1], "times": times}
    return view.fact("sector-list", values, laps, place=sector.place)


def _on_lap(view: View, sector: Sector, lap: Segment) -> Fact:
    time = sector.by_lap[lap.number or 0]
    values = {**sector.names, "lap": lap.number or 0, "time": span(time)}
    behind = time - sector.best_s
    values |= {"gap": span(behind), "first": "yes" if behind < LEVEL_S else "no"}
    return view.fact("sector-lap", values, [lap], place=sector.place)


def _rank(view: View) -> tuple[list[Sector], dict[int, float], dict[str, Cell]]:
    """The sectors by what they cost, most first, with the seconds: on the lap that is named, else
    usually, against the best time there; and which of both, for a message."""
    found, lap = sectors_of(view), view.named[0].number or 0 if view.named else 0
    lost = {each.number: each.by_lap.get(lap, each.usual_s) - each.best_s for each in found}
    which: dict[str, Cell] = {"which": "named" if view.named else "usual", "lap": lap}
    return sorted(found, key=lambda each: -lost[each.number]), lost, which


def _tell_rank(view: View) -> Facts:
    ranked, lost, which = _rank(view)
    if len(view.counted) < 2:
        only = view.fact("sector-one-lap", {})
        return (only, *(_times(view, each) for each in ranked))
    kinds = ["sector-most", *["sector-next"] * (len(ranked) - 2), "sector-least"]
    facts = []
    for kind, each in zip(kinds, ranked, strict=False):
        values = {**each.names, **which, "best": span(each.best_s), "lost": span(lost[each.number])}
        laps, seconds = [each.best_lap], lost[each.number]
        fact = view.fact(kind, values, laps, place=each.place, basis="best_lap", gain_s=seconds)
        facts.append(fact)
    if not facts:
        return (view.fact("sector-unknown", {}),)
    order, losing = view.slots.order, view.slots.quantity == "time"
    strongest = order in (FALLS if losing else RISES)  # the best one, or where least is lost
    return tuple(facts[::-1] if strongest else facts)


def _tell_explain(view: View) -> Facts:
    ranked, lost, which = _rank(view)
    if not ranked or len(view.counted) < 2:
        return _tell_rank(view)
    chosen = next((each for each in ranked if each.number in view.slots.sectors), ranked[0])
    worst, seconds = ranked[0], lost[chosen.number]
    values = {**chosen.names, **which, "best": span(chosen.best_s), "lost": span(seconds)}
    values |= {"weakest": "yes" if chosen is worst else "no", "worst": worst.number}
    values["worst_lost"] = span(lost[worst.number])
    laps = [chosen.best_lap]
    kind = "sector-loss" if seconds >= SHOWN_S else "sector-level"
    lead = view.fact(kind, values, laps, place=chosen.place, gain_s=seconds)
    base = next(each for each in view.counted if each.number == chosen.best_lap)
    own = view.passes(view.named[0]) if view.named else view.usual_passes
    losses = view.losses(own, view.passes(base))
    losses = [each for each in losses if in_sector(view.drive, each.corner, chosen.number)]
    if not losses and seconds >= SHOWN_S:
        values = {**chosen.names, "least": span(SHOWN_S)}
        return (lead, view.fact("sector-no-corner", values, place=chosen.place))
    return (lead, *(view.loss("sector-corner", each, base) for each in losses[:2]))


# The ideal lap, and what is possible


def _tell_ideal(view: View) -> Facts:
    found, best = ideal_lap(view.drive), view.drive.best
    ideal, fine = found.sectors, found.corners_and_straights
    if ideal.lap_s is None:
        return (view.fact("ideal-unknown", {}),)
    gain = best.duration_s - ideal.lap_s
    values: dict[str, Cell] = {"time": lap_time(ideal.lap_s), "gain": span(gain)}
    values |= {"best": best.number or 0, "best_time": lap_time(best.duration_s)}
    values["same"] = "yes" if gain < LEVEL_S else "no"
    facts = [view.fact("ideal-lap", values, [best], basis="ideal", gain_s=gain)]
    row = dict(zip(view.counted, sector_table(view.drive), strict=True))[best]
    if len(ideal.parts) == 3 and None not in row:
        values = {}
        for at, (part, own) in enumerate(zip(ideal.parts, row, strict=True), 1):
            values |= {f"s{at}": span(part.time_s or 0.0), f"lap{at}": part.from_lap or 0}
            values[f"gap{at}"] = gap((own or 0.0) - (part.time_s or 0.0))
        laps = [part.from_lap or 0 for part in ideal.parts]
        facts.append(view.fact("ideal-sectors", values, laps, basis="ideal"))
    if fine.lap_s is not None and ideal.lap_s - fine.lap_s >= LEVEL_S:
        values = {"time": lap_time(fine.lap_s), "gain": span(best.duration_s - fine.lap_s)}
        facts.append(view.fact("ideal-corners", {**values, "count": len(fine.parts)}))
    return tuple(facts)


def _tell_honest(view: View) -> Facts:
    found = ideal_lap(view.drive)
    if found.sectors.lap_s is None:
        return (view.fact("ideal-unknown", {}),)
    laps = tuple(sorted({part.from_lap or 0 for part in found.sectors.parts}))
    if (found.sectors.gain_s or 0.0) < LEVEL_S:
        laps = (view.drive.best.number or 0,)
    values: dict[str, Cell] = {"time": lap_time(found.sectors.lap_s), "count": len(laps)}
    values |= {"named": laps, "gain": span(found.sectors.gain_s or 0.0)}
    facts = [view.fact("ideal-honest", values, laps, basis="ideal")]
    fine = found.corners_and_straights
    if (fine.gain_s or 0.0) >= LEVEL_S:
        values = {"gain": span(fine.gain_s or 0.0), "count": len(fine.parts)}
        facts.append(view.fact("ideal-guide", values, basis="ideal"))
    return (*facts, *_usual_to_best(view))


def _usual_to_best(view: View) -> Facts:
    """What is surely there: from the usual lap to the best one."""
    best, usual = view.drive.best, usual_s(view.counted)
    there = usual - best.duration_s
    if there < SHOWN_S:
        return ()
    values: dict[str, Cell] = {"gain": span(there), "usual": lap_time(usual)}
    values |= {"lap": best.number or 0, "best": lap_time(best.duration_s)}
    return (view.fact("ideal-usual", values, [best], basis="usual", gain_s=there),)


def _tell_theory(view: View) -> Facts:
    best, targets = view.drive.best, losses_to_file(view.drive, view.best_passes)
    reference = view.scene.references.of(view.scene.track)
    facts: list[Fact] = []

    def tell_gap(kind: str, basis: Basis, seconds: float) -> None:
        """What could be driven, *seconds* quicker than the best lap."""
        values: dict[str, Cell] = {"time": lap_time(best.duration_s - seconds)}
        values |= {"gap": span(abs(seconds)), "side": "behind" if seconds > 0 else "ahead"}
        values |= {"lap": best.number or 0, "count": len(targets)}
        facts.append(view.fact(kind, values, [best], basis=basis, gain_s=seconds))

    if reference is not None:
        tell_gap("theory-reference", "reference", best.duration_s - reference.lap_time_s)
    if targets:
        tell_gap("theory-speeds", "theory", sum(each.lost_s for each in targets))
        corner, lost, own, file = targets[0]
        if lost >= SHOWN_S:
            values: dict[str, Cell] = {"corner": Corner(corner), "lost": span(lost)}
            values |= {"own": Value(own, "km/h"), "file": Value(file, "km/h")}
            facts.append(view.fact("theory-corner", values, [best], corner, basis="theory"))
        facts.append(view.fact("theory-limits", {}, basis="theory"))
    if facts:
        return tuple(facts)
    nothing = view.fact("theory-none", {}) if view.scene.track else NO_CIRCUIT
    return (nothing, *_tell_ideal(view)[:1])


def _tell_goal(view: View) -> Facts:
    found, best = ideal_lap(view.drive), view.drive.best
    fine = max(found.sectors.gain_s or 0.0, found.corners_and_straights.gain_s or 0.0)
    values: dict[str, Cell] = {"best": lap_time(best.duration_s), "lap": best.number or 0}
    facts: list[Fact] = []
    targets = named_times(view.slots, best.duration_s)
    for target in targets[:1]:
        off = best.duration_s - target
        reach = "done" if off <= 0 else "parts" if off <= fine else "more"
        named: dict[str, Cell] = {"target": lap_time(target), "gap": span(abs(off)), "reach": reach}
        facts.append(view.fact("goal-named", {**values, **named}, [best]))
    if not targets or targets[0] >= best.duration_s:
        goal = lap_time(best.duration_s - max((found.sectors.gain_s or 0.0) / 2, STEP_S))
        facts.append(view.fact("goal-lap", {**values, "goal": goal}, [best]))
    if len(view.counted) < USUAL_LAPS:
        return tuple(facts)
    facts += _usual_to_best(view)
    losses = view.losses(view.usual_passes, view.best_passes)[:1]
    return (*facts, *(view.loss("goal-corner", each, best, "best_lap") for each in losses))


def _or_against(tell: Tell) -> Tell:
    """Where another driver is named, sectors are compared with theirs."""
    return lambda view: duel(tell_sectors)(view) if view.name != "own" else tell(view)


_TELLS: Final[Mapping[NeedKind, Tell]] = {
    "ideal_lap": _tell_ideal,
    "ideal_honest": _tell_honest,
    "theory": _tell_theory,
    "sector_times": _or_against(_tell_times),
    "sector_rank": _or_against(_tell_rank),
    "sector_explain": _or_against(_tell_explain),
    "lap_goal": _tell_goal,
}
TELLERS: Final[Tellers] = {kind: teller(tell) for kind, tell in _TELLS.items()}
