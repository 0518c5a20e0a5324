"""Typed views of the sources of the course, its phases, lessons, quizzes and words."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, Len
from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter

from course.read.budgets import LESSON_KIB, MEDIA_KIB, PAGE_KIB
from course.read.models.base import (
    BaseUrl,
    Check,
    ConceptId,
    ConceptIds,
    Date,
    Distinct,
    Equipment,
    Evidence,
    Explanation,
    Flag,
    HttpsUrl,
    Id,
    Ids20,
    Interface,
    LanguageTag,
    Level,
    LongText,
    Maybe,
    Minutes,
    Model,
    Number,
    Objectives,
    One,
    Part,
    QuestionKind,
    Reference,
    Retired,
    Review,
    Semver,
    Spdx,
    Stage,
    Status,
    Summary,
    Text,
    Title,
    Whole,
)

_References = Annotated[tuple[Reference, ...], Len(0, 20)]
_Budget = Annotated[Whole, Ge(1), Le(65536)]
_Word = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\r\n]+$")]


class Limits(Model):
    """Size budgets in KiB."""

    lesson_kib: _Budget = Field(LESSON_KIB, alias="lessonKiB")
    media_kib: _Budget = Field(MEDIA_KIB, alias="mediaKiB")
    page_kib: _Budget = Field(PAGE_KIB, alias="pageKiB")


class Course(Model):
    """`course.yaml`."""

    schema_version: One
    id: Id
    title: Title
    summary: Summary
    lang: LanguageTag
    version: Semver
    updated: Date
    licence: Spdx
    repository: Maybe[HttpsUrl] = None
    base_url: Maybe[BaseUrl] = None
    parts: Annotated[tuple[Part, ...], Len(1, 20)]
    languages: Annotated[tuple[LanguageTag, ...], Len(0, 50), Distinct] = ()
    limits: Limits = Limits()


class Phase(Model):
    """`phase.yaml`."""

    id: Id
    title: Title
    part: Id
    summary: Summary
    outcome: Text
    prerequisites: Ids20 = ()
    equipment: Equipment = ()
    checkpoint: Check
    projects: Ids20 = ()
    references: _References = ()


class LessonFrontMatter(Model):
    """The front matter of `lesson.md`, planned or authored."""

    id: Id
    title: Title
    status: Status
    summary: Summary
    objectives: Objectives
    prerequisites: Ids20 = ()
    minutes: Maybe[Minutes] = None
    level: Maybe[Level] = None
    equipment: Equipment = ()
    concepts: Annotated[ConceptIds, Len(0, 9)] = ()
    tags: Annotated[tuple[Id, ...], Len(0, 8), Distinct] = ()
    evidence: Maybe[Evidence] = None
    check: Maybe[Check] = None
    references: _References = ()
    aliases: Ids20 = ()
    interfaces: Annotated[tuple[Interface, ...], Len(0, 20), Distinct] = ()
    review: Maybe[Review] = None
    tracking: Maybe[HttpsUrl] = None


class Option(Model):
    """One answer to choose from."""

    text: Text
    correct: Flag = False
    why: Maybe[Text] = None


class Question(Model):
    """One formative question as it is written."""

    id: Id
    stage: Stage = "after"
    kind: QuestionKind = "single"
    prompt: Text
    options: Annotated[tuple[Option, ...], Len(2, 6)] = ()
    value: Maybe[Number] = None
    tolerance: Maybe[Annotated[Number, Ge(0)]] = None
    unit: Maybe[Text] = None
    explanation: Explanation
    objective: Maybe[Annotated[Whole, Ge(1), Le(6)]] = None
    shuffle: Flag = True


class Quiz(Model):
    """`quiz.yaml`."""

    questions: Annotated[tuple[Question, ...], Len(1, 12)]


class Concept(Model):
    """One word of the vocabulary that lessons share with the coach."""

    id: ConceptId
    title: Title
    description: LongText


class BlockWords(Model):
    """The word before the colon in the heading of each kind of block."""

    idea: _Word
    example: _Word
    predict: _Word
    exercise: _Word
    solution: _Word
    diagnose: _Word
    recap: _Word
    references: _Word


class InterfaceWords(Model):
    """`ui/<lang>.yaml`: block words, and the words of the pages in `model_extra`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _Word] = Field(init=False)

    kinds: BlockWords


Concepts = TypeAdapter(Annotated[tuple[Concept, ...], Len(1, 100)])
RetiredIds = TypeAdapter(tuple[Retired, ...])
