"""Usual slips of authors: one problem, on the line of the slip, with the cure."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from course.diagnostics import Diagnostic
from tests.course.coursekit import (
    BRAKE_TRACE,
    END,
    LAP_KIT,
    QUIZ,
    READ_A_LAP,
    TYRE_WINDOW,
    WORDS,
    checked,
    edited,
    put,
    with_body,
    write_course,
)

PHASE = "content/phases/10-laps/phase.yaml"
COURSE = "content/course.yaml"


class Slip(NamedTuple):
    """A change of one file, and what must be said about it."""

    file: str
    old: str
    new: str
    code: str
    line: int
    words: str


def only(found: list[Diagnostic]) -> Diagnostic:
    assert len(found) == 1, found
    return found[0]


SLIPS = [
    Slip(PHASE, "title: Laps", 'title: "Laps\\0"', "SRC004", 2, "U+0000"),
    Slip(PHASE, "title: Laps", 'title: "La\\x1bps"', "SRC004", 2, "double its backslash"),
    Slip(PHASE, "title: Laps", 'title: "La\\tps"', "SRC004", 2, "U+0009"),
    Slip(PHASE, "title: Laps", 'title: "La\\x85ps"', "SRC004", 2, "U+0085"),
    Slip(PHASE, "title: Laps", 'title: "La\\Lps"', "SRC004", 2, "U+2028"),
    Slip(PHASE, "title: Laps", 'title: "Laps', "YML001", 2, "close the quotation mark"),
    Slip(PHASE, "title: Laps", "title: Laps\nmore", "YML001", 3, "write a colon and a space"),
    Slip(PHASE, "title: Laps", "title: Laps\nmore", "YML001", 3, "continues the line above"),
    Slip(PHASE, "title: Laps", "title: Laps # TBD", "LES018", 2, "phase.yaml says TBD"),
    Slip(TYRE_WINDOW, "objectives:", "objectives: [a", "YML001", 6, "close the list"),
    Slip(TYRE_WINDOW, "objectives:", "objectives: [a,", "YML001", 7, "close the bracket"),
    Slip(TYRE_WINDOW, "status: planned\n", "", "LES001", 2, "add status: planned, or"),
    Slip(f"{LAP_KIT}/README.md", "Reads a lap and", "TBD and", "LES018", 3, "README.md says TBD"),
    Slip(f"{LAP_KIT}/project.yaml", "title: Lap", "title: TODO", "LES018", 2, "planned"),
    Slip(QUIZ, "objective: 2", "objective: 9", "QUZ008", 14, "1 to 2"),
    Slip(
        BRAKE_TRACE,
        END,
        f"{END}\n```python file=../../../course.yaml\n```\n",
        "MD004",
        34,
        "cannot lie outside the folder code",
    ),
    Slip(
        BRAKE_TRACE, "## Exercise: mark", "##Exercise: mark", "LES017", 29, "as: ## Exercise: mark"
    ),
    Slip(BRAKE_TRACE, "## Exercise: mark", "## Exercise - mark", "LES017", 29, "## Exercise: mark"),
    Slip(BRAKE_TRACE, "## Exercise: mark", "### Exercise: mark", "LES017", 29, "## Exercise: mark"),
]


@pytest.mark.parametrize("slip", SLIPS, ids=range(len(SLIPS)))
def test_a_slip_is_named_where_it_is(slip: Slip, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, slip.file, (slip.old, slip.new))
    one = only(checked(root).diagnostics)
    assert (one.file, one.code, one.line) == (slip.file, slip.code, slip.line), one
    assert slip.words in f"{one.message} / {one.expected} / {one.hint}"


@pytest.mark.parametrize("text", ["abc\ndef", "a \u00e9 \u20ac", "C:\\\\new"])
def test_a_quoted_text_without_controls_is_allowed(text: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    answer = text.replace("\n", "\\n")
    edited(root, PHASE, ("title: Laps\n", f'title: Laps\n# "{answer}"\n'))
    data = (root / PHASE).read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(data) if line.strip().startswith("answer:"))
    data[at] = f'{data[at].partition("answer:")[0]}answer: "{answer} is the answer"'
    (root / PHASE).write_text("\n".join(data) + "\n", "utf-8")
    assert checked(root).diagnostics == []


@pytest.mark.parametrize("day", ["2026-02-30", "2025-02-29", "2026-04-31"])
def test_a_day_that_does_not_exist_is_refused(day: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    lines = (root / COURSE).read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("updated:"))
    lines[at] = f'updated: "{day}"'
    (root / COURSE).write_text("\n".join(lines) + "\n")
    one = only(checked(root).diagnostics)
    assert (one.code, one.pointer, one.line) == ("SCH005", "/updated", at + 1)
    assert one.message == "updated is no day of the calendar"


@pytest.mark.parametrize(
    ("fence", "line"),
    [
        ("```python\nx = 1\n\n## Recap\n\nText.", 34),
        ("~~~~python\nx = 1\n~~~\n", 34),
        ("```python", 34),
        ("```python\n    ```\n", 34),
        ("- ```python\n  x = 1\n\nText.", 34),
        ("> ```python\n> x = 1\n\nText.", 34),
    ],
)
def test_an_open_fence_is_reported_where_it_opens(fence: str, line: int, tmp_path: Path) -> None:
    one = only(checked(with_body(tmp_path, fence)).diagnostics)
    assert (one.code, one.line) == ("MD012", line)


@pytest.mark.parametrize(
    "fence",
    [
        "```python\n```",
        "```python\nx = 1\n```",
        "~~~~text\n~~~\n~~~~",
        "- ```python\n  x = 1\n  ```",
        "> ```python\n> x = 1\n> ```",
        "```python\nx = 1\n`````",
        "```python\n\n```\n\nText.",
    ],
)
def test_a_closed_fence_is_no_problem(fence: str, tmp_path: Path) -> None:
    assert checked(with_body(tmp_path, fence)).diagnostics == []


def test_an_open_fence_that_hides_the_exercise_is_the_only_problem(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, BRAKE_TRACE, ("## Exercise: mark", "```text\nx\n\n## Exercise: mark"))
    assert only(checked(root).diagnostics).code == "MD012"


def test_front_matter_that_is_never_closed_says_so(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    text = (root / TYRE_WINDOW).read_text()
    put(root / TYRE_WINDOW, text.rstrip().removesuffix("---"))
    one = only(checked(root).diagnostics)
    assert (one.code, one.line) == ("YML008", 1)
    assert one.message == "the front matter is never closed"


def test_every_unfinished_passage_is_named_up_to_twenty(tmp_path: Path) -> None:
    root = with_body(tmp_path, "\n\n".join(["TODO: write."] * 3))
    assert [one.line for one in checked(root).diagnostics] == [34, 36, 38]
    root = with_body(tmp_path, "\n\n".join(["TODO: write."] * 30))
    found = checked(root).diagnostics
    assert {one.code for one in found} == {"LES018"}
    assert len(found) == 20


def test_missing_words_are_the_only_problem(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, COURSE, ("lang: en", "lang: fr"))
    for name in (READ_A_LAP, BRAKE_TRACE):
        edited(root, name, ("## Exercise:", "## Exercice :"))
    one = only(checked(root).diagnostics)
    assert (one.code, one.file) == ("CFG008", "content/ui/fr.yaml")
    put(root / "content/ui/fr.yaml", WORDS.read_bytes())
    assert {one.code for one in checked(root).diagnostics} >= {"LES017"}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (TYRE_WINDOW, "Lesson.md", "rename Lesson.md to lesson.md"),
        (TYRE_WINDOW, "lesson.markdown", "rename lesson.markdown to lesson.md"),
        (f"{LAP_KIT}/project.yaml", "project.yml", "rename project.yml to project.yaml"),
    ],
)
def test_a_main_file_under_another_name_is_to_be_renamed(
    old: str, new: str, hint: str, tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    (root / old).rename((root / old).with_name(new))
    one = only([one for one in checked(root).diagnostics if one.code == "SRC007"])
    assert one.hint == hint


def test_a_phase_without_its_file_is_not_called_empty(tmp_path: Path) -> None:
    root = write_course(tmp_path, {PHASE: None})
    found = [one for one in checked(root).diagnostics if one.code == "SRC007"]
    assert only(found).got == "10-read-a-lap/"


@pytest.mark.parametrize("text", ["A title\n=======", "    <<<<<<< HEAD", "a <<<<<<< b"])
def test_what_only_looks_like_a_merge_is_allowed(text: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(
        root / f"{LAP_KIT}/README.md",
        f"{text}\n" if "=" in text else f"# Kit\n\n```text\n{text}\n```\n",
    )
    assert checked(root).diagnostics == []


def test_a_damaged_lock_file_is_not_called_missing(tmp_path: Path) -> None:
    root = write_course(tmp_path, {"content/ids.lock": "<<<<<<< HEAD\n"})
    assert only(checked(root).diagnostics).code == "SRC014"
