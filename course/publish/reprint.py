"""The body of a lesson moved into a page that holds many lessons."""

from __future__ import annotations

import posixpath
import re
from typing import Final

_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>")
_ADDRESS: Final = re.compile(r'\b(href|src)="([^"]*)"')
_ID: Final = re.compile(r'\b(id|for|aria-labelledby|aria-describedby)="([^"]*)"')
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def move(html: str, owner: str, folder: str, root: str) -> str:
    """*html* of a page in *folder* as part of a page whose site root is *root*.

    Ids and links to them get the prefix *owner*, relative addresses are rewritten, headings go
    down one level and folded solutions open.
    """

    def identify(found: re.Match[str]) -> str:
        ids = " ".join(f"{owner}--{name}" for name in found[2].split())
        return f'{found[1]}="{ids}"'

    def readdress(found: re.Match[str]) -> str:
        address = found[2]
        if address.startswith("#"):
            return f'{found[1]}="#{owner}--{address[1:]}"'
        if _SCHEME.match(address):
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, address))
        slash = "/" if address.endswith("/") else ""
        return f'{found[1]}="{root}{path}{slash}"'

    def retag(found: re.Match[str]) -> str:
        close, name, attributes = found[1], found[2], found[3]
        if len(name) == 2 and name[0] == "h" and "1" <= name[1] <= "5":
            name = f"h{int(name[1]) + 1}"
        if name == "details" and not close and " open" not in attributes:
            attributes += " open"
        attributes = _ID.sub(identify, _ADDRESS.sub(readdress, attributes))
        return f"<{close}{name}{attributes}>"

    return _TAG.sub(retag, html)
