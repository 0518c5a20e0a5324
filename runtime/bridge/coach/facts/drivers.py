"""Facts about other drivers and earlier sessions: who is quicker, where and how, and progress."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import mean, median
from typing import Final

from runtime.bridge.analysis.compare import compare_sides, describe_circuit, measure_side
from runtime.bridge.analysis.drive import NoCorners
from runtime.bridge.analysis.driver import (
    PLATEAU_S,
    DriverSession,
    Step,
    list_steps,
    summarise_progress,
)
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Halves,
    Loss,
    compare_halves,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.quantities import measure_laps, name_sector
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.fact import Cell, Corner, Fact, Place, Value
from runtime.bridge.coach.facts import comparisons
from runtime.bridge.coach.facts.measures import FALLS
from runtime.bridge.coach.facts.reviews import compare
from runtime.bridge.coach.facts.view import (
    LEVEL_S,
    Facts,
    Tell,
    View,
    asks_for_gains,
    fits_claim,
    gap,
    judge,
    lap_time,
    name_loss,
    no_earlier,
    no_rival,
    numbers_of,
    span,
    spread_s,
    teller,
)
from runtime.bridge.coach.need import Quantity, Slots, Their
from runtime.bridge.coach.scene import Outing, Teller, Tellers
from runtime.bridge.session.stats import deviation

FEW: Final = 10
"""With fewer laps on a side there is no verdict on who is steadier."""
MOST_PLACES: Final = 3
"""Corners listed for a gap; one of them is where the own driver is quicker."""
HALVES: Final = 4
"""The least laps for comparing the two halves of a session."""


def duel(tell: Tell) -> Tell:
    """Compare a lap, the best unless one is named, with the best lap of each named driver, else of
    the quickest other driver.

    A straight is compared by its top speed.
    """

    def answer(view: View) -> Facts:
        rivals = view.scene.rivals
        if not rivals:
            return (no_rival(view.scene),)
        quickest = min(rivals, key=lambda name: rivals[name].drive.best.duration_s)
        names = tuple(name for name in view.slots.drivers if name in rivals) or (quickest,)
        if view.slots.straights or view.slots.spot == "straight":
            timed = any(amount.unit == "s" for amount in view.slots.amounts)
            quantity: Quantity = "time" if timed else "speed"
            slots = replace(view.slots, quantity=quantity, spot="straight", drivers=names)
            return comparisons.TELLERS["measure"](view.scene, slots)
        share = 4 // min(len(names), 2)
        duels = [compare(view.scene, replace(view.slots, drivers=(name,))) for name in names[:2]]
        return tuple(fact for of in duels for fact in _add_verdict(view.slots, tell(of)[:share]))

    return answer


def _add_verdict(slots: Slots, facts: Facts) -> Facts:
    """Put yes or no first if the question is whether somebody is quicker or slower."""
    side = facts[0].values.get("side")
    asks = slots.claims or (slots.whether and not (slots.open or slots.where))
    if slots.gains is None or not asks or side is None or facts[0].verdict:
        return facts
    expected = "behind" if slots.gains == slots.than_me else "ahead"
    there = [fact for fact in facts[:2] if fact.place == facts[0].place]
    fits = any(fits_claim(slots, _gap_s(fact)) for fact in there)
    sides = {fact.values.get("side") == expected for fact in there}
    differ = slots.order != "mean" and len(sides) > 1
    if not slots.amounts and differ:  # on the best lap, but not usually
        return (replace(facts[0], verdict="partly"), *facts[1:])
    return (judge(facts[0], slots, so=side == expected and fits), *facts[1:])


def _gap_s(fact: Fact) -> float:
    """Return the size of the gap that a fact tells, between laps or in a corner."""
    gap = fact.values.get("gap")
    return gap.number if isinstance(gap, Value) else abs(fact.gain_s or 0.0)


def _rival(of: View) -> Outing:
    """Return the other driver's session."""
    return of.scene.rivals[of.other]


def _fact(
    of: View,
    kind: str,
    values: Mapping[str, Cell],
    where: str | None = None,
    *,
    place: Place | None = None,
    gain_s: float | None = None,
) -> Fact:
    """Make a fact about the two drivers, at the corner *where* or at *place*."""
    named: dict[str, Cell] = {"other": of.other, **values}
    return of.fact(
        kind, named, [of.lap], where, place=place, basis="driver", gain_s=gain_s, other=of.other
    )


