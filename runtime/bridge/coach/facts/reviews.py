"""Facts about where time is lost and why, what was good, and what to do about a loss."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from statistics import median
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import cause_to_mend, find_dangers
from runtime.bridge.analysis.losses import (
    WORTH_S,
    Loss,
    choose_stand_in,
    find_best_passes,
    find_figures,
    find_passes,
    find_usual_passes,
    measure_losses,
    measure_losses_to_best,
    measure_stretches,
)
from runtime.bridge.analysis.passes import list_passes, subtract
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term, Value
from runtime.bridge.coach.facts.view import (
    NO_CORNERS,
    REMEDIES,
    Facts,
    View,
    corners_of,
    fits_claim,
    judge,
    no_rival,
    place_of,
    span,
    spread_s,
    usual_s,
)
from runtime.bridge.coach.facts.view import teller as tell_session
from runtime.bridge.coach.need import Slots
from runtime.bridge.coach.scene import Scene, Teller, Tellers
from runtime.bridge.session.definitions import find_missing

LITTLE_S: Final = 0.1
"""If no corner costs more than this, the driver's own best lap shows too little."""
STRONG_S: Final = 0.03
"""The least lead in a corner that counts as being quicker there."""
STEADY_LAPS: Final = 3
BRAKED_KMH: Final = 8.0
"""A corner that takes less speed says little about its driver."""
STEP_M: Final = 5.0
"""The most that a brake point moves at once: a car's length, and the resolution of 10 Hz."""
TOP: Final = 3
PARTS: Final = ("entry", "apex", "exit")
NO_SLOTS: Final = Slots()


def make_teller(tell: Callable[[View], Facts]) -> Teller:
    """Make a teller of the asking driver's session, compared with a better lap."""
    return tell_session(lambda view: tell(compare_widest(view.scene, view.slots)), own=True)


def compare(scene: Scene, slots: Slots = NO_SLOTS) -> View:
    """Compare the usual or the named lap with the driver's best, and the best lap with the best
    passes; with a named rival, or if there is only one lap, compare best laps.

    The scene has a session; without corners, and for one lap alone, there are no losses. Excluded
    corners have none.
    """
    view = _compare(scene, slots)
    return view._replace(lost=tuple(loss for loss in view.lost if loss.corner not in slots.besides))


def _compare(scene: Scene, slots: Slots) -> View:
    assert scene.outing is not None
    view, drive = View(scene, slots, scene.outing, "own"), scene.outing.drive
    best, alone, corners = drive.best.number or 0, len(drive.counted) < 2, corners_of(scene)
    lap = next((lap.number or 0 for lap in view.named), choose_stand_in(drive))
    named = next((name for name in slots.drivers if name in scene.rivals), "")
    other = named or (next(iter(scene.rivals), "") if alone else "")
    if other:
        rival, lap = scene.rivals[other].drive, lap if view.named else best
        view = view._replace(basis="driver", other=other, lap=lap)
        theirs, both = view.lap_of(rival).number or 0, corners and rival.geometry
        its = find_passes(rival, theirs) if both else {}
        own = find_passes(drive, lap) if its else {}
        return view._replace(lost=measure_losses(own, its, drive, rival) if its else ())
    if alone or not corners:
        return view
    if lap == best and view.named and slots.corners:  # what was better there than usual
        lost = measure_losses(find_passes(drive, lap), find_usual_passes(drive), drive)
        return view._replace(lost=lost, basis="usual", lap=lap)
    if lap == best:
        lost = measure_losses(find_passes(drive, lap), find_best_passes(drive), drive)
        return view._replace(lost=lost, basis="best_pass", lap=lap)
    return view._replace(lost=measure_losses_to_best(drive, lap or None), lap=lap)


