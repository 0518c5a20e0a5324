"""HTML as a browser reads it: addresses and handlers of a page, for tests of hostile sources."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Targets(HTMLParser):
    """The addresses and handlers of a page as a browser reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.names: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.found += [(name, value or "") for name, value in attrs]


def assert_harmless(html: str) -> None:
    """No address that runs code and no handler in *html*."""
    for name, value in Targets(html).found:
        assert not name.startswith("on")
        if name in ("href", "src"):
            plain = re.sub(r"[\x00-\x20]", "", value).casefold()
            schemes = ("javascript:", "data:", "vbscript:", "//", "\\")
            assert plain == "data:," or not plain.startswith(schemes)
