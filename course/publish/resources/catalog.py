"""`catalog.json`: all phases and the metadata of all lessons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from course.publish.resources.form import API, page
from course.publish.resources.schemas import INDEX
from course.read.graph import Graph, LessonNode
from course.read.models.view import plain
from course.read.sources import PhaseSource

_COURSE_FIELDS: Final = frozenset(
    {"id", "title", "summary", "lang", "version", "updated", "licence", "repository"}
)


def numbers(graph: Graph) -> dict[str, str]:
    """The number of every phase by id."""
    return {name: f"{place:02d}" for place, name in enumerate(graph.phases, 1)}


def catalog(graph: Graph, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """``catalog.json``; *entries* holds the catalog entry of every lesson by id."""
    course = graph.sources.course
    if course is None:
        raise ValueError("a course without course.yaml has no catalog")
    retired = [plain(entry) for entry in graph.sources.retired if entry.id not in graph.lessons]
    numbered = numbers(graph)
    return {
        "schemaVersion": 1,
        "course": {key: fact for key, fact in plain(course).items() if key in _COURSE_FIELDS},
        "totals": {
            "phases": len(graph.phases),
            "projects": len(graph.projects),
            "pathways": len(graph.pathways),
            **totals(graph.lessons.values()),
        },
        "parts": plain(course.parts),
        "phases": [
            _phase(phase, numbered[name], entries)
            for name, phase in graph.phases.items()
            if phase.item.view
        ],
        "concepts": [
            {**plain(concept), "lessonIds": graph.taught.get(concept.id, [])}
            for concept in graph.sources.concepts
        ],
        "retired": retired,
        "links": {
            "pathways": f"{API}/pathways.json",
            "roles": f"{API}/roles.json",
            "projects": f"{API}/projects.json",
            "openapi": "openapi.json",
            "schemas": INDEX,
            "search": "search/index.json",
            "llms": "llms.txt",
            "lessonTemplate": f"{API}/lessons/{{lessonId}}.json",
        },
    }


def totals(nodes: Iterable[LessonNode]) -> dict[str, int]:
    """Lessons by status and the minutes of the authored ones."""
    all_nodes = list(nodes)
    authored = [node for node in all_nodes if node.authored]
    return {
        "lessons": len(all_nodes),
        "authored": len(authored),
        "planned": len(all_nodes) - len(authored),
        "minutes": sum(node.view.minutes or 0 for node in authored),
    }


def _phase(
    phase: PhaseSource, number: str, entries: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    view = phase.item.view
    if view is None:
        raise ValueError(f"the phase {phase.item.id} has no data")
    return {
        "id": view.id,
        "number": number,
        "title": view.title,
        "part": view.part,
        "summary": view.summary,
        "outcome": view.outcome,
        "prerequisites": list(view.prerequisites),
        "equipment": list(view.equipment),
        "checkpoint": plain(view.checkpoint),
        "projectIds": list(view.projects),
        "references": plain(view.references),
        "url": page("phases", view.id),
        "lessons": [entries[record.id] for record in phase.lessons if record.id in entries],
    }
