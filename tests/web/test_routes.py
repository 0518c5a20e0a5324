"""What a handler's signature does to a request."""

import json
import threading
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Annotated, Any

import aiohttp
import pytest
from aiohttp import web
from multidict import MultiDict
from pydantic import AfterValidator, Field

from runtime.web.door import error_response
from runtime.web.errors import BadField, BadJson, BadQuery, NotFound
from runtime.web.routes import Routes, json_response, mount, parse_body, parse_path, parse_query
from runtime.web.serve import Running, run_app
from runtime.web.wire import Plain, Wire
from tests.web.sample import make_app


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Inner(Wire):
    depth_mm: float


class Body(Wire):
    name: str
    count: int = 1
    ratio: float = 1.0
    flag: bool = False
    side: Side = Side.LEFT
    pair: Annotated[int, AfterValidator(even)] = 2
    inner: list[Inner] = Field(default_factory=list)
    extra: dict[str, int] = Field(default_factory=dict)


class Query(Wire):
    limit: int = Field(5, ge=1)
    on: bool = False
    from_: float = Field(0.0, alias="from")


GOOD_BODIES: list[tuple[bytes, dict[str, object]]] = [
    (b'{"name":"a"}', {"name": "a"}),
    (b' \n{"name":"a"}\n', {"name": "a"}),
    (b'{"name":"a","unknown":{"x":[1]}}', {"name": "a"}),
    (b'{"name":"a","name":"b"}', {"name": "b"}),
    (b'{"name":"a","ratio":2}', {"ratio": 2.0}),
    (b'{"name":"a","count":3.0,"pair":4.0}', {"count": 3, "pair": 4}),
    (b'{"name":"a","inner":[{"depth_mm":1}],"extra":{"b":2.0}}', {"extra": {"b": 2}}),
    (b'{"name":"a","side":"right"}', {"side": Side.RIGHT}),
    (b'{"name":"\\ud83d\\ude00"}', {"name": "\U0001f600"}),
]


@pytest.mark.parametrize(("raw", "expected"), GOOD_BODIES)
def test_a_good_body_becomes_a_model(raw: bytes, expected: dict[str, object]) -> None:
    found = parse_body(Body, raw)
    assert {name: getattr(found, name) for name in expected} == expected


NO_JSON = [
    b"x",
    b"{",
    b'{"name":"a"}x',
    b"{'name':1}",
    b'{"name":NaN}',
    b'{"name":"a","z":Infinity}',
    b'{"name":"a","z":1e999}',
    b'{"name":"\\ud800"}',
    b'{"name":"a","z":"\\udc00"}',
    b'{"name":"\xff"}',
    b'\xef\xbb\xbf{"name":"a"}',
    b'{"z":' + b"[" * 3000,
    b"[]",
    b"null",
    b'"name"',
    b"3",
    b" ",
    b"\x00",
]


@pytest.mark.parametrize("raw", NO_JSON)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(BadJson):
        parse_body(Body, raw)


@pytest.mark.parametrize(
    ("raw", "param", "words"),
    [
        (b"", "name", "field required"),
        (b"{}", "name", "field required"),
        (b'{"name":null}', "name", "valid string"),
        (b'{"name":7}', "name", "valid string"),
        (b'{"name":"a","count":"1"}', "count", "valid integer"),
        (b'{"name":"a","count":true}', "count", "valid integer"),
        (b'{"name":"a","count":1.5}', "count", "valid integer"),
        (b'{"name":"a","count":"1","pair":2.0}', "count", "valid integer"),
        (b'{"name":"a","count":2.0,"pair":3}', "pair", "must be even"),
        (b'{"name":"a","count":1e30}', "count", "valid integer"),
        (b'{"name":"a","count":-1e30}', "count", "valid integer"),
        (b'{"name":"a","count":99999999999999999999}', "count", "valid integer"),
        (b'{"name":"a","count":18446744073709551616}', "count", "valid integer"),
        (b'{"name":"a","extra":{"b":1e300}}', "extra", "valid integer"),
        (b'{"name":"a","flag":1}', "flag", "valid boolean"),
        (b'{"name":"a","ratio":"1"}', "ratio", "valid number"),
        (b'{"name":"a","side":"up"}', "side", "'left' or 'right'"),
        (b'{"name":"a","pair":3}', "pair", "must be even"),
        (b'{"name":"a","inner":[{"depth_mm":1},{}]}', "inner.1.depth_mm", "field required"),
        (b'{"name":"a","inner":{}}', "inner", "valid array"),
        (b'{"name":1,"count":"x"}', "name", "valid string"),
    ],
)
def test_the_first_wrong_field_is_named(raw: bytes, param: str, words: str) -> None:
    with pytest.raises(BadField) as found:
        parse_body(Body, raw)
    assert found.value.param == param
    assert found.value.message.startswith(f"{param}: ")
    assert words in found.value.message


