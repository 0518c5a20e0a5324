"""Made-up findings: the documented sample and as many more as a test asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course.build import Report
from course.diagnostics import Diagnostic
from course.reports import Findings

LESSON = "content/phases/10-see-the-car/20-brake-trace"
QUIZ = f"{LESSON}/quiz.yaml"
LINES = [
    *(f"# {number}" for number in range(1, 12)),
    "    options:",
    "      - {text: earlier, correct: true}",
    "      - {text: later, correct: true}",
]
ONE = Diagnostic(
    *("QUZ004", "error", QUIZ, 14, 9, 14, 20, "expected exactly one correct option, got 2"),
    pointer="/questions/1/options",
    expected="exactly one correct option",
    got="2",
    hint='set "kind: multiple", or remove "correct" from one option',
)
SIZES = [0, 1, 50, 51, 200]
SEVERITY = {"error": "QUZ004", "warning": "QUZ009", "info": "PTH002"}


def source(file: str) -> list[str] | None:
    """Lines of the one file that has any."""
    return LINES if file == QUIZ else None


def findings(found: Sequence[Diagnostic], **choices: Any) -> Findings:
    """*found* in a course of 29 lessons, a file each, 7 of them authored."""
    files = [QUIZ, *(f"content/phases/10-a/{n}-b/lesson.md" for n in range(10, 38))]
    report = Report(list(found), lessons=29, authored=7, sources=files)
    return Findings(report, source, **choices)


def many(number: int, severity: str = "error") -> list[Diagnostic]:
    """One problem on each line from 1 to *number*."""
    one = replace(ONE, code=SEVERITY[severity], severity=severity)
    return [replace(one, line=n, end_line=n) for n in range(1, number + 1)]
