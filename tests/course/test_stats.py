"""The figures of a course: sums by phase and part, and what nothing leads to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from course.build import Options, link_course
from course.stats import collect, stats
from tests.course.coursekit import BRAKE_TRACE, READ_A_LAP, edited, write_course

ORPHAN = """---
id: lonely
title: Lonely
status: planned
summary: A lesson that no pathway leads to, for the figures.
objectives: [Say that nothing leads here.]
minutes: 20
equipment: [simulator]
---
"""


def figures(course: Path) -> dict[str, Any]:
    return collect(link_course(Options(course, course / "site"))[1])


@pytest.fixture
def course(tmp_path: Path) -> Path:
    lonely = {"content/phases/20-braking/30-lonely/lesson.md": ORPHAN}
    return write_course(tmp_path, lonely)


def test_totals_are_the_sums_of_the_phases_and_of_the_parts(course: Path) -> None:
    found = figures(course)
    total = found["total"]
    for groups in (found["phases"], found["parts"]):
        for name in total:
            assert sum(counts[name] for counts in groups.values()) == total[name]
    assert (total["lessons"], total["authored"], total["planned"]) == (4, 2, 2)


def test_minutes_of_planned_lessons_are_estimates_apart(course: Path) -> None:
    before = figures(course)
    edited(course, BRAKE_TRACE, ("minutes: 35", "minutes: 45"))
    edited(course, "content/phases/20-braking/30-lonely/lesson.md", ("minutes: 20", "minutes: 50"))
    after = figures(course)
    assert after["total"]["minutes"] - before["total"]["minutes"] == 10
    assert after["total"]["plannedMinutes"] - before["total"]["plannedMinutes"] == 30


def test_words_and_questions_are_counted(course: Path) -> None:
    before = figures(course)
    edited(course, BRAKE_TRACE, ("The pedal writes", "One two three. The pedal writes"))
    assert figures(course)["total"]["words"] - before["total"]["words"] == 3
    text = (course / BRAKE_TRACE).with_name("quiz.yaml").read_text()
    assert before["phases"]["braking"]["questions"] == text.count("prompt:")


def test_orphans_concepts_and_equipment_are_named(course: Path) -> None:
    found = figures(course)
    assert found["orphans"] == ["lonely"]
    assert found["concepts"]["trail_brake"] == ["brake-trace"]
    assert found["equipment"]["simulator"] == 1


def test_a_lesson_with_errors_is_named_and_not_counted(course: Path) -> None:
    edited(course, READ_A_LAP, ("status: authored", "status: done"))
    found = figures(course)
    assert found["unreadable"] == [READ_A_LAP]
    assert found["total"]["lessons"] == 3


def test_the_text_is_a_table_and_the_json_holds_the_same(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = Options(course, course / "site")
    assert stats(options) == 0
    text = capsys.readouterr().out
    assert stats(options, form="json") == 0
    data = json.loads(capsys.readouterr().out)
    row = next(line for line in text.splitlines() if line.startswith("course "))
    total = data["total"]
    names = ("lessons", "authored", "planned", "minutes", "words", "questions")
    assert row.split()[1:] == [f"{total[name]:,}" for name in names]
    assert "lessons in no pathway\n  lonely\n" in text
    assert "planned lessons: about 20 minutes more" in text
    assert data["concepts"]["trail_brake"] == ["brake-trace"]


def test_an_empty_folder_has_figures_too(tmp_path: Path) -> None:
    assert set(figures(tmp_path)["total"].values()) == {0}
