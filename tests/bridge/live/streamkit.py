"""A bridge with its streams and spectators, and a client that reads events."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple, Self

import aiohttp

from runtime.bridge.api import spectators
from runtime.bridge.app import GROUPS, make_app
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import Hub, Subscription
from runtime.bridge.server import PER_PEER
from runtime.bridge.session.recording import WIDE, LiveFrame, Origin
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.startup import assemble
from runtime.web.door import Limits
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.serve import Running, bind, serving
from tests.bridge.bridgekit import Bridge, Json

LIMITS = Limits(per_peer=PER_PEER)


@dataclass
class Live(Bridge):
    """A running bridge with a client, and its listener for spectators with one."""

    main: Running
    guests: Running
    guest: Bridge

    @property
    def hub(self) -> Hub:
        return self.service.hub

    async def token(self, session_id: str, **more: Json) -> str:
        made: str = (await self.made(session_id, **more))["token"]
        return made

    async def made(self, session_id: str, **more: Json) -> Json:
        """A token with all that is told about it."""
        return await self.ok("POST", "/spectator/token", {"session_id": session_id, **more})


@asynccontextmanager
async def living(settings: BridgeSettings, port: int = 0) -> AsyncIterator[Live]:
    """A bridge on the loopback interface for as long as the block runs."""
    service = assemble(settings)
    app = make_app(service)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(bind("127.0.0.1", port))
        main = await stack.enter_async_context(
            serving(app, listener, limits=LIMITS, last_words_s=0.2)
        )
        beside = spectators.serve_spectators(service, GROUPS, "127.0.0.1", 0, app[LIFECYCLE])
        guests = await stack.enter_async_context(beside)
        http = await stack.enter_async_context(aiohttp.ClientSession(main.url))
        guest = await stack.enter_async_context(aiohttp.ClientSession(guests.url))
        watcher = Bridge(service, guests.app, guests.url, guest)
        yield Live(service, app, main.url, http, main, guests, watcher)


class Message(NamedTuple):
    """One event, or a comment."""

    name: str
    id: int | None
    data: Json
    comment: str


@dataclass
class Listener:
    """An open stream."""

    response: aiohttp.ClientResponse

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        found = await self.next()
        if found is None:
            raise StopAsyncIteration
        return found

    async def next(self) -> Message | None:
        """The next event; None: the stream has ended."""
        async with asyncio.timeout(20):
            block = await self.response.content.readuntil(b"\n\n")
        return parsed(block) if block else None

    async def ended(self) -> bool:
        """Whether the stream ends, whatever comes before."""
        try:
            while await self.next():
                pass
        except aiohttp.ClientError:
            return True
        return True


def parsed(block: bytes) -> Message:
    """An event as a browser would read it."""
    fields: dict[str, str] = {}
    for line in block.decode().strip("\n").split("\n"):
        name, _, value = line.partition(": ")
        fields[name] = value if name else line[2:]
    data = json.loads(fields["data"]) if "data" in fields else None
    number = int(fields["id"]) if "id" in fields else None
    comment = block.decode()[2:-2] if block.startswith(b": ") else ""
    return Message(fields.get("event", "message"), number, data, comment)


@asynccontextmanager
async def listening(
    bridge: Bridge, path: str, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Listener]:
    """An open stream whose greeting has been read."""
    async with bridge.http.get(path, headers=headers) as response:
        assert response.status == 200, await response.read()
        listener = Listener(response)
        greeting = await listener.next()
        assert greeting is not None
        assert greeting.name == "hello"
        yield listener


async def waiting(subscription: Subscription) -> list[Message]:
    """What can be taken without waiting."""
    found: list[Message] = []
    while True:
        coming = asyncio.ensure_future(anext(subscription))
        await asyncio.sleep(0)
        if not coming.done():
            coming.cancel()
            return found
        found.append(parsed(coming.result()))


def frame(
    session_id: str = "s", t: float = 1.0, source: Origin = "can", **values: float
) -> LiveFrame:
    """A frame in which only the time and *values* are known."""
    wide = {**dict.fromkeys(WIDE, float("nan")), "timestamp": t, **values}
    return LiveFrame(session_id, source, wide)


def cue(text: str, session_id: str = "s") -> Cue:
    """A cue of the rules."""
    return Cue(session_id, text, 1, "", "rule")
