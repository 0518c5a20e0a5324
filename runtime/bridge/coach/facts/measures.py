"""How large a quantity was at a place: on the laps asked for, beside a rival's, ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.losses import USUAL_LAPS, stand_in
from runtime.bridge.analysis.quantities import (
    AT_SPOTS,
    CORNERS_ONLY,
    MEANS,
    SUMS,
    corner_before,
    find_straight,
    is_missing,
    known_corners,
    measure_laps,
    passes_in,
    peak_place,
    straight_beside,
)
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Unit, Value
from runtime.bridge.coach.facts import reviews
from runtime.bridge.coach.facts.general import NO_CORNERS, not_recorded
from runtime.bridge.coach.facts.view import Facts, Tell, View, teller
from runtime.bridge.coach.need import UNITS, Order, Quantity, Slots, Spot
from runtime.bridge.coach.scene import Teller, Tellers

APART: Final[Mapping[Unit, float]] = {
    "km/h": 1.0,
    "m": 3.0,
    "bar": 2.0,
    "bar/s": 5.0,
    "s": 0.05,
    "lap_time": 0.05,
    "g": 0.03,
    "%": 4.0,
    "deg": 3.0,
    "rpm": 50.0,
    "deg/s": 2.0,
    "": 1.0,
}
"""What is less than that apart is level."""
_SIDES: Final[Mapping[str, tuple[str, str]]] = {
    "brake_point": ("before-entry", "after-entry"),
    "brake_release": ("after-entry", "before-entry"),
    "throttle_point": ("after-apex", "before-apex"),
}
"""On which side of what a place lies: of positive metres and of negative ones."""
_LATE_IF_MORE: Final = ("brake_release", "throttle_point")
RISES: Final[tuple[Order, ...]] = ("most", "high", "more")
FALLS: Final[tuple[Order, ...]] = ("least", "low", "fewer")
ORDERED: Final[tuple[Order, ...]] = (*RISES, *FALLS, "early", "late")
"""With these one end of the values is asked for."""
_OTHER_END: Final[Mapping[Order, Order]] = {
    "most": "least",
    "high": "low",
    "more": "fewer",
    "least": "most",
    "low": "high",
    "fewer": "more",
    "worst": "most",
}
_GOOD_IF_MORE: Final = ("speed", "throttle", "full_throttle", "accel_g", "lateral_g", "total_g")
CORNER_SPOTS: Final = ("entry", "apex", "exit")


class Spread(NamedTuple):
    """What a quantity was at a place, by lap number."""

    drive: Drive
    quantity: Quantity
    where: str | None
    spot: Spot | None
    values: Mapping[int, Value]

    @property
    def unit(self) -> Unit:
        """Of every value."""
        return "lap_time" if self.quantity == "time" and not self.where else UNITS[self.quantity]

    @property
    def corner(self) -> bool:
        """Whether the place is a corner."""
        return bool(passes_in(self.drive, self.where))

    @property
    def usual(self) -> Value:
        """The median of the laps."""
        return Value(median(value.number for value in self.values.values()), self.unit)

    @property
    def peaks(self) -> bool:
        """Whether the value of a lap is its largest: of a straight or a whole lap."""
        return self.quantity not in (*SUMS, *MEANS) and not self.corner

    def top(self, *, high: bool = True) -> int:
        """The lap with the largest or smallest value, the earliest of equals."""
        return (max if high else min)(self.values, key=lambda lap: self.values[lap].number)

    def find(self, lap: int) -> Value:
        """The value of a lap; the usual one where that lap has none."""
        return self.values.get(lap, self.usual)

    def of(self, laps: Sequence[int]) -> dict[int, Value]:
        """The values of those laps; all where none is named or none of them has a value."""
        return {lap: v for lap, v in self.values.items() if lap in laps} or dict(self.values)


def measure(
    drive: Drive, quantity: Quantity, where: str | None = None, spot: Spot | None = None
) -> dict[int, Value]:
    """The quantity by lap in the corner or on the straight of that name, else over the whole lap.

    Empty where it was not recorded; what each quantity is at a place: `measure_laps`.
    """
    laps = measure_laps(drive, quantity, where, spot) if quantity in UNITS else {}
    unit = Spread(drive, quantity, where, spot, {}).unit if laps else ""
    return {lap: Value(number, unit) for lap, number in laps.items()}


def spread(drive: Drive, quantity: Quantity, where: str | None, spot: Spot | None) -> Spread | None:
    """The same with what is usual; None where no lap has a value."""
    values = measure(drive, quantity, where, spot)
    return Spread(drive, quantity, where, spot, values) if values else None


def measured(
    tell: Tell, *needed: Quantity, default: Quantity | None = None, best: bool = True
) -> Teller:
    """A teller of the asking driver's session that first says what was not recorded.

    What is asked for without a quantity is the *default*, at a spot the speed; *needed* are the
    quantities of the domain. *best*: whether "most" may mean the best of what is not named.
    """

    def answer(view: View) -> Facts:
        if default is not None:
            view = view._replace(slots=complete(view.slots, default, best=best))
        asked = (view.slots.quantity,) if default is not None and view.slots.quantity else ()
        for quantity in (*needed, *asked):
            if quantity not in UNITS or is_missing(view.drive, quantity):
                return (not_recorded(quantity),)
        placed = view.slots.corners or any(each in CORNERS_ONLY for each in (*needed, *asked))
        return (NO_CORNERS,) if placed and not known_corners(view.drive) else tell(view)

    return teller(answer, own=True)


def complete(slots: Slots, default: Quantity, *, best: bool) -> Slots:
    """With a quantity, and an end of its values for "worst"; where none is named the best time is
    the shortest."""
    order, quantity = slots.order, slots.quantity
    if quantity is None:
        quantity = default if slots.spot in (None, "lap") else "speed"
        if best and quantity == "time" and order is not None:
            order = _OTHER_END.get(order, order)
    if order == "worst":
        order = "least" if quantity in _GOOD_IF_MORE else "most"
    peak = quantity == "brake_pressure" and order == "most"  # which is before the entry
    return replace(slots, quantity=quantity, order=order, spot=None if peak else slots.spot)


def label(found: Spread) -> dict[str, Cell]:
    """The words for what is measured: ``where``, ``what`` and ``at``; ``few``: no usual lap."""
    _, quantity, where, spot, _ = found
    corner, what = found.corner, str(quantity)
    at = spot if corner and spot in CORNER_SPOTS and quantity in AT_SPOTS else None
    if quantity in ("speed", "time", "throttle"):
        what += "_corner" if corner else "_straight" if where else "_lap"
        what = "throttle_least" if what == "throttle_corner" and not at else what
        at = "apex" if what == "speed_corner" and not at else at
    place: Cell = Corner(where or "") if corner else where or Term("where", "lap")
    few = "yes" if len(found.drive.counted) < USUAL_LAPS else "no"
    told: dict[str, Cell] = {"what": Term("measured", what), "at": Term("at", at or "none")}
    return {"where": place, **told, "few": few}


def beside(quantity: str, *values: Value) -> tuple[Term, tuple[Value, ...]]:
    """On which side of the entry or the apex metres lie, by the first, and all as seen from it:
    on the other side they are less than nothing, which is said."""
    if quantity not in _SIDES:
        return Term("side", "none"), values
    behind = values[0].number < 0
    turned = tuple(Value(-v.number if behind else v.number, v.unit) for v in values)
    mixed = "-mixed" if any(v.number < 0 for v in turned) else ""
    return Term("side", _SIDES[quantity][behind] + mixed), turned


def is_high(quantity: Quantity, order: Order | None) -> bool:
    """Whether what is asked for is the largest value: an early brake point is many metres before
    the corner, an early throttle few behind the apex."""
    if order in ("early", "late"):
        return (order == "late") == (quantity in _LATE_IF_MORE)
    return order not in FALLS


def end_of(quantity: Quantity, *, high: bool) -> str:
    """Which end of the values it is: early, late, long, short, high, low."""
    if quantity in _SIDES:
        return "late" if high == (quantity in _LATE_IF_MORE) else "early"
    return (("long", "short") if UNITS[quantity] == "s" else ("high", "low"))[not high]


def places_of(drive: Drive, slots: Slots) -> tuple[str | None, ...]:
    """What is named: straights, those beside corners, corners; else the lap."""
    if slots.spot in ("straight", "after", "before"):
        behind = slots.spot != "before"
        roads = [straight_beside(drive, each, behind=behind) for each in slots.corners]
        if found := tuple(straight.name for straight in roads if straight):
            return found
    return (*slots.straights, *slots.corners) or (None,)


def tell_measure(view: View) -> Facts:
    """The quantity at the places that are named; of the whole lap where none is."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, places = slots.quantity or "time", places_of(drive, slots)
    if places == (None,) and (quantity in CORNERS_ONLY or slots.spot in CORNER_SPOTS):
        return tell_rank(view)
    told: list[Fact] = []
    for where in places[: 2 if rivals else 4]:
        found = spread(drive, quantity, where, slots.spot)
        if found is None:
            told.append(tell_nothing(view, Spread(drive, quantity, where, slots.spot, {})))
        elif rivals:
            told += [_against(view, found, *rival) for rival in rivals[:2]]
        else:
            told.append(tell_laps(view, found))
    if quantity == "time" and len(slots.corners) == 1 and places == slots.corners:
        beside_best = reviews.compare(view.scene, slots)
        lost = [loss for loss in beside_best.lost_here if loss.seconds >= reviews.WORTH_S]
        told += [beside_best.told("loss-with-straight", loss) for loss in lost]
    straight = find_straight(drive, places[0])
    bend = corner_before(drive, straight) if straight and quantity == "speed" and rivals else None
    if bend and (found := spread(drive, "speed", bend, "exit")):
        told.append(_against(view, found, *rivals[0]))
    return tuple(told)


