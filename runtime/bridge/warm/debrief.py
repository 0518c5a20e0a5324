"""What is said to a driver behind a session: in plain words, from the numbers alone; pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.attribution import Cause
from runtime.bridge.analysis.grading import CornerGrade
from runtime.bridge.analysis.moments import Moment
from runtime.bridge.coach.values import Emotion
from runtime.bridge.telemetry.ranking import time_text
from runtime.bridge.warm.lessons import Lesson
from runtime.bridge.warm.pedagogy import ADVICE
from runtime.bridge.warm.review import Review, best_corner

PROBLEMS: Final = 2
GOOD: Final = 0.90
"""A corner with so many points is worth praise."""
STEADY_S: Final = 0.08
"""A usual pass that is so near to the best one is steady."""
CLOSE_SHARE: Final = 0.01
"""Laps that differ by less of the lap time are even."""
WORTH_SHARE: Final = 0.3
"""A second cause is told when it costs so much of the first one's time."""
OFF: Final = frozenset({"Spin", "Off the line", "Standing in a lap"})


class Story(NamedTuple):
    """A debrief in its parts."""

    opening: str
    """What was good, in a sentence or two."""
    problems: tuple[str, ...]
    """At most two, with their numbers."""
    focus: str
    """The one thing to work on."""
    reading: str
    """Where the course teaches it; empty where nothing is to be learned."""
    items: tuple[str, ...]
    """The focus in a few words, at most three."""
    emotion: Emotion

    @property
    def text(self) -> str:
        """The whole of it in Markdown."""
        parts = (self.opening, *self.problems, self.focus, self.reading)
        return "\n\n".join(part for part in parts if part)


def debrief(review: Review) -> Story:
    """The debrief of a session without any model."""
    costly = review.costly[:PROBLEMS]
    scare = _scare(review.moments)
    problems = [_problem(review, one, at) for at, one in enumerate(costly)]
    if scare is not None:
        problems = [_scared(scare), *problems][:PROBLEMS]
    return Story(
        opening=_opening(review),
        problems=tuple(problems),
        focus=_focus(review, costly),
        reading=_reading(review),
        items=_items(review, costly),
        emotion=_emotion(review, scare),
    )


def reading(lesson: Lesson) -> str:
    """Where to read on."""
    title = f"[{lesson.title}]({lesson.url})" if lesson.url else f"*{lesson.title}*"
    return f"To read before you go out again: {title}."


def _opening(review: Review) -> str:
    best = review.laps.best
    time = time_text(best.duration_s)
    if review.partial:
        return "There is no complete lap here yet, but enough driving to learn from."
    said = [_best_lap(review, time, best.number or 0)]
    even = _even(review)
    if even:
        said.append(even)
    card = review.card
    praised = best_corner(card) if card is not None else None
    told = {one.corner for one in review.costly[:PROBLEMS]}
    if praised is not None and praised.corner not in told and _points(praised) >= GOOD:
        said.append(_praise(praised))
    return " ".join(said)


def _points(one: CornerGrade) -> float:
    return one.score.total if one.score is not None else 0.0


def _best_lap(review: Review, time: str, lap: int) -> str:
    before = review.best_before_s
    count = len(review.laps.laps)
    if before is not None and before - review.laps.best.duration_s >= 0.001:
        gained = before - review.laps.best.duration_s
        return f"A new best for you here: {time} on lap {lap}, {gained:.2f} s faster than before."
    if count == 1:
        return f"One clean lap is in the book: {time}."
    if before is not None:
        return f"Good work over {count} laps: the best one was lap {lap} with {time}."
    return f"Good work: your best of {count} laps was lap {lap} with {time}."


def _even(review: Review) -> str:
    times = [one.lap.duration_s for one in review.laps.laps]
    spread = max(times) - min(times)
    if len(times) < 3 or spread > CLOSE_SHARE * min(times):
        return ""
    return f"All {len(times)} laps lie {spread:.1f} s apart, which is a base to build on."


def _praise(one: CornerGrade) -> str:
    if one.basis == "reference_file" and one.delta_time_s is not None and one.delta_time_s < 0:
        return f"{one.corner} is your corner: {-one.delta_time_s:.2f} s faster than the reference."
    away = one.delta_time_s
    if away is not None and 0.005 < away <= STEADY_S and one.basis == "session_best":
        return (
            f"{one.corner} is in your hands: pass after pass it comes out the same, only "
            f"{away:.2f} s off your best."
        )
    return f"{one.corner} went best of all: keep it exactly as it is."


def _problem(review: Review, one: CornerGrade, at: int) -> str:
    loss = one.delta_time_s or 0.0
    if one.basis == "reference_file":
        against = "against the reference, on your best pass"
    else:
        against = "in a usual pass against your best one"
    name = _named(review, one.corner)
    first = " is worth the work first" if at == 0 else " comes next"
    lead = f"{name}{first}: {loss:.2f} s lost {against}."
    first, *second = (cause.detail for cause in _causes(one))
    return " ".join([lead, _what(first), *(f"And {detail}." for detail in second)])


