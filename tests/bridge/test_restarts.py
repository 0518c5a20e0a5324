"""What a restart does to open sessions: the bus's end with their last frames, a driver's go on."""

from pathlib import Path

import pytest

from runtime.bridge import lifespan
from runtime.bridge.api.shapes import format_iso
from runtime.bridge.storage import sessions
from runtime.bridge.storage.errors import StoreFull
from runtime.bridge.storage.records import NOTHING, Backend, SessionMeta, SessionRow
from runtime.bridge.storage.sessions import end_begun_by_bus
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.conftest import Start
from tests.bridge.simulator.drivekit import between, flushed, vesper
from tests.bridge.storage.storekit import NOON, frames, opened

CAN = SessionMeta(source="can")
SIMULATED = SessionMeta(source="simulator")
CLOCK_AHEAD = NOON + 1_000
"""Now, for a synthetic car whose clock has run ahead of the day's."""


async def ends(bridge: Bridge) -> dict[str, Json]:
    """When each session ended, by id; None: it is open."""
    found = await bridge.ok("GET", "/sessions")
    return {row["session_id"]: row["ended_at"] for row in found["sessions"]}


async def crashed(folder: Path, backend: Backend) -> None:
    """Leave a database as a bridge does that is killed: nothing has been ended."""
    store = await opened(folder / "db", backend)
    await store.append_frames("live-1", frames(300), meta=CAN, now_ms=NOON)
    await store.append_frames("sim-1", frames(20), meta=SIMULATED, now_ms=NOON)
    await store.append_frames("car-7", frames(20), meta=CAN, now_ms=NOON)
    await store.append_frames("posted", frames(20), now_ms=NOON)
    await store.start_session(NOTHING, "mine", "", NOON)
    await store.append_frames("mine", frames(20), meta=CAN, now_ms=NOON)
    await store.start_session(NOTHING, "done", "", NOON)
    await store.end_session("done", NOON + 7)
    await store.close()


async def test_after_a_crash_what_a_bus_began_has_ended_with_its_last_frame(
    start: Start, backend: Backend, tmp_path: Path
) -> None:
    await crashed(tmp_path, backend)
    async with start(db_backend=backend) as bridge:
        after = await ends(bridge)
        assert (await bridge.ok("GET", "/health"))["active_session_id"] == "mine"
        assert len(await bridge.service.db.read_frames("live-1")) == 300
    assert after == {
        "live-1": format_iso(NOON + 2_990),
        "sim-1": format_iso(NOON + 190),
        "car-7": format_iso(NOON + 190),
        "posted": None,
        "mine": None,
        "done": format_iso(NOON + 7),
    }
    async with start(db_backend=backend) as bridge:
        assert await ends(bridge) == after


async def test_a_session_that_the_settings_name_goes_on(
    start: Start, backend: Backend, tmp_path: Path
) -> None:
    await crashed(tmp_path, backend)
    for _ in range(2):
        async with start(db_backend=backend, can_session_id="car-7") as bridge:
            assert (await ends(bridge))["car-7"] is None


async def test_what_a_bus_began_ends_with_the_bridge(start: Start, backend: Backend) -> None:
    async def driven(bridge: Bridge) -> str:
        assert bridge.service.live is not None
        assert bridge.service.recorder is not None
        bridge.service.live.take_flushes(flushed(between(vesper(), 0.0, 2.0)))
        await bridge.service.recorder.wait_until_stored()
        return bridge.service.bus_session() or ""

    async with start(db_backend=backend) as bridge:
        await bridge.ok("POST", f"/session/{await driven(bridge)}/end")
        dated = await driven(bridge)
        assert (await ends(bridge))[dated] is None
        store = bridge.service.db
    row = store.session(dated)
    assert row is not None
    assert row.ended_at is not None
    async with start(db_backend=backend) as bridge:
        assert dated in await ends(bridge)
        assert await driven(bridge) == "_live"
    async with start(db_backend=backend) as bridge:
        after = await ends(bridge)
        assert "_live" not in after
        assert len(after) == 3
        assert all(after.values())


async def test_a_clock_that_ran_ahead_ends_no_session_in_the_future(
    backend: Backend, tmp_path: Path
) -> None:
    store = await opened(tmp_path / "db", backend)
    await store.append_frames("sim-1", frames(300), meta=SIMULATED, now_ms=NOON)
    ended: list[SessionRow] = await store.write(lambda tx: end_begun_by_bus(tx, (), CLOCK_AHEAD))
    await store.close()
    assert [(row.session_id, row.ended_at) for row in ended] == [("sim-1", CLOCK_AHEAD)]


async def test_a_full_disk_does_not_keep_the_bridge_from_starting(
    start: Start, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(tmp_path / "db", backend)
    await store.append_frames("_live", frames(20), meta=CAN, now_ms=NOON)
    await store.close()

    def full(*_: object) -> None:
        raise StoreFull

    monkeypatch.setattr(lifespan, "end_begun_by_bus", full)
    monkeypatch.setattr(sessions, "rename_session", full)
    async with start(db_backend=backend) as bridge:
        assert await ends(bridge) == {"_live": None}
