"""The resource of one lesson, and what the course around it says about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from course.publish.resources.form import API, lesson_ref, page
from course.read.graph import Graph, LessonNode
from course.read.lesson import Lesson, Material
from course.read.sources import Item

QUIZ_LABEL: Final = "Practice questions. Answers are included; this is not an exam."
PLANNED_NOTICE: Final = "Planned. No lesson material exists yet."
# The fields of a lesson that the catalog repeats, in the order of the contract.
ENTRY_FIELDS: Final = (
    "id",
    "title",
    "status",
    "summary",
    "objectives",
    "minutes",
    "level",
    "prerequisites",
    "unlocks",
    "equipment",
    "concepts",
    "tags",
    "review",
    "contentHash",
    "aliases",
    "phaseId",
    "position",
    "url",
    "resource",
)
_LISTS: Final = ("prerequisites", "equipment", "concepts", "tags", "aliases")
_OPTIONAL: Final = ("minutes", "level", "evidence", "references")


def _linked(kind: str, items: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"id": name, "title": title, "url": page(kind, name)} for name, title in items]


def relations(graph: Graph, node: LessonNode, number: str) -> dict[str, Any]:
    """What the page and the resource of a lesson say about other sources."""
    view = node.view
    records = node.phase.lessons
    at = node.position - 1
    before = graph.lessons.get(records[at - 1].id) if at else None
    after = graph.lessons.get(records[at + 1].id) if at + 1 < len(records) else None
    phase = node.phase.item

    def refs(names: Iterable[str]) -> list[dict[str, str]]:
        return [
            {**lesson_ref(found), "url": page("lessons", found.id)}
            for name in names
            if (found := graph.lessons.get(name))
        ]

    titles = {concept.id: concept.title for concept in graph.sources.concepts if view.concepts}
    paths = graph.lesson_pathways.get(node.id, ())
    projects = graph.lesson_projects.get(node.id, ())
    return {
        "revision": graph.sources.course.version if graph.sources.course else "",
        "position": node.position,
        "aliases": [old for old, name in graph.aliases.items() if name == node.id],
        "phase": {
            "id": phase.id,
            "number": number,
            "title": phase.view.title if phase.view else phase.id,
        },
        "previous": lesson_ref(before) if before else None,
        "next": lesson_ref(after) if after else None,
        "prerequisites": refs(view.prerequisites),
        "unlocks": refs(graph.unlocks.get(node.id, ())),
        "concepts": [{"id": name, "title": titles[name]} for name in view.concepts],
        "pathways": _linked("pathways", [(name, _title(graph.pathways[name])) for name in paths]),
        "projects": _linked(
            "projects", [(name, _title(graph.projects[name].item)) for name in projects]
        ),
    }


def _title(item: Item[Any]) -> str:
    return str(item.view.title) if item.view is not None else item.id


def own_resource(record: Lesson) -> dict[str, Any]:
    """What the resource of a lesson says by itself, whatever stands around it."""
    front = record.front
    name = record.id
    resource: dict[str, Any] = {
        "schemaVersion": 1,
        "id": name,
        "title": front["title"],
        "status": front["status"],
        "summary": front["summary"],
        "objectives": front["objectives"],
        "url": page("lessons", name),
        "resource": f"{API}/lessons/{name}.json",
    }
    for key in _LISTS:
        resource[key] = front.get(key, [])
    for key in _OPTIONAL:
        if key in front:
            resource[key] = front[key]
    if not record.authored:
        resource["notice"] = PLANNED_NOTICE
        return resource
    resource["review"] = front.get("review", "none")
    resource.setdefault("references", [])
    resource["check"] = front["check"]
    material = record.material or Material()
    resource["content"] = {
        "markdown": material.markdown,
        "blocks": material.blocks,
        "toc": material.toc,
        "code": material.code,
        "media": material.media,
    }
    resource["quiz"] = {
        "formative": True,
        "label": QUIZ_LABEL,
        "questions": material.questions,
    }
    return resource


def place(resource: dict[str, Any], related: Mapping[str, Any]) -> None:
    """Add to *resource* what :func:`relations` says, but for the revision."""
    resource["unlocks"] = [ref["id"] for ref in related["unlocks"]]
    resource["phaseId"] = related["phase"]["id"]
    resource["phase"] = related["phase"]
    resource["position"] = related["position"]
    resource["pathwayIds"] = [ref["id"] for ref in related["pathways"]]
    resource["projectIds"] = [ref["id"] for ref in related["projects"]]
    for key in ("previous", "next"):
        if related[key] is not None:
            resource[key] = related[key]


def catalog_entry(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a lesson resource that the catalog repeats."""
    return {key: resource[key] for key in ENTRY_FIELDS if key in resource}
