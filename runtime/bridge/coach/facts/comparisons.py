"""What is told of a quantity, by what the question names: its value on some laps, beside another
lap, driver or pass, over all corners, how much it varies; and whether it is as asked or said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    best_passes,
    losses_between,
    passes_of_lap,
    stand_in,
    usual_passes,
)
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.quantities import (
    CORNERS_ONLY,
    SUMS,
    corner_before,
    find_straight,
    known_corners,
    longest_full_throttle,
    passes_in,
    peak_place,
    sector_name,
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
    beside,
    end_of,
    is_high,
    label,
    measure,
    measured,
    places_of,
    spread,
)
from runtime.bridge.coach.facts.view import (
    NO_CORNERS,
    Facts,
    View,
    asks_for_gains,
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
"""Up to so much counts as none, over a lap or in a corner."""
_BRAKING: Final = ("brake_point", "brake_pressure", "brake_time", "brakings")
_PLACES: Final = ("brake_point", "brake_release", "throttle_point", "speed")
"""What is meant to be the same on every lap."""
_LAPS: Final[Mapping[Lap, Order]] = {"best": "least", "slowest": "most"}
"""Which end of the lap times a lap has that is named so."""
JUDGED: Final = ("early", "late", "high", "low")
"""What is said with these is said of a corner's best pass."""
_FEW: Final = 4
"""More laps than that are counted, not named."""
_Passes: TypeAlias = tuple[Drive, Mapping[str, Pass]]
"""A drive and the passes that stand for it."""
_Whose: TypeAlias = Literal["usual", "lap", "best_lap", "best_pass", "plan"]


WAYS: Final[tuple[tuple[Quantity, Spot | None], ...]] = (
    ("brake_point", None),
    ("speed", "apex"),
    ("coasting", None),
    ("speed", "exit"),
    ("throttle_point", None),
)
"""In what two passes of a corner may differ."""


class Side(NamedTuple):
    """One side of a comparison."""

    value: Value
    of: _Whose = "usual"
    lap: int = 0
    driver: str = ""
    """Empty: the one who asks."""
    usual: Value | None = None
    """Told too, where the value is that of one lap."""


def tell(view: View) -> Facts:
    """What the question asks of a quantity."""
    slots, rivals = view.slots, view.rivals
    apart = slots.laps or slots.which or slots.every_corner or slots.side
    if slots.alone and rivals and apart and slots.order not in SAYS:
        return tell(_of_rival(view))
    if rivals and _lists(slots) and not (slots.whether or slots.claims):
        words = tuple(lap for lap in slots.laps if not isinstance(lap, int))
        return (*tell(view.about(drivers=())), *tell(_of_rival(view.about(laps=words))))
    if slots.tally and rivals and slots.quantity in (None, "time") and not slots.amounts:
        return _tell_beaten(view)
    if _asks_which_pass(slots):
        return _tell_passing(view)
    varies = slots.varies and slots.corners and not slots.claims
    pair = rivals or len(view.named) == 2  # whether the two are alike
    if slots.order == "alike" and pair and not slots.all_laps:
        return tell_values(view)
    if slots.order in ("spread", "alike") or varies:
        return tell_spread(view)
    if slots.claims:
        return _check(view)
    plain = slots.whether and slots.order is None and not rivals
    asked = (*_BRAKING, "coasting", "full_throttle", *["throttle"] * (slots.pedal == "lift"))
    if plain and slots.corners and slots.quantity in asked:
        return _check(view)
    anywhere = slots.negated and slots.where and places_of(view.drive, slots) == (None,)
    if anywhere and (none := _tell_none(view)):
        return none
    longest = slots.quantity == "full_throttle" and slots.order in RISES
    if longest and not (slots.corners or rivals):
        return _tell_longest(view)
    if slots.side is not None and (told := tell_limit(view)):
        return told
    if _ranks(view):
        return _tell_rank(view)
    if slots.order in SAYS and slots.which != "lap" and not rivals and len(view.named) < 2:
        return _tell_judge(view)
    return tell_values(view)


def _of_rival(view: View) -> View:
    """What is asked, of the session of the other driver who is named."""
    name = view.rivals[0][0]
    return view.about(drivers=())._replace(outing=view.scene.rivals[name], name=name)


def _asks_which_pass(slots: Slots) -> bool:
    """Whether it asks in which corners there is any of it, or more or less than an amount."""
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
    """Whether it is asked where on a lap there is most or least of it, not how much of it."""
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
        return more != [] and slots.order in SAYS and not view.rivals  # in turn 3 or in turn 4
    return corners_only or (slots.quantity == "speed" and slots.order == "least")


def _lists(slots: Slots) -> bool:
    """Whether what is asked for is told of every corner, one after another."""
    ends = slots.order in (*ORDERED, *SAYS, "worst", "spread")
    lost = bool(slots.drivers) and slots.quantity in (None, "time") and slots.order != "each"
    return slots.every_corner and not (ends or lost)


def _on_straights(slots: Slots) -> bool:
    """Whether the straights are to be told apart."""
    most = slots.order in ORDERED and slots.quantity not in (None, "speed")
    return slots.which == "straight" or (slots.spot == "straight" and (slots.where or most))


# Its value


