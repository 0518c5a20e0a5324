"""`projects.json`: stages, required lessons and rubrics."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from course.publish.resources.form import content_hash, lesson_ref, page
from course.read import models
from course.read.graph import Graph
from course.read.models.view import plain


def projects(graph: Graph, bundles: Mapping[str, bytes]) -> dict[str, Any]:
    """``projects.json``; *bundles* holds the zip of each project that has files."""
    return {
        "schemaVersion": 1,
        "projects": [
            _project(graph, project.item.view, bundles.get(name))
            for name, project in graph.projects.items()
            if project.item.view
        ],
    }


def _project(graph: Graph, view: models.Project, bundle: bytes | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": view.id,
        "title": view.title,
        "status": view.status,
        "summary": view.summary,
        "pathwayId": view.pathway,
        "equipment": list(view.equipment),
        "requiredLessons": [
            lesson_ref(graph.lessons[name])
            for name in view.required_lessons
            if name in graph.lessons
        ],
        "stages": [_stage(stage, place) for place, stage in enumerate(view.stages, 1)],
        "rubric": plain(view.rubric),
        "prepare": plain(view.prepare),
        "url": page("projects", view.id),
    }
    if bundle is not None:
        entry["bundle"] = {
            "url": f"downloads/{view.id}.zip",
            "bytes": len(bundle),
            "sha256": hashlib.sha256(bundle).hexdigest(),
        }
    entry["contentHash"] = content_hash(entry)
    return entry


def _stage(stage: models.ProjectStage, number: int) -> dict[str, Any]:
    entry: dict[str, Any] = plain(stage)
    del entry["lessons"]
    return {**entry, "number": number, "lessonIds": list(stage.lessons)}
