"""Load, validate, link, emit: the whole way from the sources to the files of the site."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course import assets, cache, graph, linkcheck, load, outcheck, resources, whole
from course.diagnostics import TOP, diagnostic, order
from course.fingerprint import fingerprint
from course.graph import Graph
from course.lesson import Lesson, Parts, Setup
from course.options import Options, Report
from course.pages import Pages
from course.parallel import Alone, Crew, Forked, aside, at_once, workers
from course.shell import SiteInfo
from course.sources import Sources
from course.target import Nowhere, Target
from course.tree import MANIFEST, File, Manifest
from course.unit import Unit, unit_key
from course.workshop import Preparing, Reading, Rendering, Task, Workshop

if TYPE_CHECKING:
    from course.models import Course

__all__ = ["Nowhere", "Outcome", "linked", "run"]


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
    this = _Run(options, Nowhere())
    try:
        return _linked(this)
    finally:
        this.close()


def run(options: Options, target: Target) -> Outcome:
    """Put every file of the course into *target*; with errors the files are incomplete."""
    this = _Run(options, target)
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
            _emit(this, loaded.course, joined, report)
    finally:
        this.close()
    return Outcome(report, this.shards)


class _Run:
    """One run between its steps: the cache, and the crew that reads and renders lessons."""

    def __init__(self, options: Options, target: Target) -> None:
        self.options = options
        self.target = target
        self.shards = cache.Shards(options.cache) if options.cache else None
        self.keys: dict[str, str] = {}
        self.parts: dict[str, Parts] = {}
        self.setup: Setup | None = None
        self.crew: Crew | None = None
        self.readers: dict[str, int] = {}

    def close(self) -> None:
        """End the other processes."""
        if self.crew is not None:
            self.crew.close()

    def gather(self, setup: Setup, items: int) -> Crew:
        """The crew for *items* lessons; other processes are started where they pay."""
        size = workers(self.options.jobs, items)
        if self.crew is None or (isinstance(self.crew, Alone) and size > 1):
            shop = Workshop(self.parts, setup, self.target, apart=size > 1)
            self.crew = Forked(shop, size) if size > 1 else Alone(shop)
        return self.crew

    def read(self, parts: list[Parts], setup: Setup) -> Iterator[Lesson]:
        """Begin to read lessons through the cache; the records come in the order of *parts*."""
        self.setup, self.parts = setup, {one.folder: one for one in parts}
        found: dict[str, Lesson] = {}
        if self.shards and self.shards.kept():
            self._find_keys()
            for one in parts:
                if record := self.shards.record(one, self.keys[one.folder]):
                    found[one.folder] = record
        fresh = [one.folder for one in parts if one.folder not in found]
        crew = self.gather(setup, len(fresh))
        for member in range(crew.size):
            share = fresh[member :: crew.size]
            self.readers |= dict.fromkeys(share, member)
            crew.ask(member, Reading(share))
        return self._records(crew, found)

    def _find_keys(self) -> None:
        if self.setup is not None and not self.keys:
            shared = cache.setup_key(self.setup, fingerprint())
            self.keys = {name: cache.lesson_key(one, shared) for name, one in self.parts.items()}

    def _records(self, crew: Crew, found: dict[str, Lesson]) -> Iterator[Lesson]:
        self._find_keys()  # while the others read
        for record in crew.answers():
            found[record.folder] = record
        for folder in self.parts:
            yield found[folder]

    def render(self, tasks: list[Task], site: SiteInfo, page_kib: int) -> Iterator[Unit]:
        """Begin to render *tasks*, each by the member that has read its lesson."""
        if self.setup is None:
            return iter(())
        crew = self.gather(self.setup, len(tasks))
        shares: list[list[Task]] = [[] for _ in range(crew.size)]
        for number, task in enumerate(tasks):
            shares[self.readers.get(task.folder, number % crew.size)].append(task)
        for member, share in enumerate(shares):
            crew.ask(member, Preparing(site, page_kib))
            crew.ask(member, Rendering(share))
        return self._rendered(crew)

    def _rendered(self, crew: Crew) -> Iterator[Unit]:
        yield from crew.answers()
        crew.dismiss()


def _linked(this: _Run) -> tuple[Sources, Graph]:
    options = this.options
    loaded = load.load(options.root, this.read, file_urls=options.file_urls)
    if loaded.course is not None and options.updated is not None:
        loaded.course = loaded.course.model_copy(update={"updated": options.updated})
    joined = graph.build(loaded)
    loaded.report(list(linkcheck.problems(joined)))
    return loaded, joined


def _emit(this: _Run, course: Course, joined: Graph, report: Report) -> None:
    options, loaded, target = this.options, joined.sources, this.target
    files = assets.bundle()
    site = SiteInfo(
        course=course.model_dump(mode="json", by_alias=True, exclude_none=True),
        words=loaded.words,
        kinds=loaded.kinds,
        assets=files.paths,
        base_url=_with_slash(options.base_url or course.base_url),
        file_urls=options.file_urls,
        edit_base=f"{course.repository}/edit/main/" if course.repository else None,
    )
    pages = Pages(site)
    units = _units(this, joined, pages, course.limits.page_kib)
    apart = aside if isinstance(this.crew, Forked) else at_once
    done = whole.build(joined, units, pages, files, target.put, apart)
    target.files.update(done.files)
    for node in joined.lessons.values():
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


def _units(this: _Run, linked: Graph, pages: Pages, page_kib: int) -> dict[str, Unit]:
    """The unit of every lesson: from the cache when its key and its files are unchanged."""
    numbers = resources.numbers(linked)
    printed = resources.printed(linked)
    build_key, target = this.options.key(), this.target
    found: dict[str, Unit] = {}
    fresh: list[Task] = []
    for node in linked.lessons.values():
        folder, phase = node.record.folder, node.phase.item.id
        related = resources.relations(linked, node, numbers[phase])
        related["printed"] = node.id in printed
        key = unit_key(this.keys[folder], related, build_key)
        cached = this.shards.unit(phase, folder, key) if this.shards else None
        unit = _kept(cached, target) if cached else None
        if unit is None:
            fresh.append(Task(folder, related, key))
        else:
            found[node.id] = unit
    rendered = this.render(fresh, pages.site, page_kib)
    pages.prepare()  # while the others render
    for unit in rendered:
        target.files.update(unit.files)
        found[unit.id] = unit
    units = {name: found[name] for name in linked.lessons}
    if this.shards:
        for node in linked.lessons.values():
            record, unit = node.record, units[node.id]
            if not unit.problems:
                phase, key = node.phase.item.id, this.keys[record.folder]
                this.shards.put(phase, key, record, unit.cached())
    return units


def _kept(cached: dict[str, Any], target: Target) -> Unit | None:
    try:
        files = {path: File(*file) for path, file in cached["files"].items()}
        texts = {"body": str(cached["body"]), "printed": str(cached["printed"])}
        unit = Unit(**{**cached, **texts, "files": files, "chunks": cached["chunks"].encode()})
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
