"""What waits for a server, what is dropped, and what is said of it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from runtime.bridge.live.hub import Hub
from runtime.bridge.live.outlets.outlet import Away, Outlet, Refused
from runtime.bridge.live.outlets.points import Point, PointReader
from runtime.bridge.storage.records import SessionRow
from tests.bridge.live.streamkit import cue, frame
from tests.waiting import until

T0: Final = 1_700_000_000.0


@dataclass
class Server:
    """A server in this process, which takes points unless it is told to do something else."""

    name: str = "influx"
    place: str = "http://pit:8086/write"
    most: int = 4
    pause_s: float = 0.0
    taken: list[Point] = field(default_factory=list)
    trouble: Exception | None = None
    hangs: bool = False
    asked_at: list[float] = field(default_factory=list)
    closed: bool = False

    async def send(self, points: Sequence[Point]) -> None:
        self.asked_at.append(asyncio.get_running_loop().time())
        assert len(points) <= self.most
        if self.hangs:
            await asyncio.Event().wait()
        if self.trouble is not None:
            raise self.trouble
        self.taken += points

    async def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def running(
    server: Server, room: int = 1 << 20, row: SessionRow | None = None
) -> AsyncIterator[tuple[Outlet, Hub]]:
    """An outlet of 10 frames a second, and the hub that it listens to."""
    hub = Hub()
    outlet = Outlet(server, PointReader(lambda _: row, lambda _: None), 10.0, room=room)
    outlet.start(hub)
    try:
        yield outlet, hub
    finally:
        hub.close()
        await outlet.stop()
        assert hub.listeners == 0


def times(server: Server, session_id: str = "s") -> list[float]:
    return [
        round(point.ns / 1e9 - T0, 3)
        for point in server.taken
        if point.tags["session"] == session_id
    ]


@pytest.mark.parametrize(
    ("every_s", "kept"),
    [
        (0.01, [0.0, 0.1, 0.2, 0.3]),
        (0.05, [0.0, 0.1, 0.2, 0.3]),
        (0.1, [0.0, 0.1, 0.2, 0.3]),
        (0.2, [0.0, 0.2]),
    ],
)
async def test_frames_are_thinned_by_the_clock_of_their_session(
    every_s: float, kept: list[float]
) -> None:
    server = Server()
    async with running(server) as (outlet, hub):
        for at in range(round(0.36 / every_s)):
            hub.publish_frame(frame("s", T0 + at * every_s))
            hub.publish_frame(frame("other", T0 + 50 + at * every_s))
        await until(lambda: outlet.waiting == 0 and outlet.state == "up")
    assert times(server) == pytest.approx(kept, abs=0.03)
    assert times(server, "other") == pytest.approx([50 + t for t in kept], abs=0.03)


async def test_a_clock_that_is_put_back_is_followed() -> None:
    server = Server()
    async with running(server) as (outlet, hub):
        for t in (5.0, 5.1, 5.2, 0.0, 0.02, 0.1):
            hub.publish_frame(frame("s", T0 + t))
        await until(lambda: outlet.sent == 5)
    assert times(server) == [5.0, 5.1, 5.2, 0.0, 0.1]


async def test_while_the_server_is_away_the_newest_are_kept_in_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(trouble=Away("status 401: no"))
    async with running(server, room=20_000) as (outlet, hub):
        for at in range(200):
            hub.publish_frame(frame("s", T0 + at))
        hub.publish_cue(cue("Box"))
        await until(lambda: len(server.asked_at) > 5)
        assert (outlet.state, outlet.problem) == ("away", "status 401: no")
        assert outlet.sent == 0
        kept = outlet.waiting
        assert 0 < kept < 200
        assert outlet.dropped == 201 - kept
        server.trouble = None
        await until(lambda: outlet.sent == kept)
        assert (outlet.state, outlet.problem) == ("up", None)
    assert times(server)[:-1] == [float(at) for at in range(200 - kept + 1, 200)]
    assert server.taken[-1].fields["text"] == "Box"
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "influx: http://pit:8086/write accepts nothing: status 401: no; the newest points are kept",
        f"influx: http://pit:8086/write is back; points dropped in the meantime: {201 - kept}",
    ]


async def test_a_server_that_hangs_costs_no_more_than_its_room() -> None:
    server = Server(hangs=True)
    async with running(server, room=50_000) as (outlet, hub):
        hub.publish_frame(frame("s", T0))
        await until(lambda: len(server.asked_at) == 1)
        for at in range(1, 2000):
            hub.publish_frame(frame("s", T0 + at))
        assert outlet._bytes <= 50_000
        assert sum(map(len, outlet._waiting)) <= 50_000
        assert outlet.dropped == 1999 - outlet.waiting
    assert server.closed


async def test_points_that_are_refused_are_counted_and_not_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(most=1, trouble=Refused("status 400: field type conflict", 1))
    async with running(server) as (outlet, hub):
        for at in range(3):
            hub.publish_frame(frame("s", T0 + at))
        await until(lambda: outlet.refused == 3)
        assert (outlet.state, outlet.sent, outlet.waiting) == ("up", 0, 0)
        assert outlet.problem == "status 400: field type conflict"
        server.trouble = None
        hub.publish_frame(frame("s", T0 + 9))
        await until(lambda: outlet.problem is None)
    assert times(server) == [9.0]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_what_waits_at_the_end_is_sent() -> None:
    server = Server(pause_s=60.0)
    async with running(server) as (outlet, hub):
        for at in range(3):
            hub.publish_frame(frame("s", T0 + at))
        await asyncio.sleep(0)
        assert outlet.waiting == 3
    assert times(server) == [0.0, 1.0, 2.0]


async def test_a_frame_of_an_impossible_time_is_dropped_alone() -> None:
    server = Server()
    async with running(server, row=SessionRow("s", started_at=1)) as (outlet, hub):
        for t in (-1e300, T0):
            hub.publish_frame(frame("s", t))
        await until(lambda: outlet.sent + outlet.dropped == 2)
    assert times(server) == [0.0]


async def test_a_server_may_ask_to_be_left_alone() -> None:
    server = Server(trouble=Away("status 503", retry_s=0.05))
    async with running(server) as (_, hub):
        hub.publish_frame(frame("s", T0))
        await until(lambda: len(server.asked_at) > 1)
    first, second, *_ = server.asked_at
    assert second - first >= 0.05
