"""From the sources to the site: load, validate, link, render, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from course.check import links, templates
from course.check.pages import check_links
from course.diagnostics import Diagnostic, Problem, Span, sort_unique
from course.processes import Crew
from course.publish import look
from course.publish.cache import Cache
from course.publish.hosting import WORKER, write_worker
from course.publish.lesson import (
    LessonPages,
    Unit,
    collect_facts,
    relate_lessons,
    render,
    select_catalog_entry,
)
from course.publish.shell import TEMPLATES, Shell, SiteInfo, TemplateFault, bundle
from course.publish.tree import MANIFEST, Outputs, Refusal, Stage, digest_tree, lock_output
from course.publish.whole import Whole
from course.read import graph
from course.read.graph import Graph
from course.read.lesson import KIB, Lesson, Readings
from course.read.sources import CONTENT, Sources, load, plain
from course.rules import diagnose

CACHE: Final = ".course-cache"
OUT: Final = "site"
_SOME: Final = 5  # foreign files that a refusal names


@dataclass(frozen=True, slots=True)
class Options:
    """The places where a build reads and writes, and all inputs besides the sources.

    ``cache`` is the cache folder (None: read and write no cache); ``jobs`` the number of
    processes that read and render lessons (0: one, or two when many lessons changed);
    ``updated`` replaces the date of course.yaml (``YYYY-MM-DD``); ``verify`` reads the files of
    the output before they are kept, instead of trusting their size; a ``draft`` is written in
    spite of its errors, as far as it can be shown.
    """

    root: Path
    out: Path
    base_url: str | None = None
    file_urls: bool = False
    force: bool = False
    jobs: int = 0
    cache: Path | None = None
    updated: str | None = None
    verify: bool = False
    draft: bool = False


@dataclass(slots=True)
class Report:
    """The result of a check or a build; ``digest`` identifies the whole output, if any."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    lessons: int = 0
    authored: int = 0
    sources: list[str] = field(default_factory=list)
    files: int = 0
    changed: int = 0
    seconds: float = 0.0
    digest: str = ""
    written: bool = False
    notes: list[str] = field(default_factory=list)

    def count(self, severity: str) -> int:
        """How many diagnostics are an ``error`` (these stop a build), ``warning`` or ``info``."""
        return sum(row.severity == severity for row in self.diagnostics)

    @property
    def errors(self) -> int:
        """How many diagnostics stop a build."""
        return self.count("error")

    @property
    def planned(self) -> int:
        """Lessons that are announced and not yet written."""
        return self.lessons - self.authored

    def counts(self) -> str:
        """``2 errors, 1 warning``; the empty string when nothing was found."""
        numbers = {severity: self.count(severity) for severity in ("error", "warning", "info")}
        return ", ".join(plural(number, word) for word, number in numbers.items() if number)

    def summary(self) -> str:
        """The last line of a build."""
        return (
            f"{plural(self.lessons, 'lesson')} "
            f"({self.authored:,} authored, {self.planned:,} planned), "
            f"{self.files:,} files, {self.changed:,} changed, {self.seconds:.2f} s, "
            f"tree {self.digest[:12]}"
        )


