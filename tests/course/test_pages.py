"""Pages: valid, accessible, self-contained HTML of the small course, whatever its authors write."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from course.build import Options, build
from course.checking import deep_problems
from course.publish.lesson import move_body
from course.publish.shell import ASSETS, TEMPLATES, bundle, hash_path, inline, plain, prose
from course.read.look import compute_contrast
from course.read.sources import english
from tests.course.coursekit import (
    BRAKE_TRACE,
    MORE_QUESTIONS,
    QUIZ,
    TYRE_WINDOW,
    built,
    edited,
    put,
    write_course,
)
from tests.course.sitekit import Page, resource

BRAKE: Final = "lessons/brake-trace/index.html"
LAP: Final = "lessons/read-a-lap/index.html"
PLANNED: Final = "lessons/tyre-window/index.html"
OLD: Final = "lessons/brake-curve/index.html"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course with questions of every kind, built."""
    root = write_course(tmp_path_factory.mktemp("pages"))
    put(root / QUIZ, (root / QUIZ).read_text("utf-8") + MORE_QUESTIONS)
    edited(root, BRAKE_TRACE, ("level: core", "level: core\nreview: editorial"))
    edited(root, TYRE_WINDOW, ("status: planned", "status: planned\nminutes: 41"))
    assert built(root).diagnostics == []
    return root


@pytest.fixture(scope="module")
def pages(root: Path) -> dict[str, str]:
    """Every page by its path."""
    return pages_of(root / "site")


def pages_of(site: Path) -> dict[str, str]:
    return {p.relative_to(site).as_posix(): p.read_text("utf-8") for p in site.rglob("*.html")}


def test_every_page_is_well_formed(root: Path) -> None:
    assert deep_problems(Options(root, root / "site")) == []


def test_a_page_has_language_title_main_and_one_h1(pages: dict[str, str]) -> None:
    for name, html in pages.items():
        page = Page(html)
        assert page.all("html") == [{"lang": "en", "dir": "ltr"}], name
        assert re.search(r"<title>[^<]+</title>", html), name
        assert len(page.all("main")) == len(page.all("h1")) == 1, name


def test_headings_never_skip_a_level(pages: dict[str, str]) -> None:
    for name, html in pages.items():
        levels = [int(tag[1]) for tag, _ in Page(html).tags if re.fullmatch("h[1-6]", tag)]
        steps = [after - before for before, after in pairwise(levels)]
        assert levels[0] == 1, name
        assert max(steps, default=0) <= 1, name


def test_a_strict_content_policy_finds_nothing_inline(pages: dict[str, str]) -> None:
    assert {name for name, html in pages.items() if Page(html).inline()} == {"404.html"}


def test_a_page_opens_with_a_skip_link_and_has_named_navigation(pages: dict[str, str]) -> None:
    for name, html in pages.items():
        if name == "404.html" or name.startswith("print/") or 'http-equiv="refresh"' in html:
            continue
        page = Page(html)
        assert page.all("a")[0] == {"class": "skip", "href": "#page-main"}, name
        assert len(page.all("header")) >= 1, name
        assert len(page.all("footer")) == 1, name
        labels = [attrs.get("aria-label") for attrs in page.all("nav")]
        assert all(labels), name
        assert len(labels) == len(set(labels)), name


def test_every_input_has_a_label_around_or_before_it(pages: dict[str, str]) -> None:
    for name in (LAP, "search/index.html"):
        html = pages[name]
        pointed = set(re.findall(r'<label for="([^"]+)"', html))
        wrapped = re.findall(r"<label[^>]*>(?:(?!</label>).)*<input", html, re.S)
        bare = [i for i in re.findall(r'<input id="([^"]+)"', html) if i not in pointed]
        assert bare == []
        assert len(wrapped) + len(pointed) == html.count("<input")


def test_only_the_pages_of_a_section_mark_it_as_current(pages: dict[str, str]) -> None:
    assert 'href="../phases/" aria-current="page"' in pages["phases/index.html"]
    assert 'href="../../phases/" aria-current="true"' in pages[BRAKE]
    assert "aria-current" not in pages["lessons/index.html"]


