"""Answers about a quantity: its value on laps, against another lap, driver or pass, over all
corners, its variation, and whether a claim about it holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import find_dangers
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    choose_stand_in,
    find_best_passes,
    find_passes,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.quantities import (
    CORNERS_ONLY,
    SUMS,
    find_corners_beside,
    find_longest_full_throttle,
    find_passes_in,
    find_peak,
    find_straight,
    list_corners,
    name_sector,
)
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Placed, Term, Unit, Value
from runtime.bridge.coach.facts import knowledge, reviews
from runtime.bridge.coach.facts.measures import (
    APART,
    CORNER_SPOTS,
    ORDERED,
    RISES,
    SAYS,
    Spread,
    end_of,
    find_spread,
    is_high,
    label,
    measure,
    orient,
    places_of,
    require_recorded,
)
from runtime.bridge.coach.facts.view import (
    NO_CORNERS,
    Facts,
    View,
    asks_for_gains,
    fits_claim,
    judge,
    lap_time,
    numbers_of,
    pick_lap,
)
from runtime.bridge.coach.need import UNITS, Lap, Order, Quantity, Slots, Spot, Their
from runtime.bridge.coach.scene import Scene, Tellers
from runtime.bridge.session.definitions import FULL_PCT
from runtime.bridge.session.stats import deviation
from runtime.bridge.session.units import KMH

FEW_LAPS: Final = 3
MOST_PLACES: Final = 4
_NONE: Final[Mapping[str, float]] = {
    "coasting": 0.3,
    "corrections": 0.5,
    "brake_time": 0.05,
    "brakings": 0.5,
}
"""Up to this much counts as none, over a lap or in a corner."""
_HARD: Final = 0.7
"""Braking is hard from this share of the highest usual pressure on."""
_BRAKING: Final = ("brake_point", "brake_pressure", "brake_time", "brakings")
_PLACES: Final = ("brake_point", "brake_release", "throttle_point", "speed")
"""Quantities meant to be the same on every lap."""
_LAPS: Final[Mapping[Lap, Order]] = {"best": "least", "slowest": "most"}
"""The order of lap times that a lap's name stands for."""
JUDGED: Final = ("early", "late", "high", "low")
"""Orders that compare with a corner's best pass."""
_ROLLING: Final[Mapping[Quantity, int]] = {"coasting": 1, "full_throttle": -1}
"""What shows rolling or lifting on a straight, and whether more or less of it does."""
_ABOUT: Final = 0.25
"""Share of a claimed difference by which it may be off."""
_FEW: Final = 4
"""More laps than this are counted, not listed."""
_Passes: TypeAlias = tuple[Drive, Mapping[str, Pass]]
"""A drive and the passes that represent it."""
_Whose: TypeAlias = Literal["usual", "lap", "best_lap", "best_pass", "plan"]


_OF_SPOT: Final[Mapping[str, Quantity]] = {
    "before": "coasting",
    "entry": "coasting",
    "exit": "full_point",
}
"""What is told of a part of a corner whose time is to be explained."""
WAYS: Final[tuple[tuple[Quantity, Spot | None], ...]] = (
    ("brake_point", None),
    ("speed", "apex"),
    ("coasting", None),
    ("speed", "exit"),
    ("throttle_point", None),
)
"""Quantities in which two passes of a corner may differ."""


class Side(NamedTuple):
    """One side of a comparison."""

    value: Value
    of: _Whose = "usual"
    lap: int = 0
    driver: str = ""
    """Empty: the asking driver."""
    usual: Value | None = None
    """Mentioned too if the value is that of one lap."""


def tell(view: View) -> Facts:
    """Answer what the question asks of a quantity."""
    slots, rivals = view.slots, view.rivals
    apart = slots.laps or slots.which or slots.every_corner or slots.side
    if slots.alone and rivals and apart and slots.order not in SAYS:
        return tell(_view_rival(view))
    if rivals and _lists(slots) and not (slots.whether or slots.claims):
        words = tuple(lap for lap in slots.laps if not isinstance(lap, int))
        return (*tell(view.about(drivers=())), *tell(_view_rival(view.about(laps=words))))
    timed = slots.quantity in (None, "time") and not (slots.all_laps and slots.order == "mean")
    if slots.tally and rivals and timed and not slots.amounts:
        return _tell_beaten(view)
    if _asks_which_pass(slots):
        return _tell_passing(view)
    varies = slots.varies and slots.corners and not slots.claims
    pair = rivals or len(view.named) == 2  # whether the two are alike
    if slots.order == "alike" and pair and not slots.all_laps:
        return tell_values(view)
    if slots.order in ("spread", "alike") or varies:
        return tell_spread(view)
    rolls = slots.pedal == "lift" and slots.quantity == "coasting" and not rivals
    if slots.claims or rolls:
        return _check(view)
    plain = slots.whether and slots.order is None and not rivals
    checkable = (*_BRAKING, "coasting", "full_throttle", *["throttle"] * (slots.pedal == "lift"))
    if plain and slots.corners and slots.quantity in checkable:
        return _check(view)
    anywhere = slots.negated and slots.where and places_of(view.drive, slots) == (None,)
    if anywhere and (none := _tell_none(view)):
        return none
    longest = slots.quantity == "full_throttle" and slots.order in RISES
    if longest and not (slots.corners or rivals):
        return _tell_longest(view)
    if slots.side is not None and not rivals and (facts := tell_limit(view)):
        return facts
    if _ranks(view):
        return _tell_rank(view)
    if slots.order in SAYS and slots.which != "lap" and not rivals and len(view.named) < 2:
        return _tell_judge(view)
    return tell_values(view)


def _view_rival(view: View) -> View:
    """Turn the question to the named other driver's session."""
    name = view.rivals[0][0]
    return view.about(drivers=())._replace(outing=view.scene.rivals[name], name=name)


def _asks_which_pass(slots: Slots) -> bool:
    """Whether the question is which corners have any of it, or more or less than an amount."""
    limited = bool(slots.side and slots.amounts) and not (slots.corners or slots.laps)
    sided = slots.drivers or limited or slots.quantity in (None, "time")
    if slots.counts or (slots.every_corner and (slots.whether or slots.claims) and sided):
        return True
    if slots.quantity in (None, "time") and not (slots.corners or slots.laps or slots.straights):
        level = slots.order == "alike" and slots.drivers and slots.where
        if level or (slots.every_corner and slots.gains is not None and not slots.which):
            return True
    some = slots.quantity in _NONE and not (slots.order or slots.drivers or slots.negated)
    return (limited and slots.where) or (slots.which == "corner" and (limited or some))


