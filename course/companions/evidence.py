"""The form on which a learner keeps the evidence of one lesson."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course.companions.quiz import text


def evidence_template(lesson: Mapping[str, Any], root: str = "../") -> str:
    """An empty Markdown form from the evidence list and the open question of a lesson.

    The link to the lesson starts with *root*.
    """
    parts = [
        f"# Evidence: {text(lesson['title'])}",
        f"Lesson: [{text(lesson['title'])}]({root}{lesson['url']})",
        "Name:",
        "Date:",
    ]
    for number, item in enumerate(lesson["evidence"], 1):
        parts += [f"## {number}. {text(item)}", "Where it is:", "What it shows:"]
    parts += ["## Check your reasoning", text(lesson["check"]["prompt"]), "My answer:"]
    parts += ["## What I change next", "One change, and how I will see that it worked:"]
    return "\n\n".join(parts) + "\n"
