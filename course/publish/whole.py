"""Everything on the site that belongs to the course as a whole: resources, indexes, texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from course.check.pages import read_facts
from course.diagnostics import Problem
from course.publish import look, resources, search
from course.publish.course_pages import CoursePages, not_found_hashes, not_found_page
from course.publish.downloads import ROOT
from course.publish.hosting import NOT_FOUND, atom, bundle, headers, robots, sitemap
from course.publish.lesson import API, Unit, lesson_resource, relate_lessons, resource_problems
from course.publish.llms import llms_full, llms_txt
from course.publish.openapi import openapi
from course.publish.shell import Assets, Shell
from course.publish.tree import json_bytes
from course.read import schema
from course.read.graph import Graph

_RESOURCES: Final = ("catalog", "pathways", "roles", "projects")
Resource = dict[str, Any]
Facts = dict[str, Any]  # of a page, from read_facts
Put = Callable[[str, bytes], object]


def build(
    graph: Graph, units: Mapping[str, Unit], shell: Shell, assets: Assets, put: Put
) -> tuple[dict[str, Facts], list[Problem]]:
    """Hand every output that is not a lesson's own to *put*.

    Returns the facts of the pages by path, and the problems met.
    """
    facts: dict[str, Facts] = {}
    problems: list[Problem] = []
    bundles = {
        name: bundle(project.files)
        for name, project in graph.projects.items()
        if project.files and project.data.status == "authored"
    }
    for name, data in bundles.items():
        put(f"downloads/{name}.zip", data)
    named = {
        "catalog": resources.catalog(graph, {name: unit.entry for name, unit in units.items()}),
        "pathways": resources.pathways(graph),
        "roles": resources.roles(graph),
        "projects": resources.projects(graph, bundles),
    }
    for name, resource in named.items():
        path = f"{API}/{name}.json"
        problems += resource_problems(f"{name}.v1", resource, f"site/{path}")
        put(path, json_bytes(resource))
    for name in schema.names():
        put(resources.schema_url(name), json_bytes(schema.published(name)))
    put(resources.SCHEMA_INDEX, json_bytes(resources.schema_index()))
    for path, data in assets.files.items():
        put(path, data)
    figure, pictures = look.hero(shell.site.course, graph.sources.media)
    pictures |= look.social(shell.site.course, graph.sources.media)
    for path, data in pictures.items():
        put(path, data)
    pages = CoursePages(shell, *(named[name] for name in _RESOURCES), hero=figure)
    readmes = {
        name: "".join(block["html"] for block in project.body.blocks)
        for name, project in graph.projects.items()
    }
    printed = {name: unit.printed for name, unit in units.items()}
    for path, html in pages.pages(readmes, printed):
        put(path, html.encode())
        facts[path] = read_facts(path, html)
    _put_texts(graph, units, shell, named, put)
    put("404.html", not_found_page(shell).encode())
    put("404.json", json_bytes(NOT_FOUND))
    python = bool(shell.site.course.get("runInPage"))
    put("_headers", headers(not_found_hashes(), python=python).encode())
    put(".nojekyll", b"")
    if base_url := shell.site.base_url:
        entries = (f"{unit.entry['url']}index.html" for unit in units.values())
        addresses = [
            path.removesuffix("index.html") + shell.index
            for path in [*facts, *entries]
            if path.endswith("index.html")
        ]
        put("sitemap.xml", sitemap(base_url, addresses).encode())
        put("robots.txt", robots(base_url).encode())
        put("feed.xml", atom(named["catalog"], base_url, index=shell.index).encode())
    return facts, problems


def _put_texts(
    graph: Graph, units: Mapping[str, Unit], shell: Shell, named: Mapping[str, Resource], put: Put
) -> None:
    """What is read by programs as a whole: texts, passages, the search index, OpenAPI."""
    site, index = shell.site, shell.index
    catalog, pathways, roles, projects = (named[name] for name in _RESOURCES)
    lessons = [entry["id"] for phase in catalog["phases"] for entry in phase["lessons"]]
    put("llms.txt", llms_txt(catalog, pathways, projects, site.words, index).encode())

    def body(name: str, root: str) -> str:
        return units[name].body.replace(ROOT, root)

    for path, text in llms_full(catalog, body, site.words, site.base_url or "", index):
        put(path, text.encode())
    put("corpus/chunks.jsonl", "".join(units[name].chunks for name in lessons).encode())
    routes = pathways["pathways"], roles["roles"], roles["domains"], projects["projects"]
    others = [
        search.page_terms(kind, entry)
        for kind, entries in zip(search.KINDS, routes, strict=True)
        for entry in entries
    ]
    terms = [units[name].terms for name in lessons]
    for path, data in search.build_index(
        terms, others=others, synonyms=graph.sources.synonyms
    ).items():
        put(path, data)
    examples = dict(named)
    for first, related in islice((pair for pair in relate_lessons(graph) if pair[0].authored), 1):
        graph.sources.material(first.record)
        examples["lesson"], _ = lesson_resource(first.record, related, site)
    put("openapi.json", json_bytes(openapi(examples)))
