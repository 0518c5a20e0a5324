"""Grounding: what a word more, a word less, or another order makes of a true sentence."""

from dataclasses import replace
from typing import Final

import pytest

from runtime.bridge.coach.warm.evidence import Evidence, evidence_of
from runtime.bridge.coach.warm.grounding import false_part, grounded
from runtime.bridge.coach.warm.teachings import FILE, taught
from tests.bridge.coach.warm.groundkit import EVIDENCE, KNOWN, PLACES

LIES: Final = {
    "only, and what leaves the others out": """
        Only Turn 4 cost you time.
        You lost time only at Turn 4.
        You only lost time at Turn 4.
        Just Turn 4 cost you time.
        Turn 4 alone cost you time.
        You lost time solely at Turn 4.
        You merely lost time at Turn 4.
        You purely lost time at Turn 4.
        Only lap 5 was slower than lap 7.
        You lost exactly 0.6 s at Turn 4.
        You lost precisely 0.62 s at Turn 4.
        You lost time at Turn 4 and nowhere else.
        Besides Turn 4 you lost time at Turn 5.
        Apart from Turn 4 you lost no time.
        You lost time everywhere except Turn 2.
        You lost time mainly at Turn 8.
        You lost time especially at Turn 8.
        Even Turn 7 cost you time.
        Also at Turn 2 you lost time.
        You drove about 8 laps.
    """,
    "a range": """
        You lost time from Turn 4 to Turn 8.
        You lost time at Turns 4-8.
        Turns 4 to 10 cost you time.
        Turn 4 or Turn 5 cost you time.
        Turn 4/5 cost you time.
        Turn 4 through Turn 8 cost you time.
        Between Turn 4 and Turn 8 you lost time.
        Laps 1 to 6 were slower than lap 7.
        Laps 2-6 were slower than lap 7.
        Focus on Turns 4 to 5.
        Carry more speed to the apex from Turn 4 to Turn 5.
        Brake later at Turns 4-5.
    """,
    "a comparison of corners": """
        Turn 8 cost time versus Turn 4.
        Turn 8 is slower against Turn 4.
        Turn 8 was slower vs Turn 4.
        You lost time at Turn 8 instead of Turn 4.
        You lost time at Turn 8 with Turn 4.
        You were slower at the apex instead of Turn 4.
        You lost 0.62 s at Turn 4 against Turn 5.
        You coasted in Turn 4 versus Turn 5.
        Turn 4 cost you as much as Turn 5.
        Turn 4 cost you twice as much as Turn 5.
    """,
    "one claim for two things": """
        You were 4.3 km/h slower at the apex and the exit of Turn 5.
        You were 3.7 km/h slower at the exit and the apex of Turn 5.
        At Turn 5 you were 4.3 km/h slower at the apex and at the exit.
        You were slower at the entry and the apex of Turn 5.
        You lost 0.62 s at Turn 4 and Turn 5.
        Turns 4 and 5 each cost you 0.302 s.
        You are slower at Turn 8 and the apex of Turn 5.
        Early braking and coasting cost you 0.02 s at Turn 5.
    """,
    "a place that was not measured": """
        Into Turn 4 you were slower.
        Before Turn 4 you lost 0.62 s.
        After Turn 4 you lost 0.62 s.
        Behind Turn 4 you lost time.
        Around Turn 4 you lost time.
        You lost 0.62 s at the start of Turn 4.
        You started lap 5 slower than lap 7.
        You began to lose time at Turn 4 on lap 1.
        Turn 4 (entry): 0.62 s lost.
        Turn 4, braking: 0.62 s lost.
        On the straight after Turn 4 you lost 0.62 s.
        The car cost you 0.62 s at Turn 4.
        Turn 2 was your best lap.
        Lap 7 was graded C.
    """,
    "the whole loss for one cause": """
        You lost 0.62 s at Turn 4 because you braked early.
        You braked early at Turn 4, so you lost 0.62 s.
        Turn 4 cost you 0.62 s: early braking.
        You coasted for 2.0 s at Turn 4: that cost 0.62 s.
        Turn 4 cost you the most time because you braked early.
        You lost 0.62 s at Turn 4 through early braking.
        Early braking cost you time at Turn 5.
        The slow exit at Turn 4 cost you time.
    """,
    "verdicts": """
        Great effort today.
        Good start.
        Nice work.
        Well done.
        Bravo!
        Keep it up.
        Your stint was relaxed and patient.
        Your drive was calm.
        The run was fun and calm.
        Your effort today was confident.
        You can be proud of yourself.
        Good job at Turn 4!
        Well done at Turn 7.
        Great exit at Turn 5.
        Great job on lap 7.
    """,
    "a best of all days": """
        Your personal best lap was lap 7.
        Lap 7 was your personal best lap.
        You set a personal best lap of 2:12.836.
        You drove your personal best lap today.
        Your personal best is 2:12.836.
    """,
    "a time that nobody told of": """
        You still lose time at Turn 4.
        You already lost 0.62 s at Turn 4.
        You no longer lose time at Turn 2.
        You lost 0.62 s at Turn 4 again.
        You lost 0.62 s at Turn 4 this time.
        You usually lose 0.62 s at Turn 4.
        You lost 0.62 s at Turn 4 until lap 5.
        From lap 2 on you lost 0.62 s at Turn 4.
    """,
    "words without an order": """
        You lost against 0.62 s at Turn 4.
        You came lost 0.62 s at Turn 4.
        Turn 4 because cost you time.
        You lost 0.62 s at Turn 4 because.
        Which Turn 4 cost you time.
        Turn 4 cost you the there time.
        You early braked 15 m early at Turn 4.
        You lost time time at Turn 4.
        Later braking at Turn 4.
        Slower at Turn 4.
    """,
    "two truths that make a lie": """
        You lost 0.62 s at Turn 4, where you were slower at the apex of Turn 5.
        You drove 8 laps, where your best lap was lap 7.
        You braked 15 m early at Turn 4 while you were slower at the apex.
        Your session was graded C: your top speed was 188.3 km/h.
        Your session was graded C - your best lap was lap 7.
    """,
    "teachings that suppose something": """
        Slow down at once, be ready to stop at Turn 4 and do not pass anyone until you see green.
        Lift now, look for the danger at Turn 7 and keep your place.
        The road then runs out at the exit of Turn 7 and you have to lift.
        On the way down to Turn 4 start to brake earlier and a little softer at first, then keep \
the pressure steady to the end.
        Take some speed off Turn 5 until it feels calm.
        Give up a little entry speed at Turn 5, turn in later and get the car pointed early, \
then the throttle can go down once and stay down.
        Brake firmly and early enough for Turn 4 that you can release gently.
        At Turn 5 let it fade evenly instead.
        A warning from the car is a reason to stop pushing at once, not to finish the lap.
        Stop when full throttle no longer comes earlier.
    """,
}


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.replace("\\\n", "").strip().splitlines()]


