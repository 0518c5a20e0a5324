"""The coach's routes on both databases: a day without a model, and with models of every kind."""

import asyncio
import json
from pathlib import Path

import pytest

from runtime.bridge.live.inbox import read_notifications
from runtime.bridge.session.recording import Frames
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.coach.modelkit import (
    LARKFELL,
    Behaviour,
    babbles,
    closed_port,
    hangs,
    laps,
    raw,
    says,
    serving,
)
from tests.bridge.conftest import Start

DRIVES = [laps(3, seed=seed) for seed in (1, 2)]
BUNDLE = (
    "scorecard highlights stats smoothness consistency friction hustle_map track_out trail_brake"
    " eob slip_band slip_oscillations change_of_speed_events incidents pedagogy fragments"
).split()


async def driven(
    bridge: Bridge, session_id: str = "s", which: int = 0, *, posted: bool = False
) -> None:
    """A session of three laps of Mia that has ended."""
    meta = {"session_id": session_id, "driver": "Mia", "track": LARKFELL.name}
    await bridge.ok("POST", "/session/start", meta)
    if posted:
        objects = frame_objects(DRIVES[which])
        for at in range(0, len(objects), 1000):
            body = {"frames": objects[at : at + 1000]}
            await bridge.ok("POST", f"/session/{session_id}/frames", body)
    else:
        await bridge.service.db.append_frames(session_id, DRIVES[which])
    await bridge.ok("POST", f"/session/{session_id}/end")


async def debriefed(bridge: Bridge, **body: Json) -> Json:
    return await bridge.ok("POST", "/coach/debrief", {"session_id": "s", **body})


async def reasons(bridge: Bridge) -> dict[str, int]:
    found = await bridge.ok("GET", "/diagnostics/llm_friction")
    return {one["reason"]: one["count"] for one in found["reasons"]}


async def test_a_whole_day_without_a_model(start: Start, backend: str) -> None:
    async with start(db_backend=backend, model_url=closed_port()) as bridge:
        fresh = await bridge.ok("GET", "/coach/brief?driver=Mia&hour_local=9&session_id=s")
        assert fresh["source"] == "template"
        assert fresh["fell_back"] is True
        assert fresh["weakest_recent_corner"] is None
        assert fresh["weather_phase"] == "morning_fog"
        await driven(bridge, posted=True)
        await driven(bridge, "t", 1, posted=True)
        told = await debriefed(bridge)
        assert told["narrative_source"] == "template"
        assert told["narrative"] == told["narrative_md"]
        assert 1 <= len(told["focus"]) <= 3
        assert all(name in told for name in BUNDLE)
        assert told["scorecard"]["corners"]
        assert told["pedagogy"][0]["lesson"]["id"]
        work = await bridge.ok("GET", "/session/s/focus")
        assert work["track"] == told["track"] == LARKFELL.name
        assert work["focus"] == told["pedagogy"]
        gains = [one["gain_s"] for one in work["focus"]]
        assert 1 <= len(gains) <= 3
        assert gains == sorted(gains, reverse=True)
        assert all(one["start_m"] < one["end_m"] for one in work["focus"])
        kept = await read_notifications(bridge.service.db, 9)
        assert ("debrief-ready", "Mia") in [(one.kind, one.driver) for one in kept]
        latest = await debriefed(bridge, session_id="t")
        profile = await bridge.ok("GET", "/driver/mia/profile")
        brief = await bridge.ok("GET", "/coach/brief?driver=MIA&hour_local=13")
        assert profile["n_recent_grade_events"] == 22
        assert brief["weakest_recent_corner"] == profile["weakest_recent_corner"] is not None
        assert latest["next_focus"] in brief["narrative_md"]
        assert profile["limit_archetype"] != "unknown"
        assert len(profile["corner_history"]["Turn 4"]) == 2
        turns = (await bridge.ok("GET", "/conversations/s"))["turns"]
        assert [one["role"] for one in turns] == ["coach_brief", "coach_debrief"]
        history = await bridge.ok("GET", "/conversations/driver/mia?limit=3")
        assert [one["role"] for one in history["history"]] == [
            "coach_brief",
            "coach_debrief",
            "coach_debrief",
        ]
        assert history["history"][0]["driver_id"] == "MIA"
        assert await reasons(bridge) == {"model_unreachable": 4}
        health = await bridge.ok("GET", "/health")
        assert health["coach"] == "rule"


