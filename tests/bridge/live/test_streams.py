"""The streams over real sockets: greeting, heartbeats, slow readers, returning ones, the end."""

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from runtime.bridge.api import streams
from runtime.bridge.live.hub import MOST_LISTENERS
from runtime.bridge.live.timing import LapDone, LapSector, SectorDone, Timing
from runtime.web.lifecycle import LIFECYCLE
from tests.bridge.live.conftest import Begin
from tests.bridge.live.streamkit import Listener, Live, cue, frame, listening, parsed
from tests.waiting import until
from tests.web.raw import connected, exchange, head

PATHS = (
    "/cues/stream?session_id=s",
    "/telemetry/stream?session_id=s",
    "/notifications",
    "/stream?session_id=s",
)
SECTOR = SectorDone(1, 2, 32.5, -0.1, "own")
LAP = LapDone(1, 90.5, None, True, 90.5, (LapSector(1, 30.0, True),), None)


async def test_a_stream_greets_and_says_when_to_come_back(live: Live) -> None:
    for path in PATHS:
        async with connected(live.main) as wire:
            await wire.send(head(f"GET {path} HTTP/1.1"))
            top = (await wire.reader.readuntil(b"\r\n\r\n")).decode().lower()
            greeting = await wire.reader.readuntil(b"\n\n")
        assert top.startswith("http/1.1 200 ")
        assert "content-type: text/event-stream" in top
        assert "cache-control: no-cache" in top
        assert "x-accel-buffering: no" in top
        assert b"retry: 2000\n" in greeting
        assert b"event: hello\n" in greeting


async def test_head_tells_the_type_and_opens_nothing(live: Live) -> None:
    for path in PATHS:
        answer = await live.request("HEAD", path)
        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert live.hub.listeners == 0


WRONG = (
    "/stream",
    "/stream?session_id=s&topics=laps",
    "/stream?session_id=s&topics=",
    "/stream?session_id=s&signals=lat,",
    "/telemetry/stream?session_id=s&signals=",
    "/cues/stream",
    "/telemetry/stream",
    "/cues/stream?session_id=",
    "/cues/stream?session_id=a%2Fb",
    "/telemetry/stream?session_id=s&session_id=t",
    "/cues/stream?session_id=s&named=perhaps",
    *(f"/telemetry/stream?session_id=s&hz={hz}" for hz in ("0", "-1", "nan", "x")),
    "/notifications?driver=" + "x" * 300,
)


async def test_a_wrong_query_is_400(live: Live) -> None:
    for path in WRONG:
        assert (await live.request("HEAD", path)).status == 400, path
        assert await live.refused("GET", path) == (400, "bad_query"), path


async def test_frames_reach_whoever_listens(live: Live) -> None:
    live.hub.follow(lambda: "s")
    for topic in ("s", "_live", "*", "SIM"):
        async with listening(live, f"/telemetry/stream?session_id={topic}") as listener:
            for at in (1.0, 2.0):
                live.hub.publish_frame(frame(t=at, speed_ms=20.0))
            live.hub.publish_control("s", "end", {"replay_id": "r", "frames_emitted": 2})
            first, second, last = [await anext(listener) for _ in range(3)]
        assert (first.name, first.data["timestamp"]) == ("telemetry", 1.0)
        assert first.data["speed"] == 20.0
        assert second.id == (first.id or 0) + 1
        assert (last.name, last.data["frames_emitted"]) == ("end", 2)


async def test_one_connection_brings_all_topics_in_their_order(live: Live) -> None:
    topics = "notifications,cues,timing,telemetry"
    await live.service.inbox.post("level-up", "Mia", "Up", "")
    async with listening(live, f"/stream?session_id=s&topics={topics}") as listener:
        live.hub.publish_frame(frame(t=1.0), Timing(lap=2, lap_time_s=3.5))
        live.hub.publish_done(frame(), SECTOR)
        live.hub.publish_done(frame(), LAP)
        live.hub.publish_cue(cue("Eyes up"))
        await live.service.inbox.post("brief-ready", "Mia", "Brief", "")
        live.hub.publish_control("s", "end", {"replay_id": "r"})
        live.hub.publish_frame(frame("other"))
        live.hub.publish_silence("s", None)
        told = [await anext(listener) for _ in range(8)]
    assert live.hub.listeners == 1, "one place for one connection"
    names = [one.name for one in told]
    assert names == [
        *("notification", "telemetry", "sector", "lap", "cue", "notification", "end", "state")
    ]
    _, first, sector, lap = told[:4]
    assert (first.data["lap"], first.data["lap_time_s"], first.data["delta_s"]) == (2, 3.5, None)
    assert sector.data == {"session_id": "s", **SECTOR._asdict()}
    assert lap.data["sectors"] == [{"sector": 1, "time_s": 30.0, "is_best": True}]
    numbers = [one.id for one in told if one.name != "notification"]
    assert numbers == sorted(numbers, key=lambda number: number or 0)
    assert {one.id for one in told if one.name == "notification"} == {None}, (
        "they count by themselves"
    )


