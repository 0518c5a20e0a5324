"""Rules that need more than one file: pure functions of the graph."""

from __future__ import annotations

from collections.abc import Iterator

from course.check.linkcheck.identity import id_problems
from course.check.linkcheck.projects import project_problems
from course.check.linkcheck.references import reference_problems
from course.check.linkcheck.routes import route_problems
from course.diagnostics import Problem
from course.read.graph import Graph


def problems(graph: Graph) -> Iterator[Problem]:
    """Every broken rule that needs more than one file."""
    yield from id_problems(graph)
    yield from reference_problems(graph)
    yield from route_problems(graph)
    yield from project_problems(graph)
