"""Reports for people: the text form, its excerpts and the rule book on a terminal."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course import rules
from course.build import Report
from course.diagnostics import TOP
from course.reports import (
    FORMATS,
    WIDTH,
    Findings,
    UnknownRule,
    count_cells,
    explain,
    format_excerpt,
    reader,
    rule_list,
)
from tests.course.reportkit import ONE, QUIZ, SIZES, findings, many

SAMPLE = f"""\
{QUIZ}:14:9: error QUZ004 /questions/1/options
   12 |     options:
   13 |       - {{text: earlier, correct: true}}
   14 |       - {{text: later, correct: true}}
      |         ^^^^^^^^^^^
  expected exactly one correct option, got 2
  hint: set "kind: multiple", or remove "correct" from one option

1 error in 1 of 29 lessons; run "build.py explain QUZ004" for the rule
"""


def test_the_text_form_is_the_documented_sample() -> None:
    assert FORMATS["text"](findings([ONE])) == SAMPLE


def test_a_message_that_says_more_than_expected_and_got_comes_first() -> None:
    lines = FORMATS["text"](findings([replace(ONE, message="two are right")])).split("\n")
    assert lines[1] == "  two are right"
    assert lines[6] == "  expected exactly one correct option, got 2"


def test_a_clean_course_is_one_line() -> None:
    assert FORMATS["text"](findings([])) == "29 lessons checked, no problems\n"


@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("limit", [50, None])
def test_text_prints_the_first_problems_and_counts_the_rest(number: int, limit: int | None) -> None:
    text = FORMATS["text"](findings(many(number), limit=limit))
    shown = number if limit is None else min(number, limit)
    assert text.count(": error QUZ004 ") == shown
    rest = f"{number - shown} more not shown; --all prints them"
    assert (rest in text) == (number > shown)


def test_the_last_line_counts_files_when_a_problem_is_in_no_lesson() -> None:
    found = [replace(ONE, file="content/a.yaml", code="QUZ009", severity="warning")]
    found += [*many(1), replace(ONE, code="QUZ005")]
    last = FORMATS["text"](findings(found)).split("\n")[-2]
    assert last == (
        '2 errors, 1 warning in 2 of 30 files; run "build.py explain QUZ004" for the rule'
    )


def test_a_problem_of_the_whole_file_and_one_without_source_have_no_excerpt() -> None:
    whole = replace(ONE, line=TOP[0], column=TOP[1], end_line=TOP[2], end_column=TOP[3])
    assert " | " not in FORMATS["text"](findings([whole]))
    assert " | " not in FORMATS["text"](findings([replace(ONE, file="gone.yaml")]))


def test_colour_is_only_there_when_asked_for_and_changes_no_letter() -> None:
    plain, coloured = (FORMATS["text"](findings([ONE], colour=c)) for c in (False, True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert coloured != plain


def test_a_terminal_never_gets_control_characters_from_the_sources() -> None:
    bad = replace(ONE, file="a\x1b]0;x\x07.md", message="\x1b[2J", got="\u202ex", hint="a\nb")
    text = FORMATS["text"](Findings(Report([bad]), lambda _: ["\x1b"] * 14))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\x1b[2J" in text
    assert "hint: a\\nb" in text


def marked(rows: list[str], at: str) -> bool:
    """Whether the first mark of an excerpt stands under the character *at*."""
    columns: list[str] = []
    for char in rows[-2]:
        if char == "\u0301":
            columns[-1] += char
        else:
            columns += [char, ""] if char == "日" else [char]
    return columns[rows[-1].index("^")] == at


@example("a" * 200, "")
@example("日" * 100, "b" * 200)
@given(st.text("ab \t日\u0301\x1b", max_size=300), st.text("ab\t日", max_size=300))
def test_the_mark_stands_under_its_character_and_lines_keep_their_width(
    before: str, after: str
) -> None:
    before = f"a{before}"
    rows = format_excerpt([f"{before}X{after}"], 1, len(before) + 1, len(before) + 2)
    assert marked(rows, "X")
    assert all(len(count_cells(row)) <= WIDTH + len("    1 | ") + 2 for row in rows)


def test_a_tab_reaches_to_the_next_stop_and_a_wide_character_takes_two_columns() -> None:
    assert count_cells("a\tb日e\u0301") == ["a", " ", " ", " ", "b", "日", "", "e\u0301"]


def test_a_problem_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    text = FORMATS["text"](findings([replace(ONE, line=13, end_line=14, end_column=3)]))
    assert f"\n      |         {'^' * len('{text: earlier, correct: true}')}\n" in text


def test_a_mark_ends_with_its_line_or_where_a_long_line_is_cut() -> None:
    assert format_excerpt(["ab  "], 1, 1, None)[-1] == "      | ^^"
    assert format_excerpt(["x" * 5000], 1, 4000, 4900)[-1].count("^") < WIDTH
    assert format_excerpt(["ab"], 1, 9, 9)[-1] == "      |   ^"
    assert format_excerpt(["ab"], 2, 1, 1) == []
    assert format_excerpt(["x" * 200], 1, 300, 301)[-1].endswith(" ^")


def test_the_lines_of_links_devices_large_and_missing_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_bytes(b"one\ntw\xff\x0b\n")
    (tmp_path / "large.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (tmp_path / "link.md").symlink_to(tmp_path / "good.md")
    os.mkfifo(tmp_path / "pipe.md")
    read = reader(tmp_path)
    assert read("good.md") == ["one", "tw\ufffd\x0b", ""]
    assert [read(f"{name}.md") for name in ("large", "link", "pipe", "none")] == [None] * 4


def test_explain_shows_rule_reason_and_both_examples() -> None:
    rule = rules.book()["QUZ004"]
    text = explain("quz004")
    assert text.startswith(f"QUZ004 (error): {rule.title}\n\n{rule.text}\n\nWrong:\n\n    ")
    assert all(f"    {line}".rstrip() in text for line in f"{rule.bad}\n{rule.good}".split("\n"))


def test_an_unknown_code_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownRule, match=r'no rule "QUZ04"; did you mean "QUZ004"\?'):
        explain("QUZ04")
    with pytest.raises(UnknownRule, match=r'^there is no rule "zebra"$'):
        explain("zebra")


def test_the_rule_list_names_every_rule_with_its_severity() -> None:
    lines = [line.split(None, 2) for line in rule_list().split("\n") if line]
    assert lines == [[rule.code, rule.severity, rule.title] for rule in rules.book().values()]