def tell_values(view: View) -> Facts:
    """The quantity at the places that are named; of the whole lap where none is."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, places = slots.quantity or "time", places_of(drive, slots)
    told: list[Fact] = []
    for where in places[: 2 if rivals else MOST_PLACES]:
        for what, spot in ((quantity, slots.spot), *slots.also):
            found = spread(drive, what or quantity, where, spot)
            if found is None:
                told.append(_tell_nothing(view, Spread(drive, what or quantity, where, spot, {})))
            elif rivals:
                told += [_against(view, found, *rival) for rival in rivals[:2]]
            elif len(view.named) == 2 and slots.order in (*ORDERED, "alike"):
                told.append(_two_laps(view, found))
            else:
                told += (_tell_laps(view, found), *_share(view, found))
    if slots.why and slots.which == "lap" and len(slots.corners) == 1 and told[0].laps:
        there = Slots(corners=slots.corners, laps=told[0].laps[:1])
        return (told[0], *TELLERS["corner_explain"](view.scene, there)[:3])
    if quantity == "time" and len(slots.corners) == 1 and places == slots.corners:
        beside_best = reviews.compare(view.scene, slots)
        lost = [loss for loss in beside_best.lost_here if loss.seconds >= WORTH_S]
        told += [beside_best.told("loss-with-straight", loss) for loss in lost]
    straight = find_straight(drive, places[0])
    bend = corner_before(drive, straight) if straight and quantity == "speed" and rivals else None
    if bend and (found := spread(drive, "speed", bend, "exit")):
        told.append(_against(view, found, *rivals[0]))
    return tuple(told)


def _share(view: View, found: Spread) -> Facts:
    """The share of the lap that a sum of seconds is: of the lap that is named, else of all."""
    if found.where is not None or found.unit != "s":
        return ()
    laps = found.of(view.listed)
    seconds = sum(view.drive.lap(lap).duration_s for lap in laps)
    share = Value(100.0 * sum(value.number for value in laps.values()) / seconds, "%")
    lap = next(iter(laps)) if len(laps) == 1 else 0
    told: dict[str, Cell] = {"share": share, "lap": lap, "count": len(laps)}
    return (view.fact("measure-share", told, laps),)


def _tell_none(view: View) -> Facts:
    """The corners in which there is none of it on any lap: no braking, a throttle always open."""
    quantity: Quantity = view.slots.quantity or "time"
    quantity = "brake_time" if quantity in _BRAKING else quantity
    lifts = quantity in ("throttle", "full_throttle", "throttle_point")
    if not lifts and quantity not in _NONE:
        return ()
    bends = [each.name for each in known_corners(view.drive) if view.covers(each.name)]
    told = [spread(view.drive, "throttle" if lifts else quantity, name, None) for name in bends]
    found = [each for each in told if each is not None]
    if not found:
        return ()

    def is_none(each: Spread) -> bool:
        numbers = [value.number for value in each.values.values()]
        return min(numbers) >= FULL_PCT if lifts else max(numbers) <= _NONE[quantity]

    none = [each for each in found if is_none(each)]
    values: dict[str, Cell] = {**label(found[0]), "count": len(found), "hits": len(none)}
    values["sort"] = "lift" if lifts else "other"
    values["corners"] = tuple(Corner(each.where or "") for each in none)
    return (view.fact("none-where", values, where=none[0].where if none else None),)


def _tell_nothing(view: View, found: Spread) -> Fact:
    """It was recorded, but there was none of it: no braking, a throttle that never closed."""
    words = label(found)
    least = spread(found.drive, "throttle", found.where, None)
    if found.quantity == "throttle_point" and least is not None:
        words["least"] = least.values[least.top(high=False)]
        return view.fact("measure-not-closed", words, where=found.where)
    words["count"] = len(found.drive.counted)
    return view.fact("measure-none", words, where=found.where)


def _tell_laps(view: View, found: Spread) -> Fact:
    """The laps that are named; else a mean, a peak, a sum; else the best lap and the usual one."""
    drive, quantity, where, _, _ = found
    if view.slots.without:
        found = found._replace(values=found.of(numbers_of(view.pool)))
    best, order = drive.best.number or 0, view.slots.order
    laps = [lap for lap in view.listed if lap in found.values]
    ranks = view.slots.ranked and not view.named
    if ranks:
        high = is_high(quantity, order)
        laps = sorted(found.values, key=lambda lap: found.values[lap].number, reverse=high)
    values: dict[str, Cell] = label(found)
    numbers = [value.number for value in found.of(laps).values()]
    if order in ("mean", "total") and len(numbers) > 1:
        mean = Value(sum(numbers) / len(numbers), found.unit)
        side, (mean, usual) = beside(quantity, mean, found.usual)
        values |= {"mean": mean, "usual": usual, "side": side, "count": len(numbers)}
        values["total"] = Value(sum(numbers), found.unit)
        total = order == "total" and quantity in SUMS
        return view.fact("measure-total" if total else "measure-mean", values, laps, where)
    which, left = view.slots.which == "lap", view.slots.without and not view.slots.all_laps
    picks = (which or (left and order in ORDERED)) and not (view.named or ranks)
    if laps and laps != [best] and not picks:
        side, shown = beside(quantity, *(found.values[lap] for lap in laps), found.usual)
        spot = peak_place(drive, quantity, laps[0]) if found.peaks and len(laps) == 1 else None
        spot = spot if where is None else None
        values |= {"laps": tuple(laps), "values": shown[:-1], "count": len(laps)}
        values |= {"usual": shown[-1], "side": side, **_placed(drive, spot)}
        told = view.fact("measure-laps", values, laps, where)
        gains, whether = view.slots.gains, view.slots.whether and len(laps) == 1
        if quantity != "time" or gains is None or not whether:
            return told
        return judge(told, view.slots, so=(numbers[0] < found.usual.number) == gains)
    if (which or order in ORDERED or found.peaks) and len(laps) != 1:
        high, of = is_high(quantity, order), found.of(laps)
        rank = sorted(of, key=lambda lap: of[lap].number * (-1) ** high)
        place = min(view.slots.place, len(rank))
        lap = rank[place - 1]
        side, shown = beside(quantity, found.values[lap], found.usual, of[rank[-1]])
        spot = peak_place(drive, quantity, lap) if where is None and high else None
        values |= {"value": shown[0], "usual": shown[1], "lap": lap, "side": side, "nth": place}
        values |= _placed(drive, spot)
        values |= {"last": shown[2], "last_lap": rank[-1]}
        values["ends"] = "yes" if which and where and place == 1 and len(rank) > 1 else "no"
        values |= {"end": Term("end", end_of(quantity, high=high))}
        told = view.fact("measure-peak", values, (lap,), where)
        level = abs(found.values[lap].number - found.usual.number) < APART[found.unit]
        better = found.corner and view.slots.whether and view.slots.gains is not None
        return judge(told, view.slots, so=False) if level and better and place == 1 else told
    side, shown = beside(quantity, found.find(best), found.usual)
    spot = peak_place(drive, quantity, best) if where is None and found.peaks else None
    values |= {"best": shown[0], "usual": shown[1], "lap": best, "side": side}
    values |= _placed(drive, spot)
    return view.fact("measure-best", values, (best,), where)


def _placed(drive: Drive, spot: str | None) -> dict[str, Cell]:
    """Where on the lap a value was reached, for a sentence."""
    place: Cell = "" if spot is None else Corner(spot) if passes_in(drive, spot) else spot
    return {"place": place, "placed": "yes" if spot else "no"}


def _tell_longest(view: View) -> Facts:
    """The longest stretch of full throttle, of the laps that are named, else of all."""
    drive = view.drive
    laps = {lap: longest_full_throttle(drive, lap) for lap in numbers_of(view.asked)}
    known = {lap: each for lap, each in laps.items() if each and each.begins and each.ends}
    if not known:
        return tell_values(view)
    lap, found = max(known.items(), key=lambda each: each[1].seconds)
    ends = [each or "" for each in (found.begins, found.ends)]
    begin, end = (Corner(name) if passes_in(drive, name) else name for name in ends)
    values: dict[str, Cell] = {"seconds": Value(found.seconds, "s"), "lap": lap, "begin": begin}
    values |= {"length": Value(found.metres, "m"), "end": end}
    return (view.fact("full-throttle-run", values, (lap,), found.begins),)


def tell_limit(view: View) -> Facts:
    """On which of the laps, else in which of the places that are named, a limit is passed."""
    slots = view.slots
    found = spread(
        view.drive, slots.quantity or "time", places_of(view.drive, slots)[0], slots.spot
    )
    if found is None:
        return ()
    limit = _find_limit(slots, found.unit)
    if limit is None:
        return ()
    values = found.of(numbers_of(view.asked))
    hits = [lap for lap, each in values.items() if (each.number > limit) == (slots.side == "above")]
    told: dict[str, Cell] = {**label(found), "side": slots.side or "", "count": len(hits)}
    told |= {"all": len(values), "limit": Value(limit, found.unit), "named": tuple(hits)}
    told["listed"] = "yes" if 0 < len(hits) < len(values) else "no"
    fact = view.fact("measure-limit", told, hits, found.where)
    so = len(hits) == len(values) if slots.all_laps else bool(hits)
    asks = slots.whether or (slots.all_laps and not slots.open)
    return (judge(fact, slots, so=so) if asks else fact,)


def _tell_beaten(view: View) -> Facts:
    """How many laps of a driver are quicker than the other's lap that is named; where none is, than
    the other's best, or average, of both drivers."""
    theirs = any(isinstance(lap, Their) for lap in view.slots.laps)
    (name, rival), driver, averages = view.rivals[0], view.scene.driver, view.slots.order == "mean"
    own, its = (*view.named, view.drive.best)[0], view.lap_of(rival)
    pairs = [(driver, view.pool, name, its, rival.counted)] if theirs or not view.named else []
    pairs += [] if theirs else [(name, rival.counted, driver, own, view.pool)]
    told: list[Fact] = []
    for whose, laps, of, bar, every in pairs:
        seconds = mean(lap.duration_s for lap in every) if averages else bar.duration_s
        hits = [lap.number or 0 for lap in laps if lap.duration_s < seconds]
        values: dict[str, Cell] = {"whose": whose, "count": len(hits), "all": len(laps), "of": of}
        values |= {"named": tuple(hits), "lap": 0 if averages else bar.number or 0}
        values["time"] = lap_time(seconds)
        told.append(view.fact("laps-beaten", values, hits if whose != name else (), other=name))
    return tuple(told)