def tell_nothing(view: View, found: Spread) -> Fact:
    """It was recorded, but there was none of it: no braking, a throttle that never closed."""
    words = label(found)
    least = spread(found.drive, "throttle", found.where, None)
    if found.quantity == "throttle_point" and least is not None:
        words["least"] = least.values[least.top(high=False)]
        return view.fact("measure-not-closed", words, where=found.where)
    words["count"] = len(found.drive.counted)
    return view.fact("measure-none", words, where=found.where)


def tell_laps(view: View, found: Spread) -> Fact:
    """The laps that are named; else a mean, a peak, a sum; else the best lap and the usual one."""
    drive, quantity, where, _, _ = found
    laps = [lap for lap in view.listed if lap in found.values]
    best, order = drive.best.number or 0, view.slots.order
    values: dict[str, Cell] = label(found)
    if order in ("mean", "total"):
        numbers = [value.number for value in found.of(laps).values()]
        mean = Value(sum(numbers) / len(numbers), found.unit)
        side, (mean, usual) = beside(quantity, mean, found.usual)
        values |= {"mean": mean, "usual": usual, "side": side, "count": len(numbers)}
        values["total"] = Value(sum(numbers), found.unit)
        total = order == "total" and quantity in SUMS
        return view.fact("measure-total" if total else "measure-mean", values, laps, where)
    if laps and laps != [best]:
        side, shown = beside(quantity, *(found.values[lap] for lap in laps), found.usual)
        values |= {"laps": tuple(laps), "values": shown[:-1], "count": len(laps)}
        values |= {"usual": shown[-1], "side": side}
        return view.fact("measure-laps", values, laps, where)
    if not laps and (order in ORDERED or found.peaks):
        high = is_high(quantity, order)
        lap = found.top(high=high)
        side, shown = beside(quantity, found.values[lap], found.usual)
        spot = peak_place(drive, quantity, lap) if where is None and high else None
        placed: Cell = "" if spot is None else Corner(spot) if passes_in(drive, spot) else spot
        values |= {"value": shown[0], "usual": shown[1], "lap": lap, "side": side, "place": placed}
        values |= {"placed": "yes" if spot else "no"}
        values |= {"end": Term("end", end_of(quantity, high=high))}
        return view.fact("measure-peak", values, (lap,), where)
    side, shown = beside(quantity, found.find(best), found.usual)
    values |= {"best": shown[0], "usual": shown[1], "lap": best, "side": side}
    return view.fact("measure-best", values, (best,), where)


