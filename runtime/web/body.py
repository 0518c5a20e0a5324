"""Reading a request body within its limits of size and time: whole, or line by line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from runtime.web.errors import BadRequest, RequestTimeout, TooLarge, UnsupportedEncoding

DEADLINE_S: Final = 30.0
"""Seconds in which a body must have arrived completely."""


BODY_DEADLINE_S: Final = web.AppKey("body_deadline_s", float)
"""An application's own deadline; `DEADLINE_S` where it sets none."""
NDJSON: Final = "application/x-ndjson"
LINE_CAP: Final = 1 << 20
"""Bytes of one line of a body that is read line by line."""


async def read_body(request: web.Request, cap: int, deadline_s: float | None = None) -> bytes:
    """The body, at most *cap* bytes of it, whatever its framing says.

    Raises `UnsupportedEncoding`, `TooLarge`, `RequestTimeout` or, for broken framing, `BadRequest`.
    """
    if not await _begin(request, cap):
        return b""
    content = request.content
    parts: list[bytes] = []
    size = 0
    async with _patience(request, "the body", deadline_s):
        while part := await content.readany():
            size += len(part)
            if size > cap:
                raise _too_large(cap)
            parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_lines(
    request: web.Request, cap: int, deadline_s: float | None = None
) -> AsyncIterator[list[bytes]]:
    """The lines of the body without their ends, those that have arrived together as one list.

    Each line must be complete within the deadline that a whole body has elsewhere. What follows
    the last line end is a line too, unless the client has left before the end of the body. Raises
    like `read_body`.
    """
    if not await _begin(request, cap):
        return
    content = request.content
    rest = b""
    size, ended = 0, False
    while not ended:
        lines: list[bytes] = []
        async with _patience(request, "a line", deadline_s):
            while not lines and not ended:
                part = await content.readany()
                ended = not part
                size += len(part)
                if size > cap:
                    raise _too_large(cap)
                *lines, rest = (rest + part).split(b"\n")
                if len(rest) > LINE_CAP and not lines:
                    raise _line_too_large()
        if ended and rest:
            lines.append(rest)
        if lines:
            yield lines
        if len(rest) > LINE_CAP:
            raise _line_too_large()


async def _begin(request: web.Request, cap: int) -> bool:
    """Whether there is a body, after a look at what its head says of it."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedEncoding("send the body as it is, without Content-Encoding")
    declared = request.content_length
    if declared is not None and declared > cap:
        raise _too_large(cap)
    if not request.can_read_body:
        return False
    await _ask_for_it(request)
    return True


@asynccontextmanager
async def _patience(
    request: web.Request, awaited: str, deadline_s: float | None
) -> AsyncIterator[None]:
    """Wait no longer than the deadline for what is read within, and name what is wrong with it."""
    limit_s = deadline_s
    if limit_s is None:
        limit_s = request.app.get(BODY_DEADLINE_S, DEADLINE_S)
    try:
        if request.content.is_eof():  # as with almost every small body: nothing to wait for
            yield
        else:
            async with asyncio.timeout(limit_s):
                yield
    except TimeoutError:
        raise RequestTimeout(
            f"{awaited} did not arrive within {limit_s:g} s", headers={"Connection": "close"}
        ) from None
    except (web.RequestPayloadError, ValueError) as exc:
        raise BadRequest("the body is badly framed", headers={"Connection": "close"}) from exc


def _too_large(cap: int) -> TooLarge:
    return TooLarge(f"the body is over {cap} bytes", headers={"Connection": "close"})


def _line_too_large() -> TooLarge:
    return TooLarge(f"a line is over {LINE_CAP} bytes", headers={"Connection": "close"})


async def wait_with_continue(request: web.Request) -> None:
    """Instead of aiohttp's own answer to ``Expect``: the go-ahead is given when a body is read.

    A client that asks first learns of a wrong key or a full queue without sending its body.
    """


async def _ask_for_it(request: web.Request) -> None:
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Those bytes are no part of the answer: without this, aiohttp takes it for half sent.
        request.writer.output_size = 0
