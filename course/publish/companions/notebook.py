"""A lesson as a Jupyter notebook (nbformat 4.5) without outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from zlib import crc32

import orjson

from course.publish.companions import quiz
from course.publish.companions.body import Code, Section, sections
from course.publish.inline import Labels, fill
from course.read.code import PYTHON

_METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
_FOLDED_CODE: Final = {"jupyter": {"source_hidden": True}, "tags": ["hide-input", "solution"]}
_FOLDED_TEXT: Final = {"jp-MarkdownHeadingCollapsed": True, "tags": ["solution"]}
_OPEN: Final[dict[str, Any]] = {}


def notebook(
    lesson: Mapping[str, Any],
    words: Labels,
    root: str = "../",
    asked: quiz.Asked | None = None,
) -> bytes:
    """The notebook of an authored lesson: text cells, one cell for each Python block, questions.

    Links start with *root*: the way from ``downloads/`` to the site root, or the site's absolute
    address. Solutions and answers are folded by cell metadata. *asked* is the quiz where it is
    known already.
    """
    cells = []
    questions = asked or quiz.asked(lesson["quiz"], words)
    for index, (kind, source, metadata) in enumerate(_cells(lesson, words, root, questions)):
        seed = f"{lesson['id']}\0{index}\0{source}".encode()
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
    return orjson.dumps(
        document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    )


def _cells(
    lesson: Mapping[str, Any], words: Labels, root: str, asked: quiz.Asked
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield "markdown", _head(lesson, root, words), _OPEN
    label = f"*{words['quiz_label']}*"
    if before := asked.before():
        yield "markdown", f"## {words['before_reading']}\n\n{label}\n\n{before}", _OPEN
    for section in sections(lesson, root):
        yield from _section_cells(section, words)
    if after := asked.after():
        yield "markdown", f"## {words['practice_questions']}\n\n{label}\n\n{after}", _OPEN
    yield "markdown", f"## {words['answers']}\n\n{asked.answers}", _FOLDED_TEXT
    yield "markdown", _evidence(lesson, words), _OPEN


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
            pending.append(_fenced(part, words) if isinstance(part, Code) else part)
    if pending:
        yield "markdown", "\n\n".join(pending), _FOLDED_TEXT if folded else _OPEN


def _fenced(code: Code, words: Labels) -> str:
    fence = "```"
    while fence in code.source:
        fence += "`"
    label = f"{words['expected_output']}\n\n" if code.output else ""
    return f"{label}{fence}{code.language}\n{code.source.rstrip()}\n{fence}"


def _head(lesson: Mapping[str, Any], root: str, words: Labels) -> str:
    goals = "\n".join(f"- {quiz.text(goal)}" for goal in lesson["objectives"])
    return (
        f"# {quiz.text(lesson['title'])}\n\n{quiz.text(lesson['summary'])}\n\n"
        f"{fill(words['minutes_many'], n=lesson['minutes'])} "
        f"[{words['lesson_on_site']}]({root}{lesson['url']})\n\n{words['goals']}\n\n{goals}"
    )


def _evidence(lesson: Mapping[str, Any], words: Labels) -> str:
    items = "\n".join(f"- [ ] {quiz.text(item)}" for item in lesson["evidence"])
    question = quiz.text(lesson["check"]["prompt"])
    return f"## {words['evidence']}\n\n{items}\n\n**{words['check']}.** {question}"
