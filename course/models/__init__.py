"""Frozen typed views of data that passed its JSON Schema: sources and published resources."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from course.models.catalog import Catalog
from course.models.lessons import AuthoredLesson, LessonResource, PlannedLesson
from course.models.route_sources import (
    Capstone,
    Domain,
    Pathway,
    PathwayStep,
    Project,
    ProjectStage,
    Role,
)
from course.models.routes import Pathways, Projects, Roles
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

RESOURCES: dict[str, TypeAdapter[Any]] = {
    "catalog": TypeAdapter(Catalog),
    "pathways": TypeAdapter(Pathways),
    "roles": TypeAdapter(Roles),
    "lesson": LessonResource,
    "projects": TypeAdapter(Projects),
}
"""Resource name to the model of its data."""

__all__ = [
    "RESOURCES",
    "SOURCES",
    "AuthoredLesson",
    "Capstone",
    "Catalog",
    "Course",
    "Domain",
    "InterfaceWords",
    "LessonFrontMatter",
    "Pathway",
    "PathwayStep",
    "Pathways",
    "Phase",
    "PlannedLesson",
    "Project",
    "ProjectStage",
    "Projects",
    "Quiz",
    "Role",
    "Roles",
]
