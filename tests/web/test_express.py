"""The short way: the same answers as on the common way, and only for what is known."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from runtime.web import express
from runtime.web.auth import Bearer
from runtime.web.errors import ApiError, TooMany
from runtime.web.guard import GuardedConnection, Limits
from runtime.web.hosts import HostPolicy
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.middleware import Door, Seen, install
from runtime.web.routes import Passing, Routes, Take, mount
from runtime.web.serve import Running, started
from runtime.web.wire import Plain, Wire
from tests.web.raw import Answer, connected, head
from tests.web.raw import Wire as Connection


class Number(Plain):
    n: object = None


class Said(Wire):
    way: str
    n: int


class Place(Wire):
    name: str


class Desk:
    """The route of these tests, and what it was asked."""

    def __init__(self) -> None:
        self.ways: list[str] = []
        self.held: list[Passing] = []
        self.holds = False
        self.seen: list[Seen] = []

    def shortcut(self, app: web.Application, found: Mapping[str, str]) -> Take:
        def take(body: bytes, passing: Passing) -> bool:
            if not body.startswith(b'{"n":'):
                return False
            self.ways.append(f"short {found['name']}")
            if self.holds:
                self.held.append(passing)
            else:
                answer = b'{"way":"short","n":%d}' % int(body[5:-1])
                asyncio.get_running_loop().call_soon(passing.answer, answer)
            return True

        return take


def make_app(desk: Desk, *, key: str = "", origins: tuple[str, ...] = ()) -> web.Application:
    routes = Routes("desk")

    @routes.post("/desk/{name}", quiet=True, express=desk.shortcut)
    async def answer(request: web.Request, *, path: Place, body: Number) -> Said:
        desk.ways.append(f"common {path.name}")
        return Said(way="common", n=int(str(body.n or 0)))

    @routes.get("/plain", gated=False)
    async def plain(request: web.Request) -> Said:
        return Said(way="common", n=0)

    app = web.Application()
    door = Door(
        render=lambda error: {"error": error.message, "code": error.code},
        hosts=HostPolicy.bound_to("127.0.0.1", origins=origins),
        auth=Bearer(key),
        request_id_header=True,
        observe=desk.seen.append,
    )
    install(app, door)
    mount(app, routes)
    return app


def post(body: bytes, *headers: str, line: str = "POST /desk/a HTTP/1.1") -> bytes:
    length = f"Content-Length: {len(body)}"
    return head(line, "Content-Type: application/json", length, *headers) + body


ONE = post(b'{"n":1}')
TWO = post(b'{"n":2}')
PLAIN = head("GET /plain HTTP/1.1")
OFTEN = Limits(stall_s=0.2)
"""With these a guard looks often at its connections, and finds none of them too slow."""


@asynccontextmanager
async def known(
    desk: Desk, limits: Limits | None = None
) -> AsyncIterator[tuple[Running, Connection]]:
    """A server that knows the head of `ONE`, and a connection at rest."""
    async with started(make_app(desk), limits=limits) as server, connected(server) as wire:
        assert (await ask(wire, ONE)).json_way == "common"
        desk.ways.clear()
        yield server, wire


class Said2(Answer):
    @property
    def json_way(self) -> str:
        return self.body.decode().split('"')[3]


async def ask(wire: Connection, data: bytes) -> Said2:
    await wire.send(data)
    return Said2(*await asyncio.wait_for(wire.answer(), 20))


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the server does by itself."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def only_one(server: Running) -> GuardedConnection:
    """The server's end of the one connection."""
    (connection,) = server.guard._open
    return connection


async def test_a_head_that_was_let_in_takes_the_short_way_and_is_answered_alike() -> None:
    desk = Desk()
    async with started(make_app(desk)) as server, connected(server) as wire:
        first, second, third = [await ask(wire, data) for data in (ONE, TWO, PLAIN)]
        assert [a.json_way for a in (first, second, third)] == ["common", "short", "common"]
        assert first.headers.keys() == second.headers.keys()
        assert [a.headers["x-request-id"] for a in (first, second, third)] == ["1", "2", "3"]
        same = ("content-type", "server")
        assert [first.headers[name] for name in same] == [second.headers[name] for name in same]
        async with connected(server) as other:
            assert (await ask(other, ONE)).json_way == "short"
    assert [(seen.route, seen.status) for seen in desk.seen[:2]] == [("/desk/{name}", 200)] * 2


