"""Companion files: notebooks open, scripts run, passages fit, archives and feeds are stable."""

from __future__ import annotations

import ast
import copy
import io
import json
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import nbformat
import pytest
import yaml

from course.publish import corpus, downloads
from course.publish.corpus import LONGEST, SHORTEST, plain_blocks
from course.publish.hosting import atom, bundle, headers, robots, sitemap
from course.publish.llms import SPLIT_ABOVE, llms_full, llms_txt
from course.read import blocks, markdown
from course.read.sources import english
from tests.course import schemakit

MARKDOWN = '''A lap time tells you *that* you were slow, never where.
See [the basics](lesson:read-a-lap#idea).

## Idea: three points

![Brake pressure over time](media/trace.svg)

| Channel | Unit |
|---|---|
| `brake_bar` | bar |

```text
s = v^2 / (2 * a)
```

### In numbers

- **Start**: the pressure rises.
- Peak: it is *highest*.

## Example: stop

```python file=code/stop.py
"""Length of a stop."""

from __future__ import annotations

speed_ms = 50
print(speed_ms**2 / 20)  # see [x](lesson:none)
```
```text expected
125.0
```

Half of it is gone before you notice.

1. Then:

   ```python
   print("in a list")
   ```

## Solution: stop

```python
print([speed_ms][0](media) if False else speed_ms)
```
'''
KINDS = [("intro", "text"), ("idea-three-points", "idea"), ("example-stop", "example")]
KINDS += [("solution-stop", "solution")]
WORDS = english()
LONG = "A sentence of a paragraph that goes on about braking and grip. "


def lesson(markdown: str = MARKDOWN, kinds: list[tuple[str, str]] = KINDS) -> dict[str, Any]:
    """A lesson resource with that body."""
    resource: dict[str, Any] = copy.deepcopy(schemakit.load("lesson.v1")["examples"][0])
    content = resource["content"]
    content["markdown"] = markdown
    content["blocks"] = [{"id": id_, "kind": kind, "html": "<p>x</p>"} for id_, kind in kinds]
    return resource


def pieces(resource: dict[str, Any]) -> list[markdown.Piece]:
    """The text of a lesson resource as the reader cuts it."""
    text = resource.get("content", {"markdown": ""})["markdown"]
    source = markdown.Source(text, "lesson.md", 1, "content/phases/10-a/10-b", WORDS)
    return [*blocks.pieces(markdown.read(source))]


def text_of(resource: dict[str, Any]) -> downloads.Manuscript:
    return downloads.Manuscript.of(resource, pieces(resource), WORDS)


def notebook(resource: dict[str, Any], root: str = "../") -> str:
    return downloads.notebook(text_of(resource), root).decode()


def script(resource: dict[str, Any]) -> str:
    return downloads.script(text_of(resource))


def lesson_markdown(resource: dict[str, Any]) -> str:
    return downloads.lesson_markdown(text_of(resource))


def chunks(resource: dict[str, Any]) -> list[dict[str, str]]:
    return corpus.chunks(resource, text_of(resource).sections)


def example(name: str) -> dict[str, Any]:
    resource: dict[str, Any] = schemakit.load(f"{name}.v1")["examples"][0]
    return resource


# -- notebook ----------------------------------------------------------------------------------


def cells(resource: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook(resource))["cells"]
    return found


def test_a_notebook_is_valid_and_has_one_code_cell_for_each_python_block() -> None:
    read: Callable[..., Any] = nbformat.reads
    document = read(notebook(lesson()), as_version=4)
    nbformat.validate(document)
    code = [cell.source for cell in document.cells if cell.cell_type == "code"]
    assert len(code) == 3
    assert code[1] == 'print("in a list")'
    assert all(cell.outputs == [] for cell in document.cells if cell.cell_type == "code")
    assert all(cell.execution_count is None for cell in document.cells if "outputs" in cell)


def test_a_notebook_keeps_text_and_code_in_their_order() -> None:
    order = [cell["cell_type"][0] for cell in cells(lesson())]
    assert "".join(order) == "mmmmmcmcmcmmm"


def test_only_the_solution_and_the_answers_are_folded() -> None:
    folded = [cell for cell in cells(lesson()) if cell["metadata"]]
    assert [cell["source"].split("\n")[0] for cell in folded] == [
        "## Solution: stop",
        "print([speed_ms][0](media) if False else speed_ms)",
        "## Answers",
    ]
    assert folded[1]["metadata"]["jupyter"] == {"source_hidden": True}


