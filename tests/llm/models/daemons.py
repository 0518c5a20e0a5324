"""Loopback daemons that follow a script, well behaved or not, and small values for requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from runtime.llm.inference import ChatCall, Generation, Sampling, Turn
from runtime.llm.models.daemon import Daemon, Patience
from runtime.llm.models.daemon import parse_address as parse
from runtime.llm.models.system.openai import OpenAiDaemon
from runtime.llm.models.system.settings import SysmodelSettings

GREEDY = Sampling(temperature=0.0, top_k=40, top_p=0.9, seed=7)
PATIENT = Patience(connect_s=30, whole_s=30, first_s=30, stall_s=30, busy_s=30)
"""Longer than a machine is busy with something else."""
HASTY = PATIENT._replace(whole_s=0.3, first_s=0.3, stall_s=0.3)
"""For daemons that say nothing."""
GROWING_S = (0.3, 1.0, 3.0, 9.0)
"""For what must end within a time: a machine that stood still meanwhile gets a longer one."""

Script = Callable[["Asked", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Asked:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.line.split()[1]

    @property
    def json(self) -> dict[str, object]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


@dataclass
class Scripted:
    """A daemon under way."""

    address: str
    asked: list[Asked] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with each request."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client hung up before the script was through."""


@asynccontextmanager
async def scripted(script: Script, socket: Path | None = None) -> AsyncIterator[Scripted]:
    """A raw server that reads one request a connection and lets *script* write the answer."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            asked = await _read(reader)
            daemon.asked.append(asked)
            daemon.came.set()
            await _play(script(asked, writer), reader, daemon.gone)
        except (asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    if socket is not None:
        server = await asyncio.start_unix_server(serve, socket)
        daemon = Scripted(f"unix:{socket}")
    else:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        daemon = Scripted(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield daemon
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _play(script: Awaitable[None], reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
    """Run *script* until it ends or the client hangs up, which sets *gone*."""
    work = asyncio.ensure_future(script)
    left = asyncio.ensure_future(reader.read())
    await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        gone.set()
    for one in (work, left):
        one.cancel()
    await asyncio.gather(work, left, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *rest = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in rest)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(line, headers, body)


def head(status: str = "200 OK", kind: str = "text/event-stream", *extra: str) -> bytes:
    """The head of an answer that ends when the connection does."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *extra]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answer(value: object, status: str = "200 OK", *extra: str) -> bytes:
    """A whole JSON answer."""
    body = json.dumps(value).encode()
    return head(status, "application/json", f"Content-Length: {len(body)}", *extra) + body


def says(*answers: bytes) -> Script:
    """A script that gives each request the next of *answers*, the last one for ever."""
    left = list(answers)

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()

    return script


def by_path(**answers: bytes | Script) -> Script:
    """A script that answers by the last word of the path; 404 for others."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        found = answers.get(asked.path.rpartition("/")[2], answer({"error": "no"}, "404 Not Found"))
        await (says(found) if isinstance(found, bytes) else found)(asked, writer)

    return script


async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Accepts and says nothing."""
    await asyncio.Event().wait()


def sse(*chunks: object, done: bool = True) -> bytes:
    """An event stream of *chunks*."""
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return head() + "".join([*events, "data: [DONE]\n\n" if done else ""]).encode()


def delta(text: str | None = None, finish: str | None = None) -> dict[str, object]:
    """One chunk of a chat completion."""
    content = {} if text is None else {"content": text}
    return {"choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


def chat(*texts: str, max_output: int | None = None, max_total: int | None = None) -> ChatCall:
    """A request in which user and assistant take turns, the user first and last."""
    turns = tuple(
        Turn("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(texts or ("Hi",))
    )
    return ChatCall(turns, GREEDY, max_output, max_total)


def client(address: str, patience: Patience = PATIENT) -> Daemon:
    """A client of the daemon at an address."""
    return Daemon(parse(address), patience=patience)


@asynccontextmanager
async def upstream(
    script: Script, patience: Patience = PATIENT, socket: Path | None = None, **settings: object
) -> AsyncIterator[tuple[OpenAiDaemon, Scripted]]:
    """A provider in front of a scripted daemon."""
    chosen = SysmodelSettings.model_construct(**{"model": "coach", **settings})  # type: ignore[arg-type]
    async with scripted(script, socket) as daemon:
        provider = OpenAiDaemon(client(daemon.address, patience), chosen)
        yield provider, daemon
        await provider.close()


async def collect(reply: Generation) -> list[str]:
    """All pieces of a reply."""
    try:
        return [piece.text async for piece in reply]
    finally:
        await reply.aclose()


class Slept:
    """A sleep that takes no time and remembers what was asked of it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def texts(pieces: Sequence[str]) -> str:
    """The whole reply, after a look that no piece is empty."""
    assert all(pieces)
    return "".join(pieces)
