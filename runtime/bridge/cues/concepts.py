"""The nine coaching concepts, and which of them a moment of a drive calls for."""

from typing import Final, Literal, NamedTuple


class Inputs(NamedTuple):
    """What the conditions speak of; NaN or None stands for what is not known."""

    in_corner: bool | None
    past_apex: bool | None
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


class Term(NamedTuple):
    """One part of a condition; an input that is not known fulfils none."""

    input: str
    sign: Literal["is", "not", "<", ">"]
    """A flag is true or false; a number is compared with the limit."""
    limit: float = 0
    plus: str = ""
    """An input that is added to the limit."""

    def __str__(self) -> str:
        if self.sign == "is":
            return self.input
        if self.sign == "not":
            return f"!{self.input}"
        plus = f"{self.plus} + " if self.plus else ""
        return f"{self.input} {self.sign} {plus}{self.limit:g}"

    def holds(self, inputs: Inputs) -> bool:
        """Whether it does; no comparison with NaN holds."""
        value = getattr(inputs, self.input)
        if self.sign in ("is", "not"):
            return value is (self.sign == "is")
        limit = self.limit + (getattr(inputs, self.plus) if self.plus else 0)
        return bool(value < limit if self.sign == "<" else value > limit)


class Lesson(NamedTuple):
    """Where the course teaches a concept."""

    id: str
    title: str


class Concept(NamedTuple):
    """One thing that the coach can ask of a driver."""

    id: str
    title: str
    description: str
    conditions: tuple[Term, ...]
    """All must hold; none: it always fires."""
    priority: int
    """The highest that a message about it has: 0 background, 1 advice, 2 warning."""
    lesson: Lesson
    aliases: tuple[str, ...] = ()
    """Names under which other programs know it."""

    @property
    def fires_when(self) -> str:
        """The conditions as they are shown."""
        return " && ".join(map(str, self.conditions)) or "true"

    def holds(self, inputs: Inputs) -> bool:
        """Whether a moment calls for it."""
        return all(term.holds(inputs) for term in self.conditions)


CONCEPTS: Final = (
    Concept(
        "trail_brake",
        "Trail the brake",
        "Still on the brake while the car turns: bleed the pedal off as the steering builds.",
        (
            Term("in_corner", "is"),
            Term("brake", ">", 10),
            Term("glat", ">", 0.4),
        ),
        1,
        Lesson("trail-braking", "Trail the brake into the corner"),
    ),
    Concept(
        "early_brake_release",
        "Released too early",
        "No brake at all in a loaded corner: keep a little pressure past turn-in, so that the "
        "front tyres stay loaded.",
        (
            Term("in_corner", "is"),
            Term("brake", "<", 1),
            Term("glat", ">", 0.6),
        ),
        2,
        Lesson("trail-braking", "Trail the brake into the corner"),
        ("entry_release",),
    ),
    Concept(
        "exit_speed",
        "Exit speed",
        "Past the apex without power: speed at the exit pays along the whole next straight.",
        (
            Term("past_apex", "is"),
            Term("thr", "<", 20),
            Term("glat", ">", 0.3),
        ),
        1,
        Lesson("exit-speed", "Exit speed"),
    ),
    Concept(
        "full_commitment",
        "Full commitment",
        "Coasting on a straight: use full throttle, even if only for a moment, or brake.",
        (
            Term("in_corner", "not"),
            Term("thr", "<", 5),
            Term("brake", "<", 2),
            Term("v", ">", 50),
            Term("to_entry", ">", 100),
        ),
        1,
        Lesson("full-commitment", "Full commitment on the straight"),
        ("hustle",),
    ),
    Concept(
        "brake_end_focus",
        "Look at the end of braking",
        "A braking zone is near: look at the place where braking ends, not where it starts.",
        (
            Term("in_corner", "not"),
            Term("to_entry", ">", 30),
            Term("to_entry", "<", 30, plus="bz"),
            Term("brake", "<", 2),
        ),
        1,
        Lesson("end-of-braking", "Aim for the end of braking"),
        ("eob",),
    ),
    Concept(
        "downhill_braking",
        "Braking downhill",
        "The road falls towards the corner and lengthens the stop: brake a little earlier.",
        (
            Term("in_corner", "not"),
            Term("dz", "<", -5),
            Term("to_entry", "<", 200),
        ),
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("downhill_brake",),
    ),
    Concept(
        "uphill_braking",
        "Braking uphill",
        "The road rises towards the corner and shortens the stop: the marker can move closer.",
        (
            Term("in_corner", "not"),
            Term("dz", ">", 5),
            Term("to_entry", "<", 200),
        ),
        1,
        Lesson("braking-on-slopes", "Brake on slopes"),
        ("uphill_brake",),
    ),
    Concept(
        "late_apex",
        "Late apex",
        "A corner is coming: a later turn-in and a later apex open its exit.",
        (
            Term("in_corner", "not"),
            Term("to_entry", ">", 0),
            Term("to_entry", "<", 250),
        ),
        1,
        Lesson("late-apex", "The late apex"),
    ),
    Concept(
        "look_ahead",
        "Look ahead",
        "Nothing in particular: eyes far up the road, on the next place that the car must reach.",
        (),
        1,
        Lesson("vision-and-line", "Look ahead and choose the line"),
    ),
)
"""In the order in which they are tried."""


def choose_concept(inputs: Inputs) -> Concept:
    """The first concept whose condition holds; the last one always does."""
    return next(concept for concept in CONCEPTS if concept.holds(inputs))
