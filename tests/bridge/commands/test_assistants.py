"""Assistants read sessions through the protocol's own client."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

import runtime.bridge.__main__ as bridge_main
from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import Bridge
from tools.drive import drive

if TYPE_CHECKING:  # slow to import, and every process of the suite collects this module
    from mcp import Client

ROOT = Path(__file__).resolve().parents[3]
LAPS = 3
Json = Any

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driven(shared_bridge: Bridge) -> Bridge:
    """A bridge with one session of three laps."""
    about = {"session_id": "monday", "driver": "Mia", "car": "hatch", "track": OVAL.id}
    await shared_bridge.ok("POST", "/session/start", about)
    await shared_bridge.service.db.append_frames(
        "monday", drive(OVAL, LAPS, hz=10.0, seed=1).frames
    )
    await shared_bridge.ok("POST", "/session/monday/end")
    return shared_bridge


@asynccontextmanager
async def asking(address: str) -> AsyncIterator[Client]:
    from mcp import Client

    from runtime.bridge.commands.assistants import make_server

    async with Client(make_server(address)) as client:
        yield client


async def told(client: Client, tool: str, **arguments: Json) -> Json:
    """What a tool gives."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Json) -> str:
    """The sentence of a tool that cannot answer."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0])


async def test_a_session_is_found_and_read(driven: Bridge) -> None:
    async with asking(driven.url) as client:
        (one,) = (await told(client, "list_sessions", driver="mia"))["sessions"]
        assert one["session_id"] == "monday"
        whole = await told(client, "session", session="monday")
        assert whole["session"]["driver"] == "Mia"
        times = await told(client, "lap_times", session="monday")
        assert len(times["laps"]) == LAPS
        assert times["ideal_lap"]
        assert (await told(client, "leaderboard"))["entries"]
        assert "incidents" in await told(client, "incidents", session="monday")


async def test_corners_are_graded_and_laps_compared(driven: Bridge) -> None:
    async with asking(driven.url) as client:
        assert (await told(client, "corners", session="monday", lap=2))["corners"]
        await told(client, "what_to_work_on", session="monday")
        laps = ["monday:1", "monday:3"]
        compared = await told(client, "compare_laps", laps=laps, channels=["speed_kmh"], points=100)
        assert [len(lap["channels"]["speed_kmh"]) for lap in compared["laps"]] == [100, 100]


async def test_the_coach_is_asked(driven: Bridge) -> None:
    async with asking(driven.url) as client:
        answer = await told(client, "ask_coach", question="What was my best lap?", session="monday")
        assert answer["facts"]
        assert answer["answer"]


async def test_an_error_is_the_bridges_own_sentence(driven: Bridge) -> None:
    async with asking(driven.url) as client:
        assert "no such session" in await refused(client, "lap_times", session="../sessions")
        assert "laps" in await refused(client, "compare_laps", laps=["monday:1", "x"])
    async with asking("http://127.0.0.1:1") as client:
        assert "does not answer as a bridge does" in await refused(client, "list_sessions")


async def test_every_tool_only_reads_and_says_what_it_does(driven: Bridge) -> None:
    async with asking(driven.url) as client:
        tools = (await client.list_tools()).tools
    assert len(tools) == 9
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.description


async def test_an_assistant_starts_it_on_standard_input(driven: Bridge) -> None:
    from mcp import Client, StdioServerParameters

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "runtime.bridge", "mcp", "--bridge", driven.url],
        cwd=ROOT,
    )
    async with Client(command) as client:
        assert (await told(client, "list_sessions"))["sessions"]


async def test_without_the_library_the_command_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bridge_main, "find_spec", lambda name: None)
    assert bridge_main.main(["mcp"]) == 2
    assert capsys.readouterr().err == "mcp: install the extra mcp (pip install mcp)\n"
