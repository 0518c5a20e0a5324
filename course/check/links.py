"""The rules across files: ids, references, pathways, roles, domains and projects that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final

from course.diagnostics import Problem, Span, nearest
from course.read.graph import Graph, LessonNode, Path, list_steps
from course.read.ids import LOCK_FILE, is_id
from course.read.lesson import Lesson
from course.read.links import KINDS
from course.read.sources import Item, ProjectSource, plain

if TYPE_CHECKING:
    from course.read import models

RETIRED_FILE = "content/retired.yaml"
CONCEPTS_FILE = "content/concepts.yaml"
# What each kind of source names others in, and the kind of what it names there.
_REFERENCES: Final[Mapping[str, Mapping[str, str]]] = {
    "phase": {
        "part": "part",
        "prerequisites": "phase",
        "projects": "project",
        "equipment": "equipment",
    },
    "lesson": {"prerequisites": "lesson", "concepts": "concept", "equipment": "equipment"},
    "pathway": {
        "requires": "pathway",
        "steps.phase": "phase",
        "steps.lessons": "lesson",
        "capstone.project": "project",
    },
    "role": {
        "pathways": "pathway",
        "milestones.lessons": "lesson",
        "milestones.phases": "phase",
        "startingChecks.phase": "phase",
    },
    "domain": {"pathways": "pathway", "roles": "role"},
    "project": {
        "pathway": "pathway",
        "requiredLessons": "lesson",
        "equipment": "equipment",
        "stages.lessons": "lesson",
    },
}
_NEVER_BACK = "choose a new id: a retired id is never reused"
_ENDED = f"restore it, or add it to {RETIRED_FILE}: replacedBy names its successor, or is null"
_ENDED_LESSON = f"name it in the aliases of its successor, or add it to {RETIRED_FILE}"


def check(graph: Graph) -> Iterator[Problem]:
    """Every broken rule that needs more than one file."""
    yield from check_ids(graph)
    yield from check_references(graph)
    yield from check_routes(graph)
    yield from check_projects(graph)


# -- phases, lessons, links and concepts --------------------------------------------------------


def check_references(graph: Graph) -> Iterator[Problem]:
    """Broken references of every source and body, and broken rules of lessons and concepts."""
    for kind, source in graph.sources.list_owners():
        data = source.front if isinstance(source, Lesson) else _read_data(graph, source)
        for keys, of in _REFERENCES[kind].items():
            for name, path in _list_references(data, keys.split("."), ()):
                yield from _check_reference(graph, of, name, source.file, path)
    yield from _check_lessons(graph)
    prerequisites = {
        node.id: () if node.id in node.view.prerequisites else node.view.prerequisites
        for node in graph.lessons.values()  # LES023 reports a lesson that requires itself
    }
    files = {node.id: node.record.file for node in graph.lessons.values()}
    yield from find_cycles(prerequisites, files, "prerequisites")
    phases = [phase for phase in graph.phases.values() if phase.view]
    prerequisites = {phase.id: phase.data.prerequisites for phase in phases}
    yield from find_cycles(
        prerequisites, {phase.id: phase.file for phase in phases}, "prerequisites"
    )
    yield from _check_body_links(graph)
    yield from _check_concepts(graph)


def _read_data(graph: Graph, item: Item[Any]) -> Any:
    """The data of *item*; with mistakes in it, whatever can be read."""
    return graph.sources.trees.get(item.file) if item.view is None else plain(item.view)


def _list_references(data: Any, keys: list[str], path: Path) -> Iterator[tuple[str, Path]]:
    """Each id below *keys* of *data*, which may be of any form, and its path."""
    if isinstance(data, list):
        for number, entry in enumerate(data):
            yield from _list_references(entry, keys, (*path, number))
    elif isinstance(data, dict) and keys and keys[0] in data:
        yield from _list_references(data[keys[0]], keys[1:], (*path, keys[0]))
    elif not keys and is_id(data):
        yield data, path


def _check_reference(
    graph: Graph, kind: str, name: str, file: str, path: Path
) -> Iterator[Problem]:
    """Yield REF001 when no *kind* has the id *name*."""
    names = graph.ids[kind]
    if name in names or kind in graph.unread & {"part", "concept", "equipment"}:
        return
    if kind == "equipment":
        cure = nearest(name, sorted(names)) or "add it to the equipment of course.yaml"
        message = f'the course has no equipment "{name}"'
        yield Problem("REF001", file, message, path, got=name, hint=cure)
        return
    ended = {entry.id: entry.replaced_by for entry in graph.sources.retired}
    moved = graph.aliases.get(name) if kind == "lesson" else ended.get(name)
    hint = f"write {moved}: the {kind} was renamed" if moved else nearest(name, sorted(names))
    yield Problem(
        "REF001",
        file,
        f'there is no {kind} "{name}"',
        path,
        expected=f"the id of a {kind}",
        got=name,
        hint=hint or f"create the {kind}, or remove the reference",
    )


def _check_lessons(graph: Graph) -> Iterator[Problem]:
    titles: dict[tuple[str, str], str] = {}
    day = graph.sources.facts.get("updated")
    for node in graph.lessons.values():
        view, file = node.view, node.record.file
        yield from _check_planned_prerequisites(graph, node)
        if day and view.updated and view.updated > day:
            yield Problem(
                "LES027",
                file,
                "the lesson is newer than the course",
                ("updated",),
                expected=f"{day} or earlier",
                got=view.updated,
            )
        key = (node.phase.id, view.title.casefold())
        if key in titles:
            yield Problem(
                "LES024",
                file,
                f'the lesson "{titles[key]}" of this phase has the same title',
                ("title",),
                got=view.title,
            )
        titles.setdefault(key, node.id)
        led_to = node.id in graph.lesson_pathways or "pathway" in graph.unread
        if not led_to and graph.ids["pathway"]:
            yield Problem("REF003", file, "no pathway leads to this lesson", ("id",))


def _check_planned_prerequisites(graph: Graph, node: LessonNode) -> Iterator[Problem]:
    for number, name in enumerate(node.view.prerequisites if node.authored else ()):
        needed = graph.lessons.get(name)
        if needed is not None and not needed.authored:
            yield Problem(
                "REF004",
                node.record.file,
                f'an authored lesson requires the planned lesson "{name}"',
                ("prerequisites", number),
            )


def _check_body_links(graph: Graph) -> Iterator[Problem]:
    lessons = list(graph.sources.lessons())
    bodies = [(record.file, record.links, record.anchors) for record in lessons]
    for project in graph.projects.values():
        file = project.file.replace("project.yaml", "README.md")
        bodies.append((file, project.body.links, project.body.anchors))
    for file, links, anchors in bodies:
        for link in links:
            if link["kind"] not in ("self", "external"):
                yield from _check_target(graph, link, file)
            yield from _check_anchor(graph, link, file, anchors)


def _check_target(graph: Graph, link: Mapping[str, Any], file: str) -> Iterator[Problem]:
    kind, name = link["kind"], link["id"]
    names = graph.ids.get(kind, set())
    if name not in names:
        moved = graph.aliases.get(name) if kind == "lesson" else None
        other = next((other for other in KINDS if name in graph.ids[other]), None)
        hint = f"write {kind}:{moved}" if moved else other and f"write {other}:{name}"
        hint = hint or nearest(name, sorted(names)) or f"link to a {kind} that exists"
        message, span = f'there is no {kind} "{name}"', Span(*link["at"])
        yield Problem("LNK001", file, message, span=span, got=name, hint=hint)
    elif folder := link.get("folder"):
        yield from _check_folder(graph, link, folder, file)


def _check_folder(
    graph: Graph, link: Mapping[str, Any], folder: str, file: str
) -> Iterator[Problem]:
    """LNK001 for a path that names the right id in a folder that does not exist."""
    lesson, phase = graph.lessons.get(link["id"]), graph.phases.get(link["id"])
    if link["kind"] == "lesson" and lesson is not None:
        there = lesson.record.folder
    elif link["kind"] == "phase" and phase is not None:
        there = phase.file.rpartition("/")[0]
    else:
        return
    if there != folder:
        hint = f"write {link['kind']}:{link['id']}, which survives renumbering"
        message, span = f"there is no folder {folder}", Span(*link["at"])
        yield Problem("LNK001", file, message, span=span, expected=there, got=folder, hint=hint)


def _check_anchor(
    graph: Graph, link: Mapping[str, Any], file: str, own: list[str]
) -> Iterator[Problem]:
    """A missing anchor of a link in a body whose anchors are *own*."""
    target = graph.lessons.get(link["id"]) if link["kind"] == "lesson" else None
    anchors = own if link["kind"] == "self" else _list_anchors(target)
    anchor = link["anchor"]
    if anchor and anchors is not None and anchor not in anchors:
        yield Problem(
            "LNK002",
            file,
            f'no heading has the anchor "{anchor}"',
            span=Span(*link["at"]),
            expected=", ".join(anchors) or "a text with headings",
            got=anchor,
            hint=nearest(anchor, anchors),
        )


def _list_anchors(target: LessonNode | None) -> list[str] | None:
    """The anchors of a lesson; None when they are unknown, as its body could not be read."""
    if target is None or (target.authored and not target.record.anchors):
        return None
    return target.record.anchors


def _check_concepts(graph: Graph) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, concept in enumerate(graph.sources.concepts):
        if concept.id in seen:
            yield Problem(
                "IDS003",
                "content/concepts.yaml",
                f'the concept "{concept.id}" appears twice',
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
            )


def find_cycles(
    edges: Mapping[str, tuple[str, ...]],
    files: Mapping[str, str],
    key: str,
    code: str = "REF002",
    what: str = "prerequisites",
) -> Iterator[Problem]:
    """One problem for each cycle of *edges*, with the way around in its message."""
    order = list(edges)
    left = {name: [other for other in needed if other in edges] for name, needed in edges.items()}
    while circle := _find_cycle(left):
        first = circle.index(min(circle, key=order.index))
        circle = circle[first:] + circle[:first]
        start, last = circle[0], circle[-1]
        left[last].remove(start)
        yield Problem(
            code,
            files[last],
            f"the {what} form a circle: {' → '.join([*circle, start])}",
            (key, edges[last].index(start)),
            got=start,
        )


def _find_cycle(edges: Mapping[str, list[str]]) -> list[str]:
    """Return names each of which needs the next, and the last the first; empty without a cycle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1][:0:-1])
    return []


