"""The output check: every link, anchor and reference of the pages that were written."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from course.diagnostics import Problem, short

_ATTRIBUTE: Final = re.compile(
    r' (id|href|src|for|aria-labelledby|aria-describedby|aria-controls)="([^"]*)"'
)
_FREE: Final = ("https:", "mailto:", "data:")
_FOLDER: Final = "index.html"


def facts(path: str, html: str) -> dict[str, Any]:
    """Ids, targets and faults of one page, as data that JSON can hold.

    ``ids`` are its anchors; ``refs`` are ``path#anchor`` from the site root (anchor may be
    empty); ``faults`` are [code, text] pairs that need no other page.
    """
    ids: list[str] = []
    refs: dict[str, None] = {}
    faults: list[list[str]] = []
    folder = posixpath.dirname(path)
    for name, value in _ATTRIBUTE.findall(html):
        if name == "id":
            ids.append(value)
        elif name in ("href", "src"):
            if value.startswith(_FREE):
                continue
            if value.startswith("#"):
                refs[path + value] = None
            elif value.startswith("/") or "://" in value:
                faults.append(["OUT004", value])
            else:
                refs[_resolved(folder, value)] = None
        else:
            for part in value.split():
                refs[f"{path}#{part}"] = None
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        for one in ids:
            if one in seen:
                faults.append(["OUT003", one])
            seen.add(one)
    return {"ids": ids, "refs": list(refs), "faults": faults}


def targets(path: str, addresses: list[str], references: list[str]) -> set[str]:
    """The ``refs`` of :func:`facts` from addresses and references that a parser found."""
    folder = posixpath.dirname(path)
    found = {f"{path}#{one}" for one in references}
    for value in addresses:
        if value.startswith("#"):
            found.add(path + value)
        elif not value.startswith((*_FREE, "/")) and "://" not in value:
            found.add(_resolved(folder, value))
    return found


def _resolved(folder: str, value: str) -> str:
    """*value* of a page in *folder* as a path of a file from the site root, with its anchor.

    An address that climbs to the root means the same in every folder of that depth.
    """
    climb = "../" * (folder.count("/") + 1) if folder else ""
    if climb and value.startswith(climb) and not value.startswith("../", len(climb)):
        return _normal("", value[len(climb) :] or "./")
    return _normal(folder, value)


@lru_cache(maxsize=100_000)
def _normal(folder: str, value: str) -> str:
    target, mark, anchor = value.partition("#")
    target = target.partition("?")[0].replace("&amp;", "&")
    full = posixpath.normpath(posixpath.join(folder, target))
    if target.endswith("/") or full == "." or target in (".", ".."):
        full = _FOLDER if full == "." else f"{full}/{_FOLDER}"
    return f"{full}{mark}{anchor}" if anchor else full


def problems(pages: Mapping[str, Mapping[str, Any]], files: set[str]) -> Iterator[Problem]:
    """Broken targets of all *pages* (path to :func:`facts`) in a site of *files*."""
    anchors = {path: frozenset(page["ids"]) for path, page in pages.items()}
    for path, page in pages.items():
        for code, text in page["faults"]:
            message = (
                f'the id "{short(text)}" stands twice in the page'
                if code == "OUT003"
                else f'the page has an absolute address "{short(text)}"'
            )
            yield Problem(code, f"site/{path}", message, got=short(text), hint=_HINTS[code])
        for ref in page["refs"]:
            target, _, anchor = ref.partition("#")
            if target not in files:
                yield _lost("OUT001", path, target, f'no file "{short(target)}" is built')
            elif anchor and target in anchors and anchor not in anchors[target]:
                yield _lost("OUT002", path, ref, f'no element has the id "{short(anchor)}"')


_HINTS: Final = {
    "OUT001": "correct the link in the source or in the template",
    "OUT002": "correct the anchor in the source or in the template",
    "OUT003": "rename one of the two headings",
    "OUT004": "use a relative address",
}


def _lost(code: str, path: str, got: str, message: str) -> Problem:
    return Problem(code, f"site/{path}", message, got=short(got), hint=_HINTS[code])
