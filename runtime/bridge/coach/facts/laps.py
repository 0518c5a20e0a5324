"""Facts about laps: times, counts, spread, trend, comparisons, and why one was slow."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, pairwise, takewhile
from statistics import linear_regression, mean, median, variance
from typing import Final

from runtime.bridge.analysis.laps import compose_ideal_lap
from runtime.bridge.analysis.passes import USUAL_LAPS
from runtime.bridge.coach.fact import Basis, Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.comparisons import (
    differences,
    explain_speed,
    tell_limit,
    tell_values,
)
from runtime.bridge.coach.facts.drivers import compare_with, duel
from runtime.bridge.coach.facts.handling import find_incidents, incident_fact
from runtime.bridge.coach.facts.measures import find_spread, label
from runtime.bridge.coach.facts.view import (
    LEVEL_S,
    LISTED,
    MOST,
    Facts,
    Tell,
    View,
    best_of,
    judge,
    lap_time,
    list_named_times,
    not_recorded,
    numbers_of,
    pick_lap,
    slowest_of,
    span,
    spread_s,
    teller,
    usual_s,
)
from runtime.bridge.coach.need import LapWord, NeedKind, Quantity, find_runs
from runtime.bridge.coach.scene import Tellers
from runtime.bridge.session.laps import Segment

SLOW: Final = 0.0015
"""A lap slower than the usual one by this share of it is slow."""
LEAST_SHARE: Final = 0.2
"""Losses on a lap below this share of its largest are left out."""
STEADY: Final = 0.005
UNEVEN: Final = 0.010
"""Standard deviation of the lap times as a share of the usual lap: steady below, uneven above."""
WIDENS: Final = 0.75
"""A lap makes the spread if the others have less than this share of it."""
CLEAR: Final = 2.0
"""Standard errors from which a trend counts."""
ROW: Final = 3
"""The least last laps, each slower or each quicker, that are told."""
RUN_S: Final = 0.3
"""How far apart the first and last of them are at least."""
ENOUGH: Final = 4
"""The least laps for a trend."""
FIRST_DATE: Final = 1e8
"""A clock above this many seconds counts from 1970."""
_WORDS: Final[tuple[LapWord, ...]] = ("last", "slowest", "first")


# Laps and their times


def _tell_best(view: View) -> Facts:
    others = [lap for lap in view.slots.laps if lap not in ("best", "each")]
    if len(others) == 1 or any(not isinstance(lap, int) for lap in others):
        return _tell_time(view)
    pool = view.selected if len(view.named) > 1 else view.pool
    return (best_fact(view, pool), *_lead(view, pool))


def best_fact(view: View, pool: Sequence[Segment]) -> Fact:
    """State the best of some laps, with its time."""
    best, some = best_of(pool), "all" if len(pool) == len(view.counted) else "some"
    values: dict[str, Cell] = {"lap": best.number or 0, "count": len(pool), "some": some}
    return view.fact("lap-best", {**values, "time": lap_time(best.duration_s)}, [best])


def _lead(view: View, pool: Sequence[Segment]) -> Facts:
    """State how far the best of some laps is ahead of the next."""
    if len(pool) < 2:
        return ()
    best = best_of(pool)
    second = best_of([lap for lap in pool if lap is not best])
    lead = second.duration_s - best.duration_s
    kind = "lap-lead" if lead >= LEVEL_S else "lap-level"
    return (view.fact(kind, {"gap": span(lead), "other": second.number or 0}, [best, second]),)


def _tell_time(view: View) -> Facts:
    if not view.named:
        return _tell_list(view) if view.slots.all_laps or view.slots.laps else _tell_best(view)
    if len(view.named) > MOST:
        return _tell_list(view)
    if view.named == (best_of(view.pool),):
        return (best_fact(view, view.pool), *_lead(view, view.pool))
    return tuple(_time(view, lap) for lap in view.named)


def _time(view: View, lap: Segment) -> Fact:
    """State a lap's time, against the best one."""
    best, count = view.drive.best, len(view.counted)
    words = [word for word in _WORDS if word in view.slots.laps]
    which = next((word for word in words if pick_lap(view.pool, word) is lap), "named")
    rank = 1 + sum(other.duration_s < lap.duration_s - LEVEL_S / 10 for other in view.counted)
    values: dict[str, Cell] = {"which": which, "lap": lap.number or 0, "best": best.number or 0}
    values |= {"time": lap_time(lap.duration_s), "gap": span(lap.duration_s - best.duration_s)}
    return view.fact("lap-time", {**values, "rank": rank, "count": count}, [lap])


