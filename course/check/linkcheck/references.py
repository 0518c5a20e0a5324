"""References: phases, lessons, links and concepts that exist, without circles or orphans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from course.diagnostics import Problem, Span, nearest
from course.read.graph import Graph, LessonNode, Path


def reference_problems(graph: Graph) -> Iterator[Problem]:
    """Broken references of phases, lessons, bodies and concepts."""
    yield from _phase_problems(graph)
    yield from _lesson_problems(graph)
    prerequisites = {
        node.id: () if node.id in node.view.prerequisites else node.view.prerequisites
        for node in graph.lessons.values()  # LES023 tells of a lesson that requires itself
    }
    files = {node.id: node.record.file for node in graph.lessons.values()}
    yield from cycles(prerequisites, files, "prerequisites")
    yield from _body_links(graph)
    yield from _concepts(graph)


def unresolved(
    graph: Graph, kind: str, names: Iterable[str], file: str, path: Path, *, single: bool = False
) -> Iterator[Problem]:
    """REF001 for each of *names* that is no known *kind*."""
    known = graph.known[kind]
    for number, name in enumerate(names):
        if name in known or kind in graph.unread & {"part", "concept"}:
            continue
        ended = {entry.id: entry.replaced_by for entry in graph.sources.retired}
        moved = graph.aliases.get(name) if kind == "lesson" else ended.get(name)
        hint = f"write {moved}: the {kind} was renamed" if moved else nearest(name, sorted(known))
        yield Problem(
            "REF001",
            file,
            f'there is no {kind} "{name}"',
            path if single else (*path, number),
            expected=f"the id of a {kind}",
            got=name,
            hint=hint or f"create the {kind}, or remove the reference",
        )


def _phase_problems(graph: Graph) -> Iterator[Problem]:
    prerequisites: dict[str, tuple[str, ...]] = {}
    for phase in graph.phases.values():
        view, file = phase.item.view, phase.item.file
        if view is None:
            continue
        prerequisites[view.id] = view.prerequisites
        yield from unresolved(graph, "part", [view.part], file, ("part",), single=True)
        yield from unresolved(graph, "phase", view.prerequisites, file, ("prerequisites",))
        yield from unresolved(graph, "project", view.projects, file, ("projects",))
    files = {name: phase.item.file for name, phase in graph.phases.items()}
    yield from cycles(prerequisites, files, "prerequisites")


def _lesson_problems(graph: Graph) -> Iterator[Problem]:
    titles: dict[tuple[str, str], str] = {}
    for node in graph.lessons.values():
        view, file = node.view, node.record.file
        if view.prerequisites:
            names = view.prerequisites
            yield from unresolved(graph, "lesson", names, file, ("prerequisites",))
            yield from _planned_prerequisites(graph, node)
        if view.concepts:
            yield from unresolved(graph, "concept", view.concepts, file, ("concepts",))
        key = (node.phase.item.id, view.title.casefold())
        if key in titles:
            yield Problem(
                "LES024",
                file,
                f'the lesson "{titles[key]}" of this phase has the same title',
                ("title",),
                got=view.title,
                hint="change one of the two titles",
            )
        titles.setdefault(key, node.id)
        led_to = node.id in graph.lesson_pathways or "pathway" in graph.unread
        if not led_to and graph.known["pathway"]:
            yield Problem(
                "REF003",
                file,
                "no pathway leads to this lesson",
                ("id",),
                hint="add it, or its phase, to the steps of a pathway",
            )


def _planned_prerequisites(graph: Graph, node: LessonNode) -> Iterator[Problem]:
    for number, name in enumerate(node.view.prerequisites if node.authored else ()):
        needed = graph.lessons.get(name)
        if needed is not None and not needed.authored:
            yield Problem(
                "REF004",
                node.record.file,
                f'an authored lesson requires the planned lesson "{name}"',
                ("prerequisites", number),
                hint="write that lesson first, or require another one",
            )


def _body_links(graph: Graph) -> Iterator[Problem]:
    for node in graph.lessons.values():
        record = node.record
        for entry in record.links:
            for problem in lost_link(graph, entry, record.file, record.anchors):
                yield replace(problem, span=Span(*entry["at"]))
    for project in graph.projects.values():
        file = project.item.file.replace("project.yaml", "README.md")
        for entry in project.body.links:
            for problem in lost_link(graph, entry, file, project.body.anchors):
                yield replace(problem, span=Span(*entry["at"]))


def lost_link(
    graph: Graph, entry: Mapping[str, Any], file: str, own: list[str]
) -> Iterator[Problem]:
    """What is wrong with one link of a body whose anchors are *own*; its place is left out."""
    kind, name, anchor = entry["kind"], entry["id"], entry["anchor"]
    known = graph.known.get(kind, set())
    if kind not in ("self", "external") and name not in known:
        moved = graph.aliases.get(name) if kind == "lesson" else None
        hint = f"write {kind}:{moved}" if moved else nearest(name, sorted(known))
        yield Problem(
            "LNK001",
            file,
            f'there is no {kind} "{name}"',
            got=name,
            hint=hint or f"link to a {kind} that exists",
        )
        return
    target = graph.lessons.get(name) if kind == "lesson" else None
    anchors = own if kind == "self" else _anchors(target)
    if anchor and anchors is not None and anchor not in anchors:
        yield Problem(
            "LNK002",
            file,
            f'no heading has the anchor "{anchor}"',
            expected=", ".join(anchors) or "a text with headings",
            got=anchor,
            hint=nearest(anchor, anchors) or "link without the # part",
        )


def _anchors(target: LessonNode | None) -> list[str] | None:
    """The anchors of a lesson; None when they are unknown, as its body could not be read."""
    if target is None or (target.authored and not target.record.anchors):
        return None
    return target.record.anchors


def _concepts(graph: Graph) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, concept in enumerate(graph.sources.concepts):
        if concept.id in seen:
            yield Problem(
                "IDS003",
                "content/concepts.yaml",
                f'the concept "{concept.id}" stands twice',
                (number, "id"),
                hint="remove one of the two",
            )
        seen.add(concept.id)
        taught = concept.id in graph.taught or "lesson" in graph.unread
        if not taught and graph.lessons:
            yield Problem(
                "REF005",
                "content/concepts.yaml",
                f'no lesson teaches the concept "{concept.id}"',
                (number, "id"),
                hint="name it in the concepts of the lesson that teaches it",
            )


def cycles(
    edges: Mapping[str, tuple[str, ...]], files: Mapping[str, str], key: str
) -> Iterator[Problem]:
    """One problem for each cycle of *edges*, with the way around in its message."""
    done: set[str] = set()
    for start in edges:
        trail: list[str] = []
        places: dict[str, int] = {}
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, index = stack.pop()
            if index == 0:
                if name in done:
                    continue
                places[name] = len(trail)
                trail.append(name)
            following = edges.get(name, ())
            if index == len(following):
                done.add(name)
                trail.pop()
                del places[name]
                continue
            stack.append((name, index + 1))
            after = following[index]
            if after in places:
                circle = [*trail[places[after] :], after]
                yield Problem(
                    "REF002",
                    files[name],
                    f"the {key} go in a circle: {' → '.join(circle)}",
                    (key, index),
                    got=after,
                    hint="remove one of these references",
                )
            elif after not in done and after in edges:
                stack.append((after, 0))