# -- pathways, roles and domains ----------------------------------------------------------------


def check_routes(graph: Graph) -> Iterator[Problem]:
    """Broken rules of every pathway, role and domain."""
    for item in graph.pathways.values():
        if item.view is not None:
            yield from _check_pathway(graph, item, item.view)
    requires = {name: item.view.requires for name, item in graph.pathways.items() if item.view}
    files = {name: item.file for name, item in graph.pathways.items()}
    yield from find_cycles(requires, files, "requires", "PTH004", "required pathways")
    for role in graph.roles.values():
        if role.view is not None:
            yield from _check_role(graph, role.view, role.file)
    for domain in graph.domains.values():
        if domain.view is not None:
            yield from _check_default_pathway("DOM003", domain.view, domain.file)
    yield from _check_domains(graph)


def _check_pathway(
    graph: Graph, item: Item[models.Pathway], view: models.Pathway
) -> Iterator[Problem]:
    file = item.file
    yield from _check_order(graph, item, view)
    lessons = graph.pathway_lessons[view.id]
    whole = "lesson" not in graph.unread
    if whole and lessons and not any(graph.lessons[name].authored for name in lessons):
        yield Problem(
            "PTH002",
            file,
            "every lesson of this pathway is planned, so the pathway is published as planned",
            ("steps",),
        )
    if view.capstone:
        yield from _check_capstone(graph, view, view.capstone, file)


