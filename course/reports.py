"""Reports: what a check found, in the form that a person, a program or a CI service reads."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

import orjson

from course import rules
from course.build import Report, plural
from course.diagnostics import TOP, Diagnostic, nearest
from course.program import program
from course.read.files import TEXT_LIMIT, is_regular
from course.rules import Rule

_LESSON: Final = re.compile(r"content/phases/[^/]+/[^/]+(?=/)")
WIDTH: Final = 96
BEFORE: Final = 2
_LEAD: Final = 32
_TAB: Final = 4
_JOINERS: Final = "\u200c\u200d"
_STYLES: Final = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2"}
SHOWN: Final = 50
ANNOTATIONS: Final = 10
SUMMARY_LIMIT: Final = 1024 * 1024
_COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>|~!&$]")
_NOTE: Final = "\n{} more not shown: this table holds at most {:,} bytes.\n"
SARIF_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}
_ROOT: Final = "%SRCROOT%"

Source = Callable[[str], list[str] | None]
"""The lines of a file, named by its POSIX path from the root; None when it has none to show."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The sorted result of a check, and how to show it; each format uses what it needs.

    ``limit`` is the number of problems that ``text`` prints in full (None: all), ``changed``
    the files that ``github`` puts first; ``strict`` lets warnings fail a ``junit`` case.
    """

    report: Report
    source: Source
    colour: bool = False
    limit: int | None = SHOWN
    changed: frozenset[str] = frozenset()
    strict: bool = False


Format = Callable[[Findings], str]
"""Findings in, the whole report out: a pure function but for the source lines it asks for."""


def family(code: str) -> str:
    """The family of a rule code: ``QUZ`` of ``QUZ004``, ``A11`` of ``A11002``."""
    return code[:-3]


def lesson_of(file: str) -> str:
    """The lesson folder that *file* belongs to; empty for any other file."""
    match = _LESSON.match(file)
    return match[0] if match else ""


def format_requirement(problem: Diagnostic) -> str:
    """``expected X, got Y`` as far as the two are known."""
    expected = f"expected {problem.expected}" if problem.expected else ""
    actual = f"got {problem.got}" if problem.got else ""
    return ", ".join(filter(None, (expected, actual)))


def list_sentences(problem: Diagnostic) -> list[str]:
    """Return message, requirement and hint of *problem* without repetitions."""
    wanted = format_requirement(problem)
    lines = [] if problem.message == wanted else [problem.message]
    lines += [wanted] if wanted else []
    return lines + ([f"hint: {problem.hint}"] if problem.hint else [])


def reader(root: Path) -> Source:
    """Lines of the files below *root*, each file read once.

    Links, devices and files above 1 MiB have no lines; bytes that are not UTF-8 show as U+FFFD.
    """
    cached: dict[str, list[str] | None] = {}

    def read(file: str) -> list[str] | None:
        if file not in cached:
            cached[file] = _read_lines(root / file)
        return cached[file]

    return read


def _read_lines(path: Path) -> list[str] | None:
    try:
        if not is_regular(path) or path.stat().st_size > TEXT_LIMIT:
            return None
        return path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError:
        return None


# -- for people ---------------------------------------------------------------------------------


def text_report(findings: Findings) -> str:
    """The first ``limit`` problems in full, how many more there are, and the summary."""
    problems = findings.report.diagnostics
    shown = problems[: findings.limit]
    parts = [
        format_block(problem, findings.source, colour=findings.colour) + "\n" for problem in shown
    ]
    if len(problems) > len(shown):
        parts.append(f"{len(problems) - len(shown):,} more not shown; --all prints them\n")
    return "\n".join([*parts, f"{format_conclusion(findings.report)}\n"])


def format_block(problem: Diagnostic, source: Source, *, colour: bool = False) -> str:
    """*problem* as several lines without a final line end.

    A problem of the whole file, and one in a file without lines to show, has no excerpt.
    """
    place = make_visible(f"{problem.file}:{problem.line}:{problem.column}")
    pointer = f" {make_visible(problem.pointer)}" if problem.pointer else ""
    severity = _paint(problem.severity, problem.severity, colour)
    head = f"{_paint(place, 'bold', colour)}: {severity} {problem.code}{pointer}"
    wanted = format_requirement(problem)
    return "\n".join(
        [
            head,
            *([] if problem.message == wanted else [f"  {make_visible(problem.message)}"]),
            *_lines(problem, source, colour),
            *([f"  {make_visible(wanted)}"] if wanted else []),
            *([f"  hint: {make_visible(problem.hint)}"] if problem.hint else []),
        ]
    )


def format_conclusion(report: Report) -> str:
    """Return what was checked and the result, in one line."""
    problems = report.diagnostics
    if not problems:
        return f"{plural(report.lessons, 'lesson')} checked, no problems"
    files = {problem.file for problem in problems}
    lessons = {lesson_of(file) for file in files}
    if "" in lessons:
        where = _share(files, report.sources, "file")
    else:
        where = _share(lessons, filter(None, map(lesson_of, report.sources)), "lesson")
    first = next((problem for problem in problems if problem.severity == "error"), problems[0])
    return f'{report.counts()} in {where}; run "{program()} explain {first.code}" for the rule'


def _share(names: set[str], every: Iterable[str], word: str) -> str:
    return f"{len(names):,} of {plural(len(names.union(every)), word)}"


def _lines(problem: Diagnostic, source: Source, colour: bool) -> list[str]:
    if (problem.line, problem.column, problem.end_line, problem.end_column) == TOP:
        return []
    lines = source(problem.file)
    if not lines:
        return []
    end = problem.end_column if problem.end_line == problem.line else None
    shown = format_excerpt(lines, problem.line, problem.column, end)
    styles = ["dim"] * (len(shown) - 1) + [problem.severity]
    return [_paint(line, style, colour) for line, style in zip(shown, styles, strict=False)]


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour else text


# -- source lines on a terminal -----------------------------------------------------------------


def make_visible(text: str) -> str:
    """*text* on one line, with what a terminal would obey or hide written as escapes."""
    return "".join(map(_escape, text))


def _escape(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return char.encode("unicode_escape").decode("ascii")


def count_cells(text: str) -> list[str]:
    """*text* by terminal column: a wide character takes two (the second is empty)."""
    columns: list[str] = []
    for char in text:
        if char == "\t":
            columns += " " * (_TAB - len(columns) % _TAB)
        elif not char.isprintable() and char not in _JOINERS:
            columns += _escape(char)
        elif columns and (char in _JOINERS or unicodedata.category(char) in ("Mn", "Me")):
            columns[-1] += char
        elif unicodedata.east_asian_width(char) in "WF":
            columns += [char, ""]
        else:
            columns.append(char)
    return columns


def format_excerpt(lines: list[str], line: int, column: int, end_column: int | None) -> list[str]:
    """Up to three of *lines* that end with *line*, and the mark; empty when there is none.

    Lines and columns count from 1; without *end_column* the mark goes to the end of the line.
    Long lines are cut so that the column stays in sight.
    """
    if line > len(lines):
        return []
    marked = lines[line - 1]
    column = min(column, len(marked) + 1)
    stop = len(marked.rstrip()) if end_column is None else end_column - 1
    start = _start(marked, column)
    gutter = max(5, len(str(line)))
    shown = [
        f"{number:>{gutter}} | {_cut(lines[number - 1], start)}".rstrip()
        for number in range(max(1, line - BEFORE), line + 1)
    ]
    left = len(count_cells(marked[start : column - 1])) + (1 if start else 0)
    width = len(count_cells(marked[column - 1 : stop][:WIDTH]))
    mark = "^" * max(1, min(width, WIDTH - left))
    return [*shown, f"{'':>{gutter}} | {' ' * left}{mark}"]


def _start(text: str, column: int) -> int:
    """How many characters to leave out on the left."""
    if len(text) <= WIDTH and len(count_cells(text)) <= WIDTH:
        return 0
    start, room = column - 1, _LEAD
    while start > 0 and (room := room - len(count_cells(text[start - 1]))) >= 0:
        start -= 1
    return start


def _cut(text: str, start: int) -> str:
    part = count_cells(text[start : start + 2 * WIDTH])
    whole = len(part) <= WIDTH and len(text) <= start + 2 * WIDTH
    if start:
        part.insert(0, "…")
    return "".join(part) if whole else "".join(part[: WIDTH - 1]) + "…"


# -- for programs ---------------------------------------------------------------------------------


def json_report(findings: Findings) -> str:
    """Every problem, whatever the limit, and the counts."""
    report = findings.report
    counts = {name: report.count(name[:-1]) for name in ("errors", "warnings", "infos")}
    document = {
        "version": 1,
        "summary": {**counts, "files": len(report.sources)},
        "diagnostics": [problem.as_json() for problem in findings.report.diagnostics],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


# -- for GitHub Actions: annotations on the changed lines, and a table of all problems -----------


def github_report(findings: Findings) -> str:
    """Workflow commands: at most ten of each severity, those in changed files first.

    GitHub shows ten of a type in one step, so the tenth says how many more there are.
    """
    lines: list[str] = []
    for severity, command in _COMMANDS.items():
        same = [problem for problem in findings.report.diagnostics if problem.severity == severity]
        same.sort(key=lambda problem: problem.file not in findings.changed)
        more = len(same) - ANNOTATIONS
        lines += [_command(command, problem) for problem in same[:ANNOTATIONS]]
        if more > 0:
            again = f"and {plural(more, f'more {severity}')}, all of them in the job summary"
            lines[-1] += _data(f"\n({again})")
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, problem: Diagnostic) -> str:
    place: dict[str, str | int] = {
        "file": problem.file,
        "line": problem.line,
        "endLine": problem.end_line,
    }
    if problem.line == problem.end_line:
        place |= {"col": problem.column, "endColumn": problem.end_column}
    place["title"] = f"{problem.code} {rules.book()[problem.code].title}"
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{command} {properties}::{_data(chr(10).join(list_sentences(problem)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def job_summary(findings: Findings, *, limit: int = SUMMARY_LIMIT) -> str:
    """A Markdown table of all problems, of at most *limit* bytes as UTF-8; a note tells of a cut.

    The limit must leave room for the heading and the note, some 300 bytes.
    """
    report = findings.report
    checked = (
        f"{plural(report.lessons, 'lesson')} ({report.authored:,} authored, "
        f"{report.planned:,} planned), {plural(len(report.sources), 'file')}"
    )
    text = f"## Course check\n\n{checked}: {report.counts() or 'no problems'}.\n"
    if not findings.report.diagnostics:
        return text
    text += "\n| Severity | Rule | Place | Problem |\n|---|---|---|---|\n"
    rows = [_row(problem) for problem in findings.report.diagnostics]
    room = limit - len(text.encode())
    if sum(len(row.encode()) for row in rows) <= room:
        return text + "".join(rows)
    room -= len(_NOTE.format(len(rows), limit))
    kept = 0
    for row in rows:
        room -= len(row.encode())
        if room < 0:
            break
        kept += 1
    return text + "".join(rows[:kept]) + _NOTE.format(len(rows) - kept, limit)


def _row(problem: Diagnostic) -> str:
    place = f"<code>{_cell(f'{problem.file}:{problem.line}:{problem.column}')}</code>"
    row = (problem.severity, problem.code, place, "<br>".join(map(_cell, list_sentences(problem))))
    return f"| {' | '.join(row)} |\n"


def _cell(text: str) -> str:
    """*text* in a table cell: on one line, and none of it read as Markdown or HTML."""
    return _MARKUP.sub(lambda char: f"&#{ord(char[0])};", make_visible(" ".join(text.split())))


# -- for any CI: JUnit XML, one suite for a rule family, one case for a source file --------------


def junit_report(findings: Findings) -> str:
    """A case fails on an error, and on a warning too when the check is strict.

    Other problems stand in the case's output, so that it passes exactly when the check does.
    """
    by_case: defaultdict[tuple[str, str], list[Diagnostic]] = defaultdict(list)
    for problem in findings.report.diagnostics:
        by_case[family(problem.code), problem.file].append(problem)
    files = sorted(
        {*findings.report.sources, *(problem.file for problem in findings.report.diagnostics)}
    )
    top = ElementTree.Element("testsuites", name="course check")
    failures = 0
    for name in dict.fromkeys(family(code) for code in rules.book()):
        suite = ElementTree.SubElement(top, "testsuite", name=name, tests=str(len(files)))
        failed = sum(_case(suite, file, by_case[name, file], findings) for file in files)
        _set_counts(suite, failed)
        failures += failed
    top.set("tests", str(len(top) * len(files)))
    _set_counts(top, failures)
    ElementTree.indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(top, "unicode")}\n'


def _set_counts(element: ElementTree.Element, failures: int) -> None:
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
        suite, "testcase", classname=classname, name=make_visible(file), time="0"
    )
    if not problems:
        return False
    body = "\n\n".join(format_block(problem, findings.source) for problem in problems)
    failing = ("error", "warning") if findings.strict else ("error",)
    if not any(problem.severity in failing for problem in problems):
        ElementTree.SubElement(case, "system-out").text = body
        return False
    first = f"{problems[0].code}: {make_visible(problems[0].message)}"
    message = first if len(problems) == 1 else f"{plural(len(problems), 'problem')}, first {first}"
    failure = ElementTree.SubElement(case, "failure", type=problems[0].severity, message=message)
    failure.text = body
    return True


# -- for code scanning: SARIF 2.1.0 with fingerprints that survive moved lines --------------------


def sarif_report(findings: Findings) -> str:
    """One run with every problem and one rule for each code that occurs."""
    problems = findings.report.diagnostics
    codes = sorted({problem.code for problem in problems})
    index = {code: number for number, code in enumerate(codes)}
    driver = {
        "name": "Paddock course check",
        "rules": [_sarif_rule(rules.book()[c]) for c in codes],
    }
    results = [
        _sarif_result(problem, index[problem.code], mark)
        for problem, mark in zip(problems, _fingerprints(problems, findings.source), strict=True)
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "results": results,
    }
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    bad, good = _indent(rule.bad), _indent(rule.good)
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.text},
        "help": {
            "text": f"{rule.text}\n\nWrong:\n{rule.bad}\n\nRight:\n{rule.good}",
            "markdown": f"{rule.text}\n\nWrong:\n\n{bad}\n\nRight:\n\n{good}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _indent(example: str) -> str:
    """*example* as an indented block: no fence inside it can end it."""
    return "\n".join(f"    {line}".rstrip() for line in example.split("\n"))


def _sarif_result(problem: Diagnostic, index: int, fingerprint: str) -> dict[str, Any]:
    return {
        "ruleId": problem.code,
        "ruleIndex": index,
        "level": _LEVELS[problem.severity],
        "message": {"text": "\n".join(list_sentences(problem))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(problem.file), "uriBaseId": _ROOT},
                    "region": {
                        "startLine": problem.line,
                        "startColumn": problem.column,
                        "endLine": problem.end_line,
                        "endColumn": problem.end_column,
                    },
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def _fingerprints(problems: Sequence[Diagnostic], source: Source) -> list[str]:
    """One for each of *problems*: code, pointer and line without its spaces, counted in its file.

    The name of the field that holds it is the only one that GitHub reads.
    """
    seen: Counter[tuple[str, str]] = Counter()
    marks: list[str] = []
    for problem in problems:
        line = " ".join(
            "".join((source(problem.file) or [])[problem.line - 1 : problem.line]).split()
        )
        key = "\0".join((problem.code, problem.pointer or "", line))
        digest = sha256(key.encode()).hexdigest()[:16]
        seen[problem.file, digest] += 1
        marks.append(f"{digest}:{seen[problem.file, digest]}")
    return marks


FORMATS: Final[Mapping[str, Format]] = {
    "text": text_report,
    "json": json_report,
    "github": github_report,
    "sarif": sarif_report,
    "junit": junit_report,
}

# -- the rule book on a terminal ------------------------------------------------------------------


class UnknownRule(LookupError):
    """There is no rule with that code; the text says so and offers the nearest."""


def explain(code: str) -> str:
    """The rule *code*, in capitals or not, with a bad and a good example; no final line end.

    Raises UnknownRule for a code that the rule book does not hold.
    """
    rule = rules.book().get(code.upper())
    if rule is None:
        near = nearest(code.upper(), rules.book())
        raise UnknownRule(f'there is no rule "{code}"' + (f"; {near}" if near else ""))
    return (
        f"{rule.code} ({rule.severity}): {rule.title}\n\n{rule.text}\n\n"
        f"Wrong:\n\n{_indent(rule.bad)}\n\nRight:\n\n{_indent(rule.good)}"
    )


def rule_list() -> str:
    """A line for every rule: code, severity, title; a gap between families, no final line end."""
    lines: list[str] = []
    last = None
    for rule in rules.book().values():
        if last not in (None, family(rule.code)):
            lines.append("")
        last = family(rule.code)
        lines.append(f"{rule.code:<7} {rule.severity:<8} {rule.title}")
    return "\n".join(lines)
