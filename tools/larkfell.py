"""The words of the Larkfell circuit: names, tips, markers, dangers, weather."""

from typing import Final, NamedTuple

from runtime.bridge.track.model import DangerZone, WeatherPhase


class Mark(NamedTuple):
    """Something to see near a corner."""

    kind: str
    label: str
    at_m: float
    """Metres past the corner's entry; for an exit, past its exit; for an apex, past its apex."""
    note: str


class Words(NamedTuple):
    """What is said about a corner."""

    nicknames: tuple[str, ...]
    tip: str
    marks: tuple[Mark, ...]


CORNERS: Final = (
    Words(
        ("Gannet", "Gannet Corner"),
        "Brake in a straight line at the first board; the exit climbs to a crest, so wait "
        "with the throttle until the wheel opens.",
        (
            Mark(
                "brake_ref",
                "100 m board",
                -100,
                "white board on the left: brake at it",
            ),
            Mark("brake_ref", "50 m board", -50, "still on full power here means a late stop"),
            Mark("apex_ref", "Gannet kerb", 0, "red and white, flat enough to use"),
            Mark("exit_ref", "Drain cover", 12, "let the car run out to its left edge"),
        ),
    ),
    Words(
        ("The Gully",),
        "A short, firm brake settles the car; turn in late, or the exit squeezes you to the wall.",
        (
            Mark("turn_in_ref", "Patch of new asphalt", -6, "darker than the rest, on the right"),
            Mark("visual", "Crane hut", -70, "grey hut above the wall, seen over the crest"),
        ),
    ),
    Words(
        ("Cairn",),
        "Give up some entry speed: the long straight behind it pays for early power.",
        (
            Mark("nickname", "Cairn", 0, "the pile of stones behind the inside kerb"),
            Mark("apex_ref", "Painted stone", 4, "a late apex, just past the middle"),
            Mark("exit_ref", "End of the kerb", 6, "use all of it"),
        ),
    ),
    Words(
        ("Storm Hook", "the hairpin"),
        "The hardest stop of the lap, downhill: hard at first, then bleed the brake off to the "
        "apex and turn the car on its nose.",
        (
            Mark("brake_ref", "150 m board", -150, "too early to brake in the dry"),
            Mark(
                "brake_ref",
                "100 m board",
                -100,
                "still on the throttle; brake just behind it",
            ),
            Mark("visual", "Lighthouse", -260, "aim at it down the whole straight"),
            Mark("turn_in_ref", "Tyre stack", -5, "turn when it disappears beside you"),
            Mark("apex_ref", "Inner kerb", 3, "late: the second half of it"),
        ),
    ),
    Words(
        ("Peat Left",),
        "Sacrifice this one for the next: stay on the right for longer than it feels natural.",
        (
            Mark("brake_ref", "Marshal post 5", -35, "orange hut on the right"),
            Mark("apex_ref", "Peat kerb", 2, "low and slippery when wet"),
        ),
    ),
    Words(
        ("Heather",),
        "One steering input, patient throttle: it opens at the end and rewards a straight wheel.",
        (
            Mark("turn_in_ref", "Fence post with a ring", -4, "the only white one"),
            Mark("exit_ref", "Gravel edge", 8, "stay a wheel's width inside"),
        ),
    ),
    Words(
        ("The Wink", "the kink"),
        "A brush of the brake as you turn, no more; look through it to the horizon.",
        (
            Mark("visual", "Wind turbine", -120, "in line with the best turn-in"),
            Mark("turn_in_ref", "Seam in the asphalt", -5, "turn where the colour changes"),
            Mark("nickname", "The Wink", 0, "gone in the blink of an eye"),
        ),
    ),
    Words(
        ("Slate", "Slate Quarry"),
        "It tightens after the turn-in: brake a little longer than you want and keep it tight.",
        (
            Mark("brake_ref", "100 m board", -100, "on the left, before the bridge"),
            Mark("brake_ref", "Bridge shadow", -82, "works on sunny days only"),
            Mark("apex_ref", "Slate block", 5, "behind the kerb; do not touch it"),
            Mark("exit_ref", "Marshal post 8", 10, "full power by here"),
        ),
    ),
    Words(
        ("Kittiwake",),
        "Off-camber at the exit: a little brake on the way in keeps the nose down.",
        (
            Mark("brake_ref", "Timing loop", -30, "the groove across the track"),
            Mark("apex_ref", "Yellow bollard", 0, "clip it closely"),
        ),
    ),
    Words(
        ("Chapel",),
        "Uphill stop: the car slows by itself, so brake later and lighter than it looks.",
        (
            Mark("visual", "Chapel roof", -150, "appears over the rise"),
            Mark("brake_ref", "50 m board", -50, "on the outside, half hidden by grass"),
            Mark("apex_ref", "Chapel kerb", 2, "high on its far side"),
        ),
    ),
    Words(
        ("Harbour", "Harbour Bend"),
        "The lap is won here: full throttle at the apex carries all along the main straight.",
        (
            Mark("brake_ref", "Pit entry line", -70, "white line on the right"),
            Mark("apex_ref", "Mooring post", 0, "a hand's width from the wheel"),
            Mark("exit_ref", "Paint on the wall", 15, "let the car breathe out to it"),
        ),
    ),
)

STRAIGHTS: Final = {0: "Harbour Straight", 3: "Machair Straight", 10: "Chapel Straight"}
"""By the number of the corner before; the first holds start/finish."""

SECTORS: Final = ("Cliffs", "Moor", "Harbour")


def danger_zones(entries: list[float], exits: list[float]) -> tuple[DangerZone, ...]:
    """Where mistakes are punished; *entries* and *exits* of the corners in metres."""
    return (
        DangerZone(
            "gully-wall",
            round(entries[1], 1),
            round(exits[1] + 20, 1),
            "The wall stands close to the track on the right: a wide exit has no room.",
            "medium",
        ),
        DangerZone(
            "hook-stop",
            round(entries[3] - 140, 1),
            round(entries[3], 1),
            "Downhill braking from one of the highest speeds; locked wheels end in the gravel.",
            "high",
        ),
        DangerZone(
            "wink-drop",
            round(entries[6] - 30, 1),
            round(exits[6] + 30, 1),
            "Fast and downhill: a lift in the middle takes the weight off the rear tyres.",
            "high",
        ),
        DangerZone(
            "kittiwake-camber",
            round(exits[8] - 20, 1),
            round(exits[8] + 30, 1),
            "The road falls away to the outside as the car is released.",
            "low",
        ),
    )


WEATHER: Final = (
    WeatherPhase(
        "morning_fog",
        6,
        10,
        "cool damp",
        "Sea fog wets the cliffs: the first three corners dry last. Brake early and gently there.",
    ),
    WeatherPhase(
        "warm_up",
        10,
        12,
        "rising grip",
        "The moor is dry before the cliffs: add speed sector by sector, not everywhere at once.",
    ),
    WeatherPhase(
        "peak_grip",
        12,
        15,
        "optimal",
        "Warm surface and a steady wind: the time for a flying lap.",
    ),
    WeatherPhase(
        "late_session",
        15,
        20,
        "tire degradation",
        "The sun stands low behind the hairpin and the tyres are tired: mark your braking by the "
        "boards, not by the horizon.",
    ),
)
