"""Grounding: what a coach usually says is kept, in its context, whole or as it comes."""

import time
from typing import Final

import pytest

from runtime.bridge.coach.agents.sieve import Sieve
from runtime.bridge.coach.warm.evidence import Place, evidence_of
from runtime.bridge.coach.warm.grounding import Reader, false_part, grounded, leans, tone
from runtime.bridge.coach.warm.teachings import FILE
from tests.bridge.coach.warm.groundkit import EVIDENCE, KNOWN, PLACES
from training.coach.teachings import keys

USUAL: Final = """
Solid session, Mia.
You put in eight laps and your best was a 2:12.836 on lap 7.
Your best lap of 2:12.836 came on lap 7.
Lap 7 was your quickest at 2:12.836.
The biggest opportunity is Turn 4, where you lost 0.62 seconds.
Turn 4 is costing you 0.62 s compared to your best pass.
In Turn 4, you braked about 15 m early.
At Turn 4 you start braking 15 metres too early.
That leaves you coasting for 2.0 s before the throttle.
You are coasting for 2 seconds in Turn 4.
You spent 2.0 s coasting in Turn 4.
In Turn 5 you are losing 0.30 s.
Turn 5 cost you 0.3 seconds, mostly at the exit.
Your exit speed at Turn 5 was 65.4 km/h, 3.7 km/h down on your reference.
At Turn 5, your exit speed was 65.4 km/h against a reference of 69.1 km/h.
You left Turn 5 at 65 km/h instead of 69 km/h.
Your apex speed in Turn 5 is 53.0 km/h versus 57.4 km/h.
You carried 4.3 km/h less through the apex of Turn 5.
Carry a bit more speed into the apex at Turn 5.
Try to move your braking point later at Turn 4 in small steps.
Try braking a few metres later at Turn 4.
Release the brake more gradually as you turn in.
Focus on getting back to the throttle sooner at Turn 5.
Work on minimizing coasting time at Turn 10.
Go directly from brake to throttle without pausing.
Keep your eyes on the exit as you come through the corner.
Look through the corner to the exit.
Be patient with the throttle until you can unwind the wheel.
Squeeze on the power as you open up the steering.
A smoother brake release will help you carry more speed.
For your next session, focus on Turn 4.
Next session, pick a later braking marker for Turn 4 and commit to it.
Your main focus should be Turn 4.
Let's focus on one thing: the exit of Turn 5.
Your top speed was 188.3 km/h.
You hit a top speed of 188 km/h.
Your maximum brake pressure was 43.3 bar.
You peaked at 0.85 g.
Your laps were within 4.26 s of each other.
The spread of your lap times was 4.3 seconds.
Your ideal lap would be 0.49 s faster.
Putting your best sectors together would gain 0.49 s.
There is 0.49 s to be found by putting your best sectors together.
Turn 10 cost 0.32 s and you coasted for 2.1 s there.
At Turn 10, you lost 0.32 s, with 2.1 s of coasting.
You were 3.1 km/h slower at the apex in Turn 10.
You lost time in Turn 8 as well, about 0.18 s.
Turn 8 was 0.18 s off your best.
Turn 8 earned a D grade.
You got a C for Turn 7.
Turn 7 earned a C.
Overall, your session grade is C.
Good job on completing 8 clean laps.
Well done on your consistency.
Nice work out there today!
Keep up the good work.
Keep building on this.
You are making good progress.
Stay relaxed and trust your braking marker.
Take a deep breath and stay focused.
Remember to look ahead.
Use all of the track on the exit.
Hold a little brake pressure past turn-in.
Trail the brake to the apex.
Turn in a touch later so that you can open the exit.
Straighten the wheel before you add throttle.
Focus on smooth inputs.
Make one change at a time.
What did you feel at the entry of Turn 4?
How confident are you with your braking point?
That cost you 0.62 s.
You can gain 0.62 s there.
This cost you 3.7 km/h at the exit.
You braked early and coasted.
Try to brake later at Turn 4 and carry the speed through the corner.
When the wheel is straight, go to full throttle.
Once you reach the apex, start to unwind the steering.
"""


def usual() -> list[str]:
    return [line.strip() for line in USUAL.strip().splitlines()]


def test_most_of_what_a_good_coach_says_is_kept() -> None:
    reader = Reader(EVIDENCE)
    lines = usual()
    dropped = [line for line in lines if not reader(line)]
    assert len(lines) >= 60
    assert len(dropped) <= 0.3 * len(lines), dropped


def test_a_sentence_is_judged_at_once() -> None:
    lines = usual() * 5
    false_part(lines[0], EVIDENCE)
    began = time.process_time()
    for line in lines:
        false_part(line, EVIDENCE)
    assert time.process_time() - began < 0.005 * len(lines)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Focus on Turn 4. It cost you 0.62 s.", None),
        ("Look at Turn 7. You lost 0.62 s there.", "Look at Turn 7."),
        ("Turn 2 was good. You lost 0.62 s there.", "Turn 2 was good."),
        ("Turn 4 cost you 0.62 s. You braked 15 m early there.", None),
        ("Turn 4 cost you 0.62 s. Copse is next. It cost 0.62 s.", "Turn 4 cost you 0.62 s."),
        (
            "You gained 0.05 s at Turn 2. The brakes came 15 m early.",
            "You gained 0.05 s at Turn 2.",
        ),
        ("Turn 5 and Turn 4 were slower. It cost 0.62 s.", "Turn 5 and Turn 4 were slower."),
        ("The brakes came 15 m early.", ""),
        ("At Turn 4 the brakes came 15 m early. Brake later there.", None),
        ("At Turn 2 you gained 0.05 s. Brake later there.", "At Turn 2 you gained 0.05 s."),
        ("Turn 9 was a spin. That cost you 0.62 s.", ""),
    ],
)
def test_it_and_there_mean_the_corner_that_was_named_last(text: str, kept: str | None) -> None:
    assert grounded(text, EVIDENCE).text == (text if kept is None else kept)