@pytest.mark.parametrize("kind", sorted(LIES))
def test_nothing_false_is_made_of_known_words(kind: str) -> None:
    shown = [lie for lie in lines(LIES[kind]) if false_part(lie, EVIDENCE) is None]
    assert len(lines(LIES[kind])) >= 5
    assert shown == []


TRUE: Final = (
    "Turn 4 cost you 0.62 s.",
    "You lost 0.62 s at Turn 4.",
    "You lost time at Turn 4 and Turn 5.",
    "You braked 15 m early at Turn 4.",
    "You were 4.3 km/h slower at the apex of Turn 5.",
    "You coasted for 2.0 s at Turn 4.",
    "Your best lap was lap 7 with 2:12.836.",
    "Lap 5 was slower than lap 7.",
    "Turn 2 was good.",
    "Turn 7 earned a C.",
    "You drove 8 laps.",
    "Your top speed was 188.3 km/h.",
    "Turn 4 is a right-hander.",
)
LIMITS: Final = """
    only just merely solely alone purely exactly precisely even also again still already both each
    every all never always not no hardly mostly mainly especially except besides almost nearly
    over under before after between twice half or than instead once sometimes usually
""".split()


@pytest.mark.parametrize("word", LIMITS)
def test_no_word_of_measure_or_limit_may_stand_anywhere_in_a_statement(word: str) -> None:
    for true in TRUE:
        said = true.rstrip(".").split(" ")
        assert false_part(true, EVIDENCE) is None
        for at in range(len(said) + 1):
            lie = " ".join([*said[:at], word, *said[at:]]) + "."
            if word == "before" and "than" in lie:
                continue
            assert false_part(lie, EVIDENCE) is not None, lie


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("You braked early at Turn 4. That cost you 0.62 s.", 1),
        ("You were slower at the apex of Turn 5. It cost you 0.302 s.", 1),
        ("Turn 2 was good. That cost you time.", 1),
        ("Turn 4 cost you time. Great job there.", 1),
        ("Turn 4 cost you time. Enter slower.", 1),
        ("You braked 15 m early at Turn 4. Start earlier and stay smooth.", 1),
        ("Turn 4 cost you time. Late corrections cost grip and speed.", 1),
        ("Turn 4 cost you time. A slow exit costs time on every metre.", 1),
        ("Turn 4 cost you 0.62 s. Before you reach the apex, look at the exit.", 2),
    ],
)
def test_a_sentence_is_no_cover_for_the_next(text: str, kept: int) -> None:
    assert grounded(text, EVIDENCE).kept == kept


