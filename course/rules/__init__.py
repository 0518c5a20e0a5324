"""The rule book: every diagnostic code with its severity, its reason and two examples.

To add a rule, write its text in the file of its family here and raise its code where the mistake
is seen: in `course.read` for one file, in `course.check` across files, in
`course.publish` for what is rendered. The tests want a course
that breaks it in `tests/course/rules/CODE`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from course import yamlsource
from course.diagnostics import TOP, Diagnostic, Problem, Span, format_pointer
from course.program import command

DOOR: Final = "python build.py"  # as the rules name the tool


class Rule(NamedTuple):
    """One rule as ``build.py explain CODE`` prints it; ``hint`` says what to type."""

    code: str
    title: str
    text: str
    bad: str
    good: str
    severity: str = "error"
    hint: str | None = None


@cache
def book() -> dict[str, Rule]:
    """Every rule by code, in order of family and number."""
    rules: dict[str, Rule] = {}
    typed = command()
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for code, fields in yamlsource.parse(path.read_text("utf-8"), path.name)[0].items():
            texts = {key: value.strip("\n").replace(DOOR, typed) for key, value in fields.items()}
            rules[code] = Rule(code, **texts)
    return rules


def diagnose(problem: Problem, span: Span | None = None) -> Diagnostic:
    """Return *problem* at *span*, else at its own; severity and missing hint come from its rule."""
    rule = book()[problem.code]
    return Diagnostic(
        problem.code,
        rule.severity,
        problem.file,
        *(span or problem.span or TOP),
        problem.message,
        None if problem.path is None else format_pointer(problem.path),
        problem.expected,
        problem.got,
        problem.hint or rule.hint,
    )
