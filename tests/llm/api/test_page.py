"""The chat page over HTTP: open without the key, complete, and there from wherever one starts."""

import re
from pathlib import Path

from pydantic import SecretStr

from runtime.llm.api.models import DEMONSTRATION
from runtime.llm.models.system.providers import BUNDLED
from tests.llm.conftest import Start
from tests.llm.serverkit import Server, managed

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
LOADED = re.compile(r'(?:src|href)="(/[^"]+)"')
IMPORTED = re.compile(r'^import .* from "\./([\w.-]+)";$', re.MULTILINE)


async def test_a_browser_gets_the_page_and_everything_that_it_loads(
    server: Server, root: Path
) -> None:
    waiting, seen = list[str](), set[str]()
    for address in ("/", "/docs"):
        page = await server.get(address, headers=BROWSER)
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        waiting += [path for path in LOADED.findall(page.body.decode()) if path.startswith("/ui/")]
    while waiting:
        path = waiting.pop()
        seen.add(Path(path).name)
        answer = await server.get(path)
        assert answer.status == 200, path
        folder = path.rpartition("/")[0]
        imported = {f"{folder}/{name}" for name in IMPORTED.findall(answer.body.decode())}
        waiting += [name for name in imported if Path(name).name not in seen]
    files = {path.name for path in (root / "runtime" / "llm" / "pages").iterdir()}
    assert seen >= (files | {"tokens.css", "base.css", "docs.js"}) - {"index.html"}


async def test_the_page_is_open_though_everything_it_reads_asks_for_the_key(start: Start) -> None:
    async with start(api_key=SecretStr("k3y")) as server:
        page = await server.get("/", headers=BROWSER)
        files = [await server.get(path) for path in LOADED.findall(page.body.decode())]
        others = [await server.get(path) for path in ("/", "/v1/models", "/v1/documents")]
    assert {answer.status for answer in (page, *files)} == {200}
    assert [answer.status for answer in others] == [401] * 3


async def test_programs_get_the_line_that_they_always_got(server: Server) -> None:
    for accept in ("*/*", "application/json", "text/plain"):
        answer = await server.get("/", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.headers["Vary"] == "Accept"
        assert "Content-Security-Policy" not in answer.headers


async def test_the_page_does_not_count_as_use(server: Server) -> None:
    before = server.service.last_activity
    await server.get("/", headers=BROWSER)
    for path in ("/health", "/v1/models", "/v1/requests"):  # what an open page asks again and again
        await server.get(path)
    assert server.service.last_activity == before


async def test_the_list_says_which_model_answers_and_which_is_a_demonstration(
    start: Start,
) -> None:
    async with start(selected_model_id="recall", sysmodel=managed(BUNDLED)) as server:
        data = (await server.get("/v1/models")).json["data"]
    assert [entry["id"] for entry in data if entry["meta"]["selected"]] == ["recall"]
    notes = {entry["id"]: entry["meta"].get("note") for entry in data}
    assert notes["sysmodel-builtin"] == DEMONSTRATION
    assert notes["recall"] is None
