"""Replay over HTTP on both databases: every frame once, in order, at its time; begin and end."""

import asyncio
import math
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
import pytest_asyncio

from runtime.bridge.live import replay as replaying
from runtime.bridge.session.recording import WIDE
from tests.bridge.bridgekit import Bridge
from tests.bridge.live.replaykit import Stage, frames_at
from tests.bridge.storage.storekit import samples

pytestmark = pytest.mark.asyncio(loop_scope="module")
START, STOP, STATUS = "/session/replay/start", "/session/replay/stop", "/session/replay/status"
PAUSE, SEEK = "/session/replay/pause", "/session/replay/seek"
TIMES = [100.0, 100.1, 100.2, 100.2, 100.5, 200.5, 200.6]
DUE = [0.0, 0.1, 0.2, 0.2, 0.5, 5.5, 5.6]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bridge(each_bridge: Bridge) -> Bridge:
    """A bridge with a recorded session."""
    extras = {
        "water_temp_c": samples((100.05, 80.0), (100.2, 81.0), (150.0, 82.0)),
        "gear_position": samples((0.0, 2.0), (200.55, 3.0)),
        "unheard": samples((999.0, 1.0)),
    }
    await each_bridge.service.db.append_frames("ride", frames_at(TIMES), extras)
    return each_bridge


@pytest_asyncio.fixture(loop_scope="module")
async def stage(bridge: Bridge) -> AsyncIterator[Stage]:
    """A replay on a clock of the test's own."""
    staged = Stage(bridge.service)
    bridge.service.replays = staged.replays
    yield staged
    await staged.replays.close()


async def test_every_frame_goes_out_once_in_order_at_its_time(bridge: Bridge, stage: Stage) -> None:
    begun = await bridge.ok("POST", START, {"source_session_id": "ride", "speed": 2})
    await stage.end()

    assert begun["replay_id"].startswith("replay-")
    assert len(begun["replay_id"]) == len("replay-") + 8
    assert begun == {
        "replay_id": begun["replay_id"],
        "source_session_id": "ride",
        "total_frames": 7,
        "est_duration_s": 2.8,
        "speed": 2.0,
        "loop": False,
    }
    assert [at - 1000.0 for at, _ in stage.sent] == pytest.approx([due / 2 for due in DUE])
    frames = [frame for _, frame in stage.sent]
    assert [frame.frame_idx for frame in frames] == list(range(7))
    assert [frame.t for frame in frames] == TIMES
    assert {frame.session_id for frame in frames} == {"ride"}
    assert {frame.source for frame in frames} == {"replay"}
    assert {frame.replay_id for frame in frames} == {begun["replay_id"]}
    assert set(frames[0].wide) == set(WIDE)
    assert frames[3].number("speed_ms") == 3.0
    assert math.isnan(frames[3].wide["g_lat"])


async def test_further_signals_hold_their_last_value(bridge: Bridge, stage: Stage) -> None:
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()

    extras = [dict(frame.extras) for _, frame in stage.sent]
    assert extras[0] == {"gear_position": 2.0}
    assert extras[1] == {"gear_position": 2.0, "water_temp_c": 80.0}
    assert [extra["water_temp_c"] for extra in extras[2:]] == [81.0, 81.0, 81.0, 82.0, 82.0]
    assert extras[-1]["gear_position"] == 3.0


