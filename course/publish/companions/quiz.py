"""Practice questions and their answers as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from course.publish.inline import Labels, fill

_MARKS: Final = re.compile(r"(`[^`]+`)|([\\<>\[\]_#|~])")
_SPECIAL: Final = re.compile(r"[\\<>\[\]_#|~]")


@lru_cache(maxsize=512)  # one lesson's fields stand in several of its companions
def text(line: str) -> str:
    """A `text` field as Markdown: code and emphasis stay, other marks are escaped."""
    if not _SPECIAL.search(line):
        return line
    return _MARKS.sub(lambda match: match[1] or "\\" + match[2], line)


class Asked(NamedTuple):
    """The questions of one quiz as Markdown: each with whether it comes before the lesson.

    ``answers`` holds the answer and the explanation of every question, and what each option says
    about itself.
    """

    questions: tuple[tuple[bool, str], ...]
    answers: str

    def before(self) -> str:
        """The questions to ask before the lesson; empty when there are none."""
        return "\n\n".join([text for early, text in self.questions if early])

    def after(self) -> str:
        """All other questions."""
        return "\n\n".join([text for early, text in self.questions if not early])

    def every(self) -> str:
        """All questions in order."""
        return "\n\n".join([text for _, text in self.questions])


def asked(quiz: Mapping[str, Any], words: Labels) -> Asked:
    """The questions without answers, numbered as in the whole quiz, and the answers."""
    numbered = list(enumerate(quiz["questions"], 1))
    return Asked(
        tuple([(one["stage"] == "before", _question(n, one, words)) for n, one in numbered]),
        "\n\n".join(
            [
                f"**{number}.** {_answer(one)}\n\n{one['explanation'].strip()}{_reasons(one)}"
                for number, one in numbered
            ]
        ),
    )


def _question(number: int, question: Mapping[str, Any], words: Labels) -> str:
    head = f"**{number}.** {text(question['prompt'])}"
    if question["kind"] == "numeric":
        unit = question.get("unit")
        ask = fill(words["number_answer_unit"], unit=text(unit)) if unit else words["number_answer"]
        return f"{head}\n\n{ask}"
    hint = f" ({words['choose_all']})" if question["kind"] == "multiple" else ""
    lines = "\n".join([f"- {_option(option)}" for option in question["options"]])
    return f"{head}{hint}\n\n{lines}"


def _answer(question: Mapping[str, Any]) -> str:
    if question["kind"] == "numeric":
        unit = f" {text(question['unit'])}" if "unit" in question else ""
        tolerance = question.get("tolerance")
        margin = f" ± {_number(tolerance)}" if tolerance else ""
        return f"{_number(question['value'])}{margin}{unit}"
    right = [option for option in question["options"] if option["id"] in question["answer"]]
    return "; ".join(map(_option, right))


def _reasons(question: Mapping[str, Any]) -> str:
    lines = [
        f"- {option['id'].upper()}: {text(option['why'])}"
        for option in question["options"]
        if "why" in option
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def _option(option: Mapping[str, Any]) -> str:
    return f"{option['id'].upper()}. {text(option['text'])}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)
