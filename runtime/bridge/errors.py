"""The envelope of the bridge's errors, and the errors shared by several parts."""

import re
from typing import Final, Literal

from pydantic import Field

from runtime.web import errors as shared
from runtime.web.errors import ApiError, BadRequest, NotFound, TooLarge
from runtime.web.serve import BindCodes
from runtime.web.wire import Wire, absent

BIND_CODES: Final = BindCodes(taken=3, impossible=2)
JsonObject = dict[str, object]

_CODES: Final[dict[type, str]] = {
    shared.RequestTimeout: "timeout",
    shared.TooLarge: "body_too_large",
    shared.TooMany: "too_many_requests",
}
"""Codes of shared errors that differ from the name of their class."""


class ErrorAnswer(Wire):
    """An error."""

    error: str = Field(description="a sentence")
    code: str = Field(description="a machine word")
    param: str | None = absent("the field at fault")
    session_id: str | None = absent()
    table: str | None = absent()
    track_id: str | None = absent()
    driver_id: str | None = absent()
    cars_dir: str | None = absent()
    hint: str | None = absent()
    max_points: int | None = absent()
    source_session_id: str | None = absent("the session of a running replay")
    request_id: str | None = absent()
    saved: Literal[False] | None = absent("of a write")
    line: int | None = absent("of a stream of frames: the line at which it ended, from 1")
    n_appended: int | None = absent("of a stream of frames: how many are stored anyway")


_CONTEXT: Final = tuple(ErrorAnswer.model_fields)[2:]
"""Attributes of an error that its answer repeats."""


class NotSaved(BadRequest):
    """Nothing of the request can be stored."""

    code = "bad_batch"
    saved: Final = False


class BadLine(BadRequest):
    """A line of a stream of frames is not JSON; the frames before it are stored."""

    code = "bad_line"


class UnknownDriver(NotFound):
    """No session has that driver."""

    code = "unknown_driver"
    text = "no session has that driver"


class UnknownLap(NotFound):
    """The session has no complete lap of that number."""

    code = "unknown_lap"
    text = "the session has no complete lap of that number"


class NoCompleteLap(BadRequest):
    """The session has telemetry, but not one complete lap."""

    code = "no_complete_lap"
    text = "the session has no complete lap"


class NoGeometry(ApiError):
    """The corners are unknown."""

    status, code = 422, "no_geometry"
    text = (
        "the corners are unknown: there is no track file, there are no usable positions, or the"
        " speed does not show where on the circuit the laps begin"
    )


class NoCircuit(ApiError):
    """No circuit can be made from any lap of the session; the text says why."""

    status, code = 422, "no_circuit"
    text = "no circuit can be made from any lap of the session"


class NothingRecorded(BadRequest):
    """The session has no telemetry."""

    code = "no_frames"
    text = "the session has no telemetry"


class TooManyRows(TooLarge):
    """The answer would be too long."""

    code = "too_many_rows"
    text = "the answer would have too many rows"
    hint = "narrow t_from and t_to, name a lap, lower rate_hz or raise step_m"


class NoTrack(NotFound):
    """There is no track file with that id, or none is active."""

    code = "no_track"
    text = "no track is active; start with --track"


class NoReferenceLine(ApiError):
    """The track file has no reference line."""

    status, code = 422, "no_reference_line"
    text = "the track file has no reference_line"


def render(error: ApiError) -> JsonObject:
    """Build the body of an error answer: a sentence, a code, and what it is about."""
    body: JsonObject = {"error": error.message, "code": code_of(error)}
    for name in _CONTEXT:
        if (value := getattr(error, name, None)) is not None:
            body[name] = value
    return body


def code_of(error: ApiError) -> str:
    """Find the code of an error, in snake_case: that of the nearest class with one.

    For errors shared by both servers it is the name of the class: ``bad_field`` for `BadField`.
    """
    for kind in type(error).__mro__:
        if kind.__module__ == shared.__name__ and kind is not ApiError:
            return _CODES.get(kind) or re.sub(r"\B(?=[A-Z])", "_", kind.__name__).lower()
        if "code" in vars(kind):
            break
    return error.code
