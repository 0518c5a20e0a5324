"""Debriefs: true and in order without a model, and what a model wrote brought into that order."""

from collections.abc import Callable

import numpy as np
import pytest

from runtime.bridge.telemetry.values import Frames
from runtime.bridge.tracks.drive import drive
from runtime.bridge.warm.debrief import debrief
from runtime.bridge.warm.grounding import false_part, sentences
from runtime.bridge.warm.review import Review, fragments
from runtime.bridge.warm.told import focused, is_praise, short, told_comment, told_debrief
from tests.bridge.laps.sessions import kept
from tests.bridge.warm.modelkit import LARKFELL
from tests.bridge.warm.reviewkit import review

SESSIONS: dict[str, Callable[[], Review]] = {
    "usual": review,
    "wild": lambda: review(laps=8, seed=7, skill=0.6),
    "even": lambda: review("tarn-oval", 3, 8, 0.99),
    "one lap": lambda: review(laps=1, seed=3),
    "better than ever": lambda: review(seed=9, before=130.0),
    "not better": lambda: review(seed=9, before=60.0),
    "no track file": lambda: review(seed=10, skill=0.7, bare=True),
    "circle": lambda: review("roundel-pad", 5, 5),
    "no lap": lambda: review(frames=_half(), partial=True),
}


def _half() -> Frames:
    whole = drive(LARKFELL, 1, hz=10.0).frames
    return kept(whole, np.arange(len(whole)) < 600)


@pytest.fixture(params=sorted(SESSIONS))
def told(request: pytest.FixtureRequest) -> Review:
    return SESSIONS[request.param]()


def test_every_sentence_without_a_model_is_carried_by_its_evidence(told: Review) -> None:
    evidence = fragments(told).evidence(told)
    story = debrief(told)
    for part in (story.opening, *story.problems, story.focus):
        for sentence in sentences(part):
            assert false_part(sentence, evidence) is None, sentence


def test_praise_comes_first_then_two_problems_at_most_then_one_focus(told: Review) -> None:
    story = debrief(told)
    assert is_praise(story.opening) or told.partial or len(told.laps.laps) == 1
    assert len(story.problems) <= 2
    assert all(any(letter.isdigit() for letter in problem) for problem in story.problems)
    assert story.focus.startswith("One thing for the next run:")
    assert 1 <= len(story.items) <= 3
    assert story.text.startswith(story.opening)
    assert "None" not in story.text
    assert "nan" not in story.text


def test_a_better_lap_than_ever_is_said_to_be_one() -> None:
    before = review(seed=9, before=130.0)
    assert debrief(before).opening.startswith("A new best for you here")
    assert debrief(before).emotion == "proud"
    assert "new best" not in debrief(review(seed=9, before=60.0)).opening


def test_the_focus_names_the_corner_that_costs_most_and_a_number_to_reach() -> None:
    found = review(seed=7, laps=8, skill=0.6)
    story = debrief(found)
    assert found.costly[0].corner in story.focus
    assert found.costly[0].corner in story.items[0]
    assert "km/h instead of" in story.focus


def test_a_models_text_is_brought_into_order() -> None:
    found = review(seed=7, laps=8, skill=0.6)
    given = fragments(found)
    corner = found.costly[0].corner
    loss = found.costly[0].delta_time_s or 0.0
    lost = f"{loss:.2f} s"
    lines = f"{corner} cost you {lost}. You lost {lost} at {corner}. {lost} were lost at {corner}."
    told = told_debrief(f"{lines} Keep your eyes up.", debrief(found), given.evidence(found))
    assert told is not None
    assert told.text.startswith(debrief(found).opening)
    assert told.text.count(lost) == 2
    assert told.text.endswith(debrief(found).reading)
    assert told.kept == 3


def test_a_text_of_lies_is_no_debrief() -> None:
    found = review()
    lies = "You won by 12 seconds. Copse cost 3 s. You did 412 km/h at Copse. Great."
    assert told_debrief(lies, debrief(found), fragments(found).evidence(found)) is None


def test_a_text_that_goes_round_in_circles_is_no_debrief() -> None:
    found = review()
    story, evidence = debrief(found), fragments(found).evidence(found)
    circles = "The best lap.\n" * 20 + "and then"
    assert told_debrief(circles, story, evidence) is None
    assert told_debrief("Keep your eyes up. " * 9, story, evidence) is None


def test_a_small_model_only_adds_to_the_plain_debrief() -> None:
    found = review()
    story, evidence = debrief(found), fragments(found).evidence(found)
    told = told_comment("Look at the exit early. You won 9.9 s there.", story, evidence)
    assert told is not None
    assert told.text == story.text.replace(
        story.reading, f"Look at the exit early.\n\n{story.reading}"
    )
    assert (told.kept, told.dropped) == (1, 1)
    assert told_comment("You won 9.9 s there.", story, evidence) is None


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
