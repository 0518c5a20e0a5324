"""Links and images of a text: words that say where they go, targets that may be used."""

from __future__ import annotations

import re
from typing import Any, Final

from course.diagnostics import short
from course.read import links
from course.read.markdown.types import Outline

ALT_LIMIT: Final = 320
_VAGUE: Final = frozenset({"here", "click here", "link", "this", "this page", "more", "read more"})
_FILE_NAME: Final = re.compile(r"[\w.-]+\.(?:svg|png|webp|jpe?g|gif)\Z", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")


def check_link_text(out: Outline, text: str, start: int, end: int, *, pictured: bool) -> None:
    """A link has words that mean something out of context; a picture's words count."""
    if not text and not pictured:
        out.report("A11003", "the link has no text", start, end, hint="say where it goes")
    elif text.casefold().strip(" .!") in _VAGUE:
        message = f'the link text "{short(text)}" does not say where it goes'
        out.report("A11004", message, start, end, hint="use the title of the target")


def check_alternative(out: Outline, alt: str, start: int, end: int) -> None:
    """An image has an alternative text that says what it shows, at a length one can hear."""
    if not alt:
        hint = "say what it shows: ![brake pressure over time](media/trace.svg)"
        out.report("A11001", "the image has no alternative text", start, end, hint=hint)
    elif _FILE_NAME.match(alt):
        message = "the alternative text is a file name"
        out.report("A11006", message, start, end, hint="say what it shows")
    elif len(alt) > ALT_LIMIT:
        out.report(
            "A11008",
            "the alternative text is too long to listen to",
            start,
            end,
            expected=f"at most {ALT_LIMIT} characters",
            got=f"{len(alt)} characters",
            hint="move the detail into the text",
        )


def resolve(out: Outline, raw: str, start: int, end: int, *, image: bool) -> str:
    """The URL that the page uses; a target that needs the course is noted for the linker."""
    source = out.source
    target = links.read(raw, source.folder, source.media, image=image)
    if target.code:
        got = short(_CREDENTIALS.sub("//…@", raw))
        out.report(target.code, target.message, start, end, got=got, hint=target.hint)
    if target.kind:
        link: dict[str, Any] = {"kind": target.kind, "id": target.id, "anchor": target.anchor}
        if out.placed:
            link["at"] = list(out.span(start, end))
        out.body.links.append(link)
    return links.url(target, source.file_urls)


def inside(out: Outline, raw: str) -> str:
    """The path of an image below the folder of its text."""
    return links.inside(raw, out.source.folder)
