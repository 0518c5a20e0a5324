"""Hostile sources: a named problem or a correct build, never a trace, a hang or a half site."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from course import yamlsource
from tests.course.coursekit import (
    BRAKE_TRACE,
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


def test_an_error_behind_carriage_returns_is_told() -> None:
    """YAML counts them as lines."""
    _, problems = yamlsource.parse("a: x" + "\r" * 9 + ":\r\r\nd for a\n", "quiz.yaml")
    assert [problem.code for problem in problems] == ["YML001"]


def test_many_plain_keys_are_read(tmp_path: Path) -> None:
    text = "questions:\n" + "".join(f"  - id: q{n}\n" for n in range(5_000))
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


def test_a_pipe_in_the_place_of_a_lesson_does_not_hang(tmp_path: Path) -> None:
    root = write_course(tmp_path, {TYRE_WINDOW: None})
    os.mkfifo(root / TYRE_WINDOW)
    assert "SRC010" in codes(built(root))


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    put(root / LAP_KIT / "starter" / os.fsdecode(b"\xff.py"), "x\n")
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


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("suffix", ["png", "webp"])
@pytest.mark.parametrize("data", [b"", b"x" * 100, b"RIFF" + bytes(40), PNG, PNG + bytes(40)])
def test_a_broken_picture_is_refused(data: bytes, suffix: str, tmp_path: Path) -> None:
    name = READ_A_LAP.replace("lesson.md", f"media/x.{suffix}")
    root = write_course(tmp_path, {name: data})
    edited(root, READ_A_LAP, ("## Example", f"![A picture](media/x.{suffix})\n\n## Example"))
    assert codes(built(root)) == {"SRC011"}