def _ranks(view: View) -> bool:
    """Whether the question is where on a lap the quantity is largest or smallest, not its value."""
    slots, (place, *more) = view.slots, places_of(view.drive, view.slots)
    if place is not None and not more:
        return False
    if place is None and _on_straights(slots):
        return True
    corners_only = slots.quantity in CORNERS_ONLY or slots.spot in CORNER_SPOTS
    ranked = slots.order in ORDERED or slots.order == "worst" or bool(view.rivals)
    judged = slots.order in SAYS and not view.rivals
    if _lists(slots):
        return True
    if slots.where or slots.which == "corner":
        return not judged and (ranked or (place is None and corners_only))
    if place is not None or (slots.order in SAYS and not (view.rivals and corners_only)):
        asks = slots.order in SAYS or (slots.whether and slots.order in ORDERED)
        return more != [] and asks and not view.rivals  # in turn 3 or in turn 4
    return corners_only or (slots.quantity == "speed" and slots.order == "least")


def _lists(slots: Slots) -> bool:
    """Whether every corner gets its own value."""
    ends = slots.order in (*ORDERED, *SAYS, "worst", "spread")
    lost = bool(slots.drivers) and slots.quantity in (None, "time") and slots.order != "each"
    return slots.every_corner and not (ends or lost)


def _on_straights(slots: Slots) -> bool:
    """Whether the straights are ranked."""
    most = slots.order in ORDERED and slots.quantity not in (None, "speed")
    where = slots.where and slots.which != "lap"  # on which lap, and where on it
    return slots.which == "straight" or (slots.spot == "straight" and (where or most))


# Values


