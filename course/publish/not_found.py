"""``404.html``: a page that needs no other file, and the names its content policy knows it by."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from course.publish.shell import Shell
from course.publish.templating import TEMPLATES


def page(shell: Shell) -> str:
    """The page; without a base URL its script finds the home page from the address."""
    style, script = _parts()
    return shell.render(
        "not_found.html",
        base_url=shell.site.base_url or "",
        style=Markup(style),  # noqa: S704  (a file of this package)
        script=Markup(script),  # noqa: S704  (a file of this package)
    )


def hashes() -> tuple[str, str]:
    """Sources for a content policy that allow the page's style and its script."""
    style, script = (
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in _parts()
    )
    return f"'sha256-{style}'", f"'sha256-{script}'"


def _parts() -> tuple[str, str]:
    return (
        (TEMPLATES / "not_found.css").read_text(encoding="utf-8"),
        (TEMPLATES / "not_found.js").read_text(encoding="utf-8"),
    )
