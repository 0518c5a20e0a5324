"""Sums of a session for an external grader, and its reply; pure.

Only sums leave the machine: no position, name or time of day.
"""

import json
import re
from typing import Final, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.highlights import find_highlights
from runtime.bridge.analysis.laps import compose_ideal_lap, list_lap_times, measure_distribution
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.stats import compute_stats
from runtime.bridge.coach.model import Message

LONGEST_WHY: Final = 1000
MOST_LAPS: Final = 40
USUAL_FOCUS: Final = "overall pace and consistency"
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)
Json: TypeAlias = dict[str, object]


class BadGrade(ValueError):
    """The reply holds no grade."""


class Verdict(NamedTuple):
    """A grade with its reason."""

    score: int
    """0 to 100."""
    why: str


def add_up(drive: Drive, references: References = NONE) -> Json:
    """Sum up the session; corners have numbers instead of names."""
    numbers, laps, ideal = compute_stats(drive), list_lap_times(drive), compose_ideal_lap(drive)
    sums: Json = {
        "laps": numbers.n_laps,
        "best_lap_s": round(laps.best_lap_s, 3),
        "lap_time_std_s": round(measure_distribution(drive).stddev_s, 3),
        "lap_times_s": [round(lap.lap_time_s, 3) for lap in laps.laps][:MOST_LAPS],
        "top_speed_kmh": _round(numbers.top_speed_kmh, 1),
        "max_combo_g": _round(numbers.max_combo_g, 2),
        "max_brake_bar": _round(numbers.max_brake_bar, 1),
        "ideal_gain_s": _round(ideal.sectors.gain_s, 3),
        "incidents": sum(
            highlight.category == "incident" for highlight in find_highlights(drive, references)
        ),
    }
    try:
        card = grade_session(drive, references)
    except NoCorners:
        return sums
    sums["corners"] = [
        {
            "corner": at,
            "grade": corner.letter,
            "score": _round(corner.score.total, 3) if corner.score else None,
            "time_lost_s": _round(corner.delta_time_s, 3),
            "causes": [cause.cause for cause in corner.causes],
        }
        for at, corner in enumerate(card.corners, start=1)
    ]
    return sums


def score_prompt(sums: Json, focus: str, level: str) -> list[Message]:
    """Ask for a grade."""
    system = (
        "You grade the driving of a track session from its figures. Answer with one JSON object "
        'and nothing else: {"score": whole number from 0 to 100, "why": "one or two sentences"}.'
    )
    user = json.dumps({"focus": focus, "driver_level": level, "session": sums})
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def read_grade(text: str) -> Verdict:
    """Read the grade in a reply, clamped to 0 to 100. Raises `BadGrade`."""
    match = _OBJECT.search(text)
    try:
        reply = json.loads(match.group()) if match else None
    except (ValueError, RecursionError) as error:
        raise BadGrade("the grade is no JSON") from error
    score = reply.get("score") if isinstance(reply, dict) else None
    why = reply.get("why") if isinstance(reply, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or score != score:
        raise BadGrade("the reply has no score")
    if not isinstance(why, str) or not why.strip():
        raise BadGrade("the reply gives no reason")
    return Verdict(round(min(max(score, 0), 100)), why.strip()[:LONGEST_WHY])


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
