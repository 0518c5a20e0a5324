"""Site generators to compare with: the same lessons, a plain template, code highlighting on.

They get the practice questions as Markdown, so that every page shows the same text. Every peer
writes one HTML page a lesson and an index; none of them validates, and only those that say so
write JSON.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from bench.lessons import Lesson, front_matter, practice, write_content

ROOT: Final = Path(__file__).resolve().parent.parent
ELEVENTY: Final = ("@11ty/eleventy@3.1.7", "@11ty/eleventy-plugin-syntaxhighlight@5.0.2")
PYTHON_PEERS: Final = ("mkdocs==1.6.1", "pelican==4.12.0", "markdown==3.11.3", "pygments==2.19.2")


class Site(NamedTuple):
    """A generator's input on disk and the command that builds it."""

    folder: Path
    command: tuple[str, ...]
    output: Path
    lesson: Path  # the source that "one lesson changed" edits
    caches: tuple[Path, ...] = ()


class Peer(NamedTuple):
    """A generator: how to find it and how to lay out its input."""

    name: str
    program: Callable[[Path], Path]
    prepare: Callable[[Path, Path, list[Lesson]], Site]


def prepare_ours(_program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    """Our build: validation, five kinds of resource, companions and search included."""
    write_content(lessons, folder)
    shutil.copytree(ROOT / "content" / "ui", folder / "content" / "ui")
    out = folder / "site"
    command = (sys.executable, str(ROOT / "build.py"), "build")
    arguments = ("--root", str(folder), "--out", str(out))
    lesson = next((folder / "content").rglob("lesson.md"))
    return Site(folder, command + arguments, out, lesson, (folder / ".course-cache",))


def _prepare_hugo(program: Path, folder: Path, lessons: list[Lesson], *, with_json: bool) -> Site:
    outputs = ["HTML", "JSON"] if with_json else ["HTML"]
    config = {
        "baseURL": "/",
        "title": "Lessons",
        "disableKinds": ["taxonomy", "term", "RSS", "sitemap", "404"],
        "outputs": {"page": outputs, "section": ["HTML"], "home": ["HTML"]},
    }
    _write(folder / "config.json", json.dumps(config))
    layouts = folder / "layouts" / "_default"
    _write(layouts / "single.html", _page("{{ .Title }}", _HUGO_BODY))
    _write(layouts / "list.html", _page("{{ .Title }}", _HUGO_LIST))
    _write(layouts / "single.json", _HUGO_JSON)
    for lesson in lessons:
        _write(folder / "content" / "lessons" / f"{lesson.id}.md", _source(lesson))
    first = folder / "content" / "lessons" / f"{lessons[0].id}.md"
    out = folder / "public"
    return Site(folder, (str(program), "--quiet", "--destination", str(out)), out, first)


def _prepare_hugo_html(program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    return _prepare_hugo(program, folder, lessons, with_json=False)


def _prepare_hugo_json(program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    return _prepare_hugo(program, folder, lessons, with_json=True)


def _prepare_eleventy(program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    plugin = program.parent.parent / "eleventy-plugin-syntaxhighlight"
    _write(folder / "eleventy.config.cjs", _ELEVENTY_CONFIG.replace("PLUGIN", str(plugin)))
    source = folder / "src"
    _write(source / "_includes" / "lesson.njk", _page("{{ title }}", _ELEVENTY_BODY))
    _write(source / "lessons" / "lessons.json", '{"layout": "lesson.njk", "tags": "lesson"}')
    _write(source / "index.njk", _page("Lessons", _ELEVENTY_LIST))
    for lesson in lessons:
        _write(source / "lessons" / f"{lesson.id}.md", _source(lesson))
    out = folder / "_site"
    command = ("node", str(program), "--quiet", "--config=eleventy.config.cjs")
    return Site(folder, command, out, source / "lessons" / f"{lessons[0].id}.md")


def _prepare_mkdocs(program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    config = {
        "site_name": "Lessons",
        "theme": {"name": None, "custom_dir": "theme"},
        "plugins": [],
        "markdown_extensions": ["tables", "fenced_code", "codehilite"],
    }
    _write(folder / "mkdocs.yml", json.dumps(config))
    _write(folder / "theme" / "main.html", _page("{{ page.title }}", _MKDOCS_BODY))
    items = [f"- [{lesson.title}](lessons/{lesson.id}.md)" for lesson in lessons]
    _write(folder / "docs" / "index.md", "# Lessons\n\n" + "\n".join(items) + "\n")
    for lesson in lessons:
        _write(folder / "docs" / "lessons" / f"{lesson.id}.md", _source(lesson))
    first = folder / "docs" / "lessons" / f"{lessons[0].id}.md"
    out = folder / "site"
    return Site(folder, (str(program), "build", "--quiet", "--site-dir", str(out)), out, first)


def _prepare_pelican(program: Path, folder: Path, lessons: list[Lesson]) -> Site:
    _write(folder / "pelicanconf.py", _PELICAN_CONFIG)
    templates = folder / "theme" / "templates"
    _write(templates / "article.html", _page("{{ article.title }}", _PELICAN_BODY))
    _write(templates / "index.html", _page("Lessons", _PELICAN_LIST))
    (folder / "theme" / "static").mkdir()
    for lesson in lessons:
        head = f"Title: {lesson.title}\nSlug: {lesson.id}\nSummary: {lesson.summary}\n"
        text = f"{head}Date: 2026-01-01\n\n{lesson.body}{practice(lesson)}"
        _write(folder / "content" / f"{lesson.id}.md", text)
    out = folder / "output"
    command = (str(program), "--quiet", "-s", "pelicanconf.py", "-o", str(out), "content")
    return Site(folder, command, out, folder / "content" / f"{lessons[0].id}.md")


def _on_path(name: str) -> Callable[[Path], Path]:
    return lambda _tools: Path(shutil.which(name) or name)


PEERS: Final = (
    Peer("Hugo, HTML", _on_path("hugo"), _prepare_hugo_html),
    Peer("Hugo, HTML + JSON", _on_path("hugo"), _prepare_hugo_json),
    Peer(
        "Eleventy, HTML",
        lambda tools: tools / "node_modules" / "@11ty" / "eleventy" / "cmd.cjs",
        _prepare_eleventy,
    ),
    Peer("MkDocs, HTML", lambda tools: tools / "venv" / "bin" / "mkdocs", _prepare_mkdocs),
    Peer("Pelican, HTML", lambda tools: tools / "venv" / "bin" / "pelican", _prepare_pelican),
)


def install(tools: Path) -> None:
    """Install what is missing: Hugo as a system package, the others below *tools*."""
    tools.mkdir(parents=True, exist_ok=True)
    if not shutil.which("hugo"):
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        _try([*sudo, "apt-get", "install", "-q", "-y", "hugo"])
    if shutil.which("npm"):
        _try(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tools), *ELEVENTY])
    _try([sys.executable, "-m", "venv", str(tools / "venv")])
    _try([str(tools / "venv" / "bin" / "pip"), "install", "--quiet", *PYTHON_PEERS])


def _try(command: list[str]) -> None:
    """Run an installer; one that fails costs its peer, not the bench."""
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)


def _source(lesson: Lesson) -> str:
    """The lesson as the peers read it: our front matter, the same body, the questions."""
    return front_matter(lesson) + lesson.body + practice(lesson)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _page(title: str, body: str) -> str:
    head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
    main = f'<nav><a href="/">Lessons</a></nav>\n<main><h1>{title}</h1>\n{body}\n</main>'
    return f'<!doctype html>\n<html lang="en">\n{head}\n<body>{main}</body>\n</html>\n'


_HUGO_BODY: Final = """<p>{{ .Params.summary }}</p>
<ul>{{ range .Params.objectives }}<li>{{ . }}</li>{{ end }}</ul>
{{ .Content }}"""
_HUGO_LIST: Final = """<ul>{{ range .RegularPagesRecursive }}
<li><a href="{{ .RelPermalink }}">{{ .Title }}</a></li>{{ end }}</ul>"""
_HUGO_JSON: Final = (
    '{{ dict "schemaVersion" 1 "id" .Params.id "title" .Title "summary" .Params.summary '
    '"objectives" .Params.objectives "markdown" .RawContent "html" .Content | jsonify }}\n'
)
_ELEVENTY_CONFIG: Final = """\
module.exports = async function (config) {
  const { default: highlight } = await import("PLUGIN/.eleventy.js");
  config.addPlugin(highlight);
  return {
    dir: { input: "src" },
    markdownTemplateEngine: false,
    htmlTemplateEngine: "njk",
  };
};
"""
_ELEVENTY_BODY: Final = """<p>{{ summary }}</p>
<ul>{% for objective in objectives %}<li>{{ objective }}</li>{% endfor %}</ul>
{{ content | safe }}"""
_ELEVENTY_LIST: Final = """<ul>{% for lesson in collections.lesson %}
<li><a href="{{ lesson.url }}">{{ lesson.data.title }}</a></li>{% endfor %}</ul>"""
_MKDOCS_BODY: Final = """<p>{{ page.meta.summary }}</p>
<ul>{% for objective in page.meta.objectives %}<li>{{ objective }}</li>{% endfor %}</ul>
{{ page.content }}"""
_PELICAN_CONFIG: Final = """\
SITENAME = "Lessons"
TIMEZONE = "UTC"
THEME = "theme"
DIRECT_TEMPLATES = ["index"]
DEFAULT_PAGINATION = False
ARTICLE_URL = "lessons/{slug}/"
ARTICLE_SAVE_AS = "lessons/{slug}/index.html"
AUTHOR_SAVE_AS = CATEGORY_SAVE_AS = TAG_SAVE_AS = ""
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = None
AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
MARKDOWN = {
    "extension_configs": {
        "markdown.extensions.codehilite": {},
        "markdown.extensions.fenced_code": {},
        "markdown.extensions.tables": {},
        "markdown.extensions.meta": {},
    },
    "output_format": "html5",
}
"""
_PELICAN_BODY: Final = "{{ article.summary }}\n{{ article.content }}"
_PELICAN_LIST: Final = """<ul>{% for article in articles %}
<li><a href="{{ article.url }}">{{ article.title }}</a></li>{% endfor %}</ul>"""
