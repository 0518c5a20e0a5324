"""The API resources: functions of the graph, in the shapes of `schemas/course`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from course.diagnostics import Problem, short
from course.read import models, schema
from course.read.graph import Graph, LessonNode
from course.read.lesson import Lesson, Material
from course.read.models import Model, plain
from course.read.sources import Item

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
_NO_GOALS: Final[dict[str, Any]] = {"lessonIds": [], "phaseIds": []}
_UNPUBLISHED: Final = ("interfaces", "tracking")


def json_bytes(data: object) -> bytes:
    """*data* as it is published: sorted keys, two spaces, one line end at the end."""
    return orjson.dumps(data, option=JSON_FORM)


def content_hash(resource: Mapping[str, Any]) -> str:
    """``sha256:`` and the hex digest of *resource* without its hash and revision."""
    left = {key: resource[key] for key in resource if key not in ("contentHash", "revision")}
    canonical = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def problems(name: str, resource: dict[str, Any], file: str) -> Iterator[Problem]:
    """OUT005 for each way in which *resource*, made from *file*, breaks the schema *name*."""
    for problem in schema.check(name, resource, file):
        where = short("/".join(map(str, problem.path or ()))) or "its top"
        message = f"would break its schema at {where}: {problem.message}"
        message = f"the resource {resource.get('resource', name)} {message}"
        yield replace(problem, code="OUT005", message=message, path=None, hint=None)


def page(kind: str, name: str) -> str:
    """The address of a page from the site root, with final slash."""
    return f"{kind}/{name}/"


def _dump(view: Model, **renames: str) -> dict[str, Any]:
    """All that *view* says, absent values left out, some keys renamed."""
    data = view.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {renames.get(key, key): value for key, value in data.items()}


def _ref(graph: Graph, name: str) -> dict[str, str]:
    """A lesson as other resources name it."""
    view = graph.lessons[name].view
    return {"id": name, "title": view.title, "status": view.status}


def relations(graph: Graph, node: LessonNode, number: str) -> dict[str, Any]:
    """What the page and the resource of a lesson say about other sources."""
    names = [record.id for record in node.phase.lessons]
    at, sources = node.position - 1, graph.sources
    titles = {concept.id: concept.title for concept in sources.concepts}

    def linked(kind: str, items: Mapping[str, Item[Any]], of: list[str]) -> list[dict[str, str]]:
        return [
            {"id": name, "title": items[name].data.title, "url": page(kind, name)} for name in of
        ]

    return {
        "revision": sources.course.version if sources.course else "",
        "position": node.position,
        "aliases": [old for old, name in graph.aliases.items() if name == node.id],
        "phase": {"id": node.phase.id, "number": number, "title": node.phase.data.title},
        "previous": _ref(graph, names[at - 1]) if at else None,
        "next": _ref(graph, names[at + 1]) if at + 1 < len(names) else None,
        **{
            key: [{**_ref(graph, name), "url": page("lessons", name)} for name in of]
            for key, of in (
                ("prerequisites", node.view.prerequisites),
                ("unlocks", graph.unlocks.get(node.id, ())),
            )
        },
        "concepts": [{"id": name, "title": titles[name]} for name in node.view.concepts],
        "pathways": linked("pathways", graph.pathways, graph.lesson_pathways.get(node.id, [])),
        "projects": linked("projects", graph.projects, graph.lesson_projects.get(node.id, [])),
    }


def lesson_resource(record: Lesson, related: Mapping[str, Any]) -> dict[str, Any]:
    """The resource of a lesson but for what its companions add: ``artifacts``, ``contentHash``.

    *related* is what :func:`relations` says.
    """
    name = record.id
    resource: dict[str, Any] = {key: [] for key in _LISTS}
    resource |= {key: fact for key, fact in record.front.items() if key not in _UNPUBLISHED}
    resource |= {key: related[key] for key in ("revision", "phase", "position")}
    resource |= {
        "schemaVersion": 1,
        "url": page("lessons", name),
        "resource": f"{API}/lessons/{name}.json",
        "unlocks": [ref["id"] for ref in related["unlocks"]],
        "phaseId": related["phase"]["id"],
        "pathwayIds": [ref["id"] for ref in related["pathways"]],
        "projectIds": [ref["id"] for ref in related["projects"]],
    }
    resource |= {key: related[key] for key in ("previous", "next") if related[key] is not None}
    if not record.authored:
        return {**resource, "notice": PLANNED_NOTICE}
    content, questions, _ = record.material or Material({}, [], [])
    quiz = {"formative": True, "label": QUIZ_LABEL, "questions": questions}
    return {"review": "none", "references": [], **resource, "content": content, "quiz": quiz}


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
            {
                **_dump(phase.data, projects="projectIds"),
                "number": numbered[name],
                "url": page("phases", name),
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


def pathways(graph: Graph) -> dict[str, Any]:
    """``pathways.json``."""
    entries = [_pathway(graph, item.data) for item in graph.pathways.values()]
    return {"schemaVersion": 1, "pathways": entries}


def is_printable(lessons: Sequence[str]) -> bool:
    """Whether a pathway of these lessons gets a page to print."""
    return len(lessons) <= PRINT_LIMIT


def printed(graph: Graph) -> set[str]:
    """The lessons that stand on a page to print."""
    return {name for one in graph.pathway_lessons.values() if is_printable(one) for name in one}


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
        "totals": totals(nodes),
        "roleIds": roles,
        "domainIds": domains,
        "url": page("pathways", view.id),
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
        title = _joined([graph.lessons[name].view.title for name in names])
    facts = _dump(step, phase="phaseId")
    facts.pop("lessons", None)
    return facts | {"number": number, "title": title, "lessonIds": names}


def _joined(titles: list[str]) -> str:
    """The titles of a step in one line; a long list is cut and counted."""
    shown = titles[:3]
    text = ", ".join(shown)
    while len(text) > 200 and len(shown) > 1:
        shown = shown[:-1]
        text = ", ".join(shown)
    rest = len(titles) - len(shown)
    return f"{text} + {rest}" if rest else text


def roles(graph: Graph) -> dict[str, Any]:
    """``roles.json``: roles and domains."""
    names = {"pathways": "pathwayIds", "defaultPathway": "defaultPathwayId", "roles": "roleIds"}
    domains = [
        {**_dump(item.data, **names), "url": page("domains", name)}
        for name, item in graph.domains.items()
    ]
    entries = [
        {
            **_dump(item.data, **names),
            "milestones": [
                _NO_GOALS | _dump(one, lessons="lessonIds", phases="phaseIds")
                for one in item.data.milestones
            ],
            "startingChecks": [_dump(one, phase="phaseId") for one in item.data.starting_checks],
            "domainIds": [domain["id"] for domain in domains if name in domain["roleIds"]],
            "url": page("roles", name),
        }
        for name, item in graph.roles.items()
    ]
    return {"schemaVersion": 1, "roles": entries, "domains": domains}


def projects(graph: Graph, bundles: Mapping[str, bytes]) -> dict[str, Any]:
    """``projects.json``; *bundles* holds the zip of each project that has files."""
    entries = []
    for name, project in graph.projects.items():
        view = project.data
        entry = {
            **_dump(view, pathway="pathwayId"),
            "requiredLessons": [_ref(graph, lesson) for lesson in view.required_lessons],
            "stages": [
                {**_dump(stage, lessons="lessonIds"), "number": place}
                for place, stage in enumerate(view.stages, 1)
            ],
            "url": page("projects", name),
        }
        if bundle := bundles.get(name):
            digest, url = hashlib.sha256(bundle).hexdigest(), f"downloads/{name}.zip"
            entry["bundle"] = {"url": url, "bytes": len(bundle), "sha256": digest}
        entries.append({**entry, "contentHash": content_hash(entry)})
    return {"schemaVersion": 1, "projects": entries}


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
