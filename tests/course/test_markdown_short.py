"""The short way through Markdown says what the long way says, or leaves the text to it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from course.read import load, markdown
from course.read.markdown import Body, Source
from course.read.markdown.output import write
from course.read.markdown.short import attempt
from course.read.markdown.structure import read
from tests.course.coursekit import built, edited, write_course

ROOT = Path(__file__).parents[2]

# Each holds something that the HTML alone does not tell, or tells otherwise.
RARE = [
    "- a\n- b\n\n  ## in a list",
    "> ## in a quotation",
    "Underlined\n===",
    "Underlined\ntwice\n---",
    "```text\nnever closed",
    "````text\n```\n````",
    "- ```text\n  in a list\n  ```",
    "> ```text\n> quoted\n> ```",
    "    indented code",
    "```foo``` is no fence",
    "a footnote[^1]\n\n[^1]: here",
    "[defined]\n\n[defined]: lesson:read-a-lap",
    "- [in a list]: lesson:read-a-lap\n\n![a [b](lesson:x)](media/y.svg) [in a list]",
    "[on two\nlines]: lesson:read-a-lap\n\n![a [b](lesson:x)](media/y.svg) [on two\nlines]",
    "[not defined][nowhere]",
    "![a ![b](media/x.svg)](media/y.svg)",
    "![a [b](lesson:read-a-lap)](media/y.svg)",
    "[![a](media/x.svg)](lesson:read-a-lap)",
    "## ![a picture](media/x.svg)",
    "[blank](<a b>)",
    "[escaped](a%20b)",
    "[and](https://example.org/?a=1&b=2)",
    "<b>raw</b>",
    "in `<code>` only",
    "<https://example.org/>",
    "<someone@example.org>",
    "| a | |\n|---|---|\n| 1 | 2 |",
    "| ` ` | b |\n|---|---|\n| 1 | 2 |",
    "| \u00a0 | b |\n|---|---|\n| 1 | 2 |",
    "# a first-level heading",
    "## ",
    "#### a jump",
    "## Recap: twice\n\n## Recap: twice",
    "## accents in öäü",
    "## `code` & <3 [link](lesson:read-a-lap)",
    "## exersise: a near miss",
    "\\[no link](lesson:read-a-lap)",
    "`[code](lesson:read-a-lap)`",
    "[ ](lesson:read-a-lap)",
    "[here](lesson:read-a-lap)",
    "![](media/x.svg)",
    "```python\n## a comment\nx[1](2)\n```",
    "```python\nitems: List<int>\n```",
    "```text\nunlike\n```\n\n```text expected\nthe output\n```",
    "```unknown\nx\n```",
    "```\nx\n```",
    "~~~text\nx\n~~~",
    "- [ ] to do\n- [x] done",
    "> [!NOTE]\n> a note",
    'quotes "a" and &amp; and &lt;b&gt; and a\\\nbreak  \nhere',
]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    """Every lesson body of the course, as its reader hands it over."""
    found: list[Source] = []
    render = markdown.render

    def keep(source: Source) -> Body:
        found.append(source)
        return render(source)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "render", keep)
        load.load(ROOT)
    return [source for source in found if not source.placed]


def expect_agreement(source: Source) -> bool:
    """Whether the short way was taken; then it says what the long way says."""
    short = attempt(source)
    if short is None:
        return False
    outline = read(source)
    assert not outline.body.problems, source.text
    write(outline)
    long = outline.body
    assert short.prose <= long.prose
    for link in long.links:
        del link["at"]
    kinds = [(kind, 0) for kind, _ in long.kinds]
    assert short == replace(long, prose=short.prose, kinds=kinds), source.text
    return True


def test_most_lessons_take_the_short_way_and_read_the_same(sources: list[Source]) -> None:
    taken = sum([expect_agreement(source) for source in sources])
    assert taken > len(sources) / 2


@pytest.mark.parametrize("text", RARE, ids=range(len(RARE)))
def test_rare_markdown_reads_the_same_or_is_left_to_the_long_way(
    text: str, sources: list[Source]
) -> None:
    body = "## Exercise: find it\n\nSome words.\n\n"
    expect_agreement(replace(sources[0], text=f"{body}{text}\n"))
    expect_agreement(replace(sources[0], text=f"{body}{text}\n\n{text}\n"))


def test_mixed_texts_read_the_same_or_are_left_to_the_long_way(sources: list[Source]) -> None:
    chooser = random.Random(7)
    usual = [piece for source in sources for piece in source.text.split("\n\n")]
    taken = 0
    for _ in range(1500):
        pieces = chooser.choices(usual, k=chooser.randrange(1, 12))
        if chooser.random() < 0.7:
            pieces.insert(chooser.randrange(len(pieces)), chooser.choice(RARE))
        if chooser.random() < 0.3:
            at = chooser.randrange(len(pieces[0]) + 1)
            pieces[0] = pieces[0][:at] + chooser.choice("`~#[]()<>!&\\*_|-\n :^") + pieces[0][at:]
        text = "\n\n".join(pieces)
        taken += expect_agreement(replace(chooser.choice(sources), text=f"{text}\n"))
    assert taken > 100


def test_a_lost_link_in_a_lesson_without_any_other_problem_has_its_place(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    lesson = next(path for path in root.rglob("lesson.md") if "brake-trace" in str(path))
    text = lesson.read_text("utf-8").rstrip("\n")
    edited(root, lesson.relative_to(root).as_posix(), (text, f"{text}\n\nSee [this](lesson:gone)."))
    (problem,) = [one for one in built(root).diagnostics if one.code == "LNK001"]
    assert (problem.line, problem.column) == (text.count("\n") + 3, 5)
