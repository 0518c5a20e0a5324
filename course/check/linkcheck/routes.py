"""Pathways, roles and domains: in a workable order, and inside one another."""

from __future__ import annotations

from collections.abc import Iterator

from course.check.linkcheck.references import cycles, unresolved
from course.diagnostics import Problem
from course.read import models
from course.read.graph import Graph, Path, steps
from course.read.sources import Item


def route_problems(graph: Graph) -> Iterator[Problem]:
    """Broken rules of every pathway, role and domain."""
    for item in graph.pathways.values():
        if item.view is not None:
            yield from _pathway(graph, item, item.view)
    requires = {name: item.view.requires for name, item in graph.pathways.items() if item.view}
    files = {name: item.file for name, item in graph.pathways.items()}
    for problem in cycles(requires, files, "requires"):
        yield Problem(
            "PTH004",
            problem.file,
            problem.message.replace("the requires go", "the required pathways go"),
            problem.path,
            got=problem.got,
            hint=problem.hint,
        )
    for role in graph.roles.values():
        if role.view is not None:
            yield from _role(graph, role.view, role.file)
    for domain in graph.domains.values():
        if domain.view is not None:
            yield from _domain(graph, domain.view, domain.file)
    yield from _homeless(graph)


def _pathway(graph: Graph, item: Item[models.Pathway], view: models.Pathway) -> Iterator[Problem]:
    file = item.file
    yield from unresolved(graph, "pathway", view.requires, file, ("requires",))
    for number, step in enumerate(view.steps):
        path: Path = ("steps", number)
        if step.phase is not None:
            names = [step.phase]
            yield from unresolved(graph, "phase", names, file, (*path, "phase"), single=True)
        if step.lessons:
            yield from unresolved(graph, "lesson", step.lessons, file, (*path, "lessons"))
    yield from _order(graph, item, view)
    lessons = graph.pathway_lessons[view.id]
    whole = "lesson" not in graph.unread
    if whole and lessons and not any(graph.lessons[name].authored for name in lessons):
        yield Problem(
            "PTH002",
            file,
            "every lesson of this pathway is planned, so the pathway is published as planned",
            ("steps",),
            hint="write one of its lessons, or leave it as a plan",
        )
    if view.capstone:
        yield from _capstone(graph, view, view.capstone, file)


def _order(graph: Graph, item: Item[models.Pathway], view: models.Pathway) -> Iterator[Problem]:
    required = graph.required(view.id)
    inside = set(graph.pathway_lessons[view.id])
    seen: set[str] = set()
    for name, path in steps(graph, item):
        if name in seen:
            yield Problem(
                "PTH001",
                item.file,
                f'the pathway holds the lesson "{name}" twice',
                path,
                hint="remove it from one of the steps",
            )
            continue
        for needed in graph.lessons[name].view.prerequisites:
            if needed in seen or needed in required or needed not in graph.lessons:
                continue
            late = needed in inside
            if needed == name or not (late or "pathway" not in graph.unread):
                continue
            where = "comes later" if late else "is neither here nor in a required pathway"
            yield Problem(
                "PTH001",
                item.file,
                f'the lesson "{name}" needs "{needed}", which {where}',
                path,
                hint=f'move "{needed}" before it'
                if late
                else f'add "{needed}" before it, or require a pathway that holds it',
            )
        seen.add(name)


def _capstone(
    graph: Graph, view: models.Pathway, capstone: models.Capstone, file: str
) -> Iterator[Problem]:
    path: Path = ("capstone", "project")
    yield from unresolved(graph, "project", [capstone.project], file, path, single=True)
    project = graph.projects.get(capstone.project)
    if project is None or project.item.view is None or graph.unread & {"lesson", "pathway"}:
        return
    inside = set(graph.pathway_lessons[view.id]) | graph.required(view.id)
    missing = [name for name in project.item.view.required_lessons if name not in inside]
    if missing:
        yield Problem(
            "PTH003",
            file,
            f"the capstone needs lessons from outside the pathway: {', '.join(missing)}",
            path,
            hint="add them to the steps, or require a pathway that holds them",
        )