def tell_values(view: View) -> Facts:
    """Return the quantity at the named places, else on the whole lap."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, places = slots.quantity or "time", places_of(drive, slots)
    facts: list[Fact] = []
    for where in places[: 2 if rivals else MOST_PLACES]:
        for what, spot in ((quantity, slots.spot), *slots.also):
            spread = find_spread(drive, what or quantity, where, spot)
            if spread is None:
                facts.append(_tell_nothing(view, Spread(drive, what or quantity, where, spot, {})))
            elif rivals:
                facts += [_against(view, spread, *rival) for rival in rivals[:2]]
            elif len(view.named) == 2 and slots.order in (*ORDERED, "alike"):
                facts.append(_two_laps(view, spread))
            else:
                facts += (_tell_laps(view, spread), *_share(view, spread))
    if slots.why and slots.which == "lap" and len(slots.corners) == 1 and facts[0].laps:
        there = Slots(corners=slots.corners, laps=facts[0].laps[:1])
        return (facts[0], *TELLERS["corner_explain"](view.scene, there)[:3])
    if quantity == "time" and len(slots.corners) == 1 and places == slots.corners:
        beside_best = reviews.compare(view.scene, slots)
        lost = [loss for loss in beside_best.lost_here if loss.seconds >= WORTH_S]
        facts += [beside_best.state("loss-with-straight", loss) for loss in lost]
    straight = find_straight(drive, places[0])
    ends = find_corners_beside(drive, straight) if straight else None
    if straight and ends and slots.why:
        return (*facts[:1], *_explain_straight(view, straight.name, ends)[:3])
    spread = find_spread(drive, "speed", ends[0], "exit") if ends else None
    if spread and quantity == "speed" and rivals:
        facts.append(_against(view, spread, *rivals[0]))
    return tuple(facts)


def _explain_straight(view: View, road: str, ends: tuple[str, str]) -> Facts:
    """Explain the time of a straight: rolling or lifting there more than the quickest other driver,
    and what costs more, the exit of the corner before it or the entry of the one after it, where
    braking begins."""
    others = view.rivals or [(name, of.drive) for name, of in view.scene.rivals.items()]
    told: list[Fact] = []
    for quantity, sign in _ROLLING.items() if others else ():
        name, rival = min(others, key=lambda other: other[1].best.duration_s)
        own, its = (find_spread(side, quantity, road, None) for side in (view.drive, rival))
        if own and its and sign * (own.usual.number - its.usual.number) > APART[own.unit]:
            told.append(_against(view, own, name, rival))
    slots = replace(view.slots, corners=ends, straights=(), spot=None, quantity=None)
    lost = {loss.corner: loss for loss in reviews.compare_widest(view.scene, slots).lost_here}
    leaves = lost[ends[0]].exit_s if ends[0] in lost else 0.0
    enters = lost[ends[1]].entry_s if ends[1] in lost else 0.0
    side: tuple[str, Spot] = (ends[1], "entry") if enters > leaves else (ends[0], "exit")
    guilty = replace(slots, corners=side[:1], spot=side[1])
    return (*told[:1], *TELLERS["corner_explain"](view.scene, guilty))


def _share(view: View, spread: Spread) -> Facts:
    """Return which share of the lap a sum of seconds is, on the named lap, else on all."""
    if spread.where is not None or spread.unit != "s":
        return ()
    laps = spread.of(view.listed)
    seconds = sum(view.drive.lap(lap).duration_s for lap in laps)
    share = Value(100.0 * sum(value.number for value in laps.values()) / seconds, "%")
    lap = next(iter(laps)) if len(laps) == 1 else 0
    values: dict[str, Cell] = {"share": share, "lap": lap, "count": len(laps)}
    return (view.fact("measure-share", values, laps),)


def _tell_none(view: View) -> Facts:
    """Return the corners without any of it on any lap: no braking, the throttle always open."""
    quantity: Quantity = view.slots.quantity or "time"
    quantity = "brake_time" if quantity in _BRAKING else quantity
    lifts = quantity in ("throttle", "full_throttle", "throttle_point")
    if not lifts and quantity not in _NONE:
        return ()
    bends = [bend.name for bend in list_corners(view.drive) if view.covers(bend.name)]
    what = "throttle" if lifts else quantity
    measures = [find_spread(view.drive, what, name, None) for name in bends]
    spreads = [spread for spread in measures if spread is not None]
    if not spreads:
        return ()

    def is_none(spread: Spread) -> bool:
        numbers = [value.number for value in spread.values.values()]
        return min(numbers) >= FULL_PCT if lifts else max(numbers) <= _NONE[quantity]

    none = [spread for spread in spreads if is_none(spread)]
    values: dict[str, Cell] = {**label(spreads[0]), "count": len(spreads), "hits": len(none)}
    values["sort"] = "lift" if lifts else "other"
    values["corners"] = tuple(Corner(spread.where or "") for spread in none)
    return (view.fact("none-where", values, where=none[0].where if none else None),)


def _tell_nothing(view: View, spread: Spread) -> Fact:
    """Say that it was recorded but there was none: no braking, a throttle that never closed."""
    words = label(spread)
    least = find_spread(spread.drive, "throttle", spread.where, None)
    if spread.quantity == "throttle_point" and least is not None:
        words["least"] = least.values[least.top(high=False)]
        return view.fact("measure-not-closed", words, where=spread.where)
    words["count"] = len(spread.drive.counted)
    return view.fact("measure-none", words, where=spread.where)


def _tell_laps(view: View, spread: Spread) -> Fact:
    """Describe the named laps; else a mean, peak or sum; else the best and the usual lap."""
    drive, quantity, where, _, _ = spread
    if view.slots.without:
        spread = spread._replace(values=spread.of(numbers_of(view.pool)))
    best, order = drive.best.number or 0, view.slots.order
    laps = [lap for lap in view.listed if lap in spread.values]
    ranks = view.slots.ranked and not view.named
    if ranks:
        high = is_high(quantity, order)
        laps = sorted(spread.values, key=lambda lap: spread.values[lap].number, reverse=high)
    values: dict[str, Cell] = label(spread)
    numbers = [value.number for value in spread.of(laps).values()]
    if order in ("mean", "total") and len(numbers) > 1:
        mean = Value(sum(numbers) / len(numbers), spread.unit)
        side, (mean, usual) = orient(quantity, mean, spread.usual)
        values |= {"mean": mean, "usual": usual, "side": side, "count": len(numbers)}
        values["total"] = Value(sum(numbers), spread.unit)
        total = order == "total" and quantity in SUMS
        return view.fact("measure-total" if total else "measure-mean", values, laps, where)
    which, left = view.slots.which == "lap", view.slots.without and not view.slots.all_laps
    picks = (which or (left and order in ORDERED)) and not (view.named or ranks)
    if laps and laps != [best] and not picks:
        side, shown = orient(quantity, *(spread.values[lap] for lap in laps), spread.usual)
        spot = find_peak(drive, quantity, laps[0]) if spread.peaks and len(laps) == 1 else None
        spot = spot if where is None else None
        values |= {"laps": tuple(laps), "values": shown[:-1], "count": len(laps)}
        values |= {"usual": shown[-1], "side": side, **_name_place(drive, spot)}
        fact = view.fact("measure-laps", values, laps, where)
        gains, whether = view.slots.gains, view.slots.whether and len(laps) == 1
        if quantity != "time" or gains is None or not whether:
            return fact
        return judge(fact, view.slots, so=(numbers[0] < spread.usual.number) == gains)
    if (which or order in ORDERED or spread.peaks) and len(laps) != 1:
        high, of = is_high(quantity, order), spread.of(laps)
        rank = sorted(of, key=lambda lap: of[lap].number * (-1) ** high)
        place = min(view.slots.place, len(rank))
        lap = rank[place - 1]
        side, shown = orient(quantity, spread.values[lap], spread.usual, of[rank[-1]])
        spot = find_peak(drive, quantity, lap) if where is None and high else None
        values |= {"value": shown[0], "usual": shown[1], "lap": lap, "side": side, "nth": place}
        values |= _name_place(drive, spot)
        values |= {"last": shown[2], "last_lap": rank[-1]}
        values["ends"] = "yes" if which and where and place == 1 and len(rank) > 1 else "no"
        values |= {"end": Term("end", end_of(quantity, high=high))}
        fact = view.fact("measure-peak", values, (lap,), where)
        level = abs(spread.values[lap].number - spread.usual.number) < APART[spread.unit]
        better = spread.corner and view.slots.whether and view.slots.gains is not None
        return judge(fact, view.slots, so=False) if level and better and place == 1 else fact
    side, shown = orient(quantity, spread.find(best), spread.usual)
    spot = find_peak(drive, quantity, best) if where is None and spread.peaks else None
    values |= {"best": shown[0], "usual": shown[1], "lap": best, "side": side}
    values |= _name_place(drive, spot)
    return view.fact("measure-best", values, (best,), where)


def _name_place(drive: Drive, spot: str | None) -> dict[str, Cell]:
    """Name where on the lap a value was reached."""
    place: Cell = "" if spot is None else Corner(spot) if find_passes_in(drive, spot) else spot
    return {"place": place, "placed": "yes" if spot else "no"}


def _tell_longest(view: View) -> Facts:
    """Return the longest stretch at full throttle on the named laps, else on all."""
    drive = view.drive
    laps = {lap: find_longest_full_throttle(drive, lap) for lap in numbers_of(view.selected)}
    runs = {lap: run for lap, run in laps.items() if run and run.begins and run.ends}
    if not runs:
        return tell_values(view)
    lap, run = max(runs.items(), key=lambda item: item[1].seconds)
    ends = [name or "" for name in (run.begins, run.ends)]
    begin, end = (Corner(name) if find_passes_in(drive, name) else name for name in ends)
    values: dict[str, Cell] = {"seconds": Value(run.seconds, "s"), "lap": lap, "begin": begin}
    values |= {"length": Value(run.metres, "m"), "end": end}
    return (view.fact("full-throttle-run", values, (lap,), run.begins),)


def tell_limit(view: View) -> Facts:
    """Return on which of the named laps a limit is passed."""
    slots = view.slots
    spread = find_spread(
        view.drive, slots.quantity or "time", places_of(view.drive, slots)[0], slots.spot
    )
    if spread is None:
        return ()
    limit = _find_limit(slots, spread.unit)
    if limit is None:
        return ()
    values = spread.of(numbers_of(view.selected))
    hits = [
        lap for lap, value in values.items() if (value.number > limit) == (slots.side == "above")
    ]
    words: dict[str, Cell] = {**label(spread), "side": slots.side or "", "count": len(hits)}
    words |= {"all": len(values), "limit": Value(limit, spread.unit), "named": tuple(hits)}
    words["listed"] = "yes" if 0 < len(hits) < len(values) else "no"
    fact = view.fact("measure-limit", words, hits, spread.where)
    so = len(hits) == len(values) if slots.all_laps else bool(hits)
    asks = slots.whether or (slots.all_laps and not slots.open)
    return (judge(fact, slots, so=so) if asks else fact,)


def _tell_beaten(view: View) -> Facts:
    """Count a driver's laps that beat the other's named lap; else, for both drivers, those that
    beat the other's best or average."""
    theirs = any(isinstance(lap, Their) for lap in view.slots.laps)
    (name, rival), driver, averages = view.rivals[0], view.scene.driver, view.slots.order == "mean"
    own, its = (*view.named, view.drive.best)[0], view.lap_of(rival)
    pairs = [(driver, view.pool, name, its, rival.counted)] if theirs or not view.named else []
    pairs += [] if theirs else [(name, rival.counted, driver, own, view.pool)]
    facts: list[Fact] = []
    for whose, laps, of, bar, every in pairs:
        seconds = mean(lap.duration_s for lap in every) if averages else bar.duration_s
        hits = [lap.number or 0 for lap in laps if lap.duration_s < seconds]
        values: dict[str, Cell] = {"whose": whose, "count": len(hits), "all": len(laps), "of": of}
        values |= {"named": tuple(hits), "lap": 0 if averages else bar.number or 0}
        values["time"] = lap_time(seconds)
        facts.append(view.fact("laps-beaten", values, hits if whose != name else (), other=name))
    return tuple(facts)


def _find_limit(slots: Slots, unit: Unit) -> float | None:
    """Return the amount in that unit; seconds also count for a lap time."""
    units = (unit, "s") if unit == "lap_time" else (unit,)
    return next((amount.number for amount in slots.amounts if amount.unit in units), None)


