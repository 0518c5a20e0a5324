"""The report for any CI: JUnit XML, one suite for a rule family, one case for a source file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from xml.etree import ElementTree

from course import rules
from course.check.report.excerpt import visible
from course.check.report.text import block
from course.check.report.view import Findings, family, plural
from course.diagnostics import Diagnostic


def render(findings: Findings) -> str:
    """A case fails on an error, and on a warning too when the check is strict.

    Other problems stand in the case's output, so that it passes exactly when the check does.
    """
    by_case: defaultdict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for one in findings.found:
        by_case[family(one.code), one.file].append(one)
    files = sorted({*findings.summary.files, *(one.file for one in findings.found)})
    top = ElementTree.Element("testsuites", name="course check")
    failures = 0
    for name in dict.fromkeys(family(code) for code in rules.book()):
        suite = ElementTree.SubElement(top, "testsuite", name=name, tests=str(len(files)))
        failed = sum(_case(suite, file, by_case[name, file], findings) for file in files)
        _count(suite, failed)
        failures += failed
    top.set("tests", str(len(top) * len(files)))
    _count(top, failures)
    ElementTree.indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(top, "unicode")}\n'


def _count(element: ElementTree.Element, failures: int) -> None:
    element.attrib |= {"failures": str(failures), "errors": "0", "time": "0"}


def _case(
    suite: ElementTree.Element,
    file: str,
    problems: Sequence[Diagnostic],
    findings: Findings,
) -> bool:
    """Add the case of *file* to *suite*; whether it failed."""
    classname = f"course.{suite.get('name')}"
    case = ElementTree.SubElement(
        suite, "testcase", classname=classname, name=visible(file), time="0"
    )
    if not problems:
        return False
    body = "\n\n".join(block(one, findings.source) for one in problems)
    failing = ("error", "warning") if findings.strict else ("error",)
    if not any(one.severity in failing for one in problems):
        ElementTree.SubElement(case, "system-out").text = body
        return False
    first = f"{problems[0].code}: {visible(problems[0].message)}"
    message = first if len(problems) == 1 else f"{plural(len(problems), 'problem')}, first {first}"
    failure = ElementTree.SubElement(case, "failure", type=problems[0].severity, message=message)
    failure.text = body
    return True
