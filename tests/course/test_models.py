"""The typed views accept exactly what the schemas accept, and cannot be changed afterwards."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from course.read.models import SOURCES, LessonFrontMatter
from course.read.models.published import RESOURCES
from course.read.models.view import plain, view
from tests.course import mutations

ADAPTERS: dict[str, TypeAdapter[Any]] = SOURCES | {
    f"{name}.v1": adapter for name, adapter in RESOURCES.items()
}


def accepts(adapter: TypeAdapter[Any], data: Any) -> bool:
    try:
        adapter.validate_python(data)
    except ValidationError:
        return False
    return True


def test_every_schema_of_authored_or_published_data_has_a_model() -> None:
    assert set(ADAPTERS) == set(mutations.NAMES) - {"error.v1", "diagnostics.v1"}


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_model_and_its_schema_agree_on_damaged_samples(name: str) -> None:
    schema = jsonschema_rs.validator_for(mutations.load(name))
    for sample in mutations.full_samples(name):
        assert accepts(ADAPTERS[name], sample) == schema.is_valid(sample)
    for sample in mutations.mutants(name, 1500):
        assert accepts(ADAPTERS[name], sample) == schema.is_valid(sample), sample


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_model_written_out_by_alias_is_valid_again(name: str) -> None:
    schema = jsonschema_rs.validator_for(mutations.load(name))
    adapter = ADAPTERS[name]
    for sample in mutations.load(name)["examples"]:
        written = adapter.dump_python(
            adapter.validate_python(sample), by_alias=True, exclude_unset=True, mode="json"
        )
        assert written == sample
        schema.validate(written)


def test_a_view_cannot_be_changed_and_shares_nothing_with_its_source() -> None:
    source = copy.deepcopy(mutations.load("lesson")["examples"][0])
    view = LessonFrontMatter.model_validate(source)
    source["objectives"].append("Something else entirely.")
    assert view.objectives == ("Mark the start, peak and release of one braking event.",)
    with pytest.raises(ValidationError, match="frozen"):
        view.title = "Other"  # type: ignore[misc]


def test_absent_optional_values_take_the_documented_defaults() -> None:
    view = LessonFrontMatter.model_validate(mutations.load("lesson")["examples"][1])
    assert (view.minutes, view.check, view.equipment, view.review) == (None, None, (), None)
    quiz = SOURCES["quiz"].validate_python(mutations.load("quiz")["examples"][0])
    assert quiz.questions[1].stage == "after"
    assert quiz.questions[0].shuffle is True
    assert [option.correct for option in quiz.questions[0].options] == [False, True]


def same(model: Any, seen: Any) -> bool:
    """Whether a view shows what the model shows, in every attribute."""
    if isinstance(model, BaseModel):
        fields = type(model).model_fields
        return all(same(getattr(model, name), getattr(seen, name)) for name in fields)
    if isinstance(model, tuple):
        return len(model) == len(seen) and all(map(same, model, seen))
    return type(model) is type(seen) and bool(model == seen)


@pytest.mark.parametrize("name", sorted(SOURCES.keys() - {"quiz", "ui"}))  # read without a view
def test_a_view_shows_what_the_model_of_its_kind_shows(name: str) -> None:
    schema = mutations.load(name)
    valid = jsonschema_rs.validator_for(schema).is_valid
    samples = [*schema["examples"], *mutations.full_samples(name), *mutations.mutants(name, 500)]
    for sample in filter(valid, samples):
        model = SOURCES[name].validate_python(sample)
        assert same(model, view(sample)), sample
        written = SOURCES[name].dump_python(model, by_alias=True, exclude_unset=True, mode="json")
        assert plain(view(sample)) == written


def test_a_view_of_a_source_cannot_be_changed_and_knows_only_the_names_of_models() -> None:
    seen = view(mutations.load("lesson")["examples"][0])
    with pytest.raises(AttributeError, match="cannot be changed"):
        seen.title = "Other"
    with pytest.raises(AttributeError, match="tittle"):
        _ = seen.tittle