def _side(behind_s: float) -> str:
    return "level" if abs(behind_s) < LEVEL_S else "behind" if behind_s > 0 else "ahead"


def _behind_s(of: View) -> float:
    """Return by how many seconds the own lap is slower."""
    return of.drive.lap(of.lap).duration_s - of.lap_of(_rival(of).drive).duration_s


def _gap(of: View) -> Fact:
    lap, its, behind_s = of.drive.lap(of.lap), of.lap_of(_rival(of).drive), _behind_s(of)
    values: dict[str, Cell] = {"side": _side(behind_s), "gap": span(abs(behind_s))}
    values |= {"time": lap_time(lap.duration_s), "other_time": lap_time(its.duration_s)}
    return _fact(of, "rival-gap", values | _which(of), gain_s=behind_s)


def _which(of: View) -> dict[str, Cell]:
    """Name the laps compared."""
    its = of.lap_of(_rival(of).drive)
    best = of.lap == of.drive.best.number and its is _rival(of).drive.best
    named: dict[str, Cell] = {"lap": of.lap, "other_lap": its.number or 0}
    return {"which": "best" if best else "named", **named}


def _tell_gap(of: View) -> Facts:
    if of.slots.corners or of.slots.sectors:
        return _tell_how(of)
    counts = _correct_count(of) if of.slots.claims else ()
    usual = _gap_of(of, "rival-usual", median)
    if of.slots.order == "mean":
        return (*counts, _gap_of(of, "rival-mean", mean), usual, _gap(of))
    return (*counts, _gap(of), usual)


def _gap_of(of: View, kind: str, take: Callable[[list[float]], float]) -> Fact:
    """Compare the mean or the median of both drivers' laps."""
    sides = of.counted, _rival(of).drive.counted
    own, other = (take([lap.duration_s for lap in laps]) for laps in sides)
    values: dict[str, Cell] = {"side": _side(own - other), "gap": span(abs(own - other))}
    return _fact(of, kind, {**values, "time": lap_time(own), "other_time": lap_time(other)})


def _correct_count(of: View) -> Facts:
    """Return the other driver's lap count if the question has another."""
    count, amounts = len(_rival(of).drive.counted), of.slots.amounts
    claimed = next((round(amount.number) for amount in amounts if not amount.unit), count)
    return () if claimed == count else (_fact(of, "rival-laps", {"count": count, "said": claimed}),)


def compare_with(of: View) -> Facts:
    """Compare a lap with the other driver's best: the gap, and where it lies."""
    return (_gap(of), *(fact for fact in _tell_where(of) if fact.kind != "rival-gap"))


# Where and how


def _tell_where(of: View) -> Facts:
    slots = of.slots
    as_rule = slots.order == "mean" and not slots.laps
    losses, on = of.lost_here, ""
    if as_rule:
        losses, on = tuple(loss for loss in _usual(of) if of.covers(loss.corner)), "usual"
    lost = [_loss(of, loss, on) for loss in losses if loss.seconds >= WORTH_S]
    won = [_loss(of, loss, on) for loss in losses[::-1] if loss.seconds <= -WORTH_S]
    if asks_for_gains(slots):
        lost, won = won, lost
    asks = slots.gains is not None and not slots.laps and not as_rule
    usual = _tell_usual(of, lost[:1]) if asks else []
    if slots.place > 1:
        lost, usual, won = lost[slots.place - 1 :], [], []
    lost = lost[: MOST_PLACES - bool(won) - len(usual)]
    places = _tell_named(of) if slots.corners else (lost + usual + won)[:MOST_PLACES]
    if slots.which == "sector":
        return (*_sectors(of), *places)
    first = [_gap(of)] if _behind_s(of) < LEVEL_S else []
    if slots.between or slots.spot in ("entry", "apex", "exit"):
        first += _split(of)
    if slots.sectors or any(strange.kind == "sector" for strange in slots.strange):
        return (*first, *tell_sectors(of), *(() if slots.sectors else places))
    return (*first, *places, *(() if len(places) == MOST_PLACES else _sectors(of)))


def _loss(of: View, loss: Loss, on: str = "") -> Fact:
    """Compare a corner with the other driver's pass, on the laps or as a rule (``usual``)."""
    values = name_loss(loss) | {"seconds": span(abs(loss.seconds)), "side": _side(loss.seconds)}
    which = _which(of)
    values |= which | {"on": on or ("laps" if which["which"] == "best" else "named")}
    return _fact(of, "rival-corner", values, loss.corner, gain_s=loss.seconds)