def compare_widest(scene: Scene, slots: Slots = NO_SLOTS) -> View:
    """Compare as `compare` does; if that shows little, or no cause, and no driver is named, compare
    with the rival who shows most, since a fault of every lap shows only against others."""
    views = [compare(scene, slots)]
    most = next(iter(views[0].lost_here), None)
    if not slots.drivers and not (most and most.causes and most.seconds >= LITTLE_S):
        views += [compare(scene, replace(slots, drivers=(name,))) for name in scene.rivals]
    return max(views, key=_most_lost)


def _most_lost(view: View) -> tuple[float, float]:
    """Return the largest loss that has a cause, and the largest of all, seconds."""
    caused = [loss.seconds for loss in view.lost_here if loss.causes]
    return max(caused, default=0.0), max((loss.seconds for loss in view.lost_here), default=0.0)


def nothing(view: View) -> Facts:
    """Explain the lack of losses: one lap and nobody to compare with, or no corner costs
    anything."""
    if not corners_of(view.scene):
        return (NO_CORNERS,)
    if not view.lost:
        return (view.state("loss-one-lap"),)
    if view.slots.corners and view.lost_here:
        return (corner_fact(view, view.lost_here[0]),)
    if view.slots.corners:
        return (view.state("loss-unmeasured", corner=Corner(view.slots.corners[0])),)
    return (view.state("loss-none", sector=sector_of(view)),)


def sector_of(view: View) -> int:
    """Return the first named sector; 0: none."""
    numbers = range(1, len(view.drive.sectors) + 1)
    return next((number for number in view.slots.sectors if number in numbers), 0)


def cause_fact(view: View, loss: Loss) -> Facts:
    """State the measured causes of a corner's loss."""
    if loss.seconds < WORTH_S:
        return ()
    (key, amount), *more = loss.causes or (("none", 0.0),)
    also = tuple(Term("cause", other) for other, _ in more)
    value = Value(abs(amount), REMEDIES[key].size)
    fact = view.state("loss-cause", loss, cause=key, amount=value, also=also, more=len(also))
    return (replace(fact, concept=REMEDIES[key].concept),)


def corner_fact(view: View, loss: Loss) -> Fact:
    """State what a corner costs or gains."""
    kind = "loss-corner" if loss.seconds >= WORTH_S else "loss-even"
    return view.state("loss-gain" if loss.seconds <= -WORTH_S else kind, loss)


def list_losses(view: View) -> list[Loss]:
    """Return the losses in question worth mentioning, largest first."""
    return [loss for loss in view.lost_here if loss.seconds >= WORTH_S]


def workable(view: View) -> list[Loss]:
    """Return the same losses, those first that something can be done about."""
    return sorted(
        list_losses(view), key=lambda loss: advise(view, loss).values["cause"] == "steady"
    )


def _groups(view: View) -> Facts:
    """Compare the losses in left and right corners, or in the slower and the faster half."""
    corners = {corner.name: corner for corner in view.drive.corners}
    speeds = {loss.corner: loss.own.apex_speed_kmh or 0.0 for loss in view.lost}
    middle = median(speeds.values())
    lost: dict[str, list[Loss]] = {}
    for loss in view.lost:
        pace = "slow" if speeds[loss.corner] <= middle else "fast"
        side = corners[loss.corner].direction if view.slots.group == "direction" else pace
        lost.setdefault(side, []).append(loss)
    sums = {side: sum(loss.seconds for loss in losses) for side, losses in lost.items()}
    values: dict[str, Cell] = {}
    for place, side in zip(("first", "second"), sorted(sums, key=lambda s: -sums[s]), strict=False):
        values |= {place: Term("group", side), f"{place}_lost": span(sums[side])}
        values[f"{place}_corners"] = tuple(Corner(loss.corner) for loss in lost[side])
    return (view.state("loss-groups", **values),) if len(sums) > 1 else ()


