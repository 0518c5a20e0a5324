"""Moods: tags go, whatever pieces they come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.coach.warm.emotion import EMOTIONS, Strainer, felt, fitting
from runtime.bridge.cues.model import Emotion

PIECES = (
    *("[", "]", "[EMOTION: proud]", "[emotion:tired]", "[ Emotion : x ]", " ", "\n", "word"),
    *("EMOTION", ":", "[EMO", "TION: serious]", ".", "[1]", "é"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "shown", "emotion"),
    [
        ("Good. [EMOTION: proud]", "Good.", "proud"),
        ("[emotion:SERIOUS] Brake later.", "Brake later.", "serious"),
        ("a [EMOTION: proud] b [EMOTION: tired] c", "a b c", "proud"),
        ("a\n\n[ Emotion :  excited ]\n\nb", "a\n\nb", "excited"),
        ("x [EMOTION: focused] y [EMOTION: tired]", "x y", "tired"),
        ("see [1] and [x]", "see [1] and [x]", "neutral"),
        ("cut [EMOTION: pro", "cut", "neutral"),
        ("an open [bracket", "an open [bracket", "neutral"),
        ("[EMOTION: " + "very " * 9 + "long]", "[EMOTION: " + "very " * 9 + "long]", "neutral"),
        ("", "", "neutral"),
    ],
)
def test_the_tags_go_and_the_first_known_word_counts(text: str, shown: str, emotion: str) -> None:
    assert felt(text) == (shown, emotion)


@given(TEXTS, st.data())
def test_however_a_text_is_cut_the_same_comes_out(text: str, data: st.DataObject) -> None:
    strainer, shown, at = Strainer(), "", 0
    while at < len(text):
        step = data.draw(st.integers(1, 7))
        shown += strainer.feed(text[at : at + step])
        at += step
    shown += strainer.finish()
    assert (shown, strainer.emotion) == felt(text)
    assert strainer.emotion in EMOTIONS
    assert shown == shown.strip()


@pytest.mark.parametrize(
    ("mood", "usual", "grade", "taken"),
    [
        ("proud", "encouraging", "D", "encouraging"),
        ("proud", "encouraging", "C", "encouraging"),
        ("proud", "encouraging", None, "encouraging"),
        ("proud", "encouraging", "B", "proud"),
        ("excited", "serious", "F", "serious"),
        ("disappointed", "encouraging", "A", "encouraging"),
        ("disappointed", "serious", "E", "disappointed"),
        ("analyzing", "encouraging", None, "analyzing"),
        ("neutral", "encouraging", "A", "encouraging"),
        ("concerned", "encouraging", "D", "encouraging"),
        ("proud", "concerned", "A", "concerned"),
    ],
)
def test_a_model_is_in_a_mood_that_the_grade_allows(
    mood: Emotion, usual: Emotion, grade: str | None, taken: Emotion
) -> None:
    assert fitting(mood, usual, grade) == taken