class _Amounts(NamedTuple):
    """What each corner or straight has of a quantity; more than *least* counts as some."""

    by_place: Mapping[str, float]
    least: float
    words: dict[str, Cell]


def _tell_passing(view: View) -> Facts:
    """Count the corners that pass a limit or have any: by time lost, by the usual value, or by its
    distance from a rival's."""
    slots, quantity = view.slots, view.slots.quantity or "time"
    if quantity == "time":
        view = reviews.compare(view.scene, slots)
    amounts, least, words = _list_lost(view) if quantity == "time" else _list_usual(view, quantity)
    if not amounts:
        return reviews.nothing(view)
    unit, limit = UNITS[quantity], _find_limit(slots, UNITS[quantity])
    level = slots.order == "alike" and limit is None
    above, limit = (slots.side != "below" or limit is None) and not level, limit or least
    hits = [name for name, number in amounts.items() if (number > limit) == above]
    hits.sort(key=lambda name: amounts[name], reverse=above)
    words |= {"named": tuple(Placed(Corner(name), Value(amounts[name], unit)) for name in hits)}
    words |= {"count": len(hits), "all": len(amounts), "limit": Value(limit, unit)}
    fact = view.state("places-passing", **words, side="above" if above else "below")
    every = slots.every_corner and (slots.claims or slots.whether)
    return (judge(fact, slots, so=len(hits) == len(amounts)) if every else fact,)


def _list_lost(view: View) -> _Amounts:
    """Return seconds lost in the corners, or won on a rival if the question asks that."""
    wins = bool(view.other) and asks_for_gains(view.slots)
    amounts = {loss.corner: -loss.seconds if wins else loss.seconds for loss in view.lost}
    if view.slots.order == "alike":
        amounts = {where: abs(seconds) for where, seconds in amounts.items()}
    words: dict[str, Cell] = {"what": Term("measured", "won" if wins else "lost")}
    words |= {"at": Term("at", "none"), "compared": "none", "name": "", "of": "corner"}
    return _Amounts(amounts, WORTH_S, {**words, "loses": "yes"})


def _list_usual(view: View, quantity: Quantity) -> _Amounts:
    """Return usual values in the corners, or on the straights for a top speed; against a rival, how
    far they are apart."""
    slots, least, name, side = view.slots, _NONE.get(quantity, 0.0), "", "none"
    roads = quantity == "speed" and slots.side == "above" and slots.spot is None
    bends = view.drive.straights if roads else view.drive.corners
    spreads = [find_spread(view.drive, quantity, bend.name, slots.spot) for bend in bends]
    by_place = {spread.where or "": spread for spread in spreads if spread is not None}
    amounts = {where: spread.usual.number for where, spread in by_place.items()}
    if view.rivals:
        name, rival = view.rivals[0]
        high = is_high(quantity, slots.order) != slots.than_me
        others = {where: find_spread(rival, quantity, where, slots.spot) for where in by_place}
        theirs = {
            where: spread.usual.number for where, spread in others.items() if spread is not None
        }
        amounts = {at: (amounts[at] - theirs[at]) * (1 if high else -1) for at in theirs}
        side, least = end_of(quantity, high=high), APART[UNITS[quantity]]
    words = label(next(iter(by_place.values()))) if by_place else {}
    words |= {"compared": side, "name": name, "of": "road" if roads else "corner", "loses": "no"}
    return _Amounts(amounts, least, words)


def _tell_rank(view: View) -> Facts:
    """Return the corner where a quantity is largest or smallest, or differs most from a rival's."""
    slots, drive, laps = view.slots, view.drive, view.listed
    quantity, spot = slots.quantity or "time", slots.spot
    order = slots.order if slots.order in ORDERED else "most"
    ranked = view.about(order=order, laps=(), all_laps=False, without=())
    roads = _on_straights(slots)
    if spot == "lap" or (spot == "straight" and not roads and quantity not in CORNERS_ONLY):
        return tell_values(ranked)
    every = _lists(slots)
    if quantity == "time" and not (slots.corners or roads or every) and list_corners(drive):
        return reviews.TELLERS["loss_rank"](view.scene, slots)  # not which corner is the longest
    high = is_high(quantity, order)
    bends = drive.straights if roads else list_corners(drive)
    names = tuple(bend.name for bend in bends if roads or view.covers(bend.name))
    lap = laps[0] if len(laps) == 1 else (choose_stand_in(drive) and drive.best.number) or 0
    spreads = [spread for name in names if (spread := find_spread(drive, quantity, name, spot))]
    if view.rivals or (quantity == "time" and not every):
        return _differing(view, spreads)
    if not every:
        spreads.sort(key=lambda spread: spread.find(lap).number, reverse=high)
    lead: Facts = ()
    plain = not (slots.corners or spot or roads or every)
    whole = None if not plain else find_spread(drive, quantity, None, None)
    if whole is not None and (high or not whole.peaks):
        lead = (_tell_laps(ranked.about(laps=slots.laps) if lap else ranked, whole),)
    if len(spreads) < 2:
        nothing = [Spread(drive, quantity, name, spot, {}) for name in names[:1]]
        return lead or tuple(_tell_nothing(view, spread) for spread in nothing) or (NO_CORNERS,)
    place = min(slots.place, len(spreads))
    first, second, last = spreads[place - 1], spreads[1 if place == 1 else 0], spreads[-1]
    side, shown = orient(quantity, *(spread.find(lap) for spread in (first, second, last)))
    values: dict[str, Cell] = {**label(first), "lap": lap, "side": side, "count": len(spreads)}
    values |= {"second": _name(second), "last": _name(last), "nth": place}
    values |= {"value": shown[0], "second_value": shown[1], "last_value": shown[2]}
    values |= {"end": Term("end", end_of(quantity, high=high)), "of": "road" if roads else "corner"}
    numbers = [spread.find(lap).number for spread in spreads]
    level = max(numbers) == min(numbers)
    if (slots.count > 1 or every) and not level:
        chosen = spreads if every else spreads[: slots.count]
        side, shown = orient(quantity, *(spread.find(lap) for spread in chosen))
        placed = (Placed(_name(spread), value) for spread, value in zip(chosen, shown, strict=True))
        values |= {"side": side, "listed": tuple(placed), "every": "yes" if every else "no"}
        listed = view.fact("rank-listed", values, (lap,) if lap else (), first.where)
        alike = max(numbers) - min(numbers) < 2 * APART[first.unit]
        return (judge(listed, slots, so=alike) if every and slots.whether else listed,)
    kind, shown_laps = "rank-level" if level else "rank-places", (lap,) if lap else ()
    corner = view.fact(kind, values, shown_laps, first.where)
    if slots.whether and len(slots.corners) == 2 and not level:
        corner = judge(corner, slots, so=spreads[0].where == slots.corners[0])
    whole_lap = quantity in ("speed", "rpm") and high and slots.which != "corner" and place == 1
    return (*lead, corner) if whole_lap else (corner, *lead)


