"""A day with the language-model server and the coach model that the project ships."""

import asyncio
import importlib.util
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bridge.bridgekit import ROOT
from tests.bridge.coach.warm.modelkit import LARKFELL, laps
from tests.bridge.conftest import Start

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed"
)
MODELS = ROOT / "data" / "models"


@pytest.fixture
async def shipped(tmp_path: Path) -> AsyncIterator[str]:
    """The address of a model server in a process of its own."""
    flags = ["--port", "0", "--models-dir", str(MODELS), "--data-dir", str(tmp_path / "llm")]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "runtime.llm", *flags),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        ready = json.loads(await process.stdout.readline())
        yield f"http://127.0.0.1:{ready['port']}/v1"
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.slow
async def test_a_day_with_the_shipped_model(start: Start, backend: str, shipped: str) -> None:
    async with start(db_backend=backend, model_url=shipped) as bridge:
        meta = {"session_id": "s", "driver": "Mia", "track": LARKFELL.name}
        await bridge.ok("POST", "/session/start", meta)
        await bridge.service.db.append_frames("s", laps(4))
        told = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        assert told["narrative_source"] == "local_model"
        assert told["sentences_kept"] >= 1
        assert told["narrative"].startswith("Good work")
        brief = await bridge.ok("GET", "/coach/brief?driver=Mia&hour_local=8")
        assert brief["source"] == "local_model"
        assert "Morning fog" in brief["narrative"]
        found = await bridge.ok("GET", "/diagnostics/llm_friction")
        assert [row["fell_back"] for row in found["rows"]] == [False, False]
        assert bridge.service.desk is not None
        assert bridge.service.desk.coach == "local_model"
        assert bridge.service.desk.state.model == "paddock-coach"