async def test_a_page_gets_what_it_asked_for_and_no_more(live: Live) -> None:
    path = "/stream?session_id=s&topics=telemetry&signals=speed_ms,delta_s,oil"
    async with listening(live, path) as listener:
        live.hub.publish_done(frame(), LAP)
        live.hub.publish_cue(cue("Eyes up"))
        live.hub.publish_frame(frame(t=1.0, speed_ms=20.0)._replace(extras={"oil": 90.0}))
        told = await anext(listener)
    wanted = {"speed_ms": 20.0, "delta_s": None, "oil": 90.0}
    assert told.data == {"timestamp": 1.0, "session_id": "s", **wanted}


async def test_a_page_that_comes_back_gets_the_laps_and_cues_it_missed(live: Live) -> None:
    path = "/stream?session_id=s"
    async with listening(live, path) as listener:
        live.hub.publish_frame(frame())
        last = (await anext(listener)).id
    live.hub.publish_done(frame(), LAP)
    live.hub.publish_frame(frame(t=2.0))
    live.hub.publish_cue(cue("Eyes up"))
    live.hub.publish_done(frame("other"), LAP)
    async with listening(live, path, {"Last-Event-ID": str(last)}) as listener:
        live.hub.publish_frame(frame(t=3.0))
        told = [await anext(listener) for _ in range(3)]
    assert [one.name for one in told] == ["lap", "cue", "telemetry"]
    assert told[2].data["timestamp"] == 3.0


async def test_a_greeting_says_whether_there_is_such_a_session(begin: Begin, backend: str) -> None:
    async with begin(db_backend=backend) as live:
        for path in ("/stream", "/telemetry/stream", "/cues/stream"):
            for name, known in (("s", False), ("SIM", False), ("*", True), ("_live", True)):
                assert await _greeting(live, f"{path}?session_id={name}") == known
        await live.ok("POST", "/session/start", {"session_id": "s"})
        for name in ("s", "SIM"):
            assert await _greeting(live, f"/stream?session_id={name}")


async def _greeting(live: Live, path: str) -> bool:
    async with live.http.get(path) as response:
        known: bool = parsed(await response.content.readuntil(b"\n\n")).data["known"]
        return known


async def test_a_spectator_follows_one_session_and_hears_no_notifications(live: Live) -> None:
    token = await live.token("s")
    async with listening(live.guest, f"/stream?session_id=s&token={token}") as listener:
        live.hub.publish_done(frame(), LAP)
        assert (await anext(listener)).name == "lap"
    for query in ("session_id=other", "session_id=s&topics=notifications"):
        refused = await live.guest.refused("GET", f"/stream?{query}&token={token}")
        assert refused == (403, "token_scope")


@pytest.mark.parametrize(("query", "name"), [("", "message"), ("&named=1", "cue")])
async def test_cues_are_unnamed_unless_asked_for(live: Live, query: str, name: str) -> None:
    async with listening(live, f"/cues/stream?session_id=*{query}") as listener:
        live.hub.publish_cue(cue("Brake later"))
        told = await anext(listener)
    assert (told.name, told.data["text"], told.id) == (name, "Brake later", told.data["id"])


async def test_a_listener_that_comes_back_goes_on_where_it_was(live: Live) -> None:
    path = "/cues/stream?session_id=s"
    async with live.http.get(path) as response:
        greeting = await response.content.readuntil(b"\n\n")
    number = greeting.split(b"id: ")[1].split(b"\n")[0].decode()
    for text in ("one", "two"):
        live.hub.publish_cue(cue(text))
    async with listening(live, path, {"Last-Event-ID": number}) as listener:
        live.hub.publish_cue(cue("three"))
        told = [await anext(listener) for _ in range(3)]
    assert [one.data["text"] for one in told] == ["one", "two", "three"]
    for wrong in ("", "x", "-1", "9" * 40, "1.5"):
        async with listening(live, path, {"Last-Event-ID": wrong}) as listener:
            live.hub.publish_cue(cue("now"))
            assert (await anext(listener)).data["text"] == "now"


async def test_notifications_wait_until_somebody_has_got_them(begin: Begin, backend: str) -> None:
    async with begin(db_backend=backend) as live:
        await live.service.inbox.post("brief-ready", "Mia", "Brief", "Read it")
        async with listening(live, "/notifications?driver=Mia") as listener:
            await live.service.inbox.post("level-up", "", "Up", "")
            first, second = await anext(listener), await anext(listener)
        assert (first.name, first.data["title"], second.data["title"]) == (
            *("notification", "Brief"),
            "Up",
        )
    async with begin(db_backend=backend) as live:
        await live.service.inbox.post("track-unlock", "", "Track", "")
        async with listening(live, "/notifications") as listener:
            assert (await anext(listener)).data["title"] == "Track"


