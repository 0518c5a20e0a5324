"""The command that builds more than once and compares finds what must not matter and does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from course import reproducible
from course.build import Options, build
from course.cli import main
from course.publish.cache import read_json, write_json
from course.reproducible import differences
from tests.course.coursekit import write_course


@pytest.fixture
def course(tmp_path: Path) -> Options:
    """A small course that has been built."""
    root = write_course(tmp_path / "course")
    options = Options(root=root, out=tmp_path / "site", cache=tmp_path / "cache")
    assert build(options).written
    return options


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The builds need no programs of their own: only one test is about what differs in those."""

    def run(options: Options, out: Path, _environment: object, _umask: int, more: list[str]) -> str:
        code = main(["build", "--quiet", "--root", str(options.root), "--out", str(out), *more])
        return f"ended with {code}" if code else ""

    monkeypatch.setattr(reproducible, "_build", run)


def test_builds_of_the_same_sources_are_the_same(course: Options) -> None:
    (course.out / "CNAME").write_text("example.org\n")  # no file of the build's
    assert differences(course) == []


def test_a_course_without_a_cache_is_compared_too(course: Options, at_once: None) -> None:
    assert differences(replace(course, cache=None)) == []


def test_a_cache_that_gives_another_site_is_found(course: Options, at_once: None) -> None:
    assert course.cache is not None
    path = course.cache / "lessons.json"
    entries = read_json(path)
    for entry in entries.values():
        entry["unit"]["body"] = entry["unit"]["body"].replace("lap", "LAP")
    write_json(path, entries)
    before = {path: path.read_bytes() for path in course.cache.iterdir()}
    assert differences(course) == ["llms-full.txt: the incremental build differs from the first"]
    assert {path: path.read_bytes() for path in course.cache.iterdir()} == before


@pytest.mark.parametrize("manifest", ["{", None])
def test_a_damaged_site_is_no_reason_to_fail(
    course: Options, at_once: None, manifest: str | None
) -> None:
    (course.out / "index.html").unlink()
    if manifest is not None:
        (course.out / "build-manifest.json").write_text(manifest)
    assert differences(course) == []
