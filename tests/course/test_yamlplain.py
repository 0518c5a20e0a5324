"""The short way through YAML: equal to the full parser, or left to it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from course.read import yamlplain, yamlsource
from course.read.lesson import split_front

CONTENT = Path(__file__).resolve().parents[2] / "content"
PIECES = (
    *("\"', [ ] { } : # , ? | > % @ ` ~ = - & * ! \\".split()),
    *("  ", "\n", "\n\n", ": ", ", ", " #x", "- ", "key: ", "a: b: c", "''", '""', "[]", "{}"),
    *("null", "true", "0.5", "-1", "012", "1e5", "...", "---", "\n  - ", "\n    a: b", "<<: "),
    *("https://x.y/z", "[a, b]", "{a: b}", "- - a", "- a: b\n", ":a", "a:", "\n- \n", "é", "🏁"),
    *(": |\n", "|\n  a\n", "|-\n  a\n", "a: |\n    b\n\n     c:\n\n", "'a, b'", '"a: b"', "|2\n"),
    *("\n  \n", "\n    \n", " \n"),
    *("\u2028", "\x85", "\ufeff", "\xa0", "\t", "\r", "\n# a: b\n", "\n#", "\n #"),
)
DEEP = "".join(f"{' ' * column}- b:\n" for column in range(0, 90, 3))


def sources() -> list[str]:
    """The YAML of the course that is shipped, front matter included."""
    found = [path.read_text("utf-8") for path in sorted(CONTENT.rglob("*.yaml"))]
    for path in sorted(CONTENT.rglob("lesson.md")):
        split = split_front(path.read_text("utf-8"))
        assert split is not None
        found.append(split[0])
    return found


def quick(text: str) -> Any:
    return yamlplain.read(text)


def in_full(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    with monkeypatch.context() as patch:
        patch.setattr(yamlplain, "read", lambda *_: None)
        return yamlsource.parse(text, "file")


def test_the_sources_of_a_course_are_read_the_short_way_and_equal_to_the_full_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = sources()
    short = [text for text in texts if quick(text) is not None]
    assert len(short) > len(texts) / 2
    for text in short:
        assert in_full(text, monkeypatch) == (quick(text), [])


def test_a_changed_source_is_read_as_the_full_parser_reads_it_or_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chooser = random.Random(3)
    texts = [text for text in sources() if quick(text) is not None]
    taken = 0
    for _ in range(4000):
        lines = chooser.choice(texts).split("\n")
        start = chooser.randrange(len(lines))
        text = "\n".join(lines[start : start + chooser.randrange(2, 12)]) + "\n"
        for _ in range(chooser.randrange(1, 4)):
            at = chooser.randrange(len(text) + 1)
            piece = chooser.choice(PIECES) if chooser.random() < 0.7 else ""
            text = text[:at] + piece + text[at + (not piece) :]
        found = quick(text)
        if found is not None:
            taken += 1
            assert in_full(text, monkeypatch) == (found, []), text
            assert json.dumps(found) == json.dumps(in_full(text, monkeypatch)[0]), text
    assert taken > 400


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: b\n", {"a": "b"}),
        (
            "a: 1\nb: 1.5\nc: true\nd: null\ne: -2\n",
            {"a": 1, "b": 1.5, "c": True, "d": None, "e": -2},
        ),
        ("- a\n- b\n", ["a", "b"]),
        ("[]\n", []),
        ("# a\n\nb:\n# - c\n  - d\n# e: f\ng: h\n", {"b": ["d"], "g": "h"}),
        (
            "a:\n  - b: c\n    d: e\n  - b: f\ng: h\n",
            {"a": [{"b": "c", "d": "e"}, {"b": "f"}], "g": "h"},
        ),
        ("a:\n  b:\n    c: d\n\ne: f\n", {"a": {"b": {"c": "d"}}, "e": "f"}),
        ("a: [b, 2, https://x.y/z]\nc: []\n", {"a": ["b", 2, "https://x.y/z"], "c": []}),
        ("a: {b: c, d: 2}\n", {"a": {"b": "c", "d": 2}}),
        (
            "a: {b: \"c, d\", e: 'f: g', h: it's 3 %}\n",
            {"a": {"b": "c, d", "e": "f: g", "h": "it's 3 %"}},
        ),
        ('a: ["b, c", d, \'\', 1, "1"]\n', {"a": ["b, c", "d", "", 1, "1"]}),
        ("a: |\n  b\n   c: d\n\n  - e:\n\n\nf: g\n", {"a": "b\n c: d\n\n- e:\n", "f": "g"}),
        ("- a: |\n    b\n  c: |\n    d\n- e\n", [{"a": "b\n", "c": "d\n"}, "e"]),
        ("a: \"b: c, 'd'\"\ne: 'f \"g\"'\nh: ''\n", {"a": "b: c, 'd'", "e": 'f "g"', "h": ""}),
    ],
)
def test_plain_forms_are_read(text: str, data: Any) -> None:
    assert quick(text) == data


@pytest.mark.parametrize(
    "text",
    [
        *("", "a: b", "a:\n", "a: b\n c: d\n", "a: b\n  c\n", "a: b: c\n", "a: b #c\n"),
        *(" # a\nb: c\n", "a: b\na: c\n", "a: {b: c, b: d}\n", "a: 'it''s'\n", 'a: "b\\n"\n'),
        *("a: &b c\n", "a: *b\n", "a: !b c\n", "a: |-\n  b\n", "a: >\n  b\n", "---\na: b\n"),
        *(
            "a: |\n  x\n  \n",
            "a: |\n   x\n  \n    \nb: c\n",
            "a: |\n  x\n \n",
            "a: |\nb: c\n",
            "- a: |\n  b\n",
            "a: |\n\n  b\n",
            "a: |\n   b\n  c\n",
            "a: |\n  b\n #c\n",
        ),
        *("- |\n  b\n", "a: |\n  b #c\n", "a: {b: 'it''s'}\n", 'a: ["b\\n"]\n', "a: {b: c?}\n"),
        *("a: b\n...\n", "%a b\n", "- \n", "a:\n- b\n", "- a\nb: c\n", "a: b\n- c\n"),
        *("? a\n: b\n", "a: [b, [c]]\n", "a: [b\n", "a: b \n", "a:\tb\n", "a: \u2028\n"),
        *("a: \ufeff\n", '"a": b\n', f"a:\n{DEEP}{' ' * 90}- c: d\n"),
    ],
)
def test_other_forms_are_left_to_the_full_parser(text: str) -> None:
    assert quick(text) is None


@pytest.mark.parametrize("inner", ["a", "[a]", "{a: b}", "\n", "|\n"])
@pytest.mark.parametrize("step", ["a:\n", "- a:\n"])
def test_a_text_of_any_depth_is_read_as_the_full_parser_reads_it_or_left_to_it(
    step: str, inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = len(step) - 2
    for depth in range(30):
        lines = "".join(" " * (wide * level) + step for level in range(depth))
        indent = " " * (wide * depth)
        text = f"{lines}{indent}- x: {inner}".replace(": \n", ":\n").rstrip("\n") + "\n"
        if inner[-1] == "\n":
            text += f"{indent}    y\n" if inner[0] == "|" else f"{indent}    - y\n"
        found = quick(text)
        assert found is None or in_full(text, monkeypatch) == (found, [])
        assert found is not None or depth > 9
