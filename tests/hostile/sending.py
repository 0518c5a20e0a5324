"""Sends hostile requests to a server of the test's own process, and counts what comes of it."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.hostile.cases import Request

ANSWER_S: Final = 30.0
"""A request without an answer for this long hangs."""
EACH: Final = 20
"""After so many hostile requests comes one that is meant well, and is acknowledged."""
ABSENT: Final = re.compile(rb"sysmodel_(unavailable|not_ready)", re.IGNORECASE)
"""A 503 on purpose: the tests' server has no system model."""
LEAK: Final = re.compile(rb"Traceback|/runtime/|\.py\b|sqlite3|duckdb|pydantic", re.IGNORECASE)
"""What no error may tell of the inside."""
Said = tuple[set[object], object]
"""The words or numbers by which an error is known, and the field at fault."""
Envelope = Callable[[dict[str, Any]], Said | None]
"""What an error of a server says; None: it has not the server's envelope."""


@dataclass
class Outcome:
    """What came of the requests."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)
    """Answers that say that the server failed."""
    hangs: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Answers other than the expected one, or without the envelope."""
    lost: int = 0
    """Of what was acknowledged on the way."""
    grown_bytes: int = 0
    """Memory at its highest, above that before."""


async def send_all(
    address: tuple[str, int],
    requests: Iterable[Request],
    envelope: Envelope,
    keep: Callable[[], Awaitable[None]],
) -> Outcome:
    """Send each on a connection of its own; each error must have the *envelope*."""
    outcome = Outcome()
    before = resident()
    for request in requests:
        if outcome.tried % EACH == 0:
            await keep()
        outcome.tried += 1
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await exchange(address, request)
        except TimeoutError:
            outcome.hangs.append(request.name)
            continue
        judge(request, answer, envelope, outcome)
    outcome.grown_bytes = highest() - before
    return outcome


def judge(
    request: Request, answer: tuple[int, bytes] | None, envelope: Envelope, outcome: Outcome
) -> None:
    """Note what is wrong with an answer."""
    if answer is None:
        if request.status:
            outcome.wrong.append(f"{request.name}: no answer")
        return
    status, body = answer
    told = f"{request.name}: {status} {body[:200]!r}"
    if status >= 500 and not (status == 503 and ABSENT.search(body)):
        outcome.failures.append(told)
    elif request.status and status not in request.status:
        outcome.wrong.append(told)
    elif 400 <= status < 500 and request.method != "HEAD":
        try:
            said = envelope(json.loads(body))
        except ValueError:
            said = None
        if (
            said is None
            or LEAK.search(body)
            or (request.code is not None and request.code not in said[0])
            or (request.param is not None and request.param != said[1])
        ):
            outcome.wrong.append(told)


async def exchange(address: tuple[str, int], request: Request) -> tuple[int, bytes] | None:
    """Status and body; None where there is no answer, or nobody waits for it."""
    reader, writer = await asyncio.open_connection(*address, limit=1 << 25)
    try:
        writer.write(request.data)
        if request.leave:
            await _sent(writer)
            return None
        if request.stop:
            writer.write_eof()
        answer, _ = await asyncio.gather(_answer(reader, request.method), _sent(writer))
        return answer
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _sent(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):  # a server may answer before it has read everything
        await writer.drain()


async def _answer(reader: asyncio.StreamReader, method: str) -> tuple[int, bytes] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 1"):
            head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        status = int(lines[0].split()[1])
        if method == "HEAD" or "text/event-stream" in headers.get("content-type", ""):
            return status, b""
        if "chunked" not in headers.get("transfer-encoding", ""):
            return status, await reader.readexactly(int(headers.get("content-length", "0")))
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        return status, body
    except (ConnectionError, asyncio.IncompleteReadError):
        return None


def resident() -> int:
    """Bytes of memory now; its highest mark begins anew."""
    if sys.platform != "linux":
        return 0
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def highest() -> int:
    """The most bytes of memory since then."""
    return _status("VmHWM") if sys.platform == "linux" else 0


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) << 10
