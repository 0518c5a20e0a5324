"""Everything on the site that belongs to the course as a whole: indexes, resources, texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from course.diagnostics import Problem
from course.publish import outcheck, resources, search
from course.publish.assets import Assets
from course.publish.companions.body import ROOT
from course.publish.companions.bundle import bundle
from course.publish.companions.error import not_found
from course.publish.companions.feed import atom
from course.publish.companions.headers import headers
from course.publish.companions.llms import llms_full, llms_txt
from course.publish.companions.openapi import openapi
from course.publish.companions.sitemap import robots, sitemap
from course.publish.pages import Around, Pages, not_found_hashes
from course.publish.tree import File
from course.publish.unit import Unit, lesson_resource
from course.read import schema
from course.read.graph import Graph, LessonNode
from course.read.links import KINDS

_RESOURCES: Final = ("catalog", "pathways", "roles", "projects")
Ref = dict[str, Any]
Put = Callable[[str, bytes], File]


@dataclass(slots=True)
class Whole:
    """What the output check needs of the pages of the course, and the problems met."""

    facts: dict[str, dict[str, Any]]
    problems: list[Problem]


class _Builder:
    def __init__(self, graph: Graph, units: Mapping[str, Unit], pages: Pages, put: Put) -> None:
        self.graph = graph
        self.units = units
        self.pages = pages
        self.numbers = resources.numbers(graph)
        self.put = put
        self.out = Whole({}, [])
        self.entries = {name: unit.entry for name, unit in units.items()}
        self.refs = {
            name: {key: entry[key] for key in ("id", "title", "status", "url")}
            for name, entry in self.entries.items()
        }

    def page(self, path: str, html: str) -> None:
        """Put a page, and keep what the output check needs of it."""
        self.put(path, html.encode())
        self.out.facts[path] = outcheck.facts(path, html)

    def json(self, path: str, data: Mapping[str, Any], schema_name: str) -> None:
        """Put a resource after its schema check."""
        for problem in schema.check(schema_name, data, f"site/{path}"):
            where = "/".join(map(str, problem.path or ()))
            self.out.problems.append(
                Problem(
                    "OUT005",
                    f"site/{path}",
                    f"the resource would break its schema at {where}: {problem.message}",
                    expected=problem.expected,
                    got=problem.got,
                    hint="correct the source of that value",
                )
            )
        self.put(path, resources.json_bytes(data))

    def printed(self, name: str) -> tuple[dict[str, Any], Markup]:
        """A lesson and its body for a page to print."""
        node = self.graph.lessons[name]
        phase = node.phase.item
        title = phase.view.title if phase.view else phase.id
        entry = {**self.entries[name], "phase": {"number": self.numbers[phase.id], "title": title}}
        return entry, Markup(self.units[name].printed)  # noqa: S704  (made by the pages)

    def related(self, node: LessonNode) -> dict[str, Any]:
        """What the sources around a lesson say about it."""
        return resources.relations(self.graph, node, self.numbers[node.phase.item.id])

    def refs_of(self, kind: str, names: Iterable[str]) -> list[Ref]:
        """Id, title and address of pathways, roles, domains, projects or phases."""
        found: list[Ref] = []
        for name in names:
            item = _item(self.graph, kind, name)
            if item is not None and item.view is not None:
                url = resources.page(KINDS[kind], name)
                found.append({"id": name, "title": item.view.title, "url": url})
        return found

    def lesson_refs(self, names: Iterable[str]) -> list[Ref]:
        """Id, title, status and address of lessons."""
        return [self.refs[name] for name in names if name in self.refs]


def build(
    graph: Graph,
    units: Mapping[str, Unit],
    pages: Pages,
    assets: Assets,
    put: Put,
) -> Whole:
    """Hand every output that is not a lesson's own to *put*."""
    builder = _Builder(graph, units, pages, put)
    bundles = {
        name: bundle(project.files)
        for name, project in graph.projects.items()
        if project.files and project.item.view and project.item.view.status == "authored"
    }
    catalog = resources.catalog(graph, builder.entries)
    pathways = resources.pathways(graph)
    roles = resources.roles(graph)
    projects = resources.projects(graph, bundles)
    _texts(builder, catalog, pathways, roles, projects)
    for name, resource in zip(_RESOURCES, (catalog, pathways, roles, projects), strict=True):
        builder.json(f"api/v1/{name}.json", resource, f"{name}.v1")
    put = builder.put
    for name, data in bundles.items():
        put(f"downloads/{name}.zip", data)
    for name in schema.names():
        put(resources.schema_url(name), schema.source(name))
    put(resources.INDEX, resources.json_bytes(resources.schema_index()))
    for path, data in assets.files.items():
        put(path, data)
    _index_pages(builder, catalog, pathways, roles, projects)
    _phase_pages(builder, catalog)
    _pathway_pages(builder, pathways)
    _role_pages(builder, roles)
    _project_pages(builder, projects)
    _host_files(builder)
    if pages.base_url is not None:
        _absolute(builder, catalog, pages.base_url)
    return builder.out