def graded(letter: str) -> Evidence:
    return replace(EVIDENCE, grades={**EVIDENCE.grades, "": letter})


@pytest.mark.parametrize("sentence", ["Good work today, Mia.", "Well done.", "Great drive today!"])
def test_a_session_is_praised_as_its_grade_allows(sentence: str) -> None:
    for letter in "AB":
        assert false_part(sentence, graded(letter)) is None
    for letter in "CDEF":
        assert false_part(sentence, graded(letter)) is not None
    assert false_part(sentence, evidence_of({}, PLACES)) is not None


def test_a_corner_is_praised_where_it_was_good() -> None:
    assert false_part("Good job at Turn 2!", EVIDENCE) is None
    assert false_part("Good job at Turn 2 and Turn 4!", EVIDENCE) is not None


def test_a_personal_best_needs_an_earlier_one_that_was_slower() -> None:
    best = "Your personal best lap was lap 7."
    for improvement, true in ((0.4, True), (0.0, False), (-0.4, False)):
        telemetry = {**KNOWN["telemetry"], "improvement_s": improvement}  # type: ignore[dict-item]
        known = evidence_of({"telemetry": telemetry}, PLACES)
        assert (false_part(best, known) is None) == true


@pytest.mark.parametrize(
    "sentence",
    [
        "Coasting cost you time at Turn 4.",
        "In your usual pass you lost 0.62 s at Turn 4.",
        "Your usual pass at Turn 4 is 0.62 s slower than your best pass.",
        "You pulled up to 0.85 g.",
        "Your eight laps lie within 4.26 seconds.",
        "At Turn 5, get the car turned by the apex, so the throttle opens once and stays open.",
        "Breathe out on the straights and relax your hands.",
        "If you put your best sectors together you would gain 0.49 s.",
    ],
)
def test_what_a_coach_says_of_a_session_is_kept(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "At Turn 4, brake a little later in small steps.",
        "Carry a little more speed to the apex of Turn 4.",
        "Get back on the throttle a little earlier at Turn 4.",
        "Use all of the track at the exit of Turn 4.",
    ],
)
def test_more_speed_is_advised_nowhere_where_mistakes_are_punished(sentence: str) -> None:
    risky = [place._replace(danger=place.name == "Turn 4") for place in PLACES]
    assert false_part(sentence, EVIDENCE) is None
    assert false_part(sentence, evidence_of(KNOWN, risky)) is not None


def test_few_teachings_may_name_a_corner_and_all_may_answer_a_plain_question() -> None:
    every = FILE.read_text(encoding="utf-8").splitlines()
    at_a_corner = [f"{key.replace('{c}', 'Turn 4')}." for key in every if "{c}" in key]
    kept = [one for one in at_a_corner if false_part(one, EVIDENCE) is None]
    assert 5 <= len(kept) <= 15
    assert not any(word in one for one in kept for word in ("danger", "flag", "hill", "wet"))
    nothing = evidence_of({}, PLACES)
    plain = [f"{key}." for key in every if "{c}" not in key and taught(key, None)]
    assert sum(false_part(one, nothing) is None for one in plain) > 0.9 * len(plain)


def test_a_wet_track_allows_what_is_said_of_wet_tracks() -> None:
    said = "Slow down before standing water."
    assert false_part(said, EVIDENCE) is not None
    damp = evidence_of({**KNOWN, "surface": "Damp"}, PLACES)
    assert false_part(said, damp) is None
