"""What a session says about its laps; pure functions of a drive."""

from collections.abc import Sequence
from statistics import median
from typing import Final

from runtime.bridge.analysis.compare import CornerDelta, circuit, compare_sides, driven_side
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.incidents import Active, incidents
from runtime.bridge.analysis.laps import ideal_lap
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.stats import stats
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, known, numbered
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.ranking import time_text
from runtime.bridge.session.units import KMH

SAME_S: Final = 0.0005
"""Times closer than this are shown as equal."""
LEAST_PART_S: Final = 0.02
STEADY_S: Final = 0.02
"""A lap time that changes by less a lap does not change."""
PACED: Final = 4
"""Laps from which on there is a pace to speak of."""
SHARE: Final = 0.5
"""Of what the best sectors promise, that a next goal asks for."""
LEAST_GOAL_S: Final = 0.1


def overview(drive: Drive) -> Found:
    """The session in a few numbers."""
    found = stats(drive)
    best = drive.best
    facts = [
        Fact("complete laps", found.n_laps),
        Fact("best lap", found.best_lap_s, "lap"),
        *known("top speed", found.top_speed_kmh, "km/h"),
        *known("average speed", found.average_speed_kmh, "km/h"),
        *known("highest brake pressure", found.max_brake_bar, "bar"),
        *known("highest lateral acceleration", found.max_g_lat, "g", digits=2),
        *known("hardest braking", _positive(found.max_decel_g), "g", digits=2),
        *known("longest full throttle", found.longest_full_throttle_s, "s"),
    ]
    laps = f"{found.n_laps} complete lap{'s' if found.n_laps != 1 else ''}"
    named = f", lap {best.number}" if found.n_laps > 1 and best.number else ""
    summary = f"You drove {laps}, the best in {time_text(found.best_lap_s)}{named}."
    numbers = [f"{one.label} {one.text}" for one in facts[2:6]]
    details = (f"In numbers: {', '.join(numbers)}.",) if numbers else ()
    return Found("session_overview", summary, details, tuple(facts))


def session_highlights(
    drive: Drive, references: References = NONE, active: Sequence[Active] = ()
) -> Found:
    """What was good, and what cost most."""
    found = highlights(drive, references, active)
    good = [one for one in found if one.severity == "positive"]
    bad = [one for one in found if one.severity in ("high", "medium")]
    facts = tuple(Fact(f"{one.title}, lap {one.lap}", one.narrative_seed) for one in found)
    if not good and not bad:
        return Found("session_highlights", "No moment of the session stands out.", (), facts)
    praise = [f"Good: {one.narrative_seed}" for one in good[:1]]
    work = [f"To work on: {one.narrative_seed}" for one in bad[:1]]
    work += [f"Also: {one.narrative_seed}" for one in bad[1:2]]
    first, *rest = (*praise, *work)
    return Found("session_highlights", first, tuple(rest), facts)


def lap_delta(drive: Drive, laps: tuple[int, ...] = ()) -> Found:
    """Two laps beside each other: the two that are named, else slowest and best of the session.

    One named lap stands beside the best; the best itself beside the slowest.
    """
    there = {one.number for one in drive.counted}
    if missing := [n for n in laps[:2] if n not in there]:
        return Found(
            "lap_delta",
            f"There is no complete lap {missing[0]}; the session has {numbered(there)}.",
            empty=True,
        )
    if len(laps) > 1 and laps[0] == laps[1]:
        return _same(drive, laps[0])
    slower, faster = _two(drive, laps)
    if slower is faster:
        return Found("lap_delta", "There is only one complete lap, and nothing beside it.")
    where = circuit(drive)
    found = compare_sides(
        driven_side(drive, slower.number, where), driven_side(drive, faster.number, where), where
    )
    gap = slower.duration_s - faster.duration_s
    times = f"{time_text(slower.duration_s)} to {time_text(faster.duration_s)}"
    by = "as fast as" if gap < SAME_S else f"{gap:.3f} s slower than"
    worst = sorted(found.corners, key=lambda one: -(one.part.delta_s or 0.0))
    details = [_lost(one) for one in worst[:3] if (one.part.delta_s or 0.0) >= LEAST_PART_S]
    gained = [one for one in worst[::-1] if (one.part.delta_s or 0.0) <= -LEAST_PART_S]
    if gained:
        one = gained[0].part
        details.append(f"In {one.span.name} it was {-(one.delta_s or 0.0):.2f} s faster.")
    facts = [
        Fact(f"lap {slower.number}", slower.duration_s, "lap"),
        Fact(f"lap {faster.number}", faster.duration_s, "lap"),
        Fact(f"lap {slower.number} less lap {faster.number}", gap, "s", 3),
    ]
    for part in (*found.sectors, *(one.part for one in found.corners)):
        facts += known(f"{part.span.name}, difference", part.delta_s, "s", digits=3)
    summary = f"Lap {slower.number} was {by} lap {faster.number}: {times}."
    return Found("lap_delta", summary, tuple(details), tuple(facts))


def _same(drive: Drive, number: int) -> Found:
    """What is said where a lap stands beside itself."""
    own = next(one for one in drive.counted if one.number == number)
    time = time_text(own.duration_s)
    others = [one for one in drive.counted if one is not own]
    facts = (Fact(f"lap {number}", own.duration_s, "lap"),)
    summary = (
        f"Lap {number} and lap {number} are the same lap, {time}, so nothing lies between them."
    )
    if not others:
        return Found("lap_delta", summary, (), facts)
    return Found(
        "lap_delta",
        summary,
        (f"Name another: there are {numbered(o.number for o in drive.counted)}.",),
        facts,
    )


