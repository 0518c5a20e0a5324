"""The description that the routes give of themselves."""

import json

import aiohttp
import pytest
from aiohttp import web
from openapi_spec_validator import OpenAPIV31SpecValidator

from runtime.web.openapi import Json, describe, dump
from runtime.web.routes import Routes
from runtime.web.serve import run_app
from tests.web.sample import ErrorBody, Tick, describe_sample, make_app, render


@pytest.fixture(scope="module")
def document() -> Json:
    return describe_sample()


def test_the_document_is_valid_openapi(document: Json) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_the_same_routes_give_the_same_bytes(document: Json) -> None:
    assert dump(describe_sample()) == dump(document)
    assert dump(document).endswith("}\n")


def statuses(document: Json, path: str, method: str) -> list[str]:
    return sorted(document["paths"][path][method]["responses"])


@pytest.mark.parametrize(
    ("path", "method", "expected"),
    [
        ("/health", "get", "200 400 403 500 503"),
        ("/v1/items", "get", "200 400 401 403 500 503"),
        ("/v1/items", "post", "201 400 401 403 408 413 415 429 500 503"),
        ("/v1/items/{name}", "get", "200 400 401 403 404 500 503"),
        ("/v1/items/{name}", "delete", "204 400 401 403 404 500 503"),
        ("/v1/bench", "post", "200 202 400 401 403 408 413 415 500 503"),
    ],
)
def test_every_status_that_can_come_is_written_down(
    document: Json, path: str, method: str, expected: str
) -> None:
    assert statuses(document, path, method) == expected.split()


def test_gated_routes_name_the_key_and_open_ones_do_not(document: Json) -> None:
    assert document["paths"]["/v1/items"]["get"]["security"] == [{"bearer": []}, {}]
    assert "security" not in document["paths"]["/health"]["get"]
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_only_models_that_are_used_become_components(document: Json) -> None:
    expected = ["ErrorBody", "Item", "ItemList", "NewItem", "Part", "Tick", "Times"]
    assert list(document["components"]["schemas"]) == expected


def test_a_pattern_in_a_path_is_no_part_of_its_name() -> None:
    routes = Routes("t")

    @routes.get(r"/files/{name:.+}")
    async def file(request: web.Request) -> Tick:
        """A file."""
        return Tick(n=1)

    found = describe("T", "1", [routes], error_model=ErrorBody, render=render)
    assert "/files/{name}" in found["paths"]


def test_two_handlers_of_one_name_are_refused() -> None:
    groups = [Routes("a"), Routes("b")]
    for group in groups:

        @group.get(f"/{group.tag}")
        async def same(request: web.Request) -> Tick:
            return Tick(n=1)

    with pytest.raises(ValueError, match="same"):
        describe("T", "1", groups, error_model=ErrorBody, render=render)


async def test_the_document_is_served_to_whoever_has_the_key(document: Json) -> None:
    async with run_app(make_app(key="k")) as server, aiohttp.ClientSession(server.url) as client:
        async with client.get("/openapi.json") as refused:
            assert refused.status == 401
        key = {"Authorization": "Bearer k"}
        async with client.get("/openapi.json", headers=key) as answer:
            assert answer.status == 200
            assert json.loads(await answer.read()) == document


def test_a_status_with_a_body_of_its_own_and_an_error_is_described_as_either() -> None:
    routes = Routes("things")

    @routes.post("/warm", answers={503: Tick})
    async def warm(request: web.Request) -> web.StreamResponse:
        return web.Response()

    document = describe("t", "1", [routes], error_model=ErrorBody, render=render)
    content = document["paths"]["/warm"]["post"]["responses"]["503"]["content"]
    schema = content["application/json"]["schema"]

    named = [option["$ref"].rpartition("/")[2] for option in schema["anyOf"]]
    assert named == ["Tick", "ErrorBody"]
