"""The deep check: every page through a real HTML parser, against the fast output check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Final

from course.build import run
from course.diagnostics import TOP, Diagnostic, Problem, diagnostic
from course.options import Options
from course.publish import outcheck
from course.publish.cache import Cache
from course.publish.manifest import File
from course.publish.tree import Outputs

_VOID: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)


class Memory(Outputs):
    """Keeps the pages; nothing is there already, so that every page is rendered."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, str] = {}

    def put(self, path: str, data: bytes) -> File:
        """Keep the file *path* when it is a page."""
        if path.endswith(".html"):
            self.pages[path] = data.decode()
        return super().put(path, data)

    def keep(self, path: str, file: File) -> bool:
        """Have every page made again."""
        return False


class _Page(HTMLParser):
    """Ids, addresses and the balance of the tags of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element points to."""
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.faults.append(f"<{tag}> has an attribute twice")
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src"):
                self.addresses.append(value or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A void element, or one of SVG that closes itself."""
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Tags close in the order in which they were opened."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing that is open")


def page_problems(path: str, html: str) -> Iterator[Problem]:
    """Faults of the markup, and differences between the two ways to read it."""
    page = _Page()
    page.feed(html)
    page.close()
    faults = page.faults + [f"<{tag}> is never closed" for tag in page.open]
    for fault in faults:
        message = f"not well-formed: {fault}"
        yield Problem("OUT007", f"site/{path}", message, hint="mend the template")
    quick = outcheck.facts(path, html)
    if page.ids != quick["ids"].split():
        yield Problem(
            "OUT007",
            f"site/{path}",
            "the fast check and the parser see different ids",
            expected=", ".join(page.ids[:5]),
            got=", ".join(quick["ids"].split()[:5]),
        )
    if outcheck.targets(path, page.addresses) != set(quick["refs"].split()):
        yield Problem("OUT007", f"site/{path}", "the fast check and the parser see different links")


def deep_problems(options: Options) -> list[Diagnostic]:
    """The problems that only a parser finds, over all pages of the course."""
    target = Memory()
    run(replace(options, jobs=1), target, Cache(None))  # what another process keeps is lost here
    return [
        diagnostic(problem, TOP)
        for path, html in target.pages.items()
        for problem in page_problems(path, html)
    ]
