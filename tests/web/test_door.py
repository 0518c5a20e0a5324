"""The order of the checks in front of every handler, and what leaves through the door."""

import asyncio
import logging
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from runtime.web.lifecycle import LIFECYCLE
from runtime.web.serve import Running, run_app
from tests.web.sample import make_app

KEY = "s3cret"
GOOD = {"Authorization": f"Bearer {KEY}"}
APP = "https://app.example"


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with run_app(make_app(key=KEY, origins=(APP,))) as running:
        yield running


@pytest.fixture
async def client(server: Running) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url) as session:
        yield session


ORDER = [
    ("host before key", "/v1/items", {"Host": "evil"}, b"", 403),
    ("origin before key", "/v1/items", {"Origin": "https://evil.example"}, b"", 403),
    ("key before the route's own check", "/v1/items", {"X-Full": "yes"}, b"", 401),
    ("key before body", "/v1/items", {}, b"x" * 5000, 401),
    ("own check before body cap", "/v1/items", {**GOOD, "X-Full": "yes"}, b"x" * 5000, 429),
    ("own check before encoding", "/v1/items", {**GOOD, "X-Full": "y"}, b"", 400),
    ("cap before JSON", "/v1/items", GOOD, b"x" * 5000, 413),
    ("encoding before JSON", "/v1/items", {**GOOD, "Content-Encoding": "br"}, b"x", 415),
    ("JSON before fields", "/v1/items", GOOD, b"{", 400),
    ("unknown path below /v1 asks for the key", "/v1/nothing", {}, b"", 401),
    ("the same, written otherwise", "/%761/nothing", {}, b"", 401),
    ("unknown path elsewhere does not", "/nothing", {}, b"", 404),
    ("wrong method below /v1 asks for the key", "/v1/items/x", {}, b"", 401),
    ("wrong method elsewhere does not", "/health", {}, b"", 405),
    ("trailing slash is another path", "/v1/items/", GOOD, b"", 404),
    ("good", "/v1/items", GOOD, b'{"name":"a"}', 201),
]


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"), [case[1:] for case in ORDER], ids=[c[0] for c in ORDER]
)
async def test_checks_come_in_one_order(
    client: aiohttp.ClientSession, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    async with client.post(path, headers=headers, data=body) as answer:
        assert answer.status == status
        if status != 201:
            assert set(await answer.json()) == {"error", "code"}
            assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE"])
async def test_a_wrong_method_is_told_the_right_ones(
    client: aiohttp.ClientSession, method: str
) -> None:
    async with client.request(method, "/v1/items/x", headers=GOOD) as answer:
        assert answer.status == 405
        assert answer.headers["Allow"] == "DELETE, GET, HEAD"


async def test_options_tell_the_methods_of_a_known_path_to_who_may_know(
    client: aiohttp.ClientSession,
) -> None:
    for path, headers, status, allowed in (
        ("/v1/items/x", GOOD, 204, "DELETE, GET, HEAD, OPTIONS"),
        ("/v1/items/x", {**GOOD, "Origin": APP}, 204, "DELETE, GET, HEAD, OPTIONS"),
        ("/health", {}, 204, "GET, HEAD, OPTIONS"),
        ("/v1/items/x", {}, 401, None),
        ("/v1/nothing", GOOD, 404, None),
    ):
        async with client.options(path, headers=headers) as answer:
            assert (answer.status, answer.headers.get("Allow")) == (status, allowed), path


async def test_what_breaks_inside_is_a_500_that_tells_nothing(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    async with client.get("/v1/items/broken", headers=GOOD) as answer:
        text = await answer.text()
    assert answer.status == 500
    assert "secret" not in text
    assert "RuntimeError" not in text
    assert "a secret detail" in caplog.text


async def test_requests_are_numbered(client: aiohttp.ClientSession) -> None:
    numbers = []
    for path in ("/health", "/nothing", "/v1/items"):
        async with client.get(path) as answer:
            numbers.append(int(answer.headers["X-Request-Id"]))
    assert numbers == [1, 2, 3]


async def test_no_answer_names_the_versions_of_the_software(client: aiohttp.ClientSession) -> None:
    for path in ("/health", "/nothing"):
        async with client.get(path) as answer:
            assert answer.headers["Server"] == "paddock"


async def test_a_page_of_a_listed_origin_can_read_answers_and_errors(
    client: aiohttp.ClientSession,
) -> None:
    for path, status in (("/health", 200), ("/v1/items", 401), ("/nothing", 404)):
        async with client.get(path, headers={"Origin": APP}) as answer:
            assert answer.status == status
            assert answer.headers["Access-Control-Allow-Origin"] == APP
            assert answer.headers["Vary"] == "Origin"
            assert answer.headers["Access-Control-Expose-Headers"] == "X-Total"


async def test_a_stream_carries_the_headers_too(client: aiohttp.ClientSession) -> None:
    async with client.get("/v1/ticks", headers={"Origin": APP, **GOOD}) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == APP
        assert answer.headers["X-Request-Id"] == "1"
        assert (await answer.text()).count("data: ") == 10


async def test_a_preflight_needs_no_key(client: aiohttp.ClientSession) -> None:
    sent = {
        "Origin": APP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    async with client.options("/v1/items", headers=sent) as answer:
        assert (answer.status, await answer.read()) == (204, b"")
        assert answer.headers["Access-Control-Allow-Headers"] == "authorization"
        assert answer.headers["Access-Control-Allow-Origin"] == APP


async def test_without_listed_origins_there_are_no_headers_for_pages() -> None:
    async with (
        run_app(make_app()) as server,
        aiohttp.ClientSession(server.url) as client,
        client.get("/health") as answer,
    ):
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
        assert "Vary" not in answer.headers


async def test_the_access_log_has_a_line_without_secrets(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with client.get("/health?token=abc&x=%0d%0aFORGED", headers={"User-Agent": "t"}):
        pass
    fields = [getattr(r, "fields", None) for r in caplog.records if r.name == "paddock.access"]
    assert len(fields) == 1
    assert fields[0] is not None
    assert "abc" not in fields[0]["path"]
    assert (fields[0]["status"], fields[0]["method"], fields[0]["agent"]) == (200, "GET", "t")


async def test_a_request_that_comes_all_the_time_is_logged_when_it_fails(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for headers in (GOOD, {}):
        async with client.post("/v1/bench", json={"times": 2}, headers=headers):
            pass
    fields = [getattr(r, "fields", {}) for r in caplog.records if r.name == "paddock.access"]
    assert [field["status"] for field in fields] == [401]
    caplog.set_level(logging.DEBUG)
    async with client.post("/v1/bench", json={"times": 2}, headers=GOOD):
        pass
    assert [r.levelname for r in caplog.records if r.name == "paddock.access"] == ["INFO", "DEBUG"]


async def test_a_path_that_carries_a_secret_is_logged_as_its_pattern(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with client.delete("/tokens/hunter2", headers=GOOD) as answer:
        assert answer.status == 204
    assert "/tokens/{token}" in str([getattr(r, "fields", None) for r in caplog.records])
    assert "hunter2" not in str([vars(record) for record in caplog.records])


async def test_a_draining_server_answers_503_on_open_connections(
    server: Running, client: aiohttp.ClientSession
) -> None:
    async with client.get("/health") as answer:
        assert answer.status == 200
    server.app[LIFECYCLE].drain()
    async with client.get("/health") as answer:
        assert answer.status == 503
        assert answer.headers["Retry-After"] == "5"
        assert answer.headers["Connection"] == "close"


async def test_a_client_that_leaves_cancels_its_handler() -> None:
    runs, app = asyncio.Event(), make_app()

    async def never(request: web.Request) -> web.Response:
        runs.set()
        await asyncio.Event().wait()
        return web.Response()

    app.router.add_get("/never", never)
    async with run_app(app) as server, aiohttp.ClientSession(server.url) as client:
        asked = asyncio.ensure_future(client.get("/never"))
        async with asyncio.timeout(20):
            await runs.wait()
        asked.cancel()
        await asyncio.wait({asked})
        assert await server.app[LIFECYCLE].wait_idle(20)
