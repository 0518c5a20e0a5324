"""Check and build: a lock, the shortest way if nothing changed, else the whole pipeline."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path
from typing import Final

from course.options import Options, Report
from course.publish import quick
from course.publish.tree import Refusal, Tree, locked

__all__ = ["Options", "Refusal", "Report", "build", "check"]
_SOME: Final = 5


def check(options: Options) -> Report:
    """Everything that can be wrong with the course; writes nothing."""
    from course import pipeline  # imports the renderer, which the shortest way does without

    started = time.monotonic()
    report = pipeline.run(options, pipeline.Nowhere()).report
    report.seconds = time.monotonic() - started
    return report


def build(options: Options, kept: list[object] | None = None) -> Report:
    """Build the site; when a check fails, nothing is written.

    *kept* takes what goes to the cache, for a process that ends anyway: to free it object by
    object takes 10 ms.

    Raises :class:`Refusal` when the output folder is locked, foreign or cannot be written.
    """
    started = time.monotonic()
    with locked(options.out):
        tree = Tree(options.out)
        if options.verify:
            tree.present |= dict.fromkeys(_damaged(tree), -1)
        foreign = _foreign(tree, options)
        report = _recalled(options, tree) or _full(options, tree, foreign, kept)
    report.seconds = time.monotonic() - started
    return report


def _recalled(options: Options, tree: Tree) -> Report | None:
    """The report of the last build if it would say the same now."""
    folder = options.cache
    if folder is None or not quick.remembers(folder, options.out):
        return None
    past = quick.recall(folder, tree, quick.source_key(options.root, options.key()))
    try:
        return Report.from_json(past) if past else None
    except (KeyError, TypeError, AttributeError):
        return None


def _full(options: Options, tree: Tree, foreign: list[str], kept: list[object] | None) -> Report:
    from course import pipeline

    stage = tree.stage()
    try:
        outcome = pipeline.run(options, stage)
        report = outcome.report
        if kept is not None:
            kept.append(outcome)
        if not report.errors:
            report.changed = stage.finish(foreign)
            report.written = True
    except BaseException:
        stage.abandon()
        raise
    if not report.written:
        stage.abandon()
    elif options.cache:
        try:
            outcome.save()
            if outcome.key is not None:
                quick.remember(options.cache, options.out, outcome.key, report.as_json())
        except OSError as error:  # the site is there; only the next build will take longer
            report.notes.append(f"the cache was not saved: {error.strerror} ({options.cache})")
    return report


def _damaged(tree: Tree) -> list[str]:
    """The files of the right size whose bytes are not those of the manifest."""
    live = (tree.live or {}).items()
    same = [(path, file) for path, file in live if tree.present.get(path) == file.bytes]
    return [path for path, file in same if _digest(tree.out / path) != file.sha256]


def _digest(path: Path) -> str:
    """The hex SHA-256 of a file; empty when it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _foreign(tree: Tree, options: Options) -> list[str]:
    """Files in the output folder that are not ours: a reason to stop, unless forced."""
    found = tree.foreign()
    if found and not options.force:
        some = ", ".join(found[:_SOME]) + (" …" if len(found) > _SOME else "")
        raise Refusal(
            "CFG003",
            f"{options.out.name}/ holds files that no build wrote: {some}",
            "move them away, build elsewhere with --out, or keep them with --force",
        )
    return found
