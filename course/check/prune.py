"""Makes a graph of a course with mistakes that can be shown, without its broken references."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Final

from pydantic import ValidationError

from course.check import links
from course.diagnostics import Problem
from course.read import graph, models, schema
from course.read.graph import Graph
from course.read.lesson import Lesson
from course.read.sources import Item, Sources, plain

_ROUNDS: Final = 5  # what is left out may have been referred to


def prune(sources: Sources) -> Graph:
    """The graph of what can be shown of *sources*, which change."""
    for phase in sources.phases:
        phase.lessons = _distinct(record for record in phase.lessons if record.usable)
        if phase.view is None:
            data = schema.complete_source("phase", {}, phase.id)
            phase.view = models.Phase.model_validate(data)
    sources.phases = _distinct(sources.phases)
    sources.unread.clear()
    linked = graph.build(sources)
    for _ in range(_ROUNDS):
        sources.pathways = _distinct(item for item in sources.pathways if item.view)
        sources.roles = _distinct(item for item in sources.roles if item.view)
        sources.domains = _distinct(item for item in sources.domains if item.view)
        sources.projects = _distinct(item for item in sources.projects if item.view)
        linked = graph.build(sources)
        lost = [problem for problem in links.check(linked) if problem.code == "REF001"]
        owners = {source.file: (kind, source) for kind, source in sources.list_owners()}
        references = [problem for problem in lost if problem.file in owners]
        if not references:
            break
        for problem in reversed(references):
            _leave_out(*owners[problem.file], problem)
    return linked


def _distinct(items: Iterable[Any]) -> list[Any]:
    """*items*, of two with one id the first."""
    by_id: dict[str, Any] = {}
    for item in items:
        by_id.setdefault(item.id, item)
    return list(by_id.values())


def _leave_out(kind: str, source: Lesson | Item[Any], problem: Problem) -> None:
    """Take the reference of *problem* out of *source*; one that needs it is left out as a whole."""
    if isinstance(source, Lesson):
        source.front = _without(source.front, problem.path or ())
        return
    if source.view is None:
        return
    data = _without(plain(source.view), problem.path or ())
    try:
        source.view = models.SOURCES[kind].model_validate(data)
    except ValidationError:
        if kind != "phase":
            source.view = None


def _without(data: Any, path: tuple[str | int, ...]) -> Any:
    """A copy of *data* without the entry of the innermost list on *path*, or without its key."""
    last = max((at for at, step in enumerate(path) if isinstance(step, int)), default=len(path) - 1)
    result = copy.deepcopy(data)
    node = result
    for step in path[:last]:
        node = node[step]
    del node[path[last]]
    return result
