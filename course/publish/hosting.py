"""The headers of a file, and the files for hosts, search engines, feed readers and offline use."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from collections.abc import Iterable, Mapping
from enum import IntEnum
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any, Final

WORKER: Final = "sw.js"
"""Its path: a worker looks after the folder in which it lies."""

_SOURCE: Final = Path(__file__).with_name("worker.js")
_LIST: Final = "[/* every page, asset, picture and part of the search index */]"
_KEPT: Final = ("assets/", "media/", "search/")
_NOT_KEPT: Final = ("print/", "404")

PAGE: Final = "text/html; charset=utf-8"
TYPES: Final = {
    ".avif": "image/avif",
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".html": PAGE,
    ".ico": "image/x-icon",
    ".ipynb": "application/x-ipynb+json",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".mjs": "text/javascript; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".py": "text/x-python; charset=utf-8",
    ".sql": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
    ".zip": "application/zip",
}
_IMAGES: Final = frozenset(
    {suffix for suffix, kind in TYPES.items() if kind.startswith(("image/", "video/", "font/"))}
)
_HASHED_NAME: Final = re.compile(r"[.-][0-9a-f]{8,64}\.[a-z0-9]+$")

IMMUTABLE: Final = "public, max-age=31536000, immutable"
SHORT: Final = "public, max-age=60, stale-while-revalidate=600"
REVALIDATE: Final = "public, max-age=0, must-revalidate"
NEVER: Final = "no-store"

# No two patterns overlap: some hosts join the values of all rules that match.
_CACHING: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (IMMUTABLE, ("/assets/*", "/media/*", "/python/*")),
    (
        SHORT,
        (
            "/api/*",
            "/schemas/*",
            "/openapi.json",
            "/search/*",
            "/downloads/*",
            "/corpus/*",
            "/llms.txt",
            "/llms-full.txt",
            "/llms-full/*",
            "/feed.xml",
            "/sitemap.xml",
            "/robots.txt",
            "/build-manifest.json",
        ),
    ),
    (
        REVALIDATE,
        (
            "/",
            "/index.html",
            "/phases/*",
            "/lessons/*",
            "/concepts/*",
            "/pathways/*",
            "/roles/*",
            "/domains/*",
            "/projects/*",
            "/print/*",
            "/sw.js",
        ),
    ),
    (NEVER, ("/404.html", "/404.json")),
)
_OPEN: Final = ("/api/*", "/schemas/*", "/openapi.json")
# The body of a missing resource, for hosts that can choose a body for each path.
NOT_FOUND: Final = {
    "schemaVersion": 1,
    "error": {
        "status": 404,
        "code": "not_found",
        "message": "No resource exists for that identifier.",
        "catalog": "api/v1/catalog.json",
    },
}
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_DIGITS: Final = 16  # of the content hash, in the id of an entry


class Stage(IntEnum):
    """When a file goes up: a page or worker never names a file that is not there yet."""

    ASSETS = 0
    RESOURCES = 1
    PAGES = 2


def stage(path: str) -> Stage:
    """The upload stage of a path."""
    if path.endswith(".html") or path == WORKER:
        return Stage.PAGES
    if path.startswith(("assets/", "python/")) or PurePosixPath(path).suffix in _IMAGES:
        return Stage.ASSETS
    return Stage.RESOURCES


def content_type(path: str) -> str:
    """The media type a host should send for this path."""
    suffix = PurePosixPath(path).suffix
    unknown = "application/octet-stream" if suffix else "text/plain; charset=utf-8"
    return TYPES.get(suffix, unknown)


def cache_control(path: str) -> str:
    """How long a browser may keep this path; only names that carry a hash are kept for good."""
    if path.startswith("404."):
        return NEVER
    if path.startswith(("assets/", "python/")) or (
        path.startswith("media/") and _HASHED_NAME.search(path)
    ):
        return IMMUTABLE
    return REVALIDATE if path.endswith(".html") or path == WORKER else SHORT


def headers(not_found_hashes: Iterable[str], *, python: bool = False) -> str:
    """The file; *not_found_hashes* are the quoted `'sha256-…'` names of the style and script.

    With *python* pages may compile WebAssembly.

    They are the only inline parts of the site and stand in `404.html`, which a host may send
    for any path, so the policy of every path allows them.
    """
    style, script = not_found_hashes
    compiled = "'wasm-unsafe-eval' " if python else ""
    policy = "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {compiled}{script}",
            f"style-src 'self' {style}",
            "img-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )
    rules = [
        _rule(
            "/*",
            f"Content-Security-Policy: {policy}",
            "Referrer-Policy: strict-origin-when-cross-origin",
            "X-Content-Type-Options: nosniff",
        )
    ]
    for value, patterns in _CACHING:
        for pattern in patterns:
            shared = ("Access-Control-Allow-Origin: *",) if pattern in _OPEN else ()
            rules.append(_rule(pattern, f"Cache-Control: {value}", *shared))
    return "\n".join(rules)


def _rule(pattern: str, *lines: str) -> str:
    return "".join([f"{pattern}\n", *(f"  {line}\n" for line in lines)])


def sitemap(base_url: str, pages: Iterable[str]) -> str:
    """The site map of *pages* (addresses from the site root), sorted.

    *base_url* is absolute and ends with a slash. There is no date: none is true for every page.
    """
    lines = [
        f"  <url><loc>{escape(base_url)}{escape(page)}</loc></url>\n"
        for page in sorted(set(pages), key=str.encode)
    ]
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{''.join(lines)}</urlset>\n"
    )


def robots(base_url: str) -> str:
    """Return a `robots.txt` that allows everything and names the site map."""
    return f"User-agent: *\nAllow: /\n\nSitemap: {base_url}sitemap.xml\n"


def atom(catalog: Mapping[str, Any], base_url: str, index: str = "") -> str:
    """The feed of the authored lessons; the id of an entry names the content of its lesson.

    Readers take an entry for new when they do not know its id: so a version of the course brings
    them the lessons whose `contentHash` changed and no other, and the feed needs to know nothing
    of an earlier build. *base_url* is absolute and ends with a slash; *index* goes after the
    address of a page (its id stays the folder). The date is the `updated` of the lesson, else of
    the course.
    """
    course = catalog["course"]
    when = f"{course['updated']}T00:00:00Z"
    entries = [
        _entry(entry, base_url, when, index)
        for phase in catalog["phases"]
        for entry in phase["lessons"]
        if entry["status"] == "authored"
    ]
    title = escape(course["title"])
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{course["lang"]}">\n'
        f"  <id>{escape(base_url)}</id>\n"
        f"  <title>{title}</title>\n"
        f"  <subtitle>{escape(course['summary'])}</subtitle>\n"
        f"  <updated>{when}</updated>\n"
        f"  <author><name>{title}</name></author>\n"
        f"  <rights>{escape(course['licence'])}</rights>\n"
        f'  <link rel="self" type="application/atom+xml" href="{escape(base_url)}feed.xml"/>\n'
        f'  <link rel="alternate" type="text/html" href="{escape(base_url)}{index}"/>\n'
        f"{''.join(entries)}</feed>\n"
    )


def _entry(entry: Mapping[str, Any], base_url: str, when: str, index: str) -> str:
    address = escape(f"{base_url}{entry['url']}")
    state = entry["contentHash"].partition(":")[2][:_DIGITS]
    when = f"{entry['updated']}T00:00:00Z" if "updated" in entry else when
    return (
        "  <entry>\n"
        f"    <id>{address}#{state}</id>\n"
        f"    <title>{escape(entry['title'])}</title>\n"
        f"    <updated>{when}</updated>\n"
        f'    <link rel="alternate" type="text/html" href="{address}{index}"/>\n'
        f"    <summary>{escape(entry['summary'])}</summary>\n"
        "  </entry>\n"
    )


def bundle(files: Mapping[str, bytes]) -> bytes:
    """The archive of *files* (POSIX path to content): sorted, stored, dated 1980, mode 0644."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files, key=str.encode):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return out.getvalue()


def write_worker(course: str, paths: Iterable[str]) -> str:
    """Return the service worker of the site *course*, which consists of *paths*.

    It changes with the list of names, so that browsers drop files that are gone.
    """
    kept = sorted(
        path.removesuffix("index.html") if path.endswith("/index.html") else path
        for path in paths
        if path.startswith(_KEPT) or (path.endswith(".html") and not path.startswith(_NOT_KEPT))
    )
    names = ["" if path == "index.html" else path for path in kept]
    text = _SOURCE.read_text("utf-8").replace("COURSE", course)
    return text.replace(_LIST, json.dumps(names, indent=0))
