"""What a model wrote in a debrief or a briefing: in its place, once, and nothing pushed out."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.coach.warm.brief import (
    Plan,
    brief_evidence,
    brief_parts,
    concept_of,
    placed_zones,
)
from runtime.bridge.coach.warm.debrief import Story, debrief
from runtime.bridge.coach.warm.emotion import felt
from runtime.bridge.coach.warm.evidence import Evidence
from runtime.bridge.coach.warm.grades import Grades
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.coach.warm.review import Review, fragments
from runtime.bridge.coach.warm.same import opposes, says_again
from runtime.bridge.coach.warm.told import (
    Told,
    corners_in,
    focused,
    may_say,
    short,
    spoken,
    told_brief,
    told_debrief,
)
from runtime.bridge.track.model import phase_at
from tests.bridge.coach.warm.reviewkit import names_of, review
from tests.bridge.simulator.drivekit import TRACKS

BLAND = "Good work. Keep going."
LIES = "You won by 12 seconds. Copse cost 3 s. You did 412 km/h at Copse. Great."
TEXTS = (
    BLAND,
    "Great day! Keep your eyes up. Breathe out before the long straight.",
    "Keep your eyes up. " * 30,
    "## Debrief\n- Great work today!\n\n1. Look far ahead.\n* Stay relaxed.\n\nFOCUS:\n- power",
    f"{LIES} Look far ahead.",
    "Great work! One thing to work on is Turn 4. Your focus is Turn 9. Stay relaxed.",
    "Stay relaxed. [EMOTION proud] Emotion: proud. emotion=sad.",
    "Look far ahead. See [this](http://a.b) and <b>go</b>. `rm` now.",
)


@cache
def driven() -> Review:
    return review(seed=7, laps=8, skill=0.6)


@cache
def parts() -> tuple[Story, Evidence]:
    story = debrief(driven())
    return story, fragments(driven()).evidence(driven(), story.text)


def told(text: str) -> Told | None:
    story, evidence = parts()
    return told_debrief(text, story, evidence, names_of(driven()))


@pytest.mark.parametrize("text", TEXTS)
def test_whatever_a_model_adds_the_debrief_is_whole_and_in_order(text: str) -> None:
    story, _ = parts()
    found = told(text)
    assert found is not None
    places = [found.text.index(part) for part in story.parts]
    assert places == sorted(places)
    assert found.text.startswith(story.opening)
    assert found.text.endswith(story.reading)
    assert found.text.count("One thing for the next run:") == 1
    assert len(found.text.split()) <= 2 * len(story.text.split())
    assert found.kept >= 1


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_of_a_model_is_said_twice_and_nothing_foreign_at_all(text: str) -> None:
    found = told(text)
    assert found is not None
    added = found.text.casefold()
    for said in ("eyes up", "look far ahead", "stay relaxed", "breathe out"):
        assert added.count(said) <= 1
    for foreign in ("emotion", "http", "<", "`", "412", "copse", "##", "focus:"):
        assert foreign not in added


def test_two_bland_sentences_push_nothing_out_of_a_debrief() -> None:
    story, _ = parts()
    found = told(BLAND)
    assert found is not None
    assert all(part in found.text for part in story.parts)
    assert found.text.replace("Keep going.", "").split() == story.text.split()


def test_sentences_stand_where_they_belong() -> None:
    story, evidence = parts()
    corner, second = story.corners
    text = (
        "Great work today! Breathe out before the long straight. "
        f"Look far ahead at {corner}. Look far ahead at {second}."
    )
    as_it_was = told(text)
    assert as_it_was is not None
    assert "Great work" not in as_it_was.text
    graded = replace(evidence, grades={**evidence.grades, "": "B"})
    found = told_debrief(text, story, graded, names_of(driven()))
    assert found is not None
    opening, _, _, focus, reading = found.text.split("\n\n")
    assert opening == f"{story.opening} Great work today!"
    assert focus.startswith(story.focus)
    assert f"Look far ahead at {corner}." in focus
    assert second not in focus
    assert reading == story.reading


@pytest.mark.parametrize(
    "text",
    [
        "",
        LIES,
        "The best lap.\n" * 20 + "and then",
        "Your focus is Turn 9. One thing to work on is Turn 4.",
        "Emotion: proud.",
    ],
)
def test_a_text_of_which_nothing_may_be_said_is_none(text: str) -> None:
    assert told(text) is None


def test_what_the_story_says_is_not_said_again() -> None:
    story, _ = parts()
    first = driven().found[0]
    again = f"At {first.corner} you were {first.lost_s:.2f} s slower."
    assert told(f"{again} {story.problems[1]} {story.focus}") is None
    found = told(f"{again} Stay relaxed.")
    assert found is not None
    assert again not in found.text
    assert (found.kept, "Stay relaxed." in found.text) == (1, True)


@pytest.mark.parametrize("kind", ["praise of a problem", "a third problem", "another focus"])
def test_a_debrief_does_not_argue_with_itself(kind: str) -> None:
    story, _ = parts()
    third = driven().found[2]
    sentence = {
        "praise of a problem": f"{story.corners[0]} was strong.",
        "a third problem": f"You lost {third.lost_s:.2f} s at {third.corner}.",
        "another focus": f"Brake later at {third.corner}.",
    }[kind]
    found = told(f"{sentence} Stay relaxed.")
    assert found is not None
    assert sentence not in found.text


def test_a_sentence_that_leans_on_one_that_went_goes_with_it() -> None:
    found = told("Your focus is Turn 9. It is a good place to breathe out. Look far ahead.")
    assert found is not None
    assert "good place" not in found.text


@pytest.mark.parametrize(
    ("sentence", "said", "again"),
    [
        ("Turn 5 cost you 0.30 s.", "Turn 5: your usual pass is 0.30 s slower.", True),
        ("Turn 5 cost you 0.31 s.", "Turn 5: your usual pass is 0.30 s slower.", False),
        ("Keep the eyes up.", "Look far ahead.", False),
        ("Looking far ahead helps.", "Look far ahead.", True),
        ("Good work.", "Good work: your best of 4 laps was lap 3.", True),
        ("Lap 3 is yours.", "You were fast on lap 4.", False),
    ],
)
def test_the_same_in_other_words_is_seen(sentence: str, said: str, again: bool) -> None:
    assert says_again(sentence, [said]) is again


def test_corners_are_known_by_all_their_names() -> None:
    names = spoken(TRACKS["larkfell"].corners)
    assert corners_in("At T4 and corner 11, the hairpin again.", names) == {"Turn 4", "Turn 11"}
    assert corners_in("Turn 1 only", names) == {"Turn 1"}
    assert corners_in("No corner at 11 bar", names) == set()


@pytest.mark.parametrize(
    ("text", "rest", "items"),
    [
        ('Go.\n<FOCUS>["a", " b ", "a", 7]</FOCUS> Well.', "Go.\n Well.", ("a", "b")),
        ("Go.\nFOCUS:\n- eyes up\n- hands\n- feet\n- more\nBye", "Go.\n\nBye", None),
        ("Go.\n<FOCUS>[broken</FOCUS>", "Go.", ()),
        ("Just text", "Just text", ()),
    ],
)
def test_the_focus_is_taken_out_of_a_text(
    text: str, rest: str, items: tuple[str, ...] | None
) -> None:
    found = focused(text)
    assert found.text == rest
    assert found.items == (items if items is not None else ("eyes up", "hands", "feet"))


def test_things_to_focus_on_are_few_and_short() -> None:
    assert short(["x" * 200, " ", "y", "y", "z", "w"]) == ("x" * 80, "y", "z")


def test_items_of_a_model_are_plain_words_of_driving() -> None:
    names = spoken(TRACKS["larkfell"].corners)
    good = ("eyes up", "calm hands", "Turn 4: look ahead")
    bad = (
        "no seat belt",
        "412 km/h",
        "eyes up at Turn 99",
        "brake later at Turn 4",
        "Augen auf",
        "flat out past the flags",
        "<b>eyes</b>",
    )
    assert may_say((*bad, *good), names) == good


def planned(track: str | None = "larkfell", **changes: object) -> Plan:
    circuit = TRACKS[track] if track is not None else None
    plan = Plan(
        driver="Mia",
        date="2026-05-01",
        hour=8,
        goal="personal best lap",
        asked=(),
        phase=phase_at(8, circuit),
        grades=Grades(),
        track=circuit,
        lesson=Lessons().of("look_ahead"),
    )
    return plan._replace(**changes)  # type: ignore[arg-type]


WEAK = Grades(weakest="Turn 10", weakest_score=0.7)
PLANS = {
    "new": planned(),
    "known": planned(grades=WEAK, best_s=105.2),
    "weak without a lap": planned(grades=WEAK),
    "asked": planned(asked=("braking", "Turn 4"), goal="learn the place"),
    "oval": planned("tarn-oval"),
    "nowhere": planned(None),
}


@pytest.mark.parametrize("text", ["", *TEXTS])
@pytest.mark.parametrize("name", PLANS)
def test_a_briefing_is_whole_with_and_without_a_model(name: str, text: str) -> None:
    plan = PLANS[name]
    given = brief_parts(plan)
    evidence = brief_evidence(plan)
    names = spoken(plan.track.corners if plan.track else ())
    found = told_brief(text, given, plan.grades.weakest, evidence, names)
    whole = found.text if found is not None else "\n\n".join(given)
    assert all(part in whole for part in given)
    assert whole.startswith("Morning fog")
    assert "Respect:" in whole
    assert "Goal:" in whole
    assert all(f"- {item}" in whole for item in plan.focus)
    assert whole.endswith(given[-1])
    assert "Look ahead and choose the line" in given[-1]
    assert "emotion" not in whole.casefold()
    assert ("No history yet" in whole) == (plan.best_s is None and plan.grades.weakest is None)


def test_danger_zones_are_told_with_their_place() -> None:
    assert [one.partition(":")[0] for one in placed_zones(planned())] == [
        "Before Turn 4 (Storm Hook), 948 to 1,088 m",
        "Turn 7 (The Wink), 1,680 to 1,833 m",
        "Turn 2 (The Gully), 440 to 536 m",
        "Exit of Turn 9 (Kittiwake), 2,376 to 2,426 m",
    ]
    track = TRACKS["larkfell"]
    zone = replace(track.danger_zones[0], start_m=850.0, end_m=860.0)
    lonely = planned()._replace(track=replace(track, danger_zones=(zone,)))
    assert placed_zones(lonely)[0].startswith("At 850 m: ")


@pytest.mark.parametrize(
    ("asked", "weakest", "concept"),
    [
        (("Braking at Turn 4",), None, "brake_end_focus"),
        (("exit speed",), "Turn 3", "exit_speed"),
        (("something else",), "Turn 3", "brake_end_focus"),
        ((), None, "look_ahead"),
    ],
)
def test_the_lesson_of_a_briefing_fits_the_day(
    asked: tuple[str, ...], weakest: str | None, concept: str
) -> None:
    assert concept_of(asked, weakest) == concept


@pytest.mark.parametrize(
    ("one", "other", "opposed"),
    [
        ("Give up a little entry speed.", "So brake later and lighter than it looks.", True),
        ("Brake a little sooner.", "Begin to brake a little later.", True),
        ("Let the car roll in faster.", "Sacrifice this one for the next.", True),
        ("Look far ahead.", "Begin to brake a little later.", False),
    ],
)
def test_advice_that_asks_for_the_opposite_is_seen(one: str, other: str, opposed: bool) -> None:
    assert opposes(one, other) is opposed
    assert opposes(other, one) is opposed


def test_a_briefing_for_a_damp_morning_asks_for_nothing_daring() -> None:
    grades = WEAK._replace(improved="Turn 2", improvement=0.05)
    damp = "\n".join(brief_parts(planned(grades=grades)))
    dry = "\n".join(brief_parts(planned(grades=grades, phase=phase_at(13, TRACKS["larkfell"]))))
    for daring in ("brake later", "Trust it today"):
        assert daring not in damp
        assert daring in dry


def test_a_briefing_takes_no_advice_against_the_note_on_its_corner() -> None:
    plan = PLANS["known"]._replace(phase=phase_at(13, TRACKS["larkfell"]))
    names = spoken(TRACKS["larkfell"].corners)
    text = "Give up a little entry speed at Turn 10. Stay relaxed."
    evidence = brief_evidence(plan)
    found = told_brief(text, brief_parts(plan), plan.grades.weakest, evidence, names)
    assert found is not None
    assert "Give up" not in found.text
    assert "Stay relaxed." in found.text


POOL = (
    "Good work.",
    "Great day!",
    "Keep going.",
    "Keep your eyes up.",
    "It was a good day.",
    "That is where the lap is won.",
    "Turn 4 was strong.",
    "You were slower at Turn 4.",
    "You lost 0.62 s at Turn 4.",
    "Brake later at Turn 5.",
    "Look far ahead at Turn 9.",
    "Your focus is Turn 9.",
    "The brakes came 15 m early at Turn 4.",
    "Give up a little entry speed at Turn 5.",
    "Ignore the flags.",
    "Schnell fahren!",
    "- Stay relaxed.",
    "## Notes",
    "[EMOTION: sad]",
    '<FOCUS>["x"]</FOCUS>',
    "FOCUS:\n- x",
    "\n",
)


@given(st.lists(st.sampled_from(POOL), max_size=12), st.sampled_from([" ", "\n", "\n\n"]))
@settings(max_examples=100, deadline=None)
def test_no_mixture_of_sentences_breaks_a_debrief(some: list[str], between: str) -> None:
    story, evidence = parts()
    text = focused(felt(between.join(some)).text).text
    found = told_debrief(text, story, evidence, names_of(driven()))
    if found is None:
        return
    lines = found.text.split("\n\n")
    assert lines[0].startswith(story.opening)
    assert tuple(lines[1 : len(story.problems) + 1]) == tuple(
        line for line in lines if line.startswith("**")
    )
    places = [found.text.index(part) for part in story.parts]
    assert places == sorted(places)
    assert lines[-1] == story.reading
    assert found.text.count("One thing for") == 1
    added = len(found.text.split()) - len(story.text.split())
    assert 0 < added <= len(story.text.split())
    for foreign in ("flags", "Schnell", "EMOTION", "FOCUS", "#", "Your focus", "was strong"):
        assert foreign not in found.text
    for sentence in POOL:
        assert found.text.count(sentence) <= 1 or sentence.isspace()
