"""What a question asks for: its kind and the names in it; pure values."""

from collections.abc import Iterable, Mapping
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
    """A lap *by* laps after another; before it if negative."""

    lap: "int | LapWord | Ranked"
    by: int


class Their(NamedTuple):
    """A lap of the named other driver, not of the asking one: "Ana's second best"."""

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
    "lap_compare",  # two laps compared
    "lap_explain",  # what happened on a lap, why it was slow
    "lap_trend",  # quicker or slower through the session, and why the causes cannot be separated
    "ideal_lap",  # the best parts put together
    "ideal_honest",  # whether that could really be driven
    "theory",  # what the circuit's file says is possible, and how far off
    "sector_times",  # times of a sector or of all
    "sector_rank",  # the best or the worst sector
    "sector_explain",  # why a sector is slow
    # corners and channels
    "measure",  # a quantity: the slots say where, when, compared with whom, and what is claimed
    "corner_review",  # how a corner went
    "corner_explain",  # where a corner's time goes
    "corner_advice",  # what to do in a corner
    "corner_spread",  # the least or most repeatable corner, or a named one
    "loss_rank",  # where the most time is lost
    "strength",  # what was good
    "trail_brake",  # how the brake is released
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
    "no_progress",  # what has not improved
    "improved",  # what improved within or over sessions
    # what next
    "tips",  # the most valuable action, with its measure: "any tips?", "what next?"
    "target",  # how to see that it worked
    "drill",  # an exercise for it
    "run_plan",  # how to use the remaining minutes or laps
    "traffic",  # the plan when others are in the way
    "lap_goal",  # a lap time to aim for
    "summary",  # how the session went
    "brief",  # what matters before the session
    "voice_script",  # short lines to be read out in the car
    "mood",  # the driver, or someone they look after, is down
    # the circuit and the day
    "session_time",  # when the session was, and how long it took
    "rules",  # what is allowed
    "circuit",  # its name, length, corners, direction
    "danger",  # what is dangerous on it
    "conditions",  # weather, surface; nothing unrecorded
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
    # the rest is read from further channels of the car, if it has them
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
    """A name that this circuit or session does not have; the answer corrects it."""

    kind: Literal["corner", "lap", "sector", "straight", "driver"]
    text: str
    """As the driver said it."""


@dataclass(frozen=True)
class Slots:
    """The names in a question, spelt as in the circuit and the sessions, and how it asks."""

    corners: tuple[str, ...] = ()
    laps: tuple[Lap, ...] = ()
    without: tuple[Lap, ...] = ()
    """Excluded laps."""
    besides: tuple[str, ...] = ()
    """Excluded corners."""
    sectors: tuple[int, ...] = ()
    straights: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    """Other drivers with a session here, not the asking one."""
    strange: tuple[Strange, ...] = ()
    quantity: Quantity | None = None
    pedal: Literal["brake", "throttle", "lift"] | None = None
    """The pedal in question if nothing more is said: "do I brake there"."""
    spot: Spot | None = None
    also: tuple[tuple[Quantity | None, Spot | None], ...] = ()
    """Further spots, or quantities: "entry, apex and exit speed", "brake point and apex speed"."""
    order: Order | None = None
    amounts: tuple[Value, ...] = ()
    """Numbers with units, other than laps, corners and sectors: 3 mph (km/h), 20 minutes (s), 1:50;
    a count of laps has no unit."""
    concept: str | None = None
    """A term of the glossary."""
    why: bool = False
    """Whether the reason is asked for."""
    where: bool = False
    claims: bool = False
    """Whether the driver claims that it was so: "… wasn't I", "oder?"."""
    negated: bool = False
    which: Literal["corner", "sector", "lap", "straight"] | None = None
    """The kind of place to pick: "on which lap"."""
    than_me: bool = False
    """Whether another driver is measured against the asking one, not the other way round."""
    alone: bool = False
    """Whether only another driver's laps are asked about: "Ben's slowest lap"."""
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
    """Whether it is a yes-or-no question."""
    open: bool = False
    """Whether it asks what, how much or which, not whether."""
    between: bool = False
    """Whether it asks which of two parts of a corner: "under braking or on the exit"."""
    supposes: bool = False
    """Whether it asks what a change would bring."""
    wishes: bool = False
    """Whether it asks what to do: "should I brake later?" claims nothing about braking late."""
    place: int = 1
    """Place from the end that *order* names: 2 of "the second slowest"."""
    side: Side | None = None
    """Requested side of an amount: "under 1:54", "over 1.1 g"."""
    tally: bool = False
    """Whether it asks on how many laps something is so, on all or on one only."""
    count: int = 0
    """How many answers are asked for: "three tips"; 0: not stated."""
    counts: bool = False
    """Whether it asks in how many corners something is so."""
    counts_laps: bool = False
    """Whether the numbers of laps are compared: "more laps than me"."""
    blames_kit: bool = False
    """Whether the other car, or a part of it, is said to be better."""
    within: bool = False
    """Whether an amount is how far from the best lap: "within half a second of my best"."""
    offers: bool = False
    """Whether it offers alternatives, "lap 5 or lap 8", which yes or no cannot answer."""
    varies: bool = False
    """Whether it asks how much something varies, "most consistent" included."""
    group: Group | None = None
    """How corners are grouped for comparison: lefts and rights, slow and fast."""
    every_corner: bool = False
    """Whether it says that something is so in every corner."""
    of_those: bool = False
    """Whether *place* picks from what was named or answered before: "the second of those"."""
    all_laps: bool = False
    """"Every lap", "each", "always"."""
    enough: bool = False
    """Whether it asks if there is enough of it: "hard enough"."""
    differs: bool = False
    """Whether it asks what was done differently."""
    other_day: bool = False
    """Whether it asks about a day that it names: "yesterday", "in 2025"."""
    over: int = 0
    """Laps over which a loss is asked for: "what is that over ten laps"; 0: one lap."""
    adds: bool = False
    """Whether its names add to the earlier ones: "and turn 11 on top"."""


def find_runs(laps: Iterable[Lap]) -> tuple[tuple[int, ...], ...]:
    """Return the two runs of lap numbers, such as the first three and the last three; else none."""
    numbers = sorted(lap for lap in laps if isinstance(lap, int))
    cuts = [at for at in range(1, len(numbers)) if numbers[at] > numbers[at - 1] + 1]
    if len(cuts) != 1 or not 2 <= cuts[0] <= len(numbers) - 2:
        return ()
    return tuple(numbers[: cuts[0]]), tuple(numbers[cuts[0] :])


@dataclass(frozen=True)
class Need:
    """One request of a question."""

    kind: NeedKind
    slots: Slots = field(default_factory=Slots)
    score: float = 1.0
    """Certainty of the understanding, 0 to 1."""


@dataclass(frozen=True)
class Reading:
    """How a question was understood."""

    text: str
    language: Language = "en"
    units: Units | None = None
    """Requested units; None: the driver's own."""
    hazard: str | None = None
    """A key of `hazards`, answered before and often instead of everything else."""
    needs: tuple[Need, ...] = ()
    """At most two, in the order asked; empty if not understood."""
    suggestions: tuple[Need, ...] = ()
    """Two or three possible meanings if it was not understood."""
    speeds: Units | None = None
    """Requested units of speeds alone: "in mph"."""
    place: Place | None = None
    """The place that the answer led with, if the question named none."""
    brief: bool = False
    """Whether only the answer itself is wanted."""
