"""Link targets as authors write them, and the URL that a page uses for each."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from course.diagnostics import nearest
from course.read.files import split_number

KINDS: Final = {
    "lesson": "lessons",
    "phase": "phases",
    "pathway": "pathways",
    "role": "roles",
    "domain": "domains",
    "project": "projects",
}
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)\Z", re.DOTALL)
_UP: Final = "../../"


class Target(NamedTuple):
    """Where a link goes, or the code of the rule that it breaks.

    ``kind`` is set for targets that only the whole course can confirm: one of KINDS,
    ``concept``, ``self`` (an anchor of this page) or ``external``; ``folder`` is what a relative
    link names.
    """

    kind: str = ""
    id: str = ""
    anchor: str = ""
    url: str = ""
    folder: str = ""
    code: str = ""
    message: str = ""
    hint: str | None = None


def read(raw: str, folder: str, media: Mapping[str, str], *, image: bool = False) -> Target:
    """The target of *raw* in a text of *folder* (POSIX path); *media* maps files to URLs."""
    if raw.startswith("#"):
        anchor = _decode_anchor(raw[1:])
        return Target("self", "", anchor, f"#{anchor}")
    if match := _SCHEME.match(raw):
        return _read_scheme(match[1].lower(), match[2], raw, image=image)
    if raw.startswith(("/", "\\")) or not raw:
        return Target(
            code="LNK003",
            message="the link is empty" if not raw else "the link is an absolute path",
            hint="write lesson:ID, or a path relative to this file",
        )
    path, _, anchor = raw.partition("#")
    return _read_relative(unquote(path), _decode_anchor(anchor), folder, media)


def resolve_url(target: Target, file_urls: bool) -> str:
    """The URL of *target* from a page two folders below the site root."""
    if target.url or not target.kind:
        return target.url
    tail = f"#{target.anchor}" if target.anchor else ""
    index = "index.html" if file_urls else ""
    if target.kind == "concept":
        return f"{_UP}concepts/{index}#{target.id}"
    return f"{_UP}{KINDS[target.kind]}/{target.id}/{index}{tail}"


def resolve_inside(raw: str, folder: str) -> str:
    """The relative link *raw* of a text in *folder* as a path from that folder."""
    full = posixpath.normpath(posixpath.join(folder, unquote(raw.partition("#")[0])))
    return posixpath.relpath(full, folder)


def check_external(raw: str) -> tuple[str, str, str] | None:
    """Code, message and hint when the https or mailto URL *raw* must not be used."""
    try:
        parts = urlsplit(raw)
        host, user = parts.hostname, parts.username
    except ValueError:
        return "LNK003", "the URL cannot be read", "check the address"
    if user is not None:
        return "LNK006", "the URL carries credentials", "remove the part before @"
    if not host or " " in raw:
        return "LNK003", "the URL has no host", "write the full address"
    return None


def _decode_anchor(raw: str) -> str:
    """Return an anchor as the page has it; it may be written with percent signs or decomposed."""
    return raw if raw.isascii() and "%" not in raw else normalize("NFC", unquote(raw))


def _read_scheme(scheme: str, rest: str, raw: str, *, image: bool) -> Target:
    if image:
        return Target(
            code="LNK003",
            message="images must be files of the lesson",
            hint="put the file into media/ and write media/NAME",
        )
    if scheme in KINDS or scheme == "concept":
        name, _, anchor = rest.partition("#")
        return Target(scheme, name, _decode_anchor(anchor))
    if scheme == "https":
        if problem := check_external(raw):
            return Target(code=problem[0], message=problem[1], hint=problem[2])
        return Target("external", url=raw)
    if scheme == "mailto":
        return Target(url=raw)
    hint = "use https" if scheme == "http" else nearest(scheme, [*KINDS, "concept", "https"])
    return Target(
        code="LNK003",
        message=f'links with "{scheme[:20]}:" are not allowed',
        hint=hint or "use https, mailto, lesson:ID or a relative path",
    )


def _read_relative(path: str, anchor: str, folder: str, media: Mapping[str, str]) -> Target:
    full = posixpath.normpath(posixpath.join(folder, path))
    if not full.startswith("content/"):
        return Target(
            code="LNK004",
            message="the link leaves the content folder",
            hint="link to a lesson, or to a file in media/",
        )
    inside = posixpath.relpath(full, folder)
    if inside in media:
        return Target(url=media[inside])
    if same := next((name for name in media if name.casefold() == inside.casefold()), None):
        return Target(
            code="LNK005", message="the case of the file name differs", hint=f"write {same}"
        )
    parts = full.split("/")
    if parts[-1] in ("lesson.md", "phase.yaml", "project.yaml", "README.md"):
        parts = parts[:-1]
    if len(parts) in (3, 4) and parts[1] == "phases" and (number := split_number(parts[-1])):
        kind = "lesson" if len(parts) == 4 else "phase"
        return Target(kind, number[1], anchor, folder="/".join(parts))
    if len(parts) == 3 and parts[1] == "projects":
        return Target("project", parts[2], anchor)
    return Target(
        code="LNK001",
        message="the link points to nothing",
        hint=nearest(inside, media) or "write lesson:ID, or the path of a file in media/",
    )
