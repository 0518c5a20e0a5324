"""The root of every error that leaves a server; each server renders it in its own envelope."""

from collections.abc import Mapping
from typing import ClassVar


class ApiError(Exception):
    """An error response: the class defines status and code, the instance the message.

    The client reads the message, so it must not contain paths, class names or input. *headers* are
    sent with the response; *param* names the invalid field, if any; *about* are further fields of
    the response.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "server_error"
    text: ClassVar[str] = ""
    """The default message."""
    retry_after_s: ClassVar[int] = 0
    """The header ``Retry-After``; 0: none."""

    def __init__(
        self,
        message: str = "",
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        **about: object,
    ) -> None:
        vars(self).update(about)
        self.message = message or self.text
        super().__init__(self.message)
        self.param = param
        retry = {"Retry-After": str(self.retry_after_s)} if self.retry_after_s else {}
        self.headers: dict[str, str] = {**retry, **(headers or {})}


class BadRequest(ApiError):
    """The request cannot be understood; sending it again will not help."""

    status, code = 400, "invalid_request_error"


class BadJson(BadRequest):
    """The body is not a JSON object."""


class BadField(BadRequest):
    """A field of the body is missing or has a value it cannot have."""


class BadQuery(BadRequest):
    """A query parameter is missing or has a value it cannot have."""


class Unauthorized(ApiError):
    """The key is missing or wrong."""

    status, code = 401, "invalid_api_key"


class Forbidden(ApiError):
    """The caller's host name or web origin is not on the list."""

    status, code = 403, "permission_error"


class BadHost(Forbidden):
    """The request names a host that this server does not answer to."""


class CrossSite(Forbidden):
    """The request comes from a web page of another site."""


class NotFound(ApiError):
    """There is no such route or thing."""

    status, code = 404, "invalid_request_error"


class MethodNotAllowed(ApiError):
    """The path exists, the method does not; the header ``Allow`` says which do."""

    status, code = 405, "invalid_request_error"


class RequestTimeout(ApiError):
    """The request did not arrive, or was not finished, in its time."""

    status, code = 408, "timeout"


class TooLarge(ApiError):
    """The body, or a field of it, is over its limit."""

    status, code = 413, "invalid_request_error"


class UnsupportedEncoding(ApiError):
    """Bodies are taken as they are: no ``Content-Encoding``."""

    status, code = 415, "invalid_request_error"


class TooMany(ApiError):
    """The server is busy; the header ``Retry-After`` says when to come back."""

    status, code = 429, "rate_limit_error"


class ShuttingDown(ApiError):
    """The server is about to stop and takes no new work."""

    status, code = 503, "server_error"


class Internal(ApiError):
    """Something broke on our side; the log has the details under the same request id."""