async def test_windows_leave_no_seam(
    bridge: Bridge, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()
    whole = [frame._replace(replay_id=None) for _, frame in stage.sent]
    stage.sent.clear()

    monkeypatch.setattr(replaying, "FEWEST_FRAMES", 2)
    monkeypatch.setattr(replaying, "CELLS", 2)
    stage.bus.clear()
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()

    cut = [frame._replace(replay_id=None) for _, frame in stage.sent]
    assert repr(cut) == repr(whole)  # NaN is not equal to itself


async def test_a_start_is_answered_once_the_first_frame_can_go_out(
    bridge: Bridge, stage: Stage
) -> None:
    reading = stage.hold_reading(bridge.service.db)
    starting = asyncio.create_task(bridge.ok("POST", START, {"source_session_id": "ride"}))
    async with asyncio.timeout(10):
        await reading.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not starting.done()
    assert stage.bus == []  # the bus is read on until then
    stage.go_on()
    await starting
    await stage.end()
    assert len(stage.sent) == 7


async def test_the_end_is_told_and_the_bus_is_read_again(bridge: Bridge, stage: Stage) -> None:
    begun = await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()

    (told,) = stage.told
    payload = {"replay_id": begun["replay_id"], "frames_emitted": 7}
    assert told == ("ride", "end", payload)
    assert stage.bus == ["off", "on"]
    assert await bridge.ok("GET", STATUS) == {"running": False}
    assert await bridge.ok("POST", STOP) == {"stopped": False, "frames_emitted": 0}


async def test_the_status_tells_how_far_it_is(bridge: Bridge, stage: Stage) -> None:
    assert await bridge.ok("GET", STATUS) == {"running": False}

    stage.until = 1000.3
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.wait_for(4)

    status = await bridge.ok("GET", STATUS)
    assert status == {
        "running": True,
        "source_session_id": "ride",
        "speed": 1.0,
        "loop": False,
        "paused": False,
        "t_s": 0.2,
        "duration_s": 5.6,
        "frame_idx": 3,
        "total_frames": 7,
        "elapsed_s": 0.2,
        "est_remaining_s": 5.4,
        "frames_emitted": 4,
    }
    assert await bridge.ok("POST", STOP) == {"stopped": True, "frames_emitted": 4}
    assert await bridge.ok("GET", STATUS) == {"running": False}
    assert stage.bus == ["off", "on"]
    assert len(stage.sent) == 4


async def test_a_paused_replay_sends_nothing_and_goes_on_where_it_stood(
    bridge: Bridge, stage: Stage
) -> None:
    stage.until = 1000.3
    await bridge.ok("POST", START, {"source_session_id": "ride", "speed": 0.5})
    await stage.wait_for(2)

    held = await bridge.ok("POST", PAUSE, {"paused": True})
    stage.now = 1060.0
    assert await bridge.ok("POST", PAUSE, {"paused": True}) == {**held, "elapsed_s": 60.0}
    assert (held["paused"], held["t_s"], held["est_remaining_s"]) == (True, 0.1, 11.0)
    assert len(stage.sent) == 2
    assert stage.bus == ["off"]

    stage.until = math.inf
    assert (await bridge.ok("POST", PAUSE, {"paused": False}))["paused"] is False
    await stage.end()
    assert [frame.frame_idx for _, frame in stage.sent] == list(range(7))
    due = [1060.0 + (moment - DUE[2]) / 0.5 for moment in DUE[2:]]
    assert [at for at, _ in stage.sent[2:]] == pytest.approx(due)
    assert [told.event for told in stage.told] == ["state"] * 3 + ["end"]
    assert [told.payload.get("paused") for told in stage.told[:3]] == [True, True, False]


@pytest.mark.parametrize(
    ("where", "first"),
    [({"t_s": 0.3}, 4), ({"t_s": 0.0}, 0), ({"frame_idx": 5}, 5), ({"t_s": 1e9}, 6)],
)
async def test_a_replay_goes_on_from_where_it_is_moved_to(
    bridge: Bridge, stage: Stage, where: dict[str, float], first: int
) -> None:
    stage.until = 1000.15
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.wait_for(2)

    stage.until = math.inf
    await bridge.ok("POST", SEEK, where)
    await stage.end()
    assert [frame.frame_idx for _, frame in stage.sent] == [0, 1, *range(first, 7)]
    times = [at for at, _ in stage.sent[2:]]
    assert times == pytest.approx([stage.sent[2].at + due - DUE[first] for due in DUE[first:]])


async def test_a_paused_replay_that_is_moved_shows_one_frame(bridge: Bridge, stage: Stage) -> None:
    stage.until = 1000.0
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.wait_for(1)
    await bridge.ok("POST", PAUSE)
    for at in (5, 2):
        status = await bridge.ok("POST", SEEK, {"frame_idx": at})
        assert (status["paused"], status["frame_idx"]) == (True, at)
    assert [frame.frame_idx for _, frame in stage.sent] == [0, 5, 2]
    assert await bridge.ok("POST", STOP) == {"stopped": True, "frames_emitted": 3}
    assert stage.bus == ["off", "on"]


async def test_what_cannot_be_paused_or_moved_is_refused(bridge: Bridge, stage: Stage) -> None:
    assert await bridge.refused("POST", PAUSE) == (409, "no_replay")
    assert await bridge.refused("POST", SEEK, {"t_s": 1}) == (409, "no_replay")
    stage.until = 1000.0
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    for body in ({}, {"t_s": -1}, {"t_s": 1, "frame_idx": 1}, {"frame_idx": 1.5}):
        assert await bridge.refused("POST", SEEK, body) == (400, "bad_field"), body
    assert await bridge.refused("POST", PAUSE, {"paused": 1}) == (400, "bad_field")


async def test_a_loop_begins_again_one_period_after_the_end(bridge: Bridge, stage: Stage) -> None:
    stage.until = 1000.0 + 2 * 5.7 + 0.3
    await bridge.ok("POST", START, {"source_session_id": "ride", "loop": True})
    await stage.wait_for(18)

    assert [frame.frame_idx for _, frame in stage.sent] == [*range(7), *range(7), *range(4)]
    assert stage.sent[7].at - stage.sent[6].at == pytest.approx(0.1)
    assert [told.event for told in stage.told] == ["loop", "loop"]
    assert stage.told[1].payload["frames_emitted"] == 14
    assert stage.sent[7].frame.t == TIMES[0]
    status = await bridge.ok("GET", STATUS)
    assert (status["frame_idx"], status["frames_emitted"]) == (3, 18)
    assert status["est_remaining_s"] == pytest.approx(5.4)
    assert await bridge.ok("POST", STOP) == {"stopped": True, "frames_emitted": 18}


async def test_one_replay_at_a_time(bridge: Bridge, stage: Stage) -> None:
    stage.until = 1000.0
    await bridge.ok("POST", START, {"source_session_id": "ride"})

    refused = await bridge.post(START, {"source_session_id": "nothing"})

    assert (refused.status, refused.json["code"]) == (409, "replay_running")
    assert refused.json["source_session_id"] == "ride"
    assert (await bridge.ok("GET", STATUS))["running"] is True
    await bridge.ok("POST", STOP)
    stage.until = math.inf
    stage.bus.clear()
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()
    assert [frame.frame_idx for _, frame in stage.sent][-7:] == list(range(7))


async def test_a_body_that_is_wrong_is_400(bridge: Bridge, stage: Stage) -> None:
    for body in (
        {},
        {"source_session_id": ""},
        {"source_session_id": None},
        {"source_session_id": 7},
        {"source_session_id": "ride", "speed": 0.05},
        {"source_session_id": "ride", "speed": 101},
        {"source_session_id": "ride", "speed": "2"},
        {"source_session_id": "ride", "loop": 1},
    ):
        assert await bridge.refused("POST", START, body) == (400, "bad_field"), body
    assert stage.bus == []


async def test_a_source_without_frames_is_404_and_the_bus_is_left_alone(
    bridge: Bridge, stage: Stage
) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "empty"})

    for name, code in (
        ("nothing", "unknown_session"),
        ("a/b", "unknown_session"),
        ("empty", "no_rows"),
    ):
        assert await bridge.refused("POST", START, {"source_session_id": name}) == (404, code)
    assert stage.bus == []


