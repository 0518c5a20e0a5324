"""Facts about other drivers and earlier sessions: who is quicker, where, by what, and progress."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.analysis.compare import Comparison, circuit, compare_sides, driven_side
from runtime.bridge.analysis.drive import NoGeometry
from runtime.bridge.analysis.driver import DriverSession, Step, progress, steps
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.pedals import opening_m
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.fact import Cell, Corner, Fact, Place, Unit, Value
from runtime.bridge.coach.facts import measures
from runtime.bridge.coach.facts.general import no_earlier, no_rival
from runtime.bridge.coach.facts.losses import (
    Loss,
    losses_between,
    passes_of_lap,
    stretch_times,
    usual_passes,
)
from runtime.bridge.coach.facts.view import (
    LEVEL_S,
    SHOWN_S,
    Facts,
    View,
    gap,
    lap_time,
    name_loss,
    span,
    spread_s,
    teller,
    usual_s,
)
from runtime.bridge.coach.scene import Outing, Teller, Tellers
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.stats import deviation

FEW: Final = 10
"""With fewer laps on a side the steadier driver is no verdict."""
MOST_PLACES: Final = 3
"""Corners that are told of the gap, one of them where the own side is quicker."""
HALVES: Final = 4
"""Laps from which on two halves of a session are compared."""


class Duel(NamedTuple):
    """A lap of the driver beside the best one of another."""

    view: View
    outing: Outing
    """Of the other."""
    lap: Segment
    its: Segment

    @property
    def name(self) -> str:
        """The other's."""
        return self.outing.session.driver

    @property
    def behind_s(self) -> float:
        """By how much the own lap is slower."""
        return self.lap.duration_s - self.its.duration_s

    @property
    def passes(self) -> tuple[Mapping[str, Pass], Mapping[str, Pass]]:
        """Of both laps by corner, the own ones first."""
        try:
            own = passes_of_lap(self.view.drive, self.lap.number or 0)
            return own, passes_of_lap(self.outing.drive, self.its.number or 0)
        except NoGeometry:
            return {}, {}

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Corner by corner, in the places that are named; the most first."""
        own, other = self.passes
        if not own or not other:
            return ()
        found = losses_between(own, other, self.view.drive, self.outing.drive)
        return tuple(loss for loss in found if self.view.covers(loss.corner))

    @property
    def compared(self) -> Comparison:
        """Both on the circuit of the own session."""
        on = circuit(self.view.drive)
        own = driven_side(self.view.drive, self.lap.number, on)
        return compare_sides(own, driven_side(self.outing.drive, self.its.number, on), on)

    def fact(
        self,
        kind: str,
        values: Mapping[str, Cell],
        place: Place | None = None,
        gain_s: float | None = None,
    ) -> Fact:
        """A fact about the two."""
        named: dict[str, Cell] = {"other": self.name, **values}
        return self.view.fact(
            kind, named, [self.lap], place=place, basis="driver", gain_s=gain_s, other=self.name
        )


def duel(tell: Callable[[Duel], Facts]) -> Callable[[View], Facts]:
    """Facts about the drivers that are named, else about the quickest other one.

    What is asked of a straight is its top speed.
    """

    def answer(view: View) -> Facts:
        rivals = view.scene.rivals
        if not rivals or view.scene.outing is None:
            return (no_rival(view.scene),)
        own = view._replace(outing=view.scene.outing, name="own")
        quickest = min(rivals, key=lambda name: rivals[name].drive.best.duration_s)
        names = tuple(name for name in view.slots.drivers if name in rivals) or (quickest,)
        if view.slots.straights:
            slots = replace(view.slots, quantity="speed", spot="straight", drivers=names)
            return measures.TELLERS["measure"](view.scene, replace(slots, strange=()))
        lap = own.named[0] if own.named else own.drive.best
        duels = [Duel(own, rivals[name], lap, rivals[name].drive.best) for name in names[:2]]
        return tuple(fact for each in duels for fact in tell(each)[: 4 // len(duels)])

    return answer


def _side(behind_s: float) -> str:
    return "level" if abs(behind_s) < LEVEL_S else "behind" if behind_s > 0 else "ahead"


def _gap(of: Duel) -> Fact:
    values: dict[str, Cell] = {"side": _side(of.behind_s), "gap": span(abs(of.behind_s))}
    values |= {"time": lap_time(of.lap.duration_s), "other_time": lap_time(of.its.duration_s)}
    which = "best" if of.lap is of.view.drive.best else "named"
    values |= {"which": which, "lap": of.lap.number or 0}
    return of.fact("rival-gap", values, gain_s=of.behind_s)


def _tell_gap(of: Duel) -> Facts:
    if of.view.slots.corners or of.view.slots.sectors:
        return _tell_how(of)
    own, other = usual_s(of.view.counted), usual_s(of.outing.drive.counted)
    values: dict[str, Cell] = {"side": _side(own - other), "gap": span(abs(own - other))}
    values |= {"time": lap_time(own), "other_time": lap_time(other)}
    said = _count_said(of) if of.view.slots.claims else ()
    return (*said, _gap(of), of.fact("rival-usual", values))


def _count_said(of: Duel) -> Facts:
    """How many laps the other has, where the question has another number of them."""
    count, amounts = len(of.outing.drive.counted), of.view.slots.amounts
    said = next((round(each.number) for each in amounts if not each.unit), count)
    return () if said == count else (of.fact("rival-laps", {"count": count, "said": said}),)


def compare_with(of: Duel) -> Facts:
    """A lap beside the other driver's best: the gap, and where it lies."""
    return (_gap(of), *(fact for fact in _tell_where(of) if fact.kind != "rival-gap"))


