"""Reports for machines: JSON, annotations, SARIF and JUnit, with odd texts and at their limits."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pyromark
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course import rules
from course.build import Report
from course.diagnostics import Diagnostic, shorten
from course.reports import FORMATS, Findings, job_summary, list_sentences
from tests.course import schemakit
from tests.course.reportkit import ONE, QUIZ, SEVERITY, SIZES, findings, many

SARIF = json.loads((Path(__file__).parent / "sarif-subset.schema.json").read_text("utf-8"))
ODD = "%:,|`\r\n\0\x1b\x85\u2028\u202e\ufffe<&]\\\"'"
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from(ODD), max_size=120)


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them: name, properties, message."""

    def plain(part: str) -> str:
        for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            part = part.replace(code, char)
        return part

    found = []
    for line in text.removesuffix("\n").split("\n") if text else []:
        match = re.fullmatch(r"::(\w+) ([^:]*)::([^\r]*)", line)
        assert match, line
        properties = dict(part.split("=", 1) for part in match[2].split(","))
        found.append((match[1], {k: plain(v) for k, v in properties.items()}, plain(match[3])))
    return found


@pytest.mark.parametrize("number", SIZES)
def test_json_holds_every_problem_and_follows_its_schema(number: int) -> None:
    found = many(number)
    data = json.loads(FORMATS["json"](findings(found)))
    schemakit.validator("diagnostics.v1").validate(data)
    assert data["diagnostics"] == [one.as_json() for one in found]
    assert data["summary"] == {"errors": number, "warnings": 0, "infos": 0, "files": 29}


@pytest.mark.parametrize("severity", SEVERITY)
@pytest.mark.parametrize("number", [*SIZES, 10, 11])
def test_github_shows_ten_of_a_type_and_the_tenth_counts_the_others(
    number: int, severity: str
) -> None:
    shown = commands(FORMATS["github"](findings(many(number, severity))))
    assert len(shown) == min(10, number)
    assert {name for name, _, _ in shown} <= {"notice" if severity == "info" else severity}
    counted = [index for index, (_, _, message) in enumerate(shown) if "more" in message]
    assert counted == ([9] if number > 10 else [])
    if counted:
        assert f"(and {number - 10} more {severity}" in shown[9][2]


def test_github_shows_problems_in_changed_files_first() -> None:
    found = [*many(20), replace(ONE, file="content/z.yaml")]
    shown = commands(FORMATS["github"](findings(found, changed=frozenset({"content/z.yaml"}))))
    assert [place["file"] for _, place, _ in shown] == ["content/z.yaml", *[QUIZ] * 9]


def test_github_gets_place_and_title_and_no_columns_for_several_lines() -> None:
    wide = replace(ONE, file="a,b:c%.md", end_line=15)
    (_, one, message), (_, two, _) = commands(FORMATS["github"](findings([ONE, wide])))
    assert one == {
        "file": QUIZ,
        "line": "14",
        "endLine": "14",
        "col": "9",
        "endColumn": "20",
        "title": f"QUZ004 {rules.book()['QUZ004'].title}",
    }
    assert message == f"{ONE.message}\nhint: {ONE.hint}"
    assert two["file"] == "a,b:c%.md"
    assert set(two) == {"file", "line", "endLine", "title"}


def rows_of(table: str) -> list[list[str]]:
    """The cells of each body row of the table in a job summary, as a reader sees them."""
    page = pyromark.html(table, options=pyromark.Options.ENABLE_TABLES)
    rows = (
        re.findall(r"<tr>(.*?)</tr>", page.split("<tbody>")[1], re.S) if "<tbody>" in page else []
    )
    return [re.findall(r"<td>(.*?)</td>", row, re.S) for row in rows]


@pytest.mark.parametrize("number", SIZES)
def test_the_job_summary_has_a_row_for_every_problem(number: int) -> None:
    table = job_summary(findings(many(number)))
    assert "29 lessons (7 authored, 22 planned), 29 files: " in table
    assert [len(row) for row in rows_of(table)] == [4] * number


def test_the_job_summary_shows_markup_as_it_was_written() -> None:
    odd = replace(ONE, message="a | b `c` <b> \\| *d* [e](f) &amp;\n| x", hint=None, got=None)
    table = job_summary(findings([replace(odd, expected=None)]))
    ((_, _, _, problem),) = rows_of(table)
    assert problem == "a | b `c` &lt;b&gt; \\| *d* [e](f) &amp;amp; | x"


def test_the_job_summary_keeps_to_its_limit_and_says_what_is_missing() -> None:
    found = [replace(one, message="é" * 2000) for one in many(400)]
    table = job_summary(findings(found))
    assert 1024 * 1024 - 5000 < len(table.encode()) <= 1024 * 1024
    kept = table.count("| error |")
    assert f"\n\n{400 - kept} more not shown" in table


