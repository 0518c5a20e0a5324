"""Hostile values: circles, huge numbers and any value in any field are named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.course.coursekit import (
    BRAKE_TRACE,
    TYRE_WINDOW,
    built,
    checked,
    codes,
    edited,
    put,
    write_course,
)


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
