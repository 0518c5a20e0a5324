"""The page for authors is true: its course builds, and it names all that a source can hold."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from course.build import Options, build, check
from course.checking import accept_ids
from course.fmt import fmt
from course.read.files import CODE_SUFFIXES, MEDIA_SUFFIXES
from course.read.links import KINDS
from course.read.sources import english
from tests.course.coursekit import edited, put

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "authoring.md").read_text("utf-8")
SCHEMAS: Final = ("course", "phase", "lesson", "quiz", "pathway", "role", "domain", "project")
LISTS: Final = ("concepts", "retired")
PHASE: Final = "content/phases/10-first-evening"
LINE: Final = f"{PHASE}/10-the-line"
_FILE: Final = re.compile(
    r"^`(content/[^`\n]+)`\n\n(`{3,})\w+\n(.*?)^\2\n", re.MULTILINE | re.DOTALL
)
_NAMED: Final = re.compile(r"`([\w-]+)`|^[ -]*([a-zA-Z]+):|[{,] ?([a-zA-Z]+):", re.MULTILINE)


def files() -> dict[str, str]:
    """Every file that the page shows in full."""
    return {match[1]: match[3] for match in _FILE.finditer(PAGE)}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The course of the page, its ids accepted."""
    for name, text in files().items():
        put(tmp_path / name, text)
    accept_ids(Options(tmp_path, tmp_path / "site"))
    return tmp_path


def codes(root: Path) -> list[str]:
    """The rules that the course below *root* breaks."""
    return [one.code for one in check(Options(root, root / "site")).diagnostics]


def test_the_course_of_the_page_is_clean_and_builds(course: Path) -> None:
    assert codes(course) == []
    assert build(Options(course, course / "site")).written
    for page in ("lessons/the-line", "lessons/rain", "projects/lap-sheet", "roles/club-coach"):
        assert (course / "site" / page / "index.html").is_file()


def test_its_yaml_has_the_usual_form(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fmt(course, check=True) == 0, capsys.readouterr().out


def test_its_program_prints_what_the_page_says(course: Path) -> None:
    assert build(Options(course, course / "site")).written
    lesson = json.loads((course / "site/api/v1/lessons/the-line.json").read_bytes())
    (block,) = lesson["content"]["code"]
    command = [sys.executable, "-I", str(course / "site/downloads/the-line.py")]
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=50)
    assert done.stdout == block["expected"]


