"""Names that no path can carry, filters with null, numbers without end, and a full disk told."""

import pytest
from yarl import URL

from tests.llm.api.test_documents import add, listed, models, store
from tests.llm.serverkit import Server

__all__ = ["models", "store"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("name", [".", "..", " . "])
async def test_an_id_that_clients_take_for_a_folder_is_refused(store: Server, name: str) -> None:
    answer = await add(store, name, "lap")

    assert (answer.status, answer.error["param"]) == (400, "id")
    assert await listed(store) == []


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_tenant_that_clients_take_for_a_folder_stores_nothing(
    store: Server, name: str
) -> None:
    answer = await add(store, "a", "lap", {"X-Client-Id": name})

    assert answer.status == 400
    assert "X-Client-Id" in answer.error["message"]
    assert (await store.get("/v1/tenants")).json["data"] == []


@pytest.mark.parametrize("path", ["/v1/documents/%ff", "/v1/tenants/%FF", "/v1/documents/a%c3"])
async def test_a_path_that_is_no_text_deletes_nothing_of_another_name(
    store: Server, path: str
) -> None:
    who = {"X-Client-Id": "%ff"}
    for name in ("%ff", "%FF", "a%c3", "a%C3"):
        assert (await add(store, name, "lap", who)).status == 200

    url = URL(f"{store.url}{path}", encoded=True)
    async with store.http.delete(url, headers=who) as response:
        assert response.status == 400

    assert len(await listed(store, who)) == 4


async def test_health_and_metrics_tell_of_a_full_disk_until_a_document_is_stored(
    store: Server,
) -> None:
    async def limit(pages: int) -> None:
        async with store.service.documents.database.exclusive() as writer:
            await writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchall())

    async def told() -> tuple[bool, float, float]:
        health, metrics = await store.get("/health"), await store.metrics()
        return (
            health.json["documents"]["disk_full"],
            metrics["llmsvc_document_disk_full"],
            metrics["llmsvc_document_disk_full_total"],
        )

    await limit(1)
    before = await told()
    refused = await add(store, "a", "lap " * 2000)
    during = await told()
    await limit(1 << 30)
    stored = await add(store, "a", "lap " * 2000)

    assert (refused.status, refused.error["type"]) == (503, "disk_full")
    assert stored.status == 200
    assert (before, during, await told()) == ((False, 0, 0), (True, 1, 1), (False, 0, 1))


async def test_the_time_a_server_is_up_does_not_depend_on_the_clock_on_the_wall(
    store: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)

    assert 0 <= (await store.get("/health")).json["uptime_s"] < 3600
