"""Pages: valid, accessible, self-contained HTML from resources, whatever the resources hold."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from course.publish.course_pages import not_found_hashes, not_found_page
from course.publish.lesson import LessonPages, move_body
from course.publish.shell import ASSETS, TEMPLATES, Shell, bundle, hashed_path, inline, plain, prose
from tests.course import samples

VOID = {"meta", "link", "input", "img", "br", "hr", "path", "circle", "rect"}


class Outline(HTMLParser):
    """Collects what the tests ask of one page; unbalanced tags are errors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.errors: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(html)
        self.close()
        self.errors += [f"open: {tag}" for tag in self.stack]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.errors.append(f"attribute twice in {tag}")
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.stack or self.stack.pop() != tag:
            self.errors.append(f"closes {tag}")

    def handle_data(self, data: str) -> None:
        if self.stack:
            self.text[self.stack[-1]] = self.text.get(self.stack[-1], "") + data

    def all(self, *tags: str) -> list[dict[str, str]]:
        return [attrs for tag, attrs in self.tags if tag in tags]


@cache
def site_pages() -> dict[str, str]:
    """Every page of the small course, by its path."""
    return samples.every_page(samples.site())


@cache
def outline(name: str) -> Outline:
    return Outline(site_pages()[name])


def test_every_tag_closes_and_every_id_is_used_once() -> None:
    for name in site_pages():
        ids = [attrs["id"] for _, attrs in outline(name).tags if "id" in attrs]
        assert outline(name).errors == [], name
        assert len(ids) == len(set(ids)), name


def test_a_page_has_language_title_main_and_one_h1() -> None:
    for name in site_pages():
        page = outline(name)
        assert page.all("html") == [{"lang": "en", "dir": "ltr"}], name
        assert page.text["title"].strip(), name
        assert len(page.all("main")) == len(page.all("h1")) == 1, name


def test_headings_never_skip_a_level() -> None:
    for name in site_pages():
        levels = [int(tag[1]) for tag, _ in outline(name).tags if re.fullmatch("h[1-6]", tag)]
        steps = [after - before for before, after in pairwise(levels)]
        assert levels[0] == 1, name
        assert max(steps, default=0) <= 1, name


def test_addresses_are_relative_and_anchors_exist() -> None:
    for name in site_pages():
        page = outline(name)
        ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
        for attrs in page.all("a", "link", "script", "img"):
            address = attrs.get("href", attrs.get("src", ""))
            assert not address.startswith(("/", "http:")), name
            if address.startswith("#"):
                assert address[1:] in ids, name
            for attribute in ("aria-describedby", "aria-labelledby", "for"):
                assert set(attrs.get(attribute, "").split()) <= ids, name


def test_a_strict_content_policy_finds_nothing_inline() -> None:
    for name in set(site_pages()) - {"404.html"}:
        page = outline(name)
        assert page.all("style") == [], name
        assert all("src" in attrs for attrs in page.all("script")), name
        for _, attrs in page.tags:
            assert not [key for key in attrs if key.startswith("on") or key == "style"], name


def test_a_page_opens_with_a_skip_link_and_has_named_navigation() -> None:
    for name in site_pages():
        if name == "404.html" or "old-name" in name or name.startswith("print/"):
            continue
        page = outline(name)
        assert page.all("a")[0] == {"class": "skip", "href": "#page-main"}, name
        assert len(page.all("header")) >= 1, name
        assert len(page.all("footer")) == 1, name
        labels = [attrs.get("aria-label") for attrs in page.all("nav")]
        assert all(labels), name
        assert len(labels) == len(set(labels)), name


def test_every_input_has_a_label_around_or_before_it() -> None:
    for name in ("lessons/brake-trace/index.html", "search/index.html"):
        html = site_pages()[name]
        pointed = set(re.findall(r'<label for="([^"]+)"', html))
        wrapped = re.findall(r"<label[^>]*>(?:(?!</label>).)*<input", html, re.S)
        bare = [i for i in re.findall(r'<input id="([^"]+)"', html) if i not in pointed]
        assert bare == []
        assert len(wrapped) + len(pointed) == html.count("<input")


