"""A build writes nowhere but into folders of its own, and says so before it touches anything."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from course.cli import main
from course.publish.tree import listing
from tests.course.coursekit import BRAKE_TRACE, edited, write_course

Prepare = Callable[[Path], list[str]]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`build.py` with some arguments, in the folder of the course: status, output and errors."""

    def call(root: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
        monkeypatch.chdir(root)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        try:
            status = main(arguments)
        except SystemExit as end:  # by which argparse refuses a call
            status = int(str(end.code))
        gc.enable()  # a build switches it off
        return status, *capsys.readouterr()

    return call


def a_file(root: Path) -> list[str]:
    (root / "precious").write_text("x")
    return ["--out", "precious"]


def below_a_file(root: Path) -> list[str]:
    (root / "precious").write_text("x")
    return ["--out", "precious/below/site"]


def a_link(root: Path) -> list[str]:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    return ["--out", "link"]


def a_damaged_manifest(root: Path) -> list[str]:
    (root / "site").mkdir()
    (root / "site" / "build-manifest.json").write_text("{")
    return []


def a_linked_cache(root: Path) -> list[str]:
    (root / "real").mkdir()
    (root / ".course-cache").symlink_to("real")
    return []


@pytest.mark.parametrize(
    "prepare",
    [
        a_file,
        below_a_file,
        a_link,
        a_damaged_manifest,
        a_linked_cache,
        lambda root: ["--out", "content"],
        lambda root: ["--out", "content", "--force"],
        lambda root: ["--out", "content/site"],
        lambda root: ["--out", "."],
        lambda root: ["--out", ""],
        lambda root: ["--out", ".."],
        lambda root: ["--out", "/"],
        lambda root: ["--out", "/dev/null"],
        lambda root: ["--cache", ".", "--clean"],
        lambda root: ["--cache", "content"],
        lambda root: ["--cache", "content/cache", "--clean"],
        lambda root: ["--cache", "site"],
    ],
)
def test_a_folder_of_somebody_else_is_refused_and_left_alone(
    tmp_path: Path, run: Run, prepare: Prepare
) -> None:
    root = write_course(tmp_path / "course")
    arguments = prepare(root)
    before = listing(tmp_path)
    status, out, errors = run(root, "build", *arguments)
    assert status == 2, out + errors
    assert "error CFG00" in errors
    assert "hint:" in errors
    assert listing(tmp_path) == before


def test_an_empty_folder_of_somebody_else_does_not_come_back(tmp_path: Path, run: Run) -> None:
    root = write_course(tmp_path / "course")
    assert run(root, "build")[0] == 0
    (root / "site/lessons/mine/below").mkdir(parents=True)
    for minutes in (36, 37, 38):
        edited(root, BRAKE_TRACE, (f"minutes: {minutes - 1}", f"minutes: {minutes}"))
        assert run(root, "build")[0] == 0
        assert not (root / "site/lessons/mine").exists()


def test_clean_removes_the_cache_and_nothing_else(tmp_path: Path, run: Run) -> None:
    root = write_course(tmp_path / "course")
    cache = root / ".course-cache"
    assert run(root, "build")[0] == 0
    (cache / "thesis.txt").write_text("years of work")
    (cache / "lessons.json").write_text('{"old": 1}')
    sources = listing(root / "content")
    assert run(root, "build", "--clean")[0] == 0
    assert (cache / "lessons.json").read_text() != '{"old": 1}'
    assert (cache / "thesis.txt").read_text() == "years of work"
    assert listing(root / "content") == sources


def a_file_as_cache(cache: Path) -> None:
    cache.write_text("x")


def a_folder_as_cache_file(cache: Path) -> None:
    (cache / "lessons.json").unlink()
    (cache / "lessons.json").mkdir()


@pytest.mark.parametrize("spoil", [a_file_as_cache, a_folder_as_cache_file])
def test_a_cache_that_cannot_be_used_costs_time_only(
    tmp_path: Path, run: Run, spoil: Callable[[Path], None]
) -> None:
    root = write_course(tmp_path / "course")
    cache = tmp_path / "cache"
    if spoil is a_folder_as_cache_file:
        assert run(root, "build", "--cache", str(cache))[0] == 0
        edited(root, BRAKE_TRACE, ("minutes: 35", "minutes: 36"))
    spoil(cache)
    status, out, errors = run(root, "build", "--cache", str(cache))
    assert status == 0, out + errors
    assert "note: the cache was not saved" in errors
    assert (root / "site" / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["build", "--base-url", "ftp://example.org/"], {}),
        (["build", "--base-url", "https://u:p@example.org/"], {}),
        (["build", "--base-url", "https://example.org:99999/"], {}),
        (["build", "--base-url", 'https://example.org/a"b'], {}),
        (["build", "--base-url", "https://example.org//a/../b/"], {}),
        (["build", "--base-url", "https://exämple.org/"], {}),
        (["build"], {"SOURCE_DATE_EPOCH": "-1"}),
        (["build"], {"SOURCE_DATE_EPOCH": " 5"}),
        (["build"], {"SOURCE_DATE_EPOCH": "٣"}),
        (["check", "--only", "nope"], {}),
        (["stats", "--root", "/nowhere"], {}),
        (["fmt", "--root", "/nowhere"], {}),
        (["check", "--report", "nowhere/report.json"], {}),
        (["check", "--report", "/proc/nowhere/report.json"], {}),
    ],
)
def test_a_call_that_makes_no_sense_is_named(
    tmp_path: Path, run: Run, arguments: list[str], environment: dict[str, str]
) -> None:
    root = write_course(tmp_path / "course")
    status, out, errors = run(root, *arguments, **environment)
    assert status == 2, out + errors
    assert errors.strip()
    assert not (root / "site").exists()
    assert not (root / "nowhere").exists()


def test_a_plain_http_address_is_as_good_as_a_secure_one(tmp_path: Path, run: Run) -> None:
    root = write_course(tmp_path / "course")
    assert run(root, "build", "--base-url", "http://pit.example:8080/course")[0] == 0
    assert "http://pit.example:8080/course/" in (root / "site" / "sitemap.xml").read_text()


def test_a_terminal_that_knows_only_ascii_still_shows_the_problems(tmp_path: Path) -> None:
    root = write_course(tmp_path / "course")
    edited(root, BRAKE_TRACE, ("status: authored", "status: gepläntes Ziel"))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve().parents[2] / "build.py"), "check"],
        cwd=root,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "SCH004" in done.stdout
    assert "Traceback" not in done.stderr