# Where and how


def _tell_where(of: Duel) -> Facts:
    slots = of.view.slots
    lost = [_loss(of, each) for each in of.losses if each.seconds >= SHOWN_S]
    won = [_loss(of, each) for each in of.losses[::-1] if each.seconds <= -SHOWN_S]
    places = _named(of) if slots.corners else (lost[: MOST_PLACES - bool(won)] + won)[:MOST_PLACES]
    first = [_gap(of)] if of.behind_s < LEVEL_S else []
    if slots.spot in ("entry", "apex", "exit"):
        first += _split(of)
    if slots.sectors or any(each.kind == "sector" for each in slots.strange):
        return (*first, *tell_sectors(of), *(() if slots.sectors else places))
    return (*first, *places, *(() if len(places) == MOST_PLACES else _sectors(of)))


def _loss(of: Duel, loss: Loss, on: str = "laps") -> Fact:
    """A corner beside the other's pass of it, on the laps or as a rule (``usual``)."""
    values = name_loss(loss) | {"seconds": span(abs(loss.seconds)), "side": _side(loss.seconds)}
    return of.fact("rival-corner", {**values, "on": on}, Place(loss.corner), loss.seconds)


def _named(of: Duel) -> list[Fact]:
    """The corners that are named, on both laps and as a rule."""
    if not of.losses:
        return []
    corners = of.view.slots.corners[:2]
    theirs = usual_passes(of.outing.drive)
    usual = losses_between(of.view.usual_passes, theirs, of.view.drive, of.outing.drive)
    facts = [_loss(of, each) for each in of.losses[:2]]
    return facts + [_loss(of, each, "usual") for each in usual if each.corner in corners]


def _sectors(of: Duel) -> list[Fact]:
    """The sectors of both laps: one by one where some are named, else all in a sentence."""
    gaps = {at: part for at, part in enumerate(of.compared.sectors, 1) if part.delta_s is not None}
    asked = [at for at in of.view.slots.sectors if at in gaps]
    facts = []
    for at in asked:
        part, behind = gaps[at], gaps[at].delta_s or 0.0
        values: dict[str, Cell] = {"sector": at, "side": _side(behind), "gap": span(abs(behind))}
        values |= {"own": span(part.a_s or 0.0), "theirs": span(part.b_s or 0.0)}
        place = Place(None, at, None, part.span.start_m, part.span.end_m)
        facts.append(of.fact("rival-sector", values, place, behind))
    if not asked and len(gaps) == 3:
        values = {f"s{at}": gap(part.delta_s or 0.0) for at, part in gaps.items()}
        facts.append(of.fact("rival-sectors", values))
    return facts


def tell_sectors(of: Duel) -> Facts:
    """The sectors beside another driver's, and the corners where the gap of those named lies."""
    losses = of.losses if of.view.slots.sectors else ()
    lost = [_loss(of, each) for each in losses if each.seconds >= SHOWN_S]
    ways = _differences(of, losses[0]) if lost else []
    return (*_sectors(of), *lost[:1], *ways[:2], *lost[1:])


