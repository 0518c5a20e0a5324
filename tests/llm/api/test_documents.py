"""The document store over HTTP: adding, listing, deleting, searching, each tenant for itself."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from pydantic import SecretStr
from yarl import URL

from runtime.llm.api.models import find_embedding_model
from runtime.llm.errors import ModelNotFound
from runtime.llm.models.catalog import Entry
from tests.llm.conftest import Start
from tests.llm.engine.onnxkit import write_tiny
from tests.llm.serverkit import Answer, Json, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
TINY = "tiny-embed"
PIT = {"X-Client-Id": "pit"}
NOTES = {
    "t7": "turn right here and brake late into the corner",
    "rain": "rain on the track: slow hand and small throttle",
    "house": "the animal mother and the boy read a letter in the house",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an encoder of the store's width, another such, and a narrow one."""
    folder = tmp_path_factory.mktemp("encoders")
    write_tiny(folder, TINY)
    write_tiny(folder, "other-embed", seed=5)
    write_tiny(folder, "narrow", width=48)
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def store(shared: Server) -> AsyncIterator[Server]:
    """The server, which holds no document yet."""
    yield shared
    for tenant in await shared.service.documents.tenants():
        await shared.service.documents.delete_tenant(tenant.tenant)


async def add(server: Server, name: Json, text: Json, who: Json = None, **fields: Json) -> Answer:
    body = {"id": name, "text": text, "model": TINY, **fields}
    return await server.request("POST", "/v1/documents", json=body, headers=who or PIT)


async def find(server: Server, query: Json, who: Json = None, **fields: Json) -> Answer:
    body = {"query": query, "model": TINY, **fields}
    return await server.request("POST", "/v1/search", json=body, headers=who or PIT)


async def listed(server: Server, who: Json = None, query: str = "") -> list[str]:
    answer = await server.get(f"/v1/documents{query}", headers=who or PIT)
    assert answer.status == 200, answer.body
    return [one["document_id"] for one in answer.json["data"]]


async def fill(server: Server, who: Json = None) -> None:
    for name, text in NOTES.items():
        assert (await add(server, name, text, who, metadata={"name": name, "n": 1})).status == 200


async def test_the_title_of_a_lesson_is_embedded_with_it_and_that_of_other_documents_is_not(
    store: Server,
) -> None:
    title = "the animal mother"
    for kind in ("lesson", "note"):
        metadata = {"kind": kind, "title": title}
        assert (await add(store, kind, NOTES["t7"], metadata=metadata)).status == 200
    await add(store, "plain", NOTES["t7"])
    hits = (await find(store, title)).json["data"]
    score = {hit["document_id"]: hit["score"] for hit in hits}
    assert score["lesson"] > score["note"] + 0.1
    assert score["note"] == pytest.approx(score["plain"], abs=1e-6)
    assert {hit["text"] for hit in hits} == {NOTES["t7"]}


async def test_a_document_is_added_listed_found_replaced_and_deleted(store: Server) -> None:
    added = await add(store, " t7 ", NOTES["t7"], metadata={"track": "oval", "turn": 7})
    assert added.json == {
        "document_id": "t7",
        "chunk_count": 1,
        "model": TINY,
        "tenant_id": "pit",
        "replaced": False,
        "usage": {"prompt_tokens": added.json["usage"]["prompt_tokens"]},
    }
    assert added.json["usage"]["prompt_tokens"] >= 11

    (record,) = (await store.get("/v1/documents", headers=PIT)).json["data"]
    assert (record["document_id"], record["chunk_count"], record["model"]) == ("t7", 1, TINY)
    assert record["chars"] == len(NOTES["t7"])
    assert len(record["digest"]) == len(hashlib.sha256().hexdigest())

    found = await find(store, NOTES["t7"])
    (hit,) = found.json["data"]
    assert hit["document_id"] == "t7"
    assert hit["chunk_index"] == 0
    assert hit["text"] == NOTES["t7"]
    assert hit["metadata"] == {"track": "oval", "turn": 7}
    assert hit["score"] == pytest.approx(1.0, abs=1e-4)
    assert found.json["tenant_id"] == "pit"

    again = await add(store, "t7", "something else", metadata=None)
    assert again.json["replaced"] is True
    (hit,) = (await find(store, "turn right")).json["data"]
    assert (hit["text"], hit["metadata"]) == ("something else", None)

    gone = await store.request("DELETE", "/v1/documents/t7", headers=PIT)
    assert gone.json == {
        "document_id": "t7",
        "deleted": True,
        "chunks_removed": 1,
        "tenant_id": "pit",
    }
    assert (await find(store, "something else")).json["data"] == []
    nothing = await store.request("DELETE", "/v1/documents/t7", headers=PIT)
    assert (nothing.status, nothing.json["deleted"]) == (200, False)


