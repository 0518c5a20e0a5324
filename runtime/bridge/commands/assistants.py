"""The command ``mcp``: tools with which any assistant reads sessions of a running bridge.

It speaks the Model Context Protocol on standard input and output, and asks the bridge over HTTP
like any other client. Nothing that it offers changes anything.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from runtime.bridge.commands.sessions import CannotMake, request_text
from runtime.bridge.settings import PROGRAM

ADDRESS: Final = "http://127.0.0.1:8765"
ANSWER_S: Final = 120.0
"""A question to the coach may wait for a language model."""
INSTRUCTIONS: Final = """Telemetry sessions of a car: laps, corners, losses, coaching.

Begin with list_sessions. Times are seconds, distances metres from the line, speeds as their names
say. Null means that it was not recorded: say so rather than guess. what_to_work_on names the
corners worth most, with the lesson that teaches each remedy."""

SessionId = Annotated[str, Field(description="id of a session, from list_sessions")]
LapNumber = Annotated[int | None, Field(description="a complete lap; absent: all of them")]
Json = dict[str, Any]


class Asking:
    """Asks one bridge."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def get(self, path: str, **query: object) -> Json:
        """A JSON object; raises `ToolError` with the bridge's own sentence."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self._ask(f"{path}?{urlencode(given)}" if given else path)

    async def post(self, path: str, body: Json) -> Json:
        """The same of a POST."""
        return await self._ask(path, {name: value for name, value in body.items() if value})

    async def of_session(self, session: str, path: str, **query: object) -> Json:
        """Something of one session."""
        return await self.get(f"/session/{quote(session, safe='')}{path}", **query)

    async def _ask(self, path: str, body: Json | None = None) -> Json:
        try:
            text = await asyncio.to_thread(request_text, self._address, path, body, ANSWER_S)
            found = json.loads(text)
        except (CannotMake, ValueError) as problem:
            raise ToolError(str(problem)) from None
        if not isinstance(found, dict):
            raise ToolError("the bridge gave no answer that can be read")
        return found


def make_server(address: str) -> MCPServer:
    """The tools, which ask the bridge at *address*."""
    server: MCPServer = MCPServer("paddock-bridge", instructions=INSTRUCTIONS)
    bridge = Asking(address)
    reading = server.tool(annotations=ToolAnnotations(read_only_hint=True))

    @reading
    async def list_sessions(
        driver: str | None = None, track: str | None = None, limit: int = 20
    ) -> Json:
        """List recorded sessions, newest first, with driver, car, track and best lap."""
        return await bridge.get("/sessions", driver=driver, track=track, limit=limit)

    @reading
    async def session(session: SessionId) -> Json:
        """Show a session: who drove what where, its laps, and the coach's last notes."""
        return await bridge.of_session(session, "")

    @reading
    async def lap_times(session: SessionId) -> Json:
        """List the complete laps with sector times, gaps to the best lap, and the ideal lap."""
        table = await bridge.of_session(session, "/lap_time_table")
        return table | {"ideal_lap": await bridge.of_session(session, "/ideal_lap")}

    @reading
    async def corners(session: SessionId, lap: LapNumber = None) -> Json:
        """Grade each corner from A to F and say how much time was lost there and how."""
        return await bridge.of_session(session, "/scorecard", lap=lap)

    @reading
    async def what_to_work_on(session: SessionId) -> Json:
        """Name the corners worth most time: what was done, what to do, and the lesson."""
        return await bridge.of_session(session, "/focus")

    @reading
    async def compare_laps(
        laps: Annotated[
            list[str], Field(min_length=2, max_length=6, description="as monday:3, session and lap")
        ],
        channels: Annotated[
            list[str] | None, Field(description="as speed_kmh, brake_bar; absent: all recorded")
        ] = None,
        points: Annotated[int, Field(ge=100, le=2000, description="places along the lap")] = 100,
    ) -> Json:
        """Lay laps of any sessions of one circuit over each other, place by place."""
        named = ",".join(channels) if channels else None
        return await bridge.get("/compare", laps=",".join(laps), channels=named, points=points)

    @reading
    async def incidents(session: SessionId) -> Json:
        """List spins, slides, locked wheels and excursions, with lap and place."""
        return await bridge.of_session(session, "/incidents")

    @reading
    async def leaderboard(track: str | None = None, limit: int = 10) -> Json:
        """Rank the best laps of all sessions."""
        return await bridge.get("/leaderboard", track=track, limit=limit)

    @reading
    async def ask_coach(question: str, session: SessionId, driver: str | None = None) -> Json:
        """Ask the coach in English, German, French or Spanish; its answer names its facts."""
        body = {"question": question, "session_id": session, "driver_id": driver}
        return await bridge.post("/coach/ask", body)

    return server


def main(argv: Sequence[str]) -> int:
    """Serve until the assistant closes the input."""
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} mcp",
        description="Let an assistant read sessions (Model Context Protocol on standard input).",
    )
    parser.add_argument("--bridge", default=ADDRESS, metavar="URL", help=f"default: {ADDRESS}")
    make_server(parser.parse_args(argv).bridge).run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
