"""Companion files: notebooks open, scripts run, passages fit, archives and feeds are stable."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import nbformat
import pytest
import yaml

from course.build import Options, build
from course.publish import corpus
from course.publish.corpus import LONGEST, SHORTEST, strip_blocks
from course.publish.downloads import Section
from course.publish.hosting import bundle, headers
from tests.course.coursekit import MORE_QUESTIONS, QUIZ, READ_A_LAP, edited, put, write_course

BASE = "https://example.org/c/"
BODY = """
See [a] and [b](../../20-braking/10-brake-trace/lesson.md#idea-three-points),
[c](#idea-low-points-are-corners), [d](https://e.org/).

[a]: lesson:brake-trace

```text
s = v^2 / (2 * a)
```

| Channel | Unit |
|---|---|
| `brake_bar` | bar |

1. Then:

   ```python
   print("in a list")
   ```

## Exercise"""
SOLVED = '''in the second corner.

```python
"""Length of a stop."""

from __future__ import annotations

print(125)
# [a]: lesson:none, see [x](lesson:none)
```
'''
LONG = "A sentence of a paragraph that goes on about braking and grip. "


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course; one lesson has code and links of every kind, and marks in its fields."""
    root = write_course(tmp_path_factory.mktemp("companions"))
    put(root / QUIZ, (root / QUIZ).read_text("utf-8") + MORE_QUESTIONS)
    edited(
        root,
        READ_A_LAP,
        ("title: Read a lap", "title: 'Read \"a\": lap'"),
        ("Find the slowest corner of a lap.", "Read `GET /x/<sid>` and a <b/x>_c_ [d] of *speed*."),
        ("\n## Exercise", BODY),
        ("in the second corner.\n", SOLVED),
    )
    return root


@pytest.fixture(scope="module")
def site(course: Path) -> Path:
    return made(course, "site")


@pytest.fixture(scope="module")
def hosted(course: Path) -> Path:
    """The same, for an address of its own and with links to files."""
    return made(course, "hosted", base_url=BASE, file_urls=True)


def made(course: Path, name: str, **options: Any) -> Path:
    report = build(Options(course, course / name, **options))
    assert report.diagnostics == []
    return course / name


def read(site: Path, name: str) -> str:
    return (site / name).read_text("utf-8")


# -- notebook ----------------------------------------------------------------------------------


def cells(site: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(read(site, "downloads/read-a-lap.ipynb"))["cells"]
    return found


def test_a_notebook_is_valid_and_keeps_text_and_code_in_their_order(site: Path) -> None:
    nbformat.validate(json.loads(read(site, "downloads/read-a-lap.ipynb")))
    found = cells(site)
    assert "".join(cell["cell_type"][0] for cell in found) == "mmmmmcmcmmcmmm"
    code = [cell for cell in found if cell["cell_type"] == "code"]
    assert code[1]["source"] == 'print("in a list")'
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)


def test_only_the_solution_and_the_answers_are_folded(site: Path) -> None:
    folded = [cell for cell in cells(site) if cell["metadata"]]
    assert [cell["source"].split("\n")[0] for cell in folded] == [
        "## Solution: mark your own lap",
        '"""Length of a stop."""',
        "## Answers",
    ]
    assert folded[1]["metadata"]["jupyter"] == {"source_hidden": True}


def test_questions_stand_before_or_after_the_lesson_and_carry_the_formative_label(
    site: Path,
) -> None:
    sources = [cell["source"] for cell in cells(site)]
    before = next(n for n, text in enumerate(sources) if text.startswith("## Before you read"))
    after = next(n for n, text in enumerate(sources) if text.startswith("## Practice questions"))
    assert "Which of these are laps? (Choose all that apply.)" in sources[before]
    assert "Answer with a number in km." in sources[after]
    assert "- B. A corner." in sources[after]
    label = "Practice questions. Answers are included; this is not an exam."
    assert label in sources[before]
    assert label in sources[after]
    assert before < after
    assert "61 ± 1 km/h" in sources[after + 1]


def test_links_of_a_notebook_leave_the_downloads_folder_but_code_stays_as_it_is(
    site: Path, hosted: Path
) -> None:
    text = "\n".join(cell["source"] for cell in cells(site))
    assert "[b](../lessons/brake-trace/#idea-three-points)" in text
    assert re.search(r"\(\.\./media/read-a-lap/trace\.[0-9a-f]{8}\.svg\)", text)
    assert "# [a]: lesson:none, see [x](lesson:none)" in text
    assert f"({BASE}lessons/brake-trace/#idea-three-points)" in "".join(
        cell["source"] for cell in cells(hosted)
    )


def test_cell_ids_are_unique_and_change_only_with_the_cell(site: Path, tmp_path: Path) -> None:
    first = cells(site)
    shutil.copytree(site.parent / "content", tmp_path / "content")
    edited(tmp_path, READ_A_LAP, ("The second number", "The last number"))
    second = cells(made(tmp_path, "site"))
    assert len({cell["id"] for cell in first}) == len(first)
    differ = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    assert len(differ) == 1
    assert differ[0][0]["id"] != differ[0][1]["id"]


# -- script, evidence, Markdown ----------------------------------------------------------------


def test_a_script_runs_alone_and_prints_what_the_blocks_print(site: Path) -> None:
    code = read(site, "downloads/read-a-lap.py")
    ast.parse(code)
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "(150, 61)\nin a list\n125\n"
    assert "# Expected output:\n# (150, 61)\n" in code
    assert "# --- Example: find the low point ---" in code
    assert code.index("from __future__") < code.index("lap = [")


def test_an_evidence_form_asks_for_each_item_and_holds_no_answer(site: Path) -> None:
    form = read(site, "downloads/read-a-lap-evidence.md")
    assert form.count("Where it is:") == 1
    assert "Why is the lowest speed of a lap not always in its tightest corner?" in form
    assert "slippery surface" not in form
    assert "(../lessons/read-a-lap/)" in form


def test_the_markdown_of_a_lesson_has_readable_front_matter_and_the_body_with_page_links(
    site: Path,
) -> None:
    text = read(site, "lessons/read-a-lap/index.md")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["title"] == 'Read "a": lap'
    assert front["objectives"][0] == "Read `GET /x/<sid>` and a <b/x>_c_ [d] of *speed*."
    assert "prerequisites" not in front
    assert "[b](../../lessons/brake-trace/#idea-three-points)" in text
    assert "[c](#idea-low-points-are-corners), [d](https://e.org/)" in text
    assert "\n[a]: ../../lessons/brake-trace/\n" in text
    assert "# [a]: lesson:none, see [x](lesson:none)" in text
    assert "```python file=code/slowest.py\n" in text
    assert "- A: On a straight the speed rises" in text
    assert "slippery surface" in text


def test_marks_in_plain_fields_do_not_become_markup(site: Path) -> None:
    head = cells(site)[0]["source"]
    assert "- Read `GET /x/<sid>` and a \\<b/x\\>\\_c\\_ \\[d\\] of *speed*." in head


# -- passages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("a *b* **c** ***d***, 2 * 3, 2*3, snake_case, _e_", "a b c d, 2 * 3, 2*3, snake_case, e"),
        ("`v**2 * x_` and ``a`b``", "v**2 * x_ and a`b"),
        ("[`code` link](lesson:x) ![alt [1] text](media/a.svg) [r][s]", "code link alt [1] text r"),
        ("> [!NOTE]\n> Take *care*.", "Note: Take care."),
        ("- [x] one\n  more\n- two\n\n3. three", "one more\ntwo|three"),
        ("| A | B |\n|:--|--:|\n| 1 | 2|", "A, B.\n1, 2."),
        ("### Head\ntext\n\n---\n\nnote[^1]\n\n[^1]: foot", "Head.|text|note|foot"),
        ("$v_\\mathrm{end}\\,t$ and [^2] &amp; ~~x~~", "$v_\\mathrm{end} t$ and & x"),
        ("a\\*b \\[c\\]", "a*b [c]"),
    ],
)
def test_plain_words_lose_marks_and_keep_everything_else(markdown: str, words: str) -> None:
    assert "|".join(strip_blocks(markdown)) == words


def sample(*texts: str, **facts: Any) -> list[dict[str, str]]:
    """Passages of a lesson whose sections have these texts."""
    lesson = {"id": "x", "title": "X", "url": "lessons/x/", "summary": "", "concepts": []} | facts
    sections = [
        Section(f"idea-{n}", "idea", f"Idea: {n}", [f"## Idea: {n}\n\n{text}"])
        for n, text in enumerate(texts)
    ]
    return corpus.split_passages(lesson, sections)


def long(size: int) -> str:
    return (LONG * 99)[:size]


@pytest.mark.parametrize(
    "lengths",
    [(300,), (5000,), (900,), (150, 150, 150), (790, 30), (100, 790), (799, 799, 20), (1700, 50)],
)
def test_passages_have_200_to_800_characters(lengths: tuple[int, ...]) -> None:
    found = sample(*map(long, lengths))
    assert all(SHORTEST <= len(chunk["text"]) <= LONGEST for chunk in found)
    words = " ".join(chunk["text"] for chunk in found).split()
    assert words.count("braking") + 1 >= sum(lengths) // len(LONG)


def test_a_paragraph_without_any_space_is_cut_as_well() -> None:
    found = sample("x" * 3001)
    assert all(SHORTEST <= len(chunk["text"]) <= LONGEST for chunk in found)
    assert sum(chunk["text"].count("x") for chunk in found) >= 3001


def test_a_passage_names_its_block_and_has_no_code(site: Path) -> None:
    found = sample(long(900), long(300))
    assert [chunk["id"] for chunk in found] == ["x.idea-0", "x.idea-0.2", "x.idea-1"]
    assert found[2]["url"] == "lessons/x/#idea-1"
    assert found[2]["title"] == "X: Idea: 1"
    text = read(site, "corpus/chunks.jsonl")
    assert "in a list" not in text
    assert "s = v^2 / (2 * a)" in text
    assert "brake_bar, bar." in text


def test_ids_of_other_sections_stay_when_one_section_changes() -> None:
    before = {chunk["id"]: chunk for chunk in sample(long(400), long(400), long(400))}
    after = {chunk["id"]: chunk for chunk in sample(long(400), long(2400), long(400))}
    for key in ("x.idea-0", "x.idea-2"):
        assert before[key] == after[key]


def test_each_concept_of_a_lesson_is_named_where_it_is_taught() -> None:
    taught = f"{LONG * 4} A late apex helps."
    found = sample(LONG * 4, taught, concepts=["late_apex", "look_ahead"])
    titles = [chunk["title"] for chunk in found]
    assert titles == ["X: Idea: 0 (look_ahead)", "X: Idea: 1 (late_apex)"]


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


def test_llms_txt_has_its_sections_in_order_and_labels_planned_lessons(site: Path) -> None:
    text = read(site, "llms.txt")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# A small course",
        "## Start",
        "## Lessons: Laps",
        "## Lessons: Braking",
        "## Planned",
        "## API",
        "## Optional",
    ]
    assert text.splitlines()[2].startswith("> ")
    assert "3 lessons: 2 authored, 1 planned." in text
    assert "(lessons/brake-trace/index.md): Find the start" in text
    assert "(lessons/tyre-window/): " in text


def test_the_full_text_is_one_file_and_is_split_by_phase_above_its_limit(
    course: Path, site: Path, hosted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(site, "llms-full.txt")
    assert "# Read a brake trace\n" in whole
    assert "Page: lessons/brake-trace/\n" in whole
    assert "[b](lessons/brake-trace/#idea-three-points)" in whole
    assert not (site / "llms-full").exists()
    files = read(hosted, "llms-full.txt")
    assert f"Page: {BASE}lessons/brake-trace/index.html\n" in files
    assert f"[b]({BASE}lessons/brake-trace/index.html#idea-three-points)" in files
    monkeypatch.setattr("course.publish.llms.SPLIT_ABOVE", 1000)
    split = made(course, "split")
    assert "- [Braking](llms-full/braking.txt)" in read(split, "llms-full.txt")
    assert "Page: ../lessons/brake-trace/\n" in read(split, "llms-full/braking.txt")
    assert "[b](../lessons/brake-trace/#idea-three-points)" in read(split, "llms-full/laps.txt")
    far = made(course, "far", base_url=BASE)
    assert f"({BASE}llms-full/braking.txt)" in read(far, "llms-full.txt")


def test_the_feed_lists_authored_lessons_with_the_date_of_the_course(hosted: Path) -> None:
    name = "{http://www.w3.org/2005/Atom}"
    text = read(hosted, "feed.xml")
    feed = ET.fromstring(text)
    found = [str(entry.findtext(f"{name}id")) for entry in feed.iter(f"{name}entry")]
    assert [entry.partition("#")[0] for entry in found] == [
        f"{BASE}lessons/{lesson}/" for lesson in ("read-a-lap", "brake-trace")
    ]
    assert {at.text for at in feed.iter(f"{name}updated")} == {"2026-11-20T00:00:00Z"}
    assert f'href="{BASE}lessons/brake-trace/index.html"' in text


def test_the_site_map_is_sorted_absolute_and_named_by_robots(hosted: Path) -> None:
    root = ET.fromstring(read(hosted, "sitemap.xml"))
    places = [place.text for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == sorted({str(place) for place in places})
    assert f"{BASE}index.html" in places
    assert f"Sitemap: {BASE}sitemap.xml" in read(hosted, "robots.txt")


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