async def test_the_most_similar_come_first_and_no_more_than_asked(store: Server) -> None:
    await fill(store)
    answer = await find(store, "brake late into the corner", k=2)
    scores = [hit["score"] for hit in answer.json["data"]]
    assert answer.json["data"][0]["document_id"] == "t7"
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


async def test_k_is_pulled_to_its_range(store: Server) -> None:
    for number in range(7):
        await add(store, f"d{number}", f"lap {number}")
    cases: list[tuple[dict[str, Json], int]] = [
        ({}, 5),
        ({"k": 3}, 3),
        ({"top_k": 2}, 2),
        ({"limit": 1}, 1),
        ({"k": 0}, 1),
        ({"k": -4}, 1),
        ({"k": 2.0}, 2),
        ({"k": 10**30}, 7),
        ({"k": -(10**30)}, 1),
        ({"k": None}, 5),
    ]
    for fields, count in cases:
        assert len((await find(store, "lap", **fields)).json["data"]) == count, fields


async def test_a_search_is_narrowed_by_score_documents_and_metadata(store: Server) -> None:
    await fill(store)
    everything = (await find(store, "brake into the corner")).json["data"]
    border = everything[0]["score"]
    for fields, names in [
        ({"min_score": border}, ["t7"]),
        ({"document_ids": ["rain", "unknown"]}, ["rain"]),
        ({"document_ids": []}, []),
        ({"filter": {"name": "house"}}, ["house"]),
        ({"filter": {"name": "house", "n": 2}}, []),
        ({"filter": {"n": 1}, "document_ids": ["t7"]}, ["t7"]),
        ({"filter": {"missing": None}, "document_ids": ["t7"]}, []),
        ({"filter": {"n": True}}, []),
    ]:
        found = (await find(store, "brake into the corner", **fields)).json["data"]
        assert [hit["document_id"] for hit in found] == names, fields


async def test_tenants_see_nothing_of_each_other(store: Server) -> None:
    await fill(store)
    await add(store, "t7", "the other car", {"X-Client-Id": "Garage 2"})
    assert await listed(store) == sorted(NOTES)
    assert await listed(store, {"X-Client-Id": "garage  2"}) == ["t7"]
    other = await find(store, NOTES["t7"], {"X-Client-Id": "GARAGE 2"})
    assert [hit["text"] for hit in other.json["data"]] == ["the other car"]
    await store.request("DELETE", "/v1/documents/t7", headers={"X-Client-Id": "garage 2"})
    assert await listed(store) == sorted(NOTES)