def _check_order(
    graph: Graph, item: Item[models.Pathway], view: models.Pathway
) -> Iterator[Problem]:
    required = graph.list_required(view.id)
    inside = set(graph.pathway_lessons[view.id])
    ids = Counter(lesson.id for lesson in graph.sources.lessons())
    shared = {name for name, count in ids.items() if count > 1}
    seen: set[str] = set()
    for name, path in list_steps(graph, item):
        if name in seen:
            if name in shared:
                continue  # two lessons have this id, which is said where it stands
            yield Problem(
                "PTH001", item.file, f'the pathway contains the lesson "{name}" twice', path
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
                else f'add "{needed}" before it, or require a pathway that contains it',
            )
        seen.add(name)


def _check_capstone(
    graph: Graph, view: models.Pathway, capstone: models.Capstone, file: str
) -> Iterator[Problem]:
    path: Path = ("capstone", "project")
    project = graph.projects.get(capstone.project)
    if project is None or project.view is None or graph.unread & {"lesson", "pathway"}:
        return
    inside = set(graph.pathway_lessons[view.id]) | graph.list_required(view.id)
    missing = [name for name in project.view.required_lessons if name not in inside]
    if missing:
        yield Problem(
            "PTH003",
            file,
            f"the capstone needs lessons from outside the pathway: {', '.join(missing)}",
            path,
        )


