"""Frozen typed views of sources that passed their JSON Schema; those of resources: `published`."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from course.models.route_sources import (
    Capstone,
    Domain,
    Pathway,
    PathwayStep,
    Project,
    ProjectStage,
    Role,
)
from course.models.sources import (
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

__all__ = [
    "SOURCES",
    "Capstone",
    "Course",
    "Domain",
    "InterfaceWords",
    "LessonFrontMatter",
    "Pathway",
    "PathwayStep",
    "Phase",
    "Project",
    "ProjectStage",
    "Quiz",
    "Role",
]
