"""`build.py check --run`: whether the programs of lessons and projects do what the pages say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

from course.build import Options, link_course
from course.diagnostics import Diagnostic, Problem, Span, shorten, sort_unique
from course.read.code import PYTHON
from course.read.sources import ProjectSource, Sources
from course.rules import diagnose
from course.sandbox import CPU_S

WAIT_S: Final = 60.0
_CHILD: Final = Path(__file__).with_name("sandbox.py")


class Program(NamedTuple):
    """A Python block of a lesson; *line* is that of its first line in *file*.

    *output_line* is that of what it has to print, in ``lesson.md``.
    """

    file: str
    line: int
    source: str
    expected: str
    output_line: int


class Outcome(NamedTuple):
    """The results of the programs of one lesson; *left* names the files that they left behind."""

    results: list[dict[str, Any]]
    left: list[str]
    why: str = ""


class Run(NamedTuple):
    """The diagnostics of `check --run`, and how much it ran."""

    diagnostics: list[Diagnostic]
    programs: int
    tests: int


def run_programs(options: Options, wait_s: float = WAIT_S) -> Run:
    """RUN001 to RUN003 for lessons, RUN005 for projects that do not do what they say.

    Programs run as the notebook does: all blocks of a lesson in one process, in order, with
    warnings as errors, in an empty folder, within the limits of `course.sandbox`.
    """
    sources, _ = link_course(options)
    lessons = {
        record.file: programs
        for record in sources.lessons()
        if (programs := list_programs(sources, record))
    }
    projects = [project for project in sources.projects if _is_tested(project)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tested = pool.map(lambda project: run_tests(project, wait_s), projects)
        outcomes = pool.map(lambda programs: execute(programs, wait_s), lessons.values())
        problems = [
            problem
            for (file, programs), outcome in zip(lessons.items(), outcomes, strict=True)
            for problem in compare(file, programs, outcome)
        ]
        tests = 0
        for ran, failed in tested:
            tests += ran
            problems += failed
    rows = [diagnose(problem) for problem in problems]
    return Run(sort_unique(rows), sum(map(len, lessons.values())), tests)


def _is_tested(project: ProjectSource) -> bool:
    authored = project.view is not None and project.view.status == "authored"
    folders = {name.partition("/")[0] for name in project.files}
    return authored and {"tests", "solution"} <= folders


def run_tests(project: ProjectSource, wait_s: float) -> tuple[int, list[Problem]]:
    """Run the tests of *project* against its solution; return how many ran, and the failures."""
    home = project.file.rpartition("/")[0]
    with tempfile.TemporaryDirectory(prefix="project-") as folder:
        for name, data in project.files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        answer, why = _run_child(Path(folder, "solution"), "[]", wait_s, "tests")
    if why:
        return 0, [Problem("RUN005", project.file, f"the tests cannot be run: {why}")]
    (summary, *failed) = answer
    problems: list[Problem] = []
    for case in failed:
        name, line = case["lines"][-1] if case["lines"] else ("", 1)
        file = f"{home}/tests/{name}" if name else project.file
        message = f"{case['test'].rpartition('.')[2]} fails: {shorten(case['error'])}"
        problems.append(Problem("RUN005", file, message, span=_line(int(line))))
    return summary["ran"], problems


def list_programs(sources: Sources, record: Any) -> list[Program]:
    """The Python blocks of the lesson *record*, in order."""
    if not record.authored:
        return []
    text = (sources.root / record.file).read_text("utf-8", "replace")
    programs: list[Program] = []
    at = 0
    for block in sources.material(record).content["code"]:
        if block["language"] not in PYTHON:
            continue
        mark = f"file={block['file']}" if "file" in block else block["source"]
        at = max(text.find(mark, at), at)
        line = text.count("\n", 0, at) + 1
        expected = block.get("expected", "")
        output = text.find(expected, at + len(mark)) if expected else at
        programs.append(
            Program(
                f"{record.folder}/{block['file']}" if "file" in block else record.file,
                1 if "file" in block else line,
                block["source"],
                expected,
                text.count("\n", 0, max(output, at)) + 1,
            )
        )
        at += len(mark)
    return programs


def execute(programs: Sequence[Program], wait_s: float) -> Outcome:
    """Run the programs of one lesson in a child."""
    request = json.dumps([[program.file, program.source] for program in programs])
    with tempfile.TemporaryDirectory(prefix="lesson-") as folder:
        results, why = _run_child(Path(folder), request, wait_s)
        left = sorted(path.name for path in Path(folder).iterdir())
    return Outcome(results, left, why)


def _run_child(
    folder: Path, request: str, wait_s: float, *arguments: str
) -> tuple[list[dict[str, Any]], str]:
    """Run the child in *folder*; return its answer to *request*, or why there is none."""
    command = [sys.executable, "-I", "-W", "error", "-X", "utf8", str(_CHILD), *arguments]
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            check=False,
            cwd=folder,
            encoding="utf-8",
            env={"PATH": os.defpath, "TZ": "UTC"},
            timeout=wait_s,
        )
    except subprocess.TimeoutExpired:
        return [], f"no answer within {wait_s:g} s"
    if not done.stdout:
        last = (done.stderr.strip().splitlines() or [_describe_exit(done.returncode)])[-1]
        return [], f"the process ended: {shorten(last)}"
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return [], "a program wrote where only the tool writes its answer"


def _describe_exit(code: int) -> str:
    if code < 0:
        return f"signal {-code}, as for more than {CPU_S} s of a processor, or too much memory"
    return f"exit status {code}"


def compare(file: str, programs: Sequence[Program], outcome: Outcome) -> Iterator[Problem]:
    """Yield a problem for each difference between *outcome* and the lesson *file*."""
    if outcome.why:
        program = programs[0]
        yield Problem("RUN001", program.file, outcome.why, span=_line(program.line))
    for program, result in zip(programs, outcome.results, strict=False):
        if "error" in result:
            line = program.line + result["line"] - 1
            message = f"the program fails: {shorten(result['error'])}"
            yield Problem("RUN001", program.file, message, span=_line(line))
        else:
            yield from _report_difference(file, program, result)
    for name in outcome.left:
        message = f'the programs leave a file behind: "{shorten(name)}"'
        yield Problem("RUN003", file, message, span=_line(programs[-1].line))


def _report_difference(file: str, program: Program, result: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the first printed line that differs from the lesson."""
    printed = result["printed"].rstrip("\n").split("\n")
    stated = program.expected.rstrip("\n").split("\n")
    if printed == stated:
        return
    rows = range(max(len(printed), len(stated)))
    row = next(n for n in rows if printed[n : n + 1] != stated[n : n + 1])
    expected, printed_line = (
        shorten(lines[row]) if row < len(lines) else "" for lines in (stated, printed)
    )
    message = f"line {row + 1} of the output is not what the program prints"
    hint = None
    if not program.expected:
        message, hint = (
            "the program prints output that the lesson does not show",
            f"it prints: {printed_line}",
        )
    line = program.output_line + (min(row, len(stated) - 1) if program.expected else 0)
    yield Problem(
        "RUN002",
        file,
        message,
        span=_line(line),
        expected=expected or "no more lines",
        got=printed_line or "no more lines",
        hint=hint,
    )


def _line(number: int) -> Span:
    return Span(number, 1, number, 1)