def _check_role(graph: Graph, view: models.Role, file: str) -> Iterator[Problem]:
    listed = view.default_pathway in view.pathways
    yield from _check_default_pathway("ROL001", view, file)
    whole = not graph.unread & {"lesson", "phase", "pathway"}
    lessons, phases = _list_reachable(graph, view)
    for number, milestone in enumerate(view.milestones):
        for key, kind, names, allowed in (
            ("lessons", "lesson", milestone.lessons or (), lessons),
            ("phases", "phase", milestone.phases or (), phases),
        ):
            path: Path = ("milestones", number, key)
            for index, name in enumerate(names):
                if whole and name in graph.ids[kind] and name not in allowed:
                    yield Problem(
                        "ROL002",
                        file,
                        f'the {kind} "{name}" is not in any of the role\'s pathways',
                        (*path, index),
                    )
    named = [check.phase for check in view.starting_checks]
    if whole and listed and set(named) <= graph.ids["phase"]:
        yield from _check_starting_checks(graph, view, named, file)


def _list_reachable(graph: Graph, view: models.Role) -> tuple[set[str], set[str]]:
    """The lessons and the phases that a role's pathways lead through."""
    lessons: set[str] = set()
    for name in view.pathways:
        lessons.update(graph.pathway_lessons.get(name, ()), graph.list_required(name))
    return lessons, {graph.lessons[name].phase.id for name in lessons}


def _check_starting_checks(
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
        )


def _check_default_pathway(
    code: str, view: models.Role | models.Domain, file: str
) -> Iterator[Problem]:
    if view.default_pathway not in view.pathways:
        yield Problem(
            code,
            file,
            "the default pathway is not among the pathways",
            ("defaultPathway",),
            expected=", ".join(view.pathways),
            got=view.default_pathway,
        )


def _check_domains(graph: Graph) -> Iterator[Problem]:
    views = [item.view for item in graph.domains.values() if item.view]
    if len(views) < len(graph.domains):
        return  # a domain that cannot be read may name what seems to be missing
    if not views:
        return  # a small course needs none
    pathways = {name for view in views for name in view.pathways}
    roles = {name for view in views for name in view.roles}
    for code, kind, items, named in (
        ("DOM001", "pathway", graph.pathways, pathways),
        ("DOM002", "role", graph.roles, roles),
    ):
        for name, item in items.items():
            if name not in named:
                yield Problem(code, item.file, f'no domain names the {kind} "{name}"', ("id",))