def _two(drive: Drive, laps: tuple[int, ...]) -> tuple[Segment, Segment]:
    """The slower of the two and the faster one."""
    numbered = {one.number: one for one in drive.counted}
    slowest = max(drive.counted, key=lambda one: (one.duration_s, one.t_start))
    pair = [numbered[n] for n in laps[:2]]
    if not pair:
        pair = [slowest, drive.best]
    elif len(pair) == 1:
        pair.append(drive.best if pair[0] is not drive.best else slowest)
    slower, faster = sorted(pair, key=lambda one: -one.duration_s)
    return slower, faster


def _lost(one: CornerDelta) -> str:
    text = f"{one.part.delta_s or 0.0:.2f} s went in {one.part.span.name}"
    if one.a_min_kmh is not None and one.b_min_kmh is not None:
        slower = one.b_min_kmh - one.a_min_kmh
        if abs(slower) >= 1.0:
            word = "slower" if slower > 0 else "faster"
            text += f", where the slowest point was {abs(slower):.1f} km/h {word}"
    return f"{text}."


def incident_moments(drive: Drive, active: Sequence[Active] = ()) -> Found:
    """What went wrong or nearly did, the worst first."""
    found = incidents(drive, active)
    if not found:
        text = "Nothing in the data looks like an incident: no spin, no excursion, no stop."
        return Found("incident_moments", text)
    order = {"high": 0, "medium": 1, "low": 2}
    ranked = sorted(found, key=lambda one: (order[one.severity], one.t_start))
    count = f"{len(found)} moment{'s' if len(found) != 1 else ''}"
    details, facts = [], []
    for one in ranked[:8]:
        place = float(drive.progress.p[one.frame])
        lap = f"lap {one.lap}" if one.lap else "outside a complete lap"
        speed = float(drive.series["speed_ms"][one.frame]) * KMH
        at = f"{place:.0f} m" if place == place else "an unknown place"
        fast = f" at {speed:.0f} km/h" if speed == speed else ""
        text = f"{one.reason[:-1]} ({lap}, {at}{fast})."
        details.append(text)
        facts.append(Fact(one.kind.replace("_", " "), text))
    summary = f"The data show {count} worth a look."
    return Found("incident_moments", summary, tuple(details[:3]), tuple(facts))


def race_pace(drive: Drive) -> Found:
    """How lap times change from lap to lap, outliers left out."""
    laps = [one for one in drive.counted if not one.outlier]
    if len(laps) < PACED:
        text = f"A pace needs {PACED} comparable laps; this session has {len(laps)}."
        few = (Fact("comparable laps", len(laps)),)
        return Found("race_pace", text, facts=few, empty=True)
    times = [one.duration_s for one in laps]
    numbers = [float(one.number or 0) for one in laps]
    slope = _slope(numbers, times)
    steady = abs(slope) < STEADY_S
    third = max(len(times) // 3, 1)
    first, last = median(times[:third]), median(times[-third:])
    trend = "hold steady" if steady else ("get slower" if slope > 0 else "get faster")
    per = "" if steady else f" by {abs(slope):.2f} s a lap"
    middle = median(times)
    summary = f"Over {len(times)} comparable laps your times {trend}{per}."
    details = [
        f"The middle lap is {time_text(middle)}.",
        f"The run began around {time_text(first)} and ended around {time_text(last)}.",
    ]
    if slope >= STEADY_S:
        details.append(
            "Look after the tyres in the first laps: smoother hands cost less there than the drop"
            " costs later."
        )
    facts = (
        Fact("comparable laps", len(times)),
        Fact("middle lap", middle, "lap"),
        Fact("change a lap", slope, "s", 3),
        Fact("beginning of the run", first, "lap"),
        Fact("end of the run", last, "lap"),
    )
    return Found("race_pace", summary, tuple(details), facts)


def goal_targets(drive: Drive, target_s: float | None = None) -> Found:
    """The next lap time to aim for: the best, less half of what the best sectors promise."""
    found = ideal_lap(drive)
    best, ideal = found.best_actual_lap_s, found.sectors
    gain = ideal.gain_s or 0.0
    goal = best - max(SHARE * gain, LEAST_GOAL_S)
    facts = [
        Fact("best lap", best, "lap"),
        Fact("next goal", goal, "lap"),
        *known("lap of the best sectors", ideal.lap_s, "lap"),
        *known("gain of the best sectors", ideal.gain_s, "s", digits=3),
    ]
    details = []
    if ideal.lap_s is not None and gain > SAME_S:
        details.append(
            f"Your best sectors together make {time_text(ideal.lap_s)}, so {gain:.2f} s are in"
            " laps that you have driven already."
        )
        apart = [one for one in ideal.parts if one.from_lap != drive.best.number]
        if apart:
            names = joined([f"{one.name} (lap {one.from_lap})" for one in apart])
            details.append(f"Bring over from other laps: {names}.")
    summary = f"Aim for {time_text(goal)} next; your best is {time_text(best)}."
    if target_s is not None:
        facts.append(Fact("the time you named", target_s, "lap"))
        details.insert(0, summary)
        summary = _reach(best, target_s, ideal.lap_s)
    return Found("goal_targets", summary, tuple(details), tuple(facts))


def _reach(best: float, target_s: float, ideal: float | None) -> str:
    gap = best - target_s
    if gap <= 0:
        return f"{time_text(target_s)} is done: your best is {-gap:.3f} s quicker."
    if ideal is not None and target_s >= ideal:
        return f"{time_text(target_s)} is {gap:.3f} s away, and your best sectors reach it."
    return f"{time_text(target_s)} is {gap:.3f} s away, more than your best sectors give."


def _positive(value: float | None) -> float | None:
    return None if value is None else abs(value)


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the least-squares line."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - mean_x) ** 2 for one in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
