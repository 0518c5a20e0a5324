"""Everything that one lesson puts on the site: page, resource and companions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from course.diagnostics import Problem, short
from course.publish import outcheck, search
from course.publish.companions.body import ROOT, readdressed
from course.publish.companions.corpus import chunks
from course.publish.companions.evidence import evidence_template
from course.publish.companions.notebook import notebook
from course.publish.companions.quiz import asked
from course.publish.companions.script import script
from course.publish.companions.source import lesson_markdown
from course.publish.labels import Labels
from course.publish.pages import Around, Pages
from course.publish.resources import catalog_entry, content_hash, json_bytes, own_resource, place
from course.publish.tree import File
from course.read import schema
from course.read.lesson import KIB, Lesson

MEDIA_TYPES: Final = {
    "markdown": "text/markdown",
    "notebook": "application/x-ipynb+json",
    "script": "text/x-python",
    "evidence": "text/markdown",
}


@dataclass(slots=True)
class Unit:
    """What one lesson contributes; JSON-able but for ``outputs``, whose bytes are not cached.

    ``body`` is its Markdown for the full text, where each link into the site begins with
    ``ROOT``; ``printed`` its HTML on a page to print, empty when there is none.
    """

    id: str
    key: str
    entry: dict[str, Any]
    files: dict[str, File] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)
    chunks: bytes = b""
    body: str = ""
    printed: str = ""
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def cached(self) -> dict[str, Any]:
        """What the cache keeps."""
        return {
            "id": self.id,
            "key": self.key,
            "entry": self.entry,
            "files": {path: list(file) for path, file in self.files.items()},
            "terms": self.terms,
            "chunks": self.chunks.decode(),
            "body": self.body,
            "printed": self.printed,
            "facts": self.facts,
        }


def unit_key(record_key: str, related: Mapping[str, Any], build_key: str) -> str:
    """The key of a lesson's outputs: its sources, its neighbours, the options of the build."""
    parts = (record_key.encode(), orjson.dumps(related), build_key.encode())
    return hashlib.sha256(b"".join(parts)).hexdigest()


@dataclass(slots=True)
class Draft:
    """What a lesson contributes by itself, whatever stands around it.

    ``outputs`` are the companions that ``resource`` names with their digests; ``files`` those of
    them that are written already. ``terms``, ``chunks`` and ``body`` are those of the unit.
    """

    resource: dict[str, Any]
    terms: dict[str, Any]
    chunks: bytes
    body: str = ""
    outputs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    def hashes(self) -> dict[str, str]:
        """The SHA-256 of each companion, by path."""
        return {one["url"]: one["sha256"] for one in self.resource.get("artifacts", ())}


def draft(record: Lesson, base_url: str | None, labels: Labels, *, file_urls: bool) -> Draft:
    """The draft of a lesson; files that readers take away link to *base_url* when it is known.

    *labels* are the words in them (:func:`course.publish.labels.chosen`).
    """
    resource = own_resource(record)
    made = Draft(
        resource,
        search.lesson_terms(resource),
        b"".join([orjson.dumps(chunk) + b"\n" for chunk in chunks(resource)]),
    )
    if not record.authored:
        return made
    content = resource["content"]
    index = "index.html" if file_urls else ""
    made.body = readdressed(content["markdown"], content["media"], ROOT, index)
    resource["artifacts"] = artifacts = []
    for kind, path, text in _companions(resource, record.id, labels, base_url or "../"):
        data = text if isinstance(text, bytes) else text.encode()
        made.outputs[path] = data
        artifacts.append(
            {
                "kind": kind,
                "url": path,
                "mediaType": MEDIA_TYPES[kind],
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    return made


def full_resource(drawn: Draft, related: Mapping[str, Any]) -> dict[str, Any]:
    """The resource of a lesson, complete."""
    resource = drawn.resource
    place(resource, related)
    if "artifacts" in resource:
        resource["contentHash"] = content_hash(resource)
    resource["revision"] = related["revision"]
    return resource


def build_unit(
    record: Lesson,
    drawn: Draft,
    related: Mapping[str, Any],
    pages: Pages,
    key: str,
    page_limit: int,
) -> Unit:
    """Page, resource, aliases and companions of a lesson; uses its draft up."""
    resource = full_resource(drawn, related)
    unit = Unit(record.id, key, catalog_entry(resource), drawn.files, drawn.terms, drawn.chunks)
    unit.body, unit.outputs = drawn.body, drawn.outputs
    outputs = unit.outputs
    for problem in schema.check("lesson.v1", resource, record.file):
        unit.problems.append(_broken_resource(problem, resource["resource"]))
    page = f"{resource['url']}index.html"
    html = pages.lesson(resource, _around(related), record.file)
    outputs[page] = html.encode()
    unit.facts[page] = outcheck.facts(page, html)
    outputs[resource["resource"]] = json_bytes(resource)
    for alias in related["aliases"]:
        old = f"lessons/{alias}/index.html"
        text = pages.alias(alias, resource)
        outputs[old] = text.encode()
        unit.facts[old] = outcheck.facts(old, text)
        outputs[f"api/v1/lessons/{alias}.json"] = outputs[resource["resource"]]
    unit.problems += _page_problems(record, html, len(outputs[page]), page_limit)
    if related["printed"]:
        unit.printed = str(pages.printed(resource))
    return unit


def _companions(
    resource: dict[str, Any], name: str, words: Labels, root: str
) -> list[tuple[str, str, str | bytes]]:
    quiz = asked(resource["quiz"], words)
    found: list[tuple[str, str, str | bytes]] = [
        ("markdown", f"lessons/{name}/index.md", lesson_markdown(resource, words, asked=quiz)),
        ("notebook", f"downloads/{name}.ipynb", notebook(resource, words, root, quiz)),
        ("evidence", f"downloads/{name}-evidence.md", evidence_template(resource, words, root)),
    ]
    if code := script(resource, words):
        found.append(("script", f"downloads/{name}.py", code))
    return found


def _around(related: Mapping[str, Any]) -> Around:
    return Around(
        previous=_with_url(related["previous"]),
        next=_with_url(related["next"]),
        prerequisites=related["prerequisites"],
        unlocks=related["unlocks"],
        concepts=related["concepts"],
        pathways=related["pathways"],
        projects=related["projects"],
    )


def _with_url(ref: dict[str, str] | None) -> dict[str, str] | None:
    return {**ref, "url": f"lessons/{ref['id']}/"} if ref else None


def _broken_resource(problem: Problem, path: str) -> Problem:
    where = "/".join(str(part) for part in problem.path or ())
    return Problem(
        "OUT005",
        problem.file,
        f"the resource {path} would break its schema at {short(where) or 'its top'}: "
        f"{problem.message}",
        expected=problem.expected,
        got=problem.got,
        hint="shorten or correct that part of the lesson",
    )


def _page_problems(record: Lesson, html: str, size: int, limit: int) -> list[Problem]:
    found: list[Problem] = []
    if size > limit:
        found.append(
            Problem(
                "OUT006",
                record.file,
                "the page of this lesson is larger than its budget",
                expected=f"at most {limit // KIB} KiB",
                got=f"{size / KIB:.0f} KiB",
                hint="split the lesson, or raise limits.pageKiB in course.yaml",
            )
        )
    if not record.authored and 'class="planned' not in html:
        found.append(
            Problem(
                "LES003",
                record.file,
                "the page of a planned lesson does not say Planned",
                hint="mend the template lesson.html",
            )
        )
    return found
