"""What a grader elsewhere is told of a session, and what it answers; pure.

Only sums leave the machine: no position, no name, no time of day.
"""

import json
import re
from typing import Final, NamedTuple

from runtime.bridge.coach.warm.model import Message
from runtime.bridge.coach.warm.review import Json, Review
from runtime.bridge.coach.warm.wire import BadReply

LONGEST_WHY: Final = 1000
USUAL_FOCUS: Final = "overall pace and consistency"
_OBJECT: Final = re.compile(r"\{.*\}", re.DOTALL)


class Verdict(NamedTuple):
    """A grade with its reason."""

    score: int
    """0 to 100."""
    why: str


def aggregates(review: Review) -> Json:
    """The session in sums; corners have numbers instead of names."""
    numbers = review.stats
    known: Json = {
        "laps": numbers.n_laps,
        "best_lap_s": round(review.laps.best_lap_s, 3),
        "lap_times_s": [round(one.lap_time_s, 3) for one in review.laps.laps][:40],
        "top_speed_kmh": _r(numbers.top_speed_kmh, 1),
        "max_combo_g": _r(numbers.max_combo_g, 2),
        "max_brake_bar": _r(numbers.max_brake_bar, 1),
        "ideal_gain_s": _r(review.ideal.sectors.gain_s, 3),
        "incidents": sum(one.category == "incident" for one in review.moments),
    }
    if review.card is not None:
        known["corners"] = [
            {
                "corner": at,
                "grade": one.letter,
                "score": _r(one.score.total, 3) if one.score else None,
                "time_lost_s": _r(one.delta_time_s, 3),
                "causes": [cause.cause for cause in one.causes],
            }
            for at, one in enumerate(review.card.corners, start=1)
        ]
    if review.consistency is not None:
        known["lap_time_std_s"] = round(review.consistency.lap_time_std, 3)
    return known


def score_prompt(known: Json, focus: str, level: str) -> list[Message]:
    """Ask for a grade."""
    system = (
        "You grade the driving of a track session from its figures. Answer with one JSON object "
        'and nothing else: {"score": whole number from 0 to 100, "why": "one or two sentences"}.'
    )
    user = json.dumps({"focus": focus, "driver_level": level, "session": known})
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def verdict(text: str) -> Verdict:
    """The grade in a reply, pulled into 0 to 100. Raises `BadReply`."""
    found = _OBJECT.search(text)
    try:
        given = json.loads(found.group()) if found else None
    except (ValueError, RecursionError) as error:
        raise BadReply("the grade is no JSON") from error
    score = given.get("score") if isinstance(given, dict) else None
    why = given.get("why") if isinstance(given, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float) or score != score:
        raise BadReply("the reply has no score")
    if not isinstance(why, str) or not why.strip():
        raise BadReply("the reply gives no reason")
    return Verdict(round(min(max(score, 0), 100)), why.strip()[:LONGEST_WHY])


def _r(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