def _name(spread: Spread) -> Corner | str:
    """Name the place of a spread."""
    return Corner(spread.where or "") if spread.corner else spread.where or ""


def _differing(view: View, spreads: Sequence[Spread]) -> Facts:
    """Return the places where the usual value differs most from a rival's on the requested side;
    without a rival, where most time is lost."""
    if not view.rivals:
        ranked = rank_lost(view, [spread.where or "" for spread in spreads])
        at = min(view.slots.place, len(ranked)) - 1
        return (tell_lost(view, ranked, at),) if ranked else (NO_CORNERS,)
    (name, rival), slots = view.rivals[0], view.slots
    apart: list[tuple[float, Spread]] = []
    for spread in spreads:
        theirs = find_spread(rival, spread.quantity, spread.where, spread.spot)
        if theirs is not None:
            more = spread.usual.number - theirs.usual.number
            high = is_high(spread.quantity, slots.order) != slots.than_me
            high &= not (spread.quantity == "time" and slots.gains)
            apart.append((abs(more) if slots.either else more if high else -more, spread))
    apart.sort(key=lambda pair: -pair[0])
    notable = [spread for more, spread in apart if more >= APART[spread.unit]]
    notable = notable or [spread for _, spread in apart[:1] if spread.quantity == "time"]
    if notable:
        chosen = notable[slots.place - 1 :][:3]
        return tuple(_against(view, spread, name, rival) for spread in chosen)
    if not spreads:
        return (NO_CORNERS,)
    side = end_of(spreads[0].quantity, high=is_high(spreads[0].quantity, slots.order))
    nowhere: dict[str, Cell] = {"count": len(spreads), "other": name, "compared": side}
    return (view.fact("judge-nowhere", {**label(spreads[0]), **nowhere}),)


class Lost(NamedTuple):
    """What a place costs against the best time there."""

    seconds: float
    where: str
    own: Value
    best: Value
    best_lap: int


def rank_lost(view: View, places: Sequence[str]) -> list[Lost]:
    """Rank the losses at places on the named lap, else usually, largest first."""
    lap, losses = view.listed[0] if len(view.listed) == 1 else 0, []
    for where in places:
        if times := find_spread(view.drive, "time", where, None):
            best_lap = times.top(high=False)
            own, best = times.find(lap), times.values[best_lap]
            losses.append(Lost(own.number - best.number, where, own, best, best_lap))
    return sorted(losses, key=lambda lost: -lost.seconds)


def tell_lost(view: View, ranked: Sequence[Lost], at: int = 0, *, least: bool = False) -> Fact:
    """Describe the place *at* of *ranked*, and the losses at the others; *least*: the smallest loss
    comes first."""
    lost, others = ranked[at], [other for other in ranked if other is not ranked[at]]
    named = (Placed(Corner(other.where), Value(other.seconds, "s")) for other in others)
    lap = view.listed[0] if len(view.listed) == 1 else 0
    values: dict[str, Cell] = {"where": Corner(lost.where), "loss": Value(lost.seconds, "s")}
    values |= {"own": lost.own, "best": lost.best, "nth": at + 1, "lap": lap}
    values |= {"end": "least" if least else "most", "listed": tuple(named), "count": len(others)}
    laps = (lap, lost.best_lap) if lap else (lost.best_lap,)
    return view.fact("rank-lost", values, laps, lost.where, basis="best_pass", gain_s=lost.seconds)


# Comparison of two values


def _compare(
    view: View, spread: Spread, own: Side, other: Side, loss_s: float | None = None
) -> Fact:
    """Compare two sides and check the question or claim; *loss_s*: what the corner costs."""
    quantity, slots = spread.quantity, view.slots
    apart = own.value.number - other.value.number
    level = abs(apart) < APART[spread.unit]
    lost = "unknown" if loss_s is None else "yes" if loss_s >= WORTH_S else "no"
    if loss_s is not None and loss_s <= -WORTH_S:
        lost = "gained"
    order = slots.order if slots.order in ORDERED or not slots.claims else "high"
    if order == "high" and quantity == "time" and slots.gains:  # quicker is less of it
        order = "low"
    so = not level and (apart > 0) == (is_high(quantity, order) != slots.than_me)
    if slots.wishes and not slots.claims:  # the driver with less of it should do more
        so = not level and not so
    so = level if slots.order == "alike" else so != slots.enough
    claimed = next((amount.number for amount in slots.amounts if amount.unit == spread.unit), 0.0)
    sized = claimed and not slots.enough and slots.side is None
    if sized and abs(abs(apart) - claimed) > max(APART[spread.unit], _ABOUT * claimed):
        so = False  # 10 km/h claimed, 5 measured
    usual = (spread.usual, other.usual or (other.value if other.driver else spread.usual))
    side, shown = orient(quantity, own.value, other.value, *usual)
    values: dict[str, Cell] = {**label(spread), "side": side}
    values |= {"own": shown[0], "theirs": shown[1], "usual": shown[2], "other_usual": shown[3]}
    values |= {"own_of": own.of, "lap": own.lap, "whose": own.driver or "none"}
    values |= {"against": other.of, "target_lap": other.lap, "other": other.driver or "none"}
    values |= {"both": "yes" if own.usual else "no", "lost": lost}
    values |= {"difference": Value(abs(apart), UNITS[quantity])}
    values |= {"loss": Value(abs(loss_s or 0.0), "s")}
    values["ahead"] = "none" if level else own.driver or "none"
    values["compared"] = "level" if level else end_of(quantity, high=apart > 0)
    bases: Mapping[str, Basis] = {
        "best_lap": "best_lap",
        "best_pass": "best_pass",
        "plan": "theory",
        "usual": "usual",
        "lap": "best_lap",
    }
    fact = view.fact(
        "compare",
        values,
        [side.lap for side in (own, other) if side.lap and not side.driver] if own.lap else (),
        spread.where,
        basis="driver" if other.driver else bases[other.of],
        other=other.driver,
        gain_s=loss_s if lost == "yes" and not level else None,
    )
    opens = slots.open or (slots.where and bool(view.rivals))
    orders = (*ORDERED, "alike") if slots.whether else SAYS
    asks = slots.order in orders and not (opens or slots.offers)
    if slots.claims:
        return judge(fact, slots, so=so)
    needs_loss = so and not slots.enough and slots.order != "alike"
    if not asks or _is_dangerous(view, spread) or (needs_loss and lost not in ("yes", "unknown")):
        return fact
    return replace(fact, verdict="yes" if so else "no")


def _is_dangerous(view: View, spread: Spread) -> bool:
    """Whether the corner lies in a danger zone, where nobody is advised to do more."""
    return view.slots.wishes and spread.corner and spread.where in find_dangers(view.drive)


def _two_laps(view: View, spread: Spread) -> Fact:
    first, second = (lap.number or 0 for lap in view.named[:2])
    own, other = (Side(spread.find(lap), "lap", lap) for lap in (first, second))
    return _compare(view, spread, own, other)