def _tell_list(view: View) -> Facts:
    key = (lambda lap: lap.duration_s) if view.slots.ranked else (lambda lap: lap.t_start)
    laps = numbers_of(sorted(view.selected, key=key)[-LISTED:])
    listed = view.about(quantity="time", laps=laps, order=None, spot=None, which=None)
    return (*tell_values(listed), best_fact(view, view.selected))


def _tell_count(view: View) -> Facts:
    laps, limits = view.counted, list_named_times(view.slots, view.drive.best.duration_s)
    near = next((amount.number for amount in view.slots.amounts if amount.unit == "s"), None)
    if view.slots.within and near is not None and not limits:
        limits = [view.drive.best.duration_s + near]
    average: Facts = ()
    if view.slots.order == "mean" and not view.slots.corners:
        average = (_average(view, view.pool),)
        limits = [mean(lap.duration_s for lap in view.pool)]
    if limits:
        side = view.slots.side or ("above" if view.slots.gains is False else "below")
        amounts = (Value(limits[0], "lap_time"),)
        among = () if view.slots.within else view.slots.laps
        limited = view.about(quantity="time", side=side, amounts=amounts, corners=(), laps=among)
        end: LapWord = "best" if side == "above" else "slowest"
        every = view.slots.all_laps and not view.slots.open
        furthest = _tell_time(view.about(laps=(end,)))[:1] if every else ()
        return (*tell_limit(limited), *furthest, *average)
    facts = [view.fact("lap-count", {"count": len(laps), "last": laps[-1].number or 0}, laps)]
    claim = next((round(amount.number) for amount in view.slots.amounts if not amount.unit), 0)
    if view.slots.claims and claim:
        facts = [judge(facts[0], view.slots, so=claim == len(laps))]
    rest = [lap for lap in view.drive.laps.segments if not lap.valid and lap.distance_m > 1.0]
    if rest:
        kinds = {lap.kind for lap in rest} & {"out", "in"}
        kind = "both" if len(kinds) == 2 else next(iter(kinds), "other")
        km = Value(sum(lap.distance_m for lap in rest) / 1000.0, "km")
        facts.append(view.fact("lap-count-rest", {"count": len(rest), "which": kind, "km": km}))
    if view.name != "own" and view.scene.outing is not None:
        count = len(view.scene.outing.drive.counted)
        facts.append(view.fact("lap-count-of", {"count": count, "other": view.scene.driver}))
        slots, leads = view.slots, len(laps) > count if view.slots.than_me else count > len(laps)
        if slots.counts_laps and (slots.claims or slots.whether):
            less = slots.order in ("fewer", "least") and count != len(laps)
            facts[0] = judge(facts[0], slots, so=leads != less)
    return tuple(facts)


# Average, spread, luck, trend


def _several(view: View) -> tuple[Segment, ...]:
    """Return the named laps if there are at least two, else all."""
    return view.selected if len(view.named) > 1 else view.pool


def _which(view: View, pool: Sequence[Segment]) -> dict[str, Cell]:
    """Say which laps a figure covers: all, some, or all but some."""
    out = [lap for lap in view.counted if lap not in pool]
    which = "all" if not out else "without" if 2 * len(out) <= len(pool) else "some"
    named = numbers_of(pool if which == "some" else out)
    return {"which": which, "named": named, "count": len(pool), "out": len(out)}


def _average(view: View, pool: Sequence[Segment]) -> Fact:
    times = [lap.duration_s for lap in pool]
    values: dict[str, Cell] = {"mean": lap_time(mean(times)), "median": lap_time(median(times))}
    return view.fact("lap-average", {**values, **_which(view, pool)}, pool)