def _find_limit(slots: Slots, unit: Unit) -> float | None:
    """The amount of that unit; of a lap time seconds do, too."""
    units = (unit, "s") if unit == "lap_time" else (unit,)
    return next((each.number for each in slots.amounts if each.unit in units), None)


class _Amounts(NamedTuple):
    """What each corner, or straight, has of a quantity; *least*: so much counts as some."""

    by_place: Mapping[str, float]
    least: float
    words: dict[str, Cell]


def _tell_passing(view: View) -> Facts:
    """How many corners, and which, pass a limit, or have any: by the time lost, the usual value, or
    by how far that is from a rival's on the side that is asked for."""
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
    words |= {"named": tuple(Placed(Corner(each), Value(amounts[each], unit)) for each in hits)}
    words |= {"count": len(hits), "all": len(amounts), "limit": Value(limit, unit)}
    told = view.told("places-passing", **words, side="above" if above else "below")
    every = slots.every_corner and (slots.claims or slots.whether)
    return (judge(told, slots, so=len(hits) == len(amounts)) if every else told,)


def _list_lost(view: View) -> _Amounts:
    """Seconds lost in the corners, or won on a rival where that is asked for."""
    wins = bool(view.other) and asks_for_gains(view.slots)
    amounts = {loss.corner: -loss.seconds if wins else loss.seconds for loss in view.lost}
    if view.slots.order == "alike":
        amounts = {where: abs(seconds) for where, seconds in amounts.items()}
    words: dict[str, Cell] = {"what": Term("measured", "won" if wins else "lost")}
    words |= {"at": Term("at", "none"), "compared": "none", "name": "", "of": "corner"}
    return _Amounts(amounts, WORTH_S, {**words, "loses": "yes"})