def _against(view: View, spread: Spread, name: str, rival: Drive) -> Fact:
    """Compare two drivers on the best lap or at the peak, and on the usual lap."""
    drive, quantity, where, spot, _ = spread
    theirs = find_spread(rival, quantity, where, spot)
    if theirs is None:
        values: dict[str, Cell] = {**label(spread), "other": name}
        return view.fact("measure-rival-none", values, where=where, other=name)
    if spread.corner and not view.named and spread.quantity != "time":
        own, other = Side(spread.usual), Side(theirs.usual, driver=name)
        return _compare(view, spread, own._replace(driver=view.scene.driver), other)
    high = is_high(quantity, view.slots.order)
    laps = [lap for lap in view.listed if lap in spread.values]
    lap = spread.top(high=high) if spread.peaks else drive.best.number or 0
    lap = laps[0] if len(laps) == 1 else lap
    its = theirs.top(high=high) if spread.peaks else view.lap_of(rival).number or 0
    own = Side(spread.find(lap), "lap", lap, view.scene.driver, spread.usual)
    return _compare(view, spread, own, Side(theirs.find(its), "lap", its, name, theirs.usual))


def differences(view: View, corner: str, than: tuple[Drive, int | None], name: str = "") -> Facts:
    """Return what differed in a corner between the lap of the view and another one, or the usual
    one; *name* is the rival who drove it. The requested quantity comes first, then the largest
    difference."""
    (drive, its), slots = than, view.slots
    ranked: list[tuple[bool, float, Fact]] = []
    for quantity, spot in WAYS:
        spread, theirs = (find_spread(side, quantity, corner, spot) for side in (view.drive, drive))
        if spread is None or theirs is None or view.lap not in spread.values:
            continue
        own = Side(spread.find(view.lap), "lap", view.lap)
        other = Side(theirs.find(its or 0), "lap" if its else "usual", its or 0)
        if name:
            own = own._replace(driver=view.scene.driver, usual=spread.usual)
            other = other._replace(driver=name, usual=theirs.usual)
        apart = abs(own.value.number - other.value.number) / APART[spread.unit]
        if apart >= 1.0:
            requested = quantity == slots.quantity or spot == (slots.spot or "")
            fact = _compare(view.about(order=None, claims=False), spread, own, other)
            ranked.append((not requested, -apart, fact))
    return tuple(fact for _, _, fact in sorted(ranked, key=lambda row: row[:2]))


def explain_speed(view: View, loss: Loss, lap: int = 0) -> Facts:
    """Explain a slow apex by what the driver did differently with the pedals on another lap, or
    usually; empty if the apex was not slow."""
    if not loss.causes or loss.causes[0][0] != "slow_apex":
        return ()
    facts = differences(view, loss.corner, (view.drive, lap))
    return tuple(fact for fact in facts if fact.values["what"] != Term("measured", "speed_corner"))


def _tell_judge(view: View) -> Facts:
    """Judge a quantity at the named places; else find the corners it is true of."""
    slots, drive = view.slots, view.drive
    quantity, spot, places = slots.quantity or "speed", slots.spot, places_of(drive, slots)
    lap = view.listed[0] if len(view.listed) == 1 else choose_stand_in(drive)
    if slots.laps == ("best",):  # than on my best lap
        view, lap = view.about(laps=()), 0
    corners = quantity in CORNERS_ONLY or spot not in (None, "lap") or slots.where
    everywhere = places == (None,) and (corners or slots.which == "corner")
    if everywhere:
        places = tuple(corner.name for corner in list_corners(drive))
    judged: list[Fact] = []
    for where in places:
        spread = find_spread(drive, quantity, where, spot)
        target = _find_target(view, spread, lap) if spread is not None else None
        if spread is None:
            judged.append(_tell_nothing(view, Spread(drive, quantity, where, spot, {})))
        elif target is None:
            judged.append(_tell_laps(view, spread))
        else:
            own = Side(spread.find(lap), "lap" if lap else "usual", lap)
            judged.append(_compare(view, spread, own, *target))
            if _is_dangerous(view, spread):
                judged += knowledge.danger(view.scene, Slots(corners=(where or "",)))[:1]
    weighed = [fact for fact in judged if fact.kind == "compare"]
    if not everywhere or not weighed:
        return tuple(judged)
    end = end_of(quantity, high=is_high(quantity, slots.order) != slots.wishes)
    guilty = [fact for fact in weighed if fact.gain_s is not None]
    guilty = [fact for fact in guilty if fact.values["compared"] == end]
    guilty.sort(key=lambda fact: -(fact.gain_s or 0.0))
    if slots.every_corner and 0 < len(guilty) < len(weighed) and guilty[0].verdict:
        rest = (replace(fact, verdict=None) for fact in guilty[1:3])
        return (replace(guilty[0], verdict="somewhere"), *rest)
    if guilty:
        return tuple(guilty[:3])
    nowhere: dict[str, Cell] = {"count": len(weighed), "other": "none", "compared": end}
    return (view.fact("judge-nowhere", {**weighed[0].values, **nowhere}),)


def _find_target(view: View, spread: Spread, lap: int = 0) -> tuple[Side, float | None] | None:
    """Return the quickest pass of the corner, the driver's own or a rival's, and the corner's cost
    against it; else the plan of the circuit's file. On a straight or a lap it is the best lap."""
    drive, quantity, where, spot, _ = spread
    alone, best = len(spread.values) < 2, drive.best.number or 0
    if not spread.corner or where is None:
        return None if alone else (Side(spread.find(best), "best_lap", best), None)
    own = find_passes(drive, lap) if lap else find_usual_passes(drive)
    best_own = find_best_passes(drive)
    for name, outing in view.scene.rivals.items():
        rival, passes = outing.drive, find_best_passes(outing.drive)
        ahead = _cost((drive, best_own), (rival, passes), where) or 0.0
        theirs = find_spread(rival, quantity, where, spot)
        if theirs is not None and where in passes and ahead > APART["s"]:
            its = passes[where].lap
            side = Side(theirs.find(its), "best_pass", its, name)
            return side, _cost((drive, own), (rival, passes), where)
    if where in own and where in best_own and not alone:
        its = best_own[where].lap
        if its == lap:
            return Side(spread.usual), None
        return (
            Side(spread.find(its), "best_pass", its),
            _cost((drive, own), (drive, best_own), where),
        )
    bend = next(corner for corner in drive.corners if corner.name == where)
    if quantity == "speed" and bend.speeds is not None:
        speed = getattr(bend.speeds, spot if spot in ("entry", "exit") else "apex")
        return Side(Value(speed * KMH, "km/h"), "plan"), None
    if quantity == "brake_point" and bend.brake is not None:
        return Side(Value(bend.brake.before_entry_m, "m"), "plan"), None
    return None


def _cost(own: _Passes, other: _Passes, where: str) -> float | None:
    """Return what a corner costs one side against the other, in seconds."""
    (drive, mine), (rival, theirs) = own, other
    if where not in mine or where not in theirs:
        return None
    losses = measure_losses({where: mine[where]}, {where: theirs[where]}, drive, rival)
    return losses[0].seconds if losses else None


