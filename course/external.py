"""`build.py check --external-links`: whether what the course links to still answers."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from course.build import link_course
from course.diagnostics import TOP, Diagnostic, Problem, diagnostic, order
from course.external_probe import Answer, Limits, probe
from course.options import Options
from course.publish.cache import read_json, write_json
from course.read.files import span_at
from course.read.models import plain
from course.read.sources import Item, Sources

FRESH_S: Final = 7 * 24 * 3600
CACHE_FILE: Final = "links.json"
# Hosts that are written for illustration and answer nothing.
ALLOWED: Final = ("example.org", "example.com", "example.net", "example")
_HREF: Final = re.compile(r'href="(https?://[^"]+)"')


@dataclass(frozen=True, slots=True)
class Link:
    """A use of an address: where it stands, by *path* in YAML or else by its text."""

    url: str
    file: str
    path: tuple[str | int, ...] | None = None


def external_problems(options: Options, limits: Limits | None = None) -> list[Diagnostic]:
    """LNK007, a warning, for every use of an address that does not answer.

    Addresses that answered in the last seven days are not asked again when there is a cache
    folder. Sources with errors are searched as far as they can be read.
    """
    loaded, _ = link_course(options)
    uses: dict[str, list[Link]] = {}
    for link in links(loaded):
        uses.setdefault(link.url.partition("#")[0], []).append(link)
    chosen = limits or Limits()
    urls = [url for url in uses if url.startswith(chosen.schemes) and not _allowed(url)]
    answers = _answers(urls, options.cache, chosen)
    found = [
        _placed(loaded, link, answers[url])
        for url in urls
        if not answers[url].good
        for link in uses[url]
    ]
    return order(found)


def links(loaded: Sources) -> Iterator[Link]:
    """Every address outside the course in bodies, front matter and YAML sources."""
    for record in loaded.lessons():
        yield from _in_data(record.front, record.file, ())
        yield from _in_html(
            (block["html"] for block in loaded.material(record).blocks), record.file
        )
    for project in loaded.projects:
        readme = f"{project.item.file.rpartition('/')[0]}/README.md"
        yield from _in_html((block["html"] for block in project.body.blocks), readme)
    items: list[Item[Any]] = [*loaded.pathways, *loaded.roles, *loaded.domains]
    items += [phase.item for phase in loaded.phases]
    items += [project.item for project in loaded.projects]
    for item in items:
        if item.view is not None:
            yield from _in_data(plain(item.view), item.file, ())
    if loaded.course is not None:
        yield from _in_data(plain(loaded.course), "content/course.yaml", ())


def _in_data(data: Any, file: str, path: tuple[str | int, ...]) -> Iterator[Link]:
    if isinstance(data, str) and data.startswith(("https://", "http://")):
        yield Link(data, file, path)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _in_data(value, file, (*path, key))
    elif isinstance(data, list):
        for number, item in enumerate(data):
            yield from _in_data(item, file, (*path, number))


def _in_html(blocks: Iterator[str], file: str) -> Iterator[Link]:
    urls = (html.unescape(url) for block in blocks for url in _HREF.findall(block))
    for url in dict.fromkeys(urls):
        yield Link(url, file)


def _allowed(url: str) -> bool:
    host = re.split(r"[/?#:]", url.partition("://")[2], maxsplit=1)[0].lower()
    return any(host == name or host.endswith(f".{name}") for name in ALLOWED)


def _answers(urls: list[str], folder: Path | None, limits: Limits) -> dict[str, Answer]:
    past = read_json(folder / CACHE_FILE) if folder else {}
    now = int(time.time())
    fresh = {url: when for url, when in past.items() if _is_fresh(when, now)}
    asked = [url for url in urls if url not in fresh]
    answers = asyncio.run(probe(asked, limits)) if asked else {}
    fresh |= {url: now for url, answer in answers.items() if answer.good}
    if folder and asked:
        write_json(folder / CACHE_FILE, dict(sorted(fresh.items())))
    return {url: answers.get(url, Answer(good=True)) for url in urls}


def _is_fresh(when: object, now: int) -> bool:
    return isinstance(when, int) and 0 <= now - when < FRESH_S


def _placed(loaded: Sources, link: Link, answer: Answer) -> Diagnostic:
    problem = Problem(
        "LNK007",
        link.file,
        "the linked address does not answer as it should",
        link.path,
        expected="a page",
        got=answer.why,
        hint=f"open {link.url} in a browser: correct the link, or remove it",
    )
    if link.path is not None:
        return loaded.place(problem)
    try:
        text = (loaded.root / link.file).read_bytes().decode("utf-8", "replace")
    except OSError:
        return diagnostic(problem, TOP)
    at = text.find(link.url)
    return diagnostic(problem, span_at(text, at, at + len(link.url)) if at >= 0 else TOP)
