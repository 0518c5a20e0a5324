"""The value types that source models and resource models share, equal to the schemas' `$defs`."""

from __future__ import annotations

from calendar import monthrange
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Le, Len
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    Strict,
    StringConstraints,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

T = TypeVar("T")

_ID = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
_ONE_LINE = r"^[^\r\n]+$"
_HOST = r"^https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
_CORE = r"(0|[1-9][0-9]*)"


class Model(BaseModel):
    """A frozen record with camelCase names outside; built only from data that passed its schema."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        allow_inf_nan=False,
        defer_build=True,
    )


class _NeverNull:
    """Makes an optional field absent or valid: a written-out null is refused, as in the schema."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        nullable = handler(source)
        return nullable["schema"] if nullable["type"] == "nullable" else nullable


Maybe = Annotated[T | None, _NeverNull()]


def _whole(value: object) -> object:
    """Turn 35.0 into 35, as JSON Schema reads it; leave every other value alone."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _calendar_day(value: str) -> str:
    year, month, day = map(int, value.split("-"))
    if day > monthrange(year, month)[1]:
        raise ValueError("there is no such day")
    return value


def _distinct(items: tuple[T, ...]) -> tuple[T, ...]:
    if len(set(items)) != len(items):
        raise ValueError("items must differ")
    return items


def _true(value: bool) -> bool:
    if not value:
        raise ValueError("must be true")
    return value


Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
Number = Annotated[float, Strict()]
Flag = Annotated[bool, Strict()]
Distinct = AfterValidator(_distinct)

Id = Annotated[str, StringConstraints(min_length=3, max_length=64, pattern=_ID)]
AnyId = Annotated[
    str, StringConstraints(min_length=3, max_length=64, pattern=r"^[a-z][a-z0-9]*([-_][a-z0-9]+)*$")
]
ConceptId = Annotated[
    str, StringConstraints(min_length=3, max_length=64, pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
]
Title = Annotated[str, StringConstraints(min_length=3, max_length=90, pattern=_ONE_LINE)]
Summary = Annotated[str, StringConstraints(min_length=20, max_length=200, pattern=_ONE_LINE)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=_ONE_LINE)]
LongText = Annotated[str, StringConstraints(min_length=1, max_length=600, pattern=_ONE_LINE)]
Objective = Annotated[str, StringConstraints(min_length=8, max_length=160, pattern=_ONE_LINE)]
Prose = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Explanation = Annotated[str, StringConstraints(min_length=20, max_length=2000)]
Command = Annotated[str, StringConstraints(min_length=1, max_length=600)]
HttpsUrl = Annotated[
    str,
    StringConstraints(
        max_length=500, pattern=_HOST + r"([/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?$"
    ),
]
BaseUrl = Annotated[
    str, StringConstraints(max_length=500, pattern=_HOST + r"(/[A-Za-z0-9._~%/-]*)?$")
]
LanguageTag = Annotated[
    str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$")
]
Semver = Annotated[
    str,
    StringConstraints(
        max_length=64,
        pattern=rf"^{_CORE}\.{_CORE}\.{_CORE}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$",
    ),
]
Date = Annotated[
    str,
    StringConstraints(pattern=r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"),
    AfterValidator(_calendar_day),
]
Spdx = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]*$")]
Interface = Annotated[
    str,
    StringConstraints(
        max_length=200, pattern=r"^(bridge|llm) (GET|POST|PUT|PATCH|DELETE) /[!-~]*$"
    ),
]
SiteUrl = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500, pattern=r"^[A-Za-z0-9_][A-Za-z0-9._~/-]*$"),
]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ContentHash = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
PhaseNumber = Annotated[str, StringConstraints(pattern=r"^[0-9]{2,3}$")]

Status = Literal["planned", "authored"]
Level = Literal["intro", "core", "advanced"]
Review = Literal["none", "editorial", "expert"]
Stage = Literal["before", "during", "after"]
QuestionKind = Literal["single", "multiple", "numeric"]
EquipmentWord = Literal["none", "laptop", "phone", "simulator", "car", "track-day", "can-adapter"]

One = Annotated[Whole, Ge(1), Le(1)]
TrueOnly = Annotated[bool, Strict(), AfterValidator(_true)]
Minutes = Annotated[Whole, Ge(1), Le(240)]
Equipment = Annotated[tuple[EquipmentWord, ...], Distinct]
Ids = Annotated[tuple[Id, ...], Distinct]
SomeIds = Annotated[tuple[Id, ...], Len(1), Distinct]
ConceptIds = Annotated[tuple[ConceptId, ...], Distinct]
Objectives = Annotated[tuple[Objective, ...], Len(1, 6), Distinct]
Evidence = Annotated[tuple[Text, ...], Len(1, 6), Distinct]
Count = Annotated[Whole, Ge(0)]
Positive = Annotated[Whole, Ge(1)]
Ids20 = Annotated[tuple[Id, ...], Len(0, 20), Distinct]
SomeIds20 = Annotated[tuple[Id, ...], Len(1, 20), Distinct]
Score = Annotated[Whole, Ge(0), Le(3)]


class Reference(Model):
    """A source outside the course."""

    title: Text
    url: HttpsUrl


class Check(Model):
    """One open reasoning question with its answer."""

    prompt: LongText
    answer: Prose


class Part(Model):
    """A part of the course."""

    id: Id
    title: Title
    description: Text


class PrepareStep(Model):
    """A command to run once before the first stage of a project."""

    label: Text
    command: Command


class RubricLevel(Model):
    """What earns one score."""

    score: Score
    description: LongText


class Criterion(Model):
    """One line of a rubric."""

    id: Id
    criterion: Text
    levels: Annotated[tuple[RubricLevel, ...], Len(2, 4)]


class Retired(Model):
    """An id that ended; `replaced_by` is None when nothing took its place."""

    id: AnyId
    replaced_by: AnyId | None
    since: Semver
    reason: Text