def loss_rank(view: View) -> Facts:
    """State where most is lost, why, and what comes next."""
    ranked = list_losses(view)
    if view.slots.group and view.lost and (groups := _groups(view)):
        return (*groups, corner_fact(view, view.lost[0]))
    if view.slots.order == "least" and view.slots.quantity != "speed" and view.lost_here:
        return strength(view)
    if not ranked:
        return nothing(view)
    spot = view.slots.spot
    if spot in PARTS:
        by_part = sorted(ranked, key=lambda loss: -part_of(loss, spot))
        worst = by_part[min(view.slots.place, len(by_part)) - 1]
        part: dict[str, Cell] = {"spot": Term("spot", spot), "part": span(part_of(worst, spot))}
        most = view.state("loss-spot", worst, **part)
        if part_of(worst, spot) >= WORTH_S:
            lead = most if worst is by_part[0] else parts_fact(view, worst)
            return (lead, *cause_fact(view, worst), advise(view, worst))
    slots = view.slots
    most, chosen = view.state("loss-most", ranked[0], sector=sector_of(view)), slots.place - 1
    plain = slots.order in (None, "each", "total") and not (slots.where or slots.which)
    if slots.open and plain and not slots.sectors:
        total = () if view.lap else usual_to_best(view, "loss-total")
        return (*total, most, *cause_fact(view, ranked[0]), advise(view, ranked[0]))
    if 0 < chosen < len(ranked):
        loss = ranked[chosen]
        return (corner_fact(view, loss), *cause_fact(view, loss), most, advise(view, loss))
    facts = [most]
    facts += cause_fact(view, ranked[0])
    if ranked[1:]:
        second, third = ranked[1], ranked[min(2, len(ranked) - 1)]
        values: dict[str, Cell] = {"next": Corner(third.corner), "after": span(third.seconds)}
        count = len(ranked[1:TOP])
        facts.append(view.state("loss-next", second, count=count, **values))
    return (*facts[:3], advise(view, ranked[0]))


def usual_to_best(view: View, kind: str) -> Facts:
    """State the gain from the usual lap to the best, which is surely possible; empty if there is
    none."""
    best, usual = view.drive.best, usual_s(view.counted)
    there = usual - best.duration_s
    if there < WORTH_S:
        return ()
    values: dict[str, Cell] = {"gain": span(there), "usual": Value(usual, "lap_time")}
    values |= {"lap": best.number or 0, "best": Value(best.duration_s, "lap_time")}
    return (view.fact(kind, values, [best], basis="usual", gain_s=there),)


def corner_explain(view: View) -> Facts:
    """Explain where the time of a corner goes, and why."""
    loss = first(view)
    if loss is None:
        return nothing(view)
    if len(view.slots.corners) > 1:
        return sum_losses(view)
    slots, spot = view.slots, view.slots.spot or ""
    facts = [corner_fact(view, loss), *(cause_fact(view, loss) or pass_facts(view, loss))]
    most = slots.order in ("most", "worst")
    so = loss is view.lost[0] if most else loss.seconds >= WORTH_S
    parts = (parts_fact(view, loss),) if spot in PARTS or abs(loss.seconds) >= WORTH_S else ()
    if spot in PARTS and slots.gains is False:  # the loss there comes first
        facts[:0], so = parts, part_of(loss, spot) >= WORTH_S
    else:
        facts += parts
    if (slots.gains is False or most) and (slots.claims or slots.whether):
        facts[0] = judge(facts[0], slots, so=so and fits_claim(slots, loss.seconds))
    return (*facts, advise(view, loss)) if loss.seconds >= WORTH_S else tuple(facts)


def sum_losses(view: View) -> Facts:
    """State what the named corners cost in all, else the one that costs most, and what to do."""
    ranked = workable(view)
    losses = ranked if view.slots.corners else ranked[:1]
    if not losses:
        return nothing(view)
    total = span(sum(loss.seconds for loss in losses))
    names = tuple(Corner(loss.corner) for loss in losses)
    lap_s = view.drive.lap(view.lap).duration_s if view.lap else usual_s(view.drive.counted)
    after = Value(lap_s - total.number, "lap_time")
    lead = view.state("what-if-mended", losses[0], corners=names, total=total, after=after)
    return (lead, *(advise(view, loss) for loss in losses[:2]))