@pytest.mark.asyncio(loop_scope="function")
async def test_every_answer_names_the_tenant_errors_too(start: Start) -> None:
    key = "secret"
    async with start(api_key=SecretStr(key)) as server:
        good = {"Authorization": f"Bearer {key}"}
        who = {**good, "X-Client-Id": " Boxe  MÜNCHEN "}
        for answer in (
            await server.get("/v1/documents", headers=who),
            await server.get("/v1/tenants", headers=who),
            await add(server, "", "a", who),
            await add(server, "a", "a", who, model="nothing"),
            await find(server, "", who),
            await server.request("DELETE", "/v1/documents/x", headers=who),
            await server.request("DELETE", "/v1/tenants/x", headers=who),
            await server.request("POST", "/v1/documents", data=b"{", headers=who),
        ):
            assert answer.headers["X-Tenant-Id"] == "boxe m%C3%BCnchen"
        agent = await server.get("/v1/documents", headers={**good, "User-Agent": "Lap/2"})
        assert (agent.headers["X-Tenant-Id"], agent.json["tenant_id"]) == ("lap/2", "lap/2")
        blank = {**good, "X-Client-Id": "  ", "User-Agent": ""}
        assert (await server.get("/v1/documents", headers=blank)).json["tenant_id"] == "anonymous"
        refused = await server.get("/v1/documents", headers={"X-Client-Id": "pit"})
        assert refused.status == 401
        assert "X-Tenant-Id" not in refused.headers


@pytest.mark.asyncio(loop_scope="function")
async def test_a_text_over_its_cap_is_413(start: Start) -> None:
    async with start(max_prompt_chars=512) as server:
        over = await add(server, "a", "word " * 5121)
        assert (over.status, over.error["param"]) == (413, "text")
        assert (await add(server, "a", "word " * 5120)).status == 200
        body = await add(server, "a", "x" * 200_000)
        assert body.status == 413
        metadata = await add(server, "b", "word", metadata={"a": "x" * 70_000})
        assert (metadata.status, metadata.error["param"]) == (413, "metadata")
        long = await find(server, "x" * 513)
        assert (long.status, long.error["param"]) == (413, "query")
        assert await listed(server) == ["a"]


async def test_documents_of_another_model_are_not_found_but_deleted_with_their_id(
    store: Server,
) -> None:
    await add(store, "a", "lap", model="other-embed")
    assert (await find(store, "lap")).json["data"] == []
    assert len((await find(store, "lap", model="other-embed")).json["data"]) == 1
    await add(store, "a", "lap")
    assert (await find(store, "lap", model="other-embed")).json["data"] == []
    removed = await store.request("DELETE", "/v1/documents/a", headers=PIT)
    assert removed.json["chunks_removed"] == 1


async def test_an_id_with_any_characters_is_deleted_by_its_encoded_path(store: Server) -> None:
    for name, path in [
        ("notes/t7", "notes%2Ft7"),
        ("100%25 ok?", "100%2525%20ok%3F"),
        ("Kehre ü", "Kehre%20%C3%BC"),
        ("...", "%2E%2E%2E"),
    ]:
        assert (await add(store, name, "lap")).status == 200
        url = URL(f"{store.url}/v1/documents/{path}", encoded=True)
        async with store.http.delete(url, headers=PIT) as response:
            answer = await response.json()
        assert answer["document_id"] == name
        assert answer["deleted"] is True
        blank = URL(f"{store.url}/v1/documents/%20", encoded=True)
        async with store.http.delete(blank, headers=PIT) as response:
            assert response.status == 400


async def test_documents_are_listed_in_pages(store: Server) -> None:
    names = [f"d{number:02}" for number in range(7)]
    for name in reversed(names):
        await add(store, name, "lap")
    assert await listed(store) == names
    first = await store.get("/v1/documents?limit=3", headers=PIT)
    assert first.json["has_more"] is True
    assert [one["document_id"] for one in first.json["data"]] == names[:3]
    assert await listed(store, query="?limit=3&after=d02") == names[3:6]
    last = await store.get("/v1/documents?limit=3&after=d05", headers=PIT)
    assert (last.json["has_more"], len(last.json["data"])) == (False, 1)
    for wrong in ("?limit=0", "?limit=1001", "?limit=x"):
        assert (await store.get(f"/v1/documents{wrong}", headers=PIT)).status == 400


async def test_a_long_text_becomes_chunks_that_all_are_found(store: Server) -> None:
    paragraphs = [f"lap {number} " + "on the track " * 20 for number in range(6)]
    answer = await add(store, "long", "\n\n".join(paragraphs), metadata=[1, {"a": None}])
    count = answer.json["chunk_count"]
    assert count >= 6
    found = (await find(store, "lap on the track", k=50)).json["data"]
    assert sorted(hit["chunk_index"] for hit in found) == list(range(count))
    assert all(hit["metadata"] == [1, {"a": None}] for hit in found)


