"""Check and build: a lock, the shortest way if nothing changed, else the whole pipeline."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from course import quick
from course.options import Options, Report
from course.tree import Refusal, Tree, locked

__all__ = ["Options", "Refusal", "Report", "build", "check"]
_SOME: Final = 5


def check(options: Options) -> Report:
    """Everything that can be wrong with the course; writes nothing."""
    from course import pipeline  # imports the renderer, which the shortest way does without

    started = time.monotonic()
    report = pipeline.run(options, pipeline.Nowhere()).report
    report.seconds = time.monotonic() - started
    return report


def build(options: Options) -> Report:
    """Build the site; when a check fails, nothing is written.

    Raises :class:`Refusal` when the output folder is locked, foreign or cannot be written.
    """
    started = time.monotonic()
    with locked(options.out):
        tree = Tree(options.out)
        foreign = _foreign(tree, options)
        key = None
        if options.cache and quick.remembers(options.cache, options.out):
            key = _key(options)
        report = _recalled(options.cache, tree, key) or _full(options, tree, foreign, key)
    report.seconds = time.monotonic() - started
    return report


def _recalled(folder: Path | None, tree: Tree, key: str | None) -> Report | None:
    past: dict[str, Any] | None = quick.recall(folder, tree, key) if folder else None
    try:
        return Report.from_json(past) if past else None
    except (KeyError, TypeError, AttributeError):
        return None


def _key(options: Options) -> str | None:
    return quick.source_key(options.root, options.key())


def _full(options: Options, tree: Tree, foreign: list[str], key: str | None) -> Report:
    from course.parallel import aside

    # The key is that of the sources before they are read, so that a file that changes in between
    # costs one more build. It is made while the renderer is imported.
    wait = aside(partial(_key, options)) if options.cache and key is None else None
    from course import pipeline

    key = wait() if wait else key
    stage = tree.stage()
    try:
        outcome = pipeline.run(options, stage)
        report = outcome.report
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
            if key is not None:
                quick.remember(options.cache, options.out, key, report.as_json())
        except OSError as error:  # the site is there; only the next build will take longer
            report.notes.append(f"the cache was not saved: {error.strerror} ({options.cache})")
    return report


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
