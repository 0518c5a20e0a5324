"""Whether a place or a speed of a corner was too much or too little; pure.

What is usually done is what the debrief calls so: the graded pass beside the one it is graded by.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, dangers, scorecard
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.analysis.reference import References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_said import (
    SAME_M,
    TOOL,
    beside_quickest,
    middle_of,
    quickest_of,
    signed,
)
from runtime.bridge.coach.agents.measures import Measure
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.coach.agents.words import joined
from runtime.bridge.coach.warm.room import rooms

_MORE: Final = {"brake_point": ("earlier", "later"), "throttle_on": ("later", "earlier")}
"""What more and less of a place is."""
LESS_KMH: Final = 1.5
"""So much less speed than on the quickest pass is too little."""
LATE: Final = "late_throttle"


class Compared(NamedTuple):
    """A number, and the one that it is held against."""

    own: float | None
    aim: float | None
    whose: str
    beside: str


def usual(drive: Drive, asked: Measure, grade: CornerGrade) -> Compared | None:
    """The usual pass beside the best one, as the debrief has them; None: there are not both."""
    if grade.own is None or not isinstance(grade.target, Pass) or grade.n_passes < 2:
        return None
    own, aim = asked.read(drive, grade.own), asked.read(drive, grade.target)
    if own is None or aim is None:
        return None
    whose = f"In your usual pass, lap {grade.own.lap},"
    return Compared(own, aim, whose, f"your quickest pass, lap {grade.target.lap}")


def usuals(drive: Drive, asked: Measure, references: References) -> dict[str, Compared]:
    """By corner, the usual pass beside the best one; without those that have not both."""
    graded = {one.corner: one for one in scorecard(drive, references).corners}
    found = {name: usual(drive, asked, graded[name]) for name in passes_of(drive)}
    return {name: one for name, one in found.items() if one is not None}


def judged(
    drive: Drive,
    topic: Topic,
    asked: Measure,
    name: str,
    values: dict[int, float | None],
    laps: Sequence[int],
    facts: tuple[Fact, ...],
    references: References,
) -> Found:
    """A number beside that of the quickest pass: of a lap, else as it usually is.

    In a danger zone nobody is told to brake later or to go faster.
    """
    if topic.what == "throttle_on" and topic.spot and not laps:
        late = _late(drive, topic, asked, name, facts, references)
        if late is not None:
            return late
    quickest = quickest_of(passes_of(drive)[name])
    compared = Compared(
        values[laps[0]] if laps else middle_of(values),
        values[quickest.lap],
        f"On lap {laps[0]}" if laps else f"In the middle of {len(values)} passes",
        f"your quickest pass, lap {quickest.lap}",
    )
    if topic.what in _MORE and not laps:
        compared = usuals(drive, asked, references).get(name, compared)
    own, aim, whose, beside = compared
    sentence = f"{whose} {signed(asked, own, name)}"
    if own is None or aim is None:
        told = beside_quickest(asked, values, laps, quickest)
        return Found(TOOL, f"{sentence}.", tuple(told), facts)
    gap = own - aim
    if asked.text(abs(gap)) == asked.text(0.0):
        if topic.what in _MORE and topic.spot:
            so = "Yes" if topic.every == "enough" else "No"
            sentence = f"{so}: {sentence[:1].lower()}{sentence[1:]}"
        return Found(TOOL, f"{sentence}, as on {beside}.", (), facts)
    more, less = _MORE.get(topic.what, ("more", "less"))
    if answer := _answer(topic, gap, danger=name in dangers(drive), of_lap=bool(laps)):
        sentence = f"{answer}{sentence[:1].lower()}{sentence[1:]}"
    text = f"{asked.text(abs(gap))} {more if gap > 0 else less} than on {beside}"
    facts = (*facts, Fact(f"{name}, {asked.label}, less quickest", gap, asked.unit, asked.digits))
    details = tuple(beside_quickest(asked, values, (), quickest))
    return Found(TOOL, f"{sentence}, {text}.", details, facts)


def _answer(topic: Topic, gap: float, *, danger: bool, of_lap: bool) -> str:
    """The verdict on a number that differs so much from that of the quickest pass."""
    if topic.what in _MORE and topic.spot:
        wrong = -gap if (topic.spot == "late") == (topic.what == "brake_point") else gap
        if danger and topic.spot == "early" and topic.what == "brake_point" and wrong >= SAME_M:
            return "No, keep that point, for a danger zone lies there: "
        fine = topic.every == "enough"
        return "Yes, by that measure: " if (wrong >= SAME_M) != fine else "No: "
    if topic.what != "speed" or of_lap:
        return ""
    short = -gap >= LESS_KMH and not danger
    if topic.every == "too":
        return "Yes: " if short else "No: "
    if danger:
        return "Yes, keep that, for a danger zone lies there: "
    return "No: " if short else "Yes: "


def _late(
    drive: Drive,
    topic: Topic,
    asked: Measure,
    name: str,
    facts: tuple[Fact, ...],
    references: References,
) -> Found | None:
    """What the debrief has of a throttle that opens late, by itself and whatever other passes did;
    None where it has nothing."""
    found = (one for one in rooms(drive, references) if (one.corner, one.cause) == (name, LATE))
    room = next(found, None)
    if room is None:
        return None
    yes = (topic.spot == "late") != (topic.every == "enough")
    text = (
        f"{'Yes' if yes else 'No'}: in your usual pass, lap {room.lap},"
        f" {signed(asked, room.now, name)}; work towards {asked.text(room.aim)}."
    )
    return Found(TOOL, text, (), facts)


def judged_all(drive: Drive, asked: Measure, spot: str, references: References) -> Found:
    """In which corners one usually brakes too early, or too late, beside the quickest pass."""
    gaps = _gaps(usuals(drive, asked, references))
    if not gaps:
        return Found(TOOL, f"No pass has a number for the {asked.label}.", empty=True)
    if spot == "late":
        gaps = {name: -gap for name, gap in gaps.items()}
    word = "later" if spot == "late" else "earlier"
    wrong = sorted((name for name in gaps if gaps[name] >= SAME_M), key=lambda one: -gaps[one])
    kept = [name for name in wrong if name in dangers(drive)] if spot != "late" else []
    facts = tuple(Fact(f"{name}, brakes {word} by", gaps[name], "m", 0) for name in gaps)
    if not wrong:
        text = f"No: in no corner do you usually brake {SAME_M:.0f} m {word} than on your quickest"
        return Found(TOOL, f"{text} pass of it.", (), facts)
    told = [f"{name} by {gaps[name]:.0f} m" for name in wrong]
    text = (
        f"Yes, in {len(wrong)} of {len(gaps)} corners, beside your quickest pass: {joined(told)}."
    )
    danger = f"Keep your point in {joined(kept)} all the same: danger zones lie there."
    return Found(TOOL, text, (danger,) if kept else (), facts)


def _gaps(compared: Mapping[str, Compared]) -> dict[str, float]:
    return {
        name: one.own - one.aim
        for name, one in compared.items()
        if one.own is not None and one.aim is not None
    }
