"""What the routes share: ids, times of day, numbers of queries, and answers made of values."""

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


def iso(ms: int | None) -> str | None:
    """Unix milliseconds as ISO 8601 in UTC with milliseconds."""
    if ms is None:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def rounded(value: float | None, digits: int) -> float | None:
    """The value to so many decimals, None for null and for what is not finite."""
    return None if value is None or not isfinite(value) else units.round_to(value, digits)


def round_values(values: Numbers, digits: int) -> Numbers:
    """The values to so many decimals, never as -0; orjson writes NaN as null."""
    return np.round(values, digits) + 0.0


def session_id(text: str) -> str:
    """A session id. Raises ValueError for a text that cannot be one."""
    if not _SESSION_ID.fullmatch(text):
        raise ValueError(
            "not a valid session id: letters, digits and . _ : - , 128 characters at most"
        )
    if text in RESERVED:
        raise ValueError(f"not a valid session id: {', '.join(RESERVED)} are paths of their own")
    return text


def recording_id(text: str) -> str:
    """The id of a session that something is stored in. Raises ValueError for what cannot be one."""
    if session_id(text) == ACTIVE:
        raise ValueError(
            f"not a valid session id: streams call the active session {ACTIVE}; give another"
        )
    return text


def _new_session_id(text: str) -> str:
    if recording_id(text) == LIVE_SESSION:
        raise ValueError(
            f"a session cannot begin as {LIVE_SESSION}, which takes what a bus brings while no"
            " session is open; give another, or none"
        )
    return text


def _level(text: str) -> str:
    word = text.strip().lower()
    if word and word not in LEVELS:
        raise ValueError(f"not a level of a driver; known: {', '.join(LEVELS)}")
    return LEVELS.get(word, "")


def _flag(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.lower() not in _FLAGS:
        raise ValueError("must be true or false")
    return _FLAGS[value.lower()]


def capped(most: int, least: int = 1) -> BeforeValidator:
    """An integer of a query, pulled down to *most*; below *least* or no number is refused."""

    def check(value: object) -> object:
        if isinstance(value, str):
            match = re.fullmatch(r"([+-]?)0*([0-9]+)", value)
            if match is None:
                raise ValueError("must be a whole number")
            value = int(match[1] + match[2][:_DIGITS])  # more are beyond every cap all the same
        if isinstance(value, int):
            if value < least:
                raise ValueError(f"must be at least {least}")
            return min(value, most)
        return value

    return BeforeValidator(check)


Moment = Annotated[str, BeforeValidator(iso)]
"""Unix milliseconds, written as a time of day in UTC."""
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text that is empty where the value is null."""
SessionId = Annotated[StrictStr, AfterValidator(session_id)]
RecordingId = Annotated[StrictStr, AfterValidator(recording_id)]
NewSessionId = Annotated[StrictStr, AfterValidator(_new_session_id)]
DriverLevel = Annotated[StrictStr, AfterValidator(_level)]
"""A driver's level as it is kept; empty: none is given."""
Flag = Annotated[bool, BeforeValidator(_flag)]
"""A yes or no of a query, whatever its case."""
Short = Annotated[StrictStr, Field(max_length=256)]
Note = Annotated[StrictStr, Field(max_length=2000)]
Derived = Annotated[
    tuple[str, ...],
    Field(
        description="what no sensor measured: accelerations (g_lat, g_long, combo_g) and yaw_rate "
        "computed from speed and positions, and smoothed; braking, told by how the car slows"
    ),
]
Number = Annotated[_Float | _Int, AfterValidator(float)]


class SessionPath(Wire):
    """The id of a session."""

    sid: str


class RecordingPath(Wire):
    """The id of a session that something is stored in."""

    sid: RecordingId


class AnswerModel(Wire):
    """An answer, or a part of one, that is read from the attributes of values of the domain."""

    model_config = ConfigDict(
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def of(cls, *values: object, **more: object) -> Self:
        """The answer of what *more* names and, for the rest, the first value that has it.

        Of a value that is None every attribute is None.
        """
        return cls.model_validate(_Joined(values, more))


M = TypeVar("M", bound=AnswerModel)


def fields_of(value: type, *left_out: str) -> Callable[[type[M]], type[M]]:
    """Give an answer the fields of a *value* of the domain, but for those that are *left_out*.

    Their types and docstrings are the value's. What the class itself says of a field counts.
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