def _split(of: Duel) -> list[Fact]:
    """How much is lost before, at and behind the apexes."""
    if not of.losses:
        return []
    ways = ("entry_s", "apex_s", "exit_s")
    parts = {way: sum(getattr(each, way) for each in of.losses) for way in ways}
    values: dict[str, Cell] = {way[:-2]: gap(seconds) for way, seconds in parts.items()}
    most = max(parts, key=lambda way: parts[way])
    values["most"] = most[:-2] if parts[most] >= SHOWN_S else "none"
    return [of.fact("rival-split", values)]


def _tell_how(of: Duel) -> Facts:
    losses = of.losses
    if of.view.slots.sectors:
        return tell_sectors(of)
    if not losses or (not of.view.slots.corners and losses[0].seconds < SHOWN_S):
        return _tell_where(of)
    loss = losses[0]
    first = [_gap(of)] if of.behind_s < LEVEL_S else []
    if of.view.slots.spot in ("entry", "apex", "exit") and not of.view.slots.corners:
        first += _split(of)
    alike = of.fact("rival-alike", {"corner": Corner(loss.corner)}, Place(loss.corner))
    told = _named(of)[:2] if of.view.slots.corners else [_loss(of, loss)]
    return (*first, *told, *(_differences(of, loss) or [alike]))


_WAYS: Final[Mapping[str, tuple[str, Unit, float]]] = {
    "brake": ("brake_point_m", "m", 3.0),
    "slowest": ("min_speed_kmh", "km/h", 0.7),
    "coast": ("coast_seconds", "s", 0.2),
    "leave": ("exit_speed_kmh", "km/h", 0.7),
    "throttle": ("", "m", 3.0),
}
"""Of a pass, by the message that words it: field, unit, and from where on it is a difference."""


_ASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "entry": ("brake", "coast"),
    "apex": ("slowest",),
    "exit": ("leave", "throttle"),
    "brake_point": ("brake",),
    "throttle_point": ("throttle",),
    "coasting": ("coast",),
}
"""Which of them a spot or a quantity asks for."""


def _differences(of: Duel, loss: Loss) -> list[Fact]:
    """What the other does differently in a corner: what is asked for, then what differs most."""
    found = []
    slots = of.view.slots
    asked = (*_ASKED.get(slots.quantity or "", ()), *_ASKED.get(slots.spot or "", ()))
    for way, (name, unit, least) in _WAYS.items():
        sides = (of.view.drive, loss.own), (of.outing.drive, loss.other)
        own, other = (getattr(p, name) if name else opening_m(drive, p) for drive, p in sides)
        if own is None or other is None or abs(own - other) < least:
            continue
        values: dict[str, Cell] = {"corner": Corner(loss.corner), "own": Value(own, unit)}
        values |= {"theirs": Value(other, unit), "apart": Value(abs(own - other), unit)}
        values["side"] = "more" if other > own else "less"
        fact = of.fact(f"rival-{way}", values, Place(loss.corner))
        found.append((way not in asked, -abs(own - other) / least, fact))
    return [fact for _, _, fact in sorted(found, key=lambda each: each[:2])]


def _tell_car(of: Duel) -> Facts:
    own, other = of.view.outing.session.car.strip(), of.outing.session.car.strip()
    same = (
        "unknown" if not own or not other else "yes" if own.casefold() == other.casefold() else "no"
    )
    car = of.fact("rival-car", {"same": same, "own_car": own, "other_car": other})
    lost = [_loss(of, each) for each in of.losses if each.seconds >= SHOWN_S][:1]
    return (car, _gap(of), *lost, of.fact("rival-day", {}))


def _tell_spread(of: Duel) -> Facts:
    sides = of.view.pool, of.outing.drive.counted
    own, other = (spread_s(side) for side in sides)
    side = "level" if abs(own - other) < 0.05 else "other" if other < own else "own"
    values: dict[str, Cell] = {"side": side, "spread": span(own), "other_spread": span(other)}
    values |= {"count": len(sides[0]), "other_count": len(sides[1])}
    if min(map(len, sides)) < 2:
        return (*_count_said(of), of.fact("rival-one-lap", values))
    few = [of.fact("rival-few", {})] if min(map(len, sides)) < FEW else []
    return (*_count_said(of), of.fact("rival-spread", values), *few)


# Earlier sessions


def _series(view: View) -> tuple[list[Step], Step, list[DriverSession]]:
    """The earlier sessions with a lap, this one, and all of them."""
    who = view.outing.session
    now = DriverSession(who.id, who.started_at, summarise(view.drive.laps, view.drive.track))
    earlier = [each for each in view.scene.earlier if each.summary.best_s is not None]
    ordered = steps([*earlier, now])
    return ordered[:-1], ordered[-1], [*earlier, now]


