"""From the sources to the site: load, validate, link, render, write."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, NamedTuple, TypeVar

from course.check import links
from course.diagnostics import TOP, Problem, diagnostic, order
from course.options import Options, Report
from course.publish import outcheck, resources, whole
from course.publish.cache import Cache, digest_of, lesson_key, setup_key, tool_key
from course.publish.lesson_page import LessonPages
from course.publish.manifest import MANIFEST, tree_digest
from course.publish.shell import Shell, SiteInfo, bundle
from course.publish.tree import Outputs, Refusal, Stage, locked
from course.publish.unit import Unit, render
from course.read import graph
from course.read.graph import Graph
from course.read.lesson import KIB, Lesson, Parts, Setup, read_lesson
from course.read.models import plain
from course.read.sources import Sources, load

_SOME: Final = 5  # foreign files that a refusal names
_WORTH_A_PROCESS: Final = 150  # lessons; fewer are done before a second process has started
_CHUNK: Final = 16  # lessons handed to a process at once
T = TypeVar("T")
R = TypeVar("R")


def check(options: Options) -> Report:
    """Everything that can be wrong with the course; writes nothing."""
    started = time.monotonic()
    report = run(options, Outputs(), Cache(options.cache))
    report.seconds = time.monotonic() - started
    return report


def build(options: Options) -> Report:
    """Build the site; when a check fails, nothing is written.

    Raises :class:`Refusal` when the output folder is locked, foreign or cannot be written.
    """
    started = time.monotonic()
    cache = Cache(options.cache)
    with locked(options.out):
        stage = Stage(options.out, verify=options.verify)
        foreign = _foreign(stage, options)
        try:
            report = run(options, stage, cache)
            if not report.errors:
                report.changed = stage.finish(foreign)
                report.written = True
        finally:
            stage.close()
    if report.written:
        try:
            cache.save()
        except OSError as error:  # the site is there; only the next build will take longer
            report.notes.append(f"the cache was not saved: {error.strerror} ({options.cache})")
    report.seconds = time.monotonic() - started
    return report


def _foreign(stage: Stage, options: Options) -> list[str]:
    """Files in the output folder that are not ours: a reason to stop, unless forced."""
    foreign = stage.foreign()
    if foreign and not options.force:
        some = ", ".join(foreign[:_SOME]) + (" …" if len(foreign) > _SOME else "")
        raise Refusal(
            "CFG003",
            f"{options.out.name}/ holds files that no build wrote: {some}",
            "move them away, build elsewhere with --out, or keep them with --force",
        )
    return foreign


def link_course(options: Options) -> tuple[Sources, Graph]:
    """The sources and their graph, with every diagnostic up to the link step in the sources."""
    return _Build(options, Outputs(), Cache(options.cache)).link()


def run(options: Options, outputs: Outputs, cache: Cache) -> Report:
    """Put every file of the course into *outputs*; with errors they are incomplete."""
    this = _Build(options, outputs, cache)
    sources, linked = this.link()
    records = list(sources.lessons())
    report = Report(
        order(sources.diagnostics),
        lessons=len(records),
        authored=sum(record.authored for record in records),
        sources=sources.files,
    )
    if not report.errors and sources.course is not None:
        problems = this.publish(linked)
        placed = [diagnostic(problem, problem.span or TOP) for problem in problems]
        report.diagnostics = order([*report.diagnostics, *placed])
        report.files = len(outputs.files)
        report.digest = tree_digest(outputs.files)
    return report


class _Task(NamedTuple):
    """A lesson to render, with what the course around it says and the key of its unit."""

    record: Lesson
    related: dict[str, Any]
    key: str


class _Build:
    """One way from the sources to the outputs, with the keys of what it read."""

    def __init__(self, options: Options, outputs: Outputs, cache: Cache) -> None:
        self.options = options
        self.outputs = outputs
        self.cache = cache
        self.keys: dict[str, str] = {}

    def link(self) -> tuple[Sources, Graph]:
        """Load all sources, relate them and check every reference."""
        options = self.options
        sources = load(options.root, self.read, file_urls=options.file_urls)
        if sources.course is not None and options.updated is not None:
            sources.course = sources.course.model_copy(update={"updated": options.updated})
        linked = graph.build(sources)
        sources.report(list(links.problems(linked)))
        return sources, linked

    def read(self, parts: list[Parts], setup: Setup) -> list[Lesson]:
        """The lessons of *parts*, in order, from the cache where their bytes are unchanged."""
        key = setup_key(setup)
        self.keys = {one.folder: lesson_key(one, key) for one in parts}
        records = {
            one.folder: self.cache.lesson(one.folder, self.keys[one.folder]) for one in parts
        }
        changed = [one for one in parts if records[one.folder] is None]
        read = partial(read_lesson, setup=setup)
        for record in in_processes(read, changed, self.options.jobs):
            records[record.folder] = record
        return [record for record in records.values() if record is not None]

    def publish(self, linked: Graph) -> list[Problem]:
        """Render everything and check the links of the pages; returns the problems."""
        sources, outputs = linked.sources, self.outputs
        files = bundle()
        shell = Shell(_site_info(sources, self.options, files.paths))
        units, problems = self.render(linked, shell)
        facts, more = whole.build(linked, units, shell, files, outputs.put)
        for node in linked.lessons.values():
            for url, source in node.record.media_files.items():
                name = source.rpartition("/")[2]  # a cache is not trusted with a path
                path = self.options.root / node.record.folder / "media" / name
                outputs.put(url, path.read_bytes())
        for unit in units.values():
            facts |= unit.facts
        problems += more
        problems += outcheck.problems(facts, {*outputs.files, MANIFEST})
        return problems

    def render(self, linked: Graph, shell: Shell) -> tuple[dict[str, Unit], list[Problem]]:
        """The unit of every lesson: from the cache where its key and its files are unchanged."""
        numbers, printed = resources.numbers(linked), resources.printed(linked)
        site_key = digest_of(tool_key(), shell.site)
        units: dict[str, Unit] = {}
        tasks: list[_Task] = []
        for node in linked.lessons.values():
            folder = node.record.folder
            related = resources.relations(linked, node, numbers[node.phase.id])
            related["printed"] = node.id in printed
            key = digest_of(self.keys[folder], related, site_key)
            unit = self.cache.unit(folder, key)
            if unit is None or not all(map(self.outputs.keep, unit.files, unit.files.values())):
                tasks.append(_Task(node.record, related, key))
            else:
                units[node.id] = unit
                self.cache.add(self.keys[folder], node.record, unit)
        problems: list[Problem] = []
        pages = LessonPages(shell)
        course = linked.sources.course
        limit = (course.limits.page_kib if course else 0) * KIB

        def render_lesson(task: _Task) -> tuple[Unit, list[Problem]]:
            linked.sources.material(task.record)
            unit, files, problems = render(task.record, task.related, task.key, pages, limit)
            unit.files = {path: self.outputs.put(path, data) for path, data in files.items()}
            return unit, problems

        rendered = in_processes(render_lesson, tasks, self.options.jobs)
        for task, (unit, broken) in zip(tasks, rendered, strict=True):
            units[unit.id] = unit
            self.outputs.files |= unit.files
            problems += broken
            if not broken:
                self.cache.add(self.keys[task.record.folder], task.record, unit)
        return {name: units[name] for name in linked.lessons}, problems


def _site_info(sources: Sources, options: Options, paths: Any) -> SiteInfo:
    course = sources.course
    if course is None:
        raise ValueError("a course without course.yaml has no site")
    base_url = options.base_url or course.base_url
    return SiteInfo(
        course=plain(course),
        words=sources.words,
        kinds=sources.kinds,
        assets=paths,
        base_url=f"{base_url.rstrip('/')}/" if base_url else None,
        file_urls=options.file_urls,
        edit_base=f"{course.repository}/edit/main/" if course.repository else None,
    )


def processes(wanted: int, items: int) -> int:
    """How many processes to use for *items*; *wanted* 0 means as many as pay, two at most.

    One where the system cannot fork, or where other threads make a fork unsafe.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    if wanted:
        return max(1, min(wanted, items))
    return 2 if items >= _WORTH_A_PROCESS and (os.cpu_count() or 1) > 1 else 1


def in_processes(function: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    """*function* of each item, in order.

    With more than one process the others are forked: they inherit the function and the items,
    and only results are handed over.
    """
    count = processes(jobs, len(items))
    if count == 1:
        yield from map(function, items)
        return

    def work(number: int) -> R:
        return function(items[number])

    with ProcessPoolExecutor(count, get_context("fork"), _inherit, (work,)) as pool:
        yield from pool.map(_work, range(len(items)), chunksize=_CHUNK)


def _inherit(work: Callable[[int], Any]) -> None:
    """Keep what the items of this process are to be done with."""
    global _work_of_item  # noqa: PLW0603  (one for each process of a pool)
    _work_of_item = work


def _work(number: int) -> Any:
    return _work_of_item(number)


_work_of_item: Callable[[int], Any]
