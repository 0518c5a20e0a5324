"""The form on which a learner keeps the evidence of one lesson."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course.publish.companions.quiz import text
from course.publish.inline import Labels, fill


def evidence_template(lesson: Mapping[str, Any], words: Labels, root: str = "../") -> str:
    """An empty Markdown form from the evidence list and the open question of a lesson.

    The link to the lesson starts with *root*.
    """
    title = text(lesson["title"])
    parts = [
        f"# {fill(words['form_title'], title=title)}",
        f"{words['form_lesson']} [{title}]({root}{lesson['url']})",
        words["form_name"],
        words["form_date"],
    ]
    for number, item in enumerate(lesson["evidence"], 1):
        parts += [f"## {number}. {text(item)}", words["form_where"], words["form_shows"]]
    parts += [f"## {words['check']}", text(lesson["check"]["prompt"]), words["form_answer"]]
    parts += [f"## {words['form_change']}", words["form_change_help"]]
    return "\n\n".join(parts) + "\n"