def plural(number: int, word: str) -> str:
    """``1 error``, ``1,200 errors``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def check(options: Options) -> Report:
    """Check the whole course; write nothing."""
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
    with lock_output(options.out):
        stage = Stage(options.out, verify=options.verify)
        foreign = _check_foreign_files(stage, options)
        try:
            report = run(options, stage, cache)
            if report.digest and (options.draft or not report.errors):
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


def _check_foreign_files(stage: Stage, options: Options) -> list[str]:
    """Files in the output folder that are not ours: a reason to stop, unless forced."""
    foreign = stage.foreign()
    if foreign and not options.force:
        some = ", ".join(foreign[:_SOME]) + (" …" if len(foreign) > _SOME else "")
        raise Refusal(
            "CFG003",
            f"{options.out.name}/ contains files that no build wrote: {some}",
            "move them away, build elsewhere with --out, or keep them with --force",
        )
    return foreign


def link_course(options: Options) -> tuple[Sources, Graph]:
    """The sources and their graph, with every diagnostic up to the link step in the sources."""
    with _Build(options, Outputs(), Cache(options.cache)) as this:
        return this.link()


def run(options: Options, outputs: Outputs, cache: Cache) -> Report:
    """Put every file of the course into *outputs*; with errors they are incomplete."""
    with _Build(options, outputs, cache) as this:
        return _run(this)


def _run(this: _Build) -> Report:
    sources, linked = this.link()
    options, outputs = this.options, this.outputs
    records = list(sources.lessons())
    report = Report(
        sort_unique(sources.diagnostics),
        lessons=len(records),
        authored=sum(record.authored for record in records),
        sources=sources.files,
    )
    if (options.draft or not report.errors) and sources.course is not None:
        try:
            problems = this.publish(linked)
            report.digest = digest_tree(outputs.files)
        except TemplateFault as fault:
            name, message, line = fault.args
            span = Span(line, 1, line, 1)
            file = f"{CONTENT}/templates/{name}"
            is_reported = any(row.file == file for row in report.diagnostics)
            problems = [] if is_reported else [Problem("CFG015", file, message, span=span)]
        placed = [diagnose(problem) for problem in problems]
        report.diagnostics = sort_unique([*report.diagnostics, *placed])
        report.files = len(outputs.files)
    return report


class _Build:
    """One way from the sources to the outputs; a context manager, since it may use processes."""

    def __init__(self, options: Options, outputs: Outputs, cache: Cache) -> None:
        self.options = options
        self.outputs = outputs
        self.cache = cache
        self.crew: Crew[Readings] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.crew is not None:
            self.crew.close()

    def link(self) -> tuple[Sources, Graph]:
        """Load all sources, relate them and check every reference."""
        options = self.options
        sources = load(options.root, self.read, file_urls=options.file_urls, draft=options.draft)
        if sources.course is not None and options.updated is not None:
            sources.course = sources.course.model_copy(update={"updated": options.updated})
        if options.draft:
            from course.check.prune import prune  # with the errors of pydantic

            linked = prune(sources)
        else:
            linked = graph.build(sources)
        sources.report(list(links.check(linked)))
        if sources.templates:
            tool = {path.name: path.read_text("utf-8") for path in TEMPLATES.iterdir()}
            folder = f"{CONTENT}/templates"
            wrong = list(templates.check(sources.templates, tool, folder))
            sources.report(wrong)
            if options.draft:  # shown with the tool's own in their place
                for problem in wrong:
                    sources.templates.pop(problem.file.rpartition("/")[2], None)
        return sources, linked

    def read(self, readings: Readings) -> Iterator[Lesson]:
        """The lesson of each folder, in order; only those that changed are read, from now on."""
        crew = self.crew = Crew(readings, self.options.jobs)
        identify = partial(self.cache.identify, readings)
        if self.cache.empty:
            return crew.map(Readings.read, {folder: folder for folder in readings.parts}, identify)
        identify()
        fresh = self.cache.find_fresh_lessons()
        changed = {folder: folder for folder in readings.parts if folder not in fresh}
        return _in_order(readings.parts, fresh, crew.map(Readings.read, changed))

    def publish(self, linked: Graph) -> list[Problem]:
        """Render everything and check the links of the pages; returns the problems."""
        sources, outputs = linked.sources, self.outputs
        course = plain(sources.course) if sources.course else {}
        style = look.style(course) + sources.templates.get("style.css", "").encode()
        files = bundle(style, look.icon(course, sources.media))
        shell = Shell(_site_info(sources, self.options, files.paths))
        lessons = [(node.record, related) for node, related in relate_lessons(linked)]
        entries = {
            record.id: select_catalog_entry(collect_facts(record, of)) for record, of in lessons
        }
        rest = Whole(linked, entries, shell, files, outputs.put)
        units, problems = self.render(sources, lessons, shell, rest.begin)
        rest.finish(units)
        for node in linked.lessons.values():
            for url, source in node.record.media_files.items():
                name = source.rpartition("/")[2]  # a cache is not trusted with a path
                path = self.options.root / node.record.folder / "media" / name
                outputs.put(url, path.read_bytes())
        problems += rest.problems
        for unit in units.values():
            rest.facts |= unit.facts
        if shell.site.course.get("runInPage") and isinstance(outputs, Stage):
            from course.pyodide import runtime  # with the half of a web client

            for place, data in runtime(self.options.cache).items():
                outputs.put(place, data)
        if not self.options.file_urls:  # pages from a disk have no service worker
            outputs.put(WORKER, write_worker(shell.site.course["id"], outputs.files).encode())
        problems += check_links(rest.facts, {*outputs.files, MANIFEST})
        return problems

    def render(
        self,
        sources: Sources,
        lessons: list[tuple[Lesson, dict[str, Any]]],
        shell: Shell,
        meanwhile: Callable[[], object],
    ) -> tuple[dict[str, Unit], list[Problem]]:
        """The unit of every lesson; only those that changed are rendered.

        *meanwhile* is called while other processes render already.
        """
        if self.crew is None:
            raise ValueError("no lesson was read")
        units = self.cache.find_fresh_units(lessons, shell.site, self.outputs)
        tasks = {task[0].folder: task for task in lessons if task[0].id not in units}
        problems: list[Problem] = []
        limit = (sources.course.limits.page_kib if sources.course else 0) * KIB
        rendering = _Rendering(LessonPages(shell), limit, self.outputs)
        rendered = self.crew.map(rendering, tasks, meanwhile)
        for (record, _), (unit, broken) in zip(tasks.values(), rendered, strict=True):
            units[unit.id] = unit
            self.outputs.files |= unit.files
            problems += broken
            if not broken:
                self.cache.add(record, unit)
        return {record.id: units[record.id] for record, _ in lessons}, problems


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Puts the files of a lesson into the outputs."""

    pages: LessonPages
    page_limit: int
    outputs: Outputs

    def __call__(
        self, readings: Readings, task: tuple[Lesson, dict[str, Any]]
    ) -> tuple[Unit, list[Problem]]:
        record, related = task
        material = readings.material(record.folder)
        unit, files, problems = render(record, material, related, self.pages, self.page_limit)
        unit.files = {path: self.outputs.put(path, data) for path, data in files.items()}
        return unit, problems


