"""Files of a built site as a static host sends them, and the host names that may ask."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from course.publish.hosting import PAGE, content_type

_HEADERS: Final = "_headers"
_INDEX: Final = "index.html"
_HASHED: Final = ("assets/", "media/")
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?\Z")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class File(NamedTuple):
    """A host's answer: a file, or for status 301 the ``location`` to go to."""

    status: int
    body: bytes = b""
    type: str = PAGE
    path: str = ""
    location: str = ""


def find(out: Path, raw: str) -> File:
    """The answer for the still encoded path *raw* below the site root (no leading slash).

    Reads at most one file, and nothing outside *out*, also not through links.
    """
    parts = _parts(raw)
    if parts is not None:
        root = os.path.realpath(out)
        if parts[-1] == "":
            parts[-1] = _INDEX
        elif _is_file(root, [*parts, _INDEX]):
            where = "/".join(quote(part) for part in parts)
            return File(301, path="/".join(parts), location=f"{where}/")
        body = _read(root, parts)
        if body is not None:
            path = "/".join(parts)
            return File(200, body, content_type(path), path)
    body = _read(os.path.realpath(out), ["404.html"])
    return File(404, body or b"<!doctype html><title>404</title><p>404: not found</p>\n")


def host_headers(out: Path, path: str) -> dict[str, str]:
    """Return the headers that ``_headers`` adds to *path*, except the lifetime.

    While an author works only what carries a hash in its name may be used unasked.
    """
    headers: dict[str, str] = {}
    text = _read(os.path.realpath(out), [_HEADERS]) or b""
    active = False
    for line in text.decode("utf-8", "replace").splitlines():
        if line[:1] == "/":
            active = fnmatchcase(f"/{path}", line.replace("[", "[[]"))
        elif active and ":" in line:
            name, _, value = line.strip().partition(":")
            headers[name] = value.strip()
    if not path.startswith(_HASHED):
        headers["Cache-Control"] = "no-cache"
    return headers


def _parts(raw: str) -> list[str] | None:
    """The decoded segments of a path; None for every spelling that could leave the folder."""
    try:
        parts = [unquote_to_bytes(part).decode() for part in raw.split("/")]
    except UnicodeDecodeError:
        return None
    for part in parts[:-1] if parts[-1] == "" else parts:
        if part in ("", ".", "..") or any(sign in part for sign in "/\\\0:"):
            return None
    return parts


def _is_file(root: str, parts: list[str]) -> bool:
    path = Path(root, *parts)
    try:
        return _stays(path) and path.is_file()
    except OSError:
        return False


def _read(root: str, parts: list[str]) -> bytes | None:
    try:
        return Path(root, *parts).read_bytes() if _is_file(root, parts) else None
    except OSError:
        return None


def _stays(path: Path) -> bool:
    """Whether no part of *path* is a link."""
    return os.path.realpath(path) == os.fspath(path)


def is_allowed_host(header: str, bound: str, local: str) -> bool:
    """Whether the ``Host`` *header* names this server.

    *bound* is the address that the server was told to listen on, *local* the one that the
    connection reached. A page of another site can point a name of its own at this machine, so
    only loopback names and that very address pass; bound to a network, also our own name.
    """
    match = _HOST.match(header)
    if match is None:
        return False
    name = match[1].strip("[]").lower()
    if name in _LOOPBACK or name in (bound.lower(), local.lower()):
        return not _is_unspecified(name)
    return not _is_loopback(bound) and name in _own_names()


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, f"{name.split('.')[0]}.local"}


def _is_loopback(bound: str) -> bool:
    try:
        return ipaddress.ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"


def _is_unspecified(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False
