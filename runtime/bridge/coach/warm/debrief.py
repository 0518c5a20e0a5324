"""What is said to a driver behind a session: in plain words, from the numbers alone; pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.grading import GOOD, CornerGrade, calm
from runtime.bridge.analysis.highlights import Moment
from runtime.bridge.coach.warm.findings import Finding, tellable
from runtime.bridge.coach.warm.findings import scare as scare_of
from runtime.bridge.coach.warm.lessons import Lesson
from runtime.bridge.coach.warm.pedagogy import ADVICE, FITTING, mark_of, tip_of
from runtime.bridge.coach.warm.problems import goal, paragraph
from runtime.bridge.coach.warm.review import Review, best_corner, points
from runtime.bridge.cues.model import Emotion
from runtime.bridge.session.ranking import time_text

PROBLEMS: Final = 2
STEADY_S: Final = 0.08
"""A usual pass that is so near to the best one is steady."""
CLOSE_SHARE: Final = 0.01
"""Laps that differ by less of the lap time are even."""
SAME_S: Final = 0.05
"""Laps that differ by less are alike."""
WORTH_S: Final = 0.05
LEAST_M: Final = 200.0
"""Less of a way tells nothing of anybody's driving."""
UNPLACED: Final = (
    "No positions were recorded: corners are placed by the distance driven, some metres off."
)
PRAISED: Final[Mapping[str, str]] = {
    "improved_vs_first_pass": "You found something: {}",
    "clean_trail_brake": "A clean brake release: {}",
}
"""Moments that are worth praise."""


class Story(NamedTuple):
    """A debrief in its parts."""

    opening: str
    """What was good, in a sentence or two."""
    problems: tuple[str, ...]
    """At most two, with their numbers."""
    focus: str
    """The one thing to work on."""
    reading: str
    """Where the course teaches it."""
    items: tuple[str, ...]
    """The focus in a few words, at most three."""
    emotion: Emotion
    corners: tuple[str, ...] = ()
    """The corner of each problem; empty for one that is about none."""
    focus_corner: str = ""
    """The corner that the focus is about; empty where it is about none."""

    @property
    def text(self) -> str:
        """The whole of it in Markdown."""
        return "\n\n".join(part for part in self.parts if part)

    @property
    def parts(self) -> tuple[str, ...]:
        """Its paragraphs in their order."""
        return (self.opening, *self.problems, self.focus, self.reading)


def debrief(review: Review) -> Story:
    """The debrief of a session without any model."""
    scare = scare_of(review.moments)
    found = tellable(review.found, review.moments)[: PROBLEMS if scare is None else PROBLEMS - 1]
    before = (None, *found)
    alone = len(review.laps.laps) < 2
    told = [
        paragraph(one, review.corner(one.corner), before[at], alone=alone)
        for at, one in enumerate(found)
    ]
    corners = [one.corner for one in found]
    if scare is not None:
        told, corners = [_scared(scare), *told], [scare.corner or "", *corners]
    praised = _praised(review)
    return Story(
        opening=_opening(review, praised),
        problems=tuple(told[:PROBLEMS]),
        focus=_focus(review, found, scare),
        reading=reading(_lesson(review, found)),
        items=_items(review, found),
        emotion=_emotion(review, scare),
        corners=tuple(corners[:PROBLEMS]),
        focus_corner=found[0].corner if found else "",
    )


def _lesson(review: Review, found: Sequence[Finding]) -> Lesson:
    """What to read about the first of them."""
    taught = (one for one in review.taught if found and one.corner == found[0].corner)
    return next((one.lesson for one in taught), review.lesson)


def reading(lesson: Lesson) -> str:
    """Where to read on."""
    title = f"[{lesson.title}]({lesson.url})" if lesson.url else f"*{lesson.title}*"
    return f"To read before you go out again: {title}."


def _opening(review: Review, praised: CornerGrade | None) -> str:
    said = [_driven(review)] if review.partial else [_best_lap(review), _even(review)]
    if praised is not None:
        said.append(_praise(praised))
    elif moment := _good_moment(review):
        said.append(moment)
    if not review.placed and review.corners:
        said.append(UNPLACED)
    return " ".join(one for one in said if one)


def _driven(review: Review) -> str:
    """What there is instead of a complete lap."""
    metres, seconds = review.stats.distance_m, review.stats.session_duration_s
    if metres is None:
        return f"{seconds:.0f} s were recorded, and nothing in them tells how far the car went."
    if metres < LEAST_M:
        return (
            "Good: the logger writes. There is too little of it to judge any driving yet: "
            f"{seconds:.1f} s and {metres:,.0f} m."
        )
    return (
        f"A good start: no complete lap yet, but {metres:,.0f} m in {seconds:,.0f} s to learn from."
    )


def _best_lap(review: Review) -> str:
    best, before = review.laps, review.best_before_s
    time, lap, count = time_text(best.best_lap_s), best.best_lap_number, best.lap_count
    if before is not None and before - best.best_lap_s >= 0.001:
        gained = before - best.best_lap_s
        return f"A new best for you here: {time} on lap {lap}, {gained:.2f} s faster than before."
    if count == 1:
        return f"A good start: one complete lap in {time}."
    if _spread(review) < SAME_S:
        return f"Good work: {count} laps that are all alike, the best one {time}."
    return f"Good work: your best of {count} laps was lap {lap} with {time}."