# -- projects -----------------------------------------------------------------------------------


def check_projects(graph: Graph) -> Iterator[Problem]:
    """Broken rules of every project."""
    for project in graph.projects.values():
        view, file = project.view, project.file
        if view is None:
            continue
        yield from _check_stages(graph, view, file)
        yield from _check_rubric(view, file)
        if view.status == "authored":
            yield from _check_authored(graph, project, view, file)
        elif view.prepare:
            yield Problem(
                "PRJ007",
                file,
                'a planned project cannot have "prepare"',
                ("prepare",),
                on_key=True,
            )


def _check_stages(graph: Graph, view: models.Project, file: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, stage in enumerate(view.stages):
        path: Path = ("stages", number)
        for index, name in enumerate(stage.lessons):
            if name in graph.ids["lesson"] and name not in view.required_lessons:
                yield Problem(
                    "PRJ002",
                    file,
                    f'the stage uses "{name}", which the project does not require',
                    (*path, "lessons", index),
                    expected=", ".join(view.required_lessons),
                    got=name,
                )
        if stage.id in seen:
            yield _report_repetition("stage", stage.id, file, (*path, "id"))
        seen.add(stage.id)


def _check_rubric(view: models.Project, file: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, criterion in enumerate(view.rubric):
        path: Path = ("rubric", number)
        if criterion.id in seen:
            yield _report_repetition("criterion", criterion.id, file, (*path, "id"))
        seen.add(criterion.id)
        scores = [level.score for level in criterion.levels]
        if len(set(scores)) != len(scores):
            yield Problem(
                "PRJ004",
                file,
                "two levels of this criterion have the same score",
                (*path, "levels"),
                got=", ".join(map(str, scores)),
            )


def _report_repetition(what: str, name: str, file: str, path: Path) -> Problem:
    return Problem("PRJ005", file, f'the {what} id "{name}" appears twice', path)


def _check_authored(
    graph: Graph, project: ProjectSource, view: models.Project, file: str
) -> Iterator[Problem]:
    for key in ("equipment", "stages", "rubric"):
        if not getattr(view, key):
            yield Problem(
                "PRJ003",
                file,
                f"an authored project must state its {key}",
                (key,),
                hint=f"add {key}:, or set status: planned",
            )
    if not project.readme.strip() and not project.readme_unread:
        yield Problem(
            "PRJ006", file, "an authored project must have a README.md for its page", ("status",)
        )
    for number, name in enumerate(view.required_lessons):
        node = graph.lessons.get(name)
        if node is not None and not node.authored:
            yield Problem(
                "PRJ001",
                file,
                f'an authored project requires the planned lesson "{name}"',
                ("requiredLessons", number),
            )


# -- ids: unique, never lost, never used again for another thing ---------------------------------


def list_current_ids(graph: Graph) -> dict[str, tuple[str, str]]:
    """Every id with its kind and, for lessons, its status: what the lock file records."""
    ids: dict[str, tuple[str, str]] = {}
    for kind, source in graph.sources.list_owners():
        ids.setdefault(source.id, (kind, ""))
    for name, node in graph.lessons.items():
        if ids[name][0] == "lesson":
            ids[name] = ("lesson", node.view.status)
    for concept in graph.sources.concepts:
        ids.setdefault(concept.id, ("concept", ""))
    return ids


def check_ids(graph: Graph) -> Iterator[Problem]:
    """Broken rules of ids, aliases, retired ids and the lock file."""
    first: dict[str, tuple[str, str]] = {}
    for kind, source in graph.sources.list_owners():
        if source.id in first:
            other_kind, other = first[source.id]
            message = f'the id "{source.id}" is taken by a {other_kind}'
            yield Problem("IDS003", source.file, message, ("id",), got=f"also in {other}")
        first.setdefault(source.id, (kind, source.file))
    yield from _check_aliases(graph, first)
    yield from _check_retired(graph, first)
    if graph.sources.has_lock:
        yield from _check_lock(graph, first)
    elif LOCK_FILE not in graph.sources.files and graph.lessons:
        yield Problem("IDS010", LOCK_FILE, f"{LOCK_FILE} is missing")


def _check_aliases(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    ended = {entry.id: entry.replaced_by for entry in graph.sources.retired}
    for node in graph.lessons.values():
        for number, alias in enumerate(node.view.aliases):
            clashes: list[tuple[str, str, str]] = []
            if ended.get(alias, node.id) != node.id:
                holder = f"in {RETIRED_FILE}, replaced by {ended[alias] or 'nothing'}"
                clashes.append(("retired", holder, "remove the alias here, or the entry there"))
            if other := taken.get(alias, ("", ""))[1] or owners.get(alias):
                clashes.append(("in use", f"also in {other}", "remove the alias here or there"))
            for what, holder, hint in clashes:
                message, place = f'the alias "{alias}" is {what}', ("aliases", number)
                yield Problem("IDS006", node.record.file, message, place, got=holder, hint=hint)
            owners[alias] = node.record.file


def _check_retired(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    names = set(taken) | graph.ids["concept"]
    for number, entry in enumerate(graph.sources.retired):
        if entry.replaced_by is not None and entry.replaced_by not in names:
            yield Problem(
                "REF001",
                RETIRED_FILE,
                f'nothing has the id "{entry.replaced_by}"',
                (number, "replacedBy"),
                got=entry.replaced_by,
                hint=nearest(entry.replaced_by, sorted(names)),
            )
        node = graph.lessons.get(entry.id)
        if entry.id in taken and (node is None or node.authored):
            yield Problem(
                "IDS005",
                taken[entry.id][1],
                f'the retired id "{entry.id}" is used again',
                ("id",),
                hint=_NEVER_BACK,
            )
    ended = {entry.id for entry in graph.sources.retired}
    for number, concept in enumerate(graph.sources.concepts):
        if concept.id in ended:
            message = f'the retired id "{concept.id}" is used again'
            yield Problem("IDS005", CONCEPTS_FILE, message, (number, "id"), hint=_NEVER_BACK)


def _check_lock(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    lock = graph.sources.lock
    ended = {entry.id for entry in graph.sources.retired}
    now = list_current_ids(graph)
    moved_unseen = {"lesson", "concept", "retired"}
    for name, locked in lock.items():
        place = Span(locked.line, 1, locked.line, 1)
        if name in now:
            kind = now[name][0]
            if kind != locked.kind:
                yield Problem(
                    "IDS005",
                    taken.get(name, ("", CONCEPTS_FILE))[1],
                    f'the id "{name}" was published as a {locked.kind} and is now a {kind}',
                    ("id",),
                )
        elif not (name in ended or name in graph.aliases or moved_unseen & graph.unread):
            yield Problem(
                "IDS004",
                LOCK_FILE,
                f'the published {locked.kind} "{name}" has disappeared',
                span=place,
                hint=_ENDED_LESSON if locked.kind == "lesson" else _ENDED,
            )
    for name, (kind, status) in now.items():
        before = lock.get(name)
        if before is None and (kind != "lesson" or status):
            yield Problem(
                "IDS009",
                taken.get(name, ("", CONCEPTS_FILE))[1],
                f'the new {kind} "{name}" is not in ids.lock yet',
                ("id",) if name in taken else None,
            )
        elif before and (before.status, status) == ("authored", "planned") and name not in ended:
            yield Problem(
                "LES019",
                taken[name][1],
                "a published authored lesson became planned",
                ("status",),
                expected="authored",
                got="planned",
            )
