"""Slips of authors: one problem each, which names the culprit, its place and what to type."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from course.build import Options, build
from course.cli import main
from course.diagnostics import Diagnostic
from course.read.code import find_python_fault
from tests.course.coursekit import (
    BRAKE_TRACE,
    END,
    LAP_KIT,
    MORE_QUESTIONS,
    QUIZ,
    READ_A_LAP,
    SVG,
    TYRE_WINDOW,
    checked,
    edited,
    put,
    report_lines,
    with_body,
    write_course,
)

CONCEPTS = "content/concepts.yaml"
RETIRED = "content/retired.yaml"
ENTRY = "\n- {{id: {}, replacedBy: {}, since: 1.2.0, reason: It has a better name now.}}\n"
PHASE = "content/phases/10-laps/phase.yaml"
COURSE = "content/course.yaml"
PATHWAY = "content/pathways/10-data-driver.yaml"


class Slip(NamedTuple):
    """A change of one file, and what must be said about it."""

    file: str
    old: str
    new: str
    code: str
    line: int | None  # None: anywhere
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
    Slip(BRAKE_TRACE, "## Exercise: mark", "##Exercise: mark", "MD016", 29, "write a space after"),
    Slip(BRAKE_TRACE, "## Exercise: mark", "## Exercise - mark", "LES017", 29, "## Exercise: mark"),
    Slip(BRAKE_TRACE, "## Exercise: mark", "### Exercise: mark", "LES017", 29, "## Exercise: mark"),
    Slip(READ_A_LAP, "minutes: 20", "minutes: 20.0", "SCH001", None, "a whole number"),
    Slip(READ_A_LAP, "minutes: 20", "minutes: 2.0e1", "SCH001", None, "a whole number"),
    Slip(COURSE, "schemaVersion: 1", "schemaVersion: 1.0", "SCH001", None, "a whole number"),
    Slip(COURSE, "lang: en", "lang: en\nlimits: {pageKiB: 9.0}", "SCH001", None, "a whole number"),
    Slip(QUIZ, "objective: 1", "objective: 1.0", "SCH001", None, "a whole number"),
    Slip(COURSE, "2026-11-20", "2026-13-40", "SCH005", None, "write a day that exists, as YYYY"),
    Slip(COURSE, "2026-11-20", '"2026-02-30"', "SCH005", None, "is not a real date"),
    Slip(COURSE, "2026-11-20", '"2025-02-29"', "SCH005", None, "is not a real date"),
    Slip(READ_A_LAP, "objectives:", "objetives:", "SCH003", None, 'mean "objectives"?'),
    Slip(READ_A_LAP, "status:", "statis:", "SCH003", None, 'did you mean "status"?'),
    Slip(QUIZ, "questions:\n", "", "SCH001", None, "begin the file with questions: and"),
    Slip(QUIZ, "        correct: true\n", "", "QUZ004", 6, 'add "correct: true" to one option'),
    Slip(COURSE, "version: 1.1.0", "version: 1.1", "SCH001", 6, "three numbers, such as 1.2.0"),
    Slip(TYRE_WINDOW, "id: tyre-window", "id: brake-trace", "IDS008", 2, "expected tyre-window"),
    Slip(BRAKE_TRACE, "[read-a-lap]", "read-a-lap", "SCH001", 10, "prerequisites: [read-a-lap]"),
    Slip(COURSE, "lang: en", "lang: english", "SCH005", 5, "write it as in en"),
    Slip(COURSE, "lang: en", "lang: en\nlogo: a.svg", "SCH005", 6, 'write "media/a.svg"'),
    Slip(
        COURSE,
        "lang: en",
        'lang: en\ncolours: {accent: {light: 8a3b12, dark: "#f0a070"}}',
        "SCH005",
        6,
        'write "#8a3b12"',
    ),
    Slip(PATHWAY, "- phase: laps", "- laps", "SCH001", 9, "write {phase: laps}"),
    Slip(
        BRAKE_TRACE,
        "minutes:",
        "references: [https://example.org/a]\nminutes:",
        "SCH001",
        None,
        "write {title: …, url: https://example.org/a}",
    ),
    Slip(
        QUIZ,
        "- text: A straight.\n        why: On a straight the speed",
        "- >-\n        A straight, where the speed",
        "SCH001",
        None,
        'write {text: "A straight, where the speed rises',
    ),
    Slip(BRAKE_TRACE, "check:\n  prompt", "check:\n   prompt", "YML001", 16, "column of line 15"),
    Slip(BRAKE_TRACE, "objectives:\n  -", "objectives:\n  *", "YML001", 9, "with -, not *"),
    Slip(BRAKE_TRACE, "---\n\nThe pedal", "\nThe pedal", "YML008", 1, "write a line --- between"),
    Slip(
        BRAKE_TRACE,
        "objectives:\n  - Mark the start, the peak and the end of one braking event.",
        "objectives: [Mark the start of the event, the peak, end.]",
        "SCH006",
        8,
        "put the whole text in quotes",
    ),
    Slip(BRAKE_TRACE, END, f"{END}\n![A plot](media/plot.svg)\n", "LNK001", 34, "into media/"),
    Slip(
        f"{LAP_KIT}/README.md",
        "Reads a lap and",
        "![A plot](media/plot.svg) Reads a lap and",
        "LNK001",
        3,
        "cannot show pictures",
    ),
    Slip(
        f"{LAP_KIT}/README.md",
        "Reads a lap and",
        "![A plot](https://example.org/plot.svg) Reads a lap and",
        "LNK003",
        3,
        "cannot show pictures",
    ),
    Slip(BRAKE_TRACE, END, f"{END}\nSee https://example.org/a.\n", "MD015", 34, "org/a)"),
    Slip(BRAKE_TRACE, END, f"{END}\n[Laps](lesson:laps)\n", "LNK001", 34, "write phase:laps"),
    Slip(BRAKE_TRACE, "---\n\nThe", "--- \n\nThe", "YML008", 18, "delete the spaces"),
    Slip(BRAKE_TRACE, "---\nid:", "---  \nid:", "YML008", 1, "delete the spaces"),
    Slip(
        BRAKE_TRACE,
        END,
        f"{END}\nAfter [the first lesson](../../10-laps/20-read-a-lap/lesson.md).\n",
        "LNK001",
        34,
        "write lesson:read-a-lap",
    ),
]


@pytest.mark.parametrize("slip", SLIPS, ids=range(len(SLIPS)))
def test_a_slip_is_named_where_it_is(slip: Slip, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, slip.file, (slip.old, slip.new))
    one = only(checked(root).diagnostics)
    assert (one.file, one.code) == (slip.file, slip.code), one
    assert slip.line in (one.line, None), one
    assert slip.words in f"{one.message} / expected {one.expected} / {one.hint}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("plot.tiff", "save it in another format (.svg, .png"), ("plot.JPG", "name it plot.jpg")],
)
def test_a_picture_that_has_no_place_is_told_how_it_gets_one(
    name: str, hint: str, tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    put(root / BRAKE_TRACE.replace("lesson.md", f"media/{name}"), "II*")
    one = only(checked(root).diagnostics)
    assert one.code == "SRC006"
    assert hint in str(one.hint)


def test_a_folder_without_a_number_gets_the_next_one(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    folder = (root / BRAKE_TRACE).parent
    folder.rename(folder.with_name("brake-trace"))
    one = only(checked(root).diagnostics)
    assert (one.code, one.hint) == ("SRC013", "rename it to 30-brake-trace")


def test_a_translation_has_its_place_whatever_else_course_yaml_says(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / BRAKE_TRACE.replace("lesson.md", "lesson.fr.md"), "Bonjour.\n")
    edited(root, COURSE, ("lang: en", "lang: en\nlanguages: [fr]\nmore: ["))
    assert only(checked(root).diagnostics).code == "YML001"


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


@pytest.mark.parametrize(
    ("fence", "line"),
    [
        ("```python\nx = 1\n\n## Recap\n\nText.", 34),
        ("~~~~python\nx = 1\n~~~\n", 34),
        ("```python", 34),
        ("```python\n    ```\n", 34),
        ("- ```python\n  x = 1\n\nText.", 34),
        ("> ```python\n> x = 1\n\nText.", 34),
        ("```text\nx\n\n## Recap\n\n```python\nx = 1\n```", 34),
        ("- ~~~text\n  x\n\n  ~~~~ python\n  x = 1\n  ~~~", 34),
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
        "````text\n```python\nx = 1\n```\n````",
        "~~~text\n```python\n~~~",
        "```text\n```shown``` in a line\n```",
    ],
)
def test_a_closed_fence_is_no_problem(fence: str, tmp_path: Path) -> None:
    assert checked(with_body(tmp_path, fence)).diagnostics == []


def test_an_open_fence_that_hides_the_exercise_is_the_only_problem(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, BRAKE_TRACE, ("## Exercise: mark", "```text\nx\n\n## Exercise: mark"))
    assert only(checked(root).diagnostics).code == "MD012"


def test_a_course_in_another_language_may_keep_the_english_words(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, COURSE, ("lang: en", "lang: fr"))
    one = only(checked(root).diagnostics)
    assert (one.code, one.file) == ("CFG008", "content/ui/fr.yaml")
    put(root / "content/ui/fr.yaml", "kinds: {exercise: Exercice}\n")
    assert {one.code for one in checked(root).diagnostics} >= {"LES022"}
    for name in (READ_A_LAP, BRAKE_TRACE):
        edited(root, name, ("## Exercise:", "## Exercice :"))
    assert {one.code for one in checked(root).diagnostics} == {"CFG008"}


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


def found(root: Path) -> list[tuple[str, str, int]]:
    """Code, file and line of every problem."""
    return [(one.code, one.file, one.line) for one in checked(root).diagnostics]


def hints(root: Path) -> list[tuple[str, str | None]]:
    """Code and advice of every problem."""
    return [(one.code, one.hint) for one in checked(root).diagnostics]


def retired(root: Path, name: str, successor: str | None) -> None:
    """Add *name* to the ids that ended."""
    path = root / RETIRED
    path.write_text(path.read_text("utf-8") + ENTRY.format(name, successor or "null"), "utf-8")


# -- marks that stay as they are written ------------------------------------------------------


TABLE = "| a | b |\n|---|---|\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("Text\n##Recap", "MD016", 2, 1),
        ("![A plot of it](media/my plot.svg)", "MD017", 1, 1),
        ("See [the lesson](lesson:nowhere", "MD017", 1, 5),
        ("> [this] (lesson:read-a-lap)", "MD017", 1, 3),
        ("See [this]\n(#idea-three-points)", "MD017", 1, 5),
        ("See [[read-a-lap]].", "MD017", 1, 6),
        ("| a | b |\n|---|\n| 1 | 2 |", "MD018", 2, 1),
        (f"{TABLE}| 1 | 2 | lost |", "MD018", 3, 9),
        (f"{TABLE}| 1 | $x|y$ |", "MD018", 3, 9),
        (f"- {TABLE}  | 1 | `x | y` |".replace("\n|", "\n  |"), "MD018", 3, 12),
        ("a | b\n--- | ---\n1 | 2 | 3", "MD018", 3, 7),
    ],
)
def test_a_mark_that_would_be_printed_is_an_error(
    text: str, code: str, line: int, column: int, tmp_path: Path
) -> None:
    one = only(checked(with_body(tmp_path, text)).diagnostics)
    assert (one.code, one.line - 33, one.column) == (code, line, column)


@pytest.mark.parametrize(
    "text",
    [
        "The interval [0, 1] (closed), a [word] (see lesson 2) and an #anchor or C##.",
        "#hash, \\##Recap, `##Recap`, `[a](b c)`, \\[a\\](b c) and $f[x](a b)$.",
        f"{TABLE}| 1 | `x \\| y` |\n| $x\\|y$ |\n|  | 2 |  ",
        "---\n\nA line of dashes - or -- more.",
    ],
)
def test_a_mark_that_means_itself_is_no_problem(text: str, tmp_path: Path) -> None:
    assert checked(with_body(tmp_path, text)).diagnostics == []


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("How long is $\\sqrt{2}$?", "$\\sqrt{2}$"),
        ("See [the lesson](lesson:read-a-lap).", "[the lesson](lesson:read-a-lap)"),
        ("Is it <b>now</b>?", "<b>"),
        ("<https://example.org/a>", "<https://example.org/a>"),
    ],
)
@pytest.mark.parametrize(
    ("file", "key"),
    [(QUIZ, "    prompt:"), (BRAKE_TRACE, "  answer:"), (PHASE, "title:"), (COURSE, "summary:")],
)
def test_a_field_takes_no_link_formula_or_html(
    text: str, got: str, file: str, key: str, tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    lines = (root / file).read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(key))
    lines[at] = f"{key} {text}"
    put(root / file, "\n".join([*lines, ""]))
    first = checked(root).diagnostics[0]
    assert (first.code, first.line, first.got) == ("MD019", at + 1, got)


@pytest.mark.parametrize(
    "text",
    [
        "I < 5 and v > 3, for $5 and $10, or $5 or$7: a[i] (see there).",
        "A `<b>` and `$x$` and `[a](b)`, *once* and **twice**.",
    ],
)
def test_a_field_takes_code_emphasis_and_single_signs(text: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, COURSE, ("Three lessons that hold", f"{text} Three lessons that hold"))
    edited(root, COURSE, ("summary: ", "summary: '"), ("can hold.", "can hold.'"))
    assert checked(root).diagnostics == []


# -- several slips at once ----------------------------------------------------------------------


def test_a_broken_front_matter_hides_nothing_of_its_lesson(tmp_path: Path) -> None:
    root = with_body(tmp_path, "[the one](lesson:nowhere-one)\n\n[the other](#nowhere)")
    edited(
        root,
        BRAKE_TRACE,
        ("minutes: 35", "minutes: 35 min"),
        ("[read-a-lap]", "[read-a-lab]"),
        ("[trail_brake]", "[trail_break]\nequipment: [kart]"),
    )
    assert [one[0] for one in found(root)] == [
        *("SCH001", "REF001", "REF001", "REF001", "LNK001", "LNK002")
    ]


@pytest.mark.parametrize("status", ["Authored", "[authored]"])
def test_a_body_is_read_whatever_its_status_says(status: str, tmp_path: Path) -> None:
    root = with_body(tmp_path, "[the one](lesson:nowhere)")
    edited(root, BRAKE_TRACE, ("status: authored", f"status: {status}"))
    assert len(found(root)) == 2
    assert found(root)[1][0] == "LNK001"


def test_a_broken_course_file_hides_no_wrong_name(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, COURSE, ("version: 1.1.0", "version: 1"))
    edited(root, BRAKE_TRACE, ("aliases:", "equipment: [kart]\naliases:"))
    edited(root, PHASE, ("part: drive", "part: dive"))
    assert {one[0] for one in found(root)} == {"SCH001", "REF001"}
    assert len(found(root)) == 3


def test_a_broken_source_hides_no_name_that_it_gets_wrong(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, "content/pathways/10-data-driver.yaml", ("title:", "titel:"))
    edited(root, "content/pathways/10-data-driver.yaml", ("phase: laps", "phase: lapps"))
    assert [one[0] for one in found(root)] == ["SCH003", "REF001"]


def test_a_broken_question_hides_no_other(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, QUIZ, ("        correct: true\n", ""))
    text = (root / QUIZ).read_text("utf-8")
    put(root / QUIZ, f"{text}{MORE_QUESTIONS}    tolerance: -1\n")
    assert [one[0] for one in found(root)] == ["QUZ004", "SCH007"]


# -- dates and the order ------------------------------------------------------------------------


def test_of_two_lessons_with_one_number_the_second_is_named(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    folder = (root / TYRE_WINDOW).parent
    folder.rename(folder.with_name("010-tyre-window"))
    one = only(checked(root).diagnostics)
    assert (one.code, one.severity, one.file) == (
        "SRC015",
        "warning",
        "content/phases/20-braking/10-brake-trace",
    )
    assert one.hint == "rename one of the two, such as to 20-brake-trace"


# -- code -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("def (:", 1, 5),
        ("a = 1\nb = (\n", 2, 5),
        ("  a = 1", 1, 2),
        ("a = 1\nreturn a", 2, 1),
        ("\n\nbé = 'x\n", 3, 6),
        ("if True:\n", 1, 9),
        ("from __future__ import teleport", 1, 1),
        ("-" * 200_000 + "1", 1, 1),
        ("a" + ".b" * 200_000, 1, 1),
        ("(" * 5_000, 1, 201),
    ],
)
def test_code_that_does_not_compile_has_a_place(source: str, line: int, column: int) -> None:
    wrong = find_python_fault(source)
    assert wrong is not None
    assert (wrong.line, wrong.column) == (line, column)
    assert wrong.message


@pytest.mark.parametrize("source", ["", "a = '\\d'", "1 is 1", "10 ** 10 ** 10", "exit(1)\n"])
def test_code_that_is_only_odd_compiles(source: str) -> None:
    assert find_python_fault(source) is None


@pytest.mark.parametrize(
    "text",
    [
        "```text\ndef (:\n```",
        "```console\n>>> def (:\n```",
        "```python\nprint(1)\n```\n\n```python expected\ndef (:\n```",
    ],
)
def test_what_enters_no_script_need_not_compile(text: str, tmp_path: Path) -> None:
    assert found(with_body(tmp_path, text)) == []


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("```python\ndef (:\n```", 1, 5),
        ("```py\na = 1\n\ndef (:\n```", 3, 5),
        ("> ```python\n> def (:\n> ```", 1, 7),
        ("- one\n\n  ```python3\n  def (:\n  ```", 3, 7),
        ("~~~python\né = 1; def (:\n~~~", 1, 8),
    ],
)
def test_a_faulty_block_is_reported_where_it_stands(
    text: str, line: int, column: int, tmp_path: Path
) -> None:
    root = with_body(tmp_path, "")
    begin = (root / BRAKE_TRACE).read_text("utf-8").count("\n") + 1
    root = with_body(tmp_path, text)
    (one,) = checked(root).diagnostics
    assert (one.code, one.line - begin, one.column) == ("MD013", line - 1, column)


def test_a_faulty_file_that_is_included_twice_is_reported_once(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    code = READ_A_LAP.replace("lesson.md", "code/slowest.py")
    put(root / code, "lap = [\n")
    edited(root, READ_A_LAP, ("## Exercise", "```python file=code/slowest.py\n```\n\n## Exercise"))
    assert found(root) == [("MD013", code, 1)]


# -- ids ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        BRAKE_TRACE,
        TYRE_WINDOW,
        "content/phases/20-braking/phase.yaml",
        "content/pathways/10-data-driver.yaml",
        "content/roles/10-data-engineer.yaml",
        "content/domains/10-lap-analysis.yaml",
        f"{LAP_KIT}/project.yaml",
    ],
)
@pytest.mark.parametrize("end", ["x", "-trase"])
def test_a_mistyped_id_is_the_only_problem(name: str, end: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    lines = (root / name).read_text("utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("id: "))
    lines[at] = lines[at].rstrip("\n") + f"{end}\n"
    put(root / name, "".join(lines))
    assert found(root) == [("IDS008", name, at + 1)]


def test_a_lesson_that_was_renamed_with_its_folder_needs_an_alias(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    folder = (root / TYRE_WINDOW).parent
    folder.rename(folder.with_name("20-warm-tyre"))
    moved = TYRE_WINDOW.replace("tyre-window", "warm-tyre")
    edited(root, moved, ("id: tyre-window", "id: warm-tyre"))
    assert ("IDS004", "name it in the aliases of its successor, or add it to " + RETIRED) in hints(
        root
    )


def test_a_concept_ends_by_way_of_the_retired_ids(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, CONCEPTS, ("id: late_apex", "id: apex_late"))
    edited(root, READ_A_LAP, ("[late_apex]", "[apex_late]"))
    missing = [hint for code, hint in hints(root) if code == "IDS004"]
    assert missing == [
        f"restore it, or add it to {RETIRED}: replacedBy names its successor, or is null"
    ]
    retired(root, "late_apex", "apex_late")
    assert main(["check", "--root", str(root), "--no-cache", "--accept-ids", "--strict"]) == 0
    assert build(Options(root, root / "site")).written


def test_a_concept_that_ends_is_not_the_old_address_of_a_lesson(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, CONCEPTS, ("id: late_apex", "id: apex_late"))
    edited(root, READ_A_LAP, ("[late_apex]", "[apex_late]"))
    retired(root, "late_apex", "read-a-lap")
    assert build(Options(root, root / "site")).written
    assert not (root / "site" / "lessons" / "late_apex").exists()


def test_a_name_that_ended_leads_to_its_successor(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, CONCEPTS, ("id: late_apex", "id: apex_late"))
    retired(root, "late_apex", "apex_late")
    assert ("REF001", "write apex_late: the concept was renamed") in hints(root)


def test_a_retired_concept_does_not_come_back(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    retired(root, "late_apex", None)
    assert found(root) == [("IDS005", CONCEPTS, 1)]


@pytest.mark.parametrize(
    ("successor", "codes"),
    [(None, ["IDS006"]), ("read-a-lap", ["IDS006"]), ("brake-trace", [])],
)
def test_an_alias_and_a_retired_id_agree(
    successor: str | None, codes: list[str], tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    retired(root, "brake-curve", successor)  # an alias of brake-trace
    problems = checked(root).diagnostics
    assert [one.code for one in problems] == codes
    assert all(one.file == BRAKE_TRACE and one.pointer == "/aliases/0" for one in problems)


def test_only_an_id_that_exists_can_be_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_course(tmp_path)
    for name, advice in (("brake-trase", 'did you mean "brake-trace"?'), ("qq", "an id is the")):
        assert main(["check", "--root", str(root), "--no-cache", "--only", name]) == 2
        said = capsys.readouterr().err
        assert "CFG011" in said
        assert advice in said


# -- files ----------------------------------------------------------------------------------


def test_a_second_spelling_of_a_picture_is_the_only_problem(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / SVG.replace("trace", "Trace"), (root / SVG).read_bytes())
    assert [code for code, _ in hints(root)] == ["SRC009"]
    edited(root, READ_A_LAP, ("(media/trace.svg)", "(media/Trace.svg)"))
    assert [code for code, _ in hints(root)] == ["SRC009"]


@pytest.mark.parametrize("name", [READ_A_LAP, QUIZ, SVG])
def test_a_link_is_told_and_not_missed(name: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    (root / name).rename(tmp_path / "elsewhere")
    (root / name).symlink_to(tmp_path / "elsewhere")
    assert [(code, file) for code, file, _ in found(root)] == [("SRC008", name)]


def test_a_translation_waits_for_its_language(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / READ_A_LAP.replace("lesson.md", "lesson.fr.md"), "Bonjour\n")
    ((code, hint),) = hints(root)
    assert code == "SRC006"
    assert str(hint).startswith("name fr in the languages of course.yaml")
    edited(root, COURSE, ("schemaVersion: 1\n", "schemaVersion: 1\nlanguages: [fr]\n"))
    assert [code for code, _ in hints(root)] == ["CFG012"]
    assert main(["check", "--strict", "--root", str(root)]) == 0
    edited(root, COURSE, ("languages: [fr]", "languages: [en]"))
    put(root / READ_A_LAP.replace("lesson.md", "lesson.fr.md"), None)
    assert hints(root) == []


# -- characters -----------------------------------------------------------------------------

TURNING = [0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069]


@pytest.mark.parametrize("number", TURNING, ids=hex)
def test_a_character_that_turns_the_direction_of_reading_is_refused(
    number: int, tmp_path: Path
) -> None:
    for place in ("title: Read {}a lap", 'title: "Read \\u{:04X}a lap"'):
        root = write_course(tmp_path / place[7])
        value: str | int = number if "\\u" in place else chr(number)
        edited(root, READ_A_LAP, ("title: Read a lap", place.format(value)))
        assert [code for code, _ in hints(root)] == ["SRC004"]
    root = with_body(tmp_path / "entity", f"A *gentle &#{number}; hand*.")
    assert [code for code, _ in hints(root)] == ["SRC004"]
    put(root / BRAKE_TRACE.replace("lesson.md", "code/a.py"), f"a = 1  # {chr(number)}\n")
    assert [code for code, _ in hints(root)].count("SRC004") == 2


@pytest.mark.parametrize("text", ["`&#x202E;` in code", "a\u200fb", "&#169; and &amp;#7;"])
def test_entities_and_marks_that_do_no_harm_are_allowed(text: str, tmp_path: Path) -> None:
    assert report_lines(checked(with_body(tmp_path, text)).diagnostics) == ""
