"""The canonical form for any data at all: equal when read back, and the same text twice."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from course import yamlsource
from course.fmt import SOURCES, LeftAloneError, format_text
from course.read import schema
from course.read.files import decode_text

AWKWARD = st.sampled_from(
    [
        *("", " ", "#", "a #b", "a: b", "a:", "- a", "? a", "[a", "{a}", "a, b", "&a", "*a", "!a"),
        *("|", ">", "%a", "@a", "`a", "'a'", '"a"', "---", "...", "null", "true", "12", "1.5"),
        *("a\nb", "a\nb\n", "a\n\nb", "\na", "a\n", " a\nb", "a \nb", "a\n# b", "x" * 120, "~"),
        *(
            "it's",
            'say "x"',
            "back\\slash",
            "a\tb",
            "\u2028",
            "\x85",
            "\ufeff",
            "é",
            "🏁",
            "\u200f",
        ),
    ]
)
TEXTS = AWKWARD | st.text(max_size=30) | st.text("ab :#-,'\"[]{}\\n", max_size=12)
NUMBERS = st.integers(-(10**14), 10**14) | st.floats(-1e6, 1e6).map(lambda number: round(number, 6))


def data_of(part: dict[str, Any], root: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Data in the shape of a schema, its limits apart: they are no matter of form."""
    if "$ref" in part:
        found: Any = root
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return data_of(found, root)
    kind = part.get("type")
    if kind == "object":
        fields = {key: data_of(one, root) for key, one in part.get("properties", {}).items()}
        shuffled = st.permutations(sorted(fields)) if fields else st.just([])
        return shuffled.flatmap(
            lambda keys: st.fixed_dictionaries({}, optional=fields).map(
                lambda data: {key: data[key] for key in keys if key in data}
            )
        )
    if kind == "array":
        return st.lists(data_of(part["items"], root), max_size=4)
    if kind in ("integer", "number"):
        return NUMBERS
    if kind == "boolean":
        return st.booleans()
    return TEXTS if "enum" not in part else st.sampled_from(part["enum"])


class Dumper(yaml.SafeDumper):
    """PyYAML's own writer, without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Any, str]:
    """The name of a schema, data of its shape, and one of the many ways to write that down."""
    name = draw(st.sampled_from(SOURCES))
    data = draw(data_of(schema.schema(name), schema.schema(name)))
    text = yaml.dump(
        data,
        Dumper=Dumper,
        default_flow_style=draw(st.sampled_from([None, True, False])),
        default_style=draw(st.sampled_from([None, None, "'", '"'])) if is_text(data) else None,
        width=draw(st.sampled_from([20, 80, 10_000])),
        indent=draw(st.sampled_from([2, 4])),
        allow_unicode=draw(st.booleans()),
        sort_keys=draw(st.booleans()),
    )
    return name, data, text


def is_text(data: Any) -> bool:
    """Whether all scalars are texts, so that quotes around each of them change nothing."""
    if isinstance(data, dict):
        return all(map(is_text, data.values()))
    return all(map(is_text, data)) if isinstance(data, list) else isinstance(data, str)


@given(written())
def test_any_data_reads_back_equal_and_formats_to_the_same_text_twice(
    case: tuple[str, Any, str],
) -> None:
    name, data, text = case
    if yamlsource.parse(text, "") != (data, []) or decode_text(text.encode(), "", []) is None:
        return  # PyYAML wrote a number as YAML 1.1 spells it, a tab or a bare U+2028
    once = format_text(text, name)
    assert yamlsource.parse(once, "") == (data, [])
    assert format_text(once, name) == once
    problems: list[Any] = []
    assert decode_text(once.encode(), "", problems) == once, problems


@given(written(), st.data())
def test_comments_between_the_lines_are_kept_or_the_file_is_left_alone(
    case: tuple[str, Any, str], more: st.DataObject
) -> None:
    name, _, text = case
    lines = text.splitlines()
    for number in range(more.draw(st.integers(1, 4))):
        at = more.draw(st.integers(0, len(lines)))
        lines.insert(at, more.draw(st.sampled_from(["", "  "])) + f"# comment {number}")
        ending = more.draw(st.integers(0, len(lines) - 1))
        lines[ending] += more.draw(st.sampled_from(["", f" # beside {number}"]))
    text = "\n".join(lines) + "\n"
    expected, problems = yamlsource.parse(text, "")
    try:
        once = format_text(text, name)
    except LeftAloneError:
        return
    assert not problems
    assert yamlsource.parse(once, "") == (expected, [])
    for word in comments_of(text, expected):
        assert once.count(word) == 1
    assert format_text(once, name) == once


def comments_of(text: str, data: Any) -> list[str]:
    """The words of our comments that are comments, and not part of some text."""
    inside = json.dumps(data)
    words = [f"# {kind} {number}" for kind in ("comment", "beside") for number in range(4)]
    return [word for word in words if word in text and word not in inside]
