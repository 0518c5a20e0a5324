"""A database file with a broken place, or none: what is whole is answered, and it is said."""

import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.settings import BridgeSettings
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import ROOT, Bridge, bridging, settings_for
from tests.bridge.conftest import Start
from tools.drive import drive

OVAL: Final = Library.read(ROOT / "data" / "tracks").tracks["tarn-oval"]
SESSIONS: Final = 3
PLACES: Final = 12
LISTS: Final = ("/sessions", "/leaderboard", "/driver/Mia/profile", "/insights", "/coach/brief")
EACH: Final = ("", "/laps", "/export.parquet", "/stats", "/export.parquet?table=telemetry_signals")


@pytest.fixture
async def whole(tmp_path: Path, backend: str) -> BridgeSettings:
    """Of a database with some sessions, closed in order."""
    settings = settings_for(tmp_path / "whole", db_backend=backend)
    async with bridging(settings) as bridge:
        for number in range(SESSIONS):
            name = f"s{number}"
            meta = {"session_id": name, "driver": "Mia", "track": OVAL.name}
            await bridge.ok("POST", "/session/start", meta)
            driven = drive(OVAL, 2, skill=0.7 + 0.1 * number, seed=number)
            await bridge.service.db.append_frames(name, driven.frames)
            samples = [["oil_temp_c", n / 20, 90 + n % 7] for n in range(3000)]
            await bridge.ok("POST", f"/session/{name}/signals", {"signals": samples})
            await bridge.ok("POST", "/lap", {"session_id": name, "lap_number": 1, "lap_time_s": 99})
            await bridge.ok("POST", f"/session/{name}/end")
    return settings


def overwritten(source: Path, target: Path, place: int) -> None:
    """Copy a database and put 4 kB of noise into it."""
    shutil.copy(source, target)
    data = bytearray(target.read_bytes())
    start = place * len(data) // PLACES // 4096 * 4096
    data[start : start + 4096] = random.Random(place).randbytes(4096)
    target.write_bytes(data)


async def codes(bridge: Bridge, paths: list[str]) -> set[str]:
    """Of the answers that are errors."""
    answers = [await bridge.get(path) for path in paths]
    return {answer.json["code"] for answer in answers if answer.status >= 400}


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_broken_place_costs_only_what_is_stored_there(
    whole: BridgeSettings, tmp_path: Path
) -> None:
    hit = 0
    for place in range(PLACES):
        target = tmp_path / f"db{place}"
        overwritten(whole.database, target, place)
        async with bridging(whole.model_copy(update={"db": target})) as bridge:
            assert await codes(bridge, list(LISTS)) == set()
            listed = await bridge.ok("GET", "/sessions")
            if bridge.service.db.recovered_from is not None:
                assert listed["count"] == 0
                continue
            assert listed["count"] == SESSIONS
            found = [await codes(bridge, [f"/session/s{n}{e}" for e in EACH]) for n in range(3)]
            assert set.union(*found) <= {"storage_damaged", "no_complete_lap"}
            said = (await bridge.ok("GET", "/health"))["db"]["problem"]
            if "storage_damaged" in set.union(*found):
                hit += 1
                assert "damaged" in said
            await bridge.ok("POST", "/session/new/frame", {"timestamp": 1, "speed_ms": 20})
    assert hit


async def test_a_whole_database_has_no_problem(whole: BridgeSettings) -> None:
    async with bridging(whole) as bridge:
        assert (await bridge.ok("GET", "/health"))["db"]["problem"] is None
        assert await codes(bridge, [*LISTS, *(f"/session/s0{end}" for end in EACH)]) == set()


async def test_why_there_is_no_database_is_said_with_each_refusal(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "db").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 9000)
    async with start(db_backend="lightweight") as bridge:
        health = await bridge.ok("GET", "/health")
        assert (health["analytics_db"], health["db"]["backend"]) == (False, "none")
        assert "is analytical, but BRIDGE_DB_BACKEND asks for" in health["db"]["problem"]
        for method, path in (
            *(("GET", "/sessions"), ("GET", "/session/s/stats"), ("POST", "/session/start")),
            *(("GET", "/laps"), ("GET", "/session/s/laps"), ("POST", "/coach/debrief")),
        ):
            body = {} if method == "GET" else {"json": {"session_id": "s"}}
            answer = await bridge.request(method, path, **body)
            assert (answer.status, answer.json["code"]) == (503, "no_database"), path
            assert health["db"]["problem"] in answer.json["error"]
        token = await bridge.request("POST", "/spectator/token", json={"session_id": "s"})
        assert health["db"]["problem"] in token.json["error"]
