"""Load, validate, link, emit: the whole way from the sources to the files of the site."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from course import assets, cache, graph, lesson_reader, linkcheck, load, outcheck, resources, whole
from course.diagnostics import TOP, diagnostic, order
from course.fingerprint import fingerprint
from course.graph import Graph, LessonNode
from course.lesson import KIB, Lesson, Parts, Setup
from course.options import Options, Report
from course.pages import Pages
from course.parallel import fork_map, workers
from course.shell import SiteInfo
from course.sources import Sources
from course.tree import MANIFEST, File, Manifest
from course.unit import Unit, build_unit, unit_key


class Target(Protocol):
    """Where files go: the stage of an output folder, or nowhere for a check."""

    files: dict[str, File]

    def put(self, path: str, data: bytes) -> File:
        """Add *data* as the file *path*."""

    def keep(self, path: str, file: File) -> bool:
        """Whether *file* is there already; then it is part of the output."""


class Nowhere:
    """The target of a check: files are counted, not written."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}

    def put(self, path: str, data: bytes) -> File:
        """Count the file *path*."""
        file = self.files[path] = File(len(data), "")
        return file

    def keep(self, path: str, file: File) -> bool:
        """Every file that a cached unit names counts as there."""
        self.files[path] = file
        return True


@dataclass(slots=True)
class _Run:
    """One run between its steps."""

    options: Options
    shards: cache.Shards | None
    keys: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """The report of a run, and the cache to save once its files are shown."""

    report: Report
    shards: cache.Shards | None = None

    def save(self) -> None:
        """Write what the run learnt to the cache folder."""
        if self.shards is not None:
            self.shards.save()


def linked(options: Options) -> tuple[Sources, Graph]:
    """The sources and their graph, with every diagnostic up to the link step in the sources."""
    return _linked(_Run(options, cache.Shards(options.cache) if options.cache else None))


def run(options: Options, target: Target) -> Outcome:
    """Put every file of the course into *target*; with errors the files are incomplete."""
    this = _Run(options, cache.Shards(options.cache) if options.cache else None)
    loaded, joined = _linked(this)
    records = list(loaded.lessons())
    report = Report(
        order(loaded.diagnostics),
        lessons=len(records),
        authored=sum(record.authored for record in records),
        sources=loaded.files,
    )
    if not report.errors:
        _emit(this, loaded, joined, target, report)
    return Outcome(report, this.shards)


def _linked(this: _Run) -> tuple[Sources, Graph]:
    options = this.options
    loaded = load.load(options.root, partial(_read, this), file_urls=options.file_urls)
    if loaded.course is not None and options.updated is not None:
        loaded.course = loaded.course.model_copy(update={"updated": options.updated})
    joined = graph.build(loaded)
    loaded.report(list(linkcheck.problems(joined)))
    return loaded, joined


def _read(this: _Run, parts: list[Parts], setup: Setup) -> list[Lesson]:
    """Read lessons through the cache; those that changed, on several cores if there are many."""
    shared = cache.setup_key(setup, fingerprint())
    found: dict[str, Lesson] = {}
    fresh: list[Parts] = []
    for one in parts:
        key = this.keys[one.folder] = cache.lesson_key(one, shared)
        record = this.shards.record(one, key) if this.shards else None
        if record is None:
            fresh.append(one)
        else:
            found[one.folder] = record
    for record in _read_fresh(fresh, setup, this.options.jobs):
        found[record.folder] = record
    return [found[one.folder] for one in parts]


def _read_fresh(fresh: list[Parts], setup: Setup, jobs: int) -> list[Lesson]:
    return fork_map(partial(lesson_reader.read, setup=setup), fresh, workers(jobs, len(fresh)))


def _emit(this: _Run, loaded: Sources, linked: Graph, target: Target, report: Report) -> None:
    course, options = loaded.course, this.options
    if course is None:
        return
    base_url = _with_slash(options.base_url or course.base_url)
    files = assets.bundle()
    site = SiteInfo(
        course=course.model_dump(mode="json", by_alias=True, exclude_none=True),
        words=loaded.words,
        kinds=loaded.kinds,
        assets=files.paths,
        base_url=base_url,
        file_urls=options.file_urls,
        edit_base=f"{course.repository}/edit/main/" if course.repository else None,
    )
    pages = Pages(site)
    made = _units(this, linked, target, pages, course.limits.page_kib)
    units = {unit.id: unit for unit in made}
    done = whole.build(linked, units, pages, files, target.put)
    for node in linked.lessons.values():
        for url, source in node.record.media_files.items():
            name = source.rpartition("/")[2]  # a cache is not trusted with a path
            target.put(url, (options.root / node.record.folder / "media" / name).read_bytes())
    problems = done.problems + [problem for unit in units.values() for problem in unit.problems]
    facts = done.facts
    for unit in units.values():
        facts.update(unit.facts)
    problems += outcheck.problems(facts, {*target.files, MANIFEST})
    placed = [diagnostic(problem, problem.span or TOP) for problem in problems]
    report.diagnostics = order([*report.diagnostics, *placed])
    report.files = len(target.files)
    report.digest = tree_digest(target.files)


def _units(this: _Run, linked: Graph, target: Target, pages: Pages, page_kib: int) -> list[Unit]:
    """The unit of every lesson: from the cache when its key and its files are unchanged."""
    numbers = resources.numbers(linked)
    build_key = this.options.key()
    found: dict[str, Unit] = {}
    fresh: list[tuple[LessonNode, dict[str, Any], str]] = []
    for node in linked.lessons.values():
        folder, phase = node.record.folder, node.phase.item.id
        related = resources.relations(linked, node, numbers[phase])
        key = unit_key(this.keys[folder], related, build_key)
        cached = this.shards.unit(phase, folder, key) if this.shards else None
        unit = _kept(cached, target) if cached else None
        if unit is None:
            fresh.append((node, related, key))
        else:
            found[node.id] = unit

    def make(one: tuple[LessonNode, dict[str, Any], str]) -> Unit:
        node, related, key = one
        unit = build_unit(node.record, related, pages, key, page_kib * KIB)
        for path, data in unit.outputs.items():
            unit.files[path] = target.put(path, data)
        unit.outputs = {}
        return unit

    for unit in fork_map(make, fresh, workers(this.options.jobs, len(fresh))):
        target.files.update(unit.files)
        found[unit.id] = unit
    units = [found[name] for name in linked.lessons]
    if this.shards:
        for node, unit in zip(linked.lessons.values(), units, strict=True):
            record = node.record
            if not unit.problems:
                phase, key = node.phase.item.id, this.keys[record.folder]
                this.shards.put(phase, key, record, unit.cached())
    return units


def _kept(cached: dict[str, Any], target: Target) -> Unit | None:
    try:
        files = {path: File(*file) for path, file in cached["files"].items()}
        unit = Unit(**{**cached, "files": files, "chunks": cached["chunks"].encode()})
    except (TypeError, KeyError, AttributeError):
        return None
    return unit if all(target.keep(path, file) for path, file in files.items()) else None


def _with_slash(url: str | None) -> str | None:
    return f"{url.rstrip('/')}/" if url else None


def tree_digest(files: Manifest) -> str:
    """One digest for the whole output: equal bytes everywhere, equal digest."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{files[path].sha256}\n".encode())
    return digest.hexdigest()
