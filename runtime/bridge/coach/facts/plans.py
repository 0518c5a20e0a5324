"""Facts about what to do next: advice for a corner, targets, drills, run plans, what-ifs."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from runtime.bridge.analysis.grading import find_dangers
from runtime.bridge.analysis.losses import (
    EARLY_M,
    WORTH_S,
    Loss,
    find_passes,
    find_usual_passes,
    measure_losses,
)
from runtime.bridge.analysis.passes import Pass, list_passes, subtract
from runtime.bridge.coach.fact import Cell, Corner, Fact, Value
from runtime.bridge.coach.facts.knowledge import GLOSSARY, name_term
from runtime.bridge.coach.facts.reviews import (
    PARTS,
    STEP_M,
    advise,
    cause_fact,
    compare_widest,
    corner_fact,
    first,
    make_teller,
    nothing,
    part_of,
    parts_fact,
    pass_facts,
    strengths,
    sum_losses,
    workable,
)
from runtime.bridge.coach.facts.view import Facts, Tell, View, corners_of, place_of, span, usual_s
from runtime.bridge.coach.need import Slots, Spot
from runtime.bridge.coach.scene import Scene, Tellers
from runtime.bridge.session.units import KMH

ROW: Final = 3
"""Laps in a row that prove success."""
DRILL_LAPS: Final = 5
LEAST_S: Final = 60.0
"""A shorter time is none to drive in: two tenths."""
OPEN_LAPS: Final = 6
"""Laps of a run of unknown length."""
LONG_LAPS: Final = 8
"""From this length a run has two laps to warm up."""
SHORT_LAPS: Final = 3
MORE_KMH: Final = 3.0
"""What a what-if adds if nobody says how much."""
LINES: Final = 3
_SPOTS: Final[dict[str, Spot]] = {
    **dict.fromkeys(("brake_point", "brake_pressure", "brake_release", "brake_rate"), "entry"),
    **dict.fromkeys(("brake_time", "brake_g", "coasting"), "entry"),
    **dict.fromkeys(("throttle", "throttle_point", "full_throttle", "accel_g"), "exit"),
}
"""The part of a corner that a quantity belongs to, if any."""


def list_named_corners(view: View) -> list[str]:
    """Return the named corners in lap order."""
    return [corner.name for corner in corners_of(view.scene) if corner.name in view.slots.corners]


def again(view: View) -> Fact:
    """Advise when nothing stands out or nothing can be compared yet."""
    return view.state("tips-repeat" if view.lost else "tips-more", count=ROW)


def technique(view: View, corner: str, spot: str) -> Fact:
    """Describe how to drive a part of a corner in general."""
    danger = "yes" if corner in find_dangers(view.drive) else "no"
    concept = {"entry": "trail_brake", "exit": "late_apex"}.get(spot, "look_ahead")
    values: dict[str, Cell] = {"corner": Corner(corner), "spot": spot, "danger": danger}
    fact = view.state("technique", **values)
    return replace(fact, concept=concept, place=place_of(view.drive, corner))


def corner_advice(view: View) -> Facts:
    """Advise on a corner: for the measured cause, else in general, saying so."""
    named = list_named_corners(view)
    if not named:
        return tips(view)
    loss = first(view)
    several = [loss for loss in view.lost_here if loss.corner in named and loss.seconds >= WORTH_S]
    if len(named) > 1 and several:
        return tuple(advise(view, loss) for loss in several)
    if view.slots.count > 1 and loss is not None and loss.seconds >= WORTH_S:
        ways = [loss._replace(causes=loss.causes[at:]) for at in range(len(loss.causes))]
        advice = [advise(view, way) for way in ways] or [advise(view, loss)]
        by_cause = {str(fact.values["cause"]): fact for fact in advice}.values()
        more = () if len(by_cause) >= view.slots.count else (technique(view, named[0], "exit"),)
        return (*list(by_cause)[: view.slots.count], *more)
    spot = view.slots.spot or _SPOTS.get(view.slots.quantity or "")
    if loss is None:
        return (technique(view, named[0], spot or "exit"), *nothing(view))
    if loss.seconds >= WORTH_S and (spot not in PARTS or part_of(loss, spot) >= WORTH_S):
        return (advise(view, loss), *cause_fact(view, loss))
    general = technique(view, loss.corner, spot if spot in PARTS else "exit")
    if loss.seconds >= WORTH_S:
        return (general, parts_fact(view, loss), advise(view, loss))
    return (general, corner_fact(view, loss), *pass_facts(view, loss)[-1:])


def on_loss(tell: Callable[[View, Loss], Facts]) -> Tell:
    """Answer about the largest loss that can be worked on, or the one at the requested place; if
    there is none, say why and advise to repeat the best lap."""

    def answer(view: View) -> Facts:
        ranked = workable(view)
        wanted = ranked[view.slots.place - 1 :] or ranked
        return tell(view, wanted[0]) if wanted else (*nothing(view), again(view))

    return answer


@on_loss
def tips(view: View, loss: Loss) -> Facts:
    """Advise on what is worth most, as many things as are asked for."""
    if view.slots.count > 1:
        return tuple(advise(view, loss) for loss in workable(view)[: view.slots.count])
    return (advise(view, loss), *cause_fact(view, loss))


@on_loss
def target(view: View, loss: Loss) -> Facts:
    """State how to see success: the figure to reach, laps in a row; for as many losses as asked."""
    losses = workable(view)[: view.slots.count] if view.slots.count > 1 else [loss]
    advice = [advise(view, loss) for loss in losses]
    return tuple(replace(a, kind="target", values={**a.values, "count": ROW}) for a in advice)


@on_loss
def drill(view: View, loss: Loss) -> Facts:
    """Return one exercise for the largest loss and how to see success, or as many exercises as are
    asked for."""
    if view.slots.count > 1:
        return tuple(_exercise(view, loss) for loss in workable(view)[: view.slots.count])
    return (_exercise(view, loss), *target(view))


def _exercise(view: View, loss: Loss) -> Fact:
    advice, count = advise(view, loss), DRILL_LAPS
    if points := _brake_points(advice):
        count = max(ROW, ceil((points[0].number - points[1].number) / STEP_M) + 1)
    return replace(advice, kind="drill", values={**advice.values, "count": count})


def _brake_points(advice: Fact) -> tuple[Value, Value] | None:
    """Return the brake point as it was and as it should be, if that is the advice."""
    now, aim = advice.values["now"], advice.values["aim"]
    early = advice.values["cause"] == "early_brake"
    return (now, aim) if early and isinstance(now, Value) and isinstance(aim, Value) else None


def run_plan(view: View) -> Facts:
    """Plan the minutes or laps that are left: warm up, focus, cool down."""
    usual = usual_s(view.drive.counted)
    times = (amount for amount in view.slots.amounts if amount.unit in ("s", "min"))
    time = next((amount for amount in times if amount.number >= LEAST_S), None)
    count = next(
        (round(amount.number) for amount in view.slots.amounts if not amount.unit), OPEN_LAPS
    )
    values: dict[str, Cell] = {"usual": Value(usual, "lap_time")}
    if time is not None:
        count = int(time.number / usual)
        values["minutes"] = Value(time.number, "min")
    warm = 2 if count >= LONG_LAPS else 1
    values |= {"count": count, "warm": warm, "focus": count - warm - 1, "cool": 1}
    if count < SHORT_LAPS:
        return (view.state("plan-short", count=count),)
    kind, ranked = "plan-run" if time is not None else "plan-laps", workable(view)
    if not ranked:
        return (view.state(kind, **values, both=0), again(view))
    second = ranked[1] if len(ranked) > 1 and count >= LONG_LAPS else ranked[0]
    both = 1 if second is ranked[0] else 2
    if view.slots.corners:
        second, both = ranked[0], 1
    lead = view.state(kind, ranked[0], **values, next=Corner(second.corner), both=both)
    return (lead, advise(view, ranked[0]))


def traffic(scene: Scene, _: Slots) -> Facts:
    """Plan for traffic."""
    lead = Fact("traffic", driver=scene.driver)
    if scene.outing is None:
        return (lead,)
    view = compare_widest(scene)
    return (lead, *(view.state("traffic-focus", loss) for loss in workable(view)[:1]))


def what_if(view: View) -> Facts:
    """Estimate from the best lap what more speed or a later brake point would gain; or the effect
    of driving every lap like the named one."""
    named = list_named_corners(view)
    if not named and len(view.named) == 1 and view.slots.quantity in (None, "time"):
        (lap,) = view.named
        saved = sum(other.duration_s - lap.duration_s for other in view.counted)
        values: dict[str, Cell] = {"lap": lap.number or 0, "count": len(view.counted)}
        values |= {"saved": span(abs(saved)), "each": span(abs(saved) / len(view.counted))}
        values["side"] = "saved" if saved >= 0 else "lost"
        return (view.fact("what-if-lap", values, [lap]),)
    ranked = [loss.corner for loss in workable(view)]
    if not corners_of(view.scene):
        return nothing(view)
    passes = find_passes(view.drive, view.drive.best.number or 0)
    corner = next((name for name in (*named, *ranked) if name in passes), None)
    if corner is None:
        return nothing(view)
    amount = next((amount for amount in view.slots.amounts if amount.unit in ("km/h", "m")), None)
    if amount is None and view.slots.quantity != "speed":
        plain = replace(view.slots, laps=(), all_laps=False)
        wide = compare_widest(view.scene, plain)
        if wide.other in plain.drivers:  # the usual lap is what would improve
            rival = view.scene.rivals[wide.other].drive
            usual = measure_losses(view.usual_passes, find_usual_passes(rival), view.drive, rival)
            wide = wide._replace(lost=usual, lap=0)
        return sum_losses(wide)
    amount = amount or Value(MORE_KMH, "km/h")
    own = passes[corner]
    values = {
        "corner": Corner(corner),
        "amount": amount,
        "lap": own.lap,
        "danger": "yes" if corner in find_dangers(view.drive) else "no",
    }
    place = place_of(view.drive, corner)
    if amount.unit == "m":
        gain = span(_later(own, view, amount))
        facts: Facts = (view.state("what-if-brake", **values, gain=gain),)
    else:
        gain = span(_faster(own, view, amount))
        facts = (view.state("what-if", **values, gain=gain), *grip_facts(view, own, amount))
    facts += (view.state("what-if-build", **values),)
    return tuple(replace(fact, place=place, laps=(own.lap,)) for fact in facts)


def grip_facts(view: View, own: Pass, amount: Value) -> Facts:
    """Whether any corner of the session showed the lateral g that more speed takes."""
    passes = [pass_ for row in list_passes(view.drive).values() for pass_ in row]
    peaks = [pass_.max_g_lat for pass_ in passes if pass_.max_g_lat is not None]
    if own.max_g_lat is None or not own.apex_speed_kmh:
        return ()
    need = own.max_g_lat * (1.0 + amount.number / own.apex_speed_kmh) ** 2
    room = "yes" if need <= max(peaks) else "no"
    grip = {"need": Value(need, "g"), "most": Value(max(peaks), "g")}
    return (view.state("what-if-grip", corner=Corner(own.corner), room=room, **grip),)


def _faster(own: Pass, view: View, amount: Value) -> float:
    """Return the seconds that more speed from entry to exit saves."""
    speed = view.drive.series["speed_ms"][own.frames]
    speeds = speed[np.isfinite(speed)]
    more = amount.number / KMH
    return (own.t_exit - own.t_entry) * float(np.mean(more / (speeds + more)))


def _later(own: Pass, view: View, amount: Value) -> float:
    """Return the seconds that a later brake point saves: up to the best lap's brake point, its
    share of the usual lap's loss before the apex; beyond that, metres at full instead of entry
    speed."""
    usual, metres = view.usual_passes.get(own.corner, own), abs(amount.number)
    later_m = subtract(usual.brake_point_m, own.brake_point_m) or 0.0
    lost = measure_losses({own.corner: usual}, {own.corner: own}, view.drive)
    saved = 0.0
    if lost and later_m > EARLY_M and lost[0].entry_s > 0.0:
        saved = lost[0].entry_s * min(metres / later_m, 1.0)
        metres = max(metres - later_m, 0.0)
    fast = float(np.nanmax(view.drive.series["speed_ms"][own.approach : own.last]))
    slow = (own.entry_speed_kmh or fast * KMH) / KMH
    return saved + metres * (1.0 / slow - 1.0 / fast)


def voice_script(view: View) -> Facts:
    """Write three short lines to read out in the car, in lap order."""
    ranked = workable(view)[:LINES]
    if not ranked:
        return nothing(view)
    order = [corner.name for corner in view.drive.corners]
    lines = sorted(ranked, key=lambda loss: order.index(loss.corner))
    return tuple(_line(advise(view, loss)) for loss in lines)


def _line(advice: Fact) -> Fact:
    """Shorten advice to a call: a brake point only one step later than it was."""
    aim = advice.values["aim"]
    if points := _brake_points(advice):
        now, wanted = points
        aim = wanted._replace(number=max(wanted.number, now.number - STEP_M))
    return replace(advice, kind="voice-line", values={**advice.values, "aim": aim})


def name_circuit(scene: Scene) -> Facts:
    """Name the active circuit of a plan if the driver has no session that shows it."""
    if scene.outing is not None or scene.without_laps or scene.track is None:
        return ()
    return (Fact("brief-circuit", {"circuit": scene.track.name}),)


def mood(scene: Scene, _: Slots) -> Facts:
    """Encourage with one true good point, without a word about other cars."""
    return (Fact("mood"), *strengths(scene, 3)[-1:])


def lesson(scene: Scene, slots: Slots) -> Facts:
    """Name the lesson on a term, else on what costs this session most."""
    key = name_term(slots)
    lead = _TIPS(scene, slots)[:1] if not key and scene.outing is not None else ()
    concept = GLOSSARY.get(key, key) or next((fact.concept for fact in lead if fact.concept), "")
    if concept not in scene.lessons:
        return (Fact("lesson-none"), *lead)
    title: dict[str, Cell] = {"title": scene.lessons[concept]}
    return (*lead, Fact("lesson", title, concept=concept))


_TIPS: Final = make_teller(tips)
TELLERS: Final[Tellers] = {
    "corner_advice": make_teller(corner_advice),
    "tips": _TIPS,
    "mood": mood,
    "lesson": lesson,
    "target": make_teller(target),
    "drill": make_teller(drill),
    "run_plan": make_teller(run_plan),
    "traffic": traffic,
    "what_if": make_teller(what_if),
    "voice_script": make_teller(voice_script),
}
