"""The session that a bridge without any begins with."""

import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import Start
from tests.web.test_guard import until


async def stored(bridge: Bridge) -> None:
    await until(lambda: bridge.service.db.session("example") is not None)


async def test_a_new_database_begins_with_laps_to_look_at(start: Start, backend: str) -> None:
    async with start(db_backend=backend, example=True) as bridge:
        await stored(bridge)

        (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
        assert (row["session_id"], row["lap_count"], row["track_id"]) == ("example", 6, "larkfell")
        assert row["ended_at"] is not None
        table = await bridge.ok("GET", "/session/example/lap_time_table")
        assert "missing" not in table
        usual = bridge.service.active_track
        assert usual is not None
        for lap in table["laps"]:
            assert lap["lap_time_s"] == pytest.approx(table["best_lap_s"], abs=15.0)
        found = await bridge.ok("GET", "/compare?laps=example:best,example:1")
        assert found["laps"][0]["missing"] == []
        assert len(found["corners"]) == len(usual.corners)
        for channel in ("speed_kmh", "brake_bar", "steering_deg", "rpm", "oil_temp_c"):
            assert None not in found["laps"][0]["channels"][channel]
        await bridge.ok("DELETE", "/session/example")
        await bridge.ok("POST", "/session/start", {"session_id": "own"})

    async with start(db_backend=backend, example=True) as bridge:
        assert [row.session_id for row in bridge.service.db.sessions()] == ["own"]
        assert not bridge.service._background


async def test_nobody_gets_one_who_did_not_ask(start: Start) -> None:
    async with start() as bridge:
        assert bridge.service.db.sessions() == []
        assert not bridge.service._background
