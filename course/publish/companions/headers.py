"""The `_headers` file: caching, cross-origin access and content policy for hosts that read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_HASHED: Final = "public, max-age=31536000, immutable"
_STABLE: Final = "public, max-age=60, stale-while-revalidate=600"
_PAGE: Final = "public, max-age=0, must-revalidate"
_NEVER: Final = "no-store"

# No two patterns overlap: some hosts join the values of all rules that match.
_CACHING: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (_HASHED, ("/assets/*", "/media/*")),
    (
        _STABLE,
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
        _PAGE,
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
        ),
    ),
    (_NEVER, ("/404.html", "/404.json")),
)
_OPEN: Final = ("/api/*", "/schemas/*", "/openapi.json")


def headers(not_found_hashes: Iterable[str]) -> str:
    """The file; *not_found_hashes* are the quoted `'sha256-…'` names of the style and script.

    They are the only inline parts of the site and stand in `404.html`, which a host may send
    for any path, so the policy of every path allows them.
    """
    style, script = not_found_hashes
    policy = "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' {script}",
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
