"""Hostile requests to both servers: refused in words; none fails, hangs or harms another."""

import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.bridge.bridgekit import bridging
from tests.bridge.bridgekit import settings_for as bridge_settings
from tests.bridge.storage.storekit import KINDS
from tests.hostile.cases import requests
from tests.hostile.sending import Outcome, Said, send_all
from tests.llm.conftest import alone
from tests.llm.engine.onnxkit import write_tiny
from tests.llm.serverkit import REPLIES, serving, write_models
from tests.llm.serverkit import settings_for as llm_settings

__all__ = ["alone"]

MOST_BYTES: Final = 256 << 20
"""A request may be 64 MiB, and this process holds what it sends, too."""


def of_bridge(error: dict[str, Any]) -> Said | None:
    """What an error of the bridge says."""
    if not isinstance(error.get("error"), str) or not isinstance(error.get("code"), str):
        return None
    return {error["code"]}, error.get("param")


def of_llm(error: dict[str, Any]) -> Said | None:
    """What an error of the language-model server says."""
    inner = error.get("error")
    if not isinstance(inner, dict) or not {"message", "type", "code"} <= set(inner):
        return None
    return {inner["type"], inner["code"]}, inner.get("param")


def place(url: str) -> tuple[str, int]:
    found = urlsplit(url)
    return str(found.hostname), int(found.port or 0)


def assert_nothing_happened(outcome: Outcome) -> None:
    assert outcome.failures == []
    assert outcome.hangs == []
    assert outcome.wrong == []
    assert outcome.lost == 0
    assert outcome.grown_bytes < MOST_BYTES
    sys.stdout.write(f"{outcome.tried} requests, {outcome.grown_bytes >> 20} MiB\n")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
async def test_no_request_harms_the_bridge(kind: str, tmp_path: Path) -> None:
    kept = 0
    async with bridging(bridge_settings(tmp_path, db_backend=kind)) as bridge:
        await bridge.ok("POST", "/coach/ask", {"question": "hello"})  # learns its examples once

        async def keep() -> None:
            nonlocal kept
            await bridge.ok("POST", "/session/kept/frame", {"timestamp": kept})
            kept += 1

        # HTTP knows no databases: its part is sent to a bridge on one of them.
        files = ["bridge.toml"] if kind != KINDS[-1] else ["http.toml", "bridge.toml"]
        sent = requests("bridge", *files)
        outcome = await send_all(place(bridge.url), sent, of_bridge, keep)
        health = await bridge.ok("GET", "/health")
        outcome.lost = kept - (await bridge.ok("GET", "/session/kept"))["n_frames"]
    assert health["db"]["problem"] is None
    assert_nothing_happened(outcome)


@pytest.mark.timeout(240)
async def test_no_request_harms_the_language_model_server(tmp_path: Path, alone: None) -> None:
    models = write_models(tmp_path / "models")
    write_tiny(models, "tiny-embed")
    write_tiny(models, "narrow", width=48)
    kept: set[str] = set()
    who = {"X-Client-Id": "kept"}
    async with serving(llm_settings(tmp_path, models)) as server:

        async def keep() -> None:
            body = {"id": f"d{len(kept)}", "text": "a lap", "model": "tiny-embed"}
            answer = await server.request("POST", "/v1/documents", json=body, headers=who)
            assert answer.status == 200, answer.body
            kept.add(body["id"])

        sent = requests("llm", "http.toml", "llm.toml")
        outcome = await send_all(place(server.url), sent, of_llm, keep)
        await server.idle()
        asked = await server.ask("recall", "<gold>")
        listed = (await server.get("/v1/documents?limit=1000", headers=who)).json["data"]
        outcome.lost = len(kept - {one["document_id"] for one in listed})
        health = (await server.get("/health")).json
    assert asked.said == REPLIES["<gold>"]
    assert (health["inflight"], health["queue_depth"]) == (0, 0)
    assert_nothing_happened(outcome)
