"""Frozen typed views of sources that passed their JSON Schema; those of resources: `published`.

A name is imported when it is first asked for: the models cost more time than all other modules,
and neither a build that changes nothing nor a process that only renders needs one.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from course.read.models.adapters import SOURCES
    from course.read.models.route_sources import (
        Capstone,
        Domain,
        Pathway,
        PathwayStep,
        Project,
        ProjectStage,
        Role,
    )
    from course.read.models.sources import (
        Course,
        InterfaceWords,
        LessonFrontMatter,
        Phase,
        Quiz,
    )

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
_HOMES: Final = {
    "adapters": ("SOURCES",),
    "sources": ("Course", "InterfaceWords", "LessonFrontMatter", "Phase", "Quiz"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A search through all installed packages for plugins, of which none concerns these models.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    home = next((home for home, names in _HOMES.items() if name in names), "route_sources")
    return getattr(import_module(f"{__name__}.{home}"), name)
