"""Ids over the whole course: unique, never lost, never used again for another thing."""

from __future__ import annotations

from collections.abc import Iterator

from course.diagnostics import Problem, Span, nearest
from course.read.graph import Graph
from course.read.ids import LOCK_FILE

RETIRED_FILE = "content/retired.yaml"
CONCEPTS_FILE = "content/concepts.yaml"
_NEVER_BACK = "choose a new id: a retired one never comes back"
_ENDED = f"restore it, or add it to {RETIRED_FILE}: replacedBy names its successor, or is null"
_ENDED_LESSON = f"name it in the aliases of its successor, or add it to {RETIRED_FILE}"


def current(graph: Graph) -> dict[str, tuple[str, str]]:
    """Every id with its kind and, for lessons, its status: what the lock file records."""
    found: dict[str, tuple[str, str]] = {}
    for kind, one in graph.sources.named():
        found.setdefault(one.id, (kind, ""))
    for name, node in graph.lessons.items():
        if found[name][0] == "lesson":
            found[name] = ("lesson", node.view.status)
    for concept in graph.sources.concepts:
        found.setdefault(concept.id, ("concept", ""))
    return found


def id_problems(graph: Graph) -> Iterator[Problem]:
    """Broken rules of ids, aliases, retired ids and the lock file."""
    first: dict[str, tuple[str, str]] = {}
    for kind, one in graph.sources.named():
        if one.id in first:
            other_kind, other = first[one.id]
            message = f'the id "{one.id}" is taken by a {other_kind}'
            yield Problem("IDS003", one.file, message, ("id",), got=f"also in {other}")
        first.setdefault(one.id, (kind, one.file))
    yield from _aliases(graph, first)
    yield from _retired(graph, first)
    if graph.sources.has_lock:
        yield from _locked(graph, first)
    elif LOCK_FILE not in graph.sources.files and graph.lessons:
        yield Problem("IDS010", LOCK_FILE, f"{LOCK_FILE} is missing")


def _aliases(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    ended = {entry.id: entry.replaced_by for entry in graph.sources.retired}
    for node in graph.lessons.values():
        for number, alias in enumerate(node.view.aliases):
            clashes: list[tuple[str, str, str]] = []
            if ended.get(alias, node.id) != node.id:
                got = f"in {RETIRED_FILE}, replaced by {ended[alias] or 'nothing'}"
                clashes.append(("retired", got, "remove the alias here, or the entry there"))
            if other := taken.get(alias, ("", ""))[1] or owners.get(alias):
                clashes.append(("in use", f"also in {other}", "remove the alias here or there"))
            for what, got, hint in clashes:
                message, place = f'the alias "{alias}" is {what}', ("aliases", number)
                yield Problem("IDS006", node.record.file, message, place, got=got, hint=hint)
            owners[alias] = node.record.file


def _retired(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    known = set(taken) | graph.known["concept"]
    for number, entry in enumerate(graph.sources.retired):
        if entry.replaced_by is not None and entry.replaced_by not in known:
            yield Problem(
                "REF001",
                RETIRED_FILE,
                f'there is nothing with the id "{entry.replaced_by}"',
                (number, "replacedBy"),
                got=entry.replaced_by,
                hint=nearest(entry.replaced_by, sorted(known)),
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


def _locked(graph: Graph, taken: dict[str, tuple[str, str]]) -> Iterator[Problem]:
    lock = graph.sources.lock
    ended = {entry.id for entry in graph.sources.retired}
    now = current(graph)
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
