"""What a session says about its corners; pure functions of a drive."""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.analysis.corners import consistency
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, Scorecard, costliest, scorecard
from runtime.bridge.analysis.passes import Pass, by_time, passes_of
from runtime.bridge.analysis.reference import NONE, Aim, References, aims
from runtime.bridge.coach.agents.corner_words import reasons, speeds_of, why_slow
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import known, no_corner
from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.pedagogy import tip_of
from runtime.bridge.coach.warm.problems import evidence_said

MOST: Final = 4
"""Corners that are told of in one answer."""
LEAST_S: Final = 0.005
"""A smaller difference is none that could be shown."""


def corner_history(
    drive: Drive,
    references: References,
    name: str | None,
    found: Sequence[Finding] = (),
    *,
    advise: bool = False,
) -> Found:
    """How a corner was taken: one pass beside the one that measures it, and what lies between.

    Against a reference file that is the best pass, else the usual pass beside the quickest one.
    Without a *name*, the corner that costs most. With *advise* what to do comes first;
    *found* is what the session came to.
    """
    card = scorecard(drive, references)
    grades = {one.corner: one for one in card.corners}
    if name is None:
        costly = costliest(card.corners)
        name = costly[0].corner if costly else next(iter(grades), None)
    passes = passes_of(drive).get(name or "", ())
    if name is None or name not in grades or not passes:
        what = no_corner(grades)
        if name in grades:
            what = f"{name} was not driven whole; known are {', '.join(grades)}."
        return Found("corner_history", what, empty=True)
    quickest = by_time(passes)[0]
    grade, aim = grades[name], aims(drive, references)[name]
    summary = _corner_summary(name, grade, quickest, aim, len(passes))
    details = _corner_details(grade, quickest, aim)
    if advise and grade.own is not None:
        win = next((one for one in found if one.corner == name), None)
        summary, details = _advised(name, grade, aim, summary, win)
    return Found(
        "corner_history",
        summary,
        tuple(details),
        (*_pass_facts(f"{name}, best pass", quickest), *_grade_facts(grade)),
        line=_line(grade),
    )


def side_by_side(drive: Drive, references: References, names: tuple[str, ...]) -> Found:
    """Several corners, each in one sentence."""
    found = [corner_history(drive, references, name) for name in names[:MOST]]
    facts = tuple(fact for one in found for fact in one.facts)
    told = " ".join(dict.fromkeys(one.summary for one in found))
    return Found("corner_history", told, (), facts, empty=all(one.empty for one in found))


def _line(grade: CornerGrade) -> str:
    """The corner on one line, with what cost most; empty where nothing did."""
    own = grade.own
    if own is None or not grade.causes:
        return ""
    if grade.causes[0].cause == "coast_in_corner" and own.coast_seconds:
        return f"{own.corner}: coast {own.coast_seconds:.1f} s"
    parts = [
        f"{word} {value:.0f} km/h"
        for word, value in (
            ("entry", own.entry_speed_kmh),
            ("apex", own.apex_speed_kmh),
            ("exit", own.exit_speed_kmh),
        )
        if value is not None
    ]
    return f"{own.corner}: {', '.join(parts)}" if parts else ""


def _corner_summary(name: str, grade: CornerGrade, quickest: Pass, aim: Aim, passes: int) -> str:
    best = f"{name} took {quickest.corner_time_s:.2f} s at best, on lap {quickest.lap}"
    own = grade.own
    if aim.basis == "reference_file" and own is not None:
        gap = own.corner_time_s - aim.target.corner_time_s
        word = "longer" if gap >= 0 else "less"
        pass_ = f"{name} took {own.corner_time_s:.2f} s on your best pass, lap {own.lap}"
        return f"{pass_}, {abs(gap):.2f} s {word} than the reference lap."
    if passes == 1:
        return f"{best}, its only pass."
    if own is None or own is quickest:
        return f"{best}; that is your usual pass, too."
    gap = own.corner_time_s - quickest.corner_time_s
    if gap < LEAST_S:
        return f"{best}; your usual pass takes no longer."
    return (
        f"{best}; your usual pass, as on lap {own.lap}, takes {own.corner_time_s:.2f} s,"
        f" {gap:.2f} s longer."
    )


def _corner_details(grade: CornerGrade, quickest: Pass, aim: Aim) -> list[str]:
    """Why it took longer, else that it need not change; on the basis of the summary."""
    own = grade.own
    if grade.letter is None or own is None:
        return speeds_of(quickest)
    if why := why_slow(own, aim.target, beside_of(aim), danger=grade.danger):
        return why
    passed = "best" if aim.basis == "reference_file" else "usual"
    if grade.letter == "A":
        return [f"Your {passed} pass earns an A: leave it as it is."]
    if own is quickest:
        return speeds_of(quickest)
    return [f"Your {passed} pass earns {_article(grade.letter)} {grade.letter}."]


def beside_of(aim: Aim) -> str:
    """What a corner is compared with, in words."""
    return "the reference lap" if aim.own is None else f"your quickest pass, lap {aim.own.lap},"


