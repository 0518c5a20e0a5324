"""A model server that does as it is told, and sessions to talk about."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import web

from runtime.bridge.session.recording import Frames
from runtime.bridge.track.library import read_track
from tests.bridge.bridgekit import ROOT
from tools.drive import USUAL, drive

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]
LARKFELL: Final = read_track(ROOT / "data" / "tracks" / "larkfell.json")[0]


class Scripted:
    """What the server does with a chat, and what it has seen."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.embedded: list[str] = []
        self.working = 0
        self.most = 0
        self.busy = asyncio.Event()
        """Set when a chat has come."""
        self.gone = asyncio.Event()
        """Set when a chat was cut off by its caller."""
        self.url = ""


@asynccontextmanager
async def serving(behaviour: Behaviour, *, params: int | None = None) -> AsyncIterator[Scripted]:
    """An OpenAI-compatible server of one model of *params* parameters, and one for vectors."""
    script = Scripted(behaviour)

    async def chat(request: web.Request) -> web.StreamResponse:
        script.headers.append(dict(request.headers))
        script.seen.append(await request.json())
        script.working += 1
        script.busy.set()
        script.most = max(script.most, script.working)
        try:
            return await script.behaviour(request)
        except (asyncio.CancelledError, ConnectionError):
            script.gone.set()
            raise
        finally:
            script.working -= 1

    async def models(_: web.Request) -> web.Response:
        embedder = {"id": "bert", "meta": {"kind": "embedding"}}
        chatter = {"id": "scripted", "meta": {"kind": "chat", "n_params": params}}
        return web.json_response({"object": "list", "data": [embedder, chatter]})

    async def embed(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        script.embedded += texts
        rows = [
            {"embedding": [text.count(letter) + 0.1 for letter in "aeiourst"]} for text in texts
        ]
        return web.json_response({"data": rows})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/v1/embeddings", embed)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        script.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield script
    finally:
        await runner.cleanup()


def says(text: str) -> Behaviour:
    """Answers with *text*."""

    async def behave(_: web.Request) -> web.StreamResponse:
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice]})

    return behave


def raw(body: bytes, status: int = 200) -> Behaviour:
    """Answers with these bytes."""

    async def behave(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status)

    return behave


async def hangs(_: web.Request) -> web.StreamResponse:
    """Takes the question and never answers."""
    await asyncio.Event().wait()
    raise AssertionError


async def drips(request: web.Request) -> web.StreamResponse:
    """Sends a byte now and then, and never ends."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def babbles(request: web.Request) -> web.StreamResponse:
    """Talks without end."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    event = b'data: {"choices":[{"delta":{"content":"and so on and "}}]}\n\n'
    while True:
        await response.write(event * 50)


def laps(count: int, *, seed: int = 1, skill: float = 0.8, hz: float = 10.0) -> Frames:
    """Laps of Larkfell on paper."""
    return drive(LARKFELL, count, hz=hz, seed=seed, skill=skill, noise=USUAL).frames


def closed_port() -> str:
    """An address where nobody listens."""
    return "http://127.0.0.1:9/v1"