async def test_the_template_says_the_same_on_both_databases(start: Start, tmp_path: Path) -> None:
    told = []
    for backend in ("analytical", "lightweight"):
        folder = tmp_path / backend
        async with start(db_backend=backend, model_url="", db=folder) as bridge:
            await driven(bridge)
            found = await debriefed(bridge)
            told.append({key: found[key] for key in found if key != "latency_ms"})
    assert told[0] == told[1]


async def test_what_a_debrief_may_answer_instead(start: Start, tmp_path: Path) -> None:
    async with start(model_url="") as bridge:
        await bridge.ok("POST", "/session/start", {"session_id": "empty"})
        cases: list[tuple[Json, tuple[int, str]]] = [
            ({}, (400, "bad_field")),
            ({"session_id": "nobody"}, (404, "unknown_session")),
            ({"session_id": "empty"}, (400, "no_frames")),
            ({"session_id": "no id"}, (400, "bad_field")),
            ({"session_id": 7}, (400, "bad_field")),
        ]
        for body, expected in cases:
            assert await bridge.refused("POST", "/coach/debrief", body) == expected
        broken = tmp_path / "broken.vbo"
        broken.write_bytes(b"nothing of the kind")
        for path, status in (("/nowhere/at/all.vbo", 400), (str(broken), 422)):
            body = {"vbo_path": path}
            assert (await bridge.refused("POST", "/coach/debrief", body))[0] == status
        for query in ("hour_local=24", "hour_local=x", "date=yesterday", "date=2026-13-01"):
            assert (await bridge.refused("GET", f"/coach/brief?{query}"))[0] == 400


async def test_a_session_without_a_lap_needs_to_be_taken_as_one(start: Start) -> None:
    half = laps(1)
    short = type(half)({name: values[:400] for name, values in half.columns.items()})
    async with start(model_url="") as bridge:
        await bridge.ok("POST", "/session/start", {"session_id": "s", "track": LARKFELL.name})
        await bridge.service.db.append_frames("s", short)
        body = {"session_id": "s"}
        refused = await bridge.refused("POST", "/coach/debrief", body)
        assert refused == (400, "no_complete_lap")
        told = await debriefed(bridge, partial=True)
        assert told["partial"] is True
        assert told["events_added"] == 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hangs, "timeout"),
        (raw(b"\xff\x00garbage"), "bad_reply"),
        (raw(b"no", 500), "bad_reply"),
        (babbles, "too_long"),
        (says(" [EMOTION: proud] "), "ungrounded"),
        (says("word " * 3000), "too_long"),
        (says("You won by 44 s at Copse. Turn 77 cost 3 bar. It was 412 km/h."), "ungrounded"),
    ],
)
async def test_whatever_the_model_does_there_is_a_debrief(
    start: Start, behaviour: Behaviour, reason: str
) -> None:
    async with (
        serving(behaviour) as server,
        start(model_url=server.url, model_timeout_s=1.0 if reason == "timeout" else 30.0) as bridge,
    ):
        await driven(bridge)
        told = await debriefed(bridge)
        assert told["narrative_source"] == "template"
        assert told["fell_back"] is True
        assert told["narrative"]
        assert await reasons(bridge) == {reason: 1}


async def test_frames_are_taken_while_the_model_hangs(start: Start) -> None:
    frame = {"timestamp": 1.0, "speed_ms": 30.0}
    async with (
        serving(hangs) as server,
        start(model_url=server.url, model_timeout_s=30.0) as bridge,
    ):
        await driven(bridge)
        asked = asyncio.create_task(debriefed(bridge))
        await server.busy.wait()
        for at in range(20):
            body = {**frame, "timestamp": 1.0 + at}
            await bridge.ok("POST", "/session/live/frame", body)
            await bridge.ok("GET", "/health")
        assert not asked.done()
        asked.cancel()
        async with asyncio.timeout(30):
            await server.gone.wait()


