"""The downloads of a lesson: Markdown, notebook, script and evidence form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

from course.publish.shell import Labels, fill
from course.publish.tree import encode_json
from course.read import links
from course.read.code import PYTHON
from course.read.markdown import INTRO, TEXT_KIND, Code, Piece

_TARGET: Final = re.compile(r"(\]\([ \t]*<?)([^)\s>]+)")
_ANY_TARGET: Final = re.compile(r"(\]\([ \t]*<?|^\[[^\]\n]+\]:[ \t]+<?)([^)\s>]+)", re.MULTILINE)
# Relative links are written from a lesson folder; its names do not matter for where they go.
_FOLDER: Final = "content/phases/00-phase/00-lesson"
_UP: Final = "../../"
ROOT: Final = "\x1e"  # stands for the way to the site root; no source file holds this character
_TO_ESCAPE: Final = re.compile(r"(`[^`]+`)|([\\<>\[\]_#|~])")


class Section(NamedTuple):
    """The text before the first H2 (`heading` is empty), or one H2 with what follows it.

    `parts` holds Markdown without surrounding blank lines (the heading line is in the first
    one) and code, in order.
    """

    id: str
    kind: str
    heading: str
    parts: list[str | Code]


def split_sections(pieces: Iterable[Piece]) -> list[Section]:
    """The sections of an authored lesson, whose text consists of *pieces*."""
    result = [Section(INTRO, TEXT_KIND, "", [])]
    for piece in pieces:
        text = piece.text.strip()
        if piece.head is not None:
            heading = text.partition("\n")[0].strip(" \t#")
            result.append(Section(*piece.head, heading, []))
        if piece.code is not None:
            result[-1].parts.append(piece.code)
        elif text:
            result[-1].parts.append(text)
    return result if result[0].parts else result[1:]


def readdress(
    content: Mapping[str, Any], pieces: Iterable[Piece], index: str = ""
) -> Iterator[Piece]:
    """The *pieces* of a lesson, their links to the course and its images starting with `ROOT`.

    Code is untouched. *index* goes after the folder of a page.
    """
    media: dict[str, str] = {}
    for entry in content["media"]:
        stem, _, suffix = entry["url"].rpartition("/")[2].rpartition(".")
        media[f"media/{stem.rpartition('.')[0]}.{suffix}"] = _UP + entry["url"]

    def move(match: re.Match[str]) -> str:
        url = links.resolve_url(links.read(match[2], _FOLDER, media), file_urls=bool(index))
        return match[1] + (ROOT + url.removeprefix(_UP) if url.startswith(_UP) else match[2])

    defines = "\n[" in f"\n{content['markdown']}"  # references ([name]: address)
    pattern = _ANY_TARGET if defines else _TARGET
    for piece in pieces:
        yield piece if piece.code else piece._replace(text=pattern.sub(move, piece.text))


def join_pieces(pieces: Iterable[Piece]) -> str:
    """The text of *pieces*."""
    return "".join([piece.text for piece in pieces])


def escape_text(line: str) -> str:
    """A `text` field as Markdown: code and emphasis stay, other marks are escaped."""
    return _TO_ESCAPE.sub(lambda match: match[1] or "\\" + match[2], line)


class Manuscript(NamedTuple):
    """An authored lesson as text, each part of it made once for all files that hold it.

    ``sections`` stand as they were written; ``moved`` is the same text with links that start with
    `ROOT`. ``questions`` has each question without its answer, numbered, under its stage.
    """

    resource: Mapping[str, Any]
    words: Labels
    pieces: Sequence[Piece]
    sections: list[Section]
    moved: list[Piece]
    questions: list[tuple[str, str]]
    answers: str

    @classmethod
    def of(cls, resource: Mapping[str, Any], pieces: Sequence[Piece], words: Labels) -> Manuscript:
        """The lesson of that resource, whose text consists of *pieces*."""
        questions = [*enumerate(resource["quiz"]["questions"], 1)]
        return cls(
            resource,
            words,
            pieces,
            split_sections(pieces),
            [*readdress(resource["content"], pieces)],
            [
                (question["stage"], _format_question(n, question, words))
                for n, question in questions
            ],
            "\n\n".join([_explain(n, question) for n, question in questions]),
        )

    def body(self, index: str) -> str:
        """The text with moved links, where *index* goes after the folder of a page."""
        if not index:
            return join_pieces(self.moved)
        return join_pieces(readdress(self.resource["content"], self.pieces, index))

    def ask(self, *stages: str) -> str:
        """The questions of these stages, or all."""
        return "\n\n".join(
            [text for stage, text in self.questions if not stages or stage in stages]
        )


def _explain(number: int, question: Mapping[str, Any]) -> str:
    """Answer and explanation of a question, and what each option says about itself."""
    text = question["explanation"].strip()
    return f"**{number}.** {_format_answer(question)}\n\n{text}{_format_reasons(question)}"


def _format_question(number: int, question: Mapping[str, Any], words: Labels) -> str:
    head = f"**{number}.** {escape_text(question['prompt'])}"
    if question["kind"] == "numeric":
        unit = question.get("unit")
        if unit is None:
            return f"{head}\n\n{words['number_answer']}"
        return f"{head}\n\n{fill(words['number_answer_unit'], unit=escape_text(unit))}"
    hint = f" ({words['choose_all']})" if question["kind"] == "multiple" else ""
    lines = "\n".join([f"- {_format_option(option)}" for option in question["options"]])
    return f"{head}{hint}\n\n{lines}"


def _format_answer(question: Mapping[str, Any]) -> str:
    if question["kind"] == "numeric":
        unit = f" {escape_text(question['unit'])}" if "unit" in question else ""
        tolerance = question.get("tolerance")
        margin = f" ± {_format_number(tolerance)}" if tolerance else ""
        return f"{_format_number(question['value'])}{margin}{unit}"
    right = [option for option in question["options"] if option["id"] in question["answer"]]
    return "; ".join(map(_format_option, right))


def _format_reasons(question: Mapping[str, Any]) -> str:
    lines = [
        f"- {option['id'].upper()}: {escape_text(option['why'])}"
        for option in question["options"]
        if "why" in option
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def _format_option(option: Mapping[str, Any]) -> str:
    return f"{option['id'].upper()}. {escape_text(option['text'])}"


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)


_FRONT: Final = (
    "id",
    "title",
    "status",
    "summary",
    "minutes",
    "level",
    "objectives",
    "prerequisites",
    "equipment",
    "concepts",
    "tags",
    "evidence",
    "references",
)


def write_markdown(lesson: Manuscript, root: str = "../../") -> str:
    """Front matter, summary, text, questions with answers, and evidence of a lesson.

    Links start with *root*, the way to the site root. Values in the front matter are written in
    JSON, which YAML reads as it is.
    """
    facts, words = lesson.resource, lesson.words
    lines = [
        f"{key}: {orjson.dumps(facts[key]).decode()}"
        for key in _FRONT
        if key in facts and facts[key] != []
    ]
    check = facts["check"]
    parts = [
        "---\n" + "\n".join(lines) + "\n---",
        f"# {escape_text(facts['title'])}",
        escape_text(facts["summary"]),
        join_pieces(lesson.moved).replace(ROOT, root).strip("\n"),
        f"## {words['practice_questions']}\n\n*{words['quiz_label']}*",
        lesson.ask(),
        f"### {words['answers']}\n\n{lesson.answers}",
        f"## {words['check']}\n\n{escape_text(check['prompt'])}\n\n{check['answer'].strip()}",
        f"## {words['evidence']}\n\n"
        + "\n".join(f"- {escape_text(item)}" for item in facts["evidence"]),
    ]
    return "\n\n".join(parts) + "\n"


_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
_FOLDED_CODE: Final = {"jupyter": {"source_hidden": True}, "tags": ["hide-input", "solution"]}
_FOLDED_TEXT: Final = {"jp-MarkdownHeadingCollapsed": True, "tags": ["solution"]}
_OPEN: Final[dict[str, Any]] = {}


def write_notebook(lesson: Manuscript, root: str = "../") -> bytes:
    """The notebook of an authored lesson: text cells, one cell for each Python block, questions.

    Links start with *root*: the way from ``downloads/`` to the site root, or the site's absolute
    address. Solutions and answers are folded by cell metadata.
    """
    cells = []
    name = lesson.resource["id"]
    for index, (kind, source, metadata) in enumerate(_cells(lesson, root)):
        seed = f"{name}\0{index}\0{source}".encode()
        cell: dict[str, Any] = {
            "cell_type": kind,
            "id": f"{crc32(seed):08x}",
            "metadata": metadata,
            "source": source,
        }
        if kind == "code":
            cell["execution_count"] = None
            cell["outputs"] = []
        cells.append(cell)
    document = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return encode_json(document)


def _cells(lesson: Manuscript, root: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    words = lesson.words
    yield "markdown", _head(lesson.resource, root, words), _OPEN
    label = f"*{words['quiz_label']}*"
    if before := lesson.ask("before"):
        yield "markdown", f"## {words['before_reading']}\n\n{label}\n\n{before}", _OPEN
    for section in split_sections(lesson.moved):
        for kind, source, metadata in _section_cells(section, words):
            yield kind, source.replace(ROOT, root), metadata
    if after := lesson.ask("during", "after"):
        yield "markdown", f"## {words['practice_questions']}\n\n{label}\n\n{after}", _OPEN
    yield "markdown", f"## {words['answers']}\n\n{lesson.answers}", _FOLDED_TEXT
    yield "markdown", _evidence(lesson.resource, words), _OPEN


def _section_cells(section: Section, words: Labels) -> Iterator[tuple[str, str, dict[str, Any]]]:
    folded = section.kind == "solution"
    pending: list[str] = []
    for part in section.parts:
        if isinstance(part, Code) and not part.output and part.language in PYTHON:
            if pending:
                yield "markdown", "\n\n".join(pending), _FOLDED_TEXT if folded else _OPEN
                pending = []
            yield "code", part.source.rstrip("\n"), _FOLDED_CODE if folded else _OPEN
        else:
            pending.append(_fence(part, words) if isinstance(part, Code) else part)
    if pending:
        yield "markdown", "\n\n".join(pending), _FOLDED_TEXT if folded else _OPEN


def _fence(code: Code, words: Labels) -> str:
    fence = "```"
    while fence in code.source:
        fence += "`"
    label = f"{words['expected_output']}\n\n" if code.output else ""
    return f"{label}{fence}{code.language}\n{code.source.rstrip()}\n{fence}"


def _head(lesson: Mapping[str, Any], root: str, words: Labels) -> str:
    goals = "\n".join(f"- {escape_text(goal)}" for goal in lesson["objectives"])
    return (
        f"# {escape_text(lesson['title'])}\n\n{escape_text(lesson['summary'])}\n\n"
        f"{fill(words['minutes_many'], n=lesson['minutes'])} "
        f"[{words['lesson_on_site']}]({root}{lesson['url']})\n\n{words['goals']}\n\n{goals}"
    )


def _evidence(lesson: Mapping[str, Any], words: Labels) -> str:
    items = "\n".join(f"- [ ] {escape_text(item)}" for item in lesson["evidence"])
    question = escape_text(lesson["check"]["prompt"])
    return f"## {words['evidence']}\n\n{items}\n\n**{words['check']}.** {question}"


_FUTURE: Final = re.compile(r"^from __future__ import [^\n(]+\n+", re.MULTILINE)
_RULE: Final = 78


def write_script(lesson: Manuscript) -> str:
    """Python code in order, headings and expected output as comments; empty without any code.

    ``from __future__`` lines move to the top, where Python wants them.
    """
    facts, words = lesson.resource, lesson.words
    body: list[str] = []
    future: set[str] = set()
    has_code = False
    for section in lesson.sections:
        if section.heading:
            body.append(f"# --- {section.heading} ".ljust(_RULE, "-"))
        for part in section.parts:
            if not isinstance(part, Code) or not (part.output or part.language in PYTHON):
                continue
            if part.output:
                body.append(_comment(f"{words['expected_output']}\n{part.source}"))
                continue
            has_code = True
            source = part.source
            if "__future__" in source:
                future.update(line.strip() for line in _FUTURE.findall(source))
                source = _FUTURE.sub("", source)
            body.append(source.strip("\n"))
    if not has_code:
        return ""
    head = [_comment(f"{facts['title']}\n{facts['summary']}"), *sorted(future)]
    return "\n\n".join(head + body) + "\n"


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())


def write_evidence_form(lesson: Mapping[str, Any], words: Labels, root: str = "../") -> str:
    """An empty Markdown form from the evidence list and the open question of a lesson.

    The link to the lesson starts with *root*.
    """
    title = escape_text(lesson["title"])
    parts = [
        f"# {fill(words['form_title'], title=title)}",
        f"{words['form_lesson']} [{title}]({root}{lesson['url']})",
        words["form_name"],
        words["form_date"],
    ]
    for number, item in enumerate(lesson["evidence"], 1):
        parts += [f"## {number}. {escape_text(item)}", words["form_where"], words["form_shows"]]
    parts += [f"## {words['check']}", escape_text(lesson["check"]["prompt"]), words["form_answer"]]
    parts += [f"## {words['form_change']}", words["form_change_help"]]
    return "\n\n".join(parts) + "\n"
