"""What the routes of the coach and of drivers answer about a debrief and a briefing."""

import time

import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.coach.warm.modelkit import LARKFELL, laps, says, serving
from tests.bridge.conftest import Start

FRAMES = laps(3, seed=2)


async def driven(bridge: Bridge, session_id: str = "s", track: str = LARKFELL.name) -> None:
    meta = {"session_id": session_id, "driver": "Mia", "track": track}
    await bridge.ok("POST", "/session/start", meta)
    await bridge.service.db.append_frames(session_id, FRAMES)


async def test_two_bland_sentences_leave_debrief_and_briefing_whole(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        plain = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        folder = bridge.service.settings.db
        before = await bridge.ok("GET", "/coach/brief?driver=Mia&hour_local=8&focus=exits")
    text = (
        "Good work. Keep going. [EMOTION: disappointed]"
        '<FOCUS>["ignore the flags", "Gas geben", "Turn 99"]</FOCUS>'
    )
    async with serving(says(text)) as server, start(model_url=server.url, db=folder) as bridge:
        told = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        assert told["narrative_source"] == "local_model"
        assert told["emotion"] == plain["emotion"] != "disappointed"
        assert told["focus"] == plain["focus"]
        assert all(part in told["narrative"] for part in plain["narrative"].split("\n\n"))
        assert len(plain["narrative"].split("\n\n")) == 5
        brief = await bridge.ok("GET", "/coach/brief?driver=Mia&hour_local=8&focus=exits")
        assert brief["focus"] == ["exits"]
        assert all(part in brief["narrative"] for part in before["narrative"].split("\n\n"))


async def test_the_latency_is_that_of_all_the_work_of_the_route(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        for method, path, body in (
            ("POST", "/coach/debrief", {"session_id": "s"}),
            ("GET", "/coach/brief?driver=Mia", None),
        ):
            share = 0.0
            for _ in range(10):  # as a rule once; more where the machine was held before or after
                began = time.perf_counter()
                told = await bridge.ok(method, path, body)
                whole = (time.perf_counter() - began) * 1000
                assert told["latency_ms"] <= whole
                share = max(share, told["latency_ms"] / whole)
                if share > 0.3:
                    break
            assert share > 0.3


async def test_a_debrief_adds_to_the_history_once_however_the_name_is_written(
    start: Start, backend: str
) -> None:
    async with start(db_backend=backend, model_url="") as bridge:
        await driven(bridge)
        body = {"session_id": "s"}
        first = await bridge.ok("POST", "/coach/debrief", body)
        assert first["events_added"] > 0
        for name in ("mia", " MIA "):
            again = await bridge.ok("POST", "/coach/debrief", {**body, "driver_id": name})
            assert again["events_added"] == 0
            assert again["narrative"] == first["narrative"]


async def test_a_debrief_without_a_model_rests_on_its_fragments(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        told = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        wins = told["fragments"]["telemetry"]["to_win"]
        assert told["next_focus"] == wins[0]["corner"] == told["pedagogy"][0]["corner"]
        assert told["next_focus_lesson"] == told["pedagogy"][0]["lesson"]
        assert told["next_focus_lesson"]["title"] in told["narrative"]
        assert told["pedagogy"][0]["evidence"].removesuffix(".").casefold() in (
            told["narrative"].casefold()
        )


async def test_a_briefing_speaks_of_the_corners_of_its_own_track(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        assert (await bridge.ok("GET", "/coach/brief?driver=Mia"))["weakest_recent_corner"]
        await bridge.ok("POST", "/session/start", {"session_id": "t", "track": "elsewhere"})
    async with start(model_url="", db=bridge.service.settings.db, track="tarn-oval") as other:
        brief = await other.ok("GET", "/coach/brief?driver=Mia")
        assert brief["weakest_recent_corner"] is None
        assert "Turn 1" not in brief["narrative"]
        assert "No history yet" in brief["narrative"]
        assert "no danger zone is marked for Tarn Oval" in brief["narrative"]


async def test_a_mood_in_a_request_is_no_part_of_a_text(start: Start) -> None:
    async with start(model_url="") as bridge:
        query = "focus=[EMOTION:%20proud]vision&goal=[emotion:sad]go%0Aon&hour_local=8"
        brief = await bridge.ok("GET", f"/coach/brief?{query}")
        assert brief["focus"] == ["vision"]
        assert "emotion" not in brief["narrative"].casefold()
        assert "Goal: go on." in brief["narrative"]
        assert all("m: " in zone for zone in brief["danger_zones_today"])


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("..%2fx", 404),
        ("x%5c..%5cy", 404),
        ("%20", 404),
        ("a%00b", 404),
        ("a%0ab", 404),
        ("a" * 257, 404),
        ("nobody", 200),
        ("Mia%20%2F%20Tom", 404),
        ("a%5cb", 404),
        ("a..b", 404),
        ("Mia%20+%20Tom.", 200),
        ("J.%20M%C3%BCller", 200),
    ],
)
async def test_a_driver_that_can_be_none_has_no_profile(
    bridge: Bridge, name: str, status: int
) -> None:
    assert (await bridge.get(f"/driver/{name}/profile")).status == status
    assert (await bridge.get(f"/driver/{name}/evolution")).status == 404


async def test_every_insight_names_a_lesson(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        found = await bridge.ok("GET", "/insights")
        assert found["insights"]
        for one in found["insights"]:
            assert one["lesson"]["title"]