def _list_usual(view: View, quantity: Quantity) -> _Amounts:
    """The usual values in the corners, on the straights for a top speed; or what they have more
    than a rival's, less, earlier or later."""
    slots, least, name, side = view.slots, _NONE.get(quantity, 0.0), "", "none"
    roads = quantity == "speed" and slots.side == "above" and slots.spot is None
    bends = view.drive.straights if roads else view.drive.corners
    spreads = [spread(view.drive, quantity, each.name, slots.spot) for each in bends]
    known = {each.where or "": each for each in spreads if each is not None}
    amounts = {where: each.usual.number for where, each in known.items()}
    if view.rivals:
        name, rival = view.rivals[0]
        high = is_high(quantity, slots.order) != slots.than_me
        others = {where: spread(rival, quantity, where, slots.spot) for where in known}
        theirs = {where: each.usual.number for where, each in others.items() if each is not None}
        amounts = {at: (amounts[at] - theirs[at]) * (1 if high else -1) for at in theirs}
        side, least = end_of(quantity, high=high), APART[UNITS[quantity]]
    words = label(next(iter(known.values()))) if known else {}
    words |= {"compared": side, "name": name, "of": "road" if roads else "corner", "loses": "no"}
    return _Amounts(amounts, least, words)


def _tell_rank(view: View) -> Facts:
    """In which corner a quantity is largest or smallest, or differs most from a rival's."""
    slots, drive, laps = view.slots, view.drive, view.listed
    quantity, spot = slots.quantity or "time", slots.spot
    order = slots.order if slots.order in ORDERED else "most"
    ranked = view.about(order=order, laps=(), all_laps=False, without=())
    roads = _on_straights(slots)
    if spot == "lap" or (spot == "straight" and not roads and quantity not in CORNERS_ONLY):
        return tell_values(ranked)
    every = _lists(slots)
    if quantity == "time" and not (slots.corners or roads or every) and known_corners(drive):
        return reviews.TELLERS["loss_rank"](view.scene, slots)  # not which corner is the longest
    high = is_high(quantity, order)
    bends = drive.straights if roads else known_corners(drive)
    names = tuple(each.name for each in bends if roads or view.covers(each.name))
    lap = laps[0] if len(laps) == 1 else (stand_in(drive) and drive.best.number) or 0
    spreads = [each for name in names if (each := spread(drive, quantity, name, spot))]
    if view.rivals or (quantity == "time" and not every):
        return _differing(view, spreads)
    if not every:
        spreads.sort(key=lambda each: each.find(lap).number, reverse=high)
    lead: Facts = ()
    plain = not (slots.corners or spot or roads or every)
    whole = None if not plain else spread(drive, quantity, None, None)
    if whole is not None and (high or not whole.peaks):
        lead = (_tell_laps(ranked.about(laps=slots.laps) if lap else ranked, whole),)
    if len(spreads) < 2:
        nothing = [Spread(drive, quantity, name, spot, {}) for name in names[:1]]
        return lead or tuple(_tell_nothing(view, each) for each in nothing) or (NO_CORNERS,)
    place = min(slots.place, len(spreads))
    first, second, last = spreads[place - 1], spreads[1 if place == 1 else 0], spreads[-1]
    side, shown = beside(quantity, *(each.find(lap) for each in (first, second, last)))
    values: dict[str, Cell] = {**label(first), "lap": lap, "side": side, "count": len(spreads)}
    values |= {"second": _name(second), "last": _name(last), "nth": place}
    values |= {"value": shown[0], "second_value": shown[1], "last_value": shown[2]}
    values |= {"end": Term("end", end_of(quantity, high=high)), "of": "road" if roads else "corner"}
    numbers = [each.find(lap).number for each in spreads]
    level = max(numbers) == min(numbers)
    if (slots.count > 1 or every) and not level:
        chosen = spreads if every else spreads[: slots.count]
        side, shown = beside(quantity, *(each.find(lap) for each in chosen))
        placed = (Placed(_name(each), one) for each, one in zip(chosen, shown, strict=True))
        values |= {"side": side, "listed": tuple(placed), "every": "yes" if every else "no"}
        listed = view.fact("rank-listed", values, (lap,) if lap else (), first.where)
        alike = max(numbers) - min(numbers) < 2 * APART[first.unit]
        return (judge(listed, slots, so=alike) if every and slots.whether else listed,)
    kind, told_of = "rank-level" if level else "rank-places", (lap,) if lap else ()
    corner = view.fact(kind, values, told_of, first.where)
    if slots.whether and len(slots.corners) == 2 and not level:
        corner = judge(corner, slots, so=spreads[0].where == slots.corners[0])
    whole_lap = quantity in ("speed", "rpm") and high and slots.which != "corner" and place == 1
    return (*lead, corner) if whole_lap else (corner, *lead)


def _name(found: Spread) -> Corner | str:
    """Where it is, for a sentence."""
    return Corner(found.where or "") if found.corner else found.where or ""


