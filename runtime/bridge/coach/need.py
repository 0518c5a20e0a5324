"""What a question asks for: its kind, and the things that it names; pure values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from runtime.bridge.coach.fact import Place, Unit, Value

Language: TypeAlias = Literal["en", "de", "fr", "es"]
Units: TypeAlias = Literal["metric", "imperial"]
LapWord: TypeAlias = Literal["best", "slowest", "last", "first", "odd", "each"]


class Ranked(NamedTuple):
    """A lap by its place from one end of the lap times: the third best."""

    end: Literal["best", "slowest"]
    place: int
    """From 2: the first has a word of its own."""


class Beside(NamedTuple):
    """A lap so many laps after another, before it where that is negative."""

    lap: "int | LapWord | Ranked"
    by: int


class Their(NamedTuple):
    """A lap of the other driver who is named, not of the one who asks: "Ana's second best"."""

    lap: "int | LapWord | Ranked"


Lap: TypeAlias = int | LapWord | Ranked | Beside | Their

NeedKind: TypeAlias = Literal[
    # laps
    "best_lap",  # which lap was the best, and its time
    "lap_time",  # the time of a named lap, of the last, of the slowest
    "lap_list",  # every lap with its time
    "lap_count",  # how many laps there are, and which of them count
    "lap_average",  # mean or median, with laps left out where that is asked
    "lap_spread",  # how steady the lap times were
    "lap_luck",  # how far the best lap stands out from the others
    "lap_compare",  # two laps beside each other
    "lap_explain",  # what happened on a lap, why it was slow
    "lap_trend",  # quicker or slower through the session, and why that cannot be parted
    "ideal_lap",  # the best parts put together
    "ideal_honest",  # whether that could really be driven
    "theory",  # what the circuit's file says is possible, and how far off
    "sector_times",  # times of a sector or of all
    "sector_rank",  # the best or the worst sector
    "sector_explain",  # why a sector is slow
    # corners and channels
    "measure",  # a quantity: the slots say where, when, beside whom, and whether it was so
    "corner_review",  # how a corner went
    "corner_explain",  # where a corner's time goes
    "corner_advice",  # what to do in a corner
    "corner_spread",  # the least, or most, repeatable corner; or of a named one
    "loss_rank",  # where the most time is lost
    "strength",  # what was good
    "trail_brake",  # how the brake is let go
    "coasting",  # how long, and where
    "grip",  # how much of the grip was used, and where there is reserve
    "balance",  # whether it slides, and whether that is the driver or the car
    "incidents",  # spins, moments off the line
    "incident_explain",  # what steering, throttle and lateral g did there
    "choice",  # one of two things to work on: brake later, or the exit
    "what_if",  # what a change would bring
    "resolution",  # how fine positions and times can be told apart
    # other drivers, earlier sessions
    "rival_gap",  # who is quicker, and by how much
    "rival_where",  # where the gap lies
    "rival_how",  # what the other does differently
    "rival_car",  # whether it is the car
    "rival_spread",  # who is steadier
    "progress",  # against the last session, or over the sessions
    "no_progress",  # what has not got better
    "improved",  # what got better within or over sessions
    # what next
    "tips",  # the one thing that is worth most, with its measure: "any tips?", "what next?"
    "target",  # how to see that it worked
    "drill",  # an exercise for it
    "run_plan",  # how to use the minutes or laps that are left
    "traffic",  # the plan when others are in the way
    "lap_goal",  # a lap time to aim for
    "summary",  # how the session went
    "brief",  # what matters before the session
    "voice_script",  # short lines to be read out in the car
    "mood",  # the driver, or whoever they look after, is down
    # the circuit and the day
    "session_time",  # when the session was, and how long it took
    "rules",  # what is allowed
    "circuit",  # its name, length, corners, direction
    "danger",  # what is dangerous on it
    "conditions",  # weather, surface; nothing that is not recorded
    "wet",  # how to drive in the rain
    # knowledge
    "explain",  # what a term means: slot `concept`
    "lesson",  # which lesson teaches it
    # what is not recorded, and talk
    "unrecorded",  # gear, tyre temperature, fuel, heart rate …, which few loggers record
    "video",  # which lap to show
    "greeting",
    "thanks",
    "who",  # whether this is a person
    "abilities",  # what can be asked
    "style",  # shorter please, another language, other units
    "off_topic",  # what has nothing to do with driving data
    "speed_of_coach",  # agents, latency, traces
    "query",  # an SQL statement
]

Quantity: TypeAlias = Literal[
    "speed",
    "brake_point",
    "brake_pressure",
    "brake_release",
    "brake_rate",
    "brake_time",
    "brakings",
    "brake_g",
    "throttle",
    "throttle_point",
    "full_throttle",
    "full_point",
    "accel_g",
    "lateral_g",
    "total_g",
    "steering",
    "corrections",
    "coasting",
    "rpm",
    "time",
    "yaw_rate",
    "mean_speed",
    # the others are read from further channels of the car, where there are any
    "gear",
    "fuel",
    "heart_rate",
    "tyre_temperature",
    "tyre_pressure",
    "brake_temperature",
    "pedal_travel",
    "slip_angle",
    "oil",
    "water",
    "battery",
    "traffic",
    "track_edge",
    "stress",
    "eyes",
    "ride_height",
    "tyre_wear",
    "clutch",
    "assists",
    "turn_in",
]
UNITS: Final[Mapping[Quantity, Unit]] = {
    "speed": "km/h",
    "brake_point": "m",
    "brake_pressure": "bar",
    "brake_release": "m",
    "brake_rate": "bar/s",
    "brake_time": "s",
    "brakings": "",
    "brake_g": "g",
    "throttle": "%",
    "throttle_point": "m",
    "full_throttle": "%",
    "full_point": "m",
    "accel_g": "g",
    "lateral_g": "g",
    "total_g": "g",
    "steering": "deg",
    "corrections": "",
    "coasting": "s",
    "rpm": "rpm",
    "time": "s",
    "yaw_rate": "deg/s",
    "mean_speed": "km/h",
}
"""The quantities that can be measured, with their units."""
UNRECORDED: Final = frozenset(get_args(Quantity)) - UNITS.keys()
Spot: TypeAlias = Literal[
    "entry",
    "apex",
    "exit",
    "straight",
    "lap",
    "before",
    "after",
    "entry_apex",  # from one to the other
    "apex_exit",
    "entry_exit",
]
Order: TypeAlias = Literal[
    "most",
    "least",
    "worst",
    "mean",
    "each",
    "spread",
    "earliest",
    "latest",
    "early",
    "late",
    "high",
    "low",
    "more",
    "fewer",
    "total",
    "alike",
]

Group: TypeAlias = Literal["direction", "pace"]
Side: TypeAlias = Literal["above", "below"]


class Strange(NamedTuple):
    """Something named that this circuit or session does not have; the answer puts it right."""

    kind: Literal["corner", "lap", "sector", "straight", "driver"]
    text: str
    """As the driver said it."""


@dataclass(frozen=True)
class Slots:
    """What a question names; names are those of the circuit and the sessions."""

    corners: tuple[str, ...] = ()
    laps: tuple[Lap, ...] = ()
    without: tuple[Lap, ...] = ()
    """Laps to be left out."""
    besides: tuple[str, ...] = ()
    """Corners to be left out."""
    sectors: tuple[int, ...] = ()
    straights: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    """Other drivers with a session here, not the one who asks."""
    strange: tuple[Strange, ...] = ()
    quantity: Quantity | None = None
    pedal: Literal["brake", "throttle", "lift"] | None = None
    """Of which it speaks, where it says no more: "do I brake there"."""
    spot: Spot | None = None
    also: tuple[tuple[Quantity | None, Spot | None], ...] = ()
    """Further spots, or quantities: "entry, apex and exit speed", "brake point and apex speed"."""
    order: Order | None = None
    amounts: tuple[Value, ...] = ()
    """Numbers with units that are no lap, corner or sector: 3 mph (km/h), 20 minutes (s), 1:50;
    a count of laps has no unit."""
    concept: str | None = None
    """A term of the glossary."""
    why: bool = False
    """Whether the reason is asked for."""
    where: bool = False
    claims: bool = False
    """Whether the driver says that it was so: "… wasn't I", "oder?"."""
    negated: bool = False
    which: Literal["corner", "sector", "lap", "straight"] | None = None
    """Of what it asks which one: "on which lap"."""
    than_me: bool = False
    """Whether another driver is measured against the one who asks, not the other way round."""
    alone: bool = False
    """Whether another driver's laps are asked about, beside nobody's: "Ben's slowest lap"."""
    either: bool = False
    """Whether it asks which of two opposites holds: "earlier or later"."""
    gains: bool | None = None
    """Whether it asks where somebody is quicker, or slower; None: neither."""
    improves: bool = False
    """Whether it asks what got better."""
    ranked: bool = False
    """Whether laps are to be listed by their times."""
    mine: bool = False
    """Whether it asks about both: "my average and Ben's"."""
    whether: bool = False
    """Whether it is to be answered with yes or no."""
    open: bool = False
    """Whether it asks what, how much or which one, not whether."""
    between: bool = False
    """Whether it asks which of two parts of a corner: "under braking or on the exit"."""
    supposes: bool = False
    """Whether it asks what a change would bring."""
    wishes: bool = False
    """Whether it asks what to do: "should I brake later?" is no doubt of braking late."""
    place: int = 1
    """From the end that *order* names: 2 of "the second slowest"."""
    side: Side | None = None
    """On which side of an amount it is to be: "under 1:54", "over 1.1 g"."""
    tally: bool = False
    """Whether it asks on how many laps something is so, or whether on all or on only one."""
    count: int = 0
    """How many things are asked for: "three tips"; 0: it does not say."""
    counts: bool = False
    """Whether it asks in how many corners something is so."""
    within: bool = False
    """Whether an amount is how far from the best lap: "within half a second of my best"."""
    offers: bool = False
    """Whether it offers alternatives: "lap 5 or lap 8"; yes or no is no answer to that."""
    varies: bool = False
    """Whether it asks how much something varies: "most consistent", too."""
    group: Group | None = None
    """By what corners are set against each other: lefts and rights, slow and fast ones."""
    every_corner: bool = False
    """Whether it says that something is so in every corner."""
    of_those: bool = False
    """Whether *place* is one in what was named or told before: "the second of those"."""
    all_laps: bool = False
    """"Every lap", "each", "always"."""
    enough: bool = False
    """Whether it asks if there is enough of it, not too little: "hard enough"."""
    differs: bool = False
    """Whether it asks what was done differently."""
    other_day: bool = False
    """Whether it asks about a day that it names: "yesterday", "in 2025"."""
    over: int = 0
    """Over how many laps a loss is asked for: "what is that over ten laps"; 0: a lap."""
    adds: bool = False
    """Whether what it names comes to what was named before: "and turn 11 on top"."""


@dataclass(frozen=True)
class Need:
    """One thing that is asked for."""

    kind: NeedKind
    slots: Slots = field(default_factory=Slots)
    score: float = 1.0
    """How sure the understanding is, 0 to 1."""


@dataclass(frozen=True)
class Asked:
    """What was made of a question."""

    text: str
    language: Language = "en"
    units: Units | None = None
    """Where the question asks for them; None: the driver's own."""
    hazard: str | None = None
    """A key of `hazards`: it is answered before, and often instead of, everything else."""
    needs: tuple[Need, ...] = ()
    """At most two, in the order asked; empty where it was not understood."""
    suggestions: tuple[Need, ...] = ()
    """What may have been meant, where it was not understood: two or three."""
    speeds: Units | None = None
    """Units of speeds alone that the question asks for: "in mph"."""
    told: Place | None = None
    """What the answer told of first, where the question named no place."""
    brief: bool = False
    """Whether no more than the answer itself is wanted."""
