"""Typed view of the lesson resource, authored or planned."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from annotated_types import Ge, Le, Len
from pydantic import Field, StringConstraints, TypeAdapter, model_validator

from course.read.models.base import (
    Check,
    ConceptIds,
    ContentHash,
    Count,
    Distinct,
    Equipment,
    Evidence,
    Explanation,
    Id,
    Ids,
    Level,
    Maybe,
    Minutes,
    Model,
    Number,
    Objectives,
    One,
    PhaseNumber,
    Positive,
    QuestionKind,
    Reference,
    Review,
    Semver,
    Sha256,
    SiteUrl,
    Stage,
    Status,
    Summary,
    Text,
    Title,
    TrueOnly,
    Whole,
)

_Anchor = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^ \t\r\n]+$")]
_MediaType = Annotated[
    str, StringConstraints(max_length=100, pattern=r"^[a-z]+/[a-z0-9.+-]+(; charset=utf-8)?$")
]
_Language = Annotated[
    str, StringConstraints(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_+#.-]+$")
]
_CodeFile = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9._/-]*$"),
]
_OptionId = Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
_Alt = Annotated[str, StringConstraints(max_length=600)]
_BlockKind = Literal[
    "text",
    "idea",
    "example",
    "predict",
    "exercise",
    "solution",
    "diagnose",
    "recap",
    "references",
]


class LessonRef(Model):
    """A lesson by id, title and status."""

    id: Id
    title: Title
    status: Status


class PhaseRef(Model):
    """A phase by id, number and title."""

    id: Id
    number: PhaseNumber
    title: Title


class _Entry(Model):
    id: Id
    title: Title
    summary: Summary
    objectives: Objectives
    prerequisites: Ids
    unlocks: Ids
    equipment: Equipment
    concepts: ConceptIds
    tags: Ids
    aliases: Ids
    phase_id: Id
    position: Positive
    url: SiteUrl
    resource: SiteUrl


class AuthoredEntry(_Entry):
    """An authored lesson as the catalog lists it."""

    status: Literal["authored"]
    minutes: Minutes
    level: Level
    review: Maybe[Review] = None
    content_hash: ContentHash


class PlannedEntry(_Entry):
    """A planned lesson as the catalog lists it."""

    status: Literal["planned"]
    minutes: Maybe[Minutes] = None
    level: Maybe[Level] = None


class Block(Model):
    """One teaching block of a page."""

    id: _Anchor
    kind: _BlockKind
    title: Maybe[Text] = None
    html: str


class TocEntry(Model):
    """One heading of the body."""

    id: _Anchor
    level: Annotated[Whole, Ge(2), Le(6)]
    title: Text


class Code(Model):
    """One code block."""

    id: _Anchor
    language: _Language
    source: str
    file: Maybe[_CodeFile] = None
    expected: Maybe[str] = None


class Media(Model):
    """One image."""

    url: SiteUrl
    alt: _Alt
    media_type: _MediaType
    bytes: Count
    sha256: Sha256
    width: Maybe[Positive] = None
    height: Maybe[Positive] = None


class Content(Model):
    """The body of a lesson in several forms."""

    markdown: Annotated[str, StringConstraints(min_length=1)]
    blocks: Annotated[tuple[Block, ...], Len(1)]
    toc: tuple[TocEntry, ...]
    code: tuple[Code, ...]
    media: tuple[Media, ...]


class PublicOption(Model):
    """One answer to choose from, with the id that `answer` names."""

    id: _OptionId
    text: Text
    why: Maybe[Text] = None


class PublicQuestion(Model):
    """One formative question with its answer."""

    id: Id
    stage: Stage
    kind: QuestionKind
    prompt: Text
    options: Annotated[tuple[PublicOption, ...], Len(0, 6)]
    answer: Annotated[tuple[_OptionId, ...], Len(0, 6), Distinct]
    value: Maybe[Number] = None
    tolerance: Maybe[Annotated[Number, Ge(0)]] = None
    unit: Maybe[Text] = None
    explanation: Explanation
    objective: Maybe[Annotated[Whole, Ge(1), Le(6)]] = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.kind == "numeric":
            fits = self.value is not None and not self.options and not self.answer
        else:
            numeric = (self.value, self.tolerance, self.unit)
            most = 1 if self.kind == "single" else 6
            fits = (
                numeric == (None, None, None)
                and len(self.options) >= 2
                and 1 <= len(self.answer) <= most
            )
        if not fits:
            raise ValueError("options, answer and value do not fit the kind")
        return self


class PublicQuiz(Model):
    """Formative questions; not an exam."""

    formative: TrueOnly
    label: Literal["Practice questions. Answers are included; this is not an exam."]
    questions: Annotated[tuple[PublicQuestion, ...], Len(1, 12)]


class Artifact(Model):
    """One file made from a lesson."""

    kind: Literal["markdown", "notebook", "script", "evidence"]
    url: SiteUrl
    media_type: _MediaType
    bytes: Count
    sha256: Sha256


class _LessonCommon(Model):
    schema_version: One
    phase: PhaseRef
    previous: Maybe[LessonRef] = None
    next: Maybe[LessonRef] = None
    pathway_ids: Ids
    project_ids: Ids
    revision: Maybe[Semver] = None


class AuthoredLesson(AuthoredEntry, _LessonCommon):
    """`lessons/<id>.json` of a lesson whose material exists."""

    evidence: Evidence
    references: tuple[Reference, ...]
    check: Check
    content: Content
    quiz: PublicQuiz
    artifacts: Annotated[tuple[Artifact, ...], Len(1)]


class PlannedLesson(PlannedEntry, _LessonCommon):
    """`lessons/<id>.json` of a lesson that is only a brief."""

    evidence: Maybe[Evidence] = None
    references: Maybe[tuple[Reference, ...]] = None
    notice: Literal["Planned. No lesson material exists yet."]


LessonResource = TypeAdapter[AuthoredLesson | PlannedLesson](
    Annotated[AuthoredLesson | PlannedLesson, Field(discriminator="status")]
)