def _differing(view: View, spreads: Sequence[Spread]) -> Facts:
    """The places where the usual value is most apart from a rival's, on the side that is asked for;
    without a rival where most time is lost."""
    if not view.rivals:
        ranked = rank_lost(view, [each.where or "" for each in spreads])
        at = min(view.slots.place, len(ranked)) - 1
        return (tell_lost(view, ranked, at),) if ranked else (NO_CORNERS,)
    (name, rival), slots = view.rivals[0], view.slots
    apart: list[tuple[float, Spread]] = []
    for found in spreads:
        theirs = spread(rival, found.quantity, found.where, found.spot)
        if theirs is not None:
            more = found.usual.number - theirs.usual.number
            high = is_high(found.quantity, slots.order) != slots.than_me
            high &= not (found.quantity == "time" and slots.gains)
            apart.append((abs(more) if slots.either else more if high else -more, found))
    apart.sort(key=lambda pair: -pair[0])
    told_of = [found for more, found in apart if more >= APART[found.unit]]
    told_of = told_of or [found for _, found in apart[:1] if found.quantity == "time"]
    if told_of:
        chosen = told_of[slots.place - 1 :][:3]
        return tuple(_against(view, found, name, rival) for found in chosen)
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
    """What is lost at places on the lap that is named, else usually, the most first."""
    lap, found = view.listed[0] if len(view.listed) == 1 else 0, []
    for where in places:
        if times := spread(view.drive, "time", where, None):
            best_lap = times.top(high=False)
            own, best = times.find(lap), times.values[best_lap]
            found.append(Lost(own.number - best.number, where, own, best, best_lap))
    return sorted(found, key=lambda each: -each.seconds)


def tell_lost(view: View, ranked: Sequence[Lost], at: int = 0, *, least: bool = False) -> Fact:
    """One of the places, the first, second … of *ranked*, and what the others cost; *least*: the
    one that costs least comes first."""
    lost, others = ranked[at], [each for each in ranked if each is not ranked[at]]
    named = (Placed(Corner(each.where), Value(each.seconds, "s")) for each in others)
    lap = view.listed[0] if len(view.listed) == 1 else 0
    values: dict[str, Cell] = {"where": Corner(lost.where), "loss": Value(lost.seconds, "s")}
    values |= {"own": lost.own, "best": lost.best, "nth": at + 1, "lap": lap}
    values |= {"end": "least" if least else "most", "listed": tuple(named), "count": len(others)}
    laps = (lap, lost.best_lap) if lap else (lost.best_lap,)
    return view.fact("rank-lost", values, laps, lost.where, basis="best_pass", gain_s=lost.seconds)


# Two values beside each other


def _compare(
    view: View, found: Spread, own: Side, other: Side, loss_s: float | None = None
) -> Fact:
    """Two sides, and whether it is as was asked or claimed; *loss_s*: what the corner costs."""
    quantity, slots = found.quantity, view.slots
    apart = own.value.number - other.value.number
    level = abs(apart) < APART[found.unit]
    lost = "unknown" if loss_s is None else "yes" if loss_s >= WORTH_S else "no"
    if loss_s is not None and loss_s <= -WORTH_S:
        lost = "gained"
    order = slots.order if slots.order in ORDERED or not slots.claims else "high"
    so = not level and (apart > 0) == (is_high(quantity, order) != slots.than_me)
    if slots.wishes and not slots.claims:  # whoever has less of it is to have more
        so = not level and not so
    so = level if slots.order == "alike" else so != slots.enough
    said = next((each.number for each in slots.amounts if each.unit == found.unit), 0.0)
    if slots.claims and abs(apart) < said - APART[found.unit]:  # 10 km/h more, and it is 5
        so = False
    usual = (found.usual, other.usual or (other.value if other.driver else found.usual))
    side, shown = beside(quantity, own.value, other.value, *usual)
    values: dict[str, Cell] = {**label(found), "side": side}
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
        found.where,
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
    if not asks or _spared(view, found) or (needs_loss and lost not in ("yes", "unknown")):
        return fact
    return replace(fact, verdict="yes" if so else "no")


def _spared(view: View, found: Spread) -> bool:
    """Whether nobody is told to do more of it there: the corner lies in a danger zone."""
    return view.slots.wishes and found.corner and found.where in dangers(view.drive)


def _two_laps(view: View, found: Spread) -> Fact:
    first, second = (each.number or 0 for each in view.named[:2])
    own, other = (Side(found.find(lap), "lap", lap) for lap in (first, second))
    return _compare(view, found, own, other)


def _against(view: View, found: Spread, name: str, rival: Drive) -> Fact:
    """Two drivers beside each other: on the best lap or at the peak, and on the usual lap."""
    drive, quantity, where, spot, _ = found
    theirs = spread(rival, quantity, where, spot)
    if theirs is None:
        values: dict[str, Cell] = {**label(found), "other": name}
        return view.fact("measure-rival-none", values, where=where, other=name)
    if found.corner and not view.named and found.quantity != "time":
        own, other = Side(found.usual), Side(theirs.usual, driver=name)
        return _compare(view, found, own._replace(driver=view.scene.driver), other)
    high = is_high(quantity, view.slots.order)
    laps = [lap for lap in view.listed if lap in found.values]
    lap = found.top(high=high) if found.peaks else drive.best.number or 0
    lap = laps[0] if len(laps) == 1 else lap
    its = theirs.top(high=high) if found.peaks else view.lap_of(rival).number or 0
    own = Side(found.find(lap), "lap", lap, view.scene.driver, found.usual)
    return _compare(view, found, own, Side(theirs.find(its), "lap", its, name, theirs.usual))


