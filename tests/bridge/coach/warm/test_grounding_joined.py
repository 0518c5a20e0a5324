"""Grounding: what is true in its parts, and false as it is put together, is not shown."""

from typing import Final

import pytest

from runtime.bridge.coach.warm.evidence import Place, evidence_of
from runtime.bridge.coach.warm.grounding import Reader, false_part, grounded
from tests.bridge.coach.warm.groundkit import EVIDENCE, KNOWN, PLACES

LIES: Final = {
    "a place or a lap behind a claim": """
        You lost 0.62 s at Turn 4, on lap 3.
        You lost 0.62 s at Turn 4 (lap 5).
        You lost 0.62 s at Turn 4 - on lap 2.
        You lost 0.62 s at Turn 4, at Turn 5.
        You lost 0.62 s at Turn 4, Turn 5.
        You braked early at Turn 4, then at Turn 8.
        You braked early at Turn 4; at Turn 7; at Turn 9.
        You braked early at Turn 5, on laps 1 and 2.
        Your best lap was lap 7, then lap 3.
        Your slowest lap was lap 5, then lap 8.
        Turn 2 was good, then Turn 4.
        Turn 2 got an A, Turn 5.
        Turn 9; Turn 4: early braking.
        Turn 9 (Turn 4): you braked early.
        The Wink, Chapel: you lost 0.316 s.
        Turn 9 and the hairpin cost you time.
        Your top speed was 188.3 km/h, on lap 2.
        Your top speed was 188.3 km/h (lap 7).
        You coasted for 2.0 s at Turn 4 - on lap 4.
        You lost time at Turn 4, from lap 1 to lap 7.
        You lost time at Turn 4, out of Turn 3.
        You lost time at Turn 4, by Turn 5.
        Your best lap was 2:12.836, on lap 6.
        Your best lap was 2:12.836 (Lap 1).
        Turn 4 cost you 0.62 s; Turn 3; Turn 2.
    """,
    "a cause that joins two facts": """
        Turn 8 cost you 0.183 s because you braked early.
        Turn 7 cost you 0.181 s because you were slower at the exit.
        Turn 10 cost you 0.316 s because you braked early.
        Turn 10 cost you 0.316 s because you were slower at the exit.
        Because you braked early at Turn 8, you lost 0.183 s.
        Because you were faster at the exit, you lost time at Turn 4.
        You braked early at Turn 8, so you lost 0.183 s.
        You coasted at Turn 4, so your exit was 1.1 km/h faster.
        You coasted at Turn 4 because you braked early.
        You braked early at Turn 10, which cost you 0.316 s.
        You braked early at Turn 10, and that cost you 0.316 s.
        Turn 8 cost you 0.183 s: early braking.
        Turn 8 cost you 0.183 s; you braked early.
        Turn 10 cost you 0.316 s - you braked early.
        Turn 10 cost you 0.316 s, early braking.
        Turn 8 cost you 0.183 s (early braking).
        Lap 7 was your best lap because you coasted at Turn 4.
        You lost time at Turn 4 because you were faster at the exit.
        You lost time at Turn 4 as you braked early at Turn 5.
        You lost time at Turn 8 since you braked early.
        Turn 10 cost you 0.316 s, where you braked early.
        You lost 0.183 s at Turn 8 while you braked early.
        You braked early at Turn 8, losing 0.183 s.
        You lost 0.183 s at Turn 8 by 6 m of early braking.
        You braked early at Turn 10, that is why it cost 0.316 s.
    """,
    "what belongs to something else": """
        Your session grade is C at Turn 7.
        Your session grade is C, Turn 7.
        Your best lap, lap 7, was your best corner.
        Your top speed was 188.3 km/h at Turn 4.
        Your laps were within 4.26 s at Turn 4.
        Lap 3 was 0.151 s slower than lap 7 at Turn 4.
        With your best sectors together you would gain 0.488 s at Turn 4.
        Your best lap was 2:12.836 at Turn 4.
        You lost 0.62 s at Turn 4 in each of 8 laps.
        Your 8 laps had 0.62 s of loss at Turn 4.
        In your best pass you left Turn 4 with 49.6 km/h.
        Turn 4 was 0.62 s faster in your best pass.
    """,
    "nothing, or too coarse": """
        You lost 0 s at Turn 4.
        You lost zero seconds at Turn 8.
        You lost no seconds at Turn 8.
        You lost 0.0 s at Turn 7.
        Your laps were zero seconds apart.
        Your lap times were within 0 s.
        You were 0 km/h slower at the apex of Turn 5.
        There are zero seconds to gain with your best sectors.
        You lost 1 s at Turn 4.
        You lost one second at Turn 4.
        Coasting cost you 0 s at Turn 4.
        Coasting cost you 0.3 s at Turn 10.
        You lost 0.1 s at Turn 7.
        You braked 0 m early at Turn 7.
        You were 1 km/h slower at the exit of Turn 10.
        Your best lap was 2:12.
    """,
    "right and left in another sense": """
        You got Turn 4 right.
        You had Turn 8 just right.
        You were right at Turn 4.
        Turn 4 was right.
        Turn 4 went right.
        You have only Turn 2 left.
        You started Turn 4 right.
        You made Turn 8 right.
        You put Turn 3 right.
        Exactly right at Turn 10.
        You got the corner right at Turn 4.
        Turns 1, 3 and 4 went right.
        You took the right line at Turn 4.
        Right at Turn 4.
        Turn 5 is what is left.
    """,
    "questions that suppose or propose": """
        Did you notice that you were on the brake at the exit of Turn 4?
        Do you remember that the car was on the kerb at Turn 4?
        Did you see that you were first at Turn 4?
        Did you feel that the tyres were like the brakes?
        Could you brake at the apex of Turn 4?
        Can you try to brake more at the apex of Turn 8?
        Could you try the throttle at turn-in?
        Would you like more throttle at the entry of Turn 4?
        Are you sure that you were on the throttle at the apex of Turn 4?
        Do you think that your brakes were with the throttle at Turn 8?
        Where did you see that the car was at the kerb?
        Can you try the brake and the throttle?
        How did Turn 4 feel, as you were best there?
        How did Turn 4 feel with the brake on at the exit?
        Ready? Brake at the apex?
        What did you see at Turn 4 and Turn 5?
        Why are you slow?
        How did it feel to spin?
    """,
    "compared with what nobody knows": """
        You were 0.62 s slower at Turn 4 than the reference.
        You lost 0.62 s at Turn 4 to the reference.
        In your usual pass you leave Turn 4 with 49.6 km/h.
        Your usual pass had 35.1 km/h at the apex of Turn 4.
        You lose 0.62 s per lap at Turn 4.
        You lose 0.62 s at Turn 4 every lap.
        You lose 0.62 s per pass at Turn 4.
        The reference had 37.2 km/h at the apex of Turn 4.
        Your reference speed at the exit of Turn 5 was 69.1 km/h.
        You always lose 0.62 s at Turn 4.
        You braked 6 m late at Turn 11.
        You lost 0.62 s at Turn 4 against lap 7.
        You were 4.3 km/h slower at the apex of Turn 5 than the reference.
        Each pass cost you 0.62 s at Turn 4.
    """,
    "praise of what was not good": """
        Great drive today.
        Great session, Mia.
        It was a great session.
        Your drive today was really great.
        Very solid work.
        Well done, all good.
        Keep it up, you have a great drive.
        You drove 8 clean laps.
        You drove eight good laps.
        Great work on 8 clean laps.
        Lap 7 was a strong, clean lap.
        Lap 3 was great.
        Great, lap 3.
        Well done, lap 5!
        Bravo: Turns 4, 5 and 8!
        Great, at Turns 4 and 8.
        Super: lap 1, lap 2 and lap 3.
        Great work, Turns 4 and 5!
        Strong exit at Turn 10.
        Your exit at Turn 6 was good.
        Turn 4 was good at the exit of Turn 5.
    """,
    "a number beside advice": """
        Keep your eyes up at Turn 4, which would gain 0.62 s.
        Enjoy Turn 4, which would gain 0.62 s.
        Breathe at Turn 4, you could save 0.62 s.
        Drink water: 0.488 s to gain with your best sectors.
        Drink water and there is 0.488 s to gain with your best sectors.
        Look up, which would gain you 0.62 s at Turn 4.
        Have fun, so you could find 0.62 s at Turn 4.
        Rest, and you could gain 0.62 s at Turn 4.
        Relax: you lost 0.62 s at Turn 4.
        Look ahead on lap 2.
    """,
    "names in the wrong place": """
        Mia lost 0.62 s at Turn 4.
        Larkfell Circuit lost 0.62 s at Turn 4.
        Larkfell was wonderful to you today.
        You lost 0.62 s at Turn 4 to Mia.
        You lost 0.62 s at Turn 4 like Mia.
        Mia was 0.62 s slower at Turn 4.
        Your loss at Turn 4, Mia and Larkfell, was 0.62 s.
        Thanks to Larkfell you drove 8 laps.
        You completed 8 laps of Larkfell.
        You drove 8 laps for Mia.
    """,
    "a rank of something else": """
        Most of your time was lost at Turn 4.
        Turn 4 cost you most of your time.
        Turn 2 was your best exit.
        Your best apex speed at Turn 2 was 88.0 km/h.
        Your best exit at Turn 2 was 101.3 km/h.
        Turn 2 was your best braking.
        Turn 2 was your best pass.
        You can gain 0.488 s in your best sector.
        There is 0.488 s to gain in a sector.
        Your best sector would gain 0.488 s.
        Turn 4 cost you the most speed.
        Turn 4 was your worst exit.
    """,
    "another person": """
        I lost 0.62 s at Turn 4.
        We lost 0.62 s at Turn 4.
        My best lap was lap 7.
        Our best lap was lap 7.
        We braked early at Turn 4.
        I braked early at Turn 4.
        My top speed was 188.3 km/h.
        It cost us 0.62 s at Turn 4.
        Turn 4 cost me 0.62 s.
        I was 4.3 km/h slower at the apex of Turn 5.
    """,
}