def _tell_average(view: View) -> Facts:
    slots, sided = view.slots, view.slots.side or view.slots.gains is not None
    if sided and (slots.tally or slots.which == "lap") and not view.named:
        return _tell_count(view)
    if runs := find_runs(numbers_of(view.named)):
        return tuple(_tell_average(view.about(laps=run))[0] for run in runs)
    ends = {"best", "slowest"}.issuperset(view.slots.laps)  # mentioned next to it, not its laps
    if ends and len(view.named) > 1:
        return (*_tell_average(view.about(laps=())), *(_time(view, lap) for lap in view.named))
    pool = _several(view)
    average = _average(view, pool)
    named = len(view.named) == 1
    lap = view.named[0] if named else best_of(pool)
    over, time = lap.duration_s - mean(lap.duration_s for lap in pool), lap_time(lap.duration_s)
    values: dict[str, Cell] = {"lap": lap.number or 0, "gap": span(abs(over)), "time": time}
    values["side"] = "slower" if over > 0 else "faster"
    off = view.fact("lap-off-average", values, [lap])
    even = _tell_spread(view)[:1] if view.slots.varies and len(pool) > 1 else ()
    return (off, average, *even) if named else (average, *even, off)


def _only_lap(view: View) -> Facts:
    best = view.drive.best
    return (view.fact("lap-only", {"time": lap_time(best.duration_s)}, [best]),)


def judge_spread(laps: Sequence[Segment]) -> Term:
    """Name how even lap times are."""
    share = spread_s(laps) / usual_s(laps)
    return Term("spread", "steady" if share < STEADY else "uneven" if share > UNEVEN else "fair")


def _tell_spread(view: View) -> Facts:
    pool = _several(view)
    if len(pool) < 2:
        return _only_lap(view)
    low, high, spread = best_of(pool).duration_s, slowest_of(pool).duration_s, spread_s(pool)
    values: dict[str, Cell] = {"low": lap_time(low), "high": lap_time(high), "spread": span(spread)}
    values |= {"width": span(high - low), "judged": judge_spread(pool), **_which(view, pool)}
    facts = [view.fact("lap-spread", values, pool)]
    said = next((amount.number for amount in view.slots.amounts if amount.unit == "s"), None)
    if view.slots.whether or (said is not None and view.slots.claims):
        even = values["judged"] != Term("spread", "uneven")
        facts = [judge(facts[0], view.slots, so=even if said is None else high - low <= said)]
    if view.slots.which == "lap":  # one lap alone is not steady; the nearest to the usual one is
        lap = min(pool, key=lambda lap: abs(lap.duration_s - usual_s(pool)))
        values = {"lap": lap.number or 0, "time": lap_time(lap.duration_s)}
        facts.append(view.fact("lap-usual", {**values, "usual": lap_time(usual_s(pool))}, [lap]))
    odd = min(pool, key=lambda lap: spread_s([other for other in pool if other is not lap]))
    rest = spread_s([lap for lap in pool if lap is not odd])
    if len(pool) >= ENOUGH and rest < WIDENS * spread:
        values = {"lap": odd.number or 0, "spread": span(rest)}
        facts.append(view.fact("lap-spread-odd", values, [odd]))
    return tuple(facts)


def _tell_luck(view: View) -> Facts:
    pool = view.pool
    if len(pool) < 2:
        return _only_lap(view)
    lap = best_of(pool)
    second, usual = best_of([other for other in pool if other is not lap]), usual_s(pool)
    values: dict[str, Cell] = {"lap": lap.number or 0, "time": lap_time(lap.duration_s)}
    values |= {"next": second.number or 0, "next_gap": span(second.duration_s - lap.duration_s)}
    values["usual_gap"] = span(usual - lap.duration_s)
    facts = [view.fact("lap-luck", values, [lap, second])]
    gains = view.losses(view.usual_passes, view.passes(lap))[:1]
    facts += [view.loss("lap-luck-corner", loss, lap, "usual") for loss in gains]
    ideal = compose_ideal_lap(view.drive).sectors
    if ideal.lap_s is not None:
        behind, kept = lap.duration_s - ideal.lap_s, [part.from_lap for part in ideal.parts]
        values = {"kept": kept.count(lap.number), "gap": span(behind)}
        values["whole"] = "yes" if behind < LEVEL_S else "no"
        facts.append(view.fact("lap-luck-ideal", values, [lap], basis="ideal"))
    return tuple(facts)


