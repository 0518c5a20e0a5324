"""What a loss of time teaches: the concept behind it, a tip for the driver, a lesson; pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.grading import CornerGrade, weakest
from runtime.bridge.warm.lessons import Lesson, Lessons

MOST: Final = 4


class Advice(NamedTuple):
    """What to do about a cause of lost time."""

    concept: str
    tip: str
    """To the driver, as the rest of a sentence behind *at Turn 3,*."""
    mark: str
    """How to see that it worked; {} is the number to reach, where there is one."""


ADVICE: Final = {
    "early_brake": Advice(
        "brake_end_focus",
        "look at the place where braking should end and start later by half of what you were early",
        "brake {} later than today and still make the apex",
    ),
    "late_brake": Advice(
        "brake_end_focus",
        "start braking a little sooner, so that the car is settled when you turn in",
        "arrive with the braking done and the wheel quiet",
    ),
    "low_apex_speed": Advice(
        "trail_brake",
        "let the brake up slowly while you turn in, instead of slowing the car twice",
        "pass the apex with {}",
    ),
    "low_exit_speed": Advice(
        "exit_speed",
        "wait with the throttle until you can open it once and keep it open",
        "leave with {}",
    ),
    "early_lift": Advice(
        "exit_speed",
        "unwind the wheel earlier, so that the throttle can go down and stay down",
        "be on full throttle before the exit kerb",
    ),
    "coast_in_corner": Advice(
        "early_brake_release",
        "keep a little brake until the throttle takes over, one pedal or the other",
        "have no gap between the pedals",
    ),
    "nothing_time": Advice(
        "early_brake_release",
        "hold a breath of brake past turn-in and go straight from it to the throttle",
        "have no gap between the pedals",
    ),
    "exit_understeer": Advice(
        "late_apex",
        "turn in later and once; if the hands must correct, the throttle came too soon",
        "need one steering movement from turn-in to exit",
    ),
}
"""By the cause of lost time."""


class Teaching(NamedTuple):
    """One thing to learn from a corner."""

    concept: str
    corner: str
    cause: str
    evidence: str
    """What was done, in numbers."""
    tip: str
    lesson: Lesson


def pedagogy(grades: Sequence[CornerGrade], lessons: Lessons) -> tuple[Teaching, ...]:
    """What the costliest corners teach: the largest cause of each, the costliest corner first."""
    found = []
    for one in weakest(grades):
        if not one.causes:
            continue
        cause = one.causes[0]
        advice = ADVICE[cause.cause]
        found.append(
            Teaching(
                concept=advice.concept,
                corner=one.corner,
                cause=cause.cause,
                evidence=f"{cause.detail[:1].upper()}{cause.detail[1:]}.",
                tip=f"{advice.tip[:1].upper()}{advice.tip[1:]}.",
                lesson=lessons.of(advice.concept),
            )
        )
    return tuple(found[:MOST])