def _advised(
    name: str, grade: CornerGrade, aim: Aim, summary: str, win: Finding | None
) -> tuple[str, list[str]]:
    """What to do first, and what it follows from behind it; where no pass was better, what there
    is to *win* all the same, as the debrief has it."""
    own = grade.own
    danger = grade.danger
    found = reasons(own, aim.target, beside_of(aim), danger=danger) if own is not None else []
    if not found and win is not None and not danger:
        return f"In {name} {tip_of(win)}: {evidence_said(win)}.", [summary]
    if not found:
        return f"Drive {name} as you do: nothing there costs you much.", [summary]
    return f"In {name} {found[0].advice}: {found[0].was}.", [summary]


def reference_comparison(drive: Drive, references: References = NONE) -> Found:
    """Every corner beside what it is compared with, and where most is to be found."""
    card = scorecard(drive, references)
    costly = costliest(card.corners)
    facts = [Fact("best lap", card.best_lap_s, "lap")]
    if card.reference_lap_s is not None:
        facts.append(Fact("reference lap", card.reference_lap_s, "lap"))
        gap = card.best_lap_s - card.reference_lap_s
        facts.append(Fact("gap to the reference", gap, "s", 3))
    for one in card.corners:
        facts += _grade_facts(one)
    compared = aims(drive, references)
    details = [line for one in costly[:2] if (line := _in_short(one, compared[one.corner]))]
    good = [one for one in card.corners if one.letter == "A"]
    if good:
        top = max(good, key=lambda one: one.score.total if one.score else 0.0)
        details.append(f"Keep {top.corner} as it is: it earns an A.")
    return Found("reference_comparison", _against(card), tuple(details), tuple(facts))


def _in_short(one: CornerGrade, aim: Aim) -> str:
    """A corner and the first reason of its loss."""
    if one.own is None:
        return ""
    found = reasons(one.own, aim.target, beside_of(aim), danger=one.danger)
    return f"{one.corner}: {found[0].advice}; {found[0].was}." if found else ""


def _against(card: Scorecard) -> str:
    if card.reference_lap_s is None and card.basis == "session_best" and card.total is not None:
        gap = sum(max(one.delta_time_s or 0.0, 0.0) for one in card.corners)
        return (
            "Without a reference lap for this track your own best passes are the measure:"
            f" your usual passes together are {gap:.2f} s slower."
        )
    return card.summary


def corner_variance(drive: Drive) -> Found:
    """How repeatable laps and corners are."""
    found = consistency(drive)
    if len(drive.counted) < 2:
        return Found("corner_variance", "One lap cannot be repeatable; drive a second.", empty=True)
    times = {
        name: [one.corner_time_s for one in passes]
        for name, passes in passes_of(drive).items()
        if len(passes) > 1
    }
    ranked = sorted(found.per_corner_std.items(), key=lambda pair: -pair[1])
    ranked = [pair for pair in ranked if pair[0] in times]
    facts = [
        Fact("lap time, standard deviation", found.lap_time_std, "s", 3),
        Fact("lap time, slowest less fastest", found.lap_time_spread, "s", 3),
        *(Fact(f"{name}, standard deviation", value, "s", 3) for name, value in ranked),
        *(Fact(f"{name}, slowest less fastest", _range(own), "s") for name, own in times.items()),
    ]
    summary = (
        f"Your {len(drive.counted)} laps lie within {found.lap_time_spread:.2f} s of each other,"
        f" with a standard deviation of {found.lap_time_std:.2f} s."
    )
    details = []
    if ranked and ranked[0][1] > 0:
        name, most = ranked[0]
        told = _apart(times[name])
        details.append(f"{name} varies most, with a standard deviation of {most:.2f} s: {told}.")
        steady = ranked[-1][0]
        if steady != name:
            details.append(f"{steady} is the steadiest: {_apart(times[steady])}.")
    return Found("corner_variance", summary, tuple(details), tuple(facts))


def _range(seconds: Sequence[float]) -> float:
    return max(seconds) - min(seconds)


def _apart(seconds: Sequence[float]) -> str:
    low, high = min(seconds), max(seconds)
    return f"its {len(seconds)} passes took {low:.2f} to {high:.2f} s, {high - low:.2f} s apart"


def _pass_facts(label: str, one: Pass) -> list[Fact]:
    return [
        Fact(f"{label}, time", one.corner_time_s, "s", 2),
        Fact(f"{label}, lap", one.lap),
        *known(f"{label}, entry speed", one.entry_speed_kmh, "km/h"),
        *known(f"{label}, lowest speed", one.min_speed_kmh, "km/h"),
        *known(f"{label}, exit speed", one.exit_speed_kmh, "km/h"),
        *known(f"{label}, highest brake pressure", one.peak_brake_bar, "bar"),
        *known(f"{label}, braking before the entry", one.brake_point_m, "m", digits=0),
        *known(f"{label}, lateral acceleration", one.max_g_lat, "g", digits=2),
        *known(f"{label}, coasting", one.coast_seconds, "s", digits=1),
    ]


def _grade_facts(one: CornerGrade) -> list[Fact]:
    if one.letter is None or one.own is None:
        return []
    return [
        Fact(f"{one.corner}, grade", one.detail or one.letter),
        *known(f"{one.corner}, time against the reference", one.delta_time_s, "s", digits=2),
        *known(f"{one.corner}, speed at the apex against it", one.apex_delta_kmh, "km/h"),
        *known(f"{one.corner}, speed at the exit against it", one.exit_delta_kmh, "km/h"),
        *known(f"{one.corner}, graded pass, coasting", one.own.coast_seconds, "s", digits=1),
    ]


def _article(letter: str) -> str:
    return "an" if letter[:1] in "AEF" else "a"