def test_questions_stand_before_or_after_the_lesson_and_carry_the_formative_label() -> None:
    sources = [cell["source"] for cell in cells(lesson())]
    before = next(n for n, text in enumerate(sources) if text.startswith("## Before you read"))
    after = next(n for n, text in enumerate(sources) if text.startswith("## Practice questions"))
    assert "How long is a stop" in sources[before]
    assert "Answer with a number in m." in sources[before]
    assert "- B. The release" in sources[after]
    label = "Practice questions. Answers are included; this is not an exam."
    assert label in sources[before]
    assert label in sources[after]
    assert before < after
    assert "125 ± 1 m" in sources[after + 1]


def test_links_of_a_notebook_leave_the_downloads_folder_but_code_stays_as_it_is() -> None:
    text = "\n".join(cell["source"] for cell in cells(lesson()))
    assert "[the basics](../lessons/read-a-lap/#idea)" in text
    assert "(../media/brake-trace/trace.0a1b2c3d.svg)" in text
    assert "# see [x](lesson:none)" in text
    absolute = notebook(lesson(), "https://example.org/course/")
    assert "(https://example.org/course/lessons/read-a-lap/#idea)" in absolute


def test_cell_ids_are_unique_and_change_only_with_the_cell() -> None:
    first = cells(lesson())
    second = cells(lesson(MARKDOWN.replace("Half of it", "Most of it")))
    assert len({cell["id"] for cell in first}) == len(first)
    changed = [n for n, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    assert len(changed) == 1
    assert first[changed[0]]["id"] != second[changed[0]]["id"]


# -- script, evidence, Markdown ----------------------------------------------------------------


def run(code: str) -> str:
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_script_runs_alone_and_prints_what_the_blocks_print() -> None:
    code = script(lesson())
    ast.parse(code)
    assert run(code) == "125.0\nin a list\n50\n"
    assert "# Expected output:\n# 125.0\n" in code
    assert "# --- Example: stop ---" in code
    assert code.index("from __future__") < code.index("speed_ms = 50")


def test_an_evidence_form_asks_for_each_item_and_holds_no_answer() -> None:
    form = downloads.evidence_template(lesson(), WORDS)
    assert form.count("Where it is:") == len(lesson()["evidence"])
    assert lesson()["check"]["prompt"] in form
    assert lesson()["check"]["answer"] not in form
    assert "(../lessons/brake-trace/)" in form


def front_matter(text: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return data


def test_the_markdown_of_a_lesson_has_readable_front_matter_and_the_body_with_page_links() -> None:
    resource = lesson() | {"title": 'A "quoted": title'}
    text = lesson_markdown(resource)
    front = front_matter(text)
    assert front["title"] == resource["title"]
    assert front["objectives"] == resource["objectives"]
    assert "tags" not in front
    assert "[the basics](../../lessons/read-a-lap/#idea)" in text
    assert "# see [x](lesson:none)" in text
    assert "```python file=code/stop.py\n" in text
    assert "- B: It sets the load on the front tyres." in text
    assert lesson()["check"]["answer"] in text


def test_marks_in_plain_fields_do_not_become_markup() -> None:
    resource = lesson() | {"objectives": ["Read `GET /x/<sid>` and a <b>_c_ [d] of *speed*."]}
    assert "- Read `GET /x/<sid>` and a \\<b\\>\\_c\\_ \\[d\\] of *speed*." in notebook(
        resource
    ).replace("\\\\", "\\")


# -- cutting Markdown --------------------------------------------------------------------------


def test_reference_definitions_and_relative_links_are_rewritten_too() -> None:
    text = "See [a] and [b](../20-late-apex/lesson.md#x), [c](#here), [d](https://e.org/).\n\n"
    text += "[a]: lesson:read-a-lap\n\n```python\nx = [1]\n[a]: lesson:no\n```\n"
    resource = lesson(text)
    moved = text_of(resource).body("").replace(downloads.ROOT, "/r/")
    assert "[b](/r/lessons/late-apex/#x), [c](#here), [d](https://e.org/)" in moved
    assert "\n[a]: /r/lessons/read-a-lap/\n" in moved
    assert "\n[a]: lesson:no\n" in moved
    files = text_of(resource).body("index.html").replace(downloads.ROOT, "/r/")
    assert "[b](/r/lessons/late-apex/index.html#x), [c](#here), [d](https://e.org/)" in files


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("a *b* **c** ***d***, 2 * 3, 2*3, snake_case, _e_", "a b c d, 2 * 3, 2*3, snake_case, e"),
        ("`v**2 * x_` and ``a`b``", "v**2 * x_ and ab"),
        ("[`code` link](lesson:x) ![alt [1] text](media/a.svg) [r][s]", "code link alt [1] text r"),
        ("> [!NOTE]\n> Take *care*.", "Note: Take care."),
        ("- [x] one\n  more\n- two\n\n3. three", "one more\ntwo|three"),
        ("| A | B |\n|:--|--:|\n| 1 | 2|", "A, B.\n1, 2."),
        ("### Head\ntext\n\n---\n\nnote[^1]\n\n[^1]: foot", "Head.\ntext|note|foot"),
        ("a\\*b \\[c\\]", "a*b [c]"),
    ],
)
def test_plain_words_lose_marks_and_keep_everything_else(markdown: str, words: str) -> None:
    assert "|".join(plain_blocks(markdown)) == words