async def test_tenants_are_listed_and_deleted(store: Server) -> None:
    await fill(store)
    await add(store, "a", "lap", {"X-Client-Id": "Garage 2"})
    tenants = (await store.get("/v1/tenants", headers=PIT)).json
    assert tenants == {
        "object": "list",
        "data": [
            {"tenant_id": "garage 2", "document_count": 1, "chunk_count": 1},
            {"tenant_id": "pit", "document_count": 3, "chunk_count": 3},
        ],
    }
    gone = await store.request("DELETE", "/v1/tenants/PIT", headers={"X-Client-Id": "x"})
    assert gone.json == {"tenant_id": "pit", "deleted": True, "chunks_removed": 3}
    again = await store.request("DELETE", "/v1/tenants/pit")
    assert (again.status, again.json["deleted"]) == (200, False)
    assert await listed(store) == []
    assert len((await store.get("/v1/tenants")).json["data"]) == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_other_tenants_need_a_key_where_the_setting_says_so(
    start: Start, tmp_path: Path
) -> None:
    async with start(tenant_admin="key") as server:
        await fill(server)
        other = {"X-Client-Id": "other"}
        assert (await server.get("/v1/tenants", headers=other)).json["data"] == []
        refused = await server.request("DELETE", "/v1/tenants/pit", headers=other)
        assert (refused.status, refused.error["type"]) == (403, "permission_error")
        own = await server.request("DELETE", "/v1/tenants/pit", headers=PIT)
        assert own.json["chunks_removed"] == 3
    key = {"Authorization": "Bearer k"}
    folder = tmp_path / "with-key"
    async with start(tenant_admin="key", api_key=SecretStr("k"), data_dir=folder) as server:
        await fill(server, {**key, **PIT})
        removed = await server.request("DELETE", "/v1/tenants/pit", headers=key)
        assert removed.json["chunks_removed"] == 3


@pytest.mark.asyncio(loop_scope="function")
async def test_a_limit_of_chunks_is_413_and_stores_nothing(start: Start) -> None:
    async with start(max_chunks=2) as server:
        await add(server, "a", "lap")
        await add(server, "b", "lap")
        over = await add(server, "c", "lap")
        assert over.status == 413
        assert await listed(server) == ["a", "b"]
        assert (await add(server, "b", "another lap")).status == 200


async def test_what_is_answered_is_the_json_that_was_sent(store: Server) -> None:
    metadata = {"big": 2**70, "float": 1.5, "text": "ü\u2028", "deep": {"a": [None, True]}}
    raw = json.dumps({"id": "a", "text": "lap", "model": TINY, "metadata": metadata})
    added = await store.request("POST", "/v1/documents", data=raw.encode(), headers=PIT)
    assert added.status == 200
    (hit,) = (await find(store, "lap")).json["data"]
    assert hit["metadata"] == metadata


async def test_a_model_that_was_found_is_not_looked_for_again_at_once(
    store: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, looks = store.service, list[str]()
    find_on_disk = service.catalog.find

    def find(model: str) -> Entry | None:
        looks.append(model)
        return find_on_disk(model)

    monkeypatch.setattr(service.catalog, "find", find)
    monkeypatch.setattr("runtime.llm.api.models.FRESH_S", 3600.0)
    service.recent.clear()
    for _ in range(3):
        assert (await find_embedding_model(service, TINY)).id == TINY
        with pytest.raises(ModelNotFound):
            await find_embedding_model(service, "no-such-model")

    assert looks.count(TINY) == 1
    assert looks.count("no-such-model") == 3

    monkeypatch.setattr("runtime.llm.api.models.FRESH_S", 0.0)
    service.recent.clear()
    for _ in range(2):
        await find_embedding_model(service, TINY)
    assert looks.count(TINY) == 3