def _tell_named(of: View) -> list[Fact]:
    """Compare the named corners, on both laps and as a rule."""
    if not of.lost_here:
        return []
    corners = of.slots.corners[:2]
    facts = [_loss(of, loss) for loss in of.lost_here[:2]]
    usual = [_loss(of, loss, "usual") for loss in _usual(of) if loss.corner in corners]
    return usual + facts if of.slots.order == "mean" else facts + usual


def _usual(of: View) -> tuple[Loss, ...]:
    """Return the corners' usual losses, largest first."""
    its = _rival(of).drive
    return measure_losses(of.usual_passes, find_usual_passes(its), of.drive, its)


def _tell_usual(of: View, facts: Sequence[Fact]) -> list[Fact]:
    """Return the corner that usually gains or loses most, unless *facts* have it."""
    wins = asks_for_gains(of.slots)
    most = _usual(of)[::-1][:1] if wins else _usual(of)[:1]
    covered = [fact.place.corner for fact in facts if fact.place]
    clear = [loss for loss in most if loss.seconds * (-1) ** wins >= WORTH_S]
    return [_loss(of, loss, "usual") for loss in clear if loss.corner not in covered]


def _sectors(of: View) -> list[Fact]:
    """Compare sectors: the named or requested ones singly, else all in one sentence."""
    on, its = describe_circuit(of.drive), _rival(of).drive
    sides = (
        measure_side(of.drive, of.lap, on),
        measure_side(its, of.lap_of(its).number, on),
    )
    parts = enumerate(compare_sides(*sides, on).sectors, 1)
    gaps = {at: part for at, part in parts if part.delta_s is not None}
    chosen = [at for at in of.slots.sectors if at in gaps]
    which = of.slots.which == "sector" and not chosen
    if which and gaps:
        best = asks_for_gains(of.slots) or (of.slots.gains is None and of.slots.order == "most")
        ranked = sorted(gaps, key=lambda at: gaps[at].delta_s or 0.0, reverse=not best)
        if of.slots.order == "alike":
            ranked.sort(key=lambda at: abs(gaps[at].delta_s or 0.0))
        chosen = [ranked[min(of.slots.place, len(ranked)) - 1]]
    facts = []
    for at in chosen:
        part, behind = gaps[at], gaps[at].delta_s or 0.0
        values: dict[str, Cell] = {"sector": at, "side": _side(behind), "gap": span(abs(behind))}
        values |= {"own": span(part.a_s or 0.0), "theirs": span(part.b_s or 0.0)}
        place = Place(None, at, None, part.span.start_m, part.span.end_m)
        fact = _fact(of, "rival-sector", values, place=place, gain_s=behind)
        facts.append(_correct_premise(of, fact, behind))
    if (which or not chosen) and len(gaps) == 3:
        values = {f"s{at}": gap(part.delta_s or 0.0) for at, part in gaps.items()}
        facts.append(_fact(of, "rival-sectors", values))
    return facts


def _correct_premise(of: View, fact: Fact, behind_s: float) -> Fact:
    """Say that it is not so if the question supposes a gain where time is lost, or the other way
    round."""
    sign = 1 if asks_for_gains(of.slots) else -1
    supposes = of.slots.gains is not None and not of.slots.whether
    return replace(fact, verdict="wrong") if supposes and sign * behind_s >= WORTH_S else fact


def tell_sectors(of: View) -> Facts:
    """Compare the sectors, and the corners of the named ones where the gap lies."""
    wins = asks_for_gains(of.slots)
    losses = (of.lost_here[::-1] if wins else of.lost_here) if of.slots.sectors else ()
    lost = [_loss(of, loss) for loss in losses if loss.seconds * (-1) ** wins >= WORTH_S]
    ways = _differences(of, losses[0].corner) if lost else ()
    return (*_sectors(of), *lost[:1], *ways[:2], *lost[1:])


def _split(of: View) -> list[Fact]:
    """Return how much is lost before, at and after the apexes."""
    if not of.lost_here:
        return []
    ways = ("entry_s", "apex_s", "exit_s")
    parts = {way: sum(getattr(loss, way) for loss in of.lost_here) for way in ways}
    values: dict[str, Cell] = {way[:-2]: gap(seconds) for way, seconds in parts.items()}
    most = max(parts, key=lambda way: parts[way])
    values["most"] = most[:-2] if parts[most] >= WORTH_S else "none"
    return [_fact(of, "rival-split", values)]


