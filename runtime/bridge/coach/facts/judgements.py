"""Whether a quantity is early, late, high or low against a reference, and how much it varies."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.losses import (
    best_passes,
    losses_between,
    passes_of_lap,
    stand_in,
    usual_passes,
)
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.quantities import CORNERS_ONLY, known_corners
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.general import NO_CORNERS
from runtime.bridge.coach.facts.measures import (
    APART,
    RISES,
    Spread,
    beside,
    end_of,
    is_high,
    label,
    measure,
    measured,
    places_of,
    spread,
    tell_laps,
    tell_nothing,
)
from runtime.bridge.coach.facts.view import Facts, View
from runtime.bridge.coach.need import UNITS, Order, Quantity, Spot
from runtime.bridge.coach.scene import Tellers
from runtime.bridge.session.stats import deviation
from runtime.bridge.session.units import KMH

_SAYS: Final[tuple[Order, ...]] = ("early", "late", "high", "low", "more", "fewer")
"""With these a question asks whether it is so."""
FEW_LAPS: Final = 3
SMALL_S: Final = 0.02
"""A corner that costs less costs nothing."""


_Side: TypeAlias = tuple[Drive, Mapping[str, Pass]]
"""A drive and the passes that stand for it."""


class Target(NamedTuple):
    """What a value is judged against."""

    value: Value
    against: str
    """Key of the message ``judge``."""
    lap: int = 0
    other: str = ""
    loss_s: float | None = None
    """What the corner costs against it."""


def tell_judge(view: View) -> Facts:
    """Whether a quantity is so at the places named; else in which corners."""
    slots, drive = view.slots, view.drive
    quantity, spot, places = slots.quantity or "speed", slots.spot, places_of(drive, slots)
    lap = next(iter(view.listed), stand_in(drive))
    everywhere = places == (None,) and (quantity in CORNERS_ONLY or spot not in (None, "lap"))
    if everywhere:
        places = tuple(corner.name for corner in known_corners(drive))
    judged: list[Fact] = []
    for where in places:
        found = spread(drive, quantity, where, spot)
        target = find_target(view, found, lap) if found is not None else None
        if found is None:
            judged.append(tell_nothing(view, Spread(drive, quantity, where, spot, {})))
        elif target is None:
            judged.append(tell_laps(view, found))
        else:
            judged.append(_judge(view, found, target, lap))
    weighed = [each for each in judged if each.kind == "judge"]
    if not everywhere or not weighed:
        return tuple(judged)
    guilty = [each for each in weighed if each.gain_s is not None]
    if slots.order in _SAYS:
        guilty = [each for each in guilty if each.values["verdict"] == Term("verdict", "yes")]
    if guilty:
        return tuple(sorted(guilty, key=lambda each: -(each.gain_s or 0.0))[:3])
    return (view.fact("judge-nowhere", {**weighed[0].values, "count": len(weighed)}),)


def find_target(view: View, found: Spread, lap: int = 0) -> Target | None:
    """The named rival's usual lap; else the quickest pass of the corner there is, the driver's own
    or a rival's; else what the circuit's file has; of a straight or a lap the best lap."""
    drive, quantity, where, spot, _ = found
    named = view.rivals
    alone = len(found.values) < 2
    if not found.corner or where is None:
        for name, rival in named:
            if theirs := spread(rival, quantity, where, spot):
                return Target(theirs.usual, "usual_other", 0, name)
        best = drive.best.number or 0
        return None if alone else Target(found.find(best), "best_lap", best)
    own = passes_of_lap(drive, lap) if lap else usual_passes(drive)
    best_own = best_passes(drive)
    for name, rival in named or [(name, each.drive) for name, each in view.scene.rivals.items()]:
        passes = usual_passes(rival) if named else best_passes(rival)
        ahead = _cost((drive, best_own), (rival, passes), where) or 0.0
        theirs = spread(rival, quantity, where, spot)
        if theirs is None or where not in passes or not (named or ahead > APART["s"]):
            continue
        cost = _cost((drive, own), (rival, passes), where)
        if named:
            return Target(theirs.usual, "usual_other", 0, name, cost)
        its = passes[where].lap
        return Target(theirs.find(its), "best_other", its, name, cost)
    if where in own and where in best_own and not alone:
        cost, its = _cost((drive, own), (drive, best_own), where), best_own[where].lap
        return Target(found.find(its), "best_pass", its, "", cost)
    bend = next(each for each in drive.corners if each.name == where)
    if quantity == "speed" and bend.speeds is not None:
        speed = getattr(bend.speeds, spot if spot in ("entry", "exit") else "apex")
        return Target(Value(speed * KMH, "km/h"), "plan")
    if quantity == "brake_point" and bend.brake is not None:
        return Target(Value(bend.brake.before_entry_m, "m"), "plan")
    return None


def _cost(own: _Side, other: _Side, where: str) -> float | None:
    """What a corner costs one side against the other, seconds."""
    (drive, mine), (rival, theirs) = own, other
    if where not in mine or where not in theirs:
        return None
    losses = losses_between({where: mine[where]}, {where: theirs[where]}, drive, rival)
    return losses[0].seconds if losses else None


def _judge(view: View, found: Spread, target: Target, lap: int) -> Fact:
    """The value beside its target, and whether it is what was asked."""
    quantity, own, loss = found.quantity, found.find(lap), target.loss_s
    order = view.slots.order
    apart = own.number - target.value.number
    level = abs(apart) < APART[found.unit]
    lost = "unknown" if loss is None else "yes" if loss >= SMALL_S else "no"
    if loss is not None and loss <= -SMALL_S:
        lost = "gained"
    verdict = "plain"
    if order in _SAYS:
        so = not level and (apart > 0) == is_high(quantity, order)
        verdict = "no" if not so else "yes" if lost in ("yes", "unknown") else "plain"
    side, (shown, aim) = beside(quantity, own, target.value)
    values: dict[str, Cell] = {**label(found), "verdict": Term("verdict", verdict), "lap": lap}
    values |= {"own": shown, "target": aim, "side": side, "against": target.against}
    values |= {"other": target.other, "target_lap": target.lap, "lost": lost}
    values |= {"difference": Value(abs(apart), UNITS[quantity])}
    values |= {"loss": Value(abs(loss or 0.0), "s")}
    values["compared"] = "level" if level else end_of(quantity, high=apart > 0)
    bases: Mapping[str, Basis] = {"best_lap": "best_lap", "best_pass": "best_pass"}
    return view.fact(
        "judge",
        values,
        (lap,) if lap else (),
        found.where,
        basis="theory" if target.against == "plan" else bases.get(target.against, "driver"),
        other=target.other,
        gain_s=loss if lost == "yes" and not level else None,
    )


def tell_spread(view: View) -> Facts:
    """The least and the most repeatable corner, by time or by the quantity; or a named one."""
    slots, drive = view.slots, view.drive
    few = view.fact("spread-few", {"count": len(drive.counted)})
    if not known_corners(drive):
        return (NO_CORNERS,)
    if len(drive.counted) < FEW_LAPS:
        return (few,)
    if slots.corners:
        return tuple(_varies(view, name) for name in slots.corners[:3])
    quantity, spot = slots.quantity or "time", slots.spot
    drives = [(view.scene.driver, drive), *view.rivals]
    told: Facts = ()
    for name, each in drives:
        corners = _deviations(each, quantity, spot, view.listed)
        if len(corners) < 2:
            continue
        least = max(corners, key=lambda corner: corners[corner])
        most = min(corners, key=lambda corner: corners[corner])
        values = label(Spread(drive, quantity, least, spot, {}))
        values |= {"corner": Corner(least), "value": Value(corners[least], UNITS[quantity])}
        values |= {"steady": Corner(most), "steady_value": Value(corners[most], UNITS[quantity])}
        values |= {"count": len(each.counted), "driver": name}
        values["first"] = "steady" if slots.order in RISES else "loose"
        kind = "spread-driver" if len(drives) > 1 else "spread-corners"
        other = name if each is not drive else ""
        told += (view.fact(kind, values, where=least, other=other),)
        told += _without(view, quantity, spot, least) if each is drive else ()
    return told or (few,)


def _deviations(
    drive: Drive, quantity: Quantity, spot: Spot | None, laps: Sequence[int] = ()
) -> dict[str, float]:
    """The standard deviation of a quantity over the laps, by corner."""
    deviations = {}
    for corner in known_corners(drive):
        values = measure(drive, quantity, corner.name, spot)
        numbers = [v.number for lap, v in values.items() if not laps or lap in laps]
        if len(numbers) >= FEW_LAPS:
            deviations[corner.name] = deviation(numbers, sample=True) or 0.0
    return deviations


def _without(view: View, quantity: Quantity, spot: Spot | None, corner: str) -> Facts:
    """The lap that makes a corner the least repeatable, where it is one lap alone."""
    drive = view.drive
    values = measure(drive, quantity, corner, spot)
    usual = Spread(drive, quantity, corner, spot, values).usual.number
    worst = max(values, key=lambda lap: abs(values[lap].number - usual))
    rest = _deviations(drive, quantity, spot, [lap for lap in values if lap != worst])
    after = max(rest, key=lambda each: rest[each], default=corner)
    whole = deviation([value.number for value in values.values()], sample=True) or 0.0
    if after == corner or rest.get(corner, whole) > whole / 2:
        return ()
    unit = UNITS[quantity]
    told: dict[str, Cell] = {"lap": worst, "corner": Corner(corner), "next": Corner(after)}
    told |= {"value": Value(rest[corner], unit), "next_value": Value(rest[after], unit)}
    return (view.fact("spread-without", told, (worst,), after),)


def _varies(view: View, corner: str) -> Fact:
    """How much a corner differs from lap to lap: its time, and another quantity of it."""
    drive, slots = view.drive, view.slots
    quantity: Quantity = "speed" if slots.quantity in (None, "time") else slots.quantity
    times, spreads = _deviations(drive, "time", None), _deviations(drive, quantity, slots.spot)
    own = times.get(corner, 0.0)
    values = label(Spread(drive, quantity, corner, slots.spot, {}))
    values |= {"value": Value(own, "s"), "told": "yes" if corner in spreads else "no"}
    values |= {"other_value": Value(spreads.get(corner, 0.0), UNITS[quantity])}
    values |= {"rank": sum(each > own for each in times.values()) + 1, "corners": len(times)}
    return view.fact("spread-corner", {**values, "count": len(drive.counted)}, where=corner)


TELLERS: Final[Tellers] = {
    "measure_judge": measured(tell_judge, default="speed"),
    "corner_spread": measured(tell_spread, default="time", best=False),
}
