"""`pathways.json` and `roles.json`: the ways through the course and whom they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from course.publish.resources.catalog import totals
from course.publish.resources.form import page
from course.read import models
from course.read.graph import Graph
from course.read.models.view import plain

# A printed pathway joins its lessons on one page; beyond this a browser struggles with it.
PRINT_LIMIT: Final = 100


def pathways(graph: Graph) -> dict[str, Any]:
    """``pathways.json``."""
    return {
        "schemaVersion": 1,
        "pathways": [_pathway(graph, item.view) for item in graph.pathways.values() if item.view],
    }


def printable(lessons: Sequence[str]) -> bool:
    """Whether a pathway of these lessons gets a page to print."""
    return len(lessons) <= PRINT_LIMIT


def printed(graph: Graph) -> set[str]:
    """The lessons that stand on a page to print."""
    return {name for one in graph.pathway_lessons.values() if printable(one) for name in one}


def _pathway(graph: Graph, view: models.Pathway) -> dict[str, Any]:
    lessons = graph.pathway_lessons[view.id]
    nodes = [graph.lessons[name] for name in lessons]
    entry: dict[str, Any] = {
        **plain(view),
        "status": "authored" if any(node.authored for node in nodes) else "planned",
        "requires": list(view.requires),
        "steps": [_step(graph, step, place) for place, step in enumerate(view.steps, 1)],
        "lessonIds": lessons,
        "totals": totals(nodes),
        "roleIds": [
            name
            for name, item in graph.roles.items()
            if item.view and view.id in item.view.pathways
        ],
        "domainIds": _domains(graph, "pathways", view.id),
        "url": page("pathways", view.id),
    }
    if view.capstone:
        entry["capstone"] = {
            "projectId": view.capstone.project,
            "assessment": view.capstone.assessment,
            "evidence": list(view.capstone.evidence),
        }
    return entry


def _step(graph: Graph, step: models.PathwayStep, number: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"number": number}
    if step.phase is not None:
        phase = graph.phases[step.phase]
        entry["phaseId"] = step.phase
        entry["title"] = phase.item.view.title if phase.item.view else step.phase
        entry["lessonIds"] = [one.id for one in phase.lessons if one.id in graph.lessons]
        return entry
    names = [name for name in step.lessons or () if name in graph.lessons]
    entry["title"] = _joined([graph.lessons[name].view.title for name in names])
    entry["lessonIds"] = names
    if step.note is not None:
        entry["note"] = step.note
    return entry


def _joined(titles: list[str]) -> str:
    """The titles of a step in one line; a long list is cut and counted."""
    shown = titles[:3]
    text = ", ".join(shown)
    while len(text) > 200 and len(shown) > 1:
        shown = shown[:-1]
        text = ", ".join(shown)
    rest = len(titles) - len(shown)
    return f"{text} + {rest}" if rest else text


def _domains(graph: Graph, field: str, name: str) -> list[str]:
    return [
        key
        for key, item in graph.domains.items()
        if item.view and name in getattr(item.view, field)
    ]


def roles(graph: Graph) -> dict[str, Any]:
    """``roles.json``: roles and domains."""
    return {
        "schemaVersion": 1,
        "roles": [_role(graph, item.view) for item in graph.roles.values() if item.view],
        "domains": [_domain(item.view) for item in graph.domains.values() if item.view],
    }


def _role(graph: Graph, view: models.Role) -> dict[str, Any]:
    return {
        **_without(view, "pathways", "defaultPathway"),
        "pathwayIds": list(view.pathways),
        "defaultPathwayId": view.default_pathway,
        "milestones": [
            {
                "title": one.title,
                "lessonIds": list(one.lessons or ()),
                "phaseIds": list(one.phases or ()),
                "deliverable": one.deliverable,
                "criteria": list(one.criteria),
            }
            for one in view.milestones
        ],
        "startingChecks": [
            {"phaseId": check.phase, "question": check.question} for check in view.starting_checks
        ],
        "domainIds": _domains(graph, "roles", view.id),
        "url": page("roles", view.id),
    }


def _without(view: models.Role | models.Domain, *keys: str) -> dict[str, Any]:
    return {key: value for key, value in plain(view).items() if key not in keys}


def _domain(view: models.Domain) -> dict[str, Any]:
    return {
        **_without(view, "pathways", "defaultPathway", "roles"),
        "pathwayIds": list(view.pathways),
        "defaultPathwayId": view.default_pathway,
        "roleIds": list(view.roles),
        "url": page("domains", view.id),
    }