async def test_a_quiet_stream_has_a_heartbeat(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BEAT_S", 0.02)
    monkeypatch.setattr(streams, "NOTIFICATIONS_BEAT_S", 0.02)
    for path in PATHS:
        async with listening(live, path) as listener:
            comments = [(await anext(listener)).comment for _ in range(3)]
        assert comments == ["keepalive"] * 3


async def test_there_are_places_for_so_many_and_they_become_free(live: Live) -> None:
    path = "/telemetry/stream?session_id=s"
    async with AsyncExitStack() as stack:
        for number in range(MOST_LISTENERS):
            await stack.enter_async_context(listening(live, PATHS[number % len(PATHS)]))
        for one in PATHS:
            refused = await exchange(live.main, head(f"GET {one} HTTP/1.1"))
            assert refused.status == 503
            assert json.loads(refused.body)["code"] == "too_many_listeners"
            assert "retry-after" in refused.headers
        await live.ok("GET", "/health")
    await until(lambda: not live.hub.listeners)
    async with listening(live, path):
        assert live.hub.listeners == 1


@asynccontextmanager
async def stuck(live: Live) -> AsyncIterator[None]:
    """A listener that never reads."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        await loop.sock_connect(wire, (live.main.host, live.main.port))
        await loop.sock_sendall(wire, head("GET /telemetry/stream?session_id=s HTTP/1.1"))
        yield
    finally:
        wire.close()


@pytest.mark.slow
async def test_listeners_that_never_read_slow_nobody_and_are_cut_off(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames, readers, idle = 800, 24, 8
    monkeypatch.setattr(streams, "STALL_S", 1.0)

    async def read(listener: Listener) -> int:
        got = 0
        async for message in listener:
            got += message.name == "telemetry"
            if message.name == "end":
                return got
        return got

    async with AsyncExitStack() as stack:
        for _ in range(idle):
            await stack.enter_async_context(stuck(live))
        opened = [
            await stack.enter_async_context(listening(live, "/telemetry/stream?session_id=s"))
            for _ in range(readers)
        ]
        await until(lambda: live.hub.listeners == readers + idle)
        reading = [asyncio.create_task(read(listener)) for listener in opened]
        for at in range(frames):
            live.hub.publish_frame(frame(t=at / 50, speed_ms=30.0, lat=52.1, lon=-1.2))
            await asyncio.sleep(0.002)
        live.hub.publish_control("s", "end", {})
        got = await asyncio.gather(*reading)
        await until(lambda: live.hub.listeners == readers)
    assert min(got) >= 0.99 * frames


async def test_a_slow_reader_hears_of_its_gap_and_gets_the_newest(live: Live) -> None:
    async with connected(live.main) as wire:
        await wire.send(head("GET /telemetry/stream?session_id=s HTTP/1.1"))
        await wire.reader.readuntil(b"hello")
        transport = wire.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        while live.hub.dropped < 200:
            live.hub.publish_frame(frame(t=1.0))
            await asyncio.sleep(0)
        live.hub.publish_control("s", "end", {"last": True})
        transport.resume_reading()
        rest = await wire.reader.readuntil(b'"last":true}\n\n')
    assert rest.count(b'"dropped":') >= 1


async def test_a_drain_ends_the_streams_at_once(begin: Begin) -> None:
    async with AsyncExitStack() as stack, begin() as live:
        listeners = [await stack.enter_async_context(listening(live, p)) for p in PATHS]
        token = await live.token("s")
        path = f"/telemetry/stream?session_id=s&token={token}"
        guest = await stack.enter_async_context(listening(live.guest, path))
        live.main.app[LIFECYCLE].drain()
        async with asyncio.timeout(10):
            assert [await one.ended() for one in (*listeners, guest)] == [True] * 5


async def test_a_reader_that_is_stuck_does_not_hold_up_the_end(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STALL_S", 120.0)
    life = live.main.app[LIFECYCLE]
    async with stuck(live):
        await until(lambda: live.hub.listeners == 1)
        while not live.hub.dropped:
            live.hub.publish_frame(frame())
            await asyncio.sleep(0)
        life.drain()
        assert await life.wait_idle(streams.STALL_S / 4)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
async def test_curl_sees_events_as_they_come(live: Live) -> None:
    process = await asyncio.create_subprocess_exec(
        *("curl", "-sN", f"{live.main.url}/cues/stream?session_id=s&named=1"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(20):
            await process.stdout.readuntil(b"event: hello\n")
            await process.stdout.readuntil(b"\n\n")
            live.hub.publish_cue(cue("Eyes up"))
            told = await process.stdout.readuntil(b"\n\n")
    finally:
        process.kill()
        await process.communicate()
    assert told.split(b"\n")[1] == b"event: cue"
    assert b'"text":"Eyes up"' in told
