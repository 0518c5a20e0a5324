"""`build.py check --external-links`: whether what the course links to still answers."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from course.build import Options, link_course
from course.diagnostics import Diagnostic, Problem, sort_unique, span_at
from course.publish.cache import LINKS, read_json, write_json
from course.read.sources import Sources, plain
from course.rules import diagnose

FRESH_S: Final = 7 * 24 * 3600
# Hosts that are written for illustration and answer nothing.
ALLOWED: Final = ("example.org", "example.com", "example.net", "example")
_HREF: Final = re.compile(r'href="(https?://[^"]+)"')

_AGENT: Final = "paddock-link-check/1.0"
_ASK_AGAIN: Final = frozenset({403, 405, 501})
# The host is there and the page may be: it only does not want to talk to programs, or not now.
_RESERVED: Final = frozenset({401, 403, 429})


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of requests; *delay_s* separates the starts of two requests to one host."""

    workers: int = 8
    delay_s: float = 0.5
    timeout_s: float = 15.0
    redirects: int = 8
    schemes: tuple[str, ...] = ("https://",)


class Answer(NamedTuple):
    """Whether an address is good, and in a few words why not."""

    good: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A use of an address, placed by *path* in YAML, else by its text."""

    url: str
    file: str
    path: tuple[str | int, ...] | None = None


def check_external_links(options: Options, limits: Limits | None = None) -> list[Diagnostic]:
    """LNK007, a warning, for every use of an address that does not answer.

    Addresses that answered in the last seven days are not asked again when there is a cache
    folder. Sources with errors are searched as far as they can be read.
    """
    loaded, _ = link_course(options)
    uses: dict[str, list[Link]] = {}
    for link in links(loaded):
        uses.setdefault(link.url.partition("#")[0], []).append(link)
    chosen = limits or Limits()
    urls = [url for url in uses if url.startswith(chosen.schemes) and not _is_allowed(url)]
    answers = _answers(urls, options.cache, chosen)
    dead = [
        _place(loaded, link, answers[url])
        for url in urls
        if not answers[url].good
        for link in uses[url]
    ]
    return sort_unique(dead)


def links(loaded: Sources) -> Iterator[Link]:
    """Every address outside the course in bodies, front matter and YAML sources."""
    for record in loaded.lessons():
        yield from _in_data(record.front, record.file, ())
        if record.authored:
            yield from _in_html(loaded.material(record).content["blocks"], record.file)
    for project in loaded.projects:
        readme = f"{project.file.rpartition('/')[0]}/README.md"
        yield from _in_html(project.body.blocks, readme)
    for items in loaded.items().values():
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


def _in_html(blocks: Iterable[Mapping[str, str]], file: str) -> Iterator[Link]:
    urls = (html.unescape(url) for block in blocks for url in _HREF.findall(block["html"]))
    for url in dict.fromkeys(urls):
        yield Link(url, file)


def _is_allowed(url: str) -> bool:
    host = re.split(r"[/?#:]", url.partition("://")[2], maxsplit=1)[0].lower()
    return any(host == name or host.endswith(f".{name}") for name in ALLOWED)


def _answers(urls: list[str], folder: Path | None, limits: Limits) -> dict[str, Answer]:
    past = read_json(folder / LINKS) if folder else {}
    now = int(time.time())
    fresh = {url: when for url, when in past.items() if _is_fresh(when, now)}
    stale = [url for url in urls if url not in fresh]
    answers = asyncio.run(probe(stale, limits)) if stale else {}
    fresh |= {url: now for url, answer in answers.items() if answer.good}
    if folder and stale:
        write_json(folder / LINKS, dict(sorted(fresh.items())))
    return {url: answers.get(url, Answer(good=True)) for url in urls}


def _is_fresh(when: object, now: int) -> bool:
    return isinstance(when, int) and 0 <= now - when < FRESH_S


def _place(loaded: Sources, link: Link, answer: Answer) -> Diagnostic:
    problem = Problem(
        "LNK007",
        link.file,
        "the linked address does not work",
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
        return diagnose(problem)
    at = text.find(link.url)
    return diagnose(problem, span_at(text, at, at + len(link.url)) if at >= 0 else None)


async def probe(urls: list[str], limits: Limits) -> dict[str, Answer]:
    """The answer for each of *urls*: HEAD first, and GET where the host refuses that."""
    answers: dict[str, Answer] = {}
    waiting = list(reversed(urls))
    starts: dict[str, float] = {}
    timeout = aiohttp.ClientTimeout(total=limits.timeout_s)
    headers = {"User-Agent": _AGENT, "Accept": "*/*"}
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:

        async def work() -> None:
            while waiting:
                url = waiting.pop()
                answers[url] = await _ask(session, url, starts, limits)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(limits.workers, len(urls))):
                group.create_task(work())
    return answers


async def _ask(
    session: aiohttp.ClientSession, url: str, starts: dict[str, float], limits: Limits
) -> Answer:
    """The answer of one address; *starts* holds the next start of each host."""
    status = 0
    for method in ("HEAD", "GET"):
        try:
            host = urlsplit(url).netloc.lower()
            start = max(time.monotonic(), starts.get(host, 0.0))
            starts[host] = start + limits.delay_s
            await asyncio.sleep(start - time.monotonic())
            async with session.request(method, url, max_redirects=limits.redirects) as response:
                status = response.status
        except TimeoutError:
            return Answer(False, f"no answer within {limits.timeout_s:g} s")
        except aiohttp.TooManyRedirects:
            return Answer(False, f"more than {limits.redirects} redirects")
        except (aiohttp.ClientError, ValueError, OSError) as error:
            return Answer(False, _in_words(error))
        if status not in _ASK_AGAIN:
            break
    return Answer(status < 400 or status in _RESERVED, f"status {status}")


def _in_words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the host is unknown"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "the certificate is not valid"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection"
    return type(error).__name__
