"""The signature of the sources: different after every change that a build would see."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from course import serve


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "content" / "phases" / "10-laps").mkdir(parents=True)
    (tmp_path / "content" / "course.yaml").write_text("id: one\n")
    (tmp_path / "content" / "phases" / "10-laps" / "phase.yaml").write_text("id: laps\n")
    return tmp_path


def touch(path: Path) -> None:
    before = path.stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def replace(path: Path) -> None:
    times = path.stat()
    beside = path.with_name("_new")
    beside.write_bytes(path.read_bytes())
    os.utime(beside, ns=(times.st_atime_ns, times.st_mtime_ns))
    beside.replace(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "write": lambda content: (content / "course.yaml").write_text("id: three\n"),
    "touch": lambda content: touch(content / "course.yaml"),
    "replace": lambda content: replace(content / "course.yaml"),
    "deep": lambda content: (content / "phases/10-laps/phase.yaml").write_text("id: 7\n"),
    "new file": lambda content: (content / "concepts.yaml").write_text("[]\n"),
    "new folder": lambda content: (content / "phases/20-grip").mkdir(),
    "rename": lambda content: (content / "phases/10-laps").rename(content / "phases/20-laps"),
    "delete": lambda content: (content / "course.yaml").unlink(),
    "link": lambda content: (content / "x.yaml").symlink_to("nowhere"),
    "gone": lambda content: content.rename(content.with_name("away")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_changes_the_signature(course: Path, change: Callable[[Path], object]) -> None:
    before = serve.compute_signature(course)
    assert serve.compute_signature(course) == before
    change(course / "content")
    assert serve.compute_signature(course) != before


@pytest.mark.parametrize("name", ["_draft.yaml", ".course.yaml.swp"])
def test_drafts_and_hidden_files_are_no_change(course: Path, name: str) -> None:
    before = serve.compute_signature(course)
    (course / "content" / "phases" / name).write_text("x")
    assert serve.compute_signature(course) == before
