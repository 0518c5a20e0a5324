"""Everything that one lesson puts on the site: page, resource and companions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from course.diagnostics import Problem
from course.publish import outcheck, resources, search
from course.publish.corpus import chunks
from course.publish.downloads import (
    ROOT,
    evidence_template,
    lesson_markdown,
    notebook,
    readdressed,
    script,
)
from course.publish.lesson_page import LessonPages
from course.publish.manifest import File
from course.publish.shell import SiteInfo
from course.read.lesson import KIB, Lesson
from course.read.markdown import Piece

MEDIA_TYPES: Final = {
    "markdown": "text/markdown",
    "notebook": "application/x-ipynb+json",
    "script": "text/x-python",
    "evidence": "text/markdown",
}


@dataclass(slots=True)
class Unit:
    """What one lesson contributes to the site, as the cache keeps it.

    ``body`` is its Markdown for the full text, where each link into the site begins with
    ``ROOT``; ``printed`` its HTML on a page to print, empty when there is none.
    """

    id: str
    key: str
    entry: dict[str, Any]
    files: dict[str, File]
    terms: dict[str, Any]
    chunks: str
    body: str
    printed: str
    facts: dict[str, dict[str, Any]]


def lesson_resource(
    record: Lesson, related: Mapping[str, Any], site: SiteInfo
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The resource of a lesson and the companions that it names, by path.

    *related* is what the course around the lesson says about it.
    """
    resource = resources.lesson_resource(record, related)
    companions: dict[str, bytes] = {}
    if record.authored:
        resource["artifacts"] = artifacts = []
        pieces = record.material.pieces if record.material else []
        for kind, path, text in _companions(resource, pieces, site):
            data = companions[path] = text if isinstance(text, bytes) else text.encode()
            artifacts.append(
                {
                    "kind": kind,
                    "url": path,
                    "mediaType": MEDIA_TYPES[kind],
                    "bytes": len(data),
                    "sha256": hashlib.sha256(data).hexdigest(),
                }
            )
        resource["contentHash"] = resources.content_hash(resource)
    return resource, companions


def _companions(
    resource: dict[str, Any], pieces: list[Piece], site: SiteInfo
) -> Iterator[tuple[str, str, str | bytes]]:
    """Kind, path and content of the files that readers take away."""
    name, words, root = resource["id"], site.words, site.base_url or "../"
    yield "markdown", f"lessons/{name}/index.md", lesson_markdown(resource, pieces, words)
    yield "notebook", f"downloads/{name}.ipynb", notebook(resource, pieces, words, root)
    evidence = evidence_template(resource, words, root)
    yield "evidence", f"downloads/{name}-evidence.md", evidence
    if code := script(resource, pieces, words):
        yield "script", f"downloads/{name}.py", code


def render(
    record: Lesson, related: Mapping[str, Any], key: str, pages: LessonPages, page_limit: int
) -> tuple[Unit, dict[str, bytes], list[Problem]]:
    """Page, resource, aliases and companions of a lesson; *page_limit* is in bytes.

    Returns a unit whose ``files`` are still to come, their bytes by path, and what is wrong.
    """
    resource, outputs = lesson_resource(record, related, pages.site)
    problems = [*resources.problems("lesson.v1", resource, record.file)]
    path = f"{resource['url']}index.html"
    html = pages.page(resource, related, record.file)
    outputs[path] = html.encode()
    outputs[resource["resource"]] = resources.json_bytes(resource)
    facts = {path: outcheck.facts(path, html)}
    for alias in related["aliases"]:
        old = f"lessons/{alias}/index.html"
        text = pages.alias(alias, resource)
        outputs[old] = text.encode()
        outputs[f"api/v1/lessons/{alias}.json"] = outputs[resource["resource"]]
        facts[old] = outcheck.facts(old, text)
    problems += _page_problems(record, html, len(outputs[path]), page_limit)
    content, pieces = resource.get("content"), record.material.pieces if record.material else []
    unit = Unit(
        id=record.id,
        key=key,
        entry=resources.catalog_entry(resource),
        files={},
        terms=search.lesson_terms(resource),
        chunks="".join(orjson.dumps(chunk).decode() + "\n" for chunk in chunks(resource, pieces)),
        body=readdressed(content, pieces, ROOT, pages.index) if content else "",
        printed=pages.printed(resource) if related["printed"] else "",
        facts=facts,
    )
    return unit, outputs, problems


def _page_problems(record: Lesson, html: str, size: int, limit: int) -> Iterator[Problem]:
    if size > limit:
        message = "the page of this lesson is larger than its budget"
        expected, got = f"at most {limit // KIB} KiB", f"{size / KIB:.0f} KiB"
        yield Problem("OUT006", record.file, message, expected=expected, got=got)
    if not record.authored and 'class="planned' not in html:
        message = "the page of a planned lesson does not say Planned"
        yield Problem("LES003", record.file, message)