def differences(view: View, corner: str, than: tuple[Drive, int | None], name: str = "") -> Facts:
    """What was different in a corner on the lap of the view and on another one, the usual one where
    there is none, of a rival where a name is given: what is asked for, then what differs most."""
    (drive, its), slots = than, view.slots
    told: list[tuple[bool, float, Fact]] = []
    for quantity, spot in WAYS:
        found, theirs = (spread(each, quantity, corner, spot) for each in (view.drive, drive))
        if found is None or theirs is None or view.lap not in found.values:
            continue
        own = Side(found.find(view.lap), "lap", view.lap)
        other = Side(theirs.find(its or 0), "lap" if its else "usual", its or 0)
        if name:
            own = own._replace(driver=view.scene.driver, usual=found.usual)
            other = other._replace(driver=name, usual=theirs.usual)
        apart = abs(own.value.number - other.value.number) / APART[found.unit]
        if apart >= 1.0:
            asked = quantity == slots.quantity or spot == (slots.spot or "")
            fact = _compare(view.about(order=None, claims=False), found, own, other)
            told.append((not asked, -apart, fact))
    return tuple(fact for _, _, fact in sorted(told, key=lambda each: each[:2]))


def explain_speed(view: View, loss: Loss, lap: int = 0) -> Facts:
    """Why the lap of the view was slow in the middle of a corner, where it was: what was done
    otherwise with the pedals on another lap, or usually."""
    if not loss.causes or loss.causes[0][0] != "slow_apex":
        return ()
    told = differences(view, loss.corner, (view.drive, lap))
    return tuple(fact for fact in told if fact.values["what"] != Term("measured", "speed_corner"))


def _tell_judge(view: View) -> Facts:
    """Whether a quantity is so at the places named; else in which corners."""
    slots, drive = view.slots, view.drive
    quantity, spot, places = slots.quantity or "speed", slots.spot, places_of(drive, slots)
    lap = next(iter(view.listed), stand_in(drive))
    if slots.laps == ("best",):  # than on my best lap
        view, lap = view.about(laps=()), 0
    corners = quantity in CORNERS_ONLY or spot not in (None, "lap") or slots.where
    everywhere = places == (None,) and (corners or slots.which == "corner")
    if everywhere:
        places = tuple(corner.name for corner in known_corners(drive))
    judged: list[Fact] = []
    for where in places:
        found = spread(drive, quantity, where, spot)
        target = _find_target(view, found, lap) if found is not None else None
        if found is None:
            judged.append(_tell_nothing(view, Spread(drive, quantity, where, spot, {})))
        elif target is None:
            judged.append(_tell_laps(view, found))
        else:
            own = Side(found.find(lap), "lap" if lap else "usual", lap)
            judged.append(_compare(view, found, own, *target))
            if _spared(view, found):
                judged += knowledge.danger(view.scene, Slots(corners=(where or "",)))[:1]
    weighed = [each for each in judged if each.kind == "compare"]
    if not everywhere or not weighed:
        return tuple(judged)
    end = end_of(quantity, high=is_high(quantity, slots.order) != slots.wishes)
    guilty = [each for each in weighed if each.gain_s is not None]
    guilty = [each for each in guilty if each.values["compared"] == end]
    if guilty:
        return tuple(sorted(guilty, key=lambda each: -(each.gain_s or 0.0))[:3])
    nowhere: dict[str, Cell] = {"count": len(weighed), "other": "none", "compared": end}
    return (view.fact("judge-nowhere", {**weighed[0].values, **nowhere}),)


def _find_target(view: View, found: Spread, lap: int = 0) -> tuple[Side, float | None] | None:
    """The quickest pass of the corner there is, the driver's own or a rival's, and what the corner
    costs against it; else what the circuit's file has; of a straight or a lap the best lap."""
    drive, quantity, where, spot, _ = found
    alone, best = len(found.values) < 2, drive.best.number or 0
    if not found.corner or where is None:
        return None if alone else (Side(found.find(best), "best_lap", best), None)
    own = passes_of_lap(drive, lap) if lap else usual_passes(drive)
    best_own = best_passes(drive)
    for name, each in view.scene.rivals.items():
        rival, passes = each.drive, best_passes(each.drive)
        ahead = _cost((drive, best_own), (rival, passes), where) or 0.0
        theirs = spread(rival, quantity, where, spot)
        if theirs is not None and where in passes and ahead > APART["s"]:
            its = passes[where].lap
            side = Side(theirs.find(its), "best_pass", its, name)
            return side, _cost((drive, own), (rival, passes), where)
    if where in own and where in best_own and not alone:
        its = best_own[where].lap
        if its == lap:
            return Side(found.usual), None
        return (
            Side(found.find(its), "best_pass", its),
            _cost((drive, own), (drive, best_own), where),
        )
    bend = next(each for each in drive.corners if each.name == where)
    if quantity == "speed" and bend.speeds is not None:
        speed = getattr(bend.speeds, spot if spot in ("entry", "exit") else "apex")
        return Side(Value(speed * KMH, "km/h"), "plan"), None
    if quantity == "brake_point" and bend.brake is not None:
        return Side(Value(bend.brake.before_entry_m, "m"), "plan"), None
    return None


def _cost(own: _Passes, other: _Passes, where: str) -> float | None:
    """What a corner costs one side against the other, seconds."""
    (drive, mine), (rival, theirs) = own, other
    if where not in mine or where not in theirs:
        return None
    losses = losses_between({where: mine[where]}, {where: theirs[where]}, drive, rival)
    return losses[0].seconds if losses else None


# How much it varies


