"""The command ``mcp``: tools with which any assistant reads the sessions of a running bridge.

It speaks the Model Context Protocol on standard input and output, and queries the bridge over HTTP
like any other client. All of its tools are read-only.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from paddock.client import ADDRESS, Bridge
from runtime.bridge.commands.sessions import CannotMake, connect
from runtime.bridge.settings import PROGRAM

ANSWER_S: Final = 120.0
"""A question to the coach may wait for a language model."""
INSTRUCTIONS: Final = """Telemetry sessions of a car: laps, corners, losses, coaching.

Start with list_sessions. Times are in seconds, distances in metres from the line, speeds in the
unit of their names. Null means not recorded: say so instead of guessing. what_to_work_on names the
corners with the most time to gain, each with the lesson that teaches the remedy."""

SessionId = Annotated[str, Field(description="id of a session, from list_sessions")]
LapNumber = Annotated[int | None, Field(description="a complete lap; absent: all of them")]
Json = dict[str, Any]


def make_server(address: str) -> MCPServer:
    """Make the server with its tools, which query the bridge at *address*."""
    server: MCPServer = MCPServer("paddock-bridge", instructions=INSTRUCTIONS)
    reading = server.tool(annotations=ToolAnnotations(read_only_hint=True))

    async def ask(question: Callable[[Bridge], Json]) -> Json:
        """Ask the bridge. Raises `ToolError` with its error message."""

        def answer() -> Json:
            with connect(address, ANSWER_S) as bridge:
                return question(bridge)

        try:
            return await asyncio.to_thread(answer)
        except CannotMake as problem:
            raise ToolError(str(problem)) from None

    async def read_session(session: str, path: str, **query: object) -> Json:
        return await ask(lambda bridge: bridge.session(session).get(path, **query))

    @reading
    async def list_sessions(
        driver: str | None = None, track: str | None = None, limit: int = 20
    ) -> Json:
        """List recorded sessions, newest first, with driver, car, track and best lap."""
        about = {"driver": driver, "track": track, "limit": limit}
        return await ask(lambda bridge: bridge.get("/sessions", **about))

    @reading
    async def session(session: SessionId) -> Json:
        """Show a session: driver, car, circuit, laps, and the coach's last notes."""
        return await read_session(session, "")

    @reading
    async def lap_times(session: SessionId) -> Json:
        """List the complete laps with sector times, gaps to the best lap, and the ideal lap."""
        table = await read_session(session, "/lap_time_table")
        return table | {"ideal_lap": await read_session(session, "/ideal_lap")}

    @reading
    async def corners(session: SessionId, lap: LapNumber = None) -> Json:
        """Grade each corner from A to F, with the time lost there and the causes."""
        return await read_session(session, "/scorecard", lap=lap)

    @reading
    async def what_to_work_on(session: SessionId) -> Json:
        """Name the corners with the most time to gain: evidence, advice, and the lesson."""
        return await read_session(session, "/focus")

    @reading
    async def compare_laps(
        laps: Annotated[
            list[str],
            Field(min_length=2, max_length=6, description="session and lap, for example monday:3"),
        ],
        channels: Annotated[
            list[str] | None, Field(description="such as speed_kmh, brake_bar; absent: all")
        ] = None,
        points: Annotated[int, Field(ge=100, le=2000, description="points along the lap")] = 100,
    ) -> Json:
        """Compare laps of any sessions on one circuit, point by point."""
        names = ",".join(channels) if channels else None
        query = {"laps": ",".join(laps), "channels": names, "points": points}
        return await ask(lambda bridge: bridge.get("/compare", **query))

    @reading
    async def incidents(session: SessionId) -> Json:
        """List spins, slides, locked wheels and excursions, with lap and position."""
        return await read_session(session, "/incidents")

    @reading
    async def leaderboard(track: str | None = None, limit: int = 10) -> Json:
        """Rank the best laps of all sessions."""
        return await ask(lambda bridge: bridge.get("/leaderboard", track=track, limit=limit))

    @reading
    async def ask_coach(question: str, session: SessionId, driver: str | None = None) -> Json:
        """Ask the coach in English, German, French or Spanish; the answer includes its facts."""
        return await ask(
            lambda bridge: bridge.ask(
                question, session=session, driver=driver or "", timeout_s=ANSWER_S
            )
        )

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