@pytest.mark.parametrize("kind", sorted(LIES))
def test_no_part_of_a_sentence_goes_unchecked(kind: str) -> None:
    lies = [line.strip() for line in LIES[kind].strip().splitlines()]
    shown = [lie for lie in lies if false_part(lie, EVIDENCE) is None]
    assert len(lies) >= 10
    assert shown == []


@pytest.mark.parametrize(
    "sentence",
    [
        "You lost 0.62 s at Turn 4, on lap 1.",
        "At Turn 4, on lap 1, you lost 0.62 s.",
        "Your best lap was 2:12.836, on lap 7.",
        "Your best lap was 2:12.836 (lap 7).",
        "Turn 4 cost you time because you braked early.",
        "You braked early at Turn 4, so you lost time.",
        "Turn 5 cost you time: early braking.",
        "Turn 5 cost you time because you were slower at the exit.",
        "In a typical pass you lost 0.62 s at Turn 4.",
        "You lost 0.62 s at Turn 4 and braked 15 m early.",
        "At Turn 5 you were 3.7 km/h slower at the exit than in your best pass.",
        "At Turn 5 you were 4.3 km/h down at the apex.",
        "Turn 4 is a right-hander.",
        "Turn 5 goes left.",
        "Ready?",
        "Ready to go?",
        "How did Turn 4 feel?",
        "How did the car feel at the hairpin?",
        "What did you see at Turn 8?",
        "Good morning, Mia.",
        "Keep going.",
        "Turn 2 was good.",
        "You drove 8 laps.",
        "You braked 6 m late at Turn 11 on lap 1.",
    ],
)
def test_what_is_carried_as_a_whole_may_be_said(sentence: str) -> None:
    assert false_part(sentence, EVIDENCE) is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("You lost 0.302 s at Turn 5. At Turn 4 you spun. Keep this line.", 1),
        ("Turn 4 cost you 0.62 s. Turn 2 was icy. It cost you 0.62 s.", 1),
        ("Turn 4 cost you 0.62 s. Early braking.", 1),
        ("Turn 4 cost you 0.62 s. Early throttle.", 1),
        ("Turn 4 cost you 0.62 s. Entry speed.", 1),
        ("You braked early at Turn 10. That cost you 0.316 s.", 1),
        ("You braked early at Turn 4. That cost you 0.62 s.", 1),
        ("You braked early at Turn 4. That cost you time.", 2),
        ("Turn 2 was good. That cost you time.", 1),
        ("You lost 0.62 s at Turn 4 and 0.302 s at Turn 5. It cost you 0.62 s.", 1),
        ("Turn 4 cost you 0.62 s. Turn 2 was icy. Keep your eyes up.", 2),
    ],
)
def test_what_a_sentence_leaves_out_is_what_was_shown_last(text: str, kept: int) -> None:
    reader = Reader(EVIDENCE)
    assert grounded(text, EVIDENCE).kept == kept
    assert sum(reader(f"{one}.") for one in text.rstrip(".").split(". ")) == kept


