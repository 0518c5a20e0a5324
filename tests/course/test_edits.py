"""What authors change between two builds reaches the site, and nothing else does."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from course.build import Options, build, check
from course.publish.tree import MANIFEST
from tests.course.coursekit import (
    BRAKE_TRACE,
    LAP_KIT,
    QUIZ,
    READ_A_LAP,
    contents,
    edited,
    write_course,
)

BRAKING: Final = "content/phases/20-braking"
COURSE: Final = "content/course.yaml"
WORDS: Final = "content/ui/en.yaml"
# What authors change beside the text of lessons: the file, a piece of it, what comes in its place.
EDITS: Final = {
    "course title": (COURSE, "A small course", "A smaller course"),
    "course summary": (COURSE, "Three lessons that", "Three good lessons that"),
    "version": (COURSE, "version: 1.1.0", "version: 1.2.0"),
    "date": (COURSE, "2026-11-20", "2026-11-21"),
    "licence": (COURSE, "CC-BY-4.0", "CC-BY-SA-4.0"),
    "repository": (COURSE, "example.org/small-course", "example.org/smaller-course"),
    "address": (COURSE, "lang: en\n", "lang: en\nbaseUrl: https://example.org/c/\n"),
    "part": (COURSE, "Drive with data", "Drive with more data"),
    "skip link": (WORDS, "skip: Skip to the content", "skip: Go to the content"),
    "theme": (WORDS, "theme: Theme", "theme: Colours"),
    "alias page": (WORDS, "moved: This lesson has moved", "moved: This lesson went elsewhere"),
    "review": (READ_A_LAP, "status: authored\n", "status: authored\nreview: editorial\n"),
    "status": (WORDS, "planned: Planned", "planned: To come"),
    "label of a notebook": (WORDS, "answers: Answers", "answers: The answers"),
    "label of a text": (WORDS, "llms_start: Start", "llms_start: Begin"),
    "word of a table": (WORDS, "table: Table", "table: Grid"),
    "concept": ("content/concepts.yaml", "title: Late apex", "title: A late apex"),
    "domain": ("content/domains/10-lap-analysis.yaml", "title: Lap analysis", "title: Laps"),
    "role": ("content/roles/10-data-engineer.yaml", "title: Data engineer", "title: Engineer"),
    "pathway": ("content/pathways/10-data-driver.yaml", "title: Data driver", "title: Driver"),
    "project": (f"{LAP_KIT}/project.yaml", "title: Lap kit", "title: A lap kit"),
    "project text": (f"{LAP_KIT}/README.md", "\n\n", "\n\nIn short:\n\n"),
    "project file": (f"{LAP_KIT}/starter/lap.py", "", "# A comment.\n"),
    "phase": (f"{BRAKING}/phase.yaml", "title: Braking", "title: Braking points"),
    "quiz": (QUIZ, "What does a low", "What does one low"),
    "lesson code": (f"{Path(READ_A_LAP).parent}/code/slowest.py", "", "# A comment.\n"),
    "alias": (BRAKE_TRACE, "aliases: [brake-curve]", "aliases: [brake-curve, old-curve]"),
}


DAMAGED: Final = ("index.html", "downloads/lap-kit.zip", "lessons/brake-trace/index.html")


@pytest.fixture
def course(tmp_path: Path) -> Options:
    """A small course with a cache and an output folder of its own."""
    root = write_course(tmp_path / "course")
    return Options(root=root, out=tmp_path / "site", cache=tmp_path / "cache")


def put_first(root: Path, name: str, old: str, new: str) -> None:
    """Replace the first *old* in a file by *new*; no text stands at its beginning."""
    text = (root / name).read_text()
    (root / name).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("edit", EDITS)
def test_every_kind_of_edit_reaches_every_page_that_a_cold_build_gives_it(
    course: Options, tmp_path: Path, edit: str
) -> None:
    (course.root / "content/ids.lock").unlink()
    before = build(course)
    put_first(course.root, *EDITS[edit])
    after = build(course)
    assert after.written, after.diagnostics
    assert after.digest != before.digest
    assert build(Options(root=course.root, out=tmp_path / "cold")).digest == after.digest
    assert contents(course.out) == contents(tmp_path / "cold")
    assert build(course).changed == 0


def test_a_smaller_limit_holds_for_pages_that_were_built_before(course: Options) -> None:
    assert not build(course).diagnostics
    with (course.root / COURSE).open("a") as file:
        file.write("limits: {pageKiB: 1}\n")
    found = [one.code for one in check(course).diagnostics]
    assert found == ["OUT006"] * 3
    assert [one.code for one in build(course).diagnostics] == found


def test_a_version_is_news_of_the_lessons_that_changed_only(course: Options) -> None:
    options = replace(course, base_url="https://example.org/c/")
    build(options)
    before = entries(course.out)
    edited(course.root, COURSE, ("version: 1.1.0", "version: 1.2.0"), ("2026-11-20", "2026-11-21"))
    edited(course.root, BRAKE_TRACE, ("three points that matter", "three points that count"))
    assert build(options).written
    after = entries(course.out)
    assert len(before) == len(after) == 2
    assert [found.partition("#")[0] for found in sorted(after - before)] == [
        "https://example.org/c/lessons/brake-trace/"
    ]


def entries(site: Path) -> set[str]:
    """The ids of the entries of the feed."""
    text = (site / "feed.xml").read_text()
    return {entry.partition("</id>")[0] for entry in text.split("<entry>\n    <id>")[1:]}


def test_a_clean_build_mends_a_file_that_was_damaged_at_equal_size_and_date(
    course: Options,
) -> None:
    expected = built_twice(course)
    damage(course, keep_date=True)
    assert build(course).changed == 0  # to see that, every file has to be read
    report = build(replace(course, verify=True))
    assert report.changed == 3
    assert contents(course.out) == expected
    assert build(replace(course, verify=True)).changed == 0


def test_any_build_mends_what_somebody_edited_in_the_site_at_equal_size(course: Options) -> None:
    expected = built_twice(course)
    damage(course, keep_date=False)
    report = build(course)
    assert report.changed == len(DAMAGED)
    assert contents(course.out) == expected
    assert build(course).changed == 0


def built_twice(course: Options) -> dict[str, bytes]:
    """The site of two builds: beside it is a folder whose files are in part the same ones."""
    build(course)
    edited(course.root, BRAKE_TRACE, ("three points that matter", "three points that count"))
    build(course)
    assert build(course).changed == 0
    return contents(course.out)


def damage(course: Options, *, keep_date: bool) -> None:
    """Change bytes of some files in place; the new date is later than that of the build."""
    written = (course.out / MANIFEST).stat().st_mtime_ns
    for path in DAMAGED:
        before = (course.out / path).stat()
        with (course.out / path).open("r+b") as file:
            file.write(b"XY")
        stamp = before.st_mtime_ns if keep_date else written + 1_000_000_000
        os.utime(course.out / path, ns=(before.st_atime_ns, stamp))
