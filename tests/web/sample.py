"""A small server with every kind of route, for the tests of the plumbing."""

import asyncio
from typing import Annotated

from aiohttp import web
from pydantic import Field, StringConstraints

from runtime.web.access import Bearer, HostPolicy
from runtime.web.bodies import BUDGET_BYTES
from runtime.web.door import Door, install
from runtime.web.errors import ApiError, NotFound, TooMany
from runtime.web.openapi import Json, describe, publish
from runtime.web.routes import Reply, Routes, mount
from runtime.web.sse import EventStream, frame
from runtime.web.wire import Wire

ITEMS = Routes("items")
LIVE = Routes("live")
CAP = 1000
BUSY = web.AppKey("busy", list[str])
"""What the tests look at: names of handlers that ran."""


class ErrorBody(Wire):
    error: str
    code: str


class NoItem(NotFound):
    """There is no item of that name."""

    code = "no_item"


class ItemPath(Wire):
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]


class Page(Wire):
    limit: int = Field(10, ge=1, le=100, description="Entries at most")
    reverse: bool = False


class Part(Wire):
    weight_kg: float = Field(ge=0)


class NewItem(Wire):
    name: str = Field(min_length=1, max_length=32)
    size: int = Field(1, ge=1)
    parts: list[Part] = Field(default_factory=list)


class Item(Wire):
    name: str
    size: int
    note: str | None = Field(None, exclude_if=lambda value: value is None)


class ItemList(Wire):
    items: list[Item]


class Tick(Wire):
    n: int


class Times(Wire):
    times: int = Field(2, ge=1, le=5)


async def not_when_busy(request: web.Request) -> None:
    if request.headers.get("X-Full") == "yes":
        raise TooMany("come back soon", headers={"Retry-After": "5"})


@ITEMS.get("/v1/items", headers={"X-Total": "Number of items"})
async def list_items(request: web.Request, *, query: Page) -> Reply[ItemList]:
    """All items.

    Sorted by name.
    """
    items = [Item(name=f"item-{n}", size=n) for n in range(query.limit)]
    return Reply(ItemList(items=items), headers={"X-Total": "100"})


@ITEMS.get("/v1/items/{name}", errors=(NoItem,))
async def get_item(request: web.Request, *, path: ItemPath) -> Item:
    """One item."""
    if path.name == "missing":
        raise NoItem("there is no item of that name")
    if path.name == "broken":
        raise RuntimeError("a secret detail")
    return Item(name=path.name, size=1)


@ITEMS.post(
    "/v1/items", status=201, body_cap=lambda app: CAP, before=not_when_busy, errors=(TooMany,)
)
async def add_item(request: web.Request, *, body: NewItem) -> Item:
    """Add an item."""
    request.app[BUSY].append("add_item")
    return Item(name=body.name, size=body.size)


@ITEMS.post("/v1/bench", lenient_body=True, answers={202: None}, quiet=True)
async def bench(request: web.Request, *, body: Times) -> Tick:
    """Run a benchmark."""
    return Tick(n=body.times)


@ITEMS.delete("/v1/items/{name}")
async def drop_item(request: web.Request, *, path: ItemPath) -> Reply[None]:
    """Remove an item."""
    return Reply(None, status=204)


@ITEMS.get("/health", gated=False)
async def health(request: web.Request) -> Tick:
    """Whether the server is alive."""
    return Tick(n=1)


class TokenPath(Wire):
    token: str


@ITEMS.delete("/tokens/{token}", secret_path=True)
async def revoke(request: web.Request, *, path: TokenPath) -> Reply[None]:
    """Revoke a token."""
    return Reply(None, status=204)


@LIVE.get("/v1/ticks", stream=Tick)
async def ticks(request: web.Request, *, query: Page) -> web.StreamResponse:
    """A few events."""
    async with EventStream(request) as stream:
        for n in range(query.limit):
            await stream.send(frame(Tick(n=n).model_dump_json().encode()))
    return stream.response


@LIVE.get("/wait", gated=False, stream=Tick)
async def wait(request: web.Request) -> web.StreamResponse:
    """A stream that never ends by itself."""
    async with EventStream(request, ends_on_drain=True) as stream:
        await stream.send(frame(b'{"n":0}'))
        await asyncio.Event().wait()
    return stream.response


@LIVE.get("/slow", gated=False, text="text/plain")
async def slow(request: web.Request) -> web.StreamResponse:
    """An answer that takes a while."""
    await asyncio.sleep(0.3)
    return web.Response(text="done")


@LIVE.get("/big", gated=False, text="text/plain")
async def big(request: web.Request) -> web.StreamResponse:
    """More than the buffers of a connection hold."""
    return web.Response(text="x" * 16_000_000)


GROUPS = (ITEMS, LIVE)


def render(error: ApiError) -> Json:
    return {"error": error.message, "code": error.code}


def describe_sample() -> Json:
    return describe("Sample", "1", GROUPS, error_model=ErrorBody, render=render)


def make_app(
    *,
    key: str = "",
    host: str = "127.0.0.1",
    origins: tuple[str, ...] = (),
    door: Door | None = None,
    body_bytes: int = BUDGET_BYTES,
) -> web.Application:
    app = web.Application()
    app[BUSY] = []
    install(
        app,
        door
        or Door(
            render=render,
            hosts=HostPolicy.bound_to(host, origins=origins),
            auth=Bearer(key),
            gated_prefixes=("/v1",),
            body_bytes=body_bytes,
            exposed_headers=("X-Total",),
        ),
    )
    mount(app, *GROUPS)
    publish(app, describe_sample)
    return app