def test_what_leans_on_a_sentence_that_went_goes_with_it() -> None:
    shown = Sieve(lambda line: "bad" not in line)
    assert shown.finish("One good. A bad one. It is why. That too. Another. It stays.") == [
        "One good.",
        "Another.",
        "It stays.",
    ]
    assert shown.dropped == 3
    assert leans("And there you lost it.")
    assert not leans("There are 0.4 s to gain.")
    assert not leans("Turn 4 is next.")


def test_a_stream_is_judged_as_the_whole_text_is() -> None:
    text = "Turn 4 cost you 0.62 s. Copse is next. It cost 0.62 s. Keep your eyes up. Lap 1 won."
    sieve, shown = Sieve(Reader(EVIDENCE)), []
    for at in range(0, len(text), 3):
        shown += sieve.feed(text[at : at + 3])
    shown += sieve.finish()
    assert (
        " ".join(shown)
        == grounded(text, EVIDENCE).text
        == ("Turn 4 cost you 0.62 s. Keep your eyes up.")
    )


def test_true_sentences_may_be_repeated_where_they_belong() -> None:
    known = evidence_of(KNOWN, PLACES, told=["**Turn 4** is a beast: it bites twice.\nMind it."])
    assert false_part("Turn 4 is a beast: it bites twice.", known) is None
    assert false_part("turn 4 is a beast: it bites twice", known) is None
    assert false_part("Turn 5 is a beast: it bites twice.", known) is not None
    assert false_part("Turn 4 is a beast: it bites thrice.", known) is not None
    assert known.knowing("Wild words are fine.").told.keys() >= {"wild words are fine"}


def test_what_a_driver_wants_is_no_evidence() -> None:
    wish = {"goal": "Your best lap was 1:20.0", "focus": ["You gained 3 s at Turn 4"]}
    known = evidence_of({**KNOWN, **wish}, PLACES)
    assert false_part("Your best lap was 1:20.0.", known) is not None
    assert false_part("You gained 3 s at Turn 4.", known) is not None


@pytest.mark.parametrize(
    ("sentence", "true"),
    [
        ("Turn 4 is a right-hander.", True),
        ("Turn 5 is a left-hander.", True),
        ("Turn 4 is a left-hander.", False),
        ("Turn 5 turns right.", False),
    ],
)
def test_a_corner_turns_as_the_track_says(sentence: str, true: bool) -> None:
    assert (false_part(sentence, EVIDENCE) is None) == true
    bare = evidence_of(KNOWN, [Place(place.name, place.number) for place in PLACES])
    assert false_part(sentence, bare) is not None


@pytest.mark.parametrize(
    ("basis", "sentence", "true"),
    [
        ("session_best", "At Turn 4 you were 0.62 s slower than your best pass.", True),
        ("session_best", "At Turn 4 you were 0.62 s slower than the reference.", False),
        ("reference_file", "At Turn 4 you were 0.62 s slower than the reference.", True),
        ("reference_file", "At Turn 4 you were 0.62 s slower than your best pass.", False),
    ],
)
def test_what_it_is_compared_with_is_told_as_it_is(basis: str, sentence: str, true: bool) -> None:
    row = {"corner": "Turn 4", "basis": basis, "delta_time_s": 0.62}
    known = evidence_of({"corners": [row]}, PLACES)
    assert (false_part(sentence, known) is None) == true


def test_ranks_need_every_corner() -> None:
    rows = [
        {"corner": place.name, "delta_time_s": 0.1 + 0.01 * at} for at, place in enumerate(PLACES)
    ]
    known = evidence_of(rows, PLACES)
    assert false_part("You lost the most time at Turn 11.", known) is None
    assert false_part("Turn 11 was your weakest corner.", known) is None
    assert false_part("You lost the most time at Turn 10.", known) is not None
    assert (
        false_part("You lost the most time at Turn 10.", evidence_of(rows[:-1], PLACES)) is not None
    )
    told = evidence_of({"weakest": {"corner": "Turn 3", "score": 0.5}}, PLACES)
    assert false_part("Turn 3 is your weakest corner.", told) is None
    assert false_part("Turn 4 is your weakest corner.", told) is not None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Good work, your best lap was lap 7.", "praise"),
        ("You gained 0.05 s at Turn 2.", "praise"),
        ("You lost 0.62 s at Turn 4.", "loss"),
        ("Turn 4 was slower than your best pass.", "loss"),
        ("Brake a little later at Turn 4.", "advice"),
        ("Keep your eyes up.", "advice"),
        ("Lap 7 took 2:12.836.", "plain"),
        ("You were not slower.", "loss"),
    ],
)
def test_the_tone_of_a_sentence(sentence: str, expected: str) -> None:
    assert tone(sentence) == expected


def test_the_sentences_of_the_projects_own_are_those_that_the_shipped_model_learned() -> None:
    assert FILE.read_text(encoding="utf-8").splitlines() == keys()
