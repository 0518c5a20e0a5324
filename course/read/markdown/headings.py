"""Headings: levels without jumps, teaching kinds, and anchors as GitHub makes them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from course.diagnostics import short
from course.read.markdown.types import INTRO, Heading, Outline

_NOT_SLUG: Final = re.compile(r"[^\w\- ]")
_NEAR: Final = 0.75


def slug(text: str) -> str:
    """The anchor of a heading: GitHub's, with letters composed and signs like ² as digits."""
    if not text.isascii():
        text = "".join(map(_plain_number, unicodedata.normalize("NFC", text)))
    return github_slug(text)


def github_slug(text: str) -> str:
    """The anchor that GitHub gives a heading: letters and digits of any script, marks, - and _."""
    lower = text.lower()
    kept = _NOT_SLUG.sub("", lower) if lower.isascii() else "".join(filter(_in_slug, lower))
    return kept.strip().replace(" ", "-")


def _in_slug(sign: str) -> bool:
    return sign in " -" or sign.isalnum() or unicodedata.category(sign)[0] == "M" or sign == "_"


def _plain_number(sign: str) -> str:
    """*sign*, or for a number that is no digit (½, ²) its digits: nobody can type it in a link."""
    if unicodedata.category(sign) != "No":
        return sign
    return "".join(filter(str.isdecimal, unicodedata.normalize("NFKD", sign)))


class Headings:
    """The headings of one text, in order."""

    def __init__(self, out: Outline) -> None:
        self.out = out
        self.level = 1
        self.seen: dict[str, int] = {INTRO: 0}

    def add(self, level: int, text: str, start: int, end: int, *, nested: bool) -> None:
        """Check one heading, give it kind and anchor, keep it."""
        head = Heading(level, start, end, text, title=text)
        self._check(head, nested=nested)
        if level == 2 and self.out.source.teaching:
            self._name_kind(head)
        head.id = self._anchor(head)
        self.level = level
        self.out.headings.append(head)

    def finish(self) -> None:
        """Fill what the body says about its headings."""
        body = self.out.body
        for head in self.out.headings:
            if head.level == 1:
                continue
            body.anchors.append(head.id)
            title = head.title or head.text
            body.toc.append({"id": head.id, "level": head.level, "title": title})
            if head.level == 2:
                body.kinds.append((head.kind, self.out.line(head.start)))

    def _check(self, head: Heading, *, nested: bool) -> None:
        report, start, end = self.out.report, head.start, head.end
        if nested:
            report("MD006", "a heading inside a list or quotation", start, end, hint="move it out")
        if not head.text:
            report("A11007", "the heading has no text", start, end, hint="write a title")
        if head.level == 1 and (self.out.source.teaching or self.out.headings):
            hint = "begin with ##: the title is the only H1"
            report("MD002", "the body has a first-level heading", start, end, hint=hint)
        elif head.level > self.level + 1:
            report(
                "A11002",
                f"the heading jumps from level {self.level} to {head.level}",
                start,
                end,
                expected=f"level {self.level + 1} or less",
                got=f"level {head.level}",
                hint=f"use {'#' * (self.level + 1)}",
            )

    def _name_kind(self, head: Heading) -> None:
        """The teaching kind that the word before the colon names; a near miss is reported."""
        words = self.out.source.words
        prefix, colon, rest = head.text.partition(":")
        prefix = prefix.strip()
        kind = words.kind_of(prefix)
        if kind:
            head.kind, head.title, head.prefix = kind, rest.strip(), prefix + colon
            return
        if " " in prefix:
            return
        import difflib  # most lessons need it not once

        names = list(words.kinds.values())
        close = difflib.get_close_matches(prefix.title(), names, n=1, cutoff=_NEAR)
        if close:
            self.out.report(
                "LES022",
                f'"{short(prefix)}" is not a kind of block',
                head.start,
                head.end,
                expected=", ".join(names),
                got=short(prefix),
                hint=f'did you mean "{close[0]}"?',
            )

    def _anchor(self, head: Heading) -> str:
        base = slug(head.text) or "section"
        if not head.text.isascii() and base != github_slug(head.text):
            self.out.report(
                "LNK008",
                "the anchor of this heading differs from GitHub's",
                head.start,
                head.end,
                expected=base,
                hint="write numbers as plain digits, and letters with their accents as one sign",
            )
        before = self.seen.get(base)
        self.seen[base] = 0 if before is None else before + 1
        return base if before is None else f"{base}-{before + 1}"
