"""The rules of pages: every link, anchor and reference, and the markup as a parser sees it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any, Final

from course.diagnostics import Problem, shorten

_NAMES: Final = "id href src for aria-labelledby aria-describedby aria-controls".split()
_ENDS: Final = "|".join(f'(?<= {name}=")' for name in _NAMES)
# The last letter of a name, and the value. The engine finds an equals sign faster than a name;
# most belong to a class.
_ATTRIBUTE: Final = re.compile(rf'="(?<!ss=")(?<=([dfcrys])=")(?:{_ENDS})([^"]*)"')
_ID, _ADDRESS = "d", "fc"  # how the names end whose values are anchors, and addresses
_FREE: Final = ("https:", "http:", "mailto:", "data:")
_FOLDER: Final = "index.html"


def read_facts(path: str, html: str) -> dict[str, Any]:
    """Ids, targets and faults of one page, as data that JSON can hold.

    ``ids`` are its anchors and ``refs`` the other files it names (``path#anchor`` from the site
    root, the anchor may be absent), each joined by blanks; ``faults`` are [code, text] pairs
    that need no other page.
    """
    ids: list[str] = []
    inside: list[str] = []
    refs: dict[str, None] = {}
    faults: list[list[str]] = []
    folder = posixpath.dirname(path)
    climb = _climb(folder)
    for name, value in _ATTRIBUTE.findall(html):
        if name == _ID:
            ids.append(value)
        elif name not in _ADDRESS:
            inside += value.split()
        elif value.startswith("#"):
            inside.append(value[1:])
        elif (ref := _climb_target(climb, value)) is not None:
            refs[ref] = None
        elif value.startswith("/") or ("://" in value and not value.startswith(_FREE)):
            faults.append(["OUT004", value])
        elif not value.startswith(_FREE):
            refs[_normal(folder, value)] = None
    anchors = set(ids)
    if len(anchors) != len(ids):
        faults += [["OUT003", anchor] for anchor in sorted(anchors) if ids.count(anchor) > 1]
    faults += [["OUT002", anchor] for anchor in dict.fromkeys(inside) if anchor not in anchors]
    return {"ids": " ".join(ids), "refs": " ".join(refs), "faults": faults}


def targets(path: str, addresses: list[str]) -> set[str]:
    """The ``refs`` of :func:`read_facts` from addresses that a parser found."""
    folder = posixpath.dirname(path)
    climb = _climb(folder)
    return {
        _climb_target(climb, value) or _normal(folder, value)
        for value in addresses
        if not value.startswith((*_FREE, "/", "#")) and "://" not in value
    }


def _climb(folder: str) -> str:
    """How an address in *folder* begins that leads to the site root; never empty."""
    return "../" * (folder.count("/") + 1) if folder else "./"


@lru_cache(maxsize=100_000)
def _climb_target(climb: str, value: str) -> str | None:
    """Return the target of an address that climbs to the root; None for other addresses."""
    below = value[len(climb) :]
    if not value.startswith(climb) or "://" in value or below.startswith("../"):
        return None
    return _normal("", below or "./")


@lru_cache(maxsize=100_000)
def _normal(folder: str, value: str) -> str:
    """*value* of a page in *folder* as a path of a file from the site root, with its anchor."""
    target, mark, anchor = value.partition("#")
    target = target.partition("?")[0].replace("&amp;", "&")
    full = posixpath.normpath(posixpath.join(folder, target))
    if target.endswith("/") or full == "." or target in (".", ".."):
        full = _FOLDER if full == "." else f"{full}/{_FOLDER}"
    return f"{full}{mark}{anchor}" if anchor else full


def check_links(pages: Mapping[str, Mapping[str, Any]], files: set[str]) -> Iterator[Problem]:
    """Broken targets of all *pages* (path to :func:`read_facts`) in a site of *files*."""
    anchors: dict[str, frozenset[str]] = {}
    for path, page in pages.items():
        for code, text in page["faults"]:
            message = _FAULTS[code].format(shorten(text))
            yield Problem(code, f"site/{path}", message, got=shorten(text))
        for ref in page["refs"].split():
            target, _, anchor = ref.partition("#")
            if target not in files:
                yield _report_lost("OUT001", path, target, f'no file "{shorten(target)}" is built')
            elif anchor and target in pages:
                if target not in anchors:
                    anchors[target] = frozenset(pages[target]["ids"].split())
                if anchor not in anchors[target]:
                    yield _report_lost(
                        "OUT002", path, ref, _FAULTS["OUT002"].format(shorten(anchor))
                    )


_FAULTS: Final = {
    "OUT002": 'no element has the id "{}"',
    "OUT003": 'the id "{}" appears twice in the page',
    "OUT004": 'the page has an absolute address "{}"',
}


def _report_lost(code: str, path: str, target: str, message: str) -> Problem:
    return Problem(code, f"site/{path}", message, got=shorten(target))


# -- the deep check: a real parser against the fast one -------------------------------------------

_VOID: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)


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


def check_markup(path: str, html: str) -> Iterator[Problem]:
    """Faults of the markup, and differences between the two ways to read it."""
    page = _Page()
    page.feed(html)
    page.close()
    faults = page.faults + [f"<{tag}> is never closed" for tag in page.open]
    for fault in faults:
        message = f"not well-formed: {fault}"
        yield Problem("OUT007", f"site/{path}", message, hint="correct the template")
    quick = read_facts(path, html)
    if page.ids != quick["ids"].split():
        yield Problem(
            "OUT007",
            f"site/{path}",
            "the fast check and the parser see different ids",
            expected=", ".join(page.ids[:5]),
            got=", ".join(quick["ids"].split()[:5]),
        )
    if targets(path, page.addresses) != set(quick["refs"].split()):
        yield Problem("OUT007", f"site/{path}", "the fast check and the parser see different links")