def fields(schema: Any) -> Iterator[str]:
    """The name of every property in *schema*."""
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        for value in schema.values():
            yield from fields(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from fields(value)


@pytest.mark.parametrize("name", [*SCHEMAS, *LISTS])
def test_every_field_of_a_source_is_named(name: str) -> None:
    schema = json.loads((ROOT / f"schemas/course/{name}.schema.json").read_bytes())
    named = {word for words in _NAMED.findall(PAGE) for word in words}
    assert set(fields(schema)) - named == set()


def test_every_choice_of_an_author_is_named() -> None:
    lesson = json.loads((ROOT / "schemas/course/lesson.schema.json").read_bytes())
    quiz = json.loads((ROOT / "schemas/course/quiz.schema.json").read_bytes())
    question = quiz["$defs"]["question"]["properties"]
    choices = [
        *lesson["$defs"]["level"]["enum"],
        *lesson["$defs"]["status"]["enum"],
        *lesson["properties"]["review"]["enum"],
        *question["kind"]["enum"],
        *question["stage"]["enum"],
        *english()["kinds"].values(),
        *(f"[!{key[6:].upper()}]" for key in english() if key.startswith("alert_")),
    ]
    assert [one for one in choices if f"`{one}`" not in PAGE] == []
    assert [one for one in [*KINDS, "concept"] if f"`{one}:" not in PAGE] == []
    suffixes = (*CODE_SUFFIXES, *MEDIA_SUFFIXES)
    assert [one for one in suffixes if one not in PAGE] == []


def test_every_command_for_authors_is_shown() -> None:
    shown = set(re.findall(r"paddock-course ([a-z]+) ", PAGE))
    assert shown >= {"init", "new", "serve", "check", "explain", "fmt", "stats", "build"}


def test_a_draft_is_passed_over_wherever_it_lies(course: Path) -> None:
    put(course / f"{PHASE}/_30-rain-line/lesson.md", "not yet")
    put(course / f"{LINE}/code/_idea.py", "def (")
    put(course / "content/projects/lap-sheet/starter/__init__.py", "")
    put(course / "content/.DS_Store", b"\0")
    assert codes(course) == []
    assert build(Options(course, course / "site")).written
    with zipfile.ZipFile(course / "site/downloads/lap-sheet.zip") as archive:
        assert archive.namelist() == ["README.md", "solution/laps.py", "starter/laps.py"]
    assert not (course / "site/lessons/rain-line").exists()


def test_a_lesson_is_renamed_as_the_page_says(course: Path) -> None:
    shutil.move(course / LINE, course / f"{PHASE}/10-race-line")
    assert "IDS008" in codes(course)
    edited(
        course,
        f"{PHASE}/10-race-line/lesson.md",
        ("id: the-line", "id: race-line\naliases: [the-line]"),
    )
    found = codes(course)
    assert "IDS004" not in found
    assert {"REF001", "LNK001", "IDS009"} <= set(found)
    edited(course, f"{PHASE}/20-rain/lesson.md", ("[the-line]", "[race-line]"))
    edited(course, "content/roles/10-club-coach.yaml", ("[the-line]", "[race-line]"))
    edited(course, "content/retired.yaml", ("replacedBy: the-line", "replacedBy: race-line"))
    project = "content/projects/lap-sheet"
    edited(
        course,
        f"{project}/project.yaml",
        ("requiredLessons: [the-line]", "requiredLessons: [race-line]"),
        ("    lessons: [the-line]", "    lessons: [race-line]"),
    )
    edited(course, f"{project}/README.md", ("lesson:the-line", "lesson:race-line"))
    assert codes(course) == ["IDS009"]
    accept_ids(Options(course, course / "site"))
    assert codes(course) == []
    assert build(Options(course, course / "site")).written
    assert (course / "site/lessons/the-line/index.html").is_file()
    old = json.loads((course / "site/api/v1/lessons/the-line.json").read_bytes())
    assert old["id"] == "race-line"


def test_what_is_no_lesson_ends_with_an_entry_and_without_one_is_missed(course: Path) -> None:
    shutil.rmtree(course / "content/projects")
    pathway = "content/pathways/10-beginner.yaml"
    text = (course / pathway).read_text("utf-8")
    put(course / pathway, text[: text.index("capstone:")])
    assert codes(course) == ["IDS004"]
    entry = "- id: lap-sheet\n  replacedBy: null\n  since: 1.0.0\n  reason: Nobody used it.\n"
    put(course / "content/retired.yaml", entry)
    assert codes(course) == []


def test_a_lesson_goes_back_to_planned_with_a_reason(course: Path) -> None:
    text = (course / LINE / "lesson.md").read_text("utf-8")
    front = text[: text.index("check:")] + "---\n"
    put(course / LINE / "lesson.md", front.replace("authored", "planned"))
    for name in ("quiz.yaml", "code", "media"):
        put(course / LINE / name, None)
    put(course / "content/projects/lap-sheet/project.yaml", PLANNED_PROJECT)
    assert set(codes(course)) == {"LES019", "PTH002"}
    entry = "- id: the-line\n  replacedBy: null\n  since: 1.0.0\n  reason: The data was wrong.\n"
    put(course / "content/retired.yaml", entry)
    assert codes(course) == ["PTH002"]


PLANNED_PROJECT: Final = """\
id: lap-sheet
title: Lap sheet
summary: A program that prints the laps of one evening.
status: planned
pathway: beginner
requiredLessons: [the-line]
"""
