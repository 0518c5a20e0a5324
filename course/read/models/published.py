"""Typed views of the five published resources, by name; the build itself does without them."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from course.read.models.catalog import Catalog
from course.read.models.lessons import LessonResource
from course.read.models.routes import Pathways, Projects, Roles

RESOURCES: dict[str, TypeAdapter[Any]] = {
    "catalog": TypeAdapter(Catalog),
    "pathways": TypeAdapter(Pathways),
    "roles": TypeAdapter(Roles),
    "lesson": LessonResource,
    "projects": TypeAdapter(Projects),
}
"""Resource name to the model of its data."""
