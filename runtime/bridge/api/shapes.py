"""Shared by the routes: ids, times of day, numbers of queries, answers built from domain values."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_origin, get_type_hints

import numpy as np
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StrictStr, create_model
from pydantic import StrictFloat as _Float
from pydantic import StrictInt as _Int

from runtime.bridge.cues.model import LEVELS
from runtime.bridge.live.hub import ACTIVE, LIVE_SESSION
from runtime.bridge.session import units
from runtime.bridge.session.recording import Numbers
from runtime.bridge.storage.errors import (
    NoDatabase,
    StoreBusy,
    StoreDamaged,
    StoreFailed,
    StoreFull,
)
from runtime.web.openapi import docstrings
from runtime.web.wire import Wire

READ_ERRORS: Final = (NoDatabase, StoreBusy, StoreFailed, StoreDamaged)
WRITE_ERRORS: Final = (*READ_ERRORS, StoreFull)
_DIGITS: Final = 18
RESERVED: Final = ("start", "import", "upload", "reset", "replay")
"""Fixed paths below /session."""
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}")
_FLAGS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def format_iso(ms: int | None) -> str | None:
    """Unix milliseconds as ISO 8601 in UTC with milliseconds."""
    if ms is None:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def round_finite(value: float | None, digits: int) -> float | None:
    """Round a value; None for null, NaN and infinity."""
    return None if value is None or not isfinite(value) else units.round_to(value, digits)


def round_values(values: Numbers, digits: int) -> Numbers:
    """Round values, without -0. NaN stays, which orjson writes as null."""
    return np.round(values, digits) + 0.0


def check_session_id(text: str) -> str:
    """Return a valid session id. Raises ValueError for any other text."""
    if not _SESSION_ID.fullmatch(text):
        raise ValueError(
            "not a valid session id: use letters, digits and . _ : - , at most 128 characters"
        )
    if text in RESERVED:
        raise ValueError(f"not a valid session id: {', '.join(RESERVED)} are reserved")
    return text


def check_recording_id(text: str) -> str:
    """Return a session id that data can be stored under. Raises ValueError for any other text."""
    if check_session_id(text) == ACTIVE:
        raise ValueError(
            f"not a valid session id: in streams, {ACTIVE} is the active session; choose another"
        )
    return text


def _check_new_session_id(text: str) -> str:
    if check_recording_id(text) == LIVE_SESSION:
        raise ValueError(
            f"{LIVE_SESSION} is reserved for the frames of a bus while no session is open; choose"
            " another session id, or leave it out"
        )
    return text


def _parse_level(text: str) -> str:
    word = text.strip().lower()
    if word and word not in LEVELS:
        raise ValueError(f"not a valid driver level; known: {', '.join(LEVELS)}")
    return LEVELS.get(word, "")


def _parse_flag(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.lower() not in _FLAGS:
        raise ValueError("must be true or false")
    return _FLAGS[value.lower()]


def cap_at(most: int, least: int = 1) -> BeforeValidator:
    """Validate an integer of a query: a larger one becomes *most*, one below *least* is refused."""

    def check(value: object) -> object:
        if isinstance(value, str):
            match = re.fullmatch(r"([+-]?)0*([0-9]+)", value)
            if match is None:
                raise ValueError("must be a whole number")
            value = int(match[1] + match[2][:_DIGITS])  # already beyond every cap
        if isinstance(value, int):
            if value < least:
                raise ValueError(f"must be at least {least}")
            return min(value, most)
        return value

    return BeforeValidator(check)


Moment = Annotated[str, BeforeValidator(format_iso)]
"""Unix milliseconds, written as ISO 8601 in UTC."""
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text; empty for null."""
SessionId = Annotated[StrictStr, AfterValidator(check_session_id)]
RecordingId = Annotated[StrictStr, AfterValidator(check_recording_id)]
NewSessionId = Annotated[StrictStr, AfterValidator(_check_new_session_id)]
DriverLevel = Annotated[StrictStr, AfterValidator(_parse_level)]
"""A driver's level as it is stored; empty: none."""
Flag = Annotated[bool, BeforeValidator(_parse_flag)]
"""A yes or no of a query, in any case."""
Short = Annotated[StrictStr, Field(max_length=256)]
Note = Annotated[StrictStr, Field(max_length=2000)]
Derived = Annotated[
    tuple[str, ...],
    Field(
        description="computed instead of measured: accelerations (g_lat, g_long, combo_g) and "
        "yaw_rate from speed and positions, smoothed; braking from the car's deceleration"
    ),
]
Number = Annotated[_Float | _Int, AfterValidator(float)]


class SessionPath(Wire):
    """The id of a session."""

    sid: str


class RecordingPath(Wire):
    """The id of a session that data is stored in."""

    sid: RecordingId


class AnswerModel(Wire):
    """An answer, or a part of one, read from the attributes of domain values."""

    model_config = ConfigDict(
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def of(cls, *values: object, **more: object) -> Self:
        """Build the answer from *more* and, for all other fields, the first value that has them.

        Every attribute of a value that is None is None.
        """
        return cls.model_validate(_Joined(values, more))


M = TypeVar("M", bound=AnswerModel)


def fields_of(value: type, *left_out: str) -> Callable[[type[M]], type[M]]:
    """Give an answer the fields of a domain *value*, except those *left_out*.

    Types and docstrings are the value's; a field that the class defines itself comes first.
    """

    def fill(model: type[M]) -> type[M]:
        more: dict[str, Any] = {
            name: (hint, Field(json_schema_extra=partial(_describe, value, name)))
            for name, hint in get_type_hints(value, include_extras=True).items()
            if get_origin(hint) is not ClassVar
            and name not in left_out
            and name not in model.model_fields
        }
        return create_model(
            model.__name__,
            __base__=model,
            __module__=model.__module__,
            __doc__=model.__doc__,
            **more,
        )

    return fill


def _describe(value: type, name: str, schema: dict[str, Any]) -> None:
    if text := docstrings(value).get(name):
        schema["description"] = text


class _Joined:
    """The attributes of several values."""

    def __init__(self, values: tuple[object, ...], more: Mapping[str, object]) -> None:
        self._values = values
        vars(self).update(more)

    def __getattr__(self, name: str) -> object:
        for value in self._values:
            if value is None:
                return None
            if hasattr(value, name):
                return getattr(value, name)
        raise AttributeError(name)