def _index_pages(
    builder: _Builder,
    catalog: dict[str, Any],
    pathways: dict[str, Any],
    roles: dict[str, Any],
    projects: dict[str, Any],
) -> None:
    pages = builder.pages
    builder.page("index.html", pages.home(catalog, pathways["pathways"], projects["projects"]))
    builder.page("phases/index.html", pages.phases(catalog))
    builder.page("lessons/index.html", pages.lessons(catalog))
    builder.page("concepts/index.html", pages.concepts(catalog))
    builder.page("pathways/index.html", pages.pathways(pathways["pathways"]))
    builder.page("roles/index.html", pages.roles(roles["roles"], roles["domains"]))
    builder.page("projects/index.html", pages.projects(projects["projects"]))
    builder.page("search/index.html", pages.search())


def _phase_pages(builder: _Builder, catalog: dict[str, Any]) -> None:
    phases = catalog["phases"]
    parts = {part["id"]: part for part in catalog["parts"]}
    for at, phase in enumerate(phases):
        around = Around(
            previous=phases[at - 1] if at else None,
            next=phases[at + 1] if at + 1 < len(phases) else None,
            part=parts.get(phase["part"]),
            prerequisites=builder.refs_of("phase", phase["prerequisites"]),
            projects=builder.refs_of("project", phase["projectIds"]),
        )
        builder.page(f"{phase['url']}index.html", builder.pages.phase(phase, around))


def _pathway_pages(builder: _Builder, pathways: dict[str, Any]) -> None:
    for pathway in pathways["pathways"]:
        capstone = pathway.get("capstone")
        around = Around(
            prerequisites=builder.refs_of("pathway", pathway["requires"]),
            roles=builder.refs_of("role", pathway["roleIds"]),
            domains=builder.refs_of("domain", pathway["domainIds"]),
            projects=builder.refs_of("project", [capstone["projectId"]] if capstone else []),
        )
        names = pathway["lessonIds"]
        printed = resources.printable(names)
        lessons = [builder.entries[name] for name in names]
        html = builder.pages.pathway(pathway, lessons, around, printed)
        builder.page(f"{pathway['url']}index.html", html)
        if printed:
            html = builder.pages.print_pathway(pathway, [builder.printed(name) for name in names])
            builder.page(f"print/{pathway['id']}.html", html)


def _role_pages(builder: _Builder, roles: dict[str, Any]) -> None:
    for role in roles["roles"]:
        phases = {check["phaseId"] for check in role["startingChecks"]}
        lessons: set[str] = set()
        for milestone in role["milestones"]:
            phases.update(milestone["phaseIds"])
            lessons.update(milestone["lessonIds"])
        around = Around(
            pathways=builder.refs_of("pathway", role["pathwayIds"]),
            domains=builder.refs_of("domain", role["domainIds"]),
            phases=builder.refs_of("phase", sorted(phases)),
            lessons=builder.lesson_refs(sorted(lessons)),
        )
        builder.page(f"{role['url']}index.html", builder.pages.role(role, around))
    for domain in roles["domains"]:
        around = Around(
            pathways=builder.refs_of("pathway", domain["pathwayIds"]),
            roles=builder.refs_of("role", domain["roleIds"]),
        )
        builder.page(f"{domain['url']}index.html", builder.pages.domain(domain, around))


