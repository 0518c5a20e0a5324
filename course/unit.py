"""Everything that one lesson puts on the site: page, resource and companions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from course import outcheck, schema, search
from course.companions.body import ROOT, readdressed
from course.companions.corpus import chunks
from course.companions.evidence import evidence_template
from course.companions.notebook import notebook
from course.companions.quiz import asked
from course.companions.script import script
from course.companions.source import lesson_markdown
from course.diagnostics import Problem, short
from course.lesson import KIB, Lesson
from course.pages import Around, Pages
from course.resources import catalog_entry, content_hash, json_bytes, lesson_resource
from course.tree import File

MEDIA_TYPES: Final = {
    "markdown": "text/markdown",
    "notebook": "application/x-ipynb+json",
    "script": "text/x-python",
    "evidence": "text/markdown",
}


@dataclass(slots=True)
class Unit:
    """What one lesson contributes; JSON-able but for ``outputs``, whose bytes are not cached.

    ``hashes`` holds the SHA-256 of those outputs for which it is known already.
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
    hashes: dict[str, str] = field(default_factory=dict)
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
    digest = hashlib.blake2b(record_key.encode(), digest_size=16)
    digest.update(orjson.dumps(related))
    digest.update(build_key.encode())
    return digest.hexdigest()


def full_resource(
    record: Lesson, related: Mapping[str, Any], base_url: str | None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The resource of a lesson, complete, and the companions that it names, by path.

    Files that readers take away link to *base_url* when it is known.
    """
    resource = lesson_resource(record, related)
    outputs: dict[str, bytes] = {}
    if record.authored:
        resource["artifacts"] = artifacts = []
        for kind, path, text in _companions(resource, record.id, base_url or "../"):
            data = text if isinstance(text, bytes) else text.encode()
            outputs[path] = data
            artifacts.append(
                {
                    "kind": kind,
                    "url": path,
                    "mediaType": MEDIA_TYPES[kind],
                    "bytes": len(data),
                    "sha256": hashlib.sha256(data).hexdigest(),
                }
            )
        resource["contentHash"] = content_hash(resource)
    resource["revision"] = related["revision"]
    return resource, outputs


def build_unit(
    record: Lesson, related: Mapping[str, Any], pages: Pages, key: str, page_limit: int
) -> Unit:
    """Page, resource, aliases and companions of a lesson."""
    resource, outputs = full_resource(record, related, pages.base_url)
    unit = Unit(record.id, key, catalog_entry(resource))
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
    unit.terms = search.lesson_terms(resource)
    unit.chunks = b"".join([orjson.dumps(chunk) + b"\n" for chunk in chunks(resource)])
    if record.authored:
        content = resource["content"]
        unit.body = readdressed(content["markdown"], content["media"], ROOT, pages.index)
    if related["printed"]:
        unit.printed = str(pages.printed(resource))
    unit.outputs = outputs
    unit.hashes = {one["url"]: one["sha256"] for one in resource.get("artifacts", ())}
    return unit


def _companions(
    resource: dict[str, Any], name: str, root: str
) -> list[tuple[str, str, str | bytes]]:
    quiz = asked(resource["quiz"])
    found: list[tuple[str, str, str | bytes]] = [
        ("markdown", f"lessons/{name}/index.md", lesson_markdown(resource, asked=quiz)),
        ("notebook", f"downloads/{name}.ipynb", notebook(resource, root, quiz)),
        ("evidence", f"downloads/{name}-evidence.md", evidence_template(resource, root)),
    ]
    if code := script(resource):
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
