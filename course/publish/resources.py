"""The API resources: functions of the graph, in the shapes of `schemas/course`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from course.read import models, schema
from course.read.graph import Graph, LessonNode
from course.read.lesson import Lesson, Material
from course.read.models import plain
from course.read.sources import Item, PhaseSource

JSON_FORM: Final = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
API: Final = "api/v1"
SCHEMAS: Final = "schemas/v1"
SCHEMA_INDEX: Final = f"{SCHEMAS}/index.json"
QUIZ_LABEL: Final = "Practice questions. Answers are included; this is not an exam."
PLANNED_NOTICE: Final = "Planned. No lesson material exists yet."
# A printed pathway joins its lessons on one page; beyond this a browser struggles with it.
PRINT_LIMIT: Final = 100
_COURSE_FIELDS: Final = frozenset(
    {"id", "title", "summary", "lang", "version", "updated", "licence", "repository"}
)
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


def json_bytes(data: object) -> bytes:
    """*data* as it is published: sorted keys, two spaces, one line end at the end."""
    return orjson.dumps(data, option=JSON_FORM)


def content_hash(resource: Mapping[str, Any]) -> str:
    """``sha256:`` and the hex digest of *resource* without its hash and revision."""
    left = {key: resource[key] for key in resource if key not in ("contentHash", "revision")}
    canonical = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def page(kind: str, name: str) -> str:
    """The address of a page from the site root, with final slash."""
    return f"{kind}/{name}/"


def lesson_ref(node: LessonNode) -> dict[str, str]:
    """A lesson as other resources name it."""
    return {"id": node.id, "title": node.view.title, "status": node.view.status}


def _linked(kind: str, items: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"id": name, "title": title, "url": page(kind, name)} for name, title in items]


def relations(graph: Graph, node: LessonNode, number: str) -> dict[str, Any]:
    """What the page and the resource of a lesson say about other sources."""
    view = node.view
    records = node.phase.lessons
    at = node.position - 1
    before = graph.lessons.get(records[at - 1].id) if at else None
    after = graph.lessons.get(records[at + 1].id) if at + 1 < len(records) else None
    phase = node.phase

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
            "projects", [(name, _title(graph.projects[name])) for name in projects]
        ),
    }


def _title(item: Item[Any]) -> str:
    return str(item.view.title) if item.view is not None else item.id


def lesson_resource(record: Lesson, related: Mapping[str, Any]) -> dict[str, Any]:
    """The resource of a lesson but for what its companions add: ``artifacts``, ``contentHash``.

    *related* is what :func:`relations` says.
    """
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
        "revision": related["revision"],
        "unlocks": [ref["id"] for ref in related["unlocks"]],
        "phaseId": related["phase"]["id"],
        "phase": related["phase"],
        "position": related["position"],
        "pathwayIds": [ref["id"] for ref in related["pathways"]],
        "projectIds": [ref["id"] for ref in related["projects"]],
    }
    for key in ("previous", "next"):
        if related[key] is not None:
            resource[key] = related[key]
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
    material = record.material or Material({}, [])
    resource["content"] = material.content
    resource["quiz"] = {"formative": True, "label": QUIZ_LABEL, "questions": material.questions}
    return resource


def catalog_entry(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a lesson resource that the catalog repeats."""
    return {key: resource[key] for key in ENTRY_FIELDS if key in resource}


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
            if phase.view
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
            "schemas": SCHEMA_INDEX,
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
    view = phase.view
    if view is None:
        raise ValueError(f"the phase {phase.id} has no data")
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


def pathways(graph: Graph) -> dict[str, Any]:
    """``pathways.json``."""
    return {
        "schemaVersion": 1,
        "pathways": [_pathway(graph, item.view) for item in graph.pathways.values() if item.view],
    }


def is_printable(lessons: Sequence[str]) -> bool:
    """Whether a pathway of these lessons gets a page to print."""
    return len(lessons) <= PRINT_LIMIT


def printed(graph: Graph) -> set[str]:
    """The lessons that stand on a page to print."""
    return {name for one in graph.pathway_lessons.values() if is_printable(one) for name in one}


def _pathway(graph: Graph, view: models.Pathway) -> dict[str, Any]:
    lessons = graph.pathway_lessons[view.id]
    nodes = [graph.lessons[name] for name in lessons]
    entry: dict[str, Any] = {
        **plain(view),
        "status": "authored" if any(node.authored for node in nodes) else "planned",
        "requires": list(view.requires),
        "steps": [_step(graph, step, place) for place, step in enumerate(view.steps, 1)],
        "lessonIds": lessons,
        "totals": totals(nodes),
        "roleIds": [
            name
            for name, item in graph.roles.items()
            if item.view and view.id in item.view.pathways
        ],
        "domainIds": _domains(graph, "pathways", view.id),
        "url": page("pathways", view.id),
    }
    if view.capstone:
        entry["capstone"] = {
            "projectId": view.capstone.project,
            "assessment": view.capstone.assessment,
            "evidence": list(view.capstone.evidence),
        }
    return entry