def _project_pages(builder: _Builder, projects: dict[str, Any]) -> None:
    for project in projects["projects"]:
        names = {entry["id"] for entry in project["requiredLessons"]}
        names.update(name for stage in project["stages"] for name in stage["lessonIds"])
        around = Around(
            pathways=builder.refs_of("pathway", [project["pathwayId"]]),
            lessons=builder.lesson_refs(sorted(names)),
        )
        body = builder.graph.projects[project["id"]].body
        text = "".join(block["html"] for block in body.blocks)
        html = builder.pages.project(project, text, around)
        builder.page(f"{project['url']}index.html", html)


def _texts(
    builder: _Builder,
    catalog: dict[str, Any],
    pathways: dict[str, Any],
    roles: dict[str, Any],
    projects: dict[str, Any],
) -> None:
    """What is read by programs as a whole: texts, passages, the search index, OpenAPI."""
    put, graph = builder.put, builder.graph
    units = [
        builder.units[entry["id"]] for phase in catalog["phases"] for entry in phase["lessons"]
    ]
    pages = builder.pages
    words = pages.site.words
    put("llms.txt", llms_txt(catalog, pathways, projects, index=pages.index, words=words).encode())

    def body(name: str, root: str) -> str:
        return builder.units[name].body.replace(ROOT, root)

    for path, text in llms_full(catalog, body, pages.base_url or "", pages.index, words=words):
        put(path, text.encode())
    put("corpus/chunks.jsonl", "".join(unit.chunks for unit in units).encode())
    found = zip(search.KINDS, _routes(pathways, roles, projects), strict=True)
    others = [search.page_terms(kind, entry) for kind, entries in found for entry in entries]
    for path, data in search.build_index([unit.terms for unit in units], others=others).items():
        put(path, data)
    examples: dict[str, Any] = {
        "catalog": catalog,
        "pathways": pathways,
        "roles": roles,
        "projects": projects,
    }
    first = next((node for node in graph.lessons.values() if node.authored), None)
    if first is not None:
        graph.sources.material(first.record)
        related = builder.related(first)
        examples["lesson"], _ = lesson_resource(first.record, related, pages.site)
    put("openapi.json", resources.json_bytes(openapi(examples)))


def _routes(
    pathways: dict[str, Any], roles: dict[str, Any], projects: dict[str, Any]
) -> tuple[list[dict[str, Any]], ...]:
    return pathways["pathways"], roles["roles"], roles["domains"], projects["projects"]


def _host_files(builder: _Builder) -> None:
    put = builder.put
    html = builder.pages.not_found()
    put("404.html", html.encode())
    put("404.json", not_found())
    put("_headers", headers(not_found_hashes()).encode())
    put(".nojekyll", b"")


def _absolute(builder: _Builder, catalog: dict[str, Any], base_url: str) -> None:
    put = builder.put
    addresses = [
        path.removesuffix("index.html") + builder.pages.index
        for path in [
            *builder.out.facts,
            *(f"{e['url']}index.html" for e in builder.entries.values()),
        ]
        if path.endswith("index.html")
    ]
    put("sitemap.xml", sitemap(base_url, addresses).encode())
    put("robots.txt", robots(base_url).encode())
    put("feed.xml", atom(catalog, base_url, index=builder.pages.index).encode())


def _item(graph: Graph, kind: str, name: str) -> Any:
    if kind == "project":
        project = graph.projects.get(name)
        return project.item if project else None
    if kind == "phase":
        phase = graph.phases.get(name)
        return phase.item if phase else None
    tables: dict[str, Mapping[str, Any]] = {
        "pathway": graph.pathways,
        "role": graph.roles,
        "domain": graph.domains,
    }
    return tables[kind].get(name)
