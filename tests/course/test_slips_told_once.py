"""One slip of an author is one problem, which names the culprit and what to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from course.build import build
from course.cli import main
from course.options import Options
from course.read.code import python_fault
from tests.course.coursekit import (
    BRAKE_TRACE,
    LAP_KIT,
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

ROOT = Path(__file__).resolve().parents[2]
COURSE = "content/course.yaml"
CONCEPTS = "content/concepts.yaml"
RETIRED = "content/retired.yaml"
ENTRY = "\n- {{id: {}, replacedBy: {}, since: 1.2.0, reason: It has a better name now.}}\n"


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
    wrong = python_fault(source)
    assert wrong is not None
    assert (wrong.line, wrong.column) == (line, column)
    assert wrong.message


@pytest.mark.parametrize("source", ["", "a = '\\d'", "1 is 1", "10 ** 10 ** 10", "exit(1)\n"])
def test_code_that_is_only_odd_compiles(source: str) -> None:
    assert python_fault(source) is None


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


def test_every_script_of_the_course_compiles(tmp_path: Path) -> None:
    assert build(Options(ROOT, tmp_path / "site")).written
    scripts = sorted((tmp_path / "site" / "downloads").glob("*.py"))
    assert len(scripts) > 5
    assert [path.name for path in scripts if python_fault(path.read_text("utf-8"))] == []


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


# -- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "new", "pointer"),
    [
        (READ_A_LAP, "minutes: 20", "minutes: 20.0", "/minutes"),
        (READ_A_LAP, "minutes: 20", "minutes: 2.0e1", "/minutes"),
        (COURSE, "schemaVersion: 1", "schemaVersion: 1.0", "/schemaVersion"),
        (
            COURSE,
            "schemaVersion: 1",
            "schemaVersion: 1\nlimits: {pageKiB: 99.0}",
            "/limits/pageKiB",
        ),
        (QUIZ, "objective: 1", "objective: 1.0", "/questions/0/objective"),
    ],
)
def test_a_whole_number_is_written_as_one(
    name: str, old: str, new: str, pointer: str, tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    text = (root / name).read_text("utf-8")
    put(root / name, text.replace(old, new, 1))
    (one,) = checked(root).diagnostics
    assert (one.code, one.file, one.pointer) == ("SCH001", name, pointer)
    assert one.expected == "a whole number"


@pytest.mark.parametrize(
    ("name", "old", "new", "code", "hint"),
    [
        (COURSE, "version: 1.1.0", "version: 1.0", "SCH001", "write three numbers, such as 1.2.0"),
        (
            COURSE,
            "updated: 2026-11-20",
            "updated: 2026-13-40",
            "SCH005",
            "write a day that exists, as YYYY-MM-DD",
        ),
        (READ_A_LAP, "objectives:", "objetives:", "SCH003", 'did you mean "objectives"?'),
        (READ_A_LAP, "minutes:", "minuts:", "SCH003", 'did you mean "minutes"?'),
        (READ_A_LAP, "status:", "statis:", "SCH003", 'did you mean "status"?'),
        (
            QUIZ,
            "questions:\n",
            "",
            "SCH001",
            "begin the file with questions: and indent the list below it",
        ),
    ],
)
def test_the_advice_is_what_to_type(
    name: str, old: str, new: str, code: str, hint: str, tmp_path: Path
) -> None:
    root = write_course(tmp_path)
    edited(root, name, (old, new))
    assert hints(root) == [(code, hint)]


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
