"""What analytics keep as it is sent: how much, for how long, and that nobody can tell."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from runtime.bridge.analyses import Scope, Written, _Key
from runtime.bridge.session.recording import Samples, VideoFrame
from tests.bridge.api.test_analysis_laps import DRIVEN, filled
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import Start

LIVE = ("sync", "map", "friction_circle", "incidents", "highlights", "clips")


def key(version: int = 1, session_id: str = "s") -> _Key:
    return _Key(session_id, version, Scope())


@pytest.fixture(params=["lightweight", "analytical"])
async def driven(start: Start, request: pytest.FixtureRequest) -> AsyncIterator[Bridge]:
    async with start(db_backend=request.param) as running:
        yield await filled(running)


def test_what_was_asked_for_longest_ago_makes_room() -> None:
    written = Written(most=100, longest=50)
    for name in "abc":
        written.put(key(), name, name.encode() * 30)
    assert written.get(key(), "a") == b"a" * 30
    written.put(key(), "d", b"d" * 30)
    assert [written.get(key(), name) is not None for name in "abcd"] == [True, False, True, True]
    assert written.size == 90


def test_what_is_too_long_is_not_kept_and_pushes_nothing_out() -> None:
    written = Written(most=100, longest=50)
    written.put(key(), "a", b"a" * 50)
    written.put(key(), "b", b"b" * 51)
    assert (written.get(key(), "a"), written.get(key(), "b")) == (b"a" * 50, None)
    written.put(key(), "a", b"A" * 51)
    assert (written.get(key(), "a"), written.size) == (None, 0)


def test_a_newer_version_takes_the_place_of_those_before() -> None:
    written = Written()
    for name in "ab":
        written.put(key(1), name, b"old")
    written.put(key(5, "other"), "a", b"other")
    written.put(key(2), "a", b"new")
    assert written.get(key(1), "b") is None
    assert (written.get(key(2), "a"), written.get(key(5, "other"), "a")) == (b"new", b"other")
    assert written.size == 8


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