def _none_before(view: View) -> Facts:
    best, count = view.drive.best, len(view.counted)
    here: dict[str, Cell] = {"count": count, "best": lap_time(best.duration_s)}
    better = [_halves_fact(view, "improved-corner", each) for each in _better(view)[:1]]
    return (no_earlier(view.scene), view.fact("progress-here", here, [best]), *better)


def _against(view: View, kind: str, then: Step, now: Step, count: int) -> Fact:
    """This session beside an earlier one: best and usual laps."""
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
    whole = progress(every)
    if len(earlier) > 1:
        facts.insert(0, _against(view, "progress-series", earlier[0], now, len(every)))
        if whole is not None and whole.plateau:
            facts.append(view.fact("progress-plateau", {}))
        elif whole is not None and whole.gain is not None:
            corner, speed = whole.gain.corner, Value(whole.gain.delta_kmh, "km/h")
            values = {"corner": Corner(corner), "speed": speed}
            facts.append(view.fact("progress-corner", values, place=Place(corner)))
    return (*facts, view.fact("progress-limits", {}))


def _tell_stuck(view: View) -> Facts:
    earlier, now, _ = _series(view)
    if not earlier:
        return (no_earlier(view.scene), *_stuck_here(view))
    gains = {}
    for at, time in enumerate(now.sectors):
        old = [each.sectors[at] for each in earlier if each.sectors[at] is not None]
        if time is not None and old:
            gains[at + 1] = (min(each for each in old if each is not None), time)
    if not gains:
        return _tell_progress(view)
    sector = min(gains, key=lambda at: gains[at][0] - gains[at][1])
    old_s, time = gains[sector]
    values: dict[str, Cell] = {"sector": sector, "then": span(old_s), "now": span(time)}
    values |= {"side": _side(time - old_s), "gap": span(abs(time - old_s)), "count": len(earlier)}
    fact = view.fact("stuck-sector", values, place=Place(None, sector), basis="earlier")
    return (fact, *_stuck_here(view), view.fact("progress-limits", {}))


class _Halves(NamedTuple):
    """A corner in the two halves of a session: seconds over its best time."""

    corner: str
    early_s: float
    late_s: float


def _halves(view: View) -> list[_Halves]:
    """Each corner over both halves, medians; none with too few laps or unknown corners."""
    try:
        times = stretch_times(view.drive) if len(view.pool) >= HALVES else {}
    except NoGeometry:
        return []
    laps = [lap.number or 0 for lap in view.pool]
    early, late = laps[: len(laps) // 2], laps[(len(laps) + 1) // 2 :]
    found = []
    for corner, by_lap in times.items():
        sides = [[by_lap[lap] for lap in half if lap in by_lap] for half in (early, late)]
        if all(sides):
            best = min(by_lap.values())
            found.append(_Halves(corner, *(median(side) - best for side in sides)))
    return found


def _better(view: View) -> list[_Halves]:
    """The corners that got better within the session, the most first."""
    gains = sorted(_halves(view), key=lambda each: each.late_s - each.early_s)
    return [each for each in gains if each.early_s - each.late_s >= SHOWN_S]


def _halves_fact(view: View, kind: str, corner: _Halves) -> Fact:
    values: dict[str, Cell] = {"corner": Corner(corner.corner), "early": span(corner.early_s)}
    gain = corner.early_s - corner.late_s
    values |= {"late": span(corner.late_s), "gain": span(abs(gain))}
    place = Place(corner.corner)
    return view.fact(kind, values, place=place, basis="best_pass", gain_s=corner.late_s)


def _stuck_here(view: View) -> Facts:
    """The corner that costs as much in the second half as in the first."""
    stuck = [each for each in _halves(view) if each.early_s - each.late_s < SHOWN_S]
    worst = max(stuck, key=lambda each: each.late_s, default=None)
    if worst is None or worst.late_s < SHOWN_S:
        return ()
    return (_halves_fact(view, "stuck-corner", worst),)


def _tell_improved(view: View) -> Facts:
    earlier, now, every = _series(view)
    facts = [_against(view, "progress-last", earlier[-1], now, len(every))] if earlier else []
    better = _better(view)
    facts += [_halves_fact(view, "improved-corner", each) for each in better[:2]]
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
