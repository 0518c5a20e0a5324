"""The models make the schemas of the sources, and hold what an author wrote."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from course.read import export, schema
from course.read.models import SOURCES
from tests.course import schemakit


@pytest.mark.parametrize("name", SOURCES)
def test_a_schema_is_what_the_model_says(name: str) -> None:
    path = schema.FOLDER / f"{name}{schema.SUFFIX}"
    assert export.format_json(export.export(name)) + "\n" == path.read_text("utf-8")


@pytest.mark.parametrize("name", SOURCES)
def test_a_model_written_out_by_alias_is_what_was_read(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(SOURCES[name])
    for sample in schemakit.load(name)["examples"]:
        model = adapter.validate_python(sample)
        assert adapter.dump_python(model, by_alias=True, exclude_unset=True, mode="json") == sample
