"""Lesson bodies: CommonMark + GFM to teaching blocks, with every problem at its place."""

from __future__ import annotations

from course.read.markdown.output import write
from course.read.markdown.structure import read
from course.read.markdown.types import ALERTS, INTRO, OPTIONS, Body, Source, Words

__all__ = ["ALERTS", "INTRO", "OPTIONS", "Body", "Source", "Words", "render"]


def render(source: Source) -> Body:
    """The blocks, contents, code, links and problems of *source*; with errors no blocks."""
    outline = read(source)
    if not outline.errors:
        write(outline)
    return outline.body