def tell_spread(view: View) -> Facts:
    """The least and the most repeatable corner, by time or by the quantity; or how much it varies
    at the places that are named."""
    slots, drive = view.slots, view.drive
    quantity, spot = slots.quantity or "time", slots.spot
    drives = [(view.scene.driver, drive), *view.rivals]
    told: Facts = ()
    for where in places_of(drive, slots)[:3]:
        more: tuple[Quantity, ...] = ("speed",) if quantity == "time" else ()
        for name, each in drives if where else ():
            found = [spread(each, one, where, spot) for one in (quantity, *more)]
            driver, laps = name if len(drives) > 1 else "", view.listed if each is drive else ()
            laps = laps if len(laps) >= FEW_LAPS else ()
            told += tuple(_range(view, one, laps, "width", driver) for one in found if one)
    if told or (slots.corners or slots.straights):
        return told or (_few(view),)
    if not known_corners(drive):
        return (NO_CORNERS,)
    for name, each in drives:
        laps = view.listed if len(view.listed) >= FEW_LAPS else ()
        sectors = range(1, len(each.sectors) + 1) if slots.which == "sector" else ()
        places = [*map(sector_name, sectors)] or [one.name for one in known_corners(each)]
        corners = _deviations(each, quantity, spot, places, laps)
        if len(corners) < 2:
            continue
        ranked = sorted(corners, key=lambda corner: -corners[corner])
        nth = min(slots.place, len(ranked)) - 1
        chosen = slice(nth, nth + max(slots.count, 1))
        least, steady = (
            tuple(Placed(Corner(one), Value(corners[one], UNITS[quantity])) for one in row[chosen])
            for row in (ranked, ranked[::-1])
        )
        values = label(Spread(drive, quantity, ranked[nth], spot, {}))
        values |= {"loose": least, "steady": steady, "nth": nth + 1}
        values |= {"count": len(laps) or len(each.counted)}
        values["whose"] = name if len(drives) > 1 else "none"
        values["first"] = "steady" if slots.order in RISES else "loose"
        other = name if each is not drive else ""
        told += (view.fact("spread-corners", values, where=ranked[nth], other=other),)
    return told or (_few(view),)


def _few(view: View) -> Fact:
    return view.fact("spread-few", {"count": len(view.drive.counted)})


def _deviations(
    drive: Drive,
    quantity: Quantity,
    spot: Spot | None,
    places: Iterable[str],
    laps: Sequence[int],
) -> dict[str, float]:
    """The standard deviation of a quantity over the laps, by corner or sector."""
    deviations = {}
    for name in places:
        values = measure(drive, quantity, name, spot)
        numbers = [v.number for lap, v in values.items() if not laps or lap in laps]
        if len(numbers) >= FEW_LAPS:
            deviations[name] = deviation(numbers, sample=True) or 0.0
    return deviations


def _range(
    view: View,
    found: Spread,
    laps: Sequence[int],
    asked: Literal["width", "some", "so"],
    driver: str = "",
    *,
    hits: int = 0,
    so: bool = False,
) -> Fact:
    """The usual, the smallest and the largest value: how wide apart they are, or on how many of the
    laps it was so. Whether they are wide apart is judged where they are said to be alike."""
    values = found.of(laps)
    top = max(values, key=lambda lap: values[lap].number)
    bottom = min(values, key=lambda lap: values[lap].number)
    numbers = [value.number for value in values.values()]
    width = Value(max(numbers) - min(numbers), UNITS[found.quantity])
    side, (usual, most, least) = beside(found.quantity, found.usual, values[top], values[bottom])
    told: dict[str, Cell] = {**label(found), "side": side}
    told |= {"usual": usual, "most": most, "lap": top, "least": least, "other_lap": bottom}
    told |= {"asked": asked, "width": width, "hits": hits, "count": len(values)}
    told["spread"] = Value(deviation(numbers, sample=True) or 0.0, UNITS[found.quantity])
    told["whose"] = driver or "none"
    other = driver if driver != view.scene.driver else ""
    fact = view.fact("range", told, (top, bottom), found.where, other=other)
    slots = view.slots
    if asked == "width":
        so = width.number < 2 * APART[found.unit]
    same = slots.order == "alike" or (slots.order == "each" and slots.claims and not slots.varies)
    asks = (slots.claims or slots.whether) and (asked != "width" or same)
    return judge(fact, slots, so=so) if asks else fact


# Whether it is as the driver says


def _check(view: View) -> Facts:
    """The claim beside the measures, by what it names: drivers, laps, amounts, a rank, a share."""
    slots, drive, rivals = view.slots, view.drive, view.rivals
    quantity, where = slots.quantity or "time", (*slots.corners, *slots.straights, None)[0]
    laps = () if slots.all_laps else view.listed
    ordered = slots.order in ORDERED
    if quantity == "time" and where and passes_in(drive, where) and not laps:
        return _check_loss(view, where)
    same = slots.order == "each" and quantity in _PLACES and not (slots.amounts or rivals)
    plain = not (same or slots.amounts or ordered or rivals)
    if plain and quantity in ("throttle", "full_throttle") and passes_in(drive, where):
        quantity = "throttle"
    elif plain and quantity in _BRAKING:
        quantity = "brake_time"
    found = spread(drive, quantity, where, None if plain else slots.spot)
    if found is None and where is None and rivals:
        return _tell_rank(view)
    if found is None:
        return tell_values(view)
    if same:
        return (_range(view, found, laps, "width"),)
    values, numbers = found.of(laps), [value.number for value in found.of(laps).values()]
    if plain and quantity == "throttle" and found.corner:
        return (_check_flat(view, found, laps),)
    if plain and quantity in _NONE:
        hits = sum(number > _NONE[found.quantity] for number in numbers)
        every = slots.all_laps and not slots.negated
        so = hits == len(numbers) if every else hits > 0
        return (_range(view, found, laps, "some", hits=hits, so=so),)
    if rivals and spread(rivals[0][1], quantity, where, found.spot):
        return (_against(view, found, *rivals[0]),)
    ranks = [_LAPS[lap] for lap in slots.laps if lap in _LAPS]
    others = [pick_lap(view.counted, lap) for lap in slots.laps if lap not in _LAPS]
    named = [lap.number or 0 for lap in others if lap is not None]
    if quantity == "time" and where is None and ranks and named:
        return _check_rank(view.about(order=ranks[0]), found, named)
    if len(laps) == 2 and ordered:
        return (_two_laps(view, found),)
    amount = next((each.number for each in slots.amounts if each.unit == found.unit), None)
    if amount is not None:
        if found.corner and slots.order in ("early", "late"):  # so much too early, not so far off
            return _tell_judge(view.about(quantity=quantity, claims=False))
        above = is_high(quantity, slots.order) if slots.side is None else slots.side == "above"
        hits = sum(
            (number >= amount) == above
            if ordered or slots.side
            else abs(number - amount) <= APART[found.unit]
            for number in numbers
        )
        so = hits == len(values) if slots.all_laps or laps else hits > 0
        return (_range(view, found, laps, "so", hits=hits, so=so),)
    if found.corner and slots.order in JUDGED and slots.which != "corner":
        if len(laps) != 1:
            return _tell_judge(view)
        lap = Side(found.find(laps[0]), "lap", laps[0])
        return (_compare(view, found, lap, Side(found.usual)),)
    if ordered and (laps or found.corner):
        return _check_rank(view, found, laps)
    return tell_values(view)


