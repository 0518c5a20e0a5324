"""A small, complete course to write into a folder, with the changes that a test wants."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from course.build import Options, Report, build, check
from course.diagnostics import Diagnostic
from course.publish.tree import listing

RULES: Final = Path(__file__).parent / "rules"
BASE: Final = RULES / "_base"
WORDS: Final = Path(__file__).resolve().parents[2] / "course" / "read" / "words.yaml"
READ_A_LAP: Final = "content/phases/10-laps/10-read-a-lap/lesson.md"
BRAKE_TRACE: Final = "content/phases/20-braking/10-brake-trace/lesson.md"
TYRE_WINDOW: Final = "content/phases/20-braking/20-tyre-window/lesson.md"
SVG: Final = "content/phases/10-laps/10-read-a-lap/media/trace.svg"
QUIZ: Final = "content/phases/10-laps/10-read-a-lap/quiz.yaml"
LAP_KIT: Final = "content/projects/lap-kit"
END: Final = "and mark the three points.\n"
LIMIT_S: Final = 25.0
TRACE: Final = """```trace
caption: Computed for a steady deceleration from 180 km/h.
alt: Speed falls from 180 km/h from the brake point on, slowly at first and then faster.
x: {from: 0, to: 200, step: 1, label: Distance, unit: m}
sliders:
  - {name: brake, label: Brake point, unit: m, from: 40, to: 120, step: 5, start: 80}
values:
  v: sqrt(max(22**2, 50**2 - 2*9.81*max(x - brake, 0)))
panels:
  - label: Speed
    unit: km/h
    lines:
      - {label: Yours, y: 3.6*v}
      - {label: Reference, y: "3.6*sqrt(max(22**2, 50**2 - 2*9.81*max(x - start(brake), 0)))"}
marks:
  - {label: Brake point, at: brake}
numbers:
  - {label: Time to 200 m, y: last(integral(1/v)), unit: s, digits: 2}
```
"""
MORE_QUESTIONS: Final = """\
  - id: first-of-all
    stage: before
    kind: multiple
    prompt: Which of these are laps?
    options:
      - {text: The first one, correct: true}
      - {text: The last one, correct: true}
    explanation: Each of them begins and ends at the line.
  - id: how-long
    kind: numeric
    prompt: How long is it?
    value: 2
    unit: km
    explanation: It is two kilometres from line to line.
"""
"""Of the kinds and stages that the quiz of the small course lacks."""
Overlay = Mapping[str, str | bytes | None]


def write_course(folder: Path, overlay: Overlay | None = None) -> Path:
    """Write the small course below *folder*, which may exist; returns *folder*.

    *overlay* replaces files by path from *folder*; None removes the file.
    """
    shutil.copytree(BASE, folder, dirs_exist_ok=True)
    (folder / "content" / "ui").mkdir(exist_ok=True)
    shutil.copyfile(WORDS, folder / "content" / "ui" / "en.yaml")
    for name, data in (overlay or {}).items():
        put(folder / name, data)
    return folder


def put(path: Path, data: str | bytes | None) -> None:
    """Write one file with its folders; None removes it, or the folder."""
    if data is None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def edited(root: Path, name: str, *edits: tuple[str, str]) -> None:
    """Replace each first text by the second in the file *name*; it must occur exactly once."""
    text = (root / name).read_bytes().decode()
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{name} holds {old!r} {text.count(old)} times")
        text = text.replace(old, new)
    (root / name).write_bytes(text.encode())


def write_case(case: Path, folder: Path) -> Path:
    """Write the small course with the changes of the fixture folder *case* below *folder*.

    Files of ``case/content`` come first; then ``change.yaml`` applies, in this order:
    ``copy`` (path: source path), ``delete`` (paths), ``edit`` (path: [{old, new}]),
    ``link`` (path: target of a symbolic link), ``size`` (path: bytes of zeros), ``pipe`` (paths).
    """
    root = write_course(folder)
    if (case / "content").is_dir():
        shutil.copytree(case / "content", root / "content", dirs_exist_ok=True)
    change: dict[str, Any] = {}
    if (case / "change.yaml").is_file():
        change = yaml.safe_load((case / "change.yaml").read_text("utf-8"))
    for name, source in change.get("copy", {}).items():
        put(root / name, (root / source).read_bytes())
    for name in change.get("delete", ()):
        put(root / name, None)
    for name, edits in change.get("edit", {}).items():
        edited(root, name, *((edit["old"], edit["new"]) for edit in edits))
    for name, target in change.get("link", {}).items():
        (root / name).symlink_to(target)
    for name, size in change.get("size", {}).items():
        put(root / name, b"")
        os.truncate(root / name, size)
    for name in change.get("pipe", ()):
        os.mkfifo(root / name)
    return root


def checked(root: Path) -> Report:
    """What ``build.py check`` finds in the course below *root*, without a cache."""
    return in_time(check(Options(root, root / "site")))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below *folder*."""
    return {path: (folder / path).read_bytes() for path in listing(folder)}


def built(root: Path, base_url: str | None = None) -> Report:
    """Build the course below *root*; with errors there must be no site."""
    report = in_time(build(Options(root, root / "site", base_url=base_url)))
    assert report.written is not bool(report.errors)
    assert (root / "site").exists() is report.written
    for one in report.diagnostics:
        assert one.line >= 1
        assert one.column >= 1
    return report


def in_time(report: Report) -> Report:
    """*report*, which must not have taken longer than a reader of a hostile course may take."""
    assert report.seconds < LIMIT_S
    return report


def codes(report: Report) -> set[str]:
    """The codes of the problems."""
    return {one.code for one in report.diagnostics}


def with_body(root: Path, text: str) -> Path:
    """The small course with *text* at the end of the lesson :data:`BRAKE_TRACE`."""
    write_course(root)
    edited(root, BRAKE_TRACE, (END, f"{END}\n{text}\n"))
    return root


def report_lines(found: list[Diagnostic]) -> str:
    """*found* as the snapshots hold it: a line each, and what it expected, got and advises."""
    lines: list[str] = []
    for one in found:
        place = f"{one.file}:{one.line}:{one.column}-{one.end_line}:{one.end_column}"
        lines.append(f"{place}: {one.severity} {one.code} {one.pointer or '-'} {one.message}")
        more = {"expected": one.expected, "got": one.got, "hint": one.hint}
        lines.extend(f"  {name}: {value}" for name, value in more.items() if value)
    return "".join(f"{line}\n" for line in lines)
