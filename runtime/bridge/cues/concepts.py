"""The nine coaching concepts, and which of them a moment of a drive calls for."""

from functools import cache
from typing import Final, NamedTuple

from runtime.bridge.cues.grammar import Condition, Flag, Names, parse


class Inputs(NamedTuple):
    """What the conditions speak of; NaN or None stands for what is not known."""

    in_corner: Flag
    past_apex: Flag
    brake: float
    """Bar."""
    thr: float
    """Throttle in %."""
    glat: float
    """Lateral acceleration in g, without its side."""
    v: float
    """Speed in km/h."""
    to_entry: float
    """Metres to the next corner's entry; 999 where there is none within 500 m."""
    bz: float
    """Metres before that entry where a good lap begins to brake; 0 where nobody knows."""
    dz: float
    """Metres that the road rises over the approach to that entry."""


NAMES: Final = Names(Inputs._fields, frozenset({"in_corner", "past_apex"}))


class Lesson(NamedTuple):
    """Where the course teaches a concept."""

    id: str
    title: str


class Concept(NamedTuple):
    """One thing that the coach can ask of a driver."""

    id: str
    title: str
    description: str
    fires_when: str
    priority: int
    """The highest that a message about it has: 0 background, 1 advice, 2 warning."""
    lesson: Lesson
    aliases: tuple[str, ...] = ()
    """Names under which other programs know it."""

    @property
    def condition(self) -> Condition:
        """`fires_when`, ready to be asked."""
        return _condition(self.fires_when)


@cache
def _condition(text: str) -> Condition:
    return parse(text, NAMES)


CONCEPTS: Final = (
    Concept(
        "trail_brake",
        "Trail the brake",
        "Still on the brake while the car turns: bleed the pedal off as the steering builds.",
        "in_corner && brake > 10 && glat > 0.4",
        1,
        Lesson("trail-braking", "Trail the brake into the corner"),
    ),
    Concept(
        "early_brake_release",
        "Released too early",
        "No brake at all in a loaded corner: keep a little pressure past turn-in, so that the "
        "front tyres stay loaded.",
        "in_corner && brake < 1 && glat > 0.6",
        2,
        Lesson("trail-braking", "Trail the brake into the corner"),
        ("entry_release",),
    ),
    Concept(
        "exit_speed",
        "Exit speed",
        "Past the apex without power: speed at the exit pays along the whole next straight.",
        "past_apex && thr < 20 && glat > 0.3",
        1,
        Lesson("exit-speed", "Exit speed"),
    ),
    Concept(
        "full_commitment",
        "Full commitment",
        "Coasting on a straight: use full throttle, even if only for a moment, or brake.",
        "!in_corner && thr < 5 && brake < 2 && v > 50 && to_entry > 100",
        1,
        Lesson("full-commitment", "Full commitment on the straight"),
        ("hustle",),
    ),
    Concept(
        "brake_end_focus",
        "Look at the end of braking",
        "A braking zone is near: look at the place where braking ends, not where it starts.",
        "!in_corner && to_entry > 30 && to_entry < bz + 30 && brake < 2",
        1,
        Lesson("end-of-braking", "Aim for the end of braking"),
        ("eob",),
    ),
    Concept(
        "downhill_braking",
        "Braking downhill",
        "The road falls towards the corner and lengthens the stop: brake a little earlier.",
        "!in_corner && dz < -5 && to_entry < 200",
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("downhill_brake",),
    ),
    Concept(
        "uphill_braking",
        "Braking uphill",
        "The road rises towards the corner and shortens the stop: the marker can move closer.",
        "!in_corner && dz > 5 && to_entry < 200",
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("uphill_brake",),
    ),
    Concept(
        "late_apex",
        "Late apex",
        "A corner is coming: a later turn-in and a later apex open its exit.",
        "!in_corner && to_entry > 0 && to_entry < 250",
        1,
        Lesson("late-apex", "The late apex"),
    ),
    Concept(
        "look_ahead",
        "Look ahead",
        "Nothing in particular: eyes far up the road, on the next place that the car must reach.",
        "true",
        1,
        Lesson("vision-and-line", "Look ahead and choose the line"),
    ),
)
"""In the order in which they are tried."""


def concept_for(inputs: Inputs) -> Concept:
    """The first concept whose condition holds; the last one always does."""
    return next(concept for concept in CONCEPTS if concept.condition.holds(inputs))
