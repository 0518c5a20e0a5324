"""The envelope of the bridge's errors, and the errors that belong to no part of their own."""

from typing import Final, TypeVar

from runtime.web.errors import (
    ApiError,
    BadField,
    BadHost,
    BadJson,
    BadQuery,
    BadRequest,
    CrossSite,
    Forbidden,
    Internal,
    MethodNotAllowed,
    NotFound,
    RequestTimeout,
    ShuttingDown,
    TooLarge,
    TooMany,
    Unauthorized,
    UnsupportedEncoding,
)

JsonObject = dict[str, object]
E = TypeVar("E", bound=ApiError)

_CODES: Final[tuple[tuple[type[ApiError], str], ...]] = (
    (BadJson, "bad_json"),
    (BadField, "bad_field"),
    (BadQuery, "bad_query"),
    (BadHost, "bad_host"),
    (CrossSite, "cross_site"),
    (Forbidden, "forbidden"),
    (Unauthorized, "unauthorized"),
    (MethodNotAllowed, "method_not_allowed"),
    (RequestTimeout, "timeout"),
    (TooLarge, "body_too_large"),
    (UnsupportedEncoding, "unsupported_encoding"),
    (TooMany, "too_many_requests"),
    (ShuttingDown, "shutting_down"),
    (NotFound, "not_found"),
    (BadRequest, "bad_request"),
    (Internal, "internal"),
)
"""Codes of the shared errors; one that names a code of its own keeps it."""
_CONTEXT: Final = (
    "session_id",
    "table",
    "track_id",
    "driver_id",
    "cars_dir",
    "hint",
    "max_points",
    "source_session_id",
    "request_id",
    "saved",
    "line",
    "n_appended",
)


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

    def __init__(self, driver_id: str) -> None:
        super().__init__("no session has that driver")
        self.driver_id = driver_id


class UnknownLap(NotFound):
    """The session has no complete lap of that number."""

    code = "unknown_lap"

    def __init__(self, session_id: str) -> None:
        super().__init__("the session has no complete lap of that number")
        self.session_id = session_id


class NoCompleteLap(BadRequest):
    """The session has telemetry, but not one complete lap."""

    code = "no_complete_lap"

    def __init__(self, session_id: str, *, partial: bool = False) -> None:
        """*partial*: the session was to count as one lap, and has no time that it could take."""
        if partial:
            why = "the session's frames cover no time, so it does not count as one lap either"
        else:
            why = "the session has no complete lap; partial=true takes it as one"
        super().__init__(why)
        self.session_id = session_id


class NoGeometry(ApiError):
    """Nobody knows where the corners are."""

    status, code = 422, "no_geometry"

    def __init__(self, session_id: str) -> None:
        super().__init__("neither a track file nor usable positions tell where the corners are")
        self.session_id = session_id


class NoCircuit(ApiError):
    """No lap of the session can be made into a circuit; the text says why."""

    status, code = 422, "no_circuit"

    def __init__(self, session_id: str, why: str) -> None:
        super().__init__(why)
        self.session_id = session_id


class TooManyRows(TooLarge):
    """The answer would be longer than an answer may be."""

    code = "too_many_rows"

    def __init__(self, max_points: int) -> None:
        super().__init__(f"the answer would have more than {max_points} rows")
        self.max_points = max_points
        self.hint = "narrow t_from and t_to, name a lap, lower rate_hz or raise step_m"


class NoTrack(NotFound):
    """No track file of that id, or none is active."""

    code = "no_track"

    def __init__(self, track_id: str | None = None) -> None:
        named = "there is no such track" if track_id else "no track is active; start with --track"
        super().__init__(named)
        self.track_id = track_id


class NoReferenceLine(ApiError):
    """The track file has no reference line."""

    status, code = 422, "no_reference_line"

    def __init__(self, track_id: str) -> None:
        super().__init__("the track file has no reference_line")
        self.track_id = track_id


def render(error: ApiError) -> JsonObject:
    """The body of an error answer: a sentence, a code, and what it is about."""
    body: JsonObject = {"error": error.message, "code": code_of(error)}
    if error.param is not None:
        body["param"] = error.param
    for name in _CONTEXT:
        if (value := getattr(error, name, None)) is not None:
            body[name] = value
    return body


def with_context(error: E, **context: object) -> E:
    """*error* with further fields of the envelope in its answer."""
    vars(error).update(context)
    return error


def code_of(error: ApiError) -> str:
    """The machine word of an error, snake_case."""
    for shared, code in _CODES:
        if isinstance(error, shared):
            return code if type(error).code == shared.code else type(error).code
    return type(error).code
