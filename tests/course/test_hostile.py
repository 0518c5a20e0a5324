"""Hostile sources: a named problem or a correct build, never a trace, a hang or a half site."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from course.read import yamlsource
from tests.course.coursekit import (
    BRAKE_TRACE,
    LAP_KIT,
    QUIZ,
    READ_A_LAP,
    SVG,
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
    fine = data == b"{}" and name.endswith("en.yaml")  # then every word is the tool's own
    found = {one.file for one in report.diagnostics if one.severity == "error"}
    assert found == (set() if fine else {name})


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


# -- values ------------------------------------------------------------------------------------


def lesson(name: str, *, needs: str) -> str:
    """A planned lesson."""
    return (
        f"---\nid: {name}\ntitle: Lesson {name}\nstatus: planned\n"
        "summary: A lesson that exists for its place in the graph.\n"
        f"objectives: [Stand in a row of lessons.]\nprerequisites: [{needs}]\n---\n"
    )


def row(names: list[str], needs: list[str]) -> dict[str, str | bytes | None]:
    """A phase of planned lessons."""
    folder = "content/phases/20-braking"
    return {
        f"{folder}/{number}-{name}/lesson.md": lesson(name, needs=need)
        for number, (name, need) in enumerate(zip(names, needs, strict=True), 100)
    }


@pytest.mark.parametrize("length", [2, 50])
def test_a_circle_is_found_once(length: int, tmp_path: Path) -> None:
    names = [f"lesson-{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(length)]
    root = write_course(tmp_path, row(names, [*names[1:], names[0]]))
    found = [one for one in built(root).diagnostics if one.code == "REF002"]
    assert len(found) == 1
    assert found[0].message.count("→") == length


def test_a_row_of_many_lessons_is_no_circle(tmp_path: Path) -> None:
    names = [f"lesson-{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]
    root = write_course(tmp_path, row(names, ["read-a-lap", *names[:-1]]))
    assert "REF002" not in codes(checked(root))


def test_a_pathway_that_requires_itself(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(
        root,
        "content/pathways/10-data-driver.yaml",
        ("steps:\n", "requires: [data-driver]\nsteps:\n"),
    )
    assert codes(built(root)) == {"PTH004"}


def test_a_phase_that_requires_itself(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, "content/phases/20-braking/phase.yaml", ("[laps]", "[braking]"))
    assert codes(built(root)) == {"REF002"}


def test_a_huge_number_does_not_crash(tmp_path: Path) -> None:
    for text in ("9" * 5000, "1e400", "-0", "1.5", "0.1e99", "1" + "0" * 14):
        root = write_course(tmp_path / text[:9])
        edited(root, BRAKE_TRACE, ("minutes: 35", f"minutes: {text}"))
        assert codes(built(root)) <= {"SCH001", "SCH007"}


def as_yaml(value: Any) -> str:
    """*value* as JSON, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, "", " ", "x\ny", [], [[]], {}, {"": ""}])
@pytest.mark.parametrize("key", ["id", "title", "objectives", "check", "references", "concepts"])
def test_any_value_in_any_field_is_named(key: str, value: Any, tmp_path: Path) -> None:
    text = (Path(write_course(tmp_path)) / TYRE_WINDOW).read_text()
    kept = re.sub(rf"^{key}:.*\n(?:  .*\n)*", "", text, flags=re.MULTILINE)
    put(tmp_path / TYRE_WINDOW, kept.replace("---\n", f"---\n{key}: {as_yaml(value)}\n", 1))
    report = checked(tmp_path)
    assert {one.file for one in report.diagnostics} <= {TYRE_WINDOW}
    assert all(one.code[:3] in ("SCH", "IDS", "LES") for one in report.diagnostics)


# -- images ------------------------------------------------------------------------------------

SVG_TEXT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<SCRIPT/>",
        "<svg:script xmlns:svg='http://www.w3.org/2000/svg'>alert(1)</svg:script>",
        "<foreignObject><body/></foreignObject>",
        "<rect onclick='x()'/>",
        '<rect ONLOAD = "x()"/>',
        "<image href='https://evil.example/x.png'/>",
        "<use xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='//evil.example/x#y'/>",
        "<a href='javascript:alert(1)'><rect/></a>",
        "<a href='java&#115;cript:alert(1)'><rect/></a>",
        "<use href='other.svg#x'/>",
        "<style>@import 'https://evil.example/x.css';</style>",
        "<rect style='fill: url(https://evil.example/x)'/>",
        "<rect style='fill: URL( \"https://evil.example/x\" )'/>",
        "<animate attributeName='href' values='javascript:alert(1)'/>",
        "<set attributeName='onload' to='alert(1)'/>",
        "<image href='data:image/svg+xml;base64,AAAA'/>",
        "<iframe src='https://evil.example/'/>",
        "<rect style='background: image-set(\"https://evil.example/x\" 1x)'/>",
        "<style>a { background: \\75rl(https://evil.example/x) }</style>",
        "<handler type='application/ecmascript'>alert(1)</handler>",
        "<image\nhref\n=\n'https://evil.example/x.png'/>",
    ],
    ids=range(22),
)
def test_an_svg_that_could_act_is_refused(inside: str, tmp_path: Path) -> None:
    root = write_course(tmp_path, {SVG: SVG_TEXT.format(inside)})
    assert codes(built(root)) == {"SRC012"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an image",
        b"<svg/>",
        b'<svg viewBox="0 0 0 0"/>',
        b'<svg viewBox="0 0 1e999 5"/>',
        b'<svg viewBox="a b c d"/>',
        b'<svg viewBox="0 0 9 9">',
        '<svg viewBox="0 0 9 9"/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="UTF-7"?><svg viewBox="0 0 9 9"/>',
        b'<!DOCTYPE svg [<!ENTITY a "b">]><svg viewBox="0 0 9 9">&a;</svg>',
        b"\x89PNG\r\n\x1a\n",
        b"<svg " + b"a " * 100_000 + b"/>",
        b"<svg viewBox=" * 20_000,
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{"<g>" * 50_000}'.encode(),
        b'<?xml-stylesheet href="x.css"?><svg/>',
    ],
    ids=range(15),
)
def test_a_broken_image_is_refused(data: bytes, tmp_path: Path) -> None:
    assert codes(built(write_course(tmp_path, {SVG: data}))) & {"SRC011", "SRC012"}


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("suffix", ["png", "webp"])
@pytest.mark.parametrize("data", [b"", b"x" * 100, b"RIFF" + bytes(40), PNG, PNG + bytes(40)])
def test_a_broken_picture_is_refused(data: bytes, suffix: str, tmp_path: Path) -> None:
    name = READ_A_LAP.replace("lesson.md", f"media/x.{suffix}")
    root = write_course(tmp_path, {name: data})
    edited(root, READ_A_LAP, ("## Example", f"![A picture](media/x.{suffix})\n\n## Example"))
    assert codes(built(root)) == {"SRC011"}
