"""Starts bridges inside the test's own process, and talks to them."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web

from runtime.bridge.app import make_app
from runtime.bridge.service import Service
from runtime.bridge.session.recording import TIMESTAMP, Frames
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.startup import assemble
from runtime.web.serve import run_app

ROOT: Final = Path(__file__).resolve().parents[2]
Json = Any
"""Parsed JSON, whose shape is what a test is about."""


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)


@dataclass
class Bridge:
    """A running bridge with a client of its own."""

    service: Service
    app: web.Application
    url: str
    http: aiohttp.ClientSession

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        """One request; *options* are those of aiohttp."""
        async with self.http.request(method, path, **options) as response:
            return Answer(response.status, response.headers, await response.read())

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.request("GET", path, **options)

    async def post(self, path: str, body: Json = None) -> Answer:
        return await self.request("POST", path, json={} if body is None else body)

    async def ok(self, method: str, path: str, body: Json = None) -> Json:
        """The JSON of an answer that must be 200."""
        options = {} if body is None else {"json": body}
        answer = await self.request(method, path, **options)
        assert answer.status == 200, answer.body
        return answer.json

    async def refused(self, method: str, path: str, body: Json = None) -> tuple[int, str]:
        """Status and code of an answer that is an error, in the bridge's envelope."""
        options = {} if body is None else {"json": body}
        answer = await self.request(method, path, **options)
        assert isinstance(answer.json["error"], str)
        return answer.status, answer.json["code"]


def settings_for(folder: Path, **changes: Json) -> BridgeSettings:
    """Settings for a test."""
    defaults: dict[str, Json] = {
        "port": 0,
        "db": folder / "db",
        "db_backend": "lightweight",
        "model_url": "",
    }
    return BridgeSettings.model_validate({**defaults, **changes})


@asynccontextmanager
async def bridging(settings: BridgeSettings) -> AsyncIterator[Bridge]:
    """A bridge on a free port for as long as the block runs."""
    service = assemble(settings)
    app = make_app(service)
    async with (
        run_app(app) as running,
        aiohttp.ClientSession(running.url) as http,
    ):
        yield Bridge(service, app, running.url, http)


def frame_objects(frames: Frames) -> list[dict[str, float]]:
    """Frames as a client sends them, nulls left out."""
    columns = {name: values.tolist() for name, values in frames.columns.items()}
    return [
        {name: values[at] for name, values in columns.items() if values[at] == values[at]}
        for at in range(len(columns[TIMESTAMP]))
    ]


def launch(folder: Path, backend: str) -> tuple[subprocess.Popen[bytes], str]:
    """A bridge in a process of its own, and its address."""
    flags = ["--port", "0", "--db", str(folder / "db"), "--db-backend", backend]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.bridge", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return process, f"http://127.0.0.1:{ready['port']}"
