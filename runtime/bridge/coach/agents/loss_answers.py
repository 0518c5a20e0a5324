"""Where time goes, and where none does, each answer on a basis that it names; pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, costliest, dangers, scorecard
from runtime.bridge.analysis.laps import parts
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.reference import NONE, Aim, References, aims
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_tools import beside_of
from runtime.bridge.coach.agents.corner_words import reasons, why_slow
from runtime.bridge.coach.agents.lap_answers import Missing, laps_of, losses, where
from runtime.bridge.coach.agents.lap_tools import LEAST_PART_S
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined, no_corner
from runtime.bridge.session.laps import Segment

TOOL: Final = "time_loss"
LEAST_KMH: Final = 0.5
LITTLE_S: Final = 0.05
"""A corner that costs less is not worth a word of advice."""


def loss(drive: Drive, topic: Topic, references: References = NONE) -> Found:
    """Where most time goes: on a lap or on all beside the best lap, else corner by corner."""
    try:
        laps = laps_of(drive, topic.laps)
    except Missing as missing:
        return Found(TOOL, str(missing), empty=True)
    if topic.ask == "improved" or topic.corners:
        own = topic.corners[:1]
        return _in_corner(drive, own[0], references) if own else _improved(drive)
    if topic.what == "count":
        return _counted(drive, laps, topic, references)
    if topic.how == "most" and laps:
        return _gained(drive, laps[0], laps[1] if len(laps) > 1 else drive.best)
    if topic.how == "least" and len(laps) > 1 and laps[0] is not laps[1]:
        return _on_lap(drive, laps[0], laps[1])
    others = [lap for lap in laps if lap is not drive.best]
    if others:
        beside = laps[1] if len(laps) > 1 and laps[1] is not others[0] else drive.best
        return _on_lap(drive, others[0], beside)
    if laps and len(drive.counted) > 1 and not (topic.laps and isinstance(topic.laps[0], int)):
        return _against_best(drive)
    return _by_corner(drive, topic, references)


def _in_corner(drive: Drive, name: str, references: References) -> Found:
    """How much a corner costs."""
    grades = {one.corner: one for one in scorecard(drive, references).corners}
    if name not in grades:
        return Found(TOOL, no_corner(grades), empty=True)
    one = grades[name]
    if one.own is None or one.delta_time_s is None or one.letter is None:
        text = f"One pass of {name} alone does not show what it costs; drive a second."
        return Found(TOOL, text, empty=True)
    seconds, aim = max(one.delta_time_s, 0.0), aims(drive, references)[name]
    facts = (Fact(f"{name}, time lost", seconds, "s", 2),)
    summary = f"{name} holds {seconds:.2f} s: {_basis(one, aim, seconds)}."
    why = why_slow(one.own, aim.target, beside_of(aim), danger=one.danger)
    return Found(TOOL, summary, tuple(why[:1]), facts)


def _on_lap(drive: Drive, lap: Segment, beside: Segment) -> Found:
    found = losses(drive, lap, beside)
    lost = [one for one in found if one.seconds >= LEAST_PART_S]
    best = "your best lap, " if beside is drive.best else ""
    other = f"{best}lap {beside.number}"
    if not lost:
        text = f"Lap {lap.number} loses nowhere {LEAST_PART_S:g} s or more to {other}."
        return Found(TOOL, text)
    first, *more = lost
    facts = tuple(
        Fact(f"{one.name}, lost on lap {lap.number}", one.seconds, "s", 2) for one in lost
    )
    summary = (
        f"On lap {lap.number} you lost most {where(first.name)}: {first.seconds:.2f} s against"
        f" {other}."
    )
    details = [f"Next come {joined([one.text for one in more[:2]])}."] if more else []
    return Found(TOOL, summary, (*_reason(drive, first.name, lap, beside), *details), facts)


def _gained(drive: Drive, lap: Segment, beside: Segment) -> Found:
    """Where a lap was faster than another."""
    if lap is beside:
        return Found(TOOL, f"Lap {lap.number} is your best lap: name another to compare it with.")
    won = [one for one in losses(drive, lap, beside)[::-1] if one.seconds <= -LEAST_PART_S]
    best = "your best lap, " if beside is drive.best else ""
    other = f"{best}lap {beside.number}"
    if not won:
        text = f"Nowhere is lap {lap.number} {LEAST_PART_S:g} s or more faster than {other}."
        return Found(TOOL, text)
    facts = tuple(Fact(f"{one.name}, won on lap {lap.number}", -one.seconds, "s", 2) for one in won)
    told = [f"{-one.seconds:.2f} s {where(one.name)}" for one in won[:4]]
    more = f" It is faster in {len(won)} parts of the lap in all." if len(won) > len(told) else ""
    comma = "," if best else ""
    summary = f"Lap {lap.number} was faster than {other}{comma} by {joined(told)}.{more}"
    gap = lap.duration_s - beside.duration_s
    whole = f"Over the whole lap it was {abs(gap):.3f} s {'slower' if gap > 0 else 'faster'}."
    return Found(TOOL, summary, (whole,), facts)


def _counted(drive: Drive, laps: Sequence[Segment], topic: Topic, references: References) -> Found:
    """In how many corners time goes; on a lap, or won on it, beside the best lap."""
    names = set(passes_of(drive))
    lap = next((one for one in laps if one is not drive.best), None)
    if lap is not None:
        found = [one for one in losses(drive, lap, drive.best) if one.name in names]
        gained = topic.how == "most"
        own = [one for one in found if (one.seconds < 0) == gained and one.seconds]
        word = "faster" if gained else "slower"
        text = f"Lap {lap.number} was {word} than your best lap in {len(own)} of {len(names)}"
        told = [f"{one.name} by {abs(one.seconds):.2f} s" for one in own]
        facts = (Fact(f"corners where lap {lap.number} was {word}", len(own)),)
        details = (f"They are {joined(told)}.",) if len(told) > 1 else ()
        return Found(TOOL, f"{text} corners.", details, facts)
    card = scorecard(drive, references)
    ranked = [one for one in costliest(card.corners) if (one.delta_time_s or 0.0) >= LITTLE_S]
    facts = (Fact("corners that cost time", len(ranked)),)
    summary = (
        f"In {len(ranked)} of {len(names)} corners your usual pass is {LITTLE_S:g} s or more"
        " behind your quickest."
    )
    told = [f"{one.corner} with {one.delta_time_s or 0.0:.2f} s" for one in ranked]
    return Found(TOOL, summary, (f"They are {joined(told)}.",) if len(told) > 1 else (), facts)


def _improved(drive: Drive) -> Found:
    """Which corner got faster in the course of the session."""
    gains: dict[str, tuple[float, float]] = {}
    for name, passes in passes_of(drive).items():
        half = len(passes) // 2
        if half:
            seconds = [one.corner_time_s for one in sorted(passes, key=lambda one: one.lap)]
            gains[name] = (median(seconds[:half]), median(seconds[-half:]))
    if not gains:
        text = "With one lap nothing shows which corner you improved; drive a second."
        return Found(TOOL, text, empty=True)
    ranked = sorted(gains, key=lambda name: gains[name][1] - gains[name][0])
    facts = tuple(
        Fact(f"{name}, second half of the laps less first", gains[name][1] - gains[name][0], "s", 2)
        for name in ranked
    )
    (first, *rest), (then, now) = ranked, gains[ranked[0]]
    if then - now < LEAST_PART_S:
        text = f"No corner got {LEAST_PART_S:g} s faster from the first half of your laps to the"
        return Found(TOOL, f"{text} second.", (), facts)
    summary = (
        f"You improved most in {first}: from {then:.2f} s in the first half of your laps to"
        f" {now:.2f} s in the second, in the middle of each."
    )
    better = [one for one in rest if gains[one][0] - gains[one][1] >= LEAST_PART_S]
    told = [f"{name} with {gains[name][0] - gains[name][1]:.2f} s" for name in better[:2]]
    return Found(TOOL, summary, (f"Next come {joined(told)}.",) if told[1:] else (), facts)


def _reason(drive: Drive, corner: str, lap: Segment, beside: Segment) -> list[str]:
    """What the loss in a corner is made of; of a straight, the exit that it begins with."""
    if corner not in passes_of(drive):
        return _exit_before(drive, corner, lap, beside)
    by_lap = {one.lap: one for one in passes_of(drive).get(corner, ())}
    own, target = by_lap.get(lap.number or 0), by_lap.get(beside.number or 0)
    if own is None or target is None:
        return []
    return why_slow(own, target, f"lap {target.lap}", danger=corner in dangers(drive))[:1]


def _exit_before(drive: Drive, name: str, lap: Segment, beside: Segment) -> list[str]:
    """How the corner before a straight was left, where that was slower."""
    begin = next((one.span.start_m for one in parts(drive) if one.span.name == name), None)
    if begin is None or not drive.corners:
        return []
    corner = min(drive.corners, key=lambda one: (begin - one.exit.distance_m) % drive.length_m).name
    by_lap = {one.lap: one.exit_speed_kmh for one in passes_of(drive)[corner]}
    own, other = by_lap.get(lap.number or 0), by_lap.get(beside.number or 0)
    if own is None or other is None or other - own < LEAST_KMH:
        return []
    speeds = f"{own:.1f} km/h on lap {lap.number}, {other:.1f} km/h on lap {beside.number}"
    return [f"It begins with the exit of {corner}: {speeds}."]


def _against_best(drive: Drive) -> Found:
    """All other laps beside the best one, part by part, on average."""
    best = drive.best
    others = [lap for lap in drive.counted if lap is not best and not lap.outlier]
    others = others or [lap for lap in drive.counted if lap is not best]
    sums: dict[str, list[float]] = {}
    for lap in others:
        for one in losses(drive, lap, best):
            sums.setdefault(one.name, []).append(one.seconds)
    means = {name: sum(values) / len(values) for name, values in sums.items()}
    ranked = sorted(
        (name for name in means if means[name] >= LEAST_PART_S), key=lambda n: -means[n]
    )
    if not ranked:
        text = f"Nowhere do your other laps lose {LEAST_PART_S:g} s or more to your best"
        return Found(TOOL, f"{text}, lap {best.number}.")
    facts = tuple(Fact(f"{name}, lost to the best lap", means[name], "s", 2) for name in ranked)
    first = ranked[0]
    laps = f"{len(others)} other laps" if len(others) > 1 else "other lap"
    summary = (
        f"Most goes {where(first)}: your {laps} take {means[first]:.2f} s longer there than your"
        f" best lap, lap {best.number}{', on average' if len(others) > 1 else ''}."
    )
    worst = max(others, key=lambda lap: dict(_pairs(drive, lap, best)).get(first, 0.0))
    details = _reason(drive, first, worst, best)
    rest = [f"{means[name]:.2f} s {where(name)}" for name in ranked[1:3]]
    details += [f"Next come {joined(rest)}."] if rest else []
    return Found(TOOL, summary, tuple(details), facts)


def _pairs(drive: Drive, lap: Segment, best: Segment) -> list[tuple[str, float]]:
    return [(one.name, one.seconds) for one in losses(drive, lap, best)]


def _by_corner(drive: Drive, topic: Topic, references: References) -> Found:
    """The usual pass of every corner beside the quickest one, or the best beside a reference."""
    card = scorecard(drive, references)
    ranked = costliest(card.corners)
    if all(one.own is None or one.letter is None for one in card.corners):
        text = (
            "One lap alone does not show where time goes; drive a second, or give a reference lap."
        )
        return Found(TOOL, text, empty=True)
    if not ranked:
        return Found(TOOL, "No corner costs you time: your usual passes are your quickest ones.")
    first, *more = ranked
    aim = aims(drive, references)[first.corner]
    seconds = first.delta_time_s or 0.0
    facts = tuple(
        Fact(f"{one.corner}, time lost", one.delta_time_s or 0.0, "s", 2) for one in ranked
    )
    summary = f"You lose most in {first.corner}: {_basis(first, aim, seconds)}."
    if seconds < LITTLE_S:
        most = f"most, {seconds:.2f} s, goes in {first.corner}"
        beside_it = "the reference lap" if aim.own is None else "your quickest passes"
        text = f"No corner costs you {LITTLE_S:g} s against {beside_it}: {most}."
        return Found(TOOL, text, (), facts)
    own, beside = first.own, beside_of(aim)
    found = reasons(own, aim.target, beside, danger=first.danger) if own is not None else []
    details = [] if own is None else why_slow(own, aim.target, beside, danger=first.danger)[:1]
    rest = [f"{one.corner} with {one.delta_time_s or 0.0:.2f} s" for one in more[:2]]
    details += [f"Next come {joined(rest)}."] if rest else []
    if (topic.should or topic.why) and found:
        details = [summary, *details[1:]]
        begin = f"Work on {first.corner} first" if topic.should else f"In {first.corner}"
        summary = f"{begin}: {found[0].advice}; {found[0].was}."
    return Found(TOOL, summary, tuple(details), facts, line=_line(first))


def _basis(one: CornerGrade, aim: Aim, seconds: float) -> str:
    if aim.own is None:
        return f"your best pass takes {seconds:.2f} s longer than the reference lap"
    lap = one.own.lap if one.own is not None else 0
    return (
        f"your usual pass, as on lap {lap}, takes {seconds:.2f} s longer than your quickest,"
        f" on lap {aim.own.lap}"
    )


def _line(one: CornerGrade) -> str:
    if one.own is None or not one.causes:
        return ""
    coasted = one.own.coast_seconds
    return (
        f"{one.corner}: coast {coasted:.1f} s"
        if coasted and one.causes[0].cause == "coast_in_corner"
        else ""
    )


def strength(drive: Drive, topic: Topic, references: References = NONE) -> Found:
    """The corner with the best score, and why it is that."""
    card = scorecard(drive, references)
    graded: Sequence[CornerGrade] = [one for one in card.corners if one.score is not None]
    if not graded:
        text = "One lap alone does not show which corner is your best; drive a second."
        return Found("corner_strength", text, empty=True)
    ranked = sorted(graded, key=lambda one: -(one.score.total if one.score else 0.0))
    if topic.what == "grade":
        return _grades(topic, ranked, aims(drive, references))
    best = ranked[0]
    aim = aims(drive, references)[best.corner]
    seconds = max(best.delta_time_s or 0.0, 0.0)
    beside = (
        "the reference lap" if aim.own is None else f"your quickest there, on lap {aim.own.lap}"
    )
    whose = "best" if aim.own is None else "usual"
    summary = (
        f"Your best corner is {best.corner}, grade {best.detail}: your {whose} pass is within"
        f" {seconds:.2f} s of {beside}."
    )
    facts = tuple(
        fact
        for one in ranked
        for fact in (
            Fact(f"{one.corner}, grade", one.detail or ""),
            Fact(f"{one.corner}, time lost", one.delta_time_s or 0.0, "s", 2),
        )
    )
    rest = [f"{one.corner} with {one.detail}" for one in ranked[1:3]]
    details = (f"Next come {joined(rest)}.",) if rest else ()
    return Found("corner_strength", summary, details, facts)


def _grades(topic: Topic, ranked: Sequence[CornerGrade], compared: Mapping[str, Aim]) -> Found:
    """The grades of the corners that are named, else of all, the best first."""
    facts = tuple(Fact(f"{one.corner}, grade", one.detail or "") for one in ranked)
    if not topic.corners:
        told = [f"{one.corner} {one.detail}" for one in ranked]
        return Found("corner_strength", f"Your corners by grade: {joined(told)}.", (), facts)
    found = [one for one in ranked if one.corner in topic.corners]
    if not found:
        text = (
            no_corner(sorted(compared)) if topic.corners[0] not in compared else "It has no grade."
        )
        return Found("corner_strength", text, empty=True)
    told = []
    for one in found:
        aim, seconds = compared[one.corner], max(one.delta_time_s or 0.0, 0.0)
        whose = "best" if aim.own is None else "usual"
        beside = beside_of(aim).rstrip(",")
        told.append(
            f"{one.corner} has grade {one.detail}: your {whose} pass is {seconds:.2f} s slower"
            f" than {beside}."
        )
    return Found("corner_strength", " ".join(told), (), facts)
