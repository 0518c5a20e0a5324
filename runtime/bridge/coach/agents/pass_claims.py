"""Says of what a driver holds to be so of a corner whether it is; pure."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, scorecard
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.reference import References
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_judged import usuals
from runtime.bridge.coach.agents.corner_said import quickest_of
from runtime.bridge.coach.agents.lap_answers import laps_of
from runtime.bridge.coach.agents.measures import Measure, measure_of, not_recorded
from runtime.bridge.coach.agents.pass_habits import HABITS, TOOL, UNKNOWN, Check, read, verdict
from runtime.bridge.coach.agents.values import Fact, Found
from runtime.bridge.session.stats import deviation

SAME_M: Final = 3.0


def agrees(value: float, claimed: float, digits: int) -> bool:
    """Whether a number is the one that is said, rounded or cut off at its last printed digit."""
    unit = 10.0**-digits
    cut = int(value / unit + 1e-6) * unit
    return abs(value - claimed) <= unit / 2 + 1e-9 or abs(cut - claimed) < unit * 1e-6


def holds(value: float, topic: Topic) -> bool:
    """Whether a number lies where the driver has it."""
    claimed = topic.value or 0.0
    if topic.how == "under":
        return value < claimed
    if topic.how == "reach":
        return value >= claimed
    return value > claimed if topic.how == "over" else agrees(value, claimed, topic.digits)


def _measured(drive: Drive, topic: Topic, _: References) -> Found:
    """A number of a corner: in the middle of its passes, or on the lap that is named."""
    name = topic.corners[0]
    what, spot = (*topic.spot.split(), "")[:2]
    asked = measure_of(what, spot)
    if bool(np.isnan(drive.series[asked.channel]).all()):
        return Found(TOOL, not_recorded(asked.channel), empty=True)
    values = read(drive, asked, name)
    laps = laps_of(drive, topic.laps[:1])
    own = [values[lap.number or 0] for lap in laps if lap.number in values] or list(values.values())
    if not own:
        return Found(TOOL, asked.none.format(corner=name) or UNKNOWN.format(name), empty=True)
    middle, low, high = median(own), min(own), max(own)
    whose = f"on lap {laps[0].number}" if laps else f"in the middle of {len(own)} passes"
    so = holds(middle, topic)
    if topic.every == "never":
        so = not any(holds(value, topic) for value in own)
        whose = (
            f"over {len(own)} passes, taking the {'lowest' if topic.how == 'under' else 'highest'},"
        )
        middle = low if topic.how == "under" else high
    elif topic.how == "reach":
        so, middle = holds(high, topic), high
        whose = whose if laps else f"over {len(own)} passes, taking the highest,"
    elif topic.every == "all":
        so = all(holds(value, topic) for value in own)
    text = f"{whose} {asked.sentence(middle, name)}."
    details: tuple[str, ...] = ()
    if len(own) > 1:
        details = (f"Your passes lie between {asked.text(low)} and {asked.text(high)}.",)
    facts = tuple(
        Fact(f"{name}, {asked.label}, lap {lap}", value, asked.unit, asked.digits)
        for lap, value in values.items()
    )
    return Found(TOOL, verdict(so, text), details, facts)


def _lost(drive: Drive, topic: Topic, references: References) -> Found:
    """Seconds that a corner costs."""
    name = topic.corners[0]
    grade = next(one for one in scorecard(drive, references).corners if one.corner == name)
    if grade.delta_time_s is None:
        return Found(
            TOOL, "One pass alone does not show what it costs; drive a second.", empty=True
        )
    lost = max(grade.delta_time_s, 0.0)
    beside = "the reference" if grade.basis == "reference_file" else "your quickest there"
    whose = "best" if grade.basis == "reference_file" else "usual"
    text = f"your {whose} pass of {name} takes {lost:.2f} s longer than {beside}."
    return Found(
        TOOL, verdict(holds(lost, topic), text), (), (Fact(f"{name}, time lost", lost, "s", 2),)
    )


def _beside(drive: Drive, topic: Topic, references: References) -> Found:
    """So many metres too late or too early: the usual pass beside the best, as the debrief."""
    name, asked = topic.corners[0], measure_of("brake_point", "")
    values, quickest = read(drive, asked, name), quickest_of(passes_of(drive)[name])
    compared = usuals(drive, asked, references).get(name)
    if compared is None or compared.own is None or compared.aim is None:
        if quickest.lap in values:
            return Found(TOOL, UNKNOWN.format(name), empty=True)
        text = f"No: {asked.none.format(corner=name)} on your quickest pass."
        return Found(TOOL, text, empty=True)
    late = compared.aim - compared.own
    so = agrees(late if topic.how == "late" else -late, topic.value or 0.0, topic.digits)
    gap = f"{abs(late):.0f} m {'later' if late > 0 else 'earlier'} than on {compared.beside}"
    if abs(late) < 0.5:
        gap = f"as on {compared.beside}"
    whose = f"{compared.whose[:1].lower()}{compared.whose[1:]}"
    text = f"{whose} {asked.sentence(compared.own, name)}, {gap}."
    facts = (Fact(f"{name}, braking before the entry, usual pass", compared.own, "m", 0),)
    low, high = min(values.values()), max(values.values())
    between = (f"Your passes lie between {low:.0f} m and {high:.0f} m.",)
    return Found(TOOL, verdict(so, text), between, facts)


def _than(drive: Drive, topic: Topic, _: References) -> Found:
    """Whether one usually brakes earlier, or later, than on one lap."""
    name, asked = topic.corners[0], measure_of(topic.spot, "")
    values, (lap,) = read(drive, asked, name), laps_of(drive, topic.laps[:1])
    number = lap.number or 0
    others = [value for each, value in values.items() if each != number]
    if number not in values or not others:
        return Found(TOOL, UNKNOWN.format(name), empty=True)
    middle = median(others)
    gap = middle - values[number]
    so = gap >= SAME_M if topic.how == "more" else gap <= -SAME_M
    word = "earlier" if gap > 0 else "later"
    by = f"{abs(gap):.0f} m {word} than" if abs(gap) >= 0.5 else "as"
    text = (
        f"in the middle of your other {len(others)} passes you began to brake {middle:.0f} m before"
        f" the entry of {name}, {by} on lap {number} with {values[number]:.0f} m."
    )
    return Found(TOOL, verdict(so, text), (), (Fact(f"{name}, middle", middle, "m", 0),))


def _points(one: CornerGrade) -> float:
    return one.score.total if one.score is not None else 0.0


def _among(drive: Drive, topic: Topic, references: References) -> Found:
    """What a corner is among all of them."""
    graded = [one for one in scorecard(drive, references).corners if one.score is not None]
    if topic.how in ("best", "worst") and not graded:
        text = "One lap alone does not show which corner is which; drive a second."
        return Found(TOOL, text, empty=True)
    name, of_all = topic.corners[0], _AMONG[topic.how](drive, graded)
    ordered = sorted(of_all, key=lambda each: of_all[each][0])
    if name not in of_all:
        return Found(TOOL, UNKNOWN.format(name), empty=True)
    first, rank = ordered[0], ordered.index(name) + 1
    what = _CALLED[topic.how]
    own = f"{name} is {what}, {of_all[name][1]}."
    text = own if name == first else f"{first} is {what}, {of_all[first][1]}."
    rest = () if name == first else (f"{name} comes {rank} of {len(ordered)}: {of_all[name][1]}.",)
    return Found(TOOL, verdict(name == first, text), rest, (Fact(f"{name}, rank", rank),))


Ranked = dict[str, tuple[float, str]]
_CALLED: Final = {
    "best": "your best corner by grade",
    "worst": "the corner that costs you most",
    "slow": "your slowest corner",
    "fast": "your fastest corner",
    "steady": "your steadiest corner",
    "unsteady": "the corner that varies most",
}


def _by_grade(_: Drive, graded: list[CornerGrade]) -> Ranked:
    return {one.corner: (-_points(one), f"with grade {one.detail}") for one in graded}


def _by_loss(_: Drive, graded: list[CornerGrade]) -> Ranked:
    return {
        one.corner: (-(one.delta_time_s or 0.0), f"with {max(one.delta_time_s or 0.0, 0.0):.2f} s")
        for one in graded
    }


def _by_speed(sign: float) -> Callable[[Drive, list[CornerGrade]], Ranked]:
    def ranked(drive: Drive, _: list[CornerGrade]) -> Ranked:
        found = {}
        for name, passes in passes_of(drive).items():
            speed = quickest_of(passes).min_speed_kmh if passes else None
            if speed is not None:
                told = f"with {speed:.1f} km/h at its slowest point on your quickest pass"
                found[name] = (sign * speed, told)
        return found

    return ranked


def _by_spread(sign: float) -> Callable[[Drive, list[CornerGrade]], Ranked]:
    def ranked(drive: Drive, _: list[CornerGrade]) -> Ranked:
        times = {
            name: [one.corner_time_s for one in passes]
            for name, passes in passes_of(drive).items()
            if len(passes) > 1
        }
        found = {name: deviation(own, sample=True) or 0.0 for name, own in times.items()}
        return {
            name: (sign * found[name], f"with a standard deviation of {found[name]:.2f} s")
            for name in found
        }

    return ranked


_AMONG: Final[Mapping[str, Callable[[Drive, list[CornerGrade]], Ranked]]] = {
    "best": _by_grade,
    "worst": _by_loss,
    "slow": _by_speed(1.0),
    "fast": _by_speed(-1.0),
    "steady": _by_spread(1.0),
    "unsteady": _by_spread(-1.0),
}


def _corners(drive: Drive, topic: Topic, references: References) -> Found:
    """Which of two corners costs more, or has more of something."""
    one, other = topic.corners[:2]
    if topic.spot:
        return _more(drive, measure_of(topic.spot, ""), one, other, topic.how)
    lost = {each.corner: each.delta_time_s for each in scorecard(drive, references).corners}
    own, its = lost[one], lost[other]
    if own is None or its is None:
        return Found(
            TOOL, "One lap alone does not show what a corner costs; drive a second.", empty=True
        )
    less, more = (one, other) if own <= its else (other, one)
    pair = f"{max(lost[less] or 0.0, 0.0):.2f} s against {max(lost[more] or 0.0, 0.0):.2f} s"
    text = f"{less} is better: your usual pass loses {pair} in {more}."
    facts = tuple(Fact(f"{each}, time lost", lost[each] or 0.0, "s", 2) for each in (one, other))
    if topic.how == "lose":
        text = (
            f"You lose more in {more}: {lost[more] or 0.0:.2f} s, against"
            f" {lost[less] or 0.0:.2f} s in {less}."
        )
        return Found(TOOL, text, (), facts)
    if topic.how == "which":
        return Found(TOOL, f"{text[:1].upper()}{text[1:]}", (), facts)
    return Found(TOOL, verdict((less == one) == (topic.how == "better"), text), (), facts)


def _more(drive: Drive, asked: Measure, one: str, other: str, how: str) -> Found:
    values = {name: list(read(drive, asked, name).values()) for name in (one, other)}
    if not values[one] or not values[other]:
        return Found(TOOL, not_recorded(asked.channel), empty=True)
    middle = {name: median(known) for name, known in values.items()}
    most, least = sorted(middle, key=lambda name: -middle[name])
    said = f"{asked.text(middle[most])} against {asked.text(middle[least])} in {least}"
    text = f"the {asked.label} is {said}, in the middle of your passes."
    head = f"More in {most}: "
    if how == "which" and asked.channel == "speed_ms":
        head = f"{most} is faster: "
    elif how == "which less":
        said = f"{asked.text(middle[least])} against {asked.text(middle[most])} in {most}"
        head = f"{least} is slower: "
        text = f"the {asked.label} is {said}, in the middle of your passes."
    elif how in ("more", "less") and asked.text(middle[most]) == asked.text(middle[least]):
        head, text = "", verdict(False, f"in {most} {text}")
    elif how in ("more", "less"):
        head, text = "", verdict((most == one) == (how == "more"), f"in {most} {text}")
    text = f"{head}{text}"
    facts = tuple(
        Fact(f"{name}, {asked.label}, middle", value, asked.unit, asked.digits)
        for name, value in middle.items()
    )
    return Found(TOOL, text, (), facts)


def _unknown(_: Drive, topic: Topic, __: References) -> Found:
    return Found(TOOL, UNKNOWN.format(topic.corners[0]), empty=True)


CORNERS: Final[Mapping[str, Check]] = {
    "measure": _measured,
    "lost": _lost,
    "beside": _beside,
    "than": _than,
    "among": _among,
    "corners": _corners,
    **HABITS,
    "unknown": _unknown,
}
"""By what is held to be so of a corner."""
