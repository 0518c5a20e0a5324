"""Typed views of the pathways, roles and projects resources."""

from __future__ import annotations

from typing import Annotated, Self

from annotated_types import Len
from pydantic import model_validator

from course.read.models.base import (
    Command,
    ContentHash,
    Count,
    Criterion,
    Equipment,
    Id,
    Ids,
    LongText,
    Maybe,
    Model,
    One,
    Positive,
    PrepareStep,
    Prose,
    Sha256,
    SiteUrl,
    SomeIds,
    Status,
    Text,
    Title,
)
from course.read.models.lessons import LessonRef

_SomeTexts = Annotated[tuple[Text, ...], Len(1)]


class Totals(Model):
    """Counts over the lessons of a pathway."""

    lessons: Count
    authored: Count
    planned: Count
    minutes: Count


class ResolvedStep(Model):
    """A step of a pathway with its lessons."""

    number: Positive
    phase_id: Maybe[Id] = None
    title: Text
    note: Maybe[Text] = None
    lesson_ids: Ids


class ResolvedCapstone(Model):
    """The project that closes a pathway."""

    project_id: Id
    assessment: LongText
    evidence: _SomeTexts


class PathwayEntry(Model):
    """One pathway with its lessons flattened."""

    id: Id
    title: Title
    status: Status
    summary: Text
    audience: LongText
    outcome: LongText
    first_artifact: LongText
    study_advice: LongText
    requires: Ids
    steps: Annotated[tuple[ResolvedStep, ...], Len(1)]
    lesson_ids: Ids
    totals: Totals
    capstone: Maybe[ResolvedCapstone] = None
    role_ids: Ids
    domain_ids: Ids
    url: SiteUrl


class Pathways(Model):
    """`pathways.json`."""

    schema_version: One
    pathways: tuple[PathwayEntry, ...]


class ResolvedMilestone(Model):
    """A point of progress of a role."""

    title: Text
    lesson_ids: Ids
    phase_ids: Ids
    deliverable: Text
    criteria: _SomeTexts

    @model_validator(mode="after")
    def _some_work(self) -> Self:
        if not self.lesson_ids and not self.phase_ids:
            raise ValueError("a milestone names lessons or phases")
        return self


class ResolvedCheck(Model):
    """A question that shows where to start."""

    phase_id: Id
    question: Text


class RoleEntry(Model):
    """One role with resolved ids."""

    id: Id
    title: Title
    headline: Text
    summary: Text
    background: LongText
    responsibilities: _SomeTexts
    skills: _SomeTexts
    pathway_ids: SomeIds
    default_pathway_id: Id
    milestones: Annotated[tuple[ResolvedMilestone, ...], Len(1)]
    starting_checks: Annotated[tuple[ResolvedCheck, ...], Len(1)]
    work_example: Prose
    portfolio: LongText
    readiness: LongText
    review_questions: _SomeTexts
    scope_note: LongText
    domain_ids: Ids
    url: SiteUrl


class DomainEntry(Model):
    """One domain with resolved ids."""

    id: Id
    title: Title
    headline: Text
    summary: Text
    skills: _SomeTexts
    artifact: Text
    pathway_ids: SomeIds
    default_pathway_id: Id
    role_ids: SomeIds
    url: SiteUrl


class Roles(Model):
    """`roles.json`."""

    schema_version: One
    roles: tuple[RoleEntry, ...]
    domains: tuple[DomainEntry, ...]


class NumberedStage(Model):
    """One step of a project's work."""

    id: Id
    number: Positive
    title: Title
    goal: LongText
    lesson_ids: Ids
    command: Maybe[Command] = None
    expected: Prose
    evidence: Prose
    diagnosis: Prose


class Bundle(Model):
    """Starter, tests and solution of a project in one zip file."""

    url: SiteUrl
    bytes: Count
    sha256: Sha256


class ProjectEntry(Model):
    """One project; a planned one has neither commands to prepare nor a bundle."""

    id: Id
    title: Title
    status: Status
    summary: Text
    pathway_id: Id
    equipment: Equipment
    required_lessons: Annotated[tuple[LessonRef, ...], Len(1)]
    stages: Annotated[tuple[NumberedStage, ...], Len(0, 12)]
    rubric: Annotated[tuple[Criterion, ...], Len(0, 12)]
    prepare: Annotated[tuple[PrepareStep, ...], Len(0, 12)]
    bundle: Maybe[Bundle] = None
    content_hash: ContentHash
    url: SiteUrl

    @model_validator(mode="after")
    def _fits_its_status(self) -> Self:
        if self.status == "authored":
            fits = bool(self.stages and self.rubric)
        else:
            fits = not self.prepare and self.bundle is None
        if not fits:
            raise ValueError("stages, rubric, prepare and bundle do not fit the status")
        return self


class Projects(Model):
    """`projects.json`."""

    schema_version: One
    projects: tuple[ProjectEntry, ...]