def _in_order(
    folders: Iterable[str], fresh: dict[str, Lesson], started: Iterable[Lesson]
) -> Iterator[Lesson]:
    """The lesson of each of *folders*: a *fresh* one, or one of those that are *started*."""
    lessons = fresh | {lesson.folder: lesson for lesson in started}
    yield from (lessons[folder] for folder in folders)


def _site_info(sources: Sources, options: Options, paths: Any) -> SiteInfo:
    course = sources.course
    if course is None:
        raise ValueError("a course without course.yaml has no site")
    base_url = options.base_url or course.base_url
    facts = plain(course)
    sections = {
        "pathways": sources.pathways,
        "roles": (*sources.roles, *sources.domains),
        "projects": sources.projects,
        "concepts": sources.concepts,
    }
    return SiteInfo(
        course=facts,
        words=sources.words,
        kinds=sources.kinds,
        assets=paths,
        base_url=f"{base_url.rstrip('/')}/" if base_url else None,
        file_urls=options.file_urls,
        edit_base=f"{course.repository}/edit/main/" if course.repository else None,
        social=_address(base_url, look.social(facts, sources.media)),
        mark=look.mark(facts, sources.media),
        templates={name: text for name, text in sources.templates.items() if name != "style.css"},
        empty=tuple(name for name, entries in sections.items() if not entries),
    )


def _address(base_url: str | None, paths: Iterable[str]) -> str:
    """The absolute address of the only one of *paths*; empty for none, or on a site without one."""
    return next((f"{base_url.rstrip('/')}/{path}" for path in paths), "") if base_url else ""