def _role(graph: Graph, view: models.Role, file: str) -> Iterator[Problem]:
    yield from unresolved(graph, "pathway", view.pathways, file, ("pathways",))
    listed = view.default_pathway in view.pathways
    if not listed:
        yield _default("ROL001", view.default_pathway, view.pathways, file)
    whole = not graph.unread & {"lesson", "phase", "pathway"}
    lessons, phases = _reach(graph, view)
    for number, milestone in enumerate(view.milestones):
        for key, kind, names, allowed in (
            ("lessons", "lesson", milestone.lessons or (), lessons),
            ("phases", "phase", milestone.phases or (), phases),
        ):
            path: Path = ("milestones", number, key)
            yield from unresolved(graph, kind, names, file, path)
            for index, name in enumerate(names):
                if whole and name in graph.known[kind] and name not in allowed:
                    yield Problem(
                        "ROL002",
                        file,
                        f'the {kind} "{name}" is in none of the role\'s pathways',
                        (*path, index),
                        hint="choose one that is, or add its pathway to the role",
                    )
    named = [check.phase for check in view.starting_checks]
    for number, name in enumerate(named):
        path = ("startingChecks", number, "phase")
        yield from unresolved(graph, "phase", [name], file, path, single=True)
    if whole and listed and set(named) <= graph.known["phase"]:
        yield from _starting_checks(graph, view, named, file)


def _reach(graph: Graph, view: models.Role) -> tuple[set[str], set[str]]:
    """The lessons and the phases that a role's pathways lead through."""
    lessons: set[str] = set()
    for name in view.pathways:
        lessons.update(graph.pathway_lessons.get(name, ()), graph.required(name))
    return lessons, {graph.lessons[name].phase.item.id for name in lessons}


def _starting_checks(
    graph: Graph, view: models.Role, named: list[str], file: str
) -> Iterator[Problem]:
    first = graph.pathway_phases(view.default_pathway)[: len(set(named))]
    if first and set(named) != set(first):
        number = next((n for n, name in enumerate(named) if name not in first), 0)
        yield Problem(
            "ROL003",
            file,
            "the starting checks do not name the first phases of the default pathway",
            ("startingChecks", number, "phase"),
            expected=", ".join(first),
            got=", ".join(named),
            hint="ask about the phases that the learner meets first",
        )


def _domain(graph: Graph, view: models.Domain, file: str) -> Iterator[Problem]:
    yield from unresolved(graph, "pathway", view.pathways, file, ("pathways",))
    yield from unresolved(graph, "role", view.roles, file, ("roles",))
    if view.default_pathway not in view.pathways:
        yield _default("DOM003", view.default_pathway, view.pathways, file)


def _default(code: str, got: str, pathways: tuple[str, ...], file: str) -> Problem:
    return Problem(
        code,
        file,
        "the default pathway is not among the pathways",
        ("defaultPathway",),
        expected=", ".join(pathways),
        got=got,
        hint="choose one of the pathways, or add it to them",
    )


def _homeless(graph: Graph) -> Iterator[Problem]:
    views = [item.view for item in graph.domains.values() if item.view]
    if len(views) < len(graph.domains):
        return  # a domain that cannot be read may name what seems to be missing
    pathways = {name for view in views for name in view.pathways}
    roles = {name for view in views for name in view.roles}
    for code, kind, items, named in (
        ("DOM001", "pathway", graph.pathways, pathways),
        ("DOM002", "role", graph.roles, roles),
    ):
        for name, item in items.items():
            if name not in named:
                yield Problem(
                    code,
                    item.file,
                    f'no domain names the {kind} "{name}"',
                    ("id",),
                    hint=f"add it to the {kind}s of a domain",
                )
