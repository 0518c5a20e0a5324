"""Puts sessions into a bridge over HTTP, and collects everything it says of them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.truth.circuits import Numbers

ROWS: Final = 3000
"""So many rows go into one request."""
RESOURCES: Final = (
    "laps lap_time_table lap_time_distribution stats ideal_lap sector_times corners map "
    "straight_line_speed corner_classification highlights incidents"
).split()
DEFAULT_CIRCUIT: Final = "Larkfell"


@dataclass(frozen=True)
class View:
    """A session as the bridge tells it."""

    session_id: str
    said: dict[str, Json]
    """The answers by the resource's name; `session`, `sessions` and `board` beside."""
    status: dict[str, int]
    done: dict[str, Json] = field(default_factory=dict)
    """The answer of the import, where there was one."""

    @property
    def full(self) -> Json:
        """The entry of the whole session in `/laps`."""
        return self.said["laps"]["laps"][0]

    @property
    def laps(self) -> list[Json]:
        """The entries of complete laps in `/laps`."""
        return [lap for lap in self.said["laps"]["laps"][1:] if lap["kind"] == "lap"]

    @property
    def times(self) -> list[float]:
        """Their seconds."""
        return [lap["duration_s"] for lap in self.laps]

    @property
    def is_default_circuit(self) -> bool:
        """Whether anything names the circuit that a bridge shows before it knows better."""
        return DEFAULT_CIRCUIT.lower() in json.dumps(self.said).lower()


async def send(bridge: Bridge, sid: str, columns: dict[str, Numbers], **about: str) -> None:
    """Post recorded columns as frames, and end the session."""
    rows = {
        name: [value if value == value else None for value in values.tolist()]
        for name, values in columns.items()
    }
    for begin in range(0, len(columns["timestamp"]), ROWS):
        part = {name: values[begin : begin + ROWS] for name, values in rows.items()}
        done = await bridge.ok("POST", f"/session/{sid}/frames", {**about, "columns": part})
        assert done["n_rejected"] == 0
    await bridge.ok("POST", f"/session/{sid}/end")


async def bring(bridge: Bridge, sid: str, path: Path, **about: Json) -> Json:
    """Import a file."""
    body = {"path": str(path), "session_id": sid, **about}
    return await bridge.ok("POST", "/session/import", body)


async def look(bridge: Bridge, sid: str, done: Json = None) -> View:
    """Ask for everything about a session."""
    said: dict[str, Json] = {}
    status: dict[str, int] = {}
    for name in RESOURCES:
        answer = await bridge.get(f"/session/{sid}/{name}")
        said[name], status[name] = answer.json, answer.status
    said["session"] = await bridge.ok("GET", f"/session/{sid}")
    rows = (await bridge.ok("GET", "/sessions?limit=500"))["sessions"]
    said["sessions"] = next(row for row in rows if row["session_id"] == sid)
    entries = (await bridge.ok("GET", "/leaderboard?limit=500"))["entries"]
    said["board"] = [entry for entry in entries if entry["session_id"] == sid]
    return View(sid, said, status, done or {})