def _tell_how(of: View) -> Facts:
    losses = of.lost_here
    if of.slots.sectors:
        return tell_sectors(of)
    wins = asks_for_gains(of.slots)
    if not losses or (not of.slots.corners and (wins or losses[0].seconds < WORTH_S)):
        return _tell_where(of)
    loss = losses[0]
    first = [_gap(of)] if _behind_s(of) < LEVEL_S else []
    if of.slots.spot in ("entry", "apex", "exit") and not of.slots.corners:
        first += _split(of)
    alike = _fact(of, "rival-alike", {"corner": Corner(loss.corner)}, loss.corner)
    corners = _tell_named(of)[:2] if of.slots.corners else [_loss(of, loss)]
    corners[0] = _correct_premise(of, corners[0], loss.seconds)
    return (*first, *corners, *(_differences(of, loss.corner) or (alike,)))


def _differences(of: View, corner: str) -> Facts:
    its = _rival(of).drive
    return comparisons.differences(of, corner, (its, of.lap_of(its).number), of.other)


def _tell_car(of: View) -> Facts:
    own, other = of.outing.session.car.strip(), _rival(of).session.car.strip()
    same = (
        "unknown" if not own or not other else "yes" if own.casefold() == other.casefold() else "no"
    )
    car = _fact(of, "rival-car", {"same": same, "own_car": own, "other_car": other})
    lost = [_loss(of, loss) for loss in of.lost_here if loss.seconds >= WORTH_S][:1]
    return (car, _gap(of), *lost, _fact(of, "rival-day", {}))


def _tell_spread(of: View) -> Facts:
    without = tuple(lap for lap in of.slots.without if isinstance(lap, Their))
    sides = of.pool, of.about(without=without)._replace(outing=_rival(of), name=of.other).pool
    own, other = (spread_s(side) for side in sides)
    side = "level" if abs(own - other) < 0.05 else "other" if other < own else "own"
    values: dict[str, Cell] = {"side": side, "spread": span(own), "other_spread": span(other)}
    values |= {"count": len(sides[0]), "other_count": len(sides[1])}
    if min(map(len, sides)) < 2:
        return (*_correct_count(of), _fact(of, "rival-one-lap", values))
    few = [_fact(of, "rival-few", {})] if min(map(len, sides)) < FEW else []
    judged, slots = _fact(of, "rival-spread", values), of.slots
    if (slots.whether and not slots.negated) or slots.claims:
        less = slots.gains is False or slots.order in FALLS
        steadier = "own" if slots.than_me == less else "other"
        judged = judge(judged, slots, so=side == steadier)
    return (*_correct_count(of), judged, *few)


# Earlier sessions


def _series(view: View) -> tuple[list[Step], Step, list[DriverSession]]:
    """Return the earlier sessions with a lap, this one, and both together."""
    who = view.outing.session
    now = DriverSession(who.id, who.started_at, summarise(view.drive.laps, view.drive.track))
    earlier = [session for session in view.scene.earlier if session.summary.best_s is not None]
    ordered = list_steps([*earlier, now])
    return ordered[:-1], ordered[-1], [*earlier, now]


def _none_before(view: View) -> Facts:
    best, count = view.drive.best, len(view.counted)
    here: dict[str, Cell] = {"count": count, "best": lap_time(best.duration_s)}
    better = [_halves_fact(view, "improved-corner", corner) for corner in _better(view)[:1]]
    return (no_earlier(view.scene), view.fact("progress-here", here, [best]), *better)


def _against(view: View, kind: str, then: Step, now: Step, count: int) -> Fact:
    """Compare this session with an earlier one by best and usual laps."""
    best, old = now.best_s or 0.0, then.best_s or 0.0
    usual = (now.median_s or 0.0) - (then.median_s or 0.0)
    day = datetime.fromtimestamp(then.started_at / 1000, UTC)
    values: dict[str, Cell] = {"date": f"{day:%Y-%m-%d}", "then": lap_time(old)}
    values |= {"now": lap_time(best), "side": _side(best - old), "gap": span(abs(best - old))}
    values |= {"usual_side": _side(usual), "usual_gap": span(abs(usual)), "count": count}
    return view.fact(kind, values, [view.drive.best], basis="earlier", gain_s=old - best)