def _check_flat(view: View, found: Spread, laps: Sequence[int]) -> Fact:
    """Whether the throttle stayed open in a corner, by its lowest reading there."""
    values = found.of(laps)
    lifted = [lap for lap, value in values.items() if value.number < FULL_PCT]
    least = min(values, key=lambda lap: values[lap].number)
    slots, told = view.slots, label(found)
    flat = (slots.pedal == "lift") == slots.negated
    many = "all" if 0 < len(lifted) == len(values) > 1 else "many" if len(lifted) > _FEW else "few"
    told |= {"laps": tuple(lifted), "lifted": many if lifted else "none", "number": len(lifted)}
    told |= {"count": len(values), "least": values[least], "lap": least}
    fact = view.fact("claim-flat", told, lifted[:_FEW], found.where)
    if flat and 0 < len(lifted) < len(values):
        return replace(fact, verdict="partly")
    return judge(fact, replace(slots, negated=False), so=flat != bool(lifted))


def _check_rank(view: View, found: Spread, laps: Sequence[int]) -> Facts:
    """The lap, or the corner, at the end of the values that is claimed; then the one named."""
    plain = view.about(claims=False, laps=())
    if laps:
        first, named = _tell_laps(plain.about(which="lap"), found), laps[0]
        level = found.find(named).number - found.find(first.laps[0]).number
    else:
        first = _tell_rank(plain.about(corners=(), order=view.slots.order, which="corner"))[0]
        top, level = first.values["value"], 0.0
        level = abs(found.usual.number) - abs(top.number) if isinstance(top, Value) else 1.0
    so = abs(level) < APART[found.unit] / 10
    own = () if so else (_tell_laps(view.about(order=None, laps=laps, whether=False), found),)
    return (judge(first, view.slots, so=so), *own)


def _check_loss(view: View, where: str) -> Facts:
    """Whether a corner is the best or the worst one, or better than a rival's, by its time lost."""
    order, beside = view.slots.order, reviews.compare(view.scene, view.slots)
    loss = next((each for each in beside.lost if each.corner == where), None)
    if loss is None:
        return tell_values(view)
    so = (
        loss.seconds < -WORTH_S
        if beside.other
        else loss.seconds <= beside.lost[-1].seconds + WORTH_S
    )
    if order in RISES:  # more time
        so = loss.seconds > WORTH_S if beside.other else beside.lost[0] is loss
    elif order not in ORDERED:
        so = loss.seconds > WORTH_S
    worst = () if beside.lost[0] is loss else reviews.loss_rank(beside.about(corners=()))[:1]
    return (judge(reviews.corner_fact(beside, loss), view.slots, so=so), *worst)


_TELL: Final = measured(tell, default="time")


def _answer(scene: Scene, slots: Slots) -> Facts:
    """What says neither a quantity nor an order claims that a corner was good; of what is denied or
    said of every lap without a quantity nothing is known but how the corner went."""
    brakes = slots.quantity in _BRAKING or (slots.quantity is None and slots.pedal == "brake")
    if slots.order == "worst" and brakes and not slots.corners:  # by what it costs
        ranked = replace(slots, quantity=None, order=None, spot="entry", which=None)
        return reviews.TELLERS["loss_rank"](scene, ranked)
    if slots.claims and slots.quantity is None and slots.order is None and slots.corners:
        if slots.negated or slots.all_laps:
            return TELLERS["corner_review"](scene, slots)
        slots = replace(slots, order="most")
    return _TELL(scene, slots)


def _tell_review(view: View) -> Facts:
    """How a corner went; by its speed alone where there is nothing to compare it with."""
    told = reviews.corner_review(view)
    return told if view.lost else (*told, *tell_values(view.about(quantity="speed", spot=None)))


def _explain_corner(view: View) -> Facts:
    """Where the time of a corner goes; a low speed is no reason for itself."""
    told, loss = reviews.corner_explain(view), reviews.first(view)
    asks = view.slots.why and view.lap and loss is not None and not view.other
    ways = explain_speed(view, loss, loss.other.lap) if asks and loss is not None else ()
    return (told[0], *ways) if ways else told


TELLERS: Final[Tellers] = {
    "corner_explain": reviews.teller(_explain_corner),
    "corner_review": reviews.teller(_tell_review),
    "measure": _answer,
    "corner_spread": measured(tell_spread, default="time", best=False),
}
