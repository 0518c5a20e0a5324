"""Hostile files: a named problem or a correct build, never a trace, a hang or a half site."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from course.read import yamlsource
from tests.course.coursekit import (
    LAP_KIT,
    QUIZ,
    READ_A_LAP,
    TYRE_WINDOW,
    Overlay,
    built,
    checked,
    codes,
    edited,
    put,
    write_course,
)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfe-\x00-\x00", "SRC001"),
        (b"---\nid: \xe9\n---\n", "SRC001"),
        (b"---\ntitle: \xed\xa0\x80\n---\n", "SRC001"),
        (b"\xef\xbb\xbf---\nid: tyre-window\n---\n", "SRC002"),
        (b"---\r\nid: tyre-window\r\n---\r\n", "SRC003"),
        (b"---\rid: tyre-window\r---\r", "SRC003"),
        (b"---\nid: tyre\x00window\n---\n", "SRC004"),
        ("---\nid: tyre\u2028window\n---\n".encode(), "SRC004"),
        (b"", "YML008"),
        (b"\n", "YML008"),
        (b"---", "YML008"),
        (b"---\n", "YML008"),
        (b"---\n---\n", "YML007"),
        (b"---\n---", "YML007"),
        (b"---\n\n---\n", "YML007"),
        (b"---\n# nothing\n---\n", "YML007"),
        (b"---\nnull\n---\n", "YML007"),
        (b"---\n- a\n- b\n---\n", "SCH001"),
        (b"---\nplain text\n---\n", "SCH001"),
        (b"---\nid: [\n---\n", "YML001"),
        (b"---\n" + b"x" * 2_000_000 + b"\n---\n", "SRC005"),
        (b"x" * 10_000_000, "SRC005"),
    ],
    ids=range(22),
)
def test_bytes_that_are_no_lesson(data: bytes, code: str, tmp_path: Path) -> None:
    root = write_course(tmp_path, {TYRE_WINDOW: data})
    report = built(root)
    assert codes(report) == {code}
    assert {one.file for one in report.diagnostics} == {TYRE_WINDOW}


@pytest.mark.parametrize(
    "name",
    [
        "content/course.yaml",
        "content/concepts.yaml",
        "content/retired.yaml",
        "content/phases/10-laps/phase.yaml",
        "content/pathways/10-data-driver.yaml",
        "content/roles/10-data-engineer.yaml",
        "content/domains/10-lap-analysis.yaml",
        f"{LAP_KIT}/project.yaml",
        "content/ui/en.yaml",
        QUIZ,
    ],
)
@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"{}", b"- 1\n- 2\n", b"a: b: c", b"text", b"null", b"{{{{", b"\0"],
)
def test_no_source_file_breaks_the_check(name: str, data: bytes, tmp_path: Path) -> None:
    report = checked(write_course(tmp_path, {name: data}))
    if data == b"[]" and name.endswith("retired.yaml"):
        assert codes(report) == {"IDS004"}  # an empty list is valid, but an id ended there
        return
    assert {one.file for one in report.diagnostics if one.severity == "error"} == {name}


def test_a_missing_word_is_named(tmp_path: Path) -> None:
    name = "content/ui/en.yaml"
    root = write_course(tmp_path)
    edited(root, name, ("\nsearch:", "\nserach:"))
    assert codes(built(root)) == {"CFG007"}


@pytest.mark.parametrize("data", [b"", b"\xff", b"\r\n", b"lesson", b"lesson a b c", b"\0"])
def test_no_lock_file_breaks_the_check(data: bytes, tmp_path: Path) -> None:
    report = checked(write_course(tmp_path, {"content/ids.lock": data}))
    assert codes(report) <= {"SRC001", "SRC003", "SRC004", "CFG006", "IDS009"}


def test_words_and_times_stay_text() -> None:
    source = (
        "a: no\nb: 1:30\nc: 010\nd: 2026-01-01\ne: 0x1F\nf: 1_000\ng: ~\nh: .inf\ni: NO\nj: =\n"
    )
    data, problems = yamlsource.parse(source, "x.yaml")
    assert not problems
    assert list(data.values()) == [
        "no",
        "1:30",
        "010",
        "2026-01-01",
        "0x1F",
        "1_000",
        "~",
        ".inf",
        "NO",
        "=",
    ]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BOMB, "YML004"),
        ("<<: &x {a: 1}\n", "YML004"),
        ("a: *x\n", "YML004"),
        ("a: !!python/object/apply:os.system [ls]\n", "YML005"),
        ("a: !ruby/object:Gem {}\n", "YML005"),
        ("%YAML 1.2\n---\na: 1\n", "YML006"),
        ("a: 1\n...\nb: 2\n", "YML001"),
        ("a: 1\n---\nb: 2\n", "YML006"),
        ("a: " + "[" * 100_000, "YML009"),
        ("[" * 100_000 + "]" * 100_000, "YML009"),
        ("{a: " * 100_000 + "1" + "}" * 100_000, "YML009"),
        ("- " * 100_000 + "1\n", "YML009"),
        ("".join(f"{'  ' * n}a:\n" for n in range(400)), "YML009"),
        ("".join(f"{' ' * n}-\n" for n in range(400)), "YML009"),
        ("? " * 10_000 + "a\n", "YML009"),
        ("? [a, b]\n: c\n", "YML007"),
        ("[a, b]: c\n", "YML007"),
        ("a: 'b\n", "YML001"),
        ("a: @b\n", "YML001"),
        ("a: `b`\n", "YML001"),
        ('a: "\\q"\n', "YML001"),
        ("a: b\n  c: d\n", "YML001"),
        ("a: 1\na: 1\n", "YML003"),
        ("\ta: 1\n", "YML002"),
    ],
    ids=range(24),
)
def test_yaml_outside_the_profile(text: str, code: str, tmp_path: Path) -> None:
    data, problems = yamlsource.parse(text, "x.yaml")
    assert {problem.code for problem in problems} == {code}
    assert problems[0].span is not None
    assert data is None or code == "YML003"
    report = built(write_course(tmp_path, {QUIZ: text}))
    assert code in codes(report)


def test_many_plain_keys_are_read(tmp_path: Path) -> None:
    text = "questions:\n" + "".join(f"  - id: q{n}\n" for n in range(20_000))
    assert codes(built(write_course(tmp_path, {QUIZ: text}))) >= {"SCH009"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    root = write_course(tmp_path / "course")
    secret = put_secret(tmp_path)
    (root / READ_A_LAP.replace("lesson.md", "code/secret.py")).symlink_to(secret)
    (root / "content/phases/30-linked").symlink_to(root / "content/phases/10-laps")
    (root / LAP_KIT / "tests").symlink_to(tmp_path)
    (root / "content/loop").symlink_to(root / "content")
    (root / READ_A_LAP.replace("lesson.md", "media/gone.svg")).symlink_to("nowhere.svg")
    report = built(root)
    assert codes(report) == {"SRC008"}
    assert len(report.diagnostics) == 5


def put_secret(folder: Path) -> Path:
    """A file outside the course that must never be published."""
    put(folder / "secret.py", 'TOKEN = "open sesame"\n')
    return folder / "secret.py"


def test_a_linked_lesson_file_is_not_followed(tmp_path: Path) -> None:
    root = write_course(tmp_path / "course")
    (root / TYRE_WINDOW).rename(tmp_path / "lesson.md")
    (root / TYRE_WINDOW).symlink_to(tmp_path / "lesson.md")
    assert "SRC008" in codes(built(root))


@pytest.mark.parametrize(
    "folder", ["content", LAP_KIT, "content/phases/10-laps/10-read-a-lap/code"]
)
def test_a_pipe_does_not_hang(folder: str, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    os.mkfifo(root / folder / "pipe.py")
    assert codes(built(root)) == {"SRC010"}


def test_a_pipe_in_the_place_of_a_lesson_does_not_hang(tmp_path: Path) -> None:
    root = write_course(tmp_path, {TYRE_WINDOW: None})
    os.mkfifo(root / TYRE_WINDOW)
    assert "SRC010" in codes(built(root))


@pytest.mark.parametrize(
    "name",
    [
        "con",
        "NUL.txt",
        "aux.py",
        "com1",
        "LPT9.log",
        "10-prn",
        "a b",
        "a:b",
        "a*b",
        "trailing.",
        "x" * 130,
        "é.py",
        "\u202egnp.py",
        "a\nb",
        "-rf",
        "a\\b",
    ],
)
def test_names_that_not_every_system_can_hold(name: str, tmp_path: Path) -> None:
    root = write_course(tmp_path, {f"{LAP_KIT}/starter/{name}": "x\n"})
    assert codes(built(root)) == {"SRC009"}


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / LAP_KIT / "starter" / os.fsdecode(b"\xff.py"), "x\n")
    assert codes(built(root)) == {"SRC009"}


def test_names_that_differ_only_in_case(tmp_path: Path) -> None:
    root = write_course(tmp_path, {f"{LAP_KIT}/starter/LAP.py": "x\n"})
    assert codes(built(root)) == {"SRC009"}


def test_ids_that_differ_only_in_case(tmp_path: Path) -> None:
    overlay: Overlay = {
        "content/phases/20-braking/30-Brake-Trace/lesson.md": "---\nid: Brake-Trace\n---\n"
    }
    assert "IDS001" in codes(built(write_course(tmp_path, overlay)))


def test_a_deep_tree_of_folders(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    deep = root / LAP_KIT / "starter" / "/".join(["d"] * 200)
    deep.mkdir(parents=True)
    (deep / "x.py").write_text("1\n")
    assert not built(root).errors


def test_drafts_and_dot_files_are_passed_over(tmp_path: Path) -> None:
    overlay = {
        "content/_draft/x.exe": b"\xff",
        "content/.DS_Store": b"\0",
        "content/phases/_later/lesson.md": b"\xff",
        "content/phases/20-braking/10-brake-trace/_notes.txt": b"\xff",
    }
    assert not built(write_course(tmp_path, overlay)).diagnostics
