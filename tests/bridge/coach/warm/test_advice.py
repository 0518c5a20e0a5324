"""Advice of a model: whole instructions that fit their phase and what is known of the corner."""

from typing import Final

import pytest

from runtime.bridge.coach.warm.advising import unwise
from runtime.bridge.coach.warm.evidence import Evidence, evidence_of
from runtime.bridge.coach.warm.grounding import Reader, false_part, grounded
from runtime.bridge.coach.warm.pedagogy import ADVICE
from runtime.bridge.coach.warm.teachings import taught
from tests.bridge.coach.warm.groundkit import EVIDENCE, PLACES, caused, corner

KEPT: Final = """
At Turn 4, brake a little later in small steps.
Try braking a touch later into Turn 4.
Move your braking point a little later at Turn 4.
Next time, pick a slightly later braking marker for Turn 4.
Brake firmly in a straight line.
Finish your braking before the turn-in.
Release the brake gently as you turn in.
Ease off the brake slowly towards the apex.
Trail the brake to the apex.
Trail the brake into Turn 10 instead of coasting.
Hold a little brake pressure past turn-in.
As you turn in, release the brake slowly.
Turn in once, with calm hands.
Carry a little more speed to the apex of Turn 10.
Keep a little brake until the throttle takes over at Turn 4.
Have the car turned by the apex of Turn 5, so the throttle opens once and stays open.
Go from brake to throttle without a pause at Turn 10.
Squeeze the throttle as you unwind the wheel.
Feed in the power gently from the apex on.
Open the throttle smoothly as the steering opens.
Be patient with the throttle until you see the exit.
Get back on the throttle a little earlier at Turn 5.
Go to full throttle once the wheel is straight.
Unwind the wheel smoothly towards the exit.
Use all of the track at the exit.
Look at the exit of Turn 5 before you reach the apex.
Keep your eyes up and breathe.
Lift your eyes to the exit early.
Let's focus on Turn 4 first.
Let's focus on one thing: the exit of Turn 5.
Work on reducing your coasting at Turn 10.
Your focus should be the exit of Turn 5.
Do not rush the turn-in.
Avoid coasting at Turn 10.
Don't pinch the exit.
Mia, keep your hands quiet.
You could brake a little later at Turn 4.
Drink some water.
Before the next run, review your data.
"""
LIES: Final = {
    "out of its phase": """
        Brake as the nose turns at Turn 4.
        Brake while you turn in.
        Brake when you clip the kerb.
        Brake on the way out.
        Start to brake at the apex.
        Begin braking while the wheel is turned.
        Hold the throttle past turn-in.
        Feed in the throttle as you turn in.
        Squeeze the power at the marker.
        Roll on the throttle mid-corner.
        Straighten the wheel while you turn in.
        Release the brake before the entry.
        Release the brake at the marker.
        Trail the brake onto the exit.
        Ease off the brake before you brake.
        Turn in at the exit.
        Turn in after the kerb.
        Use full throttle in the corner.
        Go straight to full throttle at the apex.
        Let the wheel roll in your hands.
        Keep your eyes on the pedals.
        At Turn 4, take a break.
        At Turn 4, check your data.
        Look at your hands.
        Hold your breath at Turn 4.
        Match the throttle with the brake.
    """,
    "in an order that is not": """
        Turn in once, then brake in a straight line.
        Squeeze the throttle as you unwind the wheel, then release the brake gently.
        Trail the brake to the apex, then finish your braking before the turn-in.
        Use all of the track at the exit and then turn in smoothly.
        As you turn in, brake in a straight line.
        As you turn in, squeeze the throttle gently.
        As you turn in, look at the exit, then squeeze the throttle gently.
        Before the turn-in, release the brake gently.
        When the wheel is straight, turn in smoothly.
        On the straight, turn in smoothly.
        Do not rush the turn-in and brake in a straight line.
    """,
    "a harmful order not to": """
        Never look at the exit.
        Do not finish your braking before the turn-in.
        Do not hold the wheel.
        Never worry about the other cars.
        Stop looking ahead.
        Avoid the brake at Turn 4.
        Avoid coasting, and the brakes.
        Do not release the brake.
        Don't rush the brakes.
        Do not be patient with the throttle.
    """,
    "behind a comma": """
        Brake in a straight line, at the apex.
        Brake in Turn 7, a little later.
        Brake a touch, at Turn 7, later.
        Squeeze the throttle gently, before the apex.
        Release the brake - at once.
        Turn in (late) at the exit.
        Keep the throttle, as you turn in.
        Open the throttle; at the entry.
        Stay - on the brake.
        Start, at Turn 7, to brake later.
    """,
    "what a driver does": """
        You brake in a straight line.
        You look far ahead at Turn 7.
        You always finish your braking before the turn-in.
        Today you trail the brake to the apex.
        You release the brake gently as you turn in.
        You keep your eyes up.
        You avoid coasting at Turn 7.
        You squeeze the throttle as you unwind the wheel.
        Braking in a straight line is easy.
        Looking ahead is what you do.
        Releasing the brake gently works.
        Mia brakes in a straight line.
        You turn in once, with calm hands.
        Keeping your eyes up is a habit.
        Still you look far ahead.
    """,
    "a reason that nobody knows": """
        Keep your eyes up because the road rises.
        Release the brake gently because the tyres are cold.
        Squeeze the throttle gently, since the rear is light.
        Look far ahead as the corner tightens.
        Brake in a straight line, as the track is damp.
        Be patient with the throttle while the engine cools.
        Breathe, so you find 0.3 s at Turn 5.
        Keep your hands quiet because the car jumps at Turn 7.
        Look at the exit until the kerb is gone.
        Keep your eyes up, which would gain 0.62 s at Turn 4.
    """,
    "a change without its fault": """
        Brake a little earlier at Turn 4.
        Brake later at Turn 7.
        Brake later at Turn 2.
        Brake a touch later at Turns 4 and 7.
        Brake sooner at Turn 3.
        Brake later.
        Start braking earlier.
        Carry more speed through Turn 3.
        Carry more speed to the apex of Turn 2.
        Get on the throttle sooner at Turn 2.
        Release the brake earlier at Turn 4.
        Turn in a touch later at Turn 4.
        Make your brake release smoother at Turn 2.
        Avoid coasting at Turn 7.
        Work on reducing coasting at Turn 2.
        Trail the brake into Turn 7 instead of coasting.
    """,
    "more of what was not good": """
        Keep your line at Turn 4.
        Keep your clean exit at Turn 5.
        Trust your braking at Turn 5.
        Use the same marker at Turn 4.
        Stick to your marker at Turn 10.
        Brake at the same point at Turn 4 every lap.
        Repeat what worked at Turn 8.
        Keep it exactly as it is at Turn 10.
        Keep doing what you do at Turn 5.
        Repeat lap 3.
        Commit to your marker at Turn 4.
        Repeat what worked.
        Trust your marker.
    """,
    "a focus where there is nothing": """
        Focus on Turn 2.
        Focus on Turn 3 first.
        Work on the exit at Turn 2.
        Work on your exit speed at Turn 10 and Turn 2.
        Work on your braking at Turn 7.
        Concentrate on your hands at Turn 2.
        Focus on the apex speed at Turn 2.
        Your focus should be Turn 2.
        Focus on smoother hands at Turn 4.
        Work on your line at Turn 4.
        Focus on.
        Work on the tyres.
    """,
    "a number in advice": """
        Brake 5 m later at Turn 4.
        Brake five metres later at Turn 4.
        Look two corners ahead.
        Keep your eyes up for 3 s.
        Carry 4.3 km/h more speed to the apex of Turn 5.
        Breathe twice on the straight.
        Try it for nine laps.
        Compare the laps 1 and 3.
        Build up the pace by half a second.
        Squeeze the throttle in 2 s as you unwind the wheel.
    """,
}


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("sentence", lines(KEPT))
def test_advice_that_fits_is_kept(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is None


@pytest.mark.parametrize(
    ("kind", "sentence"), [(kind, line) for kind, text in LIES.items() for line in lines(text)]
)
def test_advice_that_does_not_fit_is_left_out(kind: str, sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is not None
    assert grounded(sentence, EVIDENCE).text == ""


def known(*causes: str, number: int = 6, grade: str = "D", loss: float = 0.3) -> Evidence:
    row = corner(number, grade, 0.7, loss, (60.0, 0.0), 80.0, 0.0, 0.0)
    return evidence_of(caused(row, *((one, 0.1, "") for one in causes)), PLACES)


@pytest.mark.parametrize("cause", sorted({"late_brake", "early_brake", "low_exit_speed"}))
def test_a_tip_of_the_projects_own_is_kept_where_its_fault_is(cause: str) -> None:
    tip = f"At Turn 6, {ADVICE[cause].tip}."
    assert false_part(tip, known(cause)) is None
    assert false_part(tip, known("exit_understeer")) is not None


@pytest.mark.parametrize(
    ("text", "corners", "evidence", "fits"),
    [
        ("brake later at", ["Turn 6"], known("early_brake"), True),
        ("brake later at", ["Turn 6"], known("early_brake", "late_brake"), False),
        ("brake earlier at", ["Turn 6"], known("late_brake"), True),
        ("brake later", [], known("early_brake"), True),
        ("brake later", [], known("late_brake"), False),
        ("brake later", [], evidence_of({}, PLACES), False),
        ("keep this line at", ["Turn 6"], known(grade="A", loss=0.0), True),
        ("keep this line at", ["Turn 6"], known("early_brake", grade="A", loss=0.0), False),
        ("keep this line at", ["Turn 6"], known(grade="A", loss=0.2), False),
        ("keep this line at", ["Turn 6"], known(grade="C", loss=0.0), False),
        ("focus on", ["Turn 6"], known(loss=0.3), True),
        ("focus on", ["Turn 6"], known(loss=0.01), False),
        ("focus on", [], known(loss=0.3), False),
        ("avoid coasting", [], known("nothing_time"), True),
        ("avoid coasting", [], known("late_brake"), False),
    ],
)
def test_a_change_needs_its_fault_and_praise_its_corner(
    text: str, corners: list[str], evidence: Evidence, fits: bool
) -> None:
    assert (unwise(text, corners, evidence) is None) == fits


def test_a_difference_between_any_two_laps_is_no_fault() -> None:
    row = {"corner": "Turn 6", "apex_delta_kmh": -4.0, "delta_time_s": 0.3}
    of_nothing = evidence_of(row, PLACES)
    of_a_pass = evidence_of({**row, "basis": "session_best"}, PLACES)
    assert unwise("carry more speed at", ["Turn 6"], of_nothing) is not None
    assert unwise("carry more speed at", ["Turn 6"], of_a_pass) is None


UNFIT: Final = """
Brake a touch later for Turn 7 and use the metres you win to let the pedal up more slowly, so the \
front stays loaded as you turn.
Brake a little earlier for Turn 4: build the pressure smoothly and keep the car straight, because \
the rear is light on the way down.
At Turn 4, stay off the polished dry line, the paint and the kerbs.
Touch the kerb at Turn 4 with the inside wheels only, and keep off it if the car jumps.
Because the slope pulls the car back while you brake, you need fewer metres for the same drop in \
speed.
"""


@pytest.mark.parametrize("sentence", lines(UNFIT))
def test_a_teaching_is_dropped_where_its_corner_is_not_like_that(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is not None


def test_a_teaching_stays_where_it_fits_or_names_no_corner() -> None:
    later = lines(UNFIT)[0].replace("Turn 7", "Turn 4")
    assert taught(later, EVIDENCE.corner_names)
    assert false_part(later, EVIDENCE) is None
    nothing = evidence_of({}, PLACES)
    assert false_part("A kerb unloads the tyres for a moment.", nothing) is None
    assert false_part("A kerb unloads the tyres for a moment.", EVIDENCE) is not None
    assert false_part("Braking downhill means a longer stop.", EVIDENCE) is not None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("You lost 0.62 s at Turn 4. Brake a little later.", None),
        ("You lost 0.18 s at Turn 7. Brake a little later.", "You lost 0.18 s at Turn 7."),
        ("You lost 0.62 s at Turn 4. Repeat what worked.", "You lost 0.62 s at Turn 4."),
        (
            "You lost 0.62 s at Turn 4. At Turn 2 you spun. Brake later.",
            "You lost 0.62 s at Turn 4.",
        ),
    ],
)
def test_advice_without_a_corner_is_about_the_one_before(text: str, kept: str | None) -> None:
    assert grounded(text, EVIDENCE).text == (text if kept is None else kept)


def test_a_reader_takes_no_time_over_a_row_of_openers() -> None:
    reader = Reader(EVIDENCE)
    assert not reader("Now then just " * 25 + "so.")
    assert not reader("Relax and breathe, " * 18 + "maybe.")