async def test_a_model_that_lies_is_not_repeated(start: Start, backend: str) -> None:
    lies = (
        "Great day! You won 9.9 s at Turn 3. Turn 14 was a dream. You reached 412 km/h. "
        "Keep your eyes up. Breathe out before the long straight. [EMOTION: disappointed] "
        "Copse gave you 3 seconds."
    )
    async with (
        serving(says(lies)) as server,
        start(db_backend=backend, model_url=server.url) as bridge,
    ):
        await driven(bridge)
        told = await debriefed(bridge)
        assert told["narrative_source"] == "local_model"
        assert told["emotion"] != "disappointed"
        assert told["ungrounded_dropped"] >= 4
        assert told["ungrounded_dropped"] + told["sentences_kept"] == 7
        assert "Keep your eyes up." in told["narrative"]
        for lie in ("9.9", "412", "Copse", "Turn 14", "EMOTION"):
            assert lie not in told["narrative"]
        health = await bridge.ok("GET", "/health")
        sent = json.dumps(server.seen)
        assert "lat" not in json.loads(json.dumps(told["fragments"]["telemetry"]))
        assert "46." not in sent
        assert health["coach"] == "local_model"
        assert health["status"] == "ok"


async def test_the_model_speaks_before_a_session_too(start: Start) -> None:
    text = (
        "The surface is cool damp, so build up slowly. Turn 99 is a trap. Keep your eyes up.\n"
        'FOCUS is yours. <FOCUS>["eyes up", "412 km/h", "stay patient"]</FOCUS> [EMOTION: thinking]'
    )
    async with serving(says(text)) as server, start(model_url=server.url) as bridge:
        told = await bridge.ok("GET", "/coach/brief?driver=Mia&hour_local=8")
        assert told["source"] == "local_model"
        assert told["emotion"] == "thinking"
        assert told["focus"] == ["eyes up", "stay patient"]
        assert "Turn 99" not in told["narrative"]
        assert "FOCUS>" not in told["narrative"]


async def test_a_session_is_graded_elsewhere_by_sums_alone(start: Start) -> None:
    grade = 'Sure: {"score": 140, "why": "Even laps."}'
    async with serving(says(grade)) as server:
        keys = {"grading_url": server.url, "grading_key": "secret", "grading_model": "big"}
        async with start(model_url="", **keys) as bridge:
            await driven(bridge)
            told = await bridge.ok("POST", "/score", {"session_id": "s", "focus": "exits"})
            assert told == {
                "session_id": "s",
                "score": 100,
                "why": "Even laps.",
                "model": "big",
                "focus": "exits",
            }
            sent = server.seen[0]["messages"][1]["content"]
            for secret in ("Mia", "Larkfell", "Turn", '"lat"', '"s"', "Gannet"):
                assert secret not in sent
            assert server.headers[0]["Authorization"] == "Bearer secret"


async def test_what_a_grade_may_answer_instead(start: Start) -> None:
    async with start(model_url="") as bridge:
        await driven(bridge)
        assert await bridge.refused("POST", "/score") == (400, "bad_field")
        assert (await bridge.refused("POST", "/score", {"session_id": "x"}))[0] == 404
        missing = await bridge.refused("POST", "/score", {"session_id": "s"})
        assert missing == (503, "grading_key_missing")
    for reply in ("no json", '{"score": "high", "why": "x"}', '{"score": 7}'):
        async with serving(says(reply)) as server:
            keys = {"grading_url": server.url, "grading_key": "k", "db": bridge.service.settings.db}
            async with start(model_url="", **keys) as other:
                bad = await other.refused("POST", "/score", {"session_id": "s"})
                assert bad == (502, "bad_model_reply")


