"""From the linked course to the files of the site: units of lessons, then the whole."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from course.diagnostics import TOP, diagnostic, order
from course.options import Report
from course.publish import assets, outcheck, resources, whole
from course.publish.pages import Pages
from course.publish.parallel import aside, at_once, workers
from course.publish.run import Run
from course.publish.shell import SiteInfo
from course.publish.target import Target
from course.publish.tree import MANIFEST, File, Manifest
from course.publish.unit import Unit, unit_key
from course.publish.workshop import Task
from course.read.graph import Graph
from course.read.models.view import plain

if TYPE_CHECKING:
    from course.read.models import Course


def emit(this: Run, course: Course, joined: Graph, report: Report) -> None:
    """Put all pages, resources and companions into the target; tells the report what it did."""
    options, loaded, target = this.options, joined.sources, this.target
    files = assets.bundle()
    site = SiteInfo(
        course=plain(course),
        words=loaded.words,
        kinds=loaded.kinds,
        assets=files.paths,
        base_url=loaded.setup.base_url if loaded.setup else None,
        file_urls=options.file_urls,
        edit_base=f"{course.repository}/edit/main/" if course.repository else None,
    )
    pages = Pages(site)
    units = _units(this, joined, pages, course.limits.page_kib)
    apart = aside if workers(options.jobs, len(units)) > 1 else at_once
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


def _units(this: Run, linked: Graph, pages: Pages, page_kib: int) -> dict[str, Unit]:
    """The unit of every lesson: from the cache when its key and its files are unchanged."""
    numbers = resources.numbers(linked)
    printed = resources.printed(linked)
    build_key, target = this.options.key() + pages.site.key(), this.target
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
    whole.prepare()
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


def tree_digest(files: Manifest) -> str:
    """One digest for the whole output: equal bytes everywhere, equal digest."""
    lines = [f"{path}\0{digest}\n" for path, (_, digest) in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
