"""Whether something was so that the driver says: right, or put right with the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.quantities import known_corners, passes_in
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts import reviews
from runtime.bridge.coach.facts.judgements import SMALL_S, tell_judge
from runtime.bridge.coach.facts.losses import best_passes, losses_between, usual_passes
from runtime.bridge.coach.facts.measures import (
    APART,
    ORDERED,
    RISES,
    UNITS,
    Spread,
    beside,
    end_of,
    fact,
    is_high,
    label,
    list_laps,
    list_rivals,
    on_drive,
    spread,
    tell_measure,
)
from runtime.bridge.coach.need import Lap, Order, Slots
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


def tell_claim(scene: Scene, slots: Slots, drive: Drive) -> tuple[Fact, ...]:
    """The claim beside the measures, by what it names: drivers, laps, amounts, a rank, a share."""
    quantity, where = slots.quantity or "time", (*slots.corners, *slots.straights, None)[0]
    laps = () if slots.all_laps else list_laps(drive, slots)
    rivals, ordered = list_rivals(scene, slots), slots.order in ORDERED
    if quantity == "time" and where and passes_in(drive, where) and not laps:
        return _check_loss(scene, slots, drive, where)
    plain = not (ordered or slots.amounts or rivals)
    if plain and slots.order == "each" and quantity in _PLACES:
        same = spread(drive, quantity, where, slots.spot)
        return (_check_same(scene, slots, same),) if same else tell_measure(scene, slots, drive)
    if plain and quantity in ("throttle", "full_throttle") and passes_in(drive, where):
        quantity = "throttle"
    elif plain and quantity in _BRAKING:
        quantity = "brake_time"
    found = spread(drive, quantity, where, None if plain else slots.spot)
    if found is None:
        return tell_measure(scene, slots, drive)
    if plain and quantity == "throttle" and found.corner:
        return (_check_flat(scene, slots, found, laps),)
    if plain and quantity in _NONE:
        return (_check_some(scene, slots, found, laps),)
    if rivals and (theirs := spread(rivals[0][1], quantity, where, found.spot)):
        best = quantity == "time" and where is None
        own, other = (s.find(s.top(high=False)) if best else s.usual for s in (found, theirs))
        pair = {"pair": "best" if best else "usual", "first": scene.driver, "other": rivals[0][0]}
        return (_compare(scene, slots, found, (own, other), pair),)
    ranks = [_LAPS[lap] for lap in slots.laps if lap in _LAPS]
    if quantity == "time" and where is None and ranks and (numbers := _numbers_in(slots)):
        return (_check_rank(scene, replace(slots, order=ranks[0]), found, numbers),)
    if len(laps) == 2 and ordered:
        pair = {"pair": "laps", "first": str(laps[0]), "other": str(laps[1])}
        return (_compare(scene, slots, found, (found.find(laps[0]), found.find(laps[1])), pair),)
    if any(amount.unit == found.unit for amount in slots.amounts):
        if found.corner and slots.order in ("early", "late"):  # so much too early, not so far off
            return tell_judge(scene, replace(slots, quantity=quantity), drive)
        return (_check_amount(scene, slots, found, laps),)
    if ordered and (laps or found.corner):
        return (_check_rank(scene, slots, found, laps),)
    return tell_measure(scene, slots, drive)


def _numbers_in(slots: Slots) -> list[int]:
    """The laps that are named by number."""
    return [lap for lap in slots.laps if isinstance(lap, int)]


def _check_same(scene: Scene, slots: Slots, found: Spread) -> Fact:
    """Whether a place or a speed was the same on every lap, as far as that can be told."""
    top, bottom = found.top(), found.top(high=False)
    most, least = found.values[top], found.values[bottom]
    width = most.number - least.number
    side, (usual, most, least) = beside(found.quantity, found.usual, most, least)
    told: dict[str, Cell] = {**label(found), "side": side, "usual": usual}
    told |= {"verdict": _verdict(slots, right=width < 2 * APART[found.unit])}
    told |= {"most": most, "lap": top, "least": least, "other_lap": bottom}
    told |= {"width": Value(width, UNITS[found.quantity]), "count": len(found.values)}
    return fact(scene, "claim-same", told, found.where, (top, bottom))


def _verdict(slots: Slots, *, right: bool) -> Term:
    return Term("claim", "right" if right != slots.negated else "wrong")


def _check_flat(scene: Scene, slots: Slots, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether the throttle stayed open in a corner, by its lowest reading there."""
    values = found.of(laps)
    lifted = [lap for lap, value in values.items() if value.number < FULL_PCT]
    least = min(values, key=lambda lap: values[lap].number)
    flat = not (slots.negated and slots.quantity == "full_throttle")
    verdict = "right" if flat != bool(lifted) else "wrong"
    verdict = "partly" if flat and 0 < len(lifted) < len(values) else verdict
    many = "all" if 0 < len(lifted) == len(values) > 1 else "many" if len(lifted) > _FEW else "few"
    told: dict[str, Cell] = {**label(found), "verdict": Term("claim", verdict)}
    told |= {"laps": tuple(lifted), "lifted": many if lifted else "none", "number": len(lifted)}
    told |= {"count": len(values), "least": values[least], "lap": least}
    return fact(scene, "claim-flat", told, found.where, lifted[:_FEW])