def test_only_the_pages_of_a_section_mark_it_as_current() -> None:
    assert 'href="../phases/" aria-current="page"' in site_pages()["phases/index.html"]
    assert (
        'href="../../phases/" aria-current="true"' in site_pages()["lessons/brake-trace/index.html"]
    )
    assert "aria-current" not in site_pages()["lessons/index.html"]


def hostile(value: Any, key: str = "") -> Any:
    """*value* with a hostile text in every field that authors write."""
    if isinstance(value, dict):
        return {name: hostile(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [hostile(entry, key) for entry in value]
    fixed = {"html", "status", "kind", "stage", "level", "review", "equipment", "url", "part"}
    if isinstance(value, str) and key not in fixed and key != "contentHash":
        return value if key.lower().endswith(("id", "ids")) else f"{value}<script>'\"&`<b>`*<i>*"
    return value


def test_no_field_of_a_resource_can_put_a_tag_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    makers = ("lesson", "planned_lesson", "phase", "catalog", "pathway", "role", "domain")
    for maker in (*makers, "project", "ref", "related"):
        whole = getattr(samples, maker)

        def poisoned(*args: Any, _whole: Any = whole, **kwargs: Any) -> Any:
            return hostile(_whole(*args, **kwargs))

        monkeypatch.setattr(samples, maker, poisoned)
    for name, html in samples.every_page(samples.site()).items():
        tags = {tag for tag, _ in Outline(html).tags}
        assert "<script>" not in html or name == "404.html", name
        assert not tags & {"b", "i"}, name
        assert not Outline(html).errors, name


def test_a_planned_lesson_says_so_first_and_shows_no_material() -> None:
    html = site_pages()["lessons/tyre-window/index.html"]
    main = html.partition("<main")[2]
    assert outline("lessons/tyre-window/index.html").text["title"].startswith("Planned: ")
    assert main.index('class="planned">Planned') < main.index("<h1>")
    assert main.index('class="planned">Planned') < main.index('class="crumbs"')
    for absent in ('id="page-quiz"', 'id="page-check"', "index.md", "page-downloads", "toc"):
        assert absent not in html


def test_an_authored_lesson_shows_everything_the_resource_has() -> None:
    html = site_pages()["lessons/brake-trace/index.html"]
    lesson = samples.lesson()
    for block in lesson["content"]["blocks"]:
        assert block["html"] in html
    for text in [*lesson["evidence"], "35 min", "Core", "Laptop, Track day", "Edited", "01234567"]:
        assert text in html
    assert 'rel="alternate" type="text/markdown" href="index.md"' in html
    assert 'href="../../concepts/#trail_brake"' in html
    assert 'href="../../downloads/brake-trace.ipynb" download' in html
    assert "Planned: " not in html


@pytest.mark.parametrize("authored", [True, False])
def test_a_list_calls_the_minutes_of_a_planned_lesson_an_estimate(authored: bool) -> None:
    one = samples.lesson() if authored else samples.planned_lesson()
    phase = samples.catalog()["phases"][0] | {"lessons": [one | {"minutes": 41}]}
    catalog = samples.catalog() | {"phases": [phase]}
    pages = samples.course_pages(Shell(samples.site()), catalog=catalog).pages({})
    html = next(html for path, html in pages if path == f"{phase['url']}index.html")
    assert ("41 min</span>" in html) is authored
    assert ("41 min (estimate)</span>" in html) is not authored


def test_questions_work_without_script_and_carry_their_answers() -> None:
    html = site_pages()["lessons/brake-trace/index.html"]
    assert html.count("<fieldset") == html.count("<legend>") == 4
    assert html.count('<details class="answer">') == 5  # four questions and the check
    assert html.index('id="page-before"') < html.index('id="idea-three-points"')
    assert html.index('id="page-quiz"') > html.index('id="recap"')
    assert html.count('type="radio"') == 8
    assert html.count('type="checkbox"') == 4
    assert 'data-answer="a c"' in html
    assert 'data-value="12.5" data-tolerance="0.5"' in html
    assert html.count("this is not an exam") == 2


def test_a_lesson_without_options_renders() -> None:
    bare = samples.planned_lesson()
    for key in ("level", "references"):
        del bare[key]
    bare |= {"equipment": [], "objectives": ["Name two signals."]}
    alone: dict[str, Any] = {key: [] for key in samples.related()} | {
        "before": None,
        "after": None,
        "along": [],
    }
    html = LessonPages(Shell(samples.site())).page(bare, alone, "x/lesson.md")
    assert Outline(html).errors == []
    assert "page-references" not in html
    assert "page-part-of" not in html


def test_file_urls_name_the_index_file_in_every_link_to_a_page() -> None:
    for name, html in samples.every_page(samples.site(file_urls=True)).items():
        written = re.sub(r'<div class="block.*', "", html)  # the body's links are its author's
        for address in re.findall(r'<a [^>]*href="([^"#]*)', written):
            assert not address.endswith("/"), (name, address)


def test_a_base_url_adds_canonical_addresses_and_nothing_else() -> None:
    base = "https://example.org/course/"
    pages = samples.every_page(samples.site(base_url=base))
    lesson = pages["lessons/brake-trace/index.html"]
    assert f'<link rel="canonical" href="{base}lessons/brake-trace/">' in lesson
    assert (
        f'<link rel="canonical" href="{base}lessons/brake-trace/">'
        in (pages["lessons/old-name/index.html"])
    )
    assert f'href="{base}"' in pages["404.html"]
    files = Shell(samples.site(base_url=base, file_urls=True))
    assert f'href="{base}index.html"' in not_found_page(files)
    assert lesson.count(base) == 2  # canonical and og:url


def test_an_old_address_leads_to_the_new_one() -> None:
    html = site_pages()["lessons/old-name/index.html"]
    assert 'http-equiv="refresh" content="0; url=../../lessons/brake-trace/"' in html
    assert '<link rel="canonical" href="../../lessons/brake-trace/">' in html
    assert '<a href="../../lessons/brake-trace/">Brake trace</a>' in html


def test_right_to_left_languages_turn_the_page() -> None:
    arabic = samples.site(course=samples.COURSE | {"lang": "ar-EG"})
    assert '<html lang="ar-EG" dir="rtl">' in samples.course_pages(Shell(arabic)).search()


def test_edit_links_appear_only_when_the_repository_is_known() -> None:
    pages = LessonPages(Shell(samples.site(edit_base="https://example.org/edit/main/")))
    html = pages.page(samples.lesson(), samples.related(), "content/a b/lesson.md")
    assert 'href="https://example.org/edit/main/content/a b/lesson.md"' in html
    assert "Edit this page" not in site_pages()["lessons/brake-trace/index.html"]


# -- 404.html ---------------------------------------------------------------------------------


def test_the_missing_page_needs_no_other_file() -> None:
    html = site_pages()["404.html"]
    page = outline("404.html")
    assert not [attrs for attrs in page.all("script", "img") if "src" in attrs]
    assert [attrs["href"] for attrs in page.all("link")] == ["data:,"]
    assert "beginning of this site" in html


def test_the_policy_hashes_are_those_of_the_missing_page() -> None:
    html = site_pages()["404.html"]
    parts = re.search(r"<style>(.*?)</style>.*<script>(.*?)</script>", html, re.S)
    assert parts is not None
    digests = [
        base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in parts.groups()
    ]
    assert list(not_found_hashes()) == [f"'sha256-{digest}'" for digest in digests]


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


def test_the_print_edition_holds_every_lesson_with_open_solutions() -> None:
    html = site_pages()["print/track-coach.html"]
    assert html.count("<article") == 3
    assert '<details class="solution" open>' in html
    assert 'id="brake-trace--recap"' in html
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


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb by WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_keep_their_contrast() -> None:
    least = [(*pair, 4.5) for pair in TEXT_ON] + [(*pair, 3.0) for pair in BORDER_ON]
    for front, back, ratio in least:
        for one, other in zip(COLOURS[front].split(", "), COLOURS[back].split(", "), strict=True):
            high, low = sorted((luminance(one), luminance(other)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= ratio, (front, back)


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
        assert path == hashed_path(name, assets.files[path])
        assert re.fullmatch(rf"assets/\w+\.[0-9a-f]{{8}}\.{name.rpartition('.')[2]}", path)
    assert hashed_path("a.js", b"1") != hashed_path("a.js", b"2")


def test_every_interface_word_is_used() -> None:
    words, _ = samples.words()
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