def _spread(review: Review) -> float:
    times = [one.lap_time_s for one in review.laps.laps]
    return max(times) - min(times)


def _even(review: Review) -> str:
    count, spread = len(review.laps.laps), _spread(review)
    if count < 3 or not SAME_S <= spread <= CLOSE_SHARE * review.laps.best_lap_s:
        return ""
    return f"All {count} laps lie within {spread:.2f} s, which is a base to build on."


def _praised(review: Review) -> CornerGrade | None:
    """The best corner by grade, if it is good, nothing else is said about it and it shows no fault
    that somebody would be asked to change."""
    if review.card is None:
        return None
    blamed = {one.corner for one in review.found} | {review.next_focus}
    blamed |= {one.corner for one in review.moments if one.severity in ("high", "medium")}
    best = best_corner(review.card.corners)
    if best is None or best.corner in blamed or points(best) < GOOD:
        return None
    return None if calm(best.causes) or (best.causes and not best.danger) else best


def _praise(one: CornerGrade) -> str:
    away = one.delta_time_s
    if one.basis == "reference_file":
        if away is not None and away <= -0.005:
            return f"{one.corner} is your corner: {-away:.2f} s faster than the reference."
    elif away is not None and 0.005 < away <= STEADY_S and one.n_passes > 2:
        return f"{one.corner} is steady: your usual pass is {away:.2f} s off your best one."
    return f"{one.corner} went best of all: keep it exactly as it is."


def _good_moment(review: Review) -> str:
    """The first good moment of a corner that is no problem."""
    blamed = {one.corner for one in review.found}
    for one in review.moments:
        if one.category in PRAISED and one.corner and one.corner not in blamed:
            seed = f"{one.narrative_seed[:1].lower()}{one.narrative_seed[1:]}"
            return PRAISED[one.category].format(seed)
    return ""


def _focus(review: Review, found: Sequence[Finding], scare: Moment | None) -> str:
    if not found and scare is not None:
        where = f" and take {scare.corner} a step slower" if scare.corner else ""
        return f"One thing for the next run: build up again over two laps{where}."
    if not found:
        return _no_focus(review)
    one = found[0]
    mark = mark_of(one, goal(one))
    where = f"at {one.corner}" if one.corner else "all around the lap"
    said = [f"One thing for the next run: {where}, {tip_of(one)}."]
    tip = _tip(review, one)
    if tip:
        said.append(f'The notes on this corner say: "{tip}"')
    if mark:
        said.append(f"You will know that it works when you {mark}.")
    return " ".join(said)


def _tip(review: Review, one: Finding) -> str:
    """What the circuit's file notes on the corner, where that is about the same thing."""
    corner = review.corner(one.corner)
    tip = corner.coaching_tip.strip() if corner is not None else ""
    wanted, opposed = FITTING[one.cause]
    fits = re.search(wanted, tip, re.IGNORECASE) and not re.search(opposed, tip, re.IGNORECASE)
    return tip if fits else ""


def _no_focus(review: Review) -> str:
    if review.partial:
        return "One thing for the next run: drive two whole laps, so that they can be compared."
    if len(review.laps.laps) < 2:
        return (
            "One thing for the next run: drive three more laps at the same pace. No corner of this "
            "lap stands out by itself, and other laps show where your time is."
        )
    if review.card is None or review.card.letter is None:
        return (
            "One thing for the next run: bring the laps together. From the best one to the slowest "
            f"it is {_spread(review):.2f} s, and markers for braking and turning in make that less."
        )
    gain = review.ideal.sectors.gain_s
    if gain is not None and gain >= WORTH_S:
        return (
            "One thing for the next run: put the pieces together. Your best sectors in one lap "
            f"are worth {gain:.2f} s{_best_elsewhere(review)}."
        )
    return (
        "One thing for the next run: repeat it. There is little left in any single corner, so now "
        "it is about rhythm."
    )


def _best_elsewhere(review: Review) -> str:
    best = review.laps.best_lap_number
    other = [one for one in review.ideal.sectors.parts if one.from_lap != best and one.from_lap]
    if not other:
        return ""
    return f", and your best {other[0].name} was on lap {other[0].from_lap}"


def _items(review: Review, found: Sequence[Finding]) -> tuple[str, ...]:
    items = [f"{one.corner or 'Everywhere'}: {ADVICE[one.cause].item}" for one in found]
    if not items:
        few = len(review.laps.laps) < 2
        items = ["more laps to compare" if few else "the same lap again"]
    return tuple(items)


def _scared(one: Moment) -> str:
    where = f" on lap {one.lap}" if one.lap else ""
    seed = f"{one.narrative_seed[:1].lower()}{one.narrative_seed[1:]}"
    return f"First the moment{where}: {seed} Look at it once on the trace, then leave it behind."


def _emotion(review: Review, scare: Moment | None) -> Emotion:
    if scare is not None:
        return "concerned"
    before, best = review.best_before_s, review.laps.best_lap_s
    if before is not None and best < before:
        return "proud"
    total = review.card.total if review.card is not None else None
    if total is not None and total < 0.7:
        return "serious"
    proud = total is not None and total >= 0.95 and not review.found
    return "proud" if proud else "encouraging"