def corner_review(view: View) -> Facts:
    """Describe how a corner went: its time, brake point and speeds, and what costs."""
    loss = first(view)
    if loss is None:
        return nothing(view)
    if len(view.slots.corners) > 1:
        here = view.lost_here[:TOP]
        several = tuple(corner_fact(view, loss) for loss in here)
        return (*several, advise(view, here[0])) if here[0].seconds >= WORTH_S else several
    facts = (corner_fact(view, loss), *pass_facts(view, loss))
    return (*facts, advise(view, loss)) if loss.seconds >= WORTH_S else facts


def pass_facts(view: View, loss: Loss) -> Facts:
    """State brake point and speeds of both sides, as far as recorded."""
    own, other, facts = loss.own, loss.other, []
    recorded = not find_missing(view.drive.series, ("brake",))
    if recorded and own.brake_point_m is not None and other.brake_point_m is not None:
        points = {"own": Value(own.brake_point_m, "m"), "best": Value(other.brake_point_m, "m")}
        if min(own.brake_point_m, other.brake_point_m) > 0:
            facts.append(view.state("pass-brake", loss, **points))
    speeds = {
        name: Value(speed, "km/h")
        for name, speed in (
            ("low", own.apex_speed_kmh),
            ("leave", own.exit_speed_kmh),
            ("best_low", other.apex_speed_kmh),
            ("best_leave", other.exit_speed_kmh),
        )
        if speed is not None
    }
    if len(speeds) == 4:
        facts.append(view.state("pass-speed", loss, **speeds))
    return tuple(facts)


def first(view: View) -> Loss | None:
    """Return the loss of the first named corner, else the largest."""
    names = view.slots.corners[:1]
    return next((loss for loss in view.lost_here if not names or loss.corner in names), None)


def part_of(loss: Loss, spot: str) -> float:
    """Return the part of a loss at the entry, the apex or the exit."""
    return {"entry": loss.entry_s, "apex": loss.apex_s}.get(spot, loss.exit_s)


def parts_fact(view: View, loss: Loss) -> Fact:
    """State how a loss is spread over entry, apex and exit."""
    values: dict[str, Cell] = {
        part: Value(round(part_of(loss, part), 2), "s", signed=True) for part in PARTS
    }
    return view.state("loss-parts", loss, **values)


def choice(view: View) -> Facts:
    """Decide whether braking or the exit is worth more, in a corner or over the lap; or which of
    several corners is."""
    if len(view.slots.corners) > 1 and view.lost_here:
        facts = [corner_fact(view, loss) for loss in view.lost_here[:3]]
        return (*facts, advise(view, view.lost_here[0]))
    losses = [first(view)] if view.slots.corners else list_losses(view)
    chosen = [loss for loss in losses if loss is not None]
    if not chosen:
        return nothing(view)
    entry, leave = sum(loss.entry_s for loss in chosen), sum(loss.exit_s for loss in chosen)
    larger = "entry" if entry >= leave else "exit"
    side = larger if max(entry, leave) >= WORTH_S else "neither"
    best = max(chosen, key=lambda loss: loss.entry_s if larger == "entry" else loss.exit_s)
    where = 1 if view.slots.corners else 0
    values: dict[str, Cell] = {
        "entry": Value(round(entry, 2), "s", signed=True),
        "exit": Value(round(leave, 2), "s", signed=True),
        "side": side,
        "where": where,
    }
    lead = view.state("choice", best, **values)
    if side == "neither":
        return (lead, corner_fact(view, best))
    most = () if where else (corner_fact(view, best),)
    return (lead, *most, *cause_fact(view, best), advise(view, best))


def summary(view: View) -> Facts:
    """Sum up the session: laps, what was good, what costs most, one thing to do."""
    counted, best = view.drive.counted, view.drive.best
    laps = view.state(
        "summary-laps",
        best=Value(best.duration_s, "lap_time"),
        best_lap=best.number or 0,
        usual=Value(usual_s(counted), "lap_time"),
        spread=span(spread_s(counted)),
        count=len(counted),
    )
    ranked = list_losses(view)
    lost = (view.state("loss-most", ranked[0], sector=0),) if ranked else nothing(view)
    plan = tuple(advise(view, loss) for loss in workable(view)[:1])
    return (replace(laps, laps=(best.number or 0,)), *strengths(view.scene, 1), *lost, *plan)