def _tell_progress(view: View) -> Facts:
    earlier, now, every = _series(view)
    if not earlier:
        return _none_before(view)
    facts = [_against(view, "progress-last", earlier[-1], now, len(every))]
    then = [lap.time_s for lap in every[-2].summary.laps]
    if len(earlier) == 1 and min(len(then), len(view.counted)) > 1:
        old = deviation(then, sample=False) or 0.0
        values: dict[str, Cell] = {"now": span(spread_s(view.counted)), "then": span(old)}
        facts.append(view.fact("progress-spread", values, basis="earlier"))
    whole = summarise_progress(every)
    if len(earlier) > 1:
        facts.insert(0, _against(view, "progress-series", earlier[0], now, len(every)))
        if whole is not None and whole.plateau:
            facts.append(view.fact("progress-plateau", {"within": span(PLATEAU_S)}))
        elif whole is not None and whole.gain is not None:
            corner, speed = whole.gain.corner, Value(whole.gain.delta_kmh, "km/h")
            values = {"corner": Corner(corner), "speed": speed}
            facts.append(view.fact("progress-corner", values, where=corner))
    return (*facts, view.fact("progress-limits", {}))


def _tell_stuck(view: View) -> Facts:
    facts = _tell_progress(view) if view.scene.earlier else (no_earlier(view.scene),)
    return (*_stuck_here(view), *facts)


def _halves(view: View) -> list[Halves]:
    """Compare both halves at each corner, or sector if the question asks which one; empty with too
    few laps or unknown corners."""
    if len(view.pool) < HALVES:
        return []
    try:
        sectors = range(1, len(view.drive.sectors) + 1) if view.slots.which == "sector" else ()
        times = {
            name_sector(at): measure_laps(view.drive, "time", name_sector(at)) for at in sectors
        }
        return compare_halves(view.drive, numbers_of(view.pool), times)
    except NoCorners:
        return []


def _better(view: View) -> list[Halves]:
    """Return the corners that improved within the session, the most improved first."""
    here = [
        halves
        for halves in _halves(view)
        if view.slots.which == "sector" or view.covers(halves.corner)
    ]
    gains = sorted(here, key=lambda halves: halves.late_s - halves.early_s)
    return [halves for halves in gains if halves.early_s - halves.late_s >= WORTH_S]


def _halves_fact(view: View, kind: str, corner: Halves) -> Fact:
    values: dict[str, Cell] = {"corner": Corner(corner.corner), "early": span(corner.early_s)}
    gain = corner.early_s - corner.late_s
    values |= {"late": span(corner.late_s), "gain": span(abs(gain))}
    where, loss_s = corner.corner, corner.late_s
    return view.fact(kind, values, where=where, basis="best_pass", gain_s=loss_s)


def _stuck_here(view: View) -> Facts:
    """Return the corner that costs as much in the second half as in the first."""
    stuck = [halves for halves in _halves(view) if halves.early_s - halves.late_s < WORTH_S]
    worst = max(stuck, key=lambda halves: halves.late_s, default=None)
    if worst is None or worst.late_s < WORTH_S:
        return ()
    return (_halves_fact(view, "stuck-corner", worst),)


def _tell_improved(view: View) -> Facts:
    earlier, now, every = _series(view)
    facts = [_against(view, "progress-last", earlier[-1], now, len(every))] if earlier else []
    facts += [no_earlier(view.scene)] if view.slots.other_day and not earlier else []
    better = _better(view)
    facts += [_halves_fact(view, "improved-corner", corner) for corner in better[:2]]
    if view.slots.whether and better and not earlier:
        facts[0] = judge(facts[0], view.slots, so=True)
    if len(view.pool) < HALVES:
        return (*facts, view.fact("trend-few", {"count": len(view.pool)}))
    if not better:
        facts.append(view.fact("improved-none", {"count": len(view.pool)}))
    return (*facts, view.fact("trend-parted", {"noted": "yes" if view.scene.conditions else "no"}))


def _own(tell: Callable[[View], Facts]) -> Teller:
    return teller(tell, own=True)


TELLERS: Final[Tellers] = {
    "rival_gap": _own(duel(_tell_gap)),
    "rival_where": _own(duel(_tell_where)),
    "rival_how": _own(duel(_tell_how)),
    "rival_car": _own(duel(_tell_car)),
    "rival_spread": _own(duel(_tell_spread)),
    "progress": _own(_tell_progress),
    "no_progress": _own(_tell_stuck),
    "improved": _own(_tell_improved),
}
