"""Hostile sources of a course: a named problem, or a page on which they are harmless."""

import tomllib
from pathlib import Path
from typing import Final

import pytest
from pydantic import Field

from tests.course.coursekit import BRAKE_TRACE, built, codes, put, with_body, write_course
from tests.course.sitekit import Page
from tests.hostile.cases import FOLDER, HERE, Strict, Text, encode


class Value(Strict):
    """A value of ``each`` with an outcome of its own."""

    put: Text
    codes: list[str]


class Case(Strict):
    """Sources that differ in one place, and the problems that a build finds."""

    name: str
    files: list[str] = Field([], description="each of these in turn has the content ``put``")
    put: Text = HERE
    body: Text | None = Field(None, description="comes at the end of a lesson's text")
    each: dict[str, Text | Value] = Field(description=f"what {HERE} stands for, by name")
    codes: list[str] | None = Field(None, description="exactly these")
    among: list[str] | None = Field(None, description="some of these, or none")
    within: list[str] | None = Field(None, description="at least one of these")


class Trial(Strict):
    """One hostile course."""

    file: str
    """Empty: a lesson's text."""
    content: bytes
    case: Case
    codes: list[str] | None


def trials() -> dict[str, Trial]:
    read = tomllib.loads((FOLDER / "course.toml").read_text())["case"]
    found = {}
    for case in map(Case.model_validate, read):
        for name, value in case.each.items():
            chosen = encode(value.put if isinstance(value, Value) else value)
            content = encode(case.put if case.body is None else case.body)
            content = content.replace(HERE.encode(), chosen)
            exact = value.codes if isinstance(value, Value) else case.codes
            for file in case.files or [""]:
                named = file.replace(HERE, chosen.decode(errors="replace"))
                label = f"{case.name}: {name} {Path(file).name}".strip()
                found[label] = Trial(file=named, content=content, case=case, codes=exact)
    return found


TRIALS: Final = trials()


@pytest.mark.parametrize("name", TRIALS)
def test_a_hostile_source_is_named_or_harmless(name: str, tmp_path: Path) -> None:
    trial = TRIALS[name]
    if trial.file:
        root = write_course(tmp_path)
        put(root / trial.file, trial.content)
    else:
        root = with_body(tmp_path, trial.content.decode())
    report = built(root)
    found = codes(report)
    if trial.codes is not None:
        assert found == set(trial.codes)
    if trial.case.among is not None:
        assert found <= set(trial.case.among)
    if trial.case.within is not None:
        assert found & set(trial.case.within)
    if report.written:
        page = root / "site" / "lessons" / "brake-trace" / "index.html"
        assert Page(page.read_text()).harmful() == []
    else:
        where = {one.file for one in report.diagnostics if one.severity == "error"}
        assert where == {trial.file or BRAKE_TRACE}
