"""The course as text for language models: an overview file and the full text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from course.publish.downloads import escape_text
from course.publish.shell import Labels, fill

SPLIT_ABOVE: Final = 1_000_000  # bytes of full text; up to here it is one file
FULL: Final = "llms-full.txt"


def llms_txt(
    catalog: Mapping[str, Any],
    pathways: Mapping[str, Any],
    projects: Mapping[str, Any],
    words: Labels,
    index: str = "",
) -> str:
    """The overview: start, authored lessons by phase, planned lessons, interface, optional files.

    The arguments are the three resources and the words of the interface; links to pages end with
    *index* (empty or `index.html`). The heading "Optional" means something to who reads such
    files and stays.
    """
    course, totals = catalog["course"], catalog["totals"]
    counts = {key: totals[key] for key in ("lessons", "authored", "planned")}
    facts = {key: course[key] for key in ("version", "updated", "licence")}
    status = f"{fill(words['llms_status'], **counts)} {fill(words['llms_version'], **facts)}"
    parts = [f"# {escape_text(course['title'])}", f"> {escape_text(course['summary'])}", status]
    parts += [f"## {words['llms_start']}", *_list(_start(catalog, pathways, index, words))]
    lessons = [entry for phase in catalog["phases"] for entry in phase["lessons"]]
    for phase in catalog["phases"]:
        if links := [
            _link(entry, f"{entry['url']}index.md")
            for entry in phase["lessons"]
            if entry["status"] == "authored"
        ]:
            heading = fill(words["llms_lessons"], title=escape_text(phase["title"]))
            parts += [f"## {heading}", *_list(links)]
    planned = [
        _link(entry, entry["url"] + index) for entry in lessons if entry["status"] == "planned"
    ]
    if planned:
        parts += [f"## {words['planned']}", *_list(planned)]
    parts += ["## API", *_list(_interface(catalog, words))]
    parts += ["## Optional", *_list(_optional(projects, index, words))]
    return "\n\n".join(parts) + "\n"


def llms_full(
    catalog: Mapping[str, Any],
    body: Callable[[str, str], str],
    words: Labels,
    root: str = "",
    index: str = "",
) -> Iterator[tuple[str, str]]:
    """All authored lessons in course order, as path and text: one file, or one a phase above 1 MB.

    *body* gives the Markdown of an authored lesson from its id and the way to the site root. When
    the text is split, `llms-full.txt` lists the parts.
    Links begin with *root* (the base address); without it they are relative to each file.
    """
    course = catalog["course"]
    head = f"# {escape_text(course['title'])}\n\n> {escape_text(course['summary'])}\n\n"
    phases = [
        phase
        for phase in catalog["phases"]
        if any(entry["status"] == "authored" for entry in phase["lessons"])
    ]
    whole = head + "\n".join(_phase(phase, body, root, index, words) for phase in phases)
    if len(whole.encode()) > SPLIT_ABOVE:
        whole = head
        for phase in phases:
            title = escape_text(phase["title"])
            whole += f"- [{title}]({root}{_part(phase)})\n"
            yield _part(phase), f"# {title}\n\n{_phase(phase, body, root or '../', index, words)}"
    yield FULL, whole


def _part(phase: Mapping[str, Any]) -> str:
    return f"llms-full/{phase['id']}.txt"


def _phase(
    phase: Mapping[str, Any],
    body: Callable[[str, str], str],
    root: str,
    index: str,
    words: Labels,
) -> str:
    """The authored lessons of a phase."""
    return "\n".join(
        f"# {escape_text(entry['title'])}\n\n{escape_text(entry['summary'])}\n\n"
        f"{words['llms_page']} {root}{entry['url']}{index}\n\n{body(entry['id'], root).strip()}\n"
        for entry in phase["lessons"]
        if entry["status"] == "authored"
    )


def _list(items: Iterable[str]) -> list[str]:
    joined = "\n".join(items)
    return [joined] if joined else []


def _link(entry: Mapping[str, Any], address: str, before: str = "") -> str:
    summary = escape_text(entry["summary"])
    return f"- [{escape_text(entry['title'])}]({address}): {before}{summary}"


def _page(entry: Mapping[str, Any], index: str, words: Labels) -> str:
    """A pathway or project, which says when it is planned."""
    planned = f"{words['planned']}. " if entry["status"] == "planned" else ""
    return _link(entry, entry["url"] + index, planned)


def _start(
    catalog: Mapping[str, Any], pathways: Mapping[str, Any], index: str, words: Labels
) -> Iterator[str]:
    summary = escape_text(catalog["course"]["summary"])
    yield f"- [{words['llms_phases']}](phases/{index}): {summary}"
    for pathway in pathways["pathways"]:
        yield _page(pathway, index, words)


def _interface(catalog: Mapping[str, Any], words: Labels) -> Iterator[str]:
    links = catalog["links"]
    yield f"- [{words['llms_catalog']}](api/v1/catalog.json): {words['llms_catalog_text']}"
    for name in ("pathways", "roles", "projects"):
        yield f"- [{words[name]}]({links[name]}): {words[f'llms_{name}_text']}"
    yield f"- {words['lessons']}: {links['lessonTemplate']}"
    yield f"- [{words['api_description']}]({links['openapi']}): {words['llms_openapi_text']}"


def _optional(projects: Mapping[str, Any], index: str, words: Labels) -> Iterator[str]:
    yield f"- [{words['llms_full']}]({FULL}): {words['llms_full_text']}"
    yield f"- [{words['llms_passages']}](corpus/chunks.jsonl): {words['llms_passages_text']}"
    for project in projects["projects"]:
        yield _page(project, index, words)
