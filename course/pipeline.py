"""Load, validate, link, emit: the whole way from the sources to the files of the site."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from course.diagnostics import order
from course.options import Options, Report
from course.publish import quick
from course.publish.run import Run
from course.publish.target import Nowhere, Target
from course.read import load
from course.read.models.view import plain, view
from course.read.sources import Sources

if TYPE_CHECKING:
    from types import ModuleType

    from course.publish.cache import Shards
    from course.read.graph import Graph

__all__ = ["Nowhere", "Outcome", "linked", "run"]


@dataclass(slots=True)
class Outcome:
    """The report of a run, and the cache to save once its files are shown.

    ``key`` names the sources that were read and the options; None without a cache.
    """

    report: Report
    shards: Shards | None = None
    key: str | None = None

    def save(self) -> None:
        """Write what the run learnt to the cache folder."""
        if self.shards is not None:
            self.shards.save()


def linked(options: Options) -> tuple[Sources, Graph]:
    """The sources and their graph, with every diagnostic up to the link step in the sources."""
    this = Run(options, Nowhere(), _later)
    try:
        return _linked(this)
    finally:
        this.close()


def run(options: Options, target: Target) -> Outcome:
    """Put every file of the course into *target*; with errors the files are incomplete."""
    this = Run(options, target, _later)
    try:
        loaded, joined = _linked(this)
        records = list(loaded.lessons())
        report = Report(
            order(loaded.diagnostics),
            lessons=len(records),
            authored=sum(record.authored for record in records),
            sources=loaded.files,
        )
        if not report.errors and loaded.course is not None:
            _later().emit(this, loaded.course, joined, report)
    finally:
        this.close()
    return Outcome(report, this.shards, loaded.key)


def _later() -> ModuleType:
    """What links and shows the whole course; nobody needs it before the lessons are read."""
    from course.publish import emit

    return emit


def _linked(this: Run) -> tuple[Sources, Graph]:
    options = this.options
    loaded = load.load(
        options.root,
        this.read,
        file_urls=options.file_urls,
        base_url=options.base_url,
        key_of=partial(quick.read_key, options.key) if options.cache else None,
    )
    if loaded.course is not None and options.updated is not None:
        loaded.course = view({**plain(loaded.course), "updated": options.updated})
    from course.check import linkcheck
    from course.read import graph

    joined = graph.build(loaded)
    loaded.report(list(linkcheck.problems(joined)))
    return loaded, joined
