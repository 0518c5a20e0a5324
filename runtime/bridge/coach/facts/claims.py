"""What the driver claims, held against the data: confirmed, or corrected with the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from runtime.bridge.analysis.losses import best_passes, losses_between, usual_passes
from runtime.bridge.analysis.quantities import known_corners, passes_in
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.judgements import SMALL_S, tell_judge
from runtime.bridge.coach.facts.measures import (
    APART,
    ORDERED,
    RISES,
    Spread,
    beside,
    end_of,
    is_high,
    label,
    measured,
    spread,
    tell_measure,
)
from runtime.bridge.coach.facts.reviews import TELLERS as REVIEWS
from runtime.bridge.coach.facts.view import Facts, View
from runtime.bridge.coach.need import UNITS, Lap, Order, Slots
from runtime.bridge.coach.scene import Scene, Tellers
from runtime.bridge.session.definitions import FULL_PCT

_NONE: Final[Mapping[str, float]] = {"coasting": 0.3, "corrections": 0.5, "brake_time": 0.05}
"""Up to so much counts as none, over a lap or in a corner."""
_BRAKING: Final = ("brake_point", "brake_pressure", "brake_time")
_PLACES: Final = ("brake_point", "brake_release", "throttle_point", "speed")
"""What is meant to be the same on every lap."""
_LAPS: Final[Mapping[Lap, Order]] = {"best": "least", "slowest": "most"}
"""Which end of the lap times a lap has that is named so."""
_FEW: Final = 4
"""More laps than that are counted, not named."""


def tell_claim(view: View) -> Facts:
    """The claim beside the measures, by what it names: drivers, laps, amounts, a rank, a share."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, where = slots.quantity or "time", (*slots.corners, *slots.straights, None)[0]
    laps = () if slots.all_laps else view.listed
    ordered = slots.order in ORDERED
    if quantity == "time" and where and passes_in(drive, where) and not laps:
        return _check_loss(view, where)
    plain = not (ordered or slots.amounts or rivals)
    same = plain and slots.order == "each" and quantity in _PLACES
    if plain and not same and quantity in ("throttle", "full_throttle") and passes_in(drive, where):
        quantity = "throttle"
    elif plain and not same and quantity in _BRAKING:
        quantity = "brake_time"
    found = spread(drive, quantity, where, None if plain and not same else slots.spot)
    if found is None:
        return tell_measure(view)
    if same:
        return (_check_same(view, found),)
    if plain and quantity == "throttle" and found.corner:
        return (_check_flat(view, found, laps),)
    if plain and quantity in _NONE:
        return (_check_some(view, found, laps),)
    if rivals and (theirs := spread(rivals[0][1], quantity, where, found.spot)):
        best = quantity == "time" and where is None
        own, other = (s.find(s.top(high=False)) if best else s.usual for s in (found, theirs))
        pair = ("best" if best else "usual", view.scene.driver, rivals[0][0])
        return (_compare(view, found, (own, other), pair),)
    ranks = [_LAPS[lap] for lap in slots.laps if lap in _LAPS]
    numbers = [lap for lap in slots.laps if isinstance(lap, int)]
    if quantity == "time" and where is None and ranks and numbers:
        return (_check_rank(view.about(order=ranks[0]), found, numbers),)
    if len(laps) == 2 and ordered:
        pair = ("laps", str(laps[0]), str(laps[1]))
        return (_compare(view, found, (found.find(laps[0]), found.find(laps[1])), pair),)
    if any(amount.unit == found.unit for amount in slots.amounts):
        if found.corner and slots.order in ("early", "late"):  # so much too early, not so far off
            return tell_judge(view.about(quantity=quantity))
        return (_check_amount(view, found, laps),)
    if ordered and (laps or found.corner):
        return (_check_rank(view, found, laps),)
    return tell_measure(view)


def _verdict(view: View, *, right: bool) -> Term:
    return Term("claim", "right" if right != view.slots.negated else "wrong")


def _check_flat(view: View, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether the throttle stayed open in a corner, by its lowest reading there."""
    values = found.of(laps)
    lifted = [lap for lap, value in values.items() if value.number < FULL_PCT]
    least = min(values, key=lambda lap: values[lap].number)
    flat = not (view.slots.negated and view.slots.quantity == "full_throttle")
    verdict = "right" if flat != bool(lifted) else "wrong"
    verdict = "partly" if flat and 0 < len(lifted) < len(values) else verdict
    many = "all" if 0 < len(lifted) == len(values) > 1 else "many" if len(lifted) > _FEW else "few"
    told: dict[str, Cell] = {**label(found), "verdict": Term("claim", verdict)}
    told |= {"laps": tuple(lifted), "lifted": many if lifted else "none", "number": len(lifted)}
    told |= {"count": len(values), "least": values[least], "lap": least}
    return view.fact("claim-flat", told, lifted[:_FEW], found.where)


def _check_same(view: View, found: Spread) -> Fact:
    """Whether a place or a speed was the same on every lap, as far as that can be told."""
    numbers = [value.number for value in found.values.values()]
    so = max(numbers) - min(numbers) < 2 * APART[found.unit]
    return _range(view, found, (), "width", so=so)


def _check_some(view: View, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether there was any of it: coasting, braking, corrections."""
    numbers = [value.number for value in found.of(laps).values()]
    some = sum(number > _NONE[found.quantity] for number in numbers)
    every = view.slots.all_laps and not view.slots.negated
    return _range(view, found, laps, "some", some, so=some == len(numbers) if every else some > 0)


def _check_amount(view: View, found: Spread, laps: Sequence[int]) -> Fact:
    """A number that the driver names, beside the values."""
    slots = view.slots
    amount = next(each for each in slots.amounts if each.unit == found.unit).number
    numbers = [value.number for value in found.of(laps).values()]
    hits = sum(abs(number - amount) <= APART[found.unit] for number in numbers)
    if slots.order in ORDERED:
        above = is_high(found.quantity, slots.order)
        hits = sum((number >= amount) == above for number in numbers)
    so = hits == len(numbers) if slots.all_laps or laps else hits > 0
    return _range(view, found, laps, "so", hits, so=so)


def _range(
    view: View,
    found: Spread,
    laps: Sequence[int],
    asked: Literal["width", "some", "so"],
    hits: int = 0,
    *,
    so: bool,
) -> Fact:
    """The usual, the smallest and the largest value: how wide apart they are, or on how many of the
    laps it was so."""
    values = found.of(laps)
    top = max(values, key=lambda lap: values[lap].number)
    bottom = min(values, key=lambda lap: values[lap].number)
    width = Value(values[top].number - values[bottom].number, UNITS[found.quantity])
    side, (usual, most, least) = beside(found.quantity, found.usual, values[top], values[bottom])
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(view, right=so), "side": side}
    told |= {"usual": usual, "most": most, "lap": top, "least": least, "other_lap": bottom}
    told |= {"asked": asked, "width": width, "hits": hits, "count": len(values)}
    return view.fact("claim-range", told, (top, bottom), found.where)


