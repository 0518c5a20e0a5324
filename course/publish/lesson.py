"""Renders everything that one lesson puts on the site: resource, page and companions."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import orjson
from markupsafe import Markup

from course.check import pages
from course.diagnostics import Problem, shorten
from course.publish import search
from course.publish.corpus import split_passages
from course.publish.downloads import (
    Manuscript,
    write_evidence_form,
    write_markdown,
    write_notebook,
    write_script,
)
from course.publish.shell import (
    DEEP,
    FLAT,
    PYTHON_FOLDER,
    Ref,
    Resource,
    Shell,
    SiteInfo,
    attribute,
    attribute_cached,
    html,
    paragraphs,
    plain,
    prose,
    size,
)
from course.publish.tree import File, encode_json
from course.read import schema
from course.read.graph import Graph, LessonNode
from course.read.lesson import KIB, Lesson, Material
from course.read.sources import Item

API: Final = "api/v1"
QUIZ_LABEL: Final = "Practice questions. Answers are included; this is not an exam."
PLANNED_NOTICE: Final = "Planned. No lesson material exists yet."
MEDIA_TYPES: Final = {
    "markdown": "text/markdown",
    "notebook": "application/x-ipynb+json",
    "script": "text/x-python",
    "evidence": "text/markdown",
}
# A printed pathway joins its lessons on one page; beyond this a browser struggles with it.
PRINT_LIMIT: Final = 100
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
    "updated",
    "contentHash",
    "aliases",
    "phaseId",
    "position",
    "url",
    "resource",
)
_LISTS: Final = ("prerequisites", "equipment", "concepts", "tags", "aliases")
_UNPUBLISHED: Final = ("interfaces", "tracking")
_WORDS: Final = (
    "check_answer",
    "choose_all",
    "choose_first",
    "correct",
    "not_yet",
    "number_first",
    "question",
    "right",
    "show_answer",
    "stage_during",
    "wrong",
    "your_number",
)
_NUMBER: Final = '<input inputmode="decimal" autocomplete="off">'
_ADDRESS: Final = re.compile(r'\b(href|src)="([^"]*)"')
_ID: Final = re.compile(r'\b(id|for|aria-labelledby|aria-describedby)="([^"]*)"')
# Headings, and whatever has attributes but the colour of code, which is half of all tags.
_TAG: Final = re.compile(
    r'<(?!span class="[a-z]">)(/?)(h[1-5]|details|[a-zA-Z][a-zA-Z0-9]*(?= ))([^<>]*)>'
)
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


@dataclass(slots=True)
class Unit:
    """The contribution of one lesson to the site, as the cache keeps it.

    ``content_hash`` is empty for a planned lesson; ``body`` is its Markdown for the full text,
    where each link into the site begins with ``ROOT``; ``printed`` its HTML on a page to print,
    empty when there is none.
    """

    id: str
    content_hash: str
    files: dict[str, File]
    terms: dict[str, Any]
    chunks: str
    body: str
    printed: str
    facts: dict[str, dict[str, Any]]


def render(
    record: Lesson,
    material: Material,
    related: Mapping[str, Any],
    templates: LessonPages,
    page_limit: int,
) -> tuple[Unit, dict[str, bytes], list[Problem]]:
    """Page, resource, aliases and companions of a lesson; *page_limit* is in bytes.

    Returns a unit whose ``files`` are still to come, their bytes by path, and what is wrong.
    """
    resource, text, outputs = build_resource(record, material, related, templates.site)
    problems = [*check_resource("lesson.v1", resource, record.file)]
    path = f"{resource['url']}index.html"
    html = templates.render_page(resource, related, record.file)
    outputs[path] = html.encode()
    outputs[resource["resource"]] = encode_json(resource)
    facts = {path: pages.read_facts(path, html)}
    for alias in related["aliases"]:
        old = f"lessons/{alias}/index.html"
        moved = templates.render_alias(alias, resource)
        outputs[old] = moved.encode()
        outputs[f"api/v1/lessons/{alias}.json"] = outputs[resource["resource"]]
        facts[old] = pages.read_facts(old, moved)
    problems += _check_page(record, html, len(outputs[path]), page_limit)
    passages = split_passages(resource, text.sections) if text else []
    unit = Unit(
        id=record.id,
        content_hash=resource.get("contentHash", ""),
        files={},
        terms=search.index_lesson(resource, material.prose),
        chunks="".join(orjson.dumps(passage).decode() + "\n" for passage in passages),
        body=text.body(templates.index) if text else "",
        printed=templates.render_print_page(resource) if related["printed"] else "",
        facts=facts,
    )
    return unit, outputs, problems


def _check_page(record: Lesson, html: str, size: int, limit: int) -> Iterator[Problem]:
    if size > limit:
        message = "the page of this lesson is too large"
        expected, actual = f"at most {limit // KIB} KiB", f"{size / KIB:.0f} KiB"
        yield Problem("OUT006", record.file, message, expected=expected, got=actual)
    if not record.authored and 'class="planned' not in html:
        message = "the page of a planned lesson does not say Planned"
        yield Problem("LES003", record.file, message)


# -- the resource


def hash_content(resource: Mapping[str, Any]) -> str:
    """``sha256:`` and the hex digest of *resource* without its hash and revision."""
    left = {key: resource[key] for key in resource if key not in ("contentHash", "revision")}
    canonical = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def check_resource(name: str, resource: dict[str, Any], file: str) -> Iterator[Problem]:
    """OUT005 for each way in which *resource*, made from *file*, breaks the schema *name*."""
    for problem in schema.check(name, resource, file):
        where = shorten("/".join(map(str, problem.path or ()))) or "its top"
        message = f"would break its schema at {where}: {problem.message}"
        message = f"the resource {resource.get('resource', name)} {message}"
        yield replace(problem, code="OUT005", message=message, path=None, hint=None)


def page_url(kind: str, name: str) -> str:
    """The address of a page from the site root, with final slash."""
    return f"{kind}/{name}/"


def make_ref(graph: Graph, name: str) -> dict[str, str]:
    """A lesson as other resources name it."""
    view = graph.lessons[name].view
    return {"id": name, "title": view.title, "status": view.status}


def relate_lessons(graph: Graph) -> Iterator[tuple[LessonNode, dict[str, Any]]]:
    """Each lesson, and what its page and resource say about other sources."""
    routes = graph.pathway_lessons.values()
    printed = {name for lessons in routes if is_printable(lessons) for name in lessons}
    numbers = graph.phase_numbers()
    order = list(graph.lessons)
    titles = {concept.id: concept.title for concept in graph.sources.concepts}
    aliases: dict[str, list[str]] = {}
    for old, name in graph.aliases.items():
        aliases.setdefault(name, []).append(old)
    along = _along(graph)
    for at, node in enumerate(graph.lessons.values()):
        relations = _relations(graph, node)
        phase = {"number": numbers[node.phase.id], "title": node.phase.data.title}
        relations["phase"] = {"id": node.phase.id, **phase}
        relations["aliases"] = aliases.get(node.id, [])
        relations["concepts"] = [{"id": name, "title": titles[name]} for name in node.view.concepts]
        relations["before"] = make_ref(graph, order[at - 1]) if at else None
        relations["after"] = make_ref(graph, order[at + 1]) if at + 1 < len(order) else None
        relations["along"] = [
            {**make_ref(graph, name), "pathway": title}
            for name, title in along.get(node.id, ())
            if at + 1 == len(order) or name != order[at + 1]
        ]
        yield node, {**relations, "printed": node.id in printed}


def _along(graph: Graph) -> dict[str, list[tuple[str, str]]]:
    """Return the next lesson on each pathway, with the title of the pathway."""
    entries_by_kind: dict[str, list[tuple[str, str]]] = {}
    for pathway, lessons in graph.pathway_lessons.items():
        for name, following in pairwise(lessons):
            title = graph.pathways[pathway].data.title
            entries_by_kind.setdefault(name, []).append((following, title))
    return entries_by_kind


def _relations(graph: Graph, node: LessonNode) -> dict[str, Any]:
    beside, at, course = node.phase.lessons, node.position - 1, graph.sources.course

    def list_refs(kind: str, items: Mapping[str, Item[Any]], of: list[str]) -> list[dict[str, str]]:
        return [
            {"id": name, "title": items[name].data.title, "url": page_url(kind, name)}
            for name in of
        ]

    return {
        "revision": course.version if course else "",
        "position": node.position,
        "previous": make_ref(graph, beside[at - 1].id) if at else None,
        "next": make_ref(graph, beside[at + 1].id) if at + 1 < len(beside) else None,
        **{
            key: [{**make_ref(graph, name), "url": page_url("lessons", name)} for name in of]
            for key, of in (
                ("prerequisites", node.view.prerequisites),
                ("unlocks", graph.unlocks.get(node.id, ())),
            )
        },
        "pathways": list_refs("pathways", graph.pathways, graph.lesson_pathways.get(node.id, [])),
        "projects": list_refs("projects", graph.projects, graph.lesson_projects.get(node.id, [])),
    }


def is_printable(lessons: Sequence[str]) -> bool:
    """Whether a pathway of these lessons gets a page to print."""
    return len(lessons) <= PRINT_LIMIT


def collect_facts(record: Lesson, related: Mapping[str, Any]) -> dict[str, Any]:
    """The resource of a lesson but its material; *related* is what :func:`relate_lessons` says."""
    name = record.id
    resource: dict[str, Any] = {key: [] for key in _LISTS}
    resource |= {key: fact for key, fact in record.front.items() if key not in _UNPUBLISHED}
    resource |= {key: related[key] for key in ("revision", "phase", "position")}
    resource |= {
        "schemaVersion": 1,
        "url": page_url("lessons", name),
        "resource": f"{API}/lessons/{name}.json",
        "unlocks": [ref["id"] for ref in related["unlocks"]],
        "phaseId": related["phase"]["id"],
        "pathwayIds": [ref["id"] for ref in related["pathways"]],
        "projectIds": [ref["id"] for ref in related["projects"]],
    }
    resource |= {key: related[key] for key in ("previous", "next") if related[key] is not None}
    return {"review": "none", "references": [], **resource} if record.authored else resource


def build_resource(
    record: Lesson, material: Material, related: Mapping[str, Any], site: SiteInfo
) -> tuple[dict[str, Any], Manuscript | None, dict[str, bytes]]:
    """The resource of a lesson, its text, and the companions that it names, by path."""
    resource = collect_facts(record, related)
    if not record.authored:
        return {**resource, "notice": PLANNED_NOTICE}, None, {}
    content, questions, pieces, _ = material
    quiz = {"formative": True, "label": QUIZ_LABEL, "questions": questions}
    resource |= {"content": content, "quiz": quiz}
    companions: dict[str, bytes] = {}
    resource["artifacts"] = artifacts = []
    text = Manuscript.of(resource, pieces, site.words)
    for kind, path, file in _write_companions(text, site.base_url or "../"):
        data = companions[path] = file if isinstance(file, bytes) else file.encode()
        artifacts.append(
            {
                "kind": kind,
                "url": path,
                "mediaType": MEDIA_TYPES[kind],
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    resource["contentHash"] = hash_content(resource)
    return resource, text, companions


def _write_companions(text: Manuscript, root: str) -> Iterator[tuple[str, str, str | bytes]]:
    """Kind, path and content of the files that readers take away."""
    name = text.resource["id"]
    yield "markdown", f"lessons/{name}/index.md", write_markdown(text)
    yield "notebook", f"downloads/{name}.ipynb", write_notebook(text, root)
    evidence = write_evidence_form(text.resource, text.words, root)
    yield "evidence", f"downloads/{name}-evidence.md", evidence
    if code := write_script(text):
        yield "script", f"downloads/{name}.py", code


def select_catalog_entry(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a lesson resource that the catalog repeats."""
    return {key: resource[key] for key in ENTRY_FIELDS if key in resource}


