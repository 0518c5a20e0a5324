"""The models make the schemas of the sources, and hold what an author wrote."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from course.read import export, schema
from course.read.models import SOURCES, LessonFrontMatter, Quiz
from tests.course import mutations


@pytest.mark.parametrize("name", SOURCES)
def test_a_schema_is_what_the_model_says(name: str) -> None:
    assert export.written(export.export(name)) + "\n" == schema.source(name).decode()


@pytest.mark.parametrize("name", SOURCES)
def test_a_model_written_out_by_alias_is_what_was_read(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(SOURCES[name])
    for sample in [*mutations.load(name)["examples"], *mutations.full_samples(name)]:
        model = adapter.validate_python(sample)
        assert adapter.dump_python(model, by_alias=True, exclude_unset=True, mode="json") == sample


def test_a_model_cannot_be_changed_and_shares_nothing_with_its_source() -> None:
    source = copy.deepcopy(mutations.load("lesson")["examples"][0])
    lesson = LessonFrontMatter.model_validate(source)
    source["objectives"].append("Something else entirely.")
    assert lesson.objectives == ("Mark the start, peak and release of one braking event.",)
    with pytest.raises(ValidationError, match="frozen"):
        lesson.title = "Other"  # type: ignore[misc]


def test_absent_optional_values_take_the_documented_defaults() -> None:
    lesson = LessonFrontMatter.model_validate(mutations.load("lesson")["examples"][1])
    assert (lesson.minutes, lesson.check, lesson.equipment, lesson.review) == (None, None, (), None)
    quiz = Quiz.model_validate(mutations.load("quiz")["examples"][0])
    assert quiz.questions[1].stage == "after"
    assert quiz.questions[0].shuffle is True
    assert [option.correct for option in quiz.questions[0].options] == [False, True]