def _step(graph: Graph, step: models.Step, number: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"number": number}
    if step.phase is not None:
        phase = graph.phases[step.phase]
        entry["phaseId"] = step.phase
        entry["title"] = phase.view.title if phase.view else step.phase
        entry["lessonIds"] = [one.id for one in phase.lessons if one.id in graph.lessons]
        return entry
    names = [name for name in step.lessons or () if name in graph.lessons]
    entry["title"] = _joined([graph.lessons[name].view.title for name in names])
    entry["lessonIds"] = names
    if step.note is not None:
        entry["note"] = step.note
    return entry


def _joined(titles: list[str]) -> str:
    """The titles of a step in one line; a long list is cut and counted."""
    shown = titles[:3]
    text = ", ".join(shown)
    while len(text) > 200 and len(shown) > 1:
        shown = shown[:-1]
        text = ", ".join(shown)
    rest = len(titles) - len(shown)
    return f"{text} + {rest}" if rest else text


def _domains(graph: Graph, field: str, name: str) -> list[str]:
    return [
        key
        for key, item in graph.domains.items()
        if item.view and name in getattr(item.view, field)
    ]


def roles(graph: Graph) -> dict[str, Any]:
    """``roles.json``: roles and domains."""
    return {
        "schemaVersion": 1,
        "roles": [_role(graph, item.view) for item in graph.roles.values() if item.view],
        "domains": [_domain(item.view) for item in graph.domains.values() if item.view],
    }


def _role(graph: Graph, view: models.Role) -> dict[str, Any]:
    return {
        **_without(view, "pathways", "defaultPathway"),
        "pathwayIds": list(view.pathways),
        "defaultPathwayId": view.default_pathway,
        "milestones": [
            {
                "title": one.title,
                "lessonIds": list(one.lessons or ()),
                "phaseIds": list(one.phases or ()),
                "deliverable": one.deliverable,
                "criteria": list(one.criteria),
            }
            for one in view.milestones
        ],
        "startingChecks": [
            {"phaseId": check.phase, "question": check.question} for check in view.starting_checks
        ],
        "domainIds": _domains(graph, "roles", view.id),
        "url": page("roles", view.id),
    }


def _without(view: models.Role | models.Domain, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in plain(view).items() if key not in keys}


def _domain(view: models.Domain) -> dict[str, Any]:
    return {
        **_without(view, "pathways", "defaultPathway", "roles"),
        "pathwayIds": list(view.pathways),
        "defaultPathwayId": view.default_pathway,
        "roleIds": list(view.roles),
        "url": page("domains", view.id),
    }


def projects(graph: Graph, bundles: Mapping[str, bytes]) -> dict[str, Any]:
    """``projects.json``; *bundles* holds the zip of each project that has files."""
    return {
        "schemaVersion": 1,
        "projects": [
            _project(graph, project.view, bundles.get(name))
            for name, project in graph.projects.items()
            if project.view
        ],
    }


def _project(graph: Graph, view: models.Project, bundle: bytes | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": view.id,
        "title": view.title,
        "status": view.status,
        "summary": view.summary,
        "pathwayId": view.pathway,
        "equipment": list(view.equipment),
        "requiredLessons": [
            lesson_ref(graph.lessons[name])
            for name in view.required_lessons
            if name in graph.lessons
        ],
        "stages": [_stage(stage, place) for place, stage in enumerate(view.stages, 1)],
        "rubric": plain(view.rubric),
        "prepare": plain(view.prepare),
        "url": page("projects", view.id),
    }
    if bundle is not None:
        entry["bundle"] = {
            "url": f"downloads/{view.id}.zip",
            "bytes": len(bundle),
            "sha256": hashlib.sha256(bundle).hexdigest(),
        }
    entry["contentHash"] = content_hash(entry)
    return entry


def _stage(stage: models.Stage, number: int) -> dict[str, Any]:
    entry: dict[str, Any] = plain(stage)
    del entry["lessons"]
    return {**entry, "number": number, "lessonIds": list(stage.lessons)}


def schema_url(name: str) -> str:
    """Where the schema called *name* is published, from the site root."""
    return f"{SCHEMAS}/{name}{schema.SUFFIX}"


def schema_index() -> dict[str, Any]:
    """Name, address and title of every schema, sorted by name."""
    return {
        "schemaVersion": 1,
        "schemas": [
            {"name": name, "url": schema_url(name), "title": schema.schema(name)["title"]}
            for name in schema.names()
        ],
    }