# -- corpus ------------------------------------------------------------------------------------


def sample(*lengths: int) -> list[dict[str, str]]:
    """Passages of a lesson whose sections have about that many characters."""
    parts = [f"## Idea: part {n}\n\n{(LONG * 99)[:size]}\n\n" for n, size in enumerate(lengths)]
    kinds = [(f"idea-part-{n}", "idea") for n in range(len(lengths))]
    return chunks(lesson("".join(parts), kinds))


@pytest.mark.parametrize(
    "lengths",
    [(300,), (5000,), (900,), (150, 150, 150), (790, 30), (100, 790), (799, 799, 20), (1700, 50)],
)
def test_passages_have_200_to_800_characters(lengths: tuple[int, ...]) -> None:
    found = sample(*lengths)
    assert all(SHORTEST <= len(chunk["text"]) <= LONGEST for chunk in found)
    words = " ".join(chunk["text"] for chunk in found).split()
    assert words.count("braking") + 1 >= sum(lengths) // len(LONG)


def test_a_paragraph_without_any_space_is_cut_as_well() -> None:
    found = chunks(lesson("x" * 3001, KINDS[:1]))
    assert all(SHORTEST <= len(chunk["text"]) <= LONGEST for chunk in found)
    assert sum(chunk["text"].count("x") for chunk in found) >= 3001


def test_a_passage_names_its_block_and_has_no_code() -> None:
    found = sample(900, 300)
    assert [chunk["id"] for chunk in found] == [
        "brake-trace.idea-part-0",
        "brake-trace.idea-part-0.2",
        "brake-trace.idea-part-1",
    ]
    assert found[2]["url"] == "lessons/brake-trace/#idea-part-1"
    assert found[2]["title"].startswith("Read a brake trace: Idea: part 1")
    text = "\n".join(chunk["text"] for chunk in chunks(lesson()))
    assert "speed_ms" not in text
    assert "s = v^2 / (2 * a)" in text
    assert "brake_bar, bar." in text


def test_ids_of_other_sections_stay_when_one_section_changes() -> None:
    before = {chunk["id"]: chunk for chunk in sample(400, 400, 400)}
    after = {chunk["id"]: chunk for chunk in sample(400, 2400, 400)}
    for key in ("brake-trace.idea-part-0", "brake-trace.idea-part-2"):
        assert before[key] == after[key]


def test_each_concept_of_a_lesson_is_named_where_it_is_taught() -> None:
    text = f"{LONG * 4}\n\n## Idea: late apex\n\n{LONG * 4} A late apex helps.\n"
    resource = lesson(text, KINDS[:2]) | {"concepts": ["late_apex", "look_ahead"]}
    titles = [chunk["title"] for chunk in chunks(resource)]
    assert titles == [
        "Read a brake trace (look_ahead)",
        "Read a brake trace: Idea: late apex (late_apex)",
    ]


# -- bundle ------------------------------------------------------------------------------------


def test_a_bundle_depends_on_names_and_contents_only() -> None:
    files = {"b/é.txt": b"2", "a.txt": b"1", "B.txt": b""}
    data = bundle(files)
    assert data == bundle(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        assert archive.testzip() is None
        assert {entry.filename: archive.read(entry) for entry in entries} == files
    assert [entry.filename for entry in entries] == ["B.txt", "a.txt", "b/é.txt"]
    for entry in entries:
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        assert entry.compress_type == zipfile.ZIP_STORED
        assert stat.S_IMODE(entry.external_attr >> 16) == 0o644
        assert entry.create_system == 3


# -- course-wide files -------------------------------------------------------------------------


def test_llms_txt_has_its_sections_in_order_and_labels_planned_lessons() -> None:
    text = llms_txt(example("catalog"), example("pathways"), example("projects"), WORDS)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Drive with data",
        "## Start",
        "## Lessons: Braking",
        "## Planned",
        "## API",
        "## Optional",
    ]
    assert text.splitlines()[2].startswith("> ")
    assert "2 lessons: 1 authored, 1 planned." in text
    assert "(lessons/brake-trace/index.md): Find the braking start" in text
    assert "(lessons/tyre-window/): " in text


