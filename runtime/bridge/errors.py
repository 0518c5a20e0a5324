"""The envelope of the bridge's errors, and the errors that belong to no part of their own."""

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
"""What the bridge calls those shared errors that it does not call by the name of their class."""


class ErrorAnswer(Wire):
    """What went wrong."""

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
    source_session_id: str | None = absent("what a running replay replays")
    request_id: str | None = absent()
    saved: Literal[False] | None = absent("of a write")
    line: int | None = absent("of a stream of frames: the line at which it ended, from 1")
    n_appended: int | None = absent("of a stream of frames: how many are stored all the same")


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
    """Nobody knows where the corners are."""

    status, code = 422, "no_geometry"
    text = (
        "nothing tells where the corners are: there is no track file, there are no usable"
        " positions, or the speed does not show where on the circuit the laps begin"
    )


class NoCircuit(ApiError):
    """No lap of the session can be made into a circuit; the text says why."""

    status, code = 422, "no_circuit"
    text = "no lap of the session can be made into a circuit"


class NothingRecorded(BadRequest):
    """The session has no telemetry to speak about."""

    code = "no_frames"
    text = "the session has no telemetry"


class TooManyRows(TooLarge):
    """The answer would be longer than an answer may be."""

    code = "too_many_rows"
    text = "the answer would have too many rows"
    hint = "narrow t_from and t_to, name a lap, lower rate_hz or raise step_m"


class NoTrack(NotFound):
    """No track file of that id, or none is active."""

    code = "no_track"
    text = "no track is active; start with --track"


class NoReferenceLine(ApiError):
    """The track file has no reference line."""

    status, code = 422, "no_reference_line"
    text = "the track file has no reference_line"


def render(error: ApiError) -> JsonObject:
    """The body of an error answer: a sentence, a code, and what it is about."""
    body: JsonObject = {"error": error.message, "code": code_of(error)}
    for name in _CONTEXT:
        if (value := getattr(error, name, None)) is not None:
            body[name] = value
    return body


def code_of(error: ApiError) -> str:
    """The machine word of an error, snake_case: that of the nearest class which has one.

    Of an error that both servers have it is the name of the class: ``bad_field`` of `BadField`.
    """
    for kind in type(error).__mro__:
        if kind.__module__ == shared.__name__ and kind is not ApiError:
            return _CODES.get(kind) or re.sub(r"\B(?=[A-Z])", "_", kind.__name__).lower()
        if "code" in vars(kind):
            break
    return error.code
