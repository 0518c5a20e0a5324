"""The parts of the site that belong to the whole course: resources, indexes, texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from course.check.pages import read_facts
from course.diagnostics import Problem
from course.publish import look, resources, search
from course.publish.course_pages import CoursePages, Page, not_found_hashes, not_found_page
from course.publish.downloads import ROOT
from course.publish.hosting import NOT_FOUND, atom, bundle, headers, robots, sitemap
from course.publish.lesson import API, Unit, build_resource, check_resource, relate_lessons
from course.publish.llms import llms_full, llms_txt
from course.publish.openapi import openapi
from course.publish.shell import Assets, Shell
from course.publish.tree import encode_json
from course.read import schema
from course.read.graph import Graph

_RESOURCES: Final = ("catalog", "pathways", "roles", "projects")
Resource = dict[str, Any]
Facts = dict[str, Any]  # of a page, from read_facts
Put = Callable[[str, bytes], object]


class Whole:
    """Hands every output that is not a lesson's own to *put*; keeps what it meets.

    ``facts`` are those of the pages by path. *entries* are the catalog entries by lesson.
    """

    def __init__(
        self, graph: Graph, entries: Mapping[str, Resource], shell: Shell, assets: Assets, put: Put
    ) -> None:
        self.graph = graph
        self.entries = entries
        self.shell = shell
        self.assets = assets
        self.put = put
        self.facts: dict[str, Facts] = {}
        self.problems: list[Problem] = []

    def begin(self) -> None:
        """Write everything that needs no rendered lesson."""
        graph, shell, put = self.graph, self.shell, self.put
        bundles = {
            name: bundle(project.files)
            for name, project in graph.projects.items()
            if project.files and project.data.status == "authored"
        }
        for name, data in bundles.items():
            put(f"downloads/{name}.zip", data)
        self.named = {
            "catalog": resources.build_catalog(graph, self.entries),
            "pathways": resources.build_pathways(graph),
            "roles": resources.build_roles(graph),
            "projects": resources.build_projects(graph, bundles),
        }
        for name in schema.names():
            put(resources.schema_url(name), encode_json(schema.open_schema(name)))
        put(resources.SCHEMA_INDEX, encode_json(resources.list_schemas()))
        for path, data in self.assets.files.items():
            put(path, data)
        figure, pictures = look.hero(shell.site.course, graph.sources.media)
        pictures |= look.social(shell.site.course, graph.sources.media)
        for path, data in pictures.items():
            put(path, data)
        self.pages = CoursePages(shell, *(self.named[name] for name in _RESOURCES), hero=figure)
        readmes = {
            name: "".join(block["html"] for block in project.body.blocks)
            for name, project in graph.projects.items()
        }
        self._put_pages(self.pages.pages(readmes))
        put("404.html", not_found_page(shell).encode())
        put("404.json", encode_json(NOT_FOUND))
        python = bool(shell.site.course.get("runInPage"))
        put("_headers", headers(not_found_hashes(shell), python=python).encode())
        put(".nojekyll", b"")

    def finish(self, units: Mapping[str, Unit]) -> None:
        """The rest, from the *units* of all lessons."""
        for name, unit in units.items():
            if unit.content_hash:
                self.entries[name]["contentHash"] = unit.content_hash
        for name, resource in self.named.items():
            path = f"{API}/{name}.json"
            self.problems += check_resource(f"{name}.v1", resource, f"site/{path}")
            self.put(path, encode_json(resource))
        self._put_pages(
            self.pages.render_print_pages({name: unit.printed for name, unit in units.items()})
        )
        self._put_texts(units)
        if base_url := self.shell.site.base_url:
            entries = (f"{entry['url']}index.html" for entry in self.entries.values())
            addresses = [
                path.removesuffix("index.html") + self.shell.index
                for path in [*self.facts, *entries]
                if path.endswith("index.html")
            ]
            self.put("sitemap.xml", sitemap(base_url, addresses).encode())
            self.put("robots.txt", robots(base_url).encode())
            feed = atom(self.named["catalog"], base_url, index=self.shell.index)
            self.put("feed.xml", feed.encode())

    def _put_pages(self, pages: Iterable[Page]) -> None:
        for path, html in pages:
            self.put(path, html.encode())
            self.facts[path] = read_facts(path, html)

    def _put_texts(self, units: Mapping[str, Unit]) -> None:
        """Write the files that programs read whole: texts, passages, the search index, OpenAPI."""
        site, index, put = self.shell.site, self.shell.index, self.put
        catalog, pathways, roles, projects = (self.named[name] for name in _RESOURCES)
        lessons = [entry["id"] for phase in catalog["phases"] for entry in phase["lessons"]]
        put("llms.txt", llms_txt(catalog, pathways, projects, site.words, index).encode())

        def body(name: str, root: str) -> str:
            return units[name].body.replace(ROOT, root)

        for path, text in llms_full(catalog, body, site.words, site.base_url or "", index):
            put(path, text.encode())
        put("corpus/chunks.jsonl", "".join(units[name].chunks for name in lessons).encode())
        routes = pathways["pathways"], roles["roles"], roles["domains"], projects["projects"]
        others = [
            search.index_page(kind, entry)
            for kind, entries in zip(search.KINDS, routes, strict=True)
            for entry in entries
        ]
        terms = [units[name].terms for name in lessons]
        for path, data in search.build_index(
            terms, others=others, synonyms=self.graph.sources.synonyms
        ).items():
            put(path, data)
        examples = dict(self.named)
        pairs = (pair for pair in relate_lessons(self.graph) if pair[0].authored)
        for first, related in islice(pairs, 1):
            material = self.graph.sources.material(first.record)
            examples["lesson"], *_ = build_resource(first.record, material, related, site)
        put("openapi.json", encode_json(openapi(examples)))
