"""The check command: every problem, in the form that was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from course.build import check, link_course
from course.check.ids import current
from course.check.reports import FORMATS, SHOWN, Findings, job_summary, reader
from course.diagnostics import nearest, order
from course.options import Options, Report
from course.publish.tree import Refusal
from course.read.files import folder_id
from course.read.ids import LOCK_FILE, write_lock

OK, PROBLEMS = 0, 1
_NAMED = (".yaml", "/lesson.md")
_IDS = "an id is the name of its folder or file behind the number"


def run_check(options: Options, given: Namespace) -> int:
    """Check, print, and say by the exit status whether the course may be built.

    *given* are the arguments of the command.
    """
    if given.report is not None and not given.report.parent.is_dir():
        message = f"there is no folder {given.report.parent} for the report"
        raise Refusal("CFG005", message, "create it first: a check makes no folders")
    if given.accept_ids:
        print(accept_ids(options))
    report = check(options)
    if given.deep and not report.errors:
        from course.deepcheck import deep_problems

        report.diagnostics = order([*report.diagnostics, *deep_problems(options)])
    if given.only:
        for name in given.only:
            if not any(_concerns(file, [name]) for file in report.sources):
                named = {folder_id(file) for file in report.sources if file.endswith(_NAMED)}
                hint = nearest(name, sorted(named)) or _IDS
                raise Refusal("CFG011", f'nothing here has the id "{name}"', hint)
        report.diagnostics = [one for one in report.diagnostics if _concerns(one.file, given.only)]
    failed = report.errors > 0 or (given.strict and report.count("warning") > 0)
    if given.external_links:
        from course.external import external_problems

        report.diagnostics = order([*report.diagnostics, *external_problems(options)])
    _write(options.root, given, report)
    if given.reproducible and not failed:
        from course.reproducible import differences

        lines = differences(options)
        print("\n".join(lines) if lines else "reproducible: both builds gave the same bytes")
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


def _write(root: Path, given: Namespace, report: Report) -> None:
    terminal = given.report is None and sys.stdout.isatty()
    found = Findings(
        report,
        reader(root),
        colour=terminal and not os.environ.get("NO_COLOR"),
        limit=None if given.all else SHOWN,
        changed=_changed(root) if given.format == "github" else frozenset(),
        strict=given.strict,
    )
    if given.format == "github" and (path := os.environ.get("GITHUB_STEP_SUMMARY")):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(job_summary(found))
    text = FORMATS[given.format](found).rstrip() + "\n"
    if given.report is not None:
        given.report.write_text(text, encoding="utf-8")
        print(f"{report.counts() or 'no problems'}; the report is in {given.report}")
    else:
        sys.stdout.write(text)


def _changed(root: Path) -> frozenset[str]:
    """Files that the pull request changes, by git; empty where git does not know."""
    base = os.environ.get("GITHUB_BASE_REF")
    command = ["git", "diff", "--name-only", f"origin/{base}...HEAD" if base else "HEAD~1"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return frozenset()
    return frozenset(done.stdout.split("\n")) - {""} if done.returncode == 0 else frozenset()


def accept_ids(options: Options) -> str:
    """Add the ids of the present course to ``content/ids.lock``; says what it did.

    Raises :class:`Refusal` when the sources have errors or the lock file is damaged: a lock made
    from half a course would promise the wrong thing.
    """
    sources, graph = link_course(options)
    broken = [one for one in sources.diagnostics if one.severity == "error"]
    if broken:
        first = min(broken, key=lambda one: (one.file, one.line))
        raise Refusal(
            "CFG010",
            f"ids are accepted only from a course without errors: {first.file}:{first.line} "
            f"{first.code} {first.message}",
            "run: python build.py check",
        )
    known = {name: (locked.kind, locked.status) for name, locked in sources.lock.items()}
    before = dict(known)
    known.update(current(graph))
    text = write_lock(known)
    path = options.root / LOCK_FILE
    beside = path.with_suffix(".lock.new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)
    added = sorted(set(known) - set(before))
    updated = sorted(name for name in before if known[name] != before[name])
    if not added and not updated:
        return f"{LOCK_FILE}: nothing to add, {len(known)} ids"
    parts = [f"{len(added)} added" if added else "", f"{len(updated)} updated" if updated else ""]
    return f"{LOCK_FILE}: {', '.join(part for part in parts if part)}, {len(known)} ids"
