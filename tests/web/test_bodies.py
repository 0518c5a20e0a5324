"""The memory of request bodies: who gets it, who waits, who gives way, and that it comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from runtime.web import bodies
from runtime.web.bodies import BUDGET, FREE_BYTES
from runtime.web.serve import Running, run_app
from tests.waiting import until
from tests.web import sample
from tests.web.raw import Wire, connected, head
from tests.web.sample import make_app
from tests.web.test_guard import LINUX

LARGE = 400_000
ROOM = 500_000


@pytest.fixture(autouse=True)
def large_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "CAP", LARGE)


def item(size: int) -> bytes:
    """An item whose body has *size* bytes."""
    body = json.dumps({"name": "a", "note": ""}).encode()
    return body.replace(b'""', b'"%s"' % (b"x" * (size - len(body))))


def request(body: bytes) -> bytes:
    return head("POST /v1/items HTTP/1.1", f"Content-Length: {len(body)}") + body


def held(server: Running) -> int:
    return server.app[BUDGET].held


@asynccontextmanager
async def half_sent(server: Running, source: str | None = None) -> AsyncIterator[Wire]:
    """A client that has sent most of a large body; the server counts it."""
    before = held(server)
    async with connected(server, source) as wire:
        await wire.send(request(item(LARGE))[:-50_000])
        await until(lambda: held(server) > before + 200_000)
        yield wire


async def test_a_body_beyond_the_room_is_told_why_and_when_to_come_back() -> None:
    async with run_app(make_app(body_bytes=ROOM)) as server, half_sent(server) as first:
        async with connected(server) as second:
            await second.send(request(item(LARGE)))
            answer = await second.answer()
        assert answer.status == 503
        assert answer.headers["retry-after"] == "2"
        assert "bodies of other requests" in json.loads(answer.body)["error"]
        await first.send(b"x" * 49_998 + b'"}')
        assert (await first.answer()).status == 201
        await until(lambda: held(server) == 0)
        async with connected(server) as third:
            await third.send(request(item(LARGE)))
            assert (await third.answer()).status == 201


async def test_a_small_body_passes_however_many_large_ones_are_under_way() -> None:
    async with (
        run_app(make_app(body_bytes=ROOM)) as server,
        half_sent(server),
        connected(server) as small,
    ):
        for _ in range(3):
            await small.send(request(item(FREE_BYTES)))
            assert (await small.answer()).status == 201


@LINUX
async def test_one_address_cannot_take_the_room_of_another() -> None:
    async with run_app(make_app(body_bytes=2 * ROOM)) as server, half_sent(server):
        async with connected(server) as same, connected(server, "127.0.0.2") as other:
            await same.send(request(item(LARGE)))
            refused = await same.answer()
            await other.send(request(item(LARGE)))
            assert (await other.answer()).status == 201
        assert refused.status == 503
        assert "from this address" in json.loads(refused.body)["error"]


async def test_a_body_that_stands_still_gives_way_to_one_that_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with run_app(make_app(body_bytes=ROOM)) as server, half_sent(server) as still:
        monkeypatch.setattr(bodies, "PATIENCE_S", 0.0)
        await asyncio.sleep(0.01)  # the clock of the loop moves on
        async with connected(server) as other:
            await other.send(request(item(LARGE)))
            assert (await other.answer()).status == 201
        answer = await still.answer()
        assert answer.status == 408
        assert "stood still" in json.loads(answer.body)["error"]


async def test_a_single_body_within_its_cap_fits_however_small_the_budget() -> None:
    async with run_app(make_app(body_bytes=1000)) as server, connected(server) as wire:
        await wire.send(request(item(LARGE)))
        assert (await wire.answer()).status == 201


@pytest.mark.parametrize("chunked", [False, True], ids=["of known length", "in chunks"])
async def test_a_client_that_leaves_gives_its_room_back(chunked: bool) -> None:
    async with run_app(make_app()) as server, AsyncExitStack() as stack:
        for _ in range(5):
            wire = await stack.enter_async_context(connected(server))
            if chunked:
                start = head("POST /v1/items HTTP/1.1", "Transfer-Encoding: chunked")
                await wire.send(start + b"%x\r\n" % LARGE + item(LARGE)[:-10])
            else:
                await wire.send(request(item(LARGE))[:-10])
        await until(lambda: held(server) > 5 * (LARGE - FREE_BYTES) - 100)
        await stack.aclose()
        await until(lambda: held(server) == 0)


async def test_refused_bodies_take_no_room() -> None:
    async with run_app(make_app()) as server, connected(server) as wire:
        await wire.send(request(item(LARGE + 1)))
        assert (await wire.answer()).status == 413
        async with connected(server) as other:
            await other.send(request(item(LARGE)[:-1]))
            assert (await other.answer()).status == 400
        assert held(server) == 0
