"""What a loss of time teaches: the concept behind it, a tip for the driver, a lesson; pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.lessons import Lesson, Lessons
from runtime.bridge.coach.warm.problems import evidence_said

EVEN: Final = "look_ahead"
"""The concept of a session in which nothing else is to be found: eyes up, the same lap again."""


class Advice(NamedTuple):
    """What to do about a cause of lost time."""

    concept: str
    tip: str
    """To the driver, as the rest of a sentence behind *at Turn 3,*."""
    mark: str
    """How to see that it worked, behind *when you*; {} is the number to reach, if there is one."""
    item: str
    """The same in a few words."""


ADVICE: Final = {
    "early_brake": Advice(
        "brake_end_focus",
        "look at the place where braking should end and begin to brake a little later",
        "brake {} later and still make the apex",
        "brake later",
    ),
    "late_brake": Advice(
        "brake_end_focus",
        "start braking a little sooner, so that the car is settled when you turn in",
        "arrive with the braking done and the wheel quiet",
        "brake sooner",
    ),
    "low_apex_speed": Advice(
        "trail_brake",
        "let the brake up slowly while you turn in, instead of slowing the car twice",
        "pass the apex with {}",
        "apex speed",
    ),
    "low_exit_speed": Advice(
        "exit_speed",
        "have the car turned by the apex, so that the throttle opens once and stays open",
        "leave with {}",
        "exit speed",
    ),
    "early_lift": Advice(
        "exit_speed",
        "unwind the wheel earlier, so that the throttle can go down and stay down",
        "are on full throttle before the exit kerb",
        "throttle at the exit",
    ),
    "late_throttle": Advice(
        "exit_speed",
        "look at the exit from the apex on and squeeze the throttle as the wheel opens",
        "open the throttle {} behind the apex",
        "throttle from the apex",
    ),
    "coast_in_corner": Advice(
        "early_brake_release",
        "keep a little brake until the throttle takes over, one pedal or the other",
        "spend {} coasting",
        "one pedal or the other",
    ),
    "rolling": Advice(
        "exit_speed",
        "pick up a light throttle as soon as the car is turned, instead of rolling through",
        "spend {} coasting",
        "a light throttle instead of rolling",
    ),
    "nothing_time": Advice(
        "early_brake_release",
        "hold a breath of brake past turn-in and go straight from it to the throttle",
        "need {} from the brake to the throttle",
        "brake straight to throttle",
    ),
    "exit_understeer": Advice(
        "late_apex",
        "turn in later and once; if the hands must correct, the throttle came too soon",
        "need one steering movement from turn-in to exit",
        "one steering movement",
    ),
    "slow_apex": Advice(
        "brake_end_focus",
        "release the brake a little sooner and let the car roll in faster, in small steps",
        "pass the apex with {} and the car still holds its line",
        "apex speed in small steps",
    ),
    "unused_grip": Advice(
        "look_ahead",
        "look through to the exit and add speed in small steps, as long as the car holds its line",
        "pass the apex with {}",
        "more speed in small steps",
    ),
    "uneven": Advice(
        "look_ahead",
        "take the same marker for braking and the same place to turn in every lap",
        "stay within {} of your best pass",
        "the same markers every lap",
    ),
}
"""By the cause of lost time."""
_PEDALS: Final = (r"bleed|a little brake|brake a little longer|throttle|power", r"\bwait\b|patient")
_EXIT: Final = (r"throttle|power|straight wheel|opens", r"\bwait\b|patient|sacrifice")
_APEX: Final = (r"bleed|turn in|a little brake", r"give up|sacrifice|tight")
FITTING: Final[Mapping[str, tuple[str, str]]] = {
    "early_brake": (r"brake later|later and lighter", r"longer|early|gently"),
    "late_brake": (r"straight line|firm|hardest|brake (?:early|a little longer)", r"\blater\b"),
    "low_apex_speed": _APEX,
    "slow_apex": _APEX,
    "unused_grip": _APEX,
    "low_exit_speed": _EXIT,
    "early_lift": _EXIT,
    "late_throttle": _PEDALS,
    "rolling": _PEDALS,
    "coast_in_corner": _PEDALS,
    "nothing_time": _PEDALS,
    "uneven": (r"marker|board|same", r"\bnot\b"),
    "exit_understeer": (r"one steering|turn in late|straight wheel", r"turn in early"),
}
"""What the note of a circuit's file on a corner must hold, and may not, to be told for a cause."""


WITHOUT_BRAKE: Final = {
    "low_apex_speed": "carry a little more speed to the apex, in small steps and as long as the car"
    " holds its line",
}
"""The tip where no brake was recorded, so that nobody knows how it was used."""


def concept_for(one: Finding) -> str:
    """The concept that teaches it."""
    return EVEN if _unknown_brake(one) else ADVICE[one.cause].concept


def _unknown_brake(one: Finding) -> bool:
    """Whether the tip speaks of a brake that was not recorded."""
    own = one.grade.own if one.grade is not None else None
    return own is not None and own.peak_brake_bar is None and one.cause in WITHOUT_BRAKE


def tip_of(one: Finding) -> str:
    """What to do about a finding, as the rest of a sentence behind *at Turn 3,*."""
    return WITHOUT_BRAKE[one.cause] if _unknown_brake(one) else ADVICE[one.cause].tip


def mark_of(one: Finding, number: str) -> str:
    """How to see that it worked, behind *when you*, with the *number* to reach; empty where it
    needs a number and there is none."""
    mark = ADVICE[one.cause].mark
    if one.cause == "uneven" and one.grade is not None and one.grade.danger:
        return "brake at the same place on every lap"  # nobody is asked to be as fast as at best
    return mark.format(number) if number or "{}" not in mark else ""


class Teaching(NamedTuple):
    """One thing to learn from a corner."""

    concept: str
    corner: str
    cause: str
    evidence: str
    """What was done, in numbers."""
    tip: str
    lesson: Lesson


def pedagogy(found: Sequence[Finding], lessons: Lessons) -> tuple[Teaching, ...]:
    """What findings teach, in their order."""
    return tuple(_teaching(one, lessons) for one in found)


def lesson_of(one: Finding | None, lessons: Lessons) -> Lesson:
    """The lesson that teaches what a finding calls for, whoever names it: debrief, briefing or
    answer; one on looking ahead where there is none."""
    return lessons.of(concept_for(one) if one is not None else EVEN)


def _teaching(one: Finding, lessons: Lessons) -> Teaching:
    concept, said, tip = concept_for(one), evidence_said(one), tip_of(one)
    return Teaching(
        concept=concept,
        corner=one.corner,
        cause=one.cause,
        evidence=f"{said[:1].upper()}{said[1:]}.",
        tip=f"{tip[:1].upper()}{tip[1:]}.",
        lesson=lesson_of(one, lessons),
    )
