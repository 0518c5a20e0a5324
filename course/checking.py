"""The check command: every problem, in the form that was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course.build import Options, Report, check, link_course, run
from course.check.links import list_current_ids
from course.check.pages import check_markup
from course.diagnostics import Diagnostic, nearest, sort_unique
from course.program import command
from course.publish.cache import Cache
from course.publish.tree import File, Outputs, Refusal
from course.read.files import folder_id, replace_file
from course.read.ids import LOCK_FILE, write_lock
from course.reports import FORMATS, SHOWN, Findings, job_summary, reader
from course.rules import diagnose

OK, PROBLEMS = 0, 1
_NAMED = (".yaml", "/lesson.md")
_IDS = "an id is the name of its folder or file after the number"


def run_check(options: Options, arguments: Namespace) -> int:
    """Check, print, and say by the exit status whether the course may be built.

    *arguments* are the arguments of the command.
    """
    if arguments.report is not None and not arguments.report.parent.is_dir():
        message = f"there is no folder {arguments.report.parent} for the report"
        raise Refusal("CFG005", message, "create it first: a check creates no folders")
    if arguments.accept_ids:
        print(accept_ids(options))
    report = check(options)
    if arguments.deep and not report.errors:
        report.diagnostics = sort_unique([*report.diagnostics, *deep_problems(options)])
    if arguments.programs and not report.errors:
        from course.execution import run_programs

        ran = run_programs(options)
        report.diagnostics = sort_unique([*report.diagnostics, *ran.diagnostics])
        line = f"ran {ran.programs} programs and {ran.tests} tests of projects"
        print(f"note: {line}", file=sys.stderr)
    if arguments.only:
        for name in arguments.only:
            if not any(_concerns(file, [name]) for file in report.sources):
                named = {folder_id(file) for file in report.sources if file.endswith(_NAMED)}
                hint = nearest(name, sorted(named)) or _IDS
                raise Refusal("CFG011", f'nothing here has the id "{name}"', hint)
        report.diagnostics = [
            row for row in report.diagnostics if _concerns(row.file, arguments.only)
        ]
    failed = report.errors > 0 or (arguments.strict and report.count("warning") > 0)
    if arguments.external_links:
        from course.external import check_external_links

        report.diagnostics = sort_unique([*report.diagnostics, *check_external_links(options)])
    _write(options.root, arguments, report)
    if arguments.reproducible and not failed:
        from course.reproducible import differences

        lines = differences(options)
        print("\n".join(lines) if lines else "reproducible: all builds gave the same bytes")
        failed = bool(lines)
    return PROBLEMS if failed else OK


def _concerns(file: str, names: Sequence[str]) -> bool:
    """Whether a folder or file on the way to *file* is named after one of the ids *names*."""
    stems = {part.split(".")[0] for part in file.split("/")}
    return any(
        stem == name or (stem.endswith(f"-{name}") and stem[: -len(name) - 1].isdigit())
        for stem in stems
        for name in names
    )


def as_text(root: Path, report: Report) -> str:
    """The problems of *report* for a person."""
    return FORMATS["text"](Findings(report, reader(root))).rstrip()


def _write(root: Path, arguments: Namespace, report: Report) -> None:
    terminal = arguments.report is None and sys.stdout.isatty()
    findings = Findings(
        report,
        reader(root),
        colour=terminal and not os.environ.get("NO_COLOR"),
        limit=None if arguments.all else SHOWN,
        changed=_list_changed_files(root) if arguments.format == "github" else frozenset(),
        strict=arguments.strict,
    )
    if arguments.format == "github" and (path := os.environ.get("GITHUB_STEP_SUMMARY")):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(job_summary(findings))
    text = FORMATS[arguments.format](findings).rstrip() + "\n"
    if arguments.report is not None:
        arguments.report.write_text(text, encoding="utf-8")
        print(f"{report.counts() or 'no problems'}; the report is in {arguments.report}")
    else:
        sys.stdout.write(text)


def _list_changed_files(root: Path) -> frozenset[str]:
    """Files that the pull request changes, by git; empty where git does not know."""
    base = os.environ.get("GITHUB_BASE_REF")
    command = ["git", "diff", "--name-only", f"origin/{base}...HEAD" if base else "HEAD~1"]
    try:
        process = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return frozenset()
    return frozenset(process.stdout.split("\n")) - {""} if process.returncode == 0 else frozenset()


def accept_ids(options: Options) -> str:
    """Add the ids of the present course to ``content/ids.lock``; says what it did.

    Raises :class:`Refusal` when the sources have errors or the lock file is damaged: a lock made
    from half a course would promise the wrong thing.
    """
    sources, graph = link_course(options)
    broken = [row for row in sources.diagnostics if row.severity == "error"]
    if broken:
        first = min(broken, key=lambda row: (row.file, row.line))
        raise Refusal(
            "CFG010",
            f"ids are accepted only from a course without errors: {first.file}:{first.line} "
            f"{first.code} {first.message}",
            f"run: {command()} check",
        )
    locked_ids = {name: (locked.kind, locked.status) for name, locked in sources.lock.items()}
    before = dict(locked_ids)
    locked_ids.update(list_current_ids(graph))
    text = write_lock(locked_ids)
    path = options.root / LOCK_FILE
    replace_file(path, text.encode())
    added = sorted(set(locked_ids) - set(before))
    updated = sorted(name for name in before if locked_ids[name] != before[name])
    if not added and not updated:
        return f"{LOCK_FILE}: nothing to add, {len(locked_ids)} ids"
    parts = [f"{len(added)} added" if added else "", f"{len(updated)} updated" if updated else ""]
    return f"{LOCK_FILE}: {', '.join(part for part in parts if part)}, {len(locked_ids)} ids"


class _Memory(Outputs):
    """Keeps the pages in memory; it begins empty, so every page is rendered."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, str] = {}

    def put(self, path: str, data: bytes) -> File:
        """Keep the file *path* when it is a page."""
        if path.endswith(".html"):
            self.pages[path] = data.decode()
        return super().put(path, data)

    def keep(self, path: str, file: File) -> bool:
        """Have every page made again."""
        return False


def deep_problems(options: Options) -> list[Diagnostic]:
    """The problems that only a parser finds, over all pages of the course."""
    target = _Memory()
    run(replace(options, jobs=1), target, Cache(None))  # what another process keeps is lost here
    return [
        diagnose(problem)
        for path, html in target.pages.items()
        for problem in check_markup(path, html)
    ]