def test_names_that_the_client_made_up_are_not_repeated() -> None:
    with pytest.raises(BadField) as found:
        parse_body(Body, b'{"name":"a","extra":{"<script>":"x","hunter2":"y"}}')
    assert found.value.param == "extra"
    assert "script" not in found.value.message
    assert "hunter2" not in found.value.message


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], (5, False, 0.0)),
        ([("limit", "7"), ("on", "yes"), ("from", "1.5")], (7, True, 1.5)),
        ([("on", "FALSE"), ("other", "1"), ("other", "2")], (5, False, 0.0)),
    ],
)
def test_a_query_becomes_a_model(
    pairs: list[tuple[str, str]], expected: tuple[int, bool, float]
) -> None:
    found = parse_query(Query, MultiDict(pairs))
    assert (found.limit, found.on, found.from_) == expected


@pytest.mark.parametrize(
    ("pairs", "param"),
    [
        ([("limit", "0")], "limit"),
        ([("limit", "")], "limit"),
        ([("limit", "1.5")], "limit"),
        ([("limit", "1"), ("limit", "1")], "limit"),
        ([("on", "perhaps")], "on"),
        ([("from", "nan")], "from"),
        ([("from", "1e999")], "from"),
    ],
)
def test_a_wrong_or_repeated_parameter_is_named(pairs: list[tuple[str, str]], param: str) -> None:
    with pytest.raises(BadQuery) as found:
        parse_query(Query, MultiDict(pairs))
    assert found.value.param == param


def test_an_id_that_cannot_exist_is_not_found() -> None:
    with pytest.raises(NotFound):
        parse_path(Inner, {"depth_mm": "deep"})


def test_a_field_can_leave_itself_out_of_an_answer() -> None:
    class Some(Wire):
        a: int | None = None
        b: int | None = Field(None, exclude_if=lambda value: value is None)

    assert json_response(Some()).body == b'{"a":null}'


def test_a_handler_with_an_input_of_unknown_kind_is_refused_at_once() -> None:
    routes = Routes("t")
    with pytest.raises(TypeError, match="cookie must be path, query or body"):

        @routes.get("/")
        async def handler(request: web.Request, *, cookie: Body) -> Body:
            return cookie


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with run_app(make_app()) as running:
        yield running


async def test_a_lenient_route_takes_no_json_for_no_fields(server: Running) -> None:
    for raw, status in [
        (b"", 200),
        (b"{}", 200),
        (b"{", 200),
        (b"[1]", 200),
        (b'{"times":"3"}', 400),
        (b'{"times":9}', 400),
        (b"x" * 70_000, 413),
    ]:
        async with (
            aiohttp.ClientSession(server.url) as client,
            client.post("/v1/bench", data=raw) as answer,
        ):
            assert answer.status == status


async def test_impossible_ids_are_a_404(server: Running) -> None:
    for name in ["UP", "a" * 40, "%00", "..%2f..%2fetc", "a%0d%0ab", "%ff", "é", "a b"]:
        async with (
            aiohttp.ClientSession(server.url) as client,
            client.get(f"/v1/items/{name}") as answer,
        ):
            assert answer.status == 404


async def test_headers_and_status_of_a_reply_arrive(server: Running) -> None:
    async with aiohttp.ClientSession(server.url) as client:
        async with client.get("/v1/items?limit=1") as answer:
            assert answer.headers["X-Total"] == "100"
            assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        async with client.delete("/v1/items/a") as answer:
            assert (answer.status, await answer.read()) == (204, b"")


async def test_head_of_a_stream_ends_at_once(server: Running) -> None:
    async with aiohttp.ClientSession(server.url) as client, client.head("/wait") as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/event-stream"


class Batch(Plain):
    values: Any = None
    name: str | None = None


def test_a_large_body_keeps_what_was_parsed_and_its_texts_are_checked() -> None:
    batch = parse_body(Batch, b'{"values":[1,{"a":2.5},null],"name":"x","more":1}')
    assert (batch.values, batch.name) == ([1, {"a": 2.5}, None], "x")
    with pytest.raises(BadField) as found:
        parse_body(Batch, b'{"values":[],"name":7}')
    assert found.value.param == "name"


async def test_a_large_body_is_parsed_off_the_event_loop() -> None:
    parsed_on: list[int] = []

    def noted(value: object) -> object:
        parsed_on.append(threading.get_ident())
        return value

    class Noted(Plain):
        values: Annotated[Any, AfterValidator(noted)] = None

    routes = Routes("test")

    @routes.post("/big", body_cap=1 << 20)
    async def big(request: web.Request, *, body: Noted) -> Body:
        return Body(name=str(len(body.values)))

    app = make_app()
    mount(app, routes)
    async with run_app(app) as running, aiohttp.ClientSession() as client:
        for count in (1, 400_000):
            async with client.post(f"{running.url}/big", json={"values": "a" * count}) as answer:
                assert (await answer.json())["name"] == str(count)
    assert parsed_on[0] == threading.get_ident() != parsed_on[1]


@pytest.mark.parametrize("value", [10**30, "half \ud800"])
def test_an_error_is_written_whatever_it_holds(value: object) -> None:
    response = error_response(lambda error: {"error": value}, BadField("wrong"))
    assert isinstance(response.body, bytes)
    assert json.loads(response.body) == {"error": value}
