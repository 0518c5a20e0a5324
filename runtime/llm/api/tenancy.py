"""What the routes of the document store share: the tenant, and one shape for what breaks."""

import asyncio
import functools
import logging
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from aiohttp import web

from runtime.llm.errors import ApiFailure
from runtime.llm.identity import header_safe, tenant_id
from runtime.llm.service import SERVICE
from runtime.web.errors import ApiError, BadRequest
from runtime.web.routes import Handler, Result

TENANT: Final = web.RequestKey("tenant", str)
"""The tenant of a request, set once its key was good."""
HEADERS: Final[Mapping[str, str]] = {
    "X-Tenant-Id": "the tenant, from the request's X-Client-Id or User-Agent; percent-encoded UTF-8"
}
UNREACHABLE: Final = (".", "..")
"""Names that most clients resolve as folders when they stand in a path, however encoded."""
log = logging.getLogger(__name__)
H = TypeVar("H", bound=Handler)


def check_encoding(request: web.Request) -> None:
    """Raise `BadRequest` for a path whose bytes are no UTF-8: as it is read, it names another id.

    ``%ff`` would be taken for the three characters that ``%25ff`` stands for.
    """
    try:
        unquote(request.raw_path.partition("?")[0], errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequest("the path is not percent-encoded UTF-8") from error


async def resolve(request: web.Request) -> None:
    """Note whose documents the request is about; runs before its body is read."""
    headers = request.headers
    request[TENANT] = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    request.app[SERVICE].touch()


async def touch(request: web.Request) -> None:
    """Note that somebody uses the server; for routes that know no tenant."""
    request.app[SERVICE].touch()


async def sign(request: web.Request, response: web.StreamResponse) -> None:
    """Let the client see its tenant, on errors too."""
    if (tenant := request.get(TENANT)) is not None:
        response.headers["X-Tenant-Id"] = header_safe(tenant)


def guarded(handler: H) -> H:
    """The handler, whose unexpected failures are answered with the type ``api_error``."""

    @functools.wraps(handler)
    async def run(request: web.Request, **values: Any) -> Result:
        try:
            return await handler(request, **values)
        except (ApiError, asyncio.CancelledError, web.HTTPException):
            raise
        except Exception as error:
            log.exception("unexpected failure in %s", request.path)
            raise ApiFailure(
                "something went wrong on our side; the log of the server says what"
            ) from error

    return run  # type: ignore[return-value] # of the same signature
