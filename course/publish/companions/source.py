"""A lesson as one Markdown file with front matter, for people and programs that read text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from course.publish.companions import quiz
from course.publish.companions.body import readdressed
from course.publish.inline import Labels

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


def lesson_markdown(
    lesson: Mapping[str, Any],
    words: Labels,
    root: str = "../../",
    asked: quiz.Asked | None = None,
) -> str:
    """Front matter and text of a lesson; links start with *root*, the way to the site root.

    *asked* is the quiz where it is known already. Values in the front matter are written in
    JSON, which YAML reads as it is.
    """
    lines = [
        f"{key}: {orjson.dumps(lesson[key]).decode()}"
        for key in _FRONT
        if key in lesson and lesson[key] != []
    ]
    return "---\n" + "\n".join(lines) + f"\n---\n\n{_text(lesson, words, root, asked)}"


def _text(lesson: Mapping[str, Any], words: Labels, root: str, asked: quiz.Asked | None) -> str:
    """The same without front matter: title, summary, body, questions with answers, evidence."""
    parts = [f"# {quiz.text(lesson['title'])}"]
    if lesson["status"] == "planned":
        goals = "\n".join(f"- {quiz.text(goal)}" for goal in lesson["objectives"])
        parts += [lesson["notice"], quiz.text(lesson["summary"]), goals]
        return "\n\n".join(parts) + "\n"
    check, content = lesson["check"], lesson["content"]
    asked = asked or quiz.asked(lesson["quiz"], words)
    parts += [
        quiz.text(lesson["summary"]),
        readdressed(content["markdown"], content["media"], root).strip("\n"),
        f"## {words['practice_questions']}\n\n*{words['quiz_label']}*",
        asked.every(),
        f"### {words['answers']}\n\n{asked.answers}",
        f"## {words['check']}\n\n{quiz.text(check['prompt'])}\n\n{check['answer'].strip()}",
        f"## {words['evidence']}\n\n"
        + "\n".join(f"- {quiz.text(item)}" for item in lesson["evidence"]),
    ]
    return "\n\n".join(parts) + "\n"
