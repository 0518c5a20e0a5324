"""Reports: what a check found, in the form that a person, a program or a CI service reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from course.check.report import github, json_form, junit, sarif, text
from course.check.report.explain import UnknownRule, explain, rule_list
from course.check.report.github import job_summary
from course.check.report.view import Findings, Source, Summary, reader

__all__ = [
    "FORMATS",
    "Findings",
    "Format",
    "Source",
    "Summary",
    "UnknownRule",
    "explain",
    "job_summary",
    "reader",
    "rule_list",
]

Format = Callable[[Findings], str]
"""Findings in, the whole report out: a pure function but for the source lines it asks for."""

FORMATS: Final[Mapping[str, Format]] = {
    "text": text.render,
    "json": json_form.render,
    "github": github.render,
    "sarif": sarif.render,
    "junit": junit.render,
}
