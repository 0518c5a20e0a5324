"""Integration projects: honest about status, complete when authored."""

from __future__ import annotations

from collections.abc import Iterator

from course.check.linkcheck.references import unresolved
from course.diagnostics import Problem, Span
from course.read import models
from course.read.code import python_fault
from course.read.files import merge_marker
from course.read.graph import Graph, Path
from course.read.sources import ProjectSource


def project_problems(graph: Graph) -> Iterator[Problem]:
    """Broken rules of every project."""
    for project in graph.projects.values():
        view, file = project.item.view, project.item.file
        if view is None:
            continue
        required = view.required_lessons
        yield from unresolved(graph, "pathway", [view.pathway], file, ("pathway",), single=True)
        yield from unresolved(graph, "lesson", required, file, ("requiredLessons",))
        yield from _stages(graph, view, file)
        yield from _rubric(view, file)
        if view.status == "authored":
            yield from _authored(graph, project, view, file)
        elif view.prepare:
            yield Problem(
                "PRJ007",
                file,
                "a planned project has nothing to prepare",
                ("prepare",),
                on_key=True,
                hint="remove it, or set status: authored",
            )


def _stages(graph: Graph, view: models.Project, file: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, stage in enumerate(view.stages):
        path: Path = ("stages", number)
        yield from unresolved(graph, "lesson", stage.lessons, file, (*path, "lessons"))
        for index, name in enumerate(stage.lessons):
            if name in graph.known["lesson"] and name not in view.required_lessons:
                yield Problem(
                    "PRJ002",
                    file,
                    f'the stage uses "{name}", which the project does not require',
                    (*path, "lessons", index),
                    expected=", ".join(view.required_lessons),
                    got=name,
                    hint="add it to requiredLessons",
                )
        if stage.id in seen:
            yield _twice("stage", stage.id, file, (*path, "id"))
        seen.add(stage.id)


def _rubric(view: models.Project, file: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, criterion in enumerate(view.rubric):
        path: Path = ("rubric", number)
        if criterion.id in seen:
            yield _twice("criterion", criterion.id, file, (*path, "id"))
        seen.add(criterion.id)
        scores = [level.score for level in criterion.levels]
        if len(set(scores)) != len(scores):
            yield Problem(
                "PRJ004",
                file,
                "two levels of this criterion have the same score",
                (*path, "levels"),
                got=", ".join(map(str, scores)),
                hint="give each level its own score from 0 to 3",
            )


def _twice(what: str, name: str, file: str, path: Path) -> Problem:
    return Problem(
        "PRJ005",
        file,
        f'the {what} id "{name}" stands twice',
        path,
        hint="give each its own id",
    )


def _authored(
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
            "PRJ006",
            file,
            "an authored project must have a README.md for its page",
            ("status",),
            hint="write README.md beside project.yaml",
        )
    for number, name in enumerate(view.required_lessons):
        node = graph.lessons.get(name)
        if node is not None and not node.authored:
            yield Problem(
                "PRJ001",
                file,
                f'an authored project requires the planned lesson "{name}"',
                ("requiredLessons", number),
                hint="write the lesson first, or set status: planned",
            )
    yield from _code(project, file)


def _code(project: ProjectSource, file: str) -> Iterator[Problem]:
    """Learners begin with these files; one that is no Python stops them at the first command."""
    folder = file.rpartition("/")[0]
    for name, data in project.files.items():
        if not name.endswith(".py"):
            continue
        text = data.decode("utf-8", "replace")
        fault = python_fault(text)
        if fault is not None and not merge_marker(text, name):  # which is told already
            yield Problem(
                "PRJ008",
                f"{folder}/{name}",
                f"this is no Python: {fault.message}",
                span=Span(fault.line, fault.column, fault.line, fault.column + 1),
                hint="correct it; what learners are to write themselves can be pass or raise",
            )
