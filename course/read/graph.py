"""The course as a graph: every node by id, with the relations that no single file states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from course.read.files import folder_id
from course.read.ids import is_id
from course.read.lesson import Lesson
from course.read.sources import Item, ItemT, PhaseSource, ProjectSource, Sources

if TYPE_CHECKING:
    from course.read import models

Path = tuple[str | int, ...]


@dataclass(slots=True)
class LessonNode:
    """A lesson with its place in the course."""

    record: Lesson
    view: models.LessonFrontMatter
    phase: PhaseSource
    position: int

    @property
    def id(self) -> str:
        """The canonical id."""
        return self.view.id

    @property
    def authored(self) -> bool:
        """Whether lesson material exists."""
        return self.view.status == "authored"


@dataclass(slots=True)
class Graph:
    """Every node by id, with the relations that no single file states.

    ``unread`` holds the kinds of which a source cannot be read: a rule about what is missing
    waits until they can be, for the missing thing may stand there.
    """

    sources: Sources
    lessons: dict[str, LessonNode] = field(default_factory=dict)
    phases: dict[str, PhaseSource] = field(default_factory=dict)
    pathways: dict[str, Item[models.Pathway]] = field(default_factory=dict)
    roles: dict[str, Item[models.Role]] = field(default_factory=dict)
    domains: dict[str, Item[models.Domain]] = field(default_factory=dict)
    projects: dict[str, ProjectSource] = field(default_factory=dict)
    pathway_lessons: dict[str, list[str]] = field(default_factory=dict)
    lesson_pathways: dict[str, list[str]] = field(default_factory=dict)
    lesson_projects: dict[str, list[str]] = field(default_factory=dict)
    unlocks: dict[str, list[str]] = field(default_factory=dict)
    taught: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    ids: dict[str, set[str]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()

    def list_required(self, pathway: str) -> set[str]:
        """The lessons of all pathways that *pathway* requires, directly or not."""
        lessons: set[str] = set()
        seen: set[str] = {pathway}
        todo = [pathway]
        while todo:
            item = self.pathways.get(todo.pop())
            for name in item.view.requires if item and item.view else ():
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
                    lessons.update(self.pathway_lessons.get(name, ()))
        return lessons

    def phase_numbers(self) -> dict[str, str]:
        """The number of every phase, by id."""
        return {name: f"{place:02d}" for place, name in enumerate(self.phases, 1)}

    def pathway_phases(self, pathway: str) -> list[str]:
        """The phases that a pathway touches, in the order of its lessons."""
        phases: dict[str, None] = {}
        for name in self.pathway_lessons.get(pathway, ()):
            phases[self.lessons[name].phase.id] = None
        return list(phases)


def build(sources: Sources) -> Graph:
    """The graph of all usable sources; whatever a broken file declares is still known."""
    from course.read.models import LessonFrontMatter  # as in sources.py

    _restore_ids(sources)
    graph = Graph(sources)
    for phase in sources.phases:
        for position, record in enumerate(phase.lessons, 1):
            if record.usable:
                view = LessonFrontMatter.model_validate(record.front)
                node = LessonNode(record, view, phase, position)
                graph.lessons.setdefault(record.id, node)
    graph.phases = _index(sources.phases)
    graph.pathways = _index(sources.pathways)
    graph.roles = _index(sources.roles)
    graph.domains = _index(sources.domains)
    graph.projects = _index(sources.projects)
    graph.ids = {kind: {item.id for item in items} for kind, items in sources.items().items()}
    graph.ids |= {
        "lesson": {record.id for record in sources.lessons()},
        "concept": {concept.id for concept in sources.concepts},
        "part": {part["id"] for part in sources.facts.get("parts", ())},
        "equipment": {"none", *(item["id"] for item in sources.facts.get("equipment", ()))},
    }
    graph.unread = frozenset(_find_unread_kinds(sources))
    _relate(graph)
    return graph


def _index(items: Iterable[ItemT]) -> dict[str, ItemT]:
    """*items* by id; of two with one id the first."""
    by_id: dict[str, ItemT] = {}
    for item in items:
        by_id.setdefault(item.id, item)
    return by_id


def _restore_ids(sources: Sources) -> None:
    """Let a source with a mistyped id be known by the one that its folder bears.

    That is an id that was published, or the one of a copy that still has the id of its original.
    The rule about the folder's name reports the slip; references to the id are correct.
    """
    named = list(sources.list_owners())
    taken = Counter(source.id for _, source in named)
    for kind, source in named:
        name = folder_id(source.file)
        if taken[source.id] > 1 and name not in taken and is_id(name):
            source.rename(name)
        if source.id in sources.lock:
            continue
        locked = sources.lock.get(name)
        moved = isinstance(source, Lesson) and name in (source.front.get("aliases") or ())
        if locked is not None and locked.kind == kind and name not in taken and not moved:
            source.rename(name)


def _find_unread_kinds(sources: Sources) -> Iterator[str]:
    yield from sources.unread
    if not all(record.usable for record in sources.lessons()):
        yield "lesson"
    for kind, items in sources.items().items():
        if not all(item.view for item in items):
            yield kind
    phases = {phase.id for phase in sources.phases}
    lessons = {record.id for record in sources.lessons()}
    for item in sources.pathways:
        for step in item.view.steps if item.view else ():
            if not {step.phase} <= phases | {None} or not set(step.lessons or ()) <= lessons:
                yield "pathway"  # what it misses is said there, and explains the rest


def _relate(graph: Graph) -> None:
    for node in graph.lessons.values():
        for name in node.view.prerequisites:
            graph.unlocks.setdefault(name, []).append(node.id)
        for concept in node.view.concepts:
            graph.taught.setdefault(concept, []).append(node.id)
        for alias in node.view.aliases:
            graph.aliases.setdefault(alias, node.id)
    for entry in graph.sources.retired:
        gone = entry.id not in graph.ids["lesson"] and "_" not in entry.id  # no concept
        if gone and entry.replaced_by in graph.lessons:
            graph.aliases.setdefault(entry.id, str(entry.replaced_by))
    for name, item in graph.pathways.items():
        lessons = list(dict.fromkeys(lesson for lesson, _ in list_steps(graph, item)))
        graph.pathway_lessons[name] = lessons
        for lesson in lessons:
            graph.lesson_pathways.setdefault(lesson, []).append(name)
    for name, project in graph.projects.items():
        for lesson in project.view.required_lessons if project.view else ():
            graph.lesson_projects.setdefault(lesson, []).append(name)


def list_steps(graph: Graph, item: Item[models.Pathway]) -> Iterator[tuple[str, Path]]:
    """Each usable lesson of a pathway with the path that names it."""
    for number, step in enumerate(item.view.steps if item.view else ()):
        if step.phase is not None:
            phase = graph.phases.get(step.phase)
            for record in phase.lessons if phase else ():
                if record.id in graph.lessons:
                    yield record.id, ("steps", number, "phase")
        for index, name in enumerate(step.lessons or ()):
            if name in graph.lessons:
                yield name, ("steps", number, "lessons", index)