def _causes(one: CornerGrade) -> list[Cause]:
    """The largest, and a second one of weight that is not the same in other words."""
    first, *others = one.causes
    idle = {"coast_in_corner", "nothing_time"}
    second = [
        cause
        for cause in others
        if cause.seconds >= WORTH_SHARE * first.seconds and {first.cause, cause.cause} != idle
    ]
    return [first, *second[:1]]


def _what(details: str) -> str:
    return f"{details[:1].upper()}{details[1:]}."


def _named(review: Review, name: str) -> str:
    """A corner with the name that drivers use, in bold."""
    corner = review.corner(name)
    nick = corner.nicknames[0] if corner is not None and corner.nicknames else ""
    return f"**{name}** ({nick})" if nick else f"**{name}**"


def _focus(review: Review, costly: Sequence[CornerGrade]) -> str:
    if not costly:
        return _no_focus(review)
    one = costly[0]
    advice = ADVICE[one.causes[0].cause]
    corner = review.corner(one.corner)
    said = [f"One thing for the next run: at {one.corner}, {advice.tip}."]
    if corner is not None and corner.coaching_tip:
        said.append(f"Local knowledge: {corner.coaching_tip[:1].lower()}{corner.coaching_tip[1:]}")
    said.append(f"You will know that it works when you {advice.mark.format(_goal(one))}.")
    return " ".join(said)


def _goal(one: CornerGrade) -> str:
    """The number that the mark of the largest cause asks for."""
    cause, own = one.causes[0].cause, one.own
    if own is None:
        return "a little more"
    if cause == "low_exit_speed" and own.exit_speed_kmh and one.exit_delta_kmh:
        return _instead(own.exit_speed_kmh, one.exit_delta_kmh)
    if cause == "low_apex_speed" and own.apex_speed_kmh and one.apex_delta_kmh:
        return _instead(own.apex_speed_kmh, one.apex_delta_kmh)
    return "a little"


def _instead(own_kmh: float, delta_kmh: float) -> str:
    return f"{own_kmh - delta_kmh:.0f} km/h instead of {own_kmh:.0f} km/h"


def _no_focus(review: Review) -> str:
    if review.partial:
        return "One thing for the next run: drive two whole laps, so that they can be compared."
    if len(review.laps.laps) < 2 and (review.card is None or review.card.letter is None):
        return (
            "One thing for the next run: drive three more laps at the same pace. A second pass of "
            "each corner is what shows where your time is."
        )
    gain = review.ideal.sectors.gain_s
    if gain is not None and gain >= 0.05:
        part = _best_elsewhere(review)
        return (
            "One thing for the next run: put the pieces together. Your best sectors in one lap are "
            f"worth {gain:.2f} s{part}."
        )
    return (
        "One thing for the next run: repeat it. There is little left in any single corner, so now "
        "it is about rhythm."
    )


def _best_elsewhere(review: Review) -> str:
    best = review.laps.best.number
    other = [one for one in review.ideal.sectors.parts if one.from_lap != best and one.from_lap]
    if not other:
        return ""
    return f", and the best {other[0].part.name} was on lap {other[0].from_lap}"


def _reading(review: Review) -> str:
    return reading(review.taught[0].lesson) if review.taught else ""


def _items(review: Review, costly: Sequence[CornerGrade]) -> tuple[str, ...]:
    words = {
        "early_brake": "brake later",
        "late_brake": "brake sooner",
        "low_apex_speed": "apex speed",
        "low_exit_speed": "exit speed",
        "early_lift": "throttle at the exit",
        "coast_in_corner": "no coasting",
        "nothing_time": "brake straight to throttle",
        "exit_understeer": "one steering movement",
    }
    items = [f"{one.corner}: {words[one.causes[0].cause]}" for one in costly]
    if not items:
        items = ["a second lap to compare" if len(review.laps.laps) < 2 else "the same lap again"]
    return tuple(items[:3])


def _scare(moments: Sequence[Moment]) -> Moment | None:
    """The worst moment of a session, where the car got away."""
    return next((one for one in moments if one.category == "incident" and one.title in OFF), None)


def _scared(one: Moment) -> str:
    where = f" on lap {one.lap}" if one.lap else ""
    seed = f"{one.narrative_seed[:1].lower()}{one.narrative_seed[1:]}"
    return f"First the moment{where}: {seed} Look at it once on the trace, then leave it behind."


def _emotion(review: Review, scare: Moment | None) -> Emotion:
    if scare is not None:
        return "concerned"
    before, best = review.best_before_s, review.laps.best.duration_s
    if before is not None and best < before:
        return "proud"
    total = review.card.total if review.card is not None else None
    if total is not None and total < 0.7:
        return "serious"
    return "proud" if total is not None and total >= 0.95 else "encouraging"
