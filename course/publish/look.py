"""The looks of a course: its picture on the home page, its logo, and its colours as a style."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from course.publish.shell import ASSETS, attribute, hash_path, html
from course.read.look import DEFAULTS

_PROLOG: Final = re.compile(r"^\s*(?:<\?xml[^>]*\?>)?\s*(?:<!--.*?-->\s*)*", re.DOTALL)


def style(course: Mapping[str, Any]) -> bytes:
    """The rules that put the colours of *course* in place of the tool's; empty without any."""
    rules = [
        f"--{name}: light-dark({pair['light']}, {pair['dark']});"
        for name, pair in course.get("colours", {}).items()
    ]
    if "accent" in course.get("colours", {}):
        rules.append("--code-name: var(--accent);")
        rules.append("--wash: color-mix(in srgb, var(--accent) 13%, var(--paper));")
    return f":root {{ {' '.join(rules)} }}\n".encode() if rules else b""


def icon(course: Mapping[str, Any], media: Mapping[str, bytes]) -> bytes:
    """The picture in the tab of the browser: the mark of *course*, or the tool's in its accent."""
    if (logo := course.get("logo", "")) in media:
        return media[logo]
    accent = course.get("colours", {}).get("accent", {}).get("light", DEFAULTS["accent"][0])
    return (
        (ASSETS / "icon.svg").read_bytes().replace(DEFAULTS["accent"][0].encode(), accent.encode())
    )


def mark(course: Mapping[str, Any], media: Mapping[str, bytes]) -> str:
    """Return the SVG of the logo next to the name of *course*; empty without one."""
    logo = course.get("logo", "")
    return _inline(media[logo]) if logo in media else ""


def social(course: Mapping[str, Any], media: Mapping[str, bytes]) -> dict[str, bytes]:
    """The picture that goes with links to the site, by its path; empty without one."""
    if "social" not in course:
        return {}
    data = media[course["social"]]
    return {hash_path(course["social"].rpartition("/")[2], data): data}


def hero(course: Mapping[str, Any], media: Mapping[str, bytes]) -> tuple[Markup, dict[str, bytes]]:
    """The figure of the home page, and the files that it needs by path from the site root.

    An SVG becomes part of the page, so that it can use the colours of the page (``var(--ink)``);
    one with a style of its own, and any other picture, stays a file.
    """
    name = course.get("hero", {}).get("image", "")
    if name not in media:
        return Markup(""), {}
    files: dict[str, bytes] = {}
    alt, caption = attribute(course["hero"]["alt"]), course["hero"].get("caption", "")
    if name.endswith(".svg") and b"<style" not in media[name]:
        picture = f'<div role="img" aria-label="{alt}">{_inline(media[name])}</div>'
    else:
        path = hash_path(name.rpartition("/")[2], media[name])
        files[path] = media[name]
        picture = f'<img src="{path}" alt="{alt}">'
    text = f"\n<figcaption>{html(caption)}</figcaption>" if caption else ""
    figure = f'<figure class="hero">\n{picture}{text}\n</figure>'
    return Markup(figure), files  # noqa: S704  (escaped, and an SVG that images.py has let pass)


def _inline(svg: bytes) -> str:
    """The element of an SVG file, without what may stand before it."""
    return _PROLOG.sub("", svg.decode("utf-8"), count=1).strip()