def strength(view: View) -> Facts:
    """State what was good, with its figure; only in the named corners, if any."""
    if view.slots.drivers and not view.other:
        return (no_rival(view.scene),)
    facts = _strong(view.scene, view.slots.corners, view.other)
    if facts:
        return facts[: view.slots.count or 2]
    loss = first(view) if view.slots.corners else None
    return (corner_fact(view, loss),) if loss is not None else (view.state("strong-none"),)


def _strong(scene: Scene, corners: tuple[str, ...], rival: str = "") -> Facts:
    """Return true strengths, the most telling first."""
    if scene.outing is None:
        return ()
    drive, facts, view = scene.outing.drive, [], compare(scene)
    for name in [rival] if rival else scene.rivals:
        compared = compare(scene, Slots(drivers=(name,)))
        ahead = [loss for loss in reversed(compared.lost) if not corners or loss.corner in corners]
        if ahead and ahead[0].seconds <= -STRONG_S:
            facts.append(compared.state("strong-quicker", ahead[0]))
    worst = {loss.corner for loss in view.lost[:1] if loss.seconds >= WORTH_S}
    spreads = _spreads(drive) if corners_of(scene) else {}
    spreads = {name: spread for name, spread in spreads.items() if name not in worst}
    steady = min(corners or spreads, key=lambda name: spreads.get(name, 9.9), default="")
    if steady in spreads:
        width = span(ceil(100 * spreads[steady] or 1) / 100)
        count = len(list_passes(drive)[steady])
        fact = view.state("strong-steady", corner=Corner(steady), spread=width, count=count)
        facts.append(replace(fact, place=place_of(drive, steady)))
    gained = drive.counted[0].duration_s - drive.best.duration_s
    if gained >= STRONG_S and not corners:
        lap, start = drive.best.number or 0, drive.counted[0].number or 0
        values: dict[str, Cell] = {"gained": span(gained), "best_lap": lap, "start": start}
        facts.append(replace(view.state("strong-gained", **values), laps=(start, lap)))
    return tuple(facts)


def _spreads(drive: Drive) -> dict[str, float]:
    """Return seconds between the quickest and slowest pass of the corners that take some speed."""
    usual = find_usual_passes(drive)
    return {
        name: max(laps.values()) - min(laps.values())
        for name, laps in measure_stretches(drive).items()
        if len(laps) >= STEADY_LAPS
        and (subtract(usual[name].entry_speed_kmh, usual[name].apex_speed_kmh) or 0) >= BRAKED_KMH
    }


def advise(view: View, loss: Loss) -> Fact:
    """Advise on a loss: the action, the figure already reached, and its worth.

    In a danger zone nobody is asked for more speed: see `cause_to_mend`.
    """
    cause = cause_to_mend(view.drive, loss)
    remedy = REMEDIES[cause]
    now, aim = find_figures(loss, cause) or (0.0, 0.0)
    values: dict[str, Cell] = {
        "cause": cause,
        "action": Term("action", remedy.action),
        "now": Value(now, remedy.unit),
        "aim": Value(aim, remedy.unit),
        "step": Value(STEP_M, "m"),
        "danger": "yes" if loss.corner in find_dangers(view.drive) else "no",
        "reached": loss.other.lap,
    }
    return replace(view.state("advice", loss, **values), concept=remedy.concept)


def strengths(scene: Scene, n: int) -> Facts:
    """Return the *n* most telling strengths."""
    return _strong(scene, ())[:n]


TELLERS: Final[Tellers] = {
    "loss_rank": make_teller(loss_rank),
    "strength": make_teller(strength),
    "choice": make_teller(choice),
    "summary": make_teller(summary),
}
