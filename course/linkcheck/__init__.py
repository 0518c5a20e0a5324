"""Rules that need more than one file: pure functions of the graph."""

from __future__ import annotations

from collections.abc import Iterator

from course.diagnostics import Problem
from course.graph import Graph
from course.linkcheck.identity import id_problems
from course.linkcheck.projects import project_problems
from course.linkcheck.references import reference_problems
from course.linkcheck.routes import route_problems


def problems(graph: Graph) -> Iterator[Problem]:
    """Every broken rule that needs more than one file."""
    yield from id_problems(graph)
    yield from reference_problems(graph)
    yield from route_problems(graph)
    yield from project_problems(graph)
