"""Analytics are computed once for each state of a session, and nobody can tell."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from runtime.bridge.session.recording import Samples, VideoFrame
from tests.bridge.api.test_analysis_laps import DRIVEN, filled
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import Start

LIVE = ("sync", "map", "friction_circle", "incidents", "highlights", "clips")


@pytest.fixture(params=["lightweight", "analytical"])
async def driven(start: Start, request: pytest.FixtureRequest) -> AsyncIterator[Bridge]:
    async with start(db_backend=request.param) as running:
        yield await filled(running)


async def test_an_answer_is_as_new_as_the_session(driven: Bridge) -> None:
    before = {name: (await driven.get(f"/session/s/{name}")).body for name in LIVE}
    for name in LIVE:
        assert (await driven.get(f"/session/s/{name}")).body == before[name]

    await driven.service.db.append_video("s", [VideoFrame(12.0, None, "late.mp4", 0.0)])
    assert b"late.mp4" in (await driven.get("/session/s/sync")).body
    braking = Samples(30.0 + np.arange(20) / 10, np.ones(20))
    await driven.service.db.append_signals("s", {"abs_active": braking})
    kinds = {one["kind"] for one in (await driven.ok("GET", "/session/s/incidents"))["incidents"]}
    assert "abs_active" in kinds
    assert (await driven.get("/session/s/highlights")).body != before["highlights"]


async def test_each_question_has_its_own_answer(driven: Bridge) -> None:
    questions = [
        "sync",
        "sync?limit=3",
        "sync?limit=3&matched_only=true",
        "sync?from=20&to=21",
        "sync?window_s=0.01&limit=3",
        "friction_circle?samples=3",
        "friction_circle?samples=3&lap=1",
        "map",
        "map?lap=1",
    ]
    answers = [(await driven.get(f"/session/s/{one}")).body for one in questions * 2]
    assert answers[: len(questions)] == answers[len(questions) :]
    assert len(set(answers)) == len(questions)
    await driven.ok("POST", "/session/start", {"session_id": "t", "track": "oval"})
    await driven.service.db.append_frames("t", DRIVEN.frames)
    assert (await driven.ok("GET", "/session/t/sync?limit=3"))["session_id"] == "t"
    assert (await driven.ok("GET", "/session/t/sync?limit=3"))["rows"][0]["matched"] is False
    assert (await driven.refused("GET", "/session/s/sync?limit=0"))[0] == 400
    assert (await driven.refused("GET", "/session/s/map?lap=9"))[0] == 404