def _tell_change(view: View, quantity: Quantity) -> Facts:
    """State how a quantity changed from the first laps to the last; for the brakes the deceleration
    too."""
    wanted: tuple[Quantity, ...] = (quantity,)
    wanted += ("brake_g",) if quantity == "brake_pressure" else ()
    where, facts = next(iter(view.slots.corners), None), []
    for what in wanted:
        spread = find_spread(view.drive, what, where, None)
        if spread is None or len(spread.values) < ENOUGH:
            continue
        third, numbers = max(len(spread.values) // 3, 2), sorted(spread.values)
        pairs = (numbers[:third], numbers[-third:])
        early, late = (
            Value(median(spread.values[n].number for n in some), spread.unit) for some in pairs
        )
        values = {**label(spread), "early": early, "late": late, "number": third}
        facts.append(view.fact("trend-quantity", values, numbers))
    return tuple(facts) or (not_recorded(quantity),)


def find_last_run(times: Sequence[float]) -> Sequence[float]:
    """Return the last times as far back as each is slower, or each quicker, than the one before."""
    steps = [later - earlier for earlier, later in pairwise(times)]
    same = takewhile(lambda step: step * steps[-1] > 0, reversed(steps))
    return times[-1 - sum(1 for _ in same) :]


def _tell_trend(view: View) -> Facts:
    pool, quantity = view.selected, view.slots.quantity
    if len(pool) == 1 and pool[0] in view.counted:  # "since lap 3"
        pool = view.counted[view.counted.index(pool[0]) :]
    if quantity is None and view.slots.pedal == "brake":
        quantity = "brake_pressure"
    if quantity == "speed" and view.slots.gains is not None and not view.slots.corners:
        quantity = "time"  # quicker at the end
    if quantity is not None and quantity != "time" and len(pool) >= ENOUGH:
        return _tell_change(view, quantity)
    if len(pool) < ENOUGH:
        return (view.fact("trend-few", {"count": len(pool)}, pool), *_tell_list(view)[:1])
    numbers, times = [float(n) for n in numbers_of(pool)], [lap.duration_s for lap in pool]
    line, middle = linear_regression(numbers, times), mean(numbers)
    residuals = [y - line.intercept - line.slope * x for x, y in zip(numbers, times, strict=True)]
    error = (sum(residual**2 for residual in residuals) / (len(pool) - 2)) ** 0.5
    error /= sum((x - middle) ** 2 for x in numbers) ** 0.5
    clear = abs(line.slope) > CLEAR * error and abs(line.slope) >= LEVEL_S
    way, third = "slower" if line.slope > 0 else "faster", max(len(pool) // 3, 2)
    key = way if clear else "none"
    ends = times[:third], times[-third:]
    apart, noise = mean(ends[1]) - mean(ends[0]), sum(variance(end) / third for end in ends) ** 0.5
    if not clear and abs(apart) > CLEAR * noise and abs(apart) >= LEVEL_S:
        clear, way = True, "slower" if apart > 0 else "faster"
        key = f"late-{way}"
    run = find_last_run(times)
    if not clear and len(run) >= ROW and abs(run[-1] - run[0]) >= RUN_S:
        clear, way = True, "slower" if run[-1] > run[0] else "faster"
        key = f"row-{way}"
    values: dict[str, Cell] = {"way": key, "slope": span(abs(line.slope))}
    values |= {"row": len(run), "change": span(abs(run[-1] - run[0]))}
    values |= {"early": lap_time(median(times[:third])), "late": lap_time(median(times[-third:]))}
    values |= {"few": third, "count": len(pool), "best": best_of(pool).number or 0}
    parted = view.fact("trend-parted", {"noted": "yes" if view.scene.conditions else "no"})
    trend, slots = view.fact("trend-laps", values, pool), view.slots
    if (slots.whether or slots.claims) and slots.gains is not None:
        trend = judge(trend, slots, so=clear and slots.gains == (way == "faster"))
    if slots.why and clear:
        return (trend, *_tell_explain(view.about(laps=numbers_of(pool[-1:])))[1:3])
    return (trend, parted)


# Two laps compared, and why one was slow


def _tell_alike(view: View) -> Facts:
    """Return the two laps whose times are closest, or the lap closest to the named one."""
    pairs = [
        (abs(lap.duration_s - other.duration_s), lap, other)
        for lap, other in combinations(view.pool, 2)
        if not view.named or lap in view.named or other in view.named
    ]
    if not pairs:
        return _only_lap(view)
    apart, first, second = min(pairs, key=lambda pair: pair[0])
    if second in view.named:
        first, second = second, first
    values: dict[str, Cell] = {"lap": first.number or 0, "time": lap_time(first.duration_s)}
    values["to"] = "named" if view.named else "pair"
    values |= {"other": second.number or 0, "other_time": lap_time(second.duration_s)}
    return (view.fact("lap-alike", {**values, "gap": span(apart)}, [first, second]),)


def _tell_compare(view: View) -> Facts:
    if view.slots.order == "alike" and len(view.named) < 2:
        return _tell_alike(view)
    if view.name != "own":
        return duel(compare_with)(view)
    if len(view.pool) < 2:
        return _only_lap(view)
    best, slowest, pair = best_of(view.pool), slowest_of(view.pool), list(view.named[:2])
    if len(pair) < 2:
        pair = [*pair, *(lap for lap in (best, slowest) if lap not in pair)][:2]
    slow, fast = sorted(pair, key=lambda lap: -lap.duration_s)
    own, other = slow.number or 0, fast.number or 0
    apart = slow.duration_s - fast.duration_s
    values: dict[str, Cell] = {"lap": other, "time": lap_time(fast.duration_s), "gap": span(apart)}
    values |= {"other": own, "other_time": lap_time(slow.duration_s)}
    values["level"] = "yes" if apart < LEVEL_S else "no"
    facts = [view.fact("lap-compare", values, [fast, slow])]
    whole = (view.slots.whether or view.slots.claims) and not view.slots.where
    if whole and view.slots.gains is not None and view.named:
        ahead = view.named[0] is fast and apart >= LEVEL_S
        facts = [judge(facts[0], view.slots, so=ahead == view.slots.gains)]
    for lap, than in ((slow, fast), (fast, slow)):
        most = view.slots.count if lap is slow else 0
        lost = view.losses(view.passes(lap), view.passes(than))[: max(most, 1)]
        for at, loss in enumerate(lost):
            kind = "lap-loses-here" if view.slots.corners or at else "lap-loses"
            facts.append(view.loss(kind, loss, lap, other=than.number or 0))
    for corner in view.slots.corners[:1]:
        facts[:1] = [] if len(facts) > 1 else facts
        fastest = (view.drive, fast.number)
        facts += differences(view._replace(lap=slow.number or 0), corner, fastest)
    return tuple(facts)


def _tell_explain(view: View) -> Facts:
    if len(view.counted) < USUAL_LAPS:
        return _tell_compare(view)
    laps = view.named[:2] or (slowest_of(view.pool),)
    if view.slots.differs and len(laps) == 1 and (facts := _tell_different(view, *laps)):
        return facts
    return tuple(fact for lap in laps for fact in _explain(view, lap, 3 - len(laps)))


def _tell_different(view: View, lap: Segment) -> Facts:
    """State what the driver did differently on a lap where it gained or cost most."""
    own, usual = view.passes(lap), view.usual_passes
    both = [("lap-lost", loss) for loss in view.losses(own, usual)]
    both += [("lap-gained", loss) for loss in view.losses(usual, own)]
    kind, loss = max(both, key=lambda pair: pair[1].seconds, default=("", None))
    where = loss.corner if loss else next(iter(view.slots.corners), None)
    if where is None:
        return ()
    ways = differences(view._replace(lap=lap.number or 0), where, (view.drive, None))
    ways = ways or (view.fact("rival-alike", {"corner": Corner(where)}, [lap], where),)
    return (*([view.loss(kind, loss, lap, "usual")] if loss else ()), *ways)


def _explain(view: View, lap: Segment, most: int) -> Iterator[Fact]:
    """Explain how slow a lap was, in *most* corners at the most, why, and what happened there."""
    best, usual = view.drive.best, usual_s(view.counted)
    over, number = lap.duration_s - usual, lap.number or 0
    how = "usual" if abs(over) < SLOW * usual else "slow" if over > 0 else "quick"
    ends: Mapping[Segment, str] = {view.counted[0]: "first", view.counted[-1]: "last"}
    values: dict[str, Cell] = {"how": how, "lap": number, "edge": ends.get(lap, "inner")}
    values |= {"time": lap_time(lap.duration_s), "usual": lap_time(usual), "over": span(abs(over))}
    values["rank"] = "best" if lap is best else "inner"
    values["behind"] = span(lap.duration_s - best.duration_s)
    yield view.fact("lap-explain", values, [lap])
    basis: Basis = "best_lap" if how == "usual" else "usual"
    own, other = view.passes(lap), view.best_passes if how == "usual" else view.usual_passes
    kind = "lap-gained" if how == "quick" else "lap-lost"
    losses = view.losses(other, own) if how == "quick" else view.losses(own, other)
    least = LEAST_SHARE * max((loss.seconds for loss in losses), default=0.0)
    shown = [loss for loss in losses[:most] if loss.seconds >= least]
    yield from (view.loss(kind, loss, lap, basis) for loss in shown)
    for incident in find_incidents(view.about(laps=(number,), corners=()))[:1]:
        yield incident_fact(view, incident)
    if most > 1 and shown and how == "slow":
        yield from explain_speed(view._replace(lap=number), shown[0])


def _tell_when(view: View) -> Facts:
    """State when the session was and how long it took; for both drivers, in the order they drove,
    if the question is about both."""
    if view.name != "own" and not view.slots.alone and view.scene.outing is not None:
        own = view._replace(outing=view.scene.outing, name="own")
        pair = sorted((own, view), key=lambda side: float(side.drive.series.t[0]))
        return tuple(fact for side in pair for fact in _tell_when(side.about(alone=True)))
    t = view.drive.series.t
    begin, count = float(t[0]), len(view.counted)
    dated = begin > FIRST_DATE
    start = f"{datetime.fromtimestamp(begin, UTC):%Y-%m-%d %H:%M} UTC" if dated else ""
    values: dict[str, Cell] = {"dated": "yes" if dated else "no", "start": start}
    values |= {"minutes": Value(float(t[-1]) - begin, "min"), "count": count}
    driven_m = sum(lap.distance_m for lap in view.drive.laps.segments)
    values["km"] = Value(driven_m / 1000.0, "km")
    return (view.fact("session-time", values, view.counted),)


def _tell_video(view: View) -> Facts:
    bad = {incident.lap: incident for incident in find_incidents(view.about(laps=(), corners=()))}
    ranked = sorted(view.pool, key=lambda lap: (lap.duration_s, lap.t_start))
    lap = next((lap for lap in ranked if lap.number not in bad), ranked[0])
    values: dict[str, Cell] = {"lap": lap.number or 0, "time": lap_time(lap.duration_s)}
    facts = [view.fact("video-lap", {**values, "best": "yes" if lap is ranked[0] else "no"}, [lap])]
    facts += [incident_fact(view, bad[lap.number]) for lap in ranked if lap.number in bad]
    return tuple(facts)


_TELLS: Final[Mapping[NeedKind, Tell]] = {
    "best_lap": _tell_best,
    "lap_time": _tell_time,
    "lap_list": _tell_list,
    "lap_count": _tell_count,
    "lap_average": _tell_average,
    "lap_spread": _tell_spread,
    "lap_luck": _tell_luck,
    "lap_compare": _tell_compare,
    "lap_explain": _tell_explain,
    "lap_trend": _tell_trend,
    "session_time": _tell_when,
    "video": _tell_video,
}
TELLERS: Final[Tellers] = {kind: teller(tell) for kind, tell in _TELLS.items()}
