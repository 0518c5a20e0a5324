"""The report for GitHub Actions: annotations on the changed lines and a table of all problems."""

from __future__ import annotations

import re
from typing import Final

from course import rules
from course.check.report.excerpt import visible
from course.check.report.view import Findings, plural, sendable, sentences
from course.diagnostics import Diagnostic

ANNOTATIONS: Final = 10
SUMMARY_LIMIT: Final = 1024 * 1024
_COMMANDS: Final = {"error": "error", "warning": "warning", "info": "notice"}
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>|~!&$]")
_NOTE: Final = "\n{} more not shown: this table holds at most {:,} bytes.\n"


def render(findings: Findings) -> str:
    """Workflow commands: at most ten of each severity, those in changed files first.

    GitHub shows ten of a type in one step, so the tenth says how many more there are.
    """
    lines: list[str] = []
    for severity, command in _COMMANDS.items():
        same = [one for one in findings.found if one.severity == severity]
        same.sort(key=lambda one: one.file not in findings.changed)
        more = len(same) - ANNOTATIONS
        lines += [_command(command, sendable(one)) for one in same[:ANNOTATIONS]]
        if more > 0:
            again = f"and {plural(more, f'more {severity}')}, all of them in the job summary"
            lines[-1] += _data(f"\n({again})")
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, one: Diagnostic) -> str:
    place: dict[str, str | int] = {"file": one.file, "line": one.line, "endLine": one.end_line}
    if one.line == one.end_line:
        place |= {"col": one.column, "endColumn": one.end_column}
    place["title"] = f"{one.code} {rules.book()[one.code].title}"
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{command} {properties}::{_data(chr(10).join(sentences(one)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def job_summary(findings: Findings, *, limit: int = SUMMARY_LIMIT) -> str:
    """A Markdown table of all problems, of at most *limit* bytes as UTF-8; a note tells of a cut.

    The limit must leave room for the heading and the note, some 300 bytes.
    """
    summary = findings.summary
    checked = (
        f"{plural(summary.lessons, 'lesson')} ({summary.authored:,} authored, "
        f"{summary.planned:,} planned), {plural(len(summary.files), 'file')}"
    )
    text = f"## Course check\n\n{checked}: {summary.counts() or 'no problems'}.\n"
    if not findings.found:
        return text
    text += "\n| Severity | Rule | Place | Problem |\n|---|---|---|---|\n"
    rows = [_row(one) for one in findings.found]
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


def _row(one: Diagnostic) -> str:
    place = f"<code>{_cell(f'{one.file}:{one.line}:{one.column}')}</code>"
    cells = (one.severity, one.code, place, "<br>".join(map(_cell, sentences(one))))
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    """*text* in a table cell: on one line, and none of it read as Markdown or HTML."""
    return _MARKUP.sub(lambda char: f"&#{ord(char[0])};", visible(" ".join(text.split())))
