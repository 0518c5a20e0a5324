"""Typed views of the sources of pathways, roles, domains and projects."""

from __future__ import annotations

from typing import Annotated, Self

from annotated_types import Len
from pydantic import model_validator

from course.read.models.base import (
    Command,
    Criterion,
    Distinct,
    Equipment,
    Id,
    Ids20,
    LongText,
    Maybe,
    Model,
    PrepareStep,
    Prose,
    SomeIds20,
    Status,
    Text,
    Title,
)

_SomeIds60 = Annotated[tuple[Id, ...], Len(1, 60), Distinct]
_Texts12 = Annotated[tuple[Text, ...], Len(1, 12), Distinct]
_Texts20 = Annotated[tuple[Text, ...], Len(1, 20), Distinct]


class PathwayStep(Model):
    """Either a whole phase, or single lessons with an optional note."""

    phase: Maybe[Id] = None
    lessons: Maybe[_SomeIds60] = None
    note: Maybe[Text] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.phase is None) == (self.lessons is None):
            raise ValueError("a step names a phase or lessons")
        if self.note is not None and self.lessons is None:
            raise ValueError("a note needs lessons")
        return self


class Capstone(Model):
    """The project that closes a pathway."""

    project: Id
    assessment: LongText
    evidence: _Texts12


class Pathway(Model):
    """`pathways/*.yaml`."""

    id: Id
    title: Title
    summary: Text
    audience: LongText
    outcome: LongText
    first_artifact: LongText
    study_advice: LongText
    requires: Ids20 = ()
    steps: Annotated[tuple[PathwayStep, ...], Len(1, 60)]
    capstone: Maybe[Capstone] = None


class Milestone(Model):
    """A point of progress of a role; names lessons, phases or both."""

    title: Text
    lessons: Maybe[_SomeIds60] = None
    phases: Maybe[SomeIds20] = None
    deliverable: Text
    criteria: _Texts12

    @model_validator(mode="after")
    def _some_work(self) -> Self:
        if self.lessons is None and self.phases is None:
            raise ValueError("a milestone names lessons or phases")
        return self


class StartingCheck(Model):
    """A question that shows where to start."""

    phase: Id
    question: Text


class Role(Model):
    """`roles/*.yaml`."""

    id: Id
    title: Title
    headline: Text
    summary: Text
    background: LongText
    responsibilities: _Texts20
    skills: _Texts20
    pathways: SomeIds20
    default_pathway: Id
    milestones: Annotated[tuple[Milestone, ...], Len(1, 12)]
    starting_checks: Annotated[tuple[StartingCheck, ...], Len(1, 12)]
    work_example: Prose
    portfolio: LongText
    readiness: LongText
    review_questions: _Texts20
    scope_note: LongText


class Domain(Model):
    """`domains/*.yaml`."""

    id: Id
    title: Title
    headline: Text
    summary: Text
    skills: _Texts20
    artifact: Text
    pathways: SomeIds20
    default_pathway: Id
    roles: SomeIds20


class ProjectStage(Model):
    """One step of a project's work."""

    id: Id
    title: Title
    goal: LongText
    lessons: Ids20
    command: Maybe[Command] = None
    expected: Prose
    evidence: Prose
    diagnosis: Prose


class Project(Model):
    """`projects/<id>/project.yaml`."""

    id: Id
    title: Title
    summary: Text
    status: Status
    pathway: Id
    equipment: Equipment = ()
    required_lessons: _SomeIds60
    stages: Annotated[tuple[ProjectStage, ...], Len(1, 12)] = ()
    rubric: Annotated[tuple[Criterion, ...], Len(1, 12)] = ()
    prepare: Annotated[tuple[PrepareStep, ...], Len(0, 12)] = ()