@pytest.mark.parametrize(
    "data",
    [
        post(b'{"n":1}', "Authorization: Bearer x"),
        post(b'{"n":1}', "Origin: http://localhost"),
        post(b'{"n":1}', "Sec-Fetch-Site: same-origin"),
        post(b'{"n":1}', "X-Forwarded-For: 10.0.0.1"),
        post(b'{"n":1}', "Cookie: a=b"),
        post(b'{"n":1}', "Content-Encoding: identity"),
        post(b'{"n":1}', "Expect: 100-continue"),
        post(b'{"n":1}', "Accept: a", "Accept: b"),
        post(b'{"n":1}', line="POST /desk/a?token=x HTTP/1.1"),
        post(b'{"n":1}', f"User-Agent: {'x' * 2000}"),
        head("POST /desk/a HTTP/1.1", "Transfer-Encoding: chunked") + b'7\r\n{"n":1}\r\n0\r\n\r\n',
    ],
)
async def test_heads_that_say_more_are_never_kept(data: bytes) -> None:
    desk = Desk()
    async with started(make_app(desk)) as server, connected(server) as wire:
        for _ in range(2):
            await wire.send(data)
            answer = await asyncio.wait_for(wire.answer(), 20)
            if answer.status == 100:
                answer = await asyncio.wait_for(wire.answer(), 20)
            if answer.status != 200:
                break
        assert not server.guard.heads
    assert set(desk.ways) <= {"common a"}


async def test_a_request_that_was_refused_teaches_nothing() -> None:
    desk = Desk()
    async with started(make_app(desk, key="secret")) as server, connected(server) as wire:
        assert (await ask(wire, ONE)).status == 401
        assert (await ask(wire, post(b"[1,2]xx", line="POST /desk/b HTTP/1.1"))).status == 401
        assert not server.guard.heads
    async with started(make_app(desk)) as server, connected(server) as wire:
        assert (await ask(wire, post(b"[1,2]xx"))).status == 400
        assert not server.guard.heads


async def test_what_the_shortcut_does_not_take_goes_the_common_way() -> None:
    desk = Desk()
    async with known(desk) as (_, wire):
        assert (await ask(wire, post(b'{"x":1}'))).json_way == "common"
        assert (await ask(wire, post(b"[1,2,3]"))).status == 400
        assert (await ask(wire, ONE)).json_way == "short"


@pytest.mark.parametrize("cut", [1, 40, len(ONE) - 7, len(ONE) - 6, len(ONE) - 1])
async def test_a_request_in_pieces_is_answered_and_the_next_one_too(cut: int) -> None:
    desk = Desk()
    async with known(desk) as (server, wire):
        connection = only_one(server)
        for data in (ONE, TWO):
            await wire.send(data[:cut])
            await until(lambda: bool(connection._held or connection._head_bytes))
            assert (await ask(wire, data[cut:])).status == 200
        assert (await ask(wire, PLAIN)).status == 200
    whole_head = cut >= len(ONE) - 7
    assert desk.ways == (["short a"] * 2 if whole_head else ["common a"] * 2)


async def test_requests_that_come_together_are_answered_in_their_order() -> None:
    desk = Desk()
    async with known(desk) as (_, wire):
        await wire.send(ONE + TWO + PLAIN + ONE)
        answers = [await asyncio.wait_for(wire.answer(), 20) for _ in range(4)]
        assert [answer.body[-2:-1] for answer in answers] == [b"1", b"2", b"0", b"1"]


async def test_what_comes_during_a_request_on_the_short_way_waits_for_its_answer() -> None:
    desk = Desk()
    async with known(desk) as (_, wire):
        desk.holds = True
        await wire.send(ONE)
        await until(lambda: len(desk.held) == 1)
        await wire.send(TWO)
        await wire.send(PLAIN + post(b'{"n":3}' + b" " * 60_000))
        await asyncio.sleep(0.02)
        desk.holds = False
        desk.held[0].answer(b'{"way":"short","n":1}')
        answers = [await asyncio.wait_for(wire.answer(), 20) for _ in range(4)]
        assert [answer.body[-2:-1] for answer in answers] == [b"1", b"2", b"0", b"3"]


@pytest.mark.parametrize("odd", [b"\r\n\r\n", b"\r\n"])
async def test_bytes_before_a_head_hide_no_request_from_the_parser(odd: bytes) -> None:
    desk = Desk()
    async with known(desk) as (server, wire):
        inner = len(ONE)
        sneaking = odd + head("POST /desk/b HTTP/1.1", f"Content-Length: {inner}")
        await wire.send(sneaking)
        await until(lambda: server.app[LIFECYCLE].in_flight == 1)
        answer = await ask(wire, ONE)
        assert answer.status == 400
        assert "short a" not in desk.ways


async def test_a_head_without_its_body_goes_the_common_way_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(express, "HELD_S", 0.05)
    desk = Desk()
    async with known(desk, OFTEN) as (server, wire):
        await wire.send(ONE[:-3])
        life = server.app[LIFECYCLE]
        await until(lambda: life.in_flight == 1)
        assert (await ask(wire, ONE[-3:])).json_way == "common"


async def test_a_body_that_trickles_in_goes_the_common_way_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(express, "HELD_S", 0.15)
    desk = Desk()
    async with known(desk, OFTEN) as (server, wire):
        life = server.app[LIFECYCLE]
        long = ONE[: -len(b'{"n":1}')]
        await wire.send(long)
        for byte in b'{"n":1':
            await asyncio.sleep(0.06)
            await wire.send(bytes([byte]))
        assert life.in_flight == 1
        assert (await ask(wire, b"}")).json_way == "common"


