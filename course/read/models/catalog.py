"""Typed view of the catalog resource."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from course.read.models.base import (
    Check,
    ConceptId,
    Count,
    Date,
    Equipment,
    HttpsUrl,
    Id,
    Ids,
    LanguageTag,
    LongText,
    Maybe,
    Model,
    One,
    Part,
    PhaseNumber,
    Reference,
    Retired,
    Semver,
    SiteUrl,
    Spdx,
    Summary,
    Text,
    Title,
)
from course.read.models.lessons import AuthoredEntry, PlannedEntry


class CatalogPhase(Model):
    """A phase with the metadata of its lessons."""

    id: Id
    number: PhaseNumber
    title: Title
    part: Id
    summary: Summary
    outcome: Text
    prerequisites: Ids
    equipment: Equipment
    checkpoint: Check
    project_ids: Ids
    references: tuple[Reference, ...]
    url: SiteUrl
    lessons: tuple[Annotated[AuthoredEntry | PlannedEntry, Field(discriminator="status")], ...]


class CourseFacts(Model):
    """What the course is."""

    id: Id
    title: Title
    summary: Summary
    lang: LanguageTag
    version: Semver
    updated: Date
    licence: Spdx
    repository: Maybe[HttpsUrl] = None


class CourseTotals(Model):
    """Counts over the course."""

    phases: Count
    lessons: Count
    authored: Count
    planned: Count
    minutes: Count
    projects: Count
    pathways: Count


class CatalogConcept(Model):
    """A concept with the lessons that teach it."""

    id: ConceptId
    title: Title
    description: LongText
    lesson_ids: Ids


class Links(Model):
    """Where the other resources are, relative to the site root."""

    pathways: SiteUrl
    roles: SiteUrl
    projects: SiteUrl
    openapi: SiteUrl
    schemas: SiteUrl
    search: SiteUrl
    llms: SiteUrl
    lesson_template: Literal["api/v1/lessons/{lessonId}.json"]


class Catalog(Model):
    """`catalog.json`."""

    schema_version: One
    course: CourseFacts
    totals: CourseTotals
    parts: tuple[Part, ...]
    phases: tuple[CatalogPhase, ...]
    concepts: tuple[CatalogConcept, ...]
    retired: tuple[Retired, ...]
    links: Links