def test_the_full_text_is_one_file_and_is_split_by_phase_above_one_megabyte() -> None:
    catalog = example("catalog")

    def linked(name: str, root: str) -> str:
        assert name == "brake-trace"
        return f"[a lap]({root}lessons/read-a-lap/)\n\n{MARKDOWN}"

    small = dict(llms_full(catalog, linked, WORDS))
    assert list(small) == ["llms-full.txt"]
    assert MARKDOWN.strip() in small["llms-full.txt"]
    assert "# Read a brake trace\n" in small["llms-full.txt"]
    assert "Page: lessons/brake-trace/\n" in small["llms-full.txt"]
    assert "[a lap](lessons/read-a-lap/)" in small["llms-full.txt"]

    def long(name: str, root: str) -> str:
        return linked(name, root) + "é" * (SPLIT_ABOVE // 2)

    big = dict(llms_full(catalog, long, WORDS))
    assert sorted(big) == ["llms-full.txt", "llms-full/braking.txt"]
    assert "- [Braking](llms-full/braking.txt)" in big["llms-full.txt"]
    assert "é" in big["llms-full/braking.txt"]
    assert "[a lap](../lessons/read-a-lap/)" in big["llms-full/braking.txt"]
    assert "Page: ../lessons/brake-trace/\n" in big["llms-full/braking.txt"]
    base = dict(llms_full(catalog, long, WORDS, "https://e.org/", "index.html"))
    assert "Page: https://e.org/lessons/brake-trace/index.html\n" in base["llms-full/braking.txt"]
    assert "(https://e.org/llms-full/braking.txt)" in base["llms-full.txt"]


def test_the_feed_lists_authored_lessons_with_the_date_of_the_course() -> None:
    base = "https://example.org/c/"
    name = "{http://www.w3.org/2005/Atom}"
    everything = ET.fromstring(atom(example("catalog"), base))
    assert [entry.findtext(f"{name}id") for entry in everything.iter(f"{name}entry")] == [
        f"https://example.org/c/lessons/brake-trace/#{'a' * 16}"
    ]
    assert {at.text for at in everything.iter(f"{name}updated")} == {"2026-11-20T00:00:00Z"}
    files = atom(example("catalog"), base, index="index.html")
    assert 'href="https://example.org/c/lessons/brake-trace/index.html"' in files
    assert f"<id>https://example.org/c/lessons/brake-trace/#{'a' * 16}</id>" in files


def test_the_site_map_is_sorted_absolute_and_named_by_robots() -> None:
    root = ET.fromstring(sitemap("https://example.org/c/", ["b/", "a/", "", "b/"]))
    places = [place.text for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == [f"https://example.org/c/{page}" for page in ("", "a/", "b/")]
    assert "Sitemap: https://example.org/c/sitemap.xml" in robots("https://example.org/c/")


# -- headers -----------------------------------------------------------------------------------


def rules() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in headers(("'sha256-STYLE='", "'sha256-SCRIPT='")).strip().split("\n\n"):
        pattern, *lines = block.split("\n")
        found[pattern] = [line.strip() for line in lines]
    return found


def applied(path: str) -> list[str]:
    """The lines that a host adds for *path*."""
    return [
        line
        for pattern, lines in rules().items()
        if path == pattern or (pattern.endswith("*") and path.startswith(pattern[:-1]))
        for line in lines
    ]


@pytest.mark.parametrize(
    ("path", "caching"),
    [
        ("/assets/site.3f9a12bc.css", "public, max-age=31536000, immutable"),
        ("/media/brake-trace/trace.0a1b2c3d.svg", "public, max-age=31536000, immutable"),
        ("/downloads/brake-trace.ipynb", "public, max-age=60, stale-while-revalidate=600"),
        ("/api/v1/lessons/x.json", "public, max-age=60, stale-while-revalidate=600"),
        ("/openapi.json", "public, max-age=60, stale-while-revalidate=600"),
        ("/lessons/brake-trace/", "public, max-age=0, must-revalidate"),
        ("/", "public, max-age=0, must-revalidate"),
        ("/404.html", "no-store"),
    ],
)
def test_every_path_has_one_caching_rule(path: str, caching: str) -> None:
    assert [line for line in applied(path) if line.startswith("Cache-Control")] == [
        f"Cache-Control: {caching}"
    ]


def test_the_content_policy_allows_no_inline_part_but_those_of_the_missing_page() -> None:
    policy = next(line for line in applied("/lessons/") if line.startswith("Content-Security"))
    assert "script-src 'self' 'sha256-SCRIPT='" in policy
    assert "style-src 'self' 'sha256-STYLE='" in policy
    assert "unsafe" not in policy
