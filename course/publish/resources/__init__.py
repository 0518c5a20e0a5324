"""The API resources: pure functions of the graph, in the shapes of `schemas/course`."""

from __future__ import annotations

from course.publish.resources.catalog import catalog, numbers
from course.publish.resources.form import content_hash, json_bytes, page
from course.publish.resources.lesson import catalog_entry, own_resource, place, relations
from course.publish.resources.projects import projects
from course.publish.resources.routes import pathways, printable, printed, roles
from course.publish.resources.schemas import INDEX, schema_index, schema_url

__all__ = [
    "INDEX",
    "catalog",
    "catalog_entry",
    "content_hash",
    "json_bytes",
    "numbers",
    "own_resource",
    "page",
    "pathways",
    "place",
    "printable",
    "printed",
    "projects",
    "relations",
    "roles",
    "schema_index",
    "schema_url",
]