async def test_without_a_database_it_is_503_after_the_body(bridge: Bridge, stage: Stage) -> None:
    store, bridge.service.store = bridge.service.store, None
    try:
        wanted = {"source_session_id": "ride"}
        assert await bridge.refused("POST", START, wanted) == (503, "no_database")
        assert await bridge.refused("POST", START, {}) == (400, "bad_field")
        assert await bridge.ok("GET", STATUS) == {"running": False}
    finally:
        bridge.service.store = store


async def test_a_bus_that_does_not_stop_leaves_everything_as_it_was(
    bridge: Bridge, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails() -> None:
        raise OSError("the adapter does not answer")

    monkeypatch.setattr(stage.replays, "_before", fails)

    wanted = {"source_session_id": "ride"}
    assert await bridge.refused("POST", START, wanted) == (503, "replay_unavailable")
    assert await bridge.ok("GET", STATUS) == {"running": False}
    assert stage.bus == ["on"]


async def test_a_replay_that_breaks_off_is_over(
    bridge: Bridge, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(stage.replays, "_publish", fails)
    await bridge.ok("POST", START, {"source_session_id": "ride"})
    await stage.end()

    assert stage.told[0].payload["failed"] is True
    assert stage.sent == []
    assert await bridge.ok("GET", STATUS) == {"running": False}


async def test_a_stop_right_after_the_start_gives_the_bus_back(
    bridge: Bridge, stage: Stage
) -> None:
    for _ in range(20):
        await stage.replays.start("ride")
        ended = await stage.replays.stop()
        assert ended.stopped
    assert stage.bus == ["off", "on"] * 20
    assert [told.event for told in stage.told] == ["end"] * 20


async def test_the_end_of_the_bridge_ends_the_replay_and_leaves_the_bus(
    bridge: Bridge, stage: Stage
) -> None:
    stage.until = 1000.0
    await bridge.ok("POST", START, {"source_session_id": "ride", "loop": True})
    await stage.wait_for(1)

    await stage.replays.close()

    assert stage.bus == ["off"]
    wanted = {"source_session_id": "ride"}
    assert await bridge.refused("POST", START, wanted) == (503, "replay_unavailable")


async def test_many_frames_that_are_late_let_others_have_their_turn(
    bridge: Bridge, stage: Stage
) -> None:
    await bridge.service.db.append_frames("burst", frames_at([5.0] * 500))
    sleeps: list[int] = []
    inner = stage.replays._sleep

    async def counted(seconds: float) -> None:
        sleeps.append(len(stage.sent))
        await inner(seconds)

    stage.replays._sleep = counted
    await bridge.ok("POST", START, {"source_session_id": "burst"})
    await stage.end()

    assert len(stage.sent) == 500
    assert max(b - a for a, b in pairwise([0, *sleeps, 500])) <= 32