async def test_a_connection_may_live_by_the_short_way_alone() -> None:
    desk = Desk()
    limits = Limits(head_s=30)
    async with known(desk, limits) as (server, first):
        first.writer.close()
        await until(lambda: not server.guard.connections)
        async with connected(server) as wire:
            for _ in range(3):
                assert (await ask(wire, ONE)).json_way == "short"
                later = asyncio.get_running_loop().time() + 2 * limits.head_s
                assert not only_one(server).overdue(later)


async def test_failures_are_told_as_on_the_common_way(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    async with known(desk) as (server, wire):
        desk.holds = True
        errors: tuple[Exception, ...] = (
            TooMany("come back soon", headers={"Retry-After": "5"}),
            RuntimeError("a secret detail"),
            ApiError("closing", headers={"Connection": "close"}),
        )
        answers = []
        with caplog.at_level(logging.INFO, "paddock.access"):
            for error in errors:
                await wire.send(ONE)
                await until(lambda: bool(desk.held))
                desk.held.pop().fail(error)
                answers.append(await asyncio.wait_for(wire.answer(), 20))
        assert [answer.status for answer in answers] == [429, 500, 500]
        assert answers[0].headers["retry-after"] == "5"
        assert answers[0].headers["x-request-id"] == "2"
        assert b"secret" not in answers[1].body
        assert await asyncio.wait_for(wire.end(), 20) == b""
        assert server.app[LIFECYCLE].in_flight == 0
    logged = [vars(record)["fields"] for record in caplog.records if "fields" in vars(record)]
    assert [(line["path"], line["status"]) for line in logged] == [
        ("/desk/a", 429),
        ("/desk/a", 500),
        ("/desk/a", 500),
    ]


async def test_a_client_that_leaves_harms_nobody() -> None:
    desk = Desk()
    async with known(desk) as (server, wire):
        desk.holds = True
        await wire.send(ONE)
        await until(lambda: bool(desk.held))
        wire.writer.close()
        await until(lambda: server.guard.connections == 0)
        desk.held[0].answer(b'{"way":"short","n":1}')
        assert server.app[LIFECYCLE].in_flight == 0


async def test_a_server_that_drains_waits_for_the_short_way_and_takes_no_more() -> None:
    desk = Desk()
    async with known(desk) as (server, wire), connected(server) as other:
        assert (await ask(other, ONE)).json_way == "short"
        desk.holds = True
        await wire.send(ONE)
        await until(lambda: bool(desk.held))
        life = server.app[LIFECYCLE]
        life.drain()
        assert not await life.wait_idle(0.01)
        assert (await ask(other, ONE)).status == 503
        desk.held[0].answer(b'{"way":"short","n":1}')
        assert (await asyncio.wait_for(wire.answer(), 20)).status == 200
        assert await life.wait_idle(5)


async def test_a_connection_under_way_is_not_at_rest() -> None:
    desk = Desk()
    async with known(desk, Limits(connections=1)) as (server, wire):
        desk.holds = True
        await wire.send(ONE)
        await until(lambda: bool(desk.held))
        async with connected(server) as extra:
            assert (await ask(extra, ONE)).status == 503
        desk.holds = False
        desk.held[0].answer(b'{"way":"short","n":1}')
        assert (await asyncio.wait_for(wire.answer(), 20)).status == 200
        async with connected(server) as extra:
            assert (await ask(extra, ONE)).status == 200
        assert server.guard.displaced == 1


async def test_only_so_many_heads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(express, "MOST_HEADS", 3)
    desk = Desk()
    async with started(make_app(desk)) as server, connected(server) as wire:
        for name in "abcde":
            line = f"POST /desk/{name} HTTP/1.1"
            assert (await ask(wire, post(b'{"n":1}', line=line))).json_way == "common"
        assert len(server.guard.heads) == 3
        last = post(b'{"n":1}', line="POST /desk/e HTTP/1.1")
        assert (await ask(wire, last)).json_way == "short"


async def test_a_log_of_every_request_has_those_of_the_short_way_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk()
    async with known(desk) as (_, wire):
        with caplog.at_level(logging.DEBUG, "paddock.access"):
            assert (await ask(wire, ONE)).json_way == "common"
    assert len([record for record in caplog.records if record.name == "paddock.access"]) == 1


async def test_answers_for_pages_of_other_sites_carry_the_same_headers() -> None:
    desk = Desk()
    app = make_app(desk, origins=("http://page.example",))
    async with started(app) as server, connected(server) as wire:
        answers = [await ask(wire, ONE) for _ in range(2)]
        assert [answer.headers["vary"] for answer in answers] == ["origin", "origin"]
        assert answers[1].json_way == "short"
