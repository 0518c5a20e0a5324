"""Building synthetic lessons, compared with other site generators in the same run.

All build the same number of lessons. Ours includes its own course, checks everything and writes
resources, notebooks and search. The others write pages, and Hugo a JSON file for each lesson too.
Hugo is taken from the PATH, Eleventy from where npm installs it:
`npm install --prefix ~/.cache/paddock-bench @11ty/eleventy@3.1.7
@11ty/eleventy-plugin-syntaxhighlight@5.0.2`.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from bench.common import ROOT, TOOLS, Cost, Figure, run
from bench.lessons import Lesson, make_lessons, write, write_content

ELEVENTY: Final = TOOLS / "node_modules" / "@11ty" / "eleventy" / "cmd.cjs"
LESSONS: Final = 1000


class Site(NamedTuple):
    """The input of a generator and the command that builds it."""

    folder: Path
    command: tuple[str, ...]
    output: Path
    lesson: Path
    """The source that changes for the build with one lesson changed."""


def prepare_ours(folder: Path, lessons: list[Lesson]) -> Site:
    """Our build with every check, resources, companion files and search.

    The lessons of our own course count among the synthetic ones.
    """
    own_count = sum(1 for _ in (ROOT / "content" / "phases").glob("*/*/lesson.md"))
    write_content(make_lessons(max(1, len(lessons) - own_count)), folder)
    out = folder / "site"
    command = (sys.executable, str(ROOT / "build.py"), "build")
    lesson = next((folder / "content" / "phases").glob("9000-*/*/lesson.md"))
    return Site(folder, (*command, "--root", str(folder), "--out", str(out)), out, lesson)


def prepare_hugo(folder: Path, lessons: list[Lesson]) -> Site:
    """Hugo: pages and a JSON file for each lesson."""
    config = {
        "baseURL": "/",
        "title": "Lessons",
        "disableKinds": ["taxonomy", "term", "RSS", "sitemap", "404"],
        "outputs": {"page": ["HTML", "JSON"], "section": ["HTML"], "home": ["HTML"]},
    }
    write(folder / "config.json", json.dumps(config))
    layouts = folder / "layouts" / "_default"
    write(layouts / "single.html", page("{{ .Title }}", HUGO_BODY))
    write(layouts / "list.html", page("{{ .Title }}", HUGO_LIST))
    write(layouts / "single.json", HUGO_JSON)
    sources = write_sources(folder / "content" / "lessons", lessons)
    out = folder / "public"
    return Site(folder, ("hugo", "--quiet", "--destination", str(out)), out, sources[0])


def prepare_eleventy(folder: Path, lessons: list[Lesson]) -> Site:
    """Eleventy: pages with highlighted code."""
    plugin = ELEVENTY.parents[1] / "eleventy-plugin-syntaxhighlight"
    write(folder / "eleventy.config.cjs", ELEVENTY_CONFIG.replace("PLUGIN", str(plugin)))
    source = folder / "src"
    write(source / "_includes" / "lesson.njk", page("{{ title }}", ELEVENTY_BODY))
    write(source / "lessons" / "lessons.json", '{"layout": "lesson.njk", "tags": "lesson"}')
    write(source / "index.njk", page("Lessons", ELEVENTY_LIST))
    sources = write_sources(source / "lessons", lessons)
    command = ("node", str(ELEVENTY), "--quiet", "--config=eleventy.config.cjs")
    return Site(folder, command, folder / "_site", sources[0])


def write_sources(folder: Path, lessons: list[Lesson]) -> list[Path]:
    """Write the lessons as the others read them: front matter, body and questions."""
    paths = [folder / f"{lesson.id}.md" for lesson in lessons]
    for path, lesson in zip(paths, lessons, strict=True):
        lesson.write(path, practice=True)
    return paths


def page(title: str, body: str) -> str:
    """A plain page around the content of a generator."""
    head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
    main = f'<nav><a href="/">Lessons</a></nav>\n<main><h1>{title}</h1>\n{body}\n</main>'
    return f'<!doctype html>\n<html lang="en">\n{head}\n<body>{main}</body>\n</html>\n'


HUGO_BODY: Final = """<p>{{ .Params.summary }}</p>
<ul>{{ range .Params.objectives }}<li>{{ . }}</li>{{ end }}</ul>
{{ .Content }}"""
HUGO_LIST: Final = """<ul>{{ range .RegularPagesRecursive }}
<li><a href="{{ .RelPermalink }}">{{ .Title }}</a></li>{{ end }}</ul>"""
HUGO_JSON: Final = (
    '{{ dict "schemaVersion" 1 "id" .Params.id "title" .Title "summary" .Params.summary '
    '"objectives" .Params.objectives "markdown" .RawContent "html" .Content | jsonify }}\n'
)
ELEVENTY_CONFIG: Final = """\
module.exports = async function (config) {
  const { default: highlight } = await import("PLUGIN/.eleventy.js");
  config.addPlugin(highlight);
  return { dir: { input: "src" }, markdownTemplateEngine: false, htmlTemplateEngine: "njk" };
};
"""
ELEVENTY_BODY: Final = """<p>{{ summary }}</p>
<ul>{% for objective in objectives %}<li>{{ objective }}</li>{% endfor %}</ul>
{{ content | safe }}"""
ELEVENTY_LIST: Final = """<ul>{% for lesson in collections.lesson %}
<li><a href="{{ lesson.url }}">{{ lesson.data.title }}</a></li>{% endfor %}</ul>"""


def list_generators() -> dict[str, Callable[[Path, list[Lesson]], Site]]:
    """Ours and the others that are installed."""
    prepare: dict[str, Callable[[Path, list[Lesson]], Site]] = {"Paddock": prepare_ours}
    if shutil.which("hugo"):
        prepare["Hugo, HTML + JSON"] = prepare_hugo
    if ELEVENTY.is_file() and shutil.which("node"):
        prepare["Eleventy, HTML"] = prepare_eleventy
    return prepare


def measure(count: int, work: Path) -> dict[str, dict[str, Cost]]:
    """Time a cold build, one with nothing changed and one with one lesson changed."""
    lessons = make_lessons(count)
    sites = {}
    for name, prepare in list_generators().items():
        folder = work / name.split(",")[0].lower()
        folder.mkdir()
        sites[name] = prepare(folder, lessons)
    costs: dict[str, dict[str, Cost]] = {name: {} for name in sites}
    for name, site in sites.items():
        os.sync()
        for case in ("cold", "same", "one"):
            if case == "one":
                with site.lesson.open("a", encoding="utf-8") as source:
                    source.write("\nThis sentence is new.\n")
            costs[name][case] = run(site.command, site.folder)
        pages = sum(1 for _ in site.output.rglob("*.html"))
        if pages < count:
            raise RuntimeError(f"{name} wrote {pages} pages for {count} lessons")
    return costs


def figures() -> Iterator[Figure]:
    """One round of each build, in memory where possible, to leave out the disk."""
    memory = Path("/dev/shm")  # noqa: S108
    place = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="paddock-bench-", dir=place) as work:
        costs = measure(LESSONS, Path(work))
    ours = costs.pop("Paddock")
    what = f"{LESSONS:,} lessons, cold, every check"
    for peer, cost in costs.items():
        yield Figure(what, "s", ours["cold"].wall_s, peer, cost["cold"].wall_s)
    yield Figure(f"{what}, processor", "s", ours["cold"].cpu_s)
    yield Figure("one lesson changed", "s", ours["one"].wall_s)
    yield Figure("nothing changed", "s", ours["same"].wall_s)