def _check_some(scene: Scene, slots: Slots, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether there was any of it: coasting, braking, corrections."""
    values = found.of(laps)
    some = [lap for lap, value in values.items() if value.number > _NONE[found.quantity]]
    every = slots.all_laps and not slots.negated
    so = len(some) == len(values) if every else bool(some)
    most = max(values, key=lambda lap: values[lap].number)
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(slots, right=so)}
    told |= {"usual": found.usual, "value": values[most], "lap": most}
    told |= {"some": len(some), "count": len(values)}
    return fact(scene, "claim-some", told, found.where)


def _compare(
    scene: Scene, slots: Slots, found: Spread, values: tuple[Value, Value], pair: Mapping[str, str]
) -> Fact:
    """Two values beside each other, of two drivers or two laps."""
    quantity, apart = found.quantity, values[0].number - values[1].number
    level = abs(apart) < APART[found.unit]
    order = slots.order if slots.order in ORDERED else "high"
    so = not level and (apart > 0) == is_high(quantity, order)
    side, (own, theirs) = beside(quantity, *values)
    told: dict[str, Cell] = {**label(found), **pair, "verdict": _verdict(slots, right=so)}
    told |= {"own": own, "theirs": theirs, "side": side}
    told |= {"difference": Value(abs(apart), UNITS[quantity])}
    told["compared"] = "level" if level else end_of(quantity, high=apart > 0)
    other = "" if pair["pair"] == "laps" else pair["other"]
    return fact(scene, "claim-compared", told, found.where, other=other)


def _check_amount(scene: Scene, slots: Slots, found: Spread, laps: Sequence[int]) -> Fact:
    """A number that the driver names, beside the values."""
    amount = next(each for each in slots.amounts if each.unit == found.unit).number
    values = found.of(laps)
    top = max(values, key=lambda lap: values[lap].number)
    bottom = min(values, key=lambda lap: values[lap].number)
    numbers = [value.number for value in values.values()]
    above = is_high(found.quantity, slots.order)
    hits = sum(abs(number - amount) <= APART[found.unit] for number in numbers)
    if slots.order in ORDERED:
        hits = sum((number >= amount) == above for number in numbers)
    so = hits == len(values) if slots.all_laps or laps else hits > 0
    side, (usual, most, least) = beside(found.quantity, found.usual, values[top], values[bottom])
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(slots, right=so), "side": side}
    told |= {"usual": usual, "most": most, "lap": top, "least": least, "other_lap": bottom}
    told |= {"hits": hits, "count": len(values)}
    return fact(scene, "claim-amount", told, found.where, (top, bottom))


def _check_rank(scene: Scene, slots: Slots, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether a lap, or a corner, is the one where a quantity is largest or smallest."""
    drive, quantity, where, spot, _ = found
    rank: dict[str | int, Value] = dict(found.values.items())
    named: str | int = laps[0] if laps else where or ""
    if not laps:
        bends = [spread(drive, quantity, bend.name, spot) for bend in known_corners(drive)]
        rank = {bend.where or "": bend.usual for bend in bends if bend}
    high = is_high(quantity, slots.order)
    own = rank.get(named, found.usual)
    first = (max if high else min)(rank, key=lambda each: rank[each].number)
    so = first == named or abs(own.number - rank[first].number) < APART[found.unit] / 10
    side, (shown, best) = beside(quantity, own, rank[first])
    told: dict[str, Cell] = {**label(found), "verdict": _verdict(slots, right=so), "side": side}
    told |= {"own": shown, "best": best, "end": Term("end", end_of(quantity, high=high))}
    told |= {"same": "yes" if so else "no", "lap": laps[0] if laps else 0}
    told["first"] = Corner(first) if isinstance(first, str) else first
    return fact(scene, "claim-lap" if laps else "claim-corner", told, where, laps[:1])


def _check_loss(scene: Scene, slots: Slots, drive: Drive, where: str) -> tuple[Fact, ...]:
    """Whether a corner is the best or the worst one, or better than a rival's, by its time lost."""
    name, rival = (*list_rivals(scene, slots), ("", drive))[0]
    other = usual_passes(rival) if name else best_passes(drive)
    losses = losses_between(usual_passes(drive), other, drive, rival)  # the most first
    ranked = [loss.corner for loss in losses]
    if where not in ranked:
        return tell_measure(scene, slots, drive)
    loss = losses[ranked.index(where)].seconds
    so = loss < -SMALL_S if name else loss <= losses[-1].seconds + SMALL_S
    if slots.order in RISES:  # more time
        so = loss > SMALL_S if name else ranked[0] == where
    elif slots.order not in ORDERED:
        so = loss > SMALL_S
    sign = "lost" if loss > SMALL_S else "gained" if loss < -SMALL_S else "level"
    told: dict[str, Cell] = {"verdict": _verdict(slots, right=so), "where": Corner(where)}
    told |= {"loss": Value(abs(loss), "s"), "sign": sign, "other": name}
    told |= {"against": "usual_other" if name else "best_pass"}
    told |= {"rank": ranked.index(where) + 1, "count": len(losses), "worst": Corner(ranked[0])}
    told["worst_loss"] = Value(losses[0].seconds, "s")
    gain = loss if sign == "lost" else None
    return (fact(scene, "claim-loss", told, where, other=name, gain_s=gain),)


_CHECKED: Final = on_drive(tell_claim, default="time")


def _check(scene: Scene, slots: Slots) -> tuple[Fact, ...]:
    """Where neither a quantity nor an order is named, that a corner was good; of what is denied or
    said of every lap without a quantity nothing is known but how the corner went."""
    if slots.quantity is None and slots.order is None and slots.corners:
        if slots.negated or slots.all_laps:
            return reviews.TELLERS["corner_review"](scene, slots)
        slots = replace(slots, order="most")
    return _CHECKED(scene, slots)


TELLERS: Final[Tellers] = {"claim": _check}
