"""Two servers behind a third one, one of which is killed in the middle of a reply."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.llm.faults.program import Program, running
from tests.llm.serverkit import CHAT, DONE, REPLIES, Events, Json, chat

Fleet = tuple[Program, dict[str, Program]]
"""The server in front, and those behind it by their address."""


@pytest.fixture
async def fleet(models: Path, tmp_path: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:

        async def enter(name: str, folder: Path, *arguments: str) -> Program:
            data = tmp_path / name
            data.mkdir()
            return await stack.enter_async_context(running(data, folder, "--compat", *arguments))

        behind = [await enter(name, models) for name in ("a", "b")]
        by_url = {f"{program.url}/v1": program for program in behind}
        front = await enter("front", tmp_path / "none", "--upstreams", ",".join(by_url))
        yield front, by_url


async def home_of(front: Program, session: str) -> str:
    """The upstream that answers in a session."""
    before = await asked(front)
    status, body = await front.ask("recall", "<red>", session_id=session)
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, REPLIES["<red>"])
    after = await asked(front)
    (url,) = [url for url in after if after[url] != before[url]]
    return url


async def asked(front: Program) -> dict[str, float]:
    """Requests that each upstream was asked to answer."""
    return await samples(front, "llmsvc_upstream_requests_total")


async def samples(front: Program, name: str) -> dict[str, float]:
    async with front.http.get("/metrics") as response:
        lines = (await response.text()).splitlines()
    found = [line.rpartition(" ") for line in lines if line.startswith(f"{name}{{")]
    return {labels.split('"')[1]: float(value) for labels, _, value in found}


async def test_a_killed_upstream_costs_its_streams_and_nothing_else(fleet: Fleet) -> None:
    front, behind = fleet
    homes: dict[str, str] = {}
    while len(homes) < 6 or set(homes.values()) != set(behind):
        assert len(homes) < 40, "all conversations belong to one of two upstreams"
        session = f"s{len(homes)}"
        homes[session] = await home_of(front, session)
    victim = next(url for url in homes.values())
    session = next(name for name, url in homes.items() if url == victim)
    (survivor,) = set(behind) - {victim}

    body: Json = chat("endless", stream=True, session_id=session)
    async with front.http.post(CHAT, json=body) as response:
        events = Events(response)
        await events.piece()
        behind[victim].signal(signal.SIGKILL)
        *_, failure, sentinel = await events.rest()
    error = json.loads(failure)["error"]
    assert (error["type"], error["code"], sentinel) == ("upstream_failed", 502, DONE)
    assert error["retry_after"] >= 1

    moved = {name: await home_of(front, name) for name in homes}
    assert set(moved.values()) == {survivor}
    health = {record["url"]: record for record in (await front.get("/health"))["upstreams"]}
    assert (health[survivor]["state"], health[survivor]["failures"]) == ("up", 0)
    assert (health[victim]["state"], health[victim]["inflight"]) == ("down", 0)
    assert await samples(front, "llmsvc_upstream_up") == {survivor: 1, victim: 0}