# -- the page


def _pages_of(site: SiteInfo) -> LessonPages:
    return LessonPages(Shell(site))


class LessonPages:
    """Renders lessons from their resources."""

    def __init__(self, shell: Shell) -> None:
        self.site = shell.site
        self.index = shell.index
        self._shell = shell
        self._words = shell.words
        self._safe = w = {key: shell.word(key) for key in _WORDS}
        self._script_words = "|".join(
            [w["check_answer"], w["correct"], w["not_yet"], w["choose_first"], w["number_first"]]
        )
        self._answer = f'<details class="answer"><summary>{w["show_answer"]}</summary>'

    def __reduce__(self) -> tuple[Any, ...]:
        return _pages_of, (self.site,)

    def render_page(self, lesson: Resource, related: Mapping[str, Any], source_path: str) -> str:
        """``lessons/<id>/index.html``; *source_path* counts from the repository root.

        *related* is what the course around the lesson says about it: ``before``, ``after``,
        ``along``, ``prerequisites``, ``unlocks``, ``concepts``, ``pathways``, ``projects``.
        """
        shell, words = self._shell, self._words
        authored = lesson["status"] == "authored"
        phase = lesson["phase"]
        title = lesson["title"] if authored else f"{words['planned']}: {lesson['title']}"
        trail = [("phases/", words["course"]), (f"phases/{phase['id']}/", phase["title"])]
        frame = shell.frame(lesson["url"], title, lesson["summary"], "phases", trail)
        values: dict[str, str] = {
            "authored": "1" if authored else "",
            "id": attribute(lesson["id"]),
            "number": attribute(f"{phase['number']}.{lesson['position']}"),
            "title": html(lesson["title"]),
            "summary": html(lesson["summary"]),
            "minutes": str(lesson.get("minutes", "")),
            "level": shell.word(f"level_{lesson['level']}") if "level" in lesson else "",
            "equipment": attribute(shell.equipment(lesson["equipment"])),
            "prerequisites": shell.names(related["prerequisites"], DEEP),
            "concepts": shell.concepts(related["concepts"], DEEP),
            "toc": "",
            "python": "",
            "objectives": _render_points(lesson["objectives"]),
            "evidence": _render_points(lesson.get("evidence", ())),
            "references": shell.references(lesson.get("references", ())),
            "downloads": "",
            "review": "",
            "part_of": shell.items([*related["pathways"], *related["projects"]], DEEP),
            "unlocks": shell.items(related["unlocks"], DEEP),
            "nearby": shell.nearby(
                _with_url(related["before"]),
                _with_url(related["after"]),
                [{**ref, "url": f"lessons/{ref['id']}/"} for ref in related["along"]],
            ),
            "edit": attribute(shell.site.edit_base + source_path) if shell.site.edit_base else "",
        }
        if authored:
            values |= self._render_material(lesson)
        if shell.site.course.get("runInPage") and 'class="language-py' in values.get("body", ""):
            values["python"] = f"{DEEP}{PYTHON_FOLDER}"
        values["live"] = "1" if "data-trace=" in values.get("body", "") else ""
        safe = {name: Markup(value) for name, value in values.items()}  # noqa: S704  (escaped above)
        return shell.render("lesson.html", page=frame, root=DEEP, **safe)

    def _render_material(self, lesson: Resource) -> dict[str, str]:
        """The parts that only an authored lesson has."""
        quiz, review = lesson["quiz"], lesson.get("review", "none")
        first = [question for question in quiz["questions"] if question["stage"] == "before"]
        rest = [question for question in quiz["questions"] if question["stage"] != "before"]
        return {
            "toc": self._render_toc(lesson["content"]),
            "review": self._shell.word(f"review_{review}") if review != "none" else "",
            "prompt": html(lesson["check"]["prompt"]),
            "answer": paragraphs(lesson["check"]["answer"]),
            "before": self._render_questions("page-before", "before_reading", first),
            "body": self.render_body(lesson),
            "after": self._render_questions("page-quiz", "practice", rest),
            "downloads": self._render_downloads(lesson["artifacts"]),
            "updated": attribute(lesson.get("updated", "")),
            "hash": lesson["contentHash"].partition(":")[2][:8],
        }

    def _render_toc(self, content: Resource) -> str:
        """List items for the headings of the first two levels, with the kinds of their blocks."""
        words = self._shell.site.kinds
        kinds = {
            block["id"]: words[block["kind"]]
            for block in content["blocks"]
            if block["kind"] != "text"
        }
        items: list[str] = []
        for entry in content["toc"]:
            if entry["level"] <= 3:
                anchor, title = entry["id"], entry["title"]
                kind = kinds.get(anchor, title)
                lead = f"<span>{attribute(kind)}:</span> " if kind != title else ""
                deeper = ' class="deeper"' if entry["level"] > 2 else ""
                link = f'<a href="#{attribute(anchor)}">{lead}{html(title)}</a>'
                items.append(f"<li{deeper}>{link}</li>")
        return "\n".join(items)

    def render_body(self, lesson: Resource) -> str:
        """The teaching blocks, each as the resource carries it: no raw HTML passed that step."""
        blocks = [
            f'<div class="block {block["kind"]}">{block["html"]}</div>'
            for block in lesson["content"]["blocks"]
        ]
        return "\n".join(blocks)

    def _render_questions(self, anchor: str, heading: str, questions: Sequence[Resource]) -> str:
        """A section with all *questions*, numbered from 1."""
        if not questions:
            return ""
        fieldsets = [
            self._render_question(number, question) for number, question in enumerate(questions, 1)
        ]
        return (
            f'<section class="end quiz" id="{anchor}" data-words="{self._script_words}">\n'
            f"<h2>{attribute(self._words[heading])}</h2>\n"
            f'<p class="formative">{attribute(self._words["quiz_label"])}</p>\n'
            f"{''.join(fieldsets)}</section>"
        )

    def _render_question(self, number: int, question: Mapping[str, Any]) -> str:
        during = f", {self._safe['stage_during']}" if question["stage"] == "during" else ""
        legend = (
            f'<legend><span class="count">{self._safe["question"]} {number}{during}</span> '
            f"{html(question['prompt'])}</legend>"
        )
        render = self._render_numeric if question["kind"] == "numeric" else self._render_choice
        reasons = paragraphs(question["explanation"])
        return f"{render(question, legend)}{reasons}\n</details>\n</fieldset>\n"

    def _render_numeric(self, question: Mapping[str, Any], legend: str) -> str:
        value, tolerance = question["value"], question.get("tolerance", 0)
        unit = html(question["unit"]) if "unit" in question else ""
        margin = f" (± {tolerance})" if tolerance else ""
        return (
            f'<fieldset class="question" data-question="{attribute(question["id"])}" '
            f'data-value="{value}" data-tolerance="{tolerance}">\n'
            f"{legend}\n"
            f'<label class="number-field">{self._safe["your_number"]} {_NUMBER} {unit}</label>\n'
            f"{self._answer}\n"
            f"<p><strong>{value} {unit}</strong>{margin}</p>\n"
        )

    def _render_choice(self, question: Mapping[str, Any], legend: str) -> str:
        words, answers = self._safe, question["answer"]
        single = question["kind"] == "single"
        hint = "" if single else f'<p class="hint">{words["choose_all"]}</p>\n'
        opening = (
            f'<label class="option"><input type="{"radio" if single else "checkbox"}" '
            f'name="{attribute(question["id"])}" value="'
        )
        labels: list[str] = []
        verdicts: list[str] = []
        for option in question["options"]:
            text = html(option["text"])
            letter = attribute_cached(option["id"])
            labels.append(f'{opening}{letter}" autocomplete="off"> <span>{text}</span></label>\n')
            why = f' <span class="why">{html(option["why"])}</span>' if "why" in option else ""
            if option["id"] in answers:
                verdict = f' class="right"><strong>{words["right"]}:</strong>'
            else:
                verdict = f"><strong>{words['wrong']}:</strong>"
            verdicts.append(f"<li{verdict} {text}{why}</li>\n")
        return (
            f'<fieldset class="question" data-question="{attribute(question["id"])}" '
            f'data-answer="{attribute_cached(" ".join(answers))}">\n'
            f"{legend}\n{hint}{''.join(labels)}{self._answer}\n"
            f'<ul class="verdicts">\n{"".join(verdicts)}</ul>\n'
        )

    def _render_downloads(self, artifacts: Iterable[Resource]) -> str:
        items = [
            f'<li><a href="{DEEP}{attribute(file["url"])}" download>'
            f"{self._shell.word('artifact_' + file['kind'])}</a> ({size(file['bytes'])})</li>"
            for file in artifacts
        ]
        return "\n".join(items)

    def render_alias(self, old_id: str, lesson: Ref) -> str:
        """``lessons/<old_id>/index.html``: sends readers on to the lesson's present page."""
        address = lesson["url"] + self._shell.index
        return self._shell.render(
            "alias.html",
            old_id=old_id,
            root=DEEP,
            title=plain(lesson["title"]),
            url=lesson["url"],
            canonical=(self.site.base_url or DEEP) + address,
        )

    def render_print_page(self, lesson: Resource) -> str:
        """The body of a lesson as a page to print shows it."""
        if "content" not in lesson:
            return prose(f"{self._words['planned']}. {self._words['planned_notice']}")
        return move_body(self.render_body(lesson), lesson["id"], lesson["url"], FLAT)