def _compare(
    view: View, found: Spread, values: tuple[Value, Value], pair: tuple[str, str, str]
) -> Fact:
    """Two values beside each other; the *pair*: which laps of two drivers, or two laps."""
    quantity, apart = found.quantity, values[0].number - values[1].number
    level = abs(apart) < APART[found.unit]
    order = view.slots.order if view.slots.order in ORDERED else "high"
    so = not level and (apart > 0) == is_high(quantity, order)
    side, (own, theirs) = beside(quantity, *values)
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(view, right=so)}
    told |= dict(zip(("pair", "first", "other"), pair, strict=True))
    told |= {"own": own, "theirs": theirs, "side": side}
    told |= {"difference": Value(abs(apart), UNITS[quantity])}
    told["compared"] = "level" if level else end_of(quantity, high=apart > 0)
    other = "" if pair[0] == "laps" else pair[2]
    return view.fact("claim-compared", told, where=found.where, other=other)


def _check_rank(view: View, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether a lap, or a corner, is the one where a quantity is largest or smallest."""
    drive, quantity, where, spot, _ = found
    rank: dict[str | int, Value] = dict(found.values.items())
    named: str | int = laps[0] if laps else where or ""
    if not laps:
        bends = [spread(drive, quantity, bend.name, spot) for bend in known_corners(drive)]
        rank = {bend.where or "": bend.usual for bend in bends if bend}
    high = is_high(quantity, view.slots.order)
    own = rank.get(named, found.usual)
    first = (max if high else min)(rank, key=lambda each: rank[each].number)
    so = first == named or abs(own.number - rank[first].number) < APART[found.unit] / 10
    side, (shown, best) = beside(quantity, own, rank[first])
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(view, right=so), "side": side}
    told |= {"own": shown, "best": best, "end": Term("end", end_of(quantity, high=high))}
    told |= {"same": "yes" if so else "no", "lap": laps[0] if laps else 0}
    told["first"] = Corner(first) if isinstance(first, str) else first
    return view.fact("claim-lap" if laps else "claim-corner", told, laps[:1], where)


def _check_loss(view: View, where: str) -> Facts:
    """Whether a corner is the best or the worst one, or better than a rival's, by its time lost."""
    drive, order = view.drive, view.slots.order
    name, rival = (*view.rivals, ("", drive))[0]
    other = usual_passes(rival) if name else best_passes(drive)
    losses = losses_between(usual_passes(drive), other, drive, rival)  # the most first
    ranked = [loss.corner for loss in losses]
    if where not in ranked:
        return tell_measure(view)
    loss = losses[ranked.index(where)].seconds
    so = loss < -SMALL_S if name else loss <= losses[-1].seconds + SMALL_S
    if order in RISES:  # more time
        so = loss > SMALL_S if name else ranked[0] == where
    elif order not in ORDERED:
        so = loss > SMALL_S
    sign = "lost" if loss > SMALL_S else "gained" if loss < -SMALL_S else "level"
    told: dict[str, Cell] = {"verdict": _verdict(view, right=so), "where": Corner(where)}
    told |= {"loss": Value(abs(loss), "s"), "sign": sign, "other": name}
    told |= {"against": "usual_other" if name else "best_pass"}
    told |= {"rank": ranked.index(where) + 1, "count": len(losses), "worst": Corner(ranked[0])}
    told["worst_loss"] = Value(losses[0].seconds, "s")
    gain = loss if sign == "lost" else None
    return (view.fact("claim-loss", told, where=where, other=name, gain_s=gain),)


_CHECKED: Final = measured(tell_claim, default="time")


def _check(scene: Scene, slots: Slots) -> Facts:
    """Where neither a quantity nor an order is named, that a corner was good; of what is denied or
    said of every lap without a quantity nothing is known but how the corner went."""
    if slots.quantity is None and slots.order is None and slots.corners:
        if slots.negated or slots.all_laps:
            return REVIEWS["corner_review"](scene, slots)
        slots = replace(slots, order="most")
    return _CHECKED(scene, slots)


TELLERS: Final[Tellers] = {"claim": _check}
