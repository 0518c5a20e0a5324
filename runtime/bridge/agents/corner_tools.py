"""What a session says about its corners; pure functions of a drive."""

from collections.abc import Sequence
from statistics import median

from runtime.bridge.agents.values import Fact, Found
from runtime.bridge.agents.words import joined, known
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, Scorecard, scorecard, weakest
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.passes_quality import consistency
from runtime.bridge.analysis.reference import NONE, References


def corner_history(drive: Drive, references: References, name: str | None) -> Found:
    """How a corner was taken: best pass, usual pass, and what the difference is made of.

    Without a *name*, the corner that costs most.
    """
    card = scorecard(drive, references)
    grades = {one.corner: one for one in card.corners}
    if name is None:
        costly = weakest(card.corners)
        name = costly[0].corner if costly else next(iter(grades), None)
    passes = passes_of(drive).get(name or "", ())
    if name is None or name not in grades or not passes:
        there = ", ".join(grades) or "none"
        what = f"{name} was not driven whole" if name in grades else "There is no such corner here"
        return Found("corner_history", f"{what}; known are {there}.", empty=True)
    quickest = min(passes, key=lambda one: one.corner_time_s)
    grade = grades[name]
    return Found(
        "corner_history",
        _corner_summary(name, passes, quickest),
        tuple(_corner_details(grade, quickest)),
        (*_pass_facts(f"{name}, best pass", quickest), *_grade_facts(grade)),
        line=_line(grade),
    )


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


def _corner_summary(name: str, passes: Sequence[Pass], quickest: Pass) -> str:
    times = [one.corner_time_s for one in passes]
    best = f"{name} took {quickest.corner_time_s:.2f} s at best, on lap {quickest.lap}"
    if len(times) == 1:
        return f"{best}, its only pass."
    return f"{best}; {median(times):.2f} s is the middle of {len(times)} passes."


def _corner_details(grade: CornerGrade, quickest: Pass) -> list[str]:
    details = []
    speeds = [
        f"{value:.0f} km/h {where}"
        for value, where in (
            (quickest.entry_speed_kmh, "at the entry"),
            (quickest.min_speed_kmh, "at the slowest point"),
            (quickest.exit_speed_kmh, "at the exit"),
        )
        if value is not None
    ]
    if speeds:
        details.append(f"That pass had {joined(speeds)}.")
    if grade.causes:
        details.append(grade.phrase)
    elif grade.letter == "A":
        details.append("Your usual pass earns an A: leave it as it is.")
    elif grade.letter is not None:
        details.append(f"Your usual pass earns {_article(grade.letter)} {grade.letter}.")
    return details


def reference_comparison(drive: Drive, references: References = NONE) -> Found:
    """Every corner beside what it is compared with, and where most is to be found."""
    card = scorecard(drive, references)
    costly = weakest(card.corners)
    facts = [Fact("best lap", card.best_lap_s, "lap")]
    if card.reference_lap_s is not None:
        facts.append(Fact("reference lap", card.reference_lap_s, "lap"))
        gap = card.best_lap_s - card.reference_lap_s
        facts.append(Fact("gap to the reference", gap, "s", 3))
    for one in card.corners:
        facts += _grade_facts(one)
    details = [f"{one.phrase}" for one in costly[:2] if one.causes]
    good = [one for one in card.corners if one.letter == "A"]
    if good:
        top = max(good, key=lambda one: one.score.total if one.score else 0.0)
        details.append(f"Keep {top.corner} as it is: it earns an A.")
    return Found("reference_comparison", _against(card), tuple(details), tuple(facts))


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
    ranked = sorted(found.per_corner_std.items(), key=lambda pair: -pair[1])
    facts = [
        Fact("lap time, standard deviation", found.lap_time_std, "s", 3),
        Fact("lap time, slowest less fastest", found.lap_time_spread, "s", 3),
        *(Fact(f"{name}, standard deviation", value, "s", 3) for name, value in ranked),
    ]
    summary = (
        f"Your {len(drive.counted)} laps lie within {found.lap_time_spread:.2f} s of each other,"
        f" with a standard deviation of {found.lap_time_std:.2f} s."
    )
    details = []
    if ranked and ranked[0][1] > 0:
        name, value = ranked[0]
        details.append(f"{name} varies most, by {value:.2f} s from pass to pass.")
        steady, least = ranked[-1]
        if steady != name:
            details.append(f"{steady} is the steadiest, within {least:.2f} s.")
    return Found("corner_variance", summary, tuple(details), tuple(facts))


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
        *known(f"{label}, on no pedal", one.nothing_time_s, "s", digits=2),
    ]


def _grade_facts(one: CornerGrade) -> list[Fact]:
    if one.letter is None:
        return []
    return [
        Fact(f"{one.corner}, grade", one.detail or one.letter),
        *known(f"{one.corner}, time against the reference", one.delta_time_s, "s", digits=2),
        *known(f"{one.corner}, speed at the apex against it", one.apex_delta_kmh, "km/h"),
        *known(f"{one.corner}, speed at the exit against it", one.exit_delta_kmh, "km/h"),
    ]


def _article(letter: str) -> str:
    return "an" if letter[:1] in "AEF" else "a"
