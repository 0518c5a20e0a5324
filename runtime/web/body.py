"""Reading a request body within its limits of size and time."""

import asyncio
from typing import Final

from aiohttp import web

from runtime.web.errors import BadRequest, RequestTimeout, TooLarge, UnsupportedEncoding

DEADLINE_S: Final = 30.0
"""Seconds in which a body must have arrived completely."""


BODY_DEADLINE_S: Final = web.AppKey("body_deadline_s", float)
"""An application's own deadline; `DEADLINE_S` where it sets none."""


async def read_body(request: web.Request, cap: int, deadline_s: float | None = None) -> bytes:
    """The body, at most *cap* bytes of it, whatever its framing says.

    Raises `UnsupportedEncoding`, `TooLarge`, `RequestTimeout` or, for broken framing, `BadRequest`.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedEncoding("send the body as it is, without Content-Encoding")
    if deadline_s is None:
        deadline_s = request.app.get(BODY_DEADLINE_S, DEADLINE_S)
    declared = request.content_length
    if declared is not None and declared > cap:
        raise _too_large(cap)
    if not request.can_read_body:
        return b""
    await _ask_for_it(request)
    try:
        async with asyncio.timeout(deadline_s):
            return await _collect(request, cap)
    except TimeoutError:
        raise RequestTimeout(
            f"the body did not arrive within {deadline_s:g} s", headers={"Connection": "close"}
        ) from None
    except (web.RequestPayloadError, ValueError) as exc:
        raise BadRequest("the body is badly framed", headers={"Connection": "close"}) from exc


async def _collect(request: web.Request, cap: int) -> bytes:
    content = request.content
    parts: list[bytes] = []
    size = 0
    while part := await content.readany():
        size += len(part)
        if size > cap:
            raise _too_large(cap)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(cap: int) -> TooLarge:
    return TooLarge(f"the body is over {cap} bytes", headers={"Connection": "close"})


async def wait_with_continue(request: web.Request) -> None:
    """Instead of aiohttp's own answer to ``Expect``: the go-ahead is given when a body is read.

    A client that asks first learns of a wrong key or a full queue without sending its body.
    """


async def _ask_for_it(request: web.Request) -> None:
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Those bytes are no part of the answer: without this, aiohttp takes it for half sent.
        request.writer.output_size = 0
