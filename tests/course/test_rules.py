"""The rule book: every rule has a course that breaks it, and is found there and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from course import rules
from course.build import Options, build
from course.checking import accept_ids, deep_problems
from course.cli import main
from course.program import command
from course.publish.lesson import LessonPages
from course.publish.tree import Refusal
from tests.course.coursekit import (
    BASE,
    READ_A_LAP,
    RULES,
    TYRE_WINDOW,
    checked,
    edited,
    report_lines,
    write_case,
    write_course,
)

CASES = sorted(path for path in RULES.iterdir() if path.name[0] not in "_.")
CODE = re.compile(r"[\"']((?:A11|[A-Z]{3}|MD)[0-9]{3})[\"']")
# Rules that sources cannot break: the host, the templates or the network must.
ELSEWHERE = {"CFG003", "CFG004", "CFG005", "CFG009", "CFG010", "CFG011", "LES003", "LNK007"}
ELSEWHERE |= {"OUT001", "OUT002", "OUT003", "OUT004", "OUT007"}
ELSEWHERE |= {"RUN001", "RUN002", "RUN003", "RUN004", "RUN005"}
PACKAGE = Path(rules.__file__).parents[1]


# -- the book -------------------------------------------------------------------------------


def test_every_rule_has_a_course_that_breaks_it() -> None:
    assert {case.name for case in CASES} | ELSEWHERE == set(rules.book())
    assert not {case.name for case in CASES} & ELSEWHERE


def test_every_code_in_the_program_is_in_the_book() -> None:
    emitted = {code for path in PACKAGE.rglob("*.py") for code in CODE.findall(path.read_text())}
    assert emitted == set(rules.book())


def test_a_rule_explains_itself() -> None:
    for code, rule in rules.book().items():
        assert rule.severity in ("error", "warning", "info"), code
        assert 8 <= len(rule.title) <= 72, code
        assert not rule.title.endswith("."), code
        assert 50 <= len(rule.text) <= 700, code
        assert rule.text.endswith("."), code
        assert len(rule.bad) > 3 < len(rule.good), code
        assert rule.bad != rule.good, code


def test_the_small_course_keeps_every_rule(tmp_path: Path) -> None:
    report = checked(write_course(tmp_path))
    assert report_lines(report.diagnostics) == ""
    assert (report.lessons, report.authored) == (3, 2)


# -- one course for each rule ---------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exactly_this_rule_is_broken(case: Path, tmp_path: Path) -> None:
    report = checked(write_case(case, tmp_path))
    assert {one.code for one in report.diagnostics} == {case.name}
    expected = (case / "expect.txt").read_text("utf-8").replace("python build.py", command())
    assert report_lines(report.diagnostics) == expected
    for one in report.diagnostics:
        assert one.severity == rules.book()[case.name].severity
        assert one.hint
        assert (one.line, one.column) <= (one.end_line, one.end_column)


def test_every_problem_is_found_at_once(tmp_path: Path) -> None:
    root = tmp_path
    for code in ("LES018", "QUZ004", "REF001", "PRJ003", "DOM003", "CFG006", "SRC012"):
        write_case(RULES / code, tmp_path / code)
    root = write_course(tmp_path / "all")
    for code in ("LES018", "QUZ004", "REF001", "PRJ003", "DOM003", "CFG006", "SRC012"):
        for path in (tmp_path / code).rglob("*"):
            name = path.relative_to(tmp_path / code)
            if path.is_file() and path.read_bytes() != _plain(name):
                (root / name).write_bytes(path.read_bytes())
    codes = [one.code for one in checked(root).diagnostics]
    assert sorted(codes) == ["CFG006", "DOM003", "LES018", "PRJ003", "QUZ004", "REF001", "SRC012"]


def _plain(name: Path) -> bytes | None:
    path = BASE / name
    return path.read_bytes() if path.is_file() else None


def test_strict_fails_on_a_warning(tmp_path: Path) -> None:
    root = write_case(RULES / "REF005", tmp_path)
    arguments = ["check", "--root", str(root), "--no-cache"]
    assert main(arguments) == 0
    assert main([*arguments, "--strict"]) == 1


# -- follow-up errors -----------------------------------------------------------------------


class Broken(NamedTuple):
    """A source that cannot be read, and the only thing that may be said about it."""

    name: str
    old: str
    code: str


@pytest.mark.parametrize(
    "broken",
    [
        Broken("content/course.yaml", "parts:", "SCH003"),
        Broken("content/concepts.yaml", "  title: Late apex", "SCH003"),
        Broken("content/retired.yaml", "  reason:", "SCH003"),
        Broken("content/phases/10-laps/phase.yaml", "title:", "SCH003"),
        Broken("content/pathways/10-data-driver.yaml", "title:", "SCH003"),
        Broken("content/roles/10-data-engineer.yaml", "headline:", "SCH003"),
        Broken("content/domains/10-lap-analysis.yaml", "title:", "SCH003"),
        Broken("content/projects/lap-kit/project.yaml", "summary:", "SCH003"),
        Broken(READ_A_LAP, "title: Read a lap", "SCH003"),
        Broken(TYRE_WINDOW, "title:", "SCH003"),
    ],
    ids=lambda broken: broken.name,
)
def test_an_unreadable_source_is_not_blamed_on_others(broken: Broken, tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, broken.name, (broken.old, broken.old.replace(":", "x:")))
    report = checked(root)
    assert {one.file for one in report.diagnostics} == {broken.name}
    assert {one.code for one in report.diagnostics} <= {broken.code, "SCH002"}


# -- what sources cannot break --------------------------------------------------------------


FAULTS = {
    "OUT001": '<a href="../nowhere/">x</a>',
    "OUT002": '<a href="#nowhere">x</a>',
    "OUT003": '<p id="twice"></p><p id="twice"></p>',
    "OUT004": '<a href="/absolute">x</a>',
    "LES003": "",
}


@pytest.mark.parametrize("code", FAULTS)
def test_a_faulty_template_stops_the_build(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = LessonPages.render_page

    def faulty(self: LessonPages, resource: dict[str, Any], *more: Any) -> str:
        html = lesson(self, resource, *more)
        if resource["id"] != "tyre-window":
            return html
        return str(html) + FAULTS[code] if FAULTS[code] else ""

    monkeypatch.setattr(LessonPages, "render_page", faulty)
    root = write_course(tmp_path)
    report = build(Options(root, root / "site"))
    assert [one.code for one in report.diagnostics] == [code]
    assert report.diagnostics[0].hint
    assert report.diagnostics[0].file.endswith(("tyre-window/index.html", "tyre-window/lesson.md"))
    assert not (root / "site").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_deep_check_finds_open_tags_with_any_number_of_processes(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = LessonPages.render_page

    def faulty(self: LessonPages, *more: Any) -> str:
        return str(lesson(self, *more)) + "<p><div>"

    monkeypatch.setattr(LessonPages, "render_page", faulty)
    root = write_course(tmp_path)
    options = Options(root, root / "site", jobs=jobs)
    found = deep_problems(options)
    assert {one.code for one in found} == {"OUT007"}
    assert len({one.file for one in found}) == 3


def test_ids_are_not_accepted_from_a_broken_course(tmp_path: Path) -> None:
    root = write_case(RULES / "QUZ004", tmp_path)
    with pytest.raises(Refusal, match="QUZ004") as refused:
        accept_ids(Options(root, root / "site"))
    assert refused.value.code == "CFG010"


def test_a_bad_source_date_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    root = write_course(tmp_path)
    assert main(["build", "--root", str(root), "--no-cache"]) == 2
    assert "CFG009" in capsys.readouterr().err
    assert not (root / "site").exists()
