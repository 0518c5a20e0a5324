"""The report for people: each problem with its source lines, then one line that sums up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from course.check.report.excerpt import excerpt, visible
from course.check.report.view import Findings, Source, Summary, lesson_of, plural, requirement
from course.diagnostics import TOP, Diagnostic

_STYLES: Final = {"error": "1;31", "warning": "1;33", "info": "1;36", "bold": "1", "dim": "2"}


def render(findings: Findings) -> str:
    """The first ``limit`` problems in full, how many more there are, and the summary."""
    found = findings.found
    shown = found[: findings.limit]
    parts = [block(one, findings.source, colour=findings.colour) + "\n" for one in shown]
    if len(found) > len(shown):
        parts.append(f"{len(found) - len(shown):,} more not shown; --all prints them\n")
    return "\n".join([*parts, f"{conclusion(found, findings.summary)}\n"])


def block(one: Diagnostic, source: Source, *, colour: bool = False) -> str:
    """*one* as several lines without a final line end.

    A problem of the whole file, and one in a file without lines to show, has no excerpt.
    """
    place = visible(f"{one.file}:{one.line}:{one.column}")
    pointer = f" {visible(one.pointer)}" if one.pointer else ""
    severity = _paint(one.severity, one.severity, colour)
    head = f"{_paint(place, 'bold', colour)}: {severity} {one.code}{pointer}"
    wanted = requirement(one)
    return "\n".join(
        [
            head,
            *([] if one.message == wanted else [f"  {visible(one.message)}"]),
            *_lines(one, source, colour),
            *([f"  {visible(wanted)}"] if wanted else []),
            *([f"  hint: {visible(one.hint)}"] if one.hint else []),
        ]
    )


def conclusion(found: Sequence[Diagnostic], summary: Summary) -> str:
    """What was checked and what came of it, in one line."""
    if not found:
        return f"{plural(summary.lessons, 'lesson')} checked, no problems"
    files = {one.file for one in found}
    lessons = {lesson_of(file) for file in files}
    if "" in lessons:
        where = _share(files, summary.files, "file")
    else:
        where = _share(lessons, filter(None, map(lesson_of, summary.files)), "lesson")
    first = next((one for one in found if one.severity == "error"), found[0])
    return f'{summary.counts()} in {where}; run "build.py explain {first.code}" for the rule'


def _share(found: set[str], every: Iterable[str], word: str) -> str:
    return f"{len(found):,} of {plural(len(found.union(every)), word)}"


def _lines(one: Diagnostic, source: Source, colour: bool) -> list[str]:
    if (one.line, one.column, one.end_line, one.end_column) == TOP:
        return []
    lines = source(one.file)
    if not lines:
        return []
    end = one.end_column if one.end_line == one.line else None
    shown = excerpt(lines, one.line, one.column, end)
    styles = ["dim"] * (len(shown) - 1) + [one.severity]
    return [_paint(line, style, colour) for line, style in zip(shown, styles, strict=False)]


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour else text
