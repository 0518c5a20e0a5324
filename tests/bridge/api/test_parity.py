"""The two databases give the same answers, whatever was written in whatever order."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from runtime.bridge.live.circuits import LiveCircuits
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.conftest import Start
from tests.effort import repeats
from tools.drive import drive

DATA = Path(__file__).resolve().parents[3] / "data"
SESSIONS = ("a", "b", "c")
READS = (
    "/sessions",
    "/laps",
    "/leaderboard",
    "/signals/registry",
    "/driver/mia/profile",
    *(
        f"/session/{sid}{path}"
        for sid in SESSIONS
        for path in (
            "",
            "/laps?include=partial",
            "/capabilities",
            "/signals?names=speed_ms,oil_temp_c,x1&rate_hz=5&interp=linear&t_from=0&t_to=30",
            "/signals?names=speed_ms,lat&axis=distance&rate_hz=1&step_m=7",
            "/export.parquet?table=telemetry",
            "/export.parquet?table=telemetry_signals",
            "/export.parquet?table=capabilities",
            "/export.parquet?table=signal_registry",
        )
    ),
)
CLOCK = ("started_at", "ended_at", "recorded_at", "discovered_at")


def without_clock(found: Json) -> Json:
    """The answer without the moments at which it was written."""
    if isinstance(found, dict):
        return {k: without_clock(v) for k, v in found.items() if k not in CLOCK}
    return [without_clock(one) for one in found] if isinstance(found, list) else found


def writes(seed: int, lap: list[dict[str, float]]) -> list[tuple[str, Json]]:
    """Ten requests at random, good ones and bad ones."""
    chance = random.Random(seed)
    found: list[tuple[str, Json]] = []
    for _ in range(10):
        sid = chance.choice(SESSIONS)
        at = chance.randrange(0, 300)
        match chance.randrange(8):
            case 0:
                driver = chance.choice(("Mia", "Tom", ""))
                found.append(("/session/start", {"session_id": sid, "driver": driver}))
            case 1:
                found.append((f"/session/{sid}/end", {}))
            case 2 | 3:
                found.append(
                    (f"/session/{sid}/frames", {"frames": lap[at : at + chance.randrange(1, 60)]})
                )
            case 4:
                values = {"timestamp": at / 10, "speed_ms": -0.0, "x1": chance.choice((1, None))}
                found.append((f"/session/{sid}/frame", values))
            case 5:
                name = chance.choice(("oil_temp_c", "x1", "speed_ms", "Öl"))
                samples = [[name, chance.randrange(30), chance.random()] for _ in range(5)]
                found.append((f"/session/{sid}/signals", {"signals": samples}))
            case 6:
                body = {"session_id": sid, "lap_number": chance.randrange(3)}
                found.append(("/lap", {**body, "lap_time_s": chance.choice((0, 61.5, 1e-320))}))
            case _:
                video = {"timestamp": at, "file_path": "a.mp4", "avitime_ms": at}
                found.append((f"/session/{sid}/video_frames", {"frames": [video] * 2}))
    return found


async def told(bridge: Bridge, path: str) -> tuple[int, Json]:
    answer = await bridge.get(path)
    whole = answer.body if "parquet" in path and answer.status == 200 else answer.json
    return answer.status, without_clock(whole)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_sequences_of_writes_read_the_same_from_both(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the coach learns of a circuit aside, and says then, depends on how quick a store is.
    monkeypatch.setattr(LiveCircuits, "_is_due", lambda *_: False)
    lap = frame_objects(drive(Library.read(DATA / "tracks").tracks["tarn-oval"], 1).frames)
    async with AsyncExitStack() as stack:
        both = [
            await stack.enter_async_context(start(db_backend=name, db=tmp_path / name))
            for name in ("analytical", "lightweight")
        ]
        for seed in range(repeats(20)):
            for path, body in writes(seed, lap):
                answers = await asyncio.gather(*(bridge.post(path, body) for bridge in both))
                assert answers[0].status == answers[1].status, (path, body)
                first, second = (without_clock(answer.json) for answer in answers)
                assert first == second, (path, body)
            if seed % 10 == 9:
                for path in READS:
                    first, second = await asyncio.gather(*(told(bridge, path) for bridge in both))
                    assert first == second, path
