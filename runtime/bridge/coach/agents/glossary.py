"""Terms of driving that are no concept of the coach: what they mean, and who teaches them."""

from typing import Final, NamedTuple


class Term(NamedTuple):
    """A word of the track."""

    id: str
    words: str
    """A pattern of whole words."""
    text: str
    lesson: str = ""
    """Id of the lesson that teaches it; empty: none does."""
    causes: frozenset[str] = frozenset()
    """Causes of lost time, of `pedagogy.ADVICE`, in which a session shows it."""
    usual: bool = True
    """Whether asking what it *is* asks for its meaning; else it may be a number of the session."""
    counted: bool = False
    """Whether *the* one is that of the session or of the car now, as where it is not usual."""


_PEDALS: Final = frozenset({"coast_in_corner", "nothing_time", "rolling"})
_APEX: Final = frozenset({"low_apex_speed", "slow_apex"})
_MARKER: Final = frozenset({"early_brake", "late_brake"})
TERMS: Final = (
    Term(
        "lift_off_oversteer",
        r"lift-? ?off oversteer",
        "Lift-off oversteer: the throttle is lifted in a corner, load leaves the rear tyres, and"
        " the tail comes round.",
        "balance-and-yaw",
    ),
    Term(
        "understeer",
        r"under-?steer\w*",
        "Understeer: the front tyres reach their limit first, so that the car turns less than the"
        " wheel asks for and runs wide.",
        "balance-and-yaw",
        frozenset({"exit_understeer"}),
    ),
    Term(
        "oversteer",
        r"over-?steer\w*",
        "Oversteer: the rear tyres reach their limit first, so that the car turns more than the"
        " wheel asks for and the tail comes round.",
        "balance-and-yaw",
    ),
    Term(
        "yaw_rate",
        r"yaw(?: rate)?",
        "Yaw rate: how fast the nose of the car turns, in degrees per second.",
        "balance-and-yaw",
        usual=False,
    ),
    Term(
        "slip_angle",
        r"slip angles?",
        "Slip angle: the angle between where a tyre points and where it goes. Side grip grows with"
        " it up to a few degrees, then falls.",
    ),
    Term(
        "double_apex",
        r"double apex\w*",
        "Double apex: a corner so long that the car touches its inside twice.",
        "late-apex",
    ),
    Term(
        "apex",
        r"(?:apex|apexes|apices|clipping points?)",
        "Apex: the place where the car comes closest to the inside of a corner. Look for it before"
        " you turn in; whoever must steer more or wait with the throttle behind it was there too"
        " early.",
        "late-apex",
        _APEX,
    ),
    Term(
        "apex_speed",
        r"apex speeds?",
        "Apex speed: how fast the car is where it comes closest to the inside of a corner.",
        "late-apex",
        _APEX,
        usual=False,
    ),
    Term(
        "minimum_speed",
        r"(?:min(?:imum)?|lowest)(?: corner(?:ing)?)? speeds?",
        "Minimum speed: the lowest speed in a corner, mostly near its apex.",
        "late-apex",
        _APEX,
        usual=False,
    ),
    Term(
        "line",
        r"(?:racing|ideal|driving) lines?",
        "Racing line: the path through a corner with the largest radius that the road allows, from"
        " the outside to the inside and out again.",
        "vision-and-line",
    ),
    Term(
        "turn_in",
        r"turn-? ?in(?: points?)?",
        "Turn-in: the place where you begin to steer into a corner.",
        "vision-and-line",
    ),
    Term(
        "threshold_braking",
        r"threshold brak\w*",
        "Threshold braking: braking as hard as the tyres hold, just before a wheel locks.",
        "brake-trace",
    ),
    Term(
        "brake_point",
        r"brak\w* (?:point|marker|zone|board)s?",
        "Brake point: the place where you begin to brake for a corner, best tied to something that"
        " you can see.",
        "end-of-braking",
        _MARKER,
        usual=False,
    ),
    Term(
        "friction_circle",
        r"(?:friction|traction|grip|g-?g) (?:circle|ellipse|diagram)s?",
        "Friction circle: braking, cornering and accelerating share one grip, so that what one of"
        " them takes the others cannot have.",
        "friction-circle",
        frozenset({"unused_grip"}),
    ),
    Term(
        "grip",
        r"grip",
        "Grip: how much force the tyres pass to the road before they slide. Braking, cornering and"
        " accelerating share it.",
        "friction-circle",
        frozenset({"unused_grip"}),
    ),
    Term(
        "unused_grip",
        r"unused grip",
        "Unused grip: what the tyres could still have passed to the road, beside what braking,"
        " cornering and accelerating took.",
        "friction-circle",
        frozenset({"unused_grip"}),
        usual=False,
    ),
    Term(
        "g_force",
        r"(?:(?:(?:lateral|longitudinal|combined|cornering|braking) )?gs?"
        r"|(?:lateral|longitudinal|combined) acceleration|g-? ?forces?)",
        "A g is the acceleration of free fall: 1 g to the side presses the car outwards with its"
        " own weight. Combined g is braking or accelerating and cornering together.",
        "friction-circle",
        usual=False,
    ),
    Term(
        "load_transfer",
        r"(?:weight|load) (?:transfer|shift)\w*",
        "Load transfer: braking loads the front tyres, accelerating the rear ones, cornering the"
        " outer ones; a loaded tyre grips more.",
        "trail-braking",
    ),
    Term(
        "coasting",
        r"coasting",
        "Coasting: neither pedal is used; here it counts with the brake under 2 bar, the"
        " throttle under 5 % and the car faster than 36 km/h.",
        "full-commitment",
        _PEDALS,
        counted=True,
    ),
    Term(
        "nothing_time",
        r"nothing[ -]?times?",
        "Nothing time: what passes between letting one pedal go and pressing the other, with"
        " neither brake nor throttle.",
        "full-commitment",
        _PEDALS,
        usual=False,
    ),
    Term(
        "heel_and_toe",
        r"heel[ -](?:and|n|&)?[ -]?toe\w*|heel-?toe\w*",
        "Heel and toe: the right foot brakes with its ball and touches the throttle with its side,"
        " so that the revs fit the lower gear and the rear wheels stay quiet.",
    ),
    Term(
        "rev_matching",
        r"rev[ -]match\w*|blip\w*",
        "Rev matching: a touch of throttle before the clutch closes, so that the engine already"
        " turns as fast as the lower gear needs.",
    ),
    Term(
        "left_foot_braking",
        r"left[ -]foot brak\w*",
        "Left-foot braking: the left foot brakes, so that the right one need not change pedals.",
    ),
    Term(
        "lock_up",
        r"lock(?:ing|ed)?[ -]?up\w*",
        "Lock-up: a braked wheel stops turning and slides; it then neither steers nor brakes well.",
        "brake-trace",
        counted=True,
    ),
    Term(
        "abs",
        r"(?:abs|anti-?lock(?: brak\w*)?(?: systems?)?)",
        "ABS: it lets the brake of a wheel go for a moment, again and again, before that wheel"
        " locks, so that the car can still be steered.",
        "brake-trace",
        usual=False,
    ),
    Term(
        "brake_fade",
        r"(?:brak\w* fad(?:e|ing)|fading (?:of the )?brakes)",
        "Brake fade: brakes that get too hot slow the car less for the same pedal, or the pedal"
        " gets long. Slow down, come in and let them cool before another quick lap.",
        counted=True,
    ),
    Term(
        "chicane",
        r"chicanes?",
        "Chicane: two corners close together, one each way; the exit of the last one counts most.",
        "vision-and-line",
        usual=False,
    ),
    Term(
        "delta",
        r"delta(?:[ -]times?)?|time delta",
        "Delta time: how far one lap is behind another at the same place of the circuit, not at"
        " the same moment.",
        "compare-two-laps",
        usual=False,
    ),
    Term(
        "ideal_lap",
        r"(?:ideal|theoretical(?: best)?|optimal) laps?",
        "Ideal lap: your best sectors put together; what it promises counts as far as you can"
        " repeat them.",
        "sectors-and-ideal-lap",
        usual=False,
    ),
    Term(
        "sector",
        r"(?:sector|split)s?(?: times?)?",
        "Sector: a part of the lap with a time of its own; the sectors together are the lap.",
        "sectors-and-ideal-lap",
        usual=False,
    ),
    Term(
        "reference_lap",
        r"(?:reference|gold) laps?",
        "Reference lap: the lap that the others are measured by, best of a good driver in the same"
        " car.",
        "corner-scorecard",
        usual=False,
    ),
    Term(
        "out_lap",
        r"out-? ?laps?",
        "Out-lap: the lap that begins in the pits; it warms the tyres, and its time is compared"
        " with no other.",
        usual=False,
    ),
    Term(
        "in_lap",
        r"in-? ?laps?",
        "In-lap: the lap that ends in the pits; its time is compared with no other.",
        usual=False,
    ),
    Term(
        "stint",
        r"stints?",
        "Stint: the laps from leaving the pits until coming back.",
        usual=False,
    ),
    Term(
        "incident",
        r"incidents?",
        "Incident: a moment in which something went wrong; the data show spins, excursions and"
        " stops.",
        usual=False,
    ),
    Term(
        "track_limit",
        r"track limits?",
        "Track limits: the edges of the road, as a rule the white lines; a lap with all wheels"
        " beyond them is mostly not counted.",
        usual=False,
    ),
    Term(
        "brake_bias",
        r"brake (?:bias|balance)",
        "Brake bias: the share of the braking that the front wheels do.",
    ),
    Term(
        "downforce",
        r"down-?force",
        "Downforce: air that presses the car to the road, the more the faster it goes.",
    ),
    Term(
        "camber",
        r"camber",
        "Camber: how far a wheel leans; of a road, how far it leans to one side.",
    ),
)
BY_ID: Final = {one.id: one for one in TERMS}
