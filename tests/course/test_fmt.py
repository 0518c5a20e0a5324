"""The canonical form of YAML sources: equal data, every comment, and the same text twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course import yamlsource
from course.fmt import SOURCES, LeftAloneError, fmt, format_text, run
from course.read import schema
from tests.course.coursekit import BRAKE_TRACE, write_course

# -- single forms -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # the order of the keys is that of the schema; unknown ones come last, as they came
        ("title: T\nid: one\n", "id: one\ntitle: T\n"),
        ("zzz: 1\nyyy: 2\nid: one\n", "id: one\nzzz: 1\nyyy: 2\n"),
        ("check: {answer: A, prompt: P}\n", "check: {prompt: P, answer: A}\n"),
        # quotes only where the strict profile needs them
        ('title: "plain"\n', "title: plain\n"),
        ("title: True\n", "title: True\n"),
        ('title: "?x"\n', 'title: "?x"\n'),
        ("title: 2026-13-45\n", "title: 2026-13-45\n"),
        ("title: 'it''s'\n", "title: it's\n"),
        ('title: "no"\n', "title: no\n"),
        ('title: "1:30"\n', "title: 1:30\n"),
        ('title: "2026-01-01"\n', "title: 2026-01-01\n"),
        ('title: "true"\n', 'title: "true"\n'),
        ("title: '12'\n", 'title: "12"\n'),
        ("title: ''\n", 'title: ""\n'),
        ("title: 'a: b'\n", 'title: "a: b"\n'),
        ("title: 'a #b'\n", 'title: "a #b"\n'),
        ("title: 'say \"x: y\"'\n", "title: 'say \"x: y\"'\n"),
        ('title: "- x"\n', 'title: "- x"\n'),
        ('title: "-x"\n', "title: -x\n"),
        ('title: "&x"\n', 'title: "&x"\n'),
        ('title: " x"\n', 'title: " x"\n'),
        ('title: "\\ufeff"\n', 'title: "\\uFEFF"\n'),
        ('title: "Grün 🏁"\n', "title: Grün 🏁\n"),
        # numbers and booleans keep their spelling
        ("minutes: 35\n", "minutes: 35\n"),
        ("value: 1.50\ntolerance: 0.000001\n", "value: 1.50\ntolerance: 0.000001\n"),
        ("replacedBy:\nid: x\n", "id: x\nreplacedBy:\n"),
        # a list keeps its style, and a block its usual indentation
        ("tags:\n- one\n-   two\n", "tags:\n  - one\n  - two\n"),
        ("tags: [ one,two ]\n", "tags: [one, two]\n"),
        ("tags: []\n", "tags: []\n"),
        ('tags: ["a, b", "c", "? d", ":e"]\n', 'tags: ["a, b", c, "? d", ":e"]\n'),
        ("{title: T, id: one}\n", "id: one\ntitle: T\n"),
        ("check:\n     prompt: P\n", "check:\n  prompt: P\n"),
        ("steps: [{phase: one}]\n", "steps: [{phase: one}]\n"),
        # longer texts
        ('answer: "a\\nb\\n"\n', 'answer: "a\\nb\\n"\n'),
        ("answer: |-\n    a\n\n      b\n", "answer: |-\n  a\n\n    b\n"),
        ("answer: >-\n  a\n  b\n\n  c\n", "answer: >-\n  a\n  b\n\n  c\n"),
        ('answer: "a \\nb"\n', 'answer: "a \\nb"\n'),
        ("answer: one\n  two\n", "answer: one two\n"),
        # comments stay where they are, and so do the keys beside them
        ("# of T\ntitle:   T\nid: one\n", "# of T\ntitle: T\nid: one\n"),
        ("title: T   # why\nid: one\n", "title: T   # why\nid: one\n"),
        ("title: T\n\nid: one\n", "id: one\ntitle: T\n"),
        ("id: one\n# end\n", "id: one\n# end\n"),
        ("\n# none yet\n\n[]\n# end\n", "\n# none yet\n\n[]\n# end\n"),
        ("tags:\n- one # first\n- two\n", "tags:\n  - one # first\n  - two\n"),
        ("tags: # few\n- one\n", "tags: # few\n  - one\n"),
        ("answer: | # why\n   text\n", "answer: | # why\n  text\n"),
        ("answer: |\n   # no comment\nid: x\n", "id: x\nanswer: |\n  # no comment\n"),
        ('title: "# no comment"\n', 'title: "# no comment"\n'),
    ],
)
def test_a_text_has_one_form(before: str, after: str) -> None:
    assert format_text(before, "lesson") == after
    assert format_text(after, "lesson") == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tags: [\n  one, # a\n  two # b\n]\n", "without losing data or a comment"),
        ("a: &x 1\n", "anchors are not allowed"),
        ("a: 1\na: 2\n", "appears twice"),
        ("a: [1\n", "did not find"),
        ("a:\tb\n", "a tab"),
        ('a: "b\\tc"\n', r"U\+0009"),
        ('a: "b\\u2028c"\n', r"U\+2028"),
        ("", "empty"),
        ("just text\n", "neither a mapping nor a list"),
    ],
)
def test_a_text_that_cannot_be_kept_is_left_alone(text: str, why: str) -> None:
    with pytest.raises(LeftAloneError, match=why):
        format_text(text, "lesson")


def test_front_matter_changes_and_the_body_does_not() -> None:
    body = "\n# *Body*   \n\ttabs, trailing   \n---\nid: not yaml\n"
    text = f'---\ntitle: "T"\nid: one\n---\n{body}'
    assert format_text(text, "lesson", front_matter=True) == f"---\nid: one\ntitle: T\n---\n{body}"


def test_a_text_without_front_matter_is_left_alone() -> None:
    with pytest.raises(LeftAloneError, match="front matter"):
        format_text("id: one\n", "lesson", front_matter=True)


@pytest.mark.parametrize("name", SOURCES)
def test_the_examples_of_a_schema_survive(name: str) -> None:
    for example in schema.schema(name)["examples"]:
        text = format_text(json.dumps(example), name)
        assert yamlsource.parse(text, "") == (example, [])
        assert format_text(text, name) == text


# -- files --------------------------------------------------------------------------------------


def test_a_check_names_what_would_change_and_touches_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = write_course(tmp_path)
    run(course)
    before = (course / BRAKE_TRACE).read_text()
    after = before.replace("title: Read a brake trace", 'title: "Read a brake trace"')
    (course / BRAKE_TRACE).write_text(after)
    assert fmt(course, check=True) == 1
    assert capsys.readouterr().out == f"{BRAKE_TRACE}\n"
    assert (course / BRAKE_TRACE).read_text() == after
    assert fmt(course) == 0
    assert (course / BRAKE_TRACE).read_text() == before
    assert fmt(course, check=True) == 0


def test_a_file_that_is_left_alone_is_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course = write_course(tmp_path)
    run(course)
    for name, data in (("concepts", b"- a: &x 1\n"), ("retired", b"[] \xff\n")):
        (course / f"content/{name}.yaml").write_bytes(data)
    assert fmt(course) == 1
    said = capsys.readouterr().err
    assert "content/concepts.yaml: left alone: anchors are not allowed" in said
    assert "content/retired.yaml: left alone: byte 0xff is not UTF-8" in said
    assert (course / "content/concepts.yaml").read_bytes() == b"- a: &x 1\n"


def test_a_formatted_course_builds_the_same_data(tmp_path: Path, root: Path) -> None:
    course = write_course(tmp_path)
    (course / "content/ui/en.yaml").write_bytes((root / "content/ui/en.yaml").read_bytes())
    files = sorted((course / "content").rglob("*.yaml"))
    before = [yamlsource.parse(path.read_text(), "")[0] for path in files]
    result = run(course)
    assert result.left == []
    assert result.files == len(files) + 3
    assert [yamlsource.parse(path.read_text(), "")[0] for path in files] == before
    assert run(course, check=True).changed == []


def test_a_rewritten_file_keeps_its_mode_and_leaves_nothing_beside(tmp_path: Path) -> None:
    course = write_course(tmp_path)
    path = course / "content/course.yaml"
    path.write_text(path.read_text().replace("schemaVersion: 1\n", "") + "schemaVersion: 1\n")
    path.chmod(0o640)
    assert "content/course.yaml" in run(course).changed
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text().startswith("schemaVersion: 1\n")
    assert [entry.name for entry in path.parent.iterdir() if entry.name.startswith(".")] == []


def test_without_a_content_folder_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert fmt(tmp_path) == 0