def hostile(value: Any, key: str = "") -> Any:
    """*value* with a hostile text in every field of several words that authors write."""
    if isinstance(value, dict):
        return {name: hostile(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [hostile(entry, key) for entry in value]
    free = isinstance(value, str) and " " in value and key != "interfaces"
    return f"{value}<script/x>'\"&`<b>`*<i/x>*" if free else value


def test_no_field_of_a_source_can_put_a_tag_on_a_page(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    for path in [*root.rglob("*.yaml"), *root.rglob("lesson.md")]:
        opening, front, body = ("", path.read_text("utf-8"), "")
        if path.suffix == ".md":
            opening, front, body = front.split("---\n", 2)
        if path.parent.name != "ui":
            rule = "---\n" if path.suffix == ".md" else ""
            text = json.dumps(hostile(yaml.load(front, yaml.BaseLoader)), indent=1)
            text = re.sub(r'": "(\d+|true|false)"', r'": \1', text)
            put(path, f"{opening}{rule}{text}\n{rule}{body}")
    assert built(root).diagnostics == []
    for name, html in pages_of(root / "site").items():
        assert "<script/" not in html, name
        assert not {tag for tag, _ in Page(html).tags} & {"b", "i"}, name
        assert name.startswith(("404", "lessons/lap-times")) or "&lt;script/x&gt;" in html, name


def test_a_planned_lesson_says_so_first_and_shows_no_material(pages: dict[str, str]) -> None:
    html = pages[PLANNED]
    main = html.partition("<main")[2]
    assert "<title>Planned: " in html
    assert main.index('class="planned">Planned') < main.index("<h1>")
    assert main.index('class="planned">Planned') < main.index('class="crumbs"')
    for absent in ("quiz", "check", "downloads", "references", "evidence"):
        assert f'id="page-{absent}"' not in html
    for absent in ("index.md", "toc"):
        assert absent not in html


def test_an_authored_lesson_shows_everything_the_resource_has(pages: dict[str, str]) -> None:
    html = pages[BRAKE]
    for text in ("with three marks.", "35 min", "Core", "Edited", 'rel="prev"', 'rel="next"'):
        assert text in html
    assert 'rel="alternate" type="text/markdown" href="index.md"' in html
    assert 'href="../../concepts/#trail_brake"' in html
    assert 'href="../../downloads/brake-trace.ipynb" download' in html
    assert f'href="https://example.org/small-course/edit/main/{BRAKE_TRACE}"' in html
    assert "Planned: " not in html
    assert "Laptop" in pages[LAP]
    assert "How to read a trace" in pages[LAP]
    assert 'rel="next" href="../../lessons/brake-trace/"' in pages[LAP]  # of the next phase


def test_a_list_calls_the_minutes_of_a_planned_lesson_an_estimate(pages: dict[str, str]) -> None:
    html = pages["phases/braking/index.html"]
    assert "35 min</span>" in html
    assert "41 min (estimate)</span>" in html


def test_questions_work_without_script_and_carry_their_answers(
    root: Path, pages: dict[str, str]
) -> None:
    html = pages[LAP]
    assert html.count("<fieldset") == html.count("<legend>") == 4
    assert html.count('<details class="answer">') == 5  # four questions and the check
    assert html.index('id="page-before"') < html.index('id="idea-low-points-are-corners"')
    assert html.index('id="page-quiz"') > html.index('id="solution-mark-your-own-lap"')
    assert html.count('type="radio"') == html.count('type="checkbox"') == 2
    questions = resource(root / "site", "lessons/read-a-lap")["quiz"]["questions"]
    for question in questions:
        if question["kind"] != "numeric":
            assert f'data-answer="{" ".join(question["answer"])}"' in html
    assert 'data-value="61" data-tolerance="1"' in html
    assert html.count("this is not an exam") == 2


def test_an_absolute_address_and_full_links_are_written_where_they_are_asked_for(
    root: Path, tmp_path: Path
) -> None:
    base = "https://example.org/course/"
    site = tmp_path / "site"
    assert build(Options(root, site, base_url=base, file_urls=True)).written
    pages = pages_of(site)
    canonical = f'<link rel="canonical" href="{base}lessons/brake-trace/index.html">'
    assert canonical in pages[BRAKE]
    assert canonical in pages[OLD]
    assert f'href="{base}index.html"' in pages["404.html"]
    assert pages[BRAKE].count(base) == 2  # canonical and og:url
    for name, html in pages.items():
        for address in re.findall(r'<a [^>]*href="([^"#]*)', html):
            assert not address.endswith("/"), (name, address)


def test_an_old_address_leads_to_the_new_one(pages: dict[str, str]) -> None:
    html = pages[OLD]
    assert 'http-equiv="refresh" content="0; url=../../lessons/brake-trace/"' in html
    assert '<link rel="canonical" href="../../lessons/brake-trace/">' in html
    assert '<a href="../../lessons/brake-trace/">Read a brake trace</a>' in html


def test_right_to_left_languages_turn_the_page(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    edited(root, "content/course.yaml", ("lang: en", "lang: ar-EG"))
    put(root / "content/ui/ar-EG.yaml", (root / "content/ui/en.yaml").read_bytes())
    assert built(root).written
    assert '<html lang="ar-EG" dir="rtl">' in (root / "site/index.html").read_text("utf-8")


# -- 404.html ---------------------------------------------------------------------------------


def test_the_missing_page_needs_no_other_file_and_the_policy_allows_its_own_parts(
    root: Path, pages: dict[str, str]
) -> None:
    html = pages["404.html"]
    page = Page(html)
    assert not [attrs for attrs in page.all("script", "img") if "src" in attrs]
    assert [attrs["href"] for attrs in page.all("link")] == ["data:,"]
    assert "beginning of this site" in html
    parts = re.search(r"<style>(.*?)</style>.*<script>(.*?)</script>", html, re.S)
    assert parts is not None
    policy = (root / "site/_headers").read_text("utf-8")
    for part in parts.groups():
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("index", ["", "index.html"])
def test_the_missing_page_finds_the_home_page(index: str) -> None:
    homes = {
        "/course/lessons/nothing/": "/course/",
        "/lessons/nothing/": "/",
        "/a/b/api/v1/lessons/x.json": "/a/b/",
        "/course/nothing": "/course/",
        "/nothing": "/",
    }
    script = (TEMPLATES / "not_found.js").read_text(encoding="utf-8")
    frame = (
        f"for(const path of {list(homes)}){{"
        f"const found={{home:{{dataset:{{index:{index!r}}}}},words:{{}}}};"
        "globalThis.document={getElementById:id=>found[id]};"
        f"globalThis.location={{pathname:path}};{script};"
        "console.log(found.home.href, found.home.hidden, found.words.hidden)}"
    )
    done = subprocess.run(["node", "-e", frame], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{home}{index} false true" for home in homes.values()]


# -- print edition ----------------------------------------------------------------------------


def test_a_moved_body_keeps_its_links_and_gets_its_own_ids() -> None:
    html = (
        '<h2 id="a">x</h2><a href="#a">s</a><a href="../b/#c">l</a><img src="p.svg" alt="">'
        '<a href="https://example.org/x">e</a><details class="solution"><p>1 &lt; 2 id="no"</p>'
        "</details>"
    )
    assert move_body(html, "own", "lessons/own/", "../") == (
        '<h3 id="own--a">x</h3><a href="#own--a">s</a><a href="../lessons/b/#c">l</a>'
        '<img src="../lessons/own/p.svg" alt=""><a href="https://example.org/x">e</a>'
        '<details class="solution" open><p>1 &lt; 2 id="no"</p></details>'
    )


def test_the_print_edition_holds_every_lesson_with_open_solutions(pages: dict[str, str]) -> None:
    html = pages["print/data-driver.html"]
    assert html.count("<article") == 3
    assert '<details class="solution" open>' in html
    assert 'id="brake-trace--exercise-mark-three-points"' in html
    assert "No lesson material exists yet." in html


# -- inline text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        ("`v^2/r` is *not* free", "<code>v^2/r</code> is <em>not</em> free"),
        ("**all** of it", "<strong>all</strong> of it"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("one ` tick", "one ` tick"),
    ],
)
def test_inline_text_becomes_safe_elements(source: str, expected: str) -> None:
    assert inline(source) == expected


def test_prose_has_paragraphs_and_plain_text_has_no_markers() -> None:
    assert prose("one *x*\n\ntwo") == "<p>one <em>x</em></p><p>two</p>"
    assert plain("`a` and *b*") == "a and b"


# -- style sheet ------------------------------------------------------------------------------

STYLE = bundle().files[bundle().paths["site.css"]].decode()
TOKENS = (ASSETS / "site.css" / "10-tokens.css").read_text(encoding="utf-8")
COLOURS = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", TOKENS))

TEXT_ON = [
    *[(text, ground) for text in ("ink", "soft", "accent") for ground in ("paper", "sheet")],
    *[(f"code-{kind}", "sheet") for kind in ("word", "text", "note", "number", "name")],
    *[(text, "wash") for text in ("ink", "accent")],
    *[(text, "well") for text in ("ink", "soft")],
    *[(text, ground) for text in ("mark", "wrong") for ground in ("paper", "sheet")],
    ("ink", "mark-wash"),
    ("mark", "mark-wash"),
    ("on-accent", "accent"),
    ("paper", "ink"),
    *[(f"plot-{n}", "sheet") for n in range(1, 7)],  # names in a legend
]
BORDER_ON = [(line, ground) for line in ("edge", "accent", "ink") for ground in ("paper", "sheet")]


def test_colours_keep_their_contrast() -> None:
    least = [(*pair, 4.5) for pair in TEXT_ON] + [(*pair, 3.0) for pair in BORDER_ON]
    for front, back, ratio in least:
        for one, other in zip(COLOURS[front].split(", "), COLOURS[back].split(", "), strict=True):
            assert compute_contrast(one, other) >= ratio, (front, back)


def test_the_contrast_table_covers_every_colour_but_the_hairline() -> None:
    used = {name for pair in TEXT_ON + BORDER_ON for name in pair}
    assert set(COLOURS) - used == {"line"}


def test_the_token_sheet_is_the_only_place_with_colours() -> None:
    print_start = STYLE.index("@media print")
    rules = STYLE[:print_start].replace(TOKENS, "")
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[^{]*;)", rules) == []


def test_every_token_that_is_used_exists() -> None:
    assert set(re.findall(r"var\(--([\w-]+)", STYLE)) <= set(re.findall(r"--([\w-]+):", TOKENS))


def test_the_style_sheet_uses_logical_directions() -> None:
    physical = re.findall(
        r"(?:margin|padding|border)-(?:left|right|top|bottom)|(?<![-\w])(?:left|right):|"
        r"text-align: (?:left|right)|float: (?:left|right)",
        STYLE,
    )
    assert physical == []


# -- assets and words -------------------------------------------------------------------------


def test_an_asset_is_named_by_its_bytes() -> None:
    assets = bundle()
    scripts = {"reader.js", "run.js", "search.js", "site.js", "trace.js"}
    assert set(assets.paths) == {"icon.svg", "site.css", *scripts}
    for name, path in assets.paths.items():
        assert path == hash_path(name, assets.files[path])
        assert re.fullmatch(rf"assets/\w+\.[0-9a-f]{{8}}\.{name.rpartition('.')[2]}", path)
    assert hash_path("a.js", b"1") != hash_path("a.js", b"2")


def test_every_interface_word_is_used() -> None:
    words = english().keys() - {"kinds"}
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted(TEMPLATES.parents[1].rglob("*"))
        if path.suffix in (".py", ".html", ".svg")
    )
    made = ("alert_", "level_", "review_", "artifact_", "trace_")
    groups = ("pathways", "roles", "projects")
    summaries = {f"{one}_summary" for one in groups} | {f"llms_{one}_text" for one in groups}
    unused = {
        key
        for key in words
        if not key.startswith(made) and key not in summaries
        if f"w.{key} " not in sources and f'"{key}"' not in sources and f"'{key}'" not in sources
    }
    assert unused == set()
