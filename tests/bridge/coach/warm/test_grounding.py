"""Grounding: no number, direction or corner survives that the evidence does not carry."""

import random

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from runtime.bridge.coach.warm.evidence import Place, evidence_of
from runtime.bridge.coach.warm.grounding import false_part, grounded, sentences

PLACES = [
    Place(f"Turn {i}", i, ("Storm Hook", "the hairpin") if i == 4 else ()) for i in range(1, 12)
]
KNOWN = {
    "laps": [{"lap": 1, "lap_time_s": 98.914}, {"lap": 2, "lap_time_s": 98.204}],
    "best_lap": {"lap": 2, "best_lap_time_s": 98.204},
    "n_laps": 2,
    "corners": [
        {
            "corner": "Turn 3",
            "basis": "session_best",
            "delta_time_s": 0.41,
            "apex_delta_kmh": -3.4,
            "apex_speed_kmh": 88.2,
            "causes": ["3.4 km/h were missing at the exit.", "The brakes came 12 m early."],
        },
        {"corner": "Turn 4", "delta_time_s": -0.12, "exit_delta_kmh": 2.1, "peak_brake_bar": 62.0},
    ],
}
EVIDENCE = evidence_of(KNOWN, PLACES, ["Larkfell", "Mia"])


@pytest.mark.parametrize(
    "sentence",
    [
        "Turn 3 cost you 0.41 s.",
        "Turn 3 cost you four tenths.",
        "You lost 0.41 seconds in T3.",
        "The apex was taken at 88 km/h in Turn 3.",
        "Your best lap was 1:38.204.",
        "Lap 2 took 1:38.2.",
        "At Storm Hook you gained 0.12 s.",
        "You braked with 62 bar at the hairpin.",
        "You braked 12 m early at Turn 3.",
        "There are 0.4 s to gain at Turn 3.",
        "Turn 3 was 0.41 s slower than your best.",
        "You were slower at Turn 3.",
        "Mia, look far through the corner at Larkfell.",
        "You drove two laps.",
        "On your second lap you took 1:38.204.",
        "One thing: keep your eyes up with two hands on the wheel.",
    ],
)
def test_what_is_known_may_be_said(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Turn 3 cost you 0.61 s.",
        "Turn 3 cost you six tenths.",
        "You lost two seconds.",
        "You lost half a second at Turn 3.",
        "You lost a couple of seconds.",
        "You were 0.41 s faster at Turn 3.",
        "You gained 0.41 s at Turn 3.",
        "You lost 0.41 s at Turn 4.",
        "You were 0.12 s slower in the hairpin.",
        "You were slower at Turn 4.",
        "You were not slower at Turn 3, 0.41 s.",
        "The delta at Turn 3 was -0.41 s.",
        "You braked 12 m late at Turn 3.",
        "The apex speed at Turn 3 was 88.2 km/h, so you are faster there.",
        "With 12 m at Turn 3 you brake late.",
        "The apex speed was 55 mph.",
        "The apex speed was 88.",
        "The apex speed was 88 m/s.",
        "The tyres had 80 °C.",
        "You used more than 50 bar.",
        "Turn 12 was good.",
        "You were great at Copse.",
        "Copse was good.",
        "Becketts Corner was your best.",
        "Lap 1 was your best with 1:38.914.",
        "Lap 1 took 1:38.2.",
        "Lap 7 was good.",
        "Sector 5 was good.",
        "The best lap was 1:36.204.",
        "Your speed was \uff18\uff18 km/h.",
        "You lost a second at Turn 3.",
        "You lost a whole second.",
        "You were a metre wide.",
        "You were twice as fast.",
        "It cost 1,234 m.",
        "You drove 31 laps.",
        "You reached 88.2km/h and 412km/h at Turn 3.",
        "You had 12 % throttle at Turn 3.",
        "Three kilometres per hour and 9 bar were missing.",
    ],
)
def test_what_is_not_known_goes(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is not None


def test_only_the_false_sentences_go_and_they_are_counted() -> None:
    text = (
        "Good morning. You lost 0.41 s at Turn 3. You lost 0.99 s at Turn 3.\n\n"
        "- Copse is next, at Copse brake later.\n- Brake in a straight line."
    )
    found = grounded(text, EVIDENCE)
    assert found.text == ("Good morning. You lost 0.41 s at Turn 3.\n\n- Brake in a straight line.")
    assert (found.kept, found.dropped) == (3, 2)


def test_points_in_numbers_end_no_sentence() -> None:
    assert sentences("It took 1:38.204. Good. Only 0.4 s!") == [
        "It took 1:38.204.",
        "Good.",
        "Only 0.4 s!",
    ]


UNITS = {"km/h": [88.2, 3.4, 2.1], "s": [98.914, 98.204, 0.41, 0.12], "bar": [62.0], "m": [12.0]}
WORDINGS = (
    "You had {} there.",
    "At Turn 3 it was {}.",
    "Well done, {} at the exit!",
    "From the start, with about {}, it went well.",
    "({})",
    "- {} in Turn 4",
)


@given(
    st.sampled_from(sorted(UNITS)),
    st.floats(0.0, 400.0),
    st.integers(0, 3),
    st.sampled_from(WORDINGS),
)
@example("s", 0.9, 1, "You had {} there.")
def test_no_false_number_survives_whatever_the_wording(
    unit: str, value: float, digits: int, wording: str
) -> None:
    written = f"{value:.{digits}f}"
    near = [known for known in UNITS[unit] if abs(known - float(written)) <= 10.0**-digits + 1e-9]
    assume(not near)
    assert grounded(wording.format(f"{written} {unit}"), EVIDENCE).kept == 0


@given(st.sampled_from([0.41, 88.2, 62.0]), st.integers(0, 3))
def test_a_true_number_survives_however_it_is_rounded(value: float, digits: int) -> None:
    worded = {
        0.41: "You lost {} s at Turn 3.",
        88.2: "Your apex speed at Turn 3 was {} km/h.",
        62.0: "You braked with {} bar at Turn 4.",
    }
    assume(float(f"{value:.{digits}f}") > 0)
    assert grounded(worded[value].format(f"{value:.{digits}f}"), EVIDENCE).kept == 1


@given(st.text(max_size=200))
def test_any_text_can_be_judged(text: str) -> None:
    found = grounded(text, EVIDENCE)
    assert grounded(found.text, EVIDENCE).dropped == 0


def test_a_liar_gets_no_false_number_through() -> None:
    rng = random.Random(7)
    for _ in range(300):
        corner, seconds = rng.randint(1, 14), rng.uniform(0.2, 3.0)
        if corner == 3 and abs(seconds - 0.41) < 0.06:
            continue
        lie = rng.choice(
            [
                f"Turn {corner} cost you {seconds:.2f} s.",
                f"You gave away {seconds:.1f} seconds at T{corner}.",
                f"At Turn {corner} you were {seconds:.2f} s slower, by {seconds * 9:.0f} km/h.",
            ]
        )
        true = abs(seconds - 0.41) < 0.06 and corner == 3
        assert (grounded(lie, EVIDENCE).kept == 0) or true, lie