# Variation


def tell_spread(view: View) -> Facts:
    """Return the least and most repeatable corners, by time or by the quantity; or its variation at
    the named places."""
    slots, drive = view.slots, view.drive
    quantity, spot = slots.quantity or "time", slots.spot
    drives = [(view.scene.driver, drive), *view.rivals]
    facts: Facts = ()
    for where in places_of(drive, slots)[:3]:
        more: tuple[Quantity, ...] = ("speed",) if quantity == "time" else ()
        for name, side in drives if where else ():
            spreads = [find_spread(side, what, where, spot) for what in (quantity, *more)]
            driver, laps = name if len(drives) > 1 else "", view.listed if side is drive else ()
            laps = laps if len(laps) >= FEW_LAPS else ()
            facts += tuple(
                _range(view, spread, laps, "width", driver) for spread in spreads if spread
            )
    if facts or (slots.corners or slots.straights):
        return facts or (_few(view),)
    if not list_corners(drive):
        return (NO_CORNERS,)
    for name, side in drives:
        laps = view.listed if len(view.listed) >= FEW_LAPS else ()
        sectors = range(1, len(side.sectors) + 1) if slots.which == "sector" else ()
        places = [*map(name_sector, sectors)] or [corner.name for corner in list_corners(side)]
        corners = _deviations(side, quantity, spot, places, laps)
        if len(corners) < 2:
            continue
        ranked = sorted(corners, key=lambda corner: -corners[corner])
        nth = min(slots.place, len(ranked)) - 1
        chosen = slice(nth, nth + max(slots.count, 1))
        least, steady = (
            tuple(
                Placed(Corner(corner), Value(corners[corner], UNITS[quantity]))
                for corner in row[chosen]
            )
            for row in (ranked, ranked[::-1])
        )
        values = label(Spread(drive, quantity, ranked[nth], spot, {}))
        values |= {"loose": least, "steady": steady, "nth": nth + 1}
        values |= {"count": len(laps) or len(side.counted)}
        values["whose"] = name if len(drives) > 1 else "none"
        values["first"] = "steady" if slots.order in RISES else "loose"
        other = name if side is not drive else ""
        facts += (view.fact("spread-corners", values, where=ranked[nth], other=other),)
    return facts or (_few(view),)


def _few(view: View) -> Fact:
    return view.fact("spread-few", {"count": len(view.drive.counted)})


def _deviations(
    drive: Drive,
    quantity: Quantity,
    spot: Spot | None,
    places: Iterable[str],
    laps: Sequence[int],
) -> dict[str, float]:
    """Return the standard deviation of a quantity over the laps, by corner or sector."""
    deviations = {}
    for name in places:
        values = measure(drive, quantity, name, spot)
        numbers = [v.number for lap, v in values.items() if not laps or lap in laps]
        if len(numbers) >= FEW_LAPS:
            deviations[name] = deviation(numbers, sample=True) or 0.0
    return deviations


def _range(
    view: View,
    spread: Spread,
    laps: Sequence[int],
    aspect: Literal["width", "some", "so"],
    driver: str = "",
    *,
    hits: int = 0,
    so: bool = False,
) -> Fact:
    """Describe the usual, smallest and largest value: how far apart they are, or on how many laps
    it was so. The width is judged only if they are said to be alike."""
    values = spread.of(laps)
    top = max(values, key=lambda lap: values[lap].number)
    bottom = min(values, key=lambda lap: values[lap].number)
    numbers = [value.number for value in values.values()]
    width = Value(max(numbers) - min(numbers), UNITS[spread.quantity])
    side, (usual, most, least) = orient(spread.quantity, spread.usual, values[top], values[bottom])
    words: dict[str, Cell] = {**label(spread), "side": side}
    words |= {"usual": usual, "most": most, "lap": top, "least": least, "other_lap": bottom}
    words |= {"asked": aspect, "width": width, "hits": hits, "count": len(values)}
    words["spread"] = Value(deviation(numbers, sample=True) or 0.0, UNITS[spread.quantity])
    words["whose"] = driver or "none"
    other = driver if driver != view.scene.driver else ""
    fact = view.fact("range", words, (top, bottom), spread.where, other=other)
    slots = view.slots
    if aspect == "width":
        so = width.number < 2 * APART[spread.unit]
    same = slots.order == "alike" or (slots.order == "each" and slots.claims and not slots.varies)
    asks = (slots.claims or slots.whether) and (aspect != "width" or same)
    return judge(fact, slots, so=so) if asks else fact


# Checks of claims