def _with_url(ref: Ref | None) -> Ref | None:
    return {**ref, "url": f"lessons/{ref['id']}/"} if ref else None


def _render_points(texts: Iterable[str]) -> str:
    """List items, one for each text; empty for none."""
    return "\n".join([f"<li>{html(text)}</li>" for text in texts])


def move_body(html: str, owner: str, folder: str, root: str) -> str:
    """*html* of a page in *folder* as part of a page whose site root is *root*.

    Ids and links to them get the prefix *owner*, relative addresses are rewritten, headings go
    down one level and folded solutions open.
    """

    def identify(match: re.Match[str]) -> str:
        ids = " ".join(f"{owner}--{name}" for name in match[2].split())
        return f'{match[1]}="{ids}"'

    def readdress(match: re.Match[str]) -> str:
        address = match[2]
        if address.startswith("#"):
            return f'{match[1]}="#{owner}--{address[1:]}"'
        if _SCHEME.match(address):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, address))
        slash = "/" if address.endswith("/") else ""
        return f'{match[1]}="{root}{path}{slash}"'

    def retag(match: re.Match[str]) -> str:
        close, name, attributes = match[1], match[2], match[3]
        if len(name) == 2 and name[0] == "h" and "1" <= name[1] <= "5":
            name = f"h{int(name[1]) + 1}"
        if name == "details" and not close and " open" not in attributes:
            attributes += " open"
        attributes = _ID.sub(identify, _ADDRESS.sub(readdress, attributes))
        return f"<{close}{name}{attributes}>"

    return _TAG.sub(retag, html)
