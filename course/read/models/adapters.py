"""The model of every kind of source, ready to read data that passed its schema."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from course.read.models.route_sources import Domain, Pathway, Project, Role
from course.read.models.sources import (
    Concepts,
    Course,
    InterfaceWords,
    LessonFrontMatter,
    Phase,
    Quiz,
    RetiredIds,
)

SOURCES: dict[str, TypeAdapter[Any]] = {
    "course": TypeAdapter(Course),
    "phase": TypeAdapter(Phase),
    "lesson": TypeAdapter(LessonFrontMatter),
    "quiz": TypeAdapter(Quiz),
    "pathway": TypeAdapter(Pathway),
    "role": TypeAdapter(Role),
    "domain": TypeAdapter(Domain),
    "project": TypeAdapter(Project),
    "retired": RetiredIds,
    "concepts": Concepts,
    "ui": TypeAdapter(InterfaceWords),
}
"""Source kind (the name of its schema) to the model of its data."""
