"""The interface words that label what readers take away: notebooks, scripts, forms and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Labels = Mapping[str, str]

# What the companions of one lesson need; the texts of the whole course have all words.
_OF_A_LESSON: Final = (
    "answers",
    "before_reading",
    "check",
    "choose_all",
    "evidence",
    "expected_output",
    "form_answer",
    "form_change",
    "form_change_help",
    "form_date",
    "form_lesson",
    "form_name",
    "form_shows",
    "form_title",
    "form_where",
    "goals",
    "lesson_on_site",
    "minutes_many",
    "number_answer",
    "number_answer_unit",
    "practice_questions",
    "quiz_label",
)


def chosen(words: Mapping[str, str]) -> dict[str, str]:
    """The labels of a lesson's companions out of all interface words; what lacks is its key."""
    return {key: words.get(key, key) for key in _OF_A_LESSON}


def fill(label: str, **values: object) -> str:
    """*label* with the values of its placeholders (``{name}``); one that lacks some is fine."""
    for name, value in values.items():
        label = label.replace(f"{{{name}}}", str(value))
    return label