def _check(view: View) -> Facts:
    """Check a claim by what it names: drivers, laps, amounts, a rank, a share."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, where = slots.quantity or "time", places_of(drive, slots)[0]
    laps = () if slots.all_laps else view.listed
    ordered = slots.order in ORDERED
    of_lap = len(laps) == 1 and (slots.where or slots.gains is False)  # where most of it went
    if quantity == "time" and where and find_passes_in(drive, where) and (of_lap or not laps):
        return _check_loss(view, where)
    same = slots.order == "each" and quantity in _PLACES and not (slots.amounts or rivals)
    plain = not (same or slots.amounts or ordered or rivals)
    if plain and quantity in ("throttle", "full_throttle") and find_passes_in(drive, where):
        quantity = "throttle"
    elif plain and quantity == "brake_pressure" and where:
        return _check_hard(view.about(quantity=quantity, spot=None), where)
    elif plain and quantity in _BRAKING:
        quantity = "brake_time"
    spread = find_spread(drive, quantity, where, None if plain else slots.spot)
    if spread is None and where is None and rivals:
        return _tell_rank(view)
    if spread is None:
        return tell_values(view)
    if same:
        return (_range(view, spread, laps, "width"),)
    values, numbers = spread.of(laps), [value.number for value in spread.of(laps).values()]
    if plain and quantity == "throttle" and spread.corner:
        return (_check_flat(view, spread, laps),)
    if plain and quantity in _NONE:
        hits = sum(number > _NONE[spread.quantity] for number in numbers)
        every = slots.all_laps and not slots.negated
        so = hits == len(numbers) if every else hits > 0
        return (_range(view, spread, laps, "some", hits=hits, so=so),)
    if rivals and find_spread(rivals[0][1], quantity, where, spread.spot):
        return (_against(view, spread, *rivals[0]),)
    ranks = [_LAPS[lap] for lap in slots.laps if lap in _LAPS]
    others = [pick_lap(view.counted, lap) for lap in slots.laps if lap not in _LAPS]
    named = [lap.number or 0 for lap in others if lap is not None]
    if quantity == "time" and where is None and ranks and named:
        return _check_rank(view.about(order=ranks[0]), spread, named)
    if len(laps) == 2 and ordered:
        return (_two_laps(view, spread),)
    amount = next((amount.number for amount in slots.amounts if amount.unit == spread.unit), None)
    if amount is not None:
        if spread.corner and slots.order in ("early", "late"):  # by too much
            return _tell_judge(view.about(quantity=quantity, claims=False))
        above = is_high(quantity, slots.order) if slots.side is None else slots.side == "above"
        hits = sum(
            (number >= amount) == above
            if ordered or slots.side
            else abs(number - amount) <= APART[spread.unit]
            for number in numbers
        )
        so = hits == len(values) if slots.all_laps or laps else hits > 0
        return (_range(view, spread, laps, "so", hits=hits, so=so),)
    if spread.corner and slots.order in JUDGED and slots.which != "corner":
        if len(laps) != 1:
            return _tell_judge(view)
        lap = Side(spread.find(laps[0]), "lap", laps[0])
        return (_compare(view, spread, lap, Side(spread.usual)),)
    if ordered and (laps or spread.corner):
        return _check_rank(view, spread, laps)
    return tell_values(view)


def _check_flat(view: View, spread: Spread, laps: Sequence[int]) -> Fact:
    """Check whether the throttle stayed open in a corner, by its lowest reading."""
    values = spread.of(laps)
    lifted = [lap for lap, value in values.items() if value.number < FULL_PCT]
    least = min(values, key=lambda lap: values[lap].number)
    slots, words = view.slots, label(spread)
    flat = slots.pedal == "brake" or (slots.pedal == "lift") == slots.negated  # never brake: flat
    many = "all" if 0 < len(lifted) == len(values) > 1 else "many" if len(lifted) > _FEW else "few"
    words |= {"laps": tuple(lifted), "lifted": many if lifted else "none", "number": len(lifted)}
    words |= {"count": len(values), "least": values[least], "lap": least}
    fact = view.fact("claim-flat", words, lifted[:_FEW], spread.where)
    if flat and 0 < len(lifted) < len(values):
        return replace(fact, verdict="partly")
    return judge(fact, replace(slots, negated=False), so=flat != bool(lifted))


def _check_hard(view: View, where: str) -> Facts:
    """Check whether the braking into a corner is hard, beside the hardest of the circuit."""
    spread = find_spread(view.drive, "brake_pressure", where, None)
    rank = _tell_rank(view.about(claims=False, corners=(), order="most", which="corner"))
    most = rank[0].values.get("value")
    if spread is None or not isinstance(most, Value):
        return tell_values(view)
    so = spread.usual.number >= _HARD * most.number
    own = _tell_laps(view.about(whether=False), spread)
    return (judge(own, view.slots, so=so), *rank[:1])


def _check_rank(view: View, spread: Spread, laps: Sequence[int]) -> Facts:
    """Check the lap or corner claimed to be at the end of the values; then describe the named
    one."""
    plain = view.about(claims=False, laps=())
    if laps:
        first, named = _tell_laps(plain.about(which="lap"), spread), laps[0]
        level = spread.find(named).number - spread.find(first.laps[0]).number
    else:
        first = _tell_rank(plain.about(corners=(), order=view.slots.order, which="corner"))[0]
        top, level = first.values["value"], 0.0
        level = abs(spread.usual.number) - abs(top.number) if isinstance(top, Value) else 1.0
    so = abs(level) < APART[spread.unit] / 10
    own = () if so else (_tell_laps(view.about(order=None, laps=laps, whether=False), spread),)
    return (judge(first, view.slots, so=so), *own)


def _check_loss(view: View, where: str) -> Facts:
    """Check by time lost whether a corner is the best or worst, or better than a rival's."""
    order, compared = view.slots.order, reviews.compare(view.scene, view.slots)
    loss = next((loss for loss in compared.lost if loss.corner == where), None)
    if loss is None:
        return tell_values(view)
    so = (
        loss.seconds < -WORTH_S
        if compared.other
        else loss.seconds <= compared.lost[-1].seconds + WORTH_S
    )
    if order in RISES:  # more time
        row = compared.lost[:: -1 if view.slots.than_me else 1]
        ranked = row[min(view.slots.place, len(row)) - 1] is loss
        so = loss.seconds > WORTH_S if compared.other and not view.slots.than_me else ranked
    elif order not in ORDERED:
        so = loss.seconds > WORTH_S and fits_claim(view.slots, loss.seconds)
    worst = () if compared.lost[0] is loss else reviews.loss_rank(compared.about(corners=()))[:1]
    return (judge(reviews.corner_fact(compared, loss), view.slots, so=so), *worst)


_TELL: Final = require_recorded(tell, default="time")


def _answer(scene: Scene, slots: Slots) -> Facts:
    """A claim without quantity or order says that a corner was good; if it is negated or about
    every lap, the answer is how the corner went."""
    brakes = slots.quantity in _BRAKING or (slots.quantity is None and slots.pedal == "brake")
    if slots.order == "worst" and brakes and not slots.corners:  # by what it costs
        ranked = replace(slots, quantity=None, order=None, spot="entry", which=None)
        return reviews.TELLERS["loss_rank"](scene, ranked)
    if slots.pedal == "lift" and slots.quantity == "full_throttle":  # flat, or do I lift
        slots = replace(
            slots, quantity="throttle", order=None, whether=True, offers=True, open=False
        )
    if slots.pedal == "lift" and (slots.straights or slots.spot in ("straight", "after")):
        slots = replace(slots, quantity="coasting", order=None)
    bare = slots.quantity is None and slots.pedal is None and slots.order is None
    if slots.claims and bare and slots.corners and not slots.amounts:
        if slots.negated or slots.all_laps:
            return TELLERS["corner_review"](scene, slots)
        slots = replace(slots, order="most")
    return _TELL(scene, slots)


def _tell_review(view: View) -> Facts:
    """Describe how a corner went; by its speed alone if there is nothing to compare it with."""
    facts = reviews.corner_review(view)
    return facts if view.lost else (*facts, *tell_values(view.about(quantity="speed", spot=None)))


def _explain_corner(view: View) -> Facts:
    """Explain where the time of a corner goes; a low speed does not explain itself."""
    facts, loss = reviews.corner_explain(view), reviews.first(view)
    asks = view.slots.why and view.lap and loss is not None and not view.other
    ways = explain_speed(view, loss, loss.other.lap) if asks and loss is not None else ()
    part: Quantity | None = _OF_SPOT.get(view.slots.spot or "")
    if part and len(view.slots.corners) == 1 and not view.other:
        spread = find_spread(view.drive, part, view.slots.corners[0], None)
        if spread is not None and spread.usual.number >= _NONE.get(part, 0.0):
            ways = (_tell_laps(view.about(order=None, claims=False), spread),)
        return (facts[0], *ways, *facts[1:])
    return (facts[0], *ways) if ways else facts


TELLERS: Final[Tellers] = {
    "corner_explain": reviews.make_teller(_explain_corner),
    "corner_review": reviews.make_teller(_tell_review),
    "measure": _answer,
    "corner_spread": require_recorded(tell_spread, default="time", best=False),
}