@pytest.mark.parametrize("number", SIZES)
def test_sarif_is_valid_and_its_rules_are_those_that_occur(number: int) -> None:
    found = [*many(number), *many(number, "info")]
    data = json.loads(FORMATS["sarif"](findings(found)))
    checker = jsonschema.Draft202012Validator(SARIF)
    checker.check_schema(SARIF)
    checker.validate(data)
    (run,) = data["runs"]
    listed = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in listed] == (["PTH002", "QUZ004"] if number else [])
    assert all(listed[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    levels = [one["level"] for one in run["results"]]
    assert levels == ["error"] * number + ["note"] * number


def prints(found: Sequence[Diagnostic], lines: list[str]) -> list[str]:
    text = FORMATS["sarif"](Findings(Report(list(found)), lambda _: lines))
    results = json.loads(text)["runs"][0]["results"]
    return [one["partialFingerprints"]["primaryLocationLineHash"] for one in results]


def test_a_moved_or_indented_line_keeps_its_fingerprint_and_equal_lines_are_counted() -> None:
    (before,) = prints([replace(ONE, line=2)], ["", "- {text:  later}"])
    (after,) = prints([replace(ONE, line=3)], ["", "", "    - {text: later} "])
    assert before == after
    twice = prints([replace(ONE, line=1), replace(ONE, line=2)], ["- {text: later}"] * 2)
    assert twice == [before, before.replace(":1", ":2")]
    others = [replace(ONE, line=1, code="QUZ005"), replace(ONE, line=1, pointer="/questions/2")]
    assert len({before, *prints(others, ["- {text: later}"])}) == 3


def test_sarif_files_are_relative_and_percent_encoded() -> None:
    data = json.loads(FORMATS["sarif"](findings([replace(ONE, file="content/a b:é.md")])))
    place = data["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "content/a%20b%3A%C3%A9.md",
        "uriBaseId": "%SRCROOT%",
    }


@pytest.mark.parametrize("number", SIZES)
def test_junit_has_a_suite_for_each_family_and_a_case_for_each_file(number: int) -> None:
    top = ElementTree.fromstring(FORMATS["junit"](findings(many(number))))
    families = {code[:-3] for code in rules.book()}
    assert {suite.get("name") for suite in top} == families
    assert {len(suite) for suite in top} == {29}
    assert top.get("tests") == str(29 * len(families))
    failed = [case.get("name") for case in top.iter("testcase") if case.find("failure") is not None]
    assert failed == ([QUIZ] if number else [])
    assert top.get("failures") == str(len(failed))
    body = top.findtext(".//failure") or ""
    assert body.count(": error QUZ004 ") == number


@pytest.mark.parametrize(
    ("severity", "strict", "fails"),
    [
        ("error", False, True),
        ("warning", False, False),
        ("warning", True, True),
        ("info", False, False),
        ("info", True, False),
    ],
)
def test_a_junit_case_fails_exactly_when_the_check_does(
    severity: str, strict: bool, fails: bool
) -> None:
    report = FORMATS["junit"](findings(many(1, severity), strict=strict))
    top = ElementTree.fromstring(report)
    assert (top.find(".//failure") is not None) == fails
    assert (top.find(".//system-out") is not None) == (not fails)


def odd(texts: Sequence[str]) -> Diagnostic:
    """A problem with *texts* as file, message, pointer, expected, got and hint."""
    file, message, pointer, expected, got, hint = texts
    wild = replace(ONE, file=file or "x", message=message or "x", expected=expected)
    return replace(wild, pointer=f"/{pointer.replace('~', '~0')}", got=shorten(got), hint=hint)


@example([odd([f"%0A%2C{ODD}" * 9] * 6)] * 2)
@given(st.lists(st.lists(TEXT, min_size=6, max_size=6).map(odd), max_size=3))
def test_no_text_breaks_a_format(found: list[Diagnostic]) -> None:
    whole = findings(found)
    texts = {name: form(whole) for name, form in FORMATS.items()}
    for text in texts.values():
        text.encode()
    schemakit.validator("diagnostics.v1").validate(json.loads(texts["json"]))
    jsonschema.Draft202012Validator(SARIF).validate(json.loads(texts["sarif"]))
    assert [(place["file"], message) for _, place, message in commands(texts["github"])] == [
        (one.file, "\n".join(list_sentences(one))) for one in found
    ]
    suite = ElementTree.fromstring(texts["junit"])[0]
    assert len(suite) == len({*whole.report.sources, *(one.file for one in found)})
    assert [len(row) for row in rows_of(job_summary(whole))] == [4] * len(found)