def test_a_stretch_of_the_track_is_no_person_and_no_place() -> None:
    known = evidence_of(KNOWN, PLACES, ["Larkfell", "Mia"], areas=["Moor", "Cliffs"])
    for lie in (
        "You lost 0.62 s at Turn 4 in Moor.",
        "Very good, Moor and Cliffs.",
        "Your top speed at Moor was 188.3 km/h.",
        "Well done, Moor.",
        "You can gain 0.488 s in Moor with your best sectors.",
    ):
        assert false_part(lie, known) is not None, lie
    assert false_part("Your top speed at Larkfell was 188.3 km/h.", known) is None


def test_a_number_of_the_best_pass_is_told_as_such() -> None:
    told = ["Turn 3, best pass, exit speed: 90.2 km/h.", "Turn 3 took 3.64 s at best, on lap 1."]
    known = evidence_of(told, [Place("Turn 3", 3)])
    assert false_part("You left Turn 3 with 90.2 km/h.", known) is not None
    assert false_part("In a typical pass you left Turn 3 with 90.2 km/h.", known) is not None
    assert false_part("Turn 3 took 3.64 s.", known) is not None
    assert false_part("Turn 3 took 3.64 s at best.", known) is None


def test_what_lies_between_two_laps_is_told_of_no_other() -> None:
    told = ["On lap 3 you lost 0.23 s at Turn 4 against lap 1."]
    known = evidence_of(told, PLACES)
    assert false_part("You lost 0.23 s at Turn 4.", known) is not None
    assert false_part("On lap 3 you lost 0.23 s at Turn 4.", known) is not None
    assert false_part(told[0], known) is None