def _against(view: View, found: Spread, name: str, rival: Drive) -> Fact:
    """Two drivers beside each other: on the best lap or at the peak, and on the usual lap."""
    drive, quantity, where, spot, _ = found
    theirs = spread(rival, quantity, where, spot)
    values: dict[str, Cell] = {**label(found), "driver": view.scene.driver, "other": name}
    if theirs is None:
        return view.fact("measure-rival-none", values, where=where, other=name)
    high = is_high(quantity, view.slots.order)
    laps = [lap for lap in view.listed if lap in found.values]
    lap = found.top(high=high) if found.peaks else drive.best.number or 0
    lap = laps[0] if len(laps) == 1 else lap
    its = theirs.top(high=high) if found.peaks else rival.best.number or 0
    four = (found.find(lap), theirs.find(its), found.usual, theirs.usual)
    side, (own, target, usual, other_usual) = beside(quantity, *four)
    values |= {"own": own, "theirs": target, "lap": lap, "other_lap": its, "side": side}
    values |= {"usual": usual, "other_usual": other_usual}
    values["difference"] = Value(own.number - target.number, UNITS[quantity], signed=True)
    return view.fact("measure-rival", values, (lap,), where, other=name, basis="driver")


def tell_rank(view: View) -> Facts:
    """In which corner a quantity is largest or smallest; of a named corner on which lap."""
    slots, drive, laps = view.slots, view.drive, view.listed
    quantity, spot = slots.quantity or "time", slots.spot
    order = slots.order if slots.order in ORDERED else "most"
    ranked = view.about(order=order, laps=(), all_laps=False, without=())
    if len(slots.corners) == 1 or slots.straights:
        return tell_measure(ranked)
    if spot in ("straight", "lap") and not slots.corners and quantity not in CORNERS_ONLY:
        return tell_measure(ranked)
    if quantity == "time" and not slots.corners and known_corners(drive):
        return reviews.TELLERS["loss_rank"](view.scene, slots)  # not which corner is the longest
    high = is_high(quantity, order)
    names = slots.corners or tuple(corner.name for corner in known_corners(drive))
    lap = laps[0] if len(laps) == 1 else (stand_in(drive) and drive.best.number) or 0
    spreads = [each for name in names if (each := spread(drive, quantity, name, spot))]
    spreads.sort(key=lambda each: each.find(lap).number, reverse=high)
    lead: Facts = ()
    whole = None if slots.corners or spot or lap else spread(drive, quantity, None, None)
    if whole is not None and (high or not whole.peaks):
        lead = (tell_laps(ranked, whole),)
    if len(spreads) < 2:
        nothing = [Spread(drive, quantity, name, spot, {}) for name in names[:1]]
        return lead or tuple(tell_nothing(view, each) for each in nothing) or (NO_CORNERS,)
    first, second, last = spreads[0], spreads[1], spreads[-1]
    side, shown = beside(quantity, *(each.find(lap) for each in (first, second, last)))
    values: dict[str, Cell] = {**label(first), "lap": lap, "side": side, "count": len(spreads)}
    values |= {"second": Corner(second.where or ""), "last": Corner(last.where or "")}
    values |= {"value": shown[0], "second_value": shown[1], "last_value": shown[2]}
    values["end"] = Term("end", end_of(quantity, high=high))
    kind = "rank-level" if shown[0] == shown[-1] else "rank-corners"
    corner = view.fact(kind, values, laps[:1], first.where)
    others = tuple(_against(view, first, *rival) for rival in view.rivals[:1])
    fastest = quantity == "speed" and high
    return (*lead, corner, *others) if fastest else (corner, *others, *lead)


TELLERS: Final[Tellers] = {
    "measure": measured(tell_measure, default="time"),
    "measure_rank": measured(tell_rank, default="speed"),
}
