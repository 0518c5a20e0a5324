"""The API resources of the course as a whole, in the shapes of `schemas/course`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from course.publish.lesson import API, hash_content, make_ref, page_url
from course.read import schema
from course.read.graph import Graph, LessonNode
from course.read.sources import plain

if TYPE_CHECKING:
    from course.read import models

SCHEMAS: Final = "schemas/v1"
SCHEMA_INDEX: Final = f"{SCHEMAS}/index.json"
_COURSE_FIELDS: Final = frozenset(
    {"id", "title", "summary", "lang", "version", "updated", "licence", "repository"}
)
_NO_GOALS: Final[dict[str, Any]] = {"lessonIds": [], "phaseIds": []}


def _dump(view: models.Model, **renames: str) -> dict[str, Any]:
    """All that *view* says, absent values left out, some keys renamed."""
    data = view.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {renames.get(key, key): value for key, value in data.items()}


def build_catalog(graph: Graph, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """``catalog.json``; *entries* holds the catalog entry of every lesson by id."""
    course = graph.sources.course
    if course is None:
        raise ValueError("a course without course.yaml has no catalog")
    retired = [plain(entry) for entry in graph.sources.retired if entry.id not in graph.lessons]
    numbered = graph.phase_numbers()
    return {
        "schemaVersion": 1,
        "course": {key: fact for key, fact in plain(course).items() if key in _COURSE_FIELDS},
        "totals": {
            "phases": len(graph.phases),
            "projects": len(graph.projects),
            "pathways": len(graph.pathways),
            **count_totals(graph.lessons.values()),
        },
        "parts": plain(course.parts),
        "phases": [
            {
                **_dump(phase.data, projects="projectIds"),
                "number": numbered[name],
                "url": page_url("phases", name),
                "lessons": [entries[record.id] for record in phase.lessons],
            }
            for name, phase in graph.phases.items()
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


def count_totals(nodes: Iterable[LessonNode]) -> dict[str, int]:
    """Lessons by status and the minutes of the authored ones."""
    all_nodes = list(nodes)
    authored = [node for node in all_nodes if node.authored]
    return {
        "lessons": len(all_nodes),
        "authored": len(authored),
        "planned": len(all_nodes) - len(authored),
        "minutes": sum(node.view.minutes or 0 for node in authored),
    }


def build_pathways(graph: Graph) -> dict[str, Any]:
    """``pathways.json``."""
    entries = [_pathway(graph, item.data) for item in graph.pathways.values()]
    return {"schemaVersion": 1, "pathways": entries}


def _pathway(graph: Graph, view: models.Pathway) -> dict[str, Any]:
    lessons = graph.pathway_lessons[view.id]
    nodes = [graph.lessons[name] for name in lessons]
    roles = [name for name, item in graph.roles.items() if view.id in item.data.pathways]
    domains = [name for name, item in graph.domains.items() if view.id in item.data.pathways]
    entry = {
        **_dump(view),
        "status": "authored" if any(node.authored for node in nodes) else "planned",
        "steps": [_step(graph, step, place) for place, step in enumerate(view.steps, 1)],
        "lessonIds": lessons,
        "totals": count_totals(nodes),
        "roleIds": roles,
        "domainIds": domains,
        "url": page_url("pathways", view.id),
    }
    if view.capstone:
        entry["capstone"] = _dump(view.capstone, project="projectId")
    return entry


def _step(graph: Graph, step: models.Step, number: int) -> dict[str, Any]:
    if step.phase is not None:
        phase = graph.phases[step.phase]
        names, title = [record.id for record in phase.lessons], phase.data.title
    else:
        names = list(step.lessons or ())
        title = _join_titles([graph.lessons[name].view.title for name in names])
    facts = _dump(step, phase="phaseId")
    facts.pop("lessons", None)
    return facts | {"number": number, "title": title, "lessonIds": names}


def _join_titles(titles: list[str]) -> str:
    """The titles of a step in one line; a long list is cut and counted."""
    shown = titles[:3]
    text = ", ".join(shown)
    while len(text) > 200 and len(shown) > 1:
        shown = shown[:-1]
        text = ", ".join(shown)
    rest = len(titles) - len(shown)
    return f"{text} + {rest}" if rest else text


def build_roles(graph: Graph) -> dict[str, Any]:
    """``roles.json``: roles and domains."""
    names = {"pathways": "pathwayIds", "defaultPathway": "defaultPathwayId", "roles": "roleIds"}
    domains = [
        {**_dump(item.data, **names), "url": page_url("domains", name)}
        for name, item in graph.domains.items()
    ]
    entries = [
        {
            **_dump(item.data, **names),
            "milestones": [
                _NO_GOALS | _dump(milestone, lessons="lessonIds", phases="phaseIds")
                for milestone in item.data.milestones
            ],
            "startingChecks": [
                _dump(start, phase="phaseId") for start in item.data.starting_checks
            ],
            "domainIds": [domain["id"] for domain in domains if name in domain["roleIds"]],
            "url": page_url("roles", name),
        }
        for name, item in graph.roles.items()
    ]
    return {"schemaVersion": 1, "roles": entries, "domains": domains}


def build_projects(graph: Graph, bundles: Mapping[str, bytes]) -> dict[str, Any]:
    """``projects.json``; *bundles* holds the zip of each project that has files."""
    entries = []
    for name, project in graph.projects.items():
        view = project.data
        entry = {
            **_dump(view, pathway="pathwayId"),
            "requiredLessons": [make_ref(graph, lesson) for lesson in view.required_lessons],
            "stages": [
                {**_dump(stage, lessons="lessonIds"), "number": place}
                for place, stage in enumerate(view.stages, 1)
            ],
            "url": page_url("projects", name),
        }
        if bundle := bundles.get(name):
            digest, url = hashlib.sha256(bundle).hexdigest(), f"downloads/{name}.zip"
            entry["bundle"] = {"url": url, "bytes": len(bundle), "sha256": digest}
        entries.append({**entry, "contentHash": hash_content(entry)})
    return {"schemaVersion": 1, "projects": entries}


def schema_url(name: str) -> str:
    """Where the schema called *name* is published, from the site root."""
    return f"{SCHEMAS}/{name}{schema.SUFFIX}"


def list_schemas() -> dict[str, Any]:
    """Name, address and title of every schema, sorted by name."""
    return {
        "schemaVersion": 1,
        "schemas": [
            {"name": name, "url": schema_url(name), "title": schema.schema(name)["title"]}
            for name in schema.names()
        ],
    }