async def test_habits_over_several_sessions(start: Start, backend: str) -> None:
    async with start(db_backend=backend, model_url="") as bridge:
        nothing = await bridge.ok("GET", "/insights")
        assert (nothing["insights"], nothing["sessions"]) == ([], 0)
        await driven(bridge)
        await driven(bridge, "t", 1)
        found = await bridge.ok("GET", "/insights?driver=mia")
        assert found["sessions"] == 2
        assert 1 <= len(found["insights"]) <= 3
        order = [(one["effort"], -one["est_gain_s"]) for one in found["insights"]]
        assert order == sorted(order)
        assert [one["rank"] for one in found["insights"]] == list(range(1, len(order) + 1))
        assert all(one["lesson"]["id"] for one in found["insights"])
        assert (await bridge.ok("GET", "/insights?driver=nobody"))["sessions"] == 0
        assert (await bridge.ok("GET", "/insights?lap=2"))["sessions"] == 2
        assert (await bridge.ok("GET", "/insights?lap=77"))["sessions"] == 0
        burst = {"session_id": "t", "coast_frames": 9, "frame_count": 10, "lap": 2}
        await bridge.ok("POST", "/analyze", burst)
        assert (await bridge.ok("GET", "/insights?lap=2"))["session_bursts"] == 1
        assert (await bridge.refused("GET", "/insights?lap=x"))[0] == 400


async def test_a_loss_has_one_size_whatever_was_driven_besides(start: Start, backend: str) -> None:
    async with start(db_backend=backend, model_url="") as bridge:
        await driven(bridge)
        alone = (await bridge.ok("GET", "/insights?driver=mia"))["insights"]
        focus = (await bridge.ok("GET", "/session/s/focus"))["focus"]
        corners = {name: one for one in alone for name in one["corners"]}
        for problem in focus:
            assert corners[problem["corner"]]["concept"] == problem["concept"]
            assert corners[problem["corner"]]["est_gain_s"] >= problem["gain_s"]
        for session_id, driver, track, count in (
            ("other", "Ben", LARKFELL.name, 3),
            ("elsewhere", "Mia", "Elsewhere", 3),
            ("short", "Mia", LARKFELL.name, 1),
        ):
            meta = {"session_id": session_id, "driver": driver, "track": track}
            await bridge.ok("POST", "/session/start", meta)
            frames = laps(count, seed=7)
            if track != LARKFELL.name:
                lat = frames.columns["lat"] + 1.0
                frames = Frames({**frames.columns, "lat": lat})
            await bridge.service.db.append_frames(session_id, frames)
            await bridge.ok("POST", f"/session/{session_id}/end")

        sizes = {one["id"]: one["est_gain_s"] for one in alone}
        for query in ("driver=mia&track=larkfell", "driver=mia", ""):
            found = (await bridge.ok("GET", f"/insights?{query}"))["insights"]
            here = [one for one in found if (one["driver"], one["track"]) == ("Mia", LARKFELL.name)]
            assert here
            assert {one["id"]: one["est_gain_s"] for one in here}.items() <= sizes.items()
            assert {(one["sessions"], one["looked_at"]) for one in here} == {(1, 1)}


async def test_laps_spread_by_one_figure(start: Start, backend: str) -> None:
    async with start(db_backend=backend, model_url="") as bridge:
        await driven(bridge)
        spread = (await bridge.ok("GET", "/session/s/lap_time_distribution"))["stddev_s"]
        sums = (await debriefed(bridge))["fragments"]["telemetry"]
        assert sums["lap_time_std_s"] == pytest.approx(spread, abs=0.0006)


async def test_nobody_and_nothing_have_no_conversations(bridge: Bridge) -> None:
    assert (await bridge.ok("GET", "/conversations/nothing"))["turns"] == []
    nobody = await bridge.ok("GET", "/conversations/driver/nobody?limit=999")
    assert (nobody["history"], nobody["count"]) == ([], 0)
    assert (await bridge.refused("GET", "/conversations/driver/..%2fsecret"))[0] == 404
    profile = await bridge.ok("GET", "/driver/nobody/profile")
    assert profile["weakest_recent_corner"] is None
    assert profile["limit_archetype"] == "unknown"
