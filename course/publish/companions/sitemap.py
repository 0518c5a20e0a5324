"""The list of pages for search engines, and the file that names it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


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
    """A `robots.txt` that allows everything and names the site map."""
    return f"User-agent: *\nAllow: /\n\nSitemap: {base_url}sitemap.xml\n"
