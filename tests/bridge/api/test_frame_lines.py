"""Frames as lines of one request: stored while they arrive, told apart where one is bad."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientError

from runtime.bridge.storage.errors import StoreFull
from runtime.web.bodies import BODY_DEADLINE_S, BUDGET, FREE_BYTES, LINE_CAP, Portion
from runtime.web.lifecycle import LIFECYCLE
from tests.bridge.bridgekit import Answer, Bridge, Json
from tests.bridge.conftest import Start

NDJSON = {"Content-Type": "application/x-ndjson"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def line(t: float, **values: Json) -> bytes:
    return json.dumps({"timestamp": t, **values}).encode() + b"\n"


@pytest.fixture
def bridge(each_bridge: Bridge) -> Bridge:
    """One for all tests, each of which has a session of its own."""
    return each_bridge


async def send(bridge: Bridge, sid: str, body: bytes | AsyncIterator[bytes]) -> Answer:
    return await bridge.request("POST", f"/session/{sid}/frames", data=body, headers=NDJSON)


async def stored(bridge: Bridge, sid: str) -> list[float]:
    """The timestamps of the session's frames; none where there is no session."""
    if bridge.service.db.session(sid) is None:
        return []
    frames = await bridge.service.db.read_frames(sid)
    return [float(t) for t in frames.columns["timestamp"]]


async def until_stored(bridge: Bridge, sid: str, count: int) -> None:
    async with asyncio.timeout(20):
        while len(await stored(bridge, sid)) < count:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.01)


async def test_lines_are_counted_like_a_batch(bridge: Bridge, sid: str) -> None:
    body = [line(0, rpm=1), line(1, oil=90), b'{"rpm": 2}\n', b"7\n", line(2, note="wet"), line(3)]
    answer = await send(bridge, sid, b"".join(body))
    assert answer.status == 200, answer.body
    assert answer.json == await bridge.ok(
        "POST", f"/session/{sid}t/frames", {"frames": [json.loads(part) for part in body]}
    ) | {"session_id": sid}
    assert await stored(bridge, sid) == [0, 1, 2, 3]
    assert (await bridge.service.db.read_signals(sid, ["oil"]))["oil"].value.tolist() == [90]


async def test_a_long_stream_is_stored_whole_and_numbered_on(bridge: Bridge, sid: str) -> None:
    await bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": -1})
    answer = await send(bridge, sid, b"".join(line(n, speed_ms=20) for n in range(5000)))
    assert answer.json["n_appended"] == 5000
    assert (answer.json["first_frame_idx"], answer.json["last_frame_idx"]) == (1, 5000)
    assert await stored(bridge, sid) == list(range(-1, 5000))


async def test_line_ends_may_be_missing_doubled_or_those_of_windows(
    bridge: Bridge, sid: str
) -> None:
    for body in (
        line(0) + line(1).rstrip(),
        line(0).replace(b"\n", b"\r\n") + line(1),
        b"\n \n" + line(0) + b"\n\n" + line(1) + b"\r\n",
        b"\xef\xbb\xbf" + line(0) + line(1),
    ):
        assert (await send(bridge, sid, body)).json["n_appended"] == 2, body


async def test_frames_are_on_disk_while_the_stream_goes_on(bridge: Bridge, sid: str) -> None:
    go = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield line(0) + line(1) + b'{"timest'
        await go.wait()
        yield b'amp": 2}'

    sending = asyncio.create_task(send(bridge, sid, body()))
    await until_stored(bridge, sid, 2)
    go.set()
    assert (await sending).json["n_appended"] == 3


BAD = {
    "no JSON": b"{'timestamp': 2}",
    "NaN": b'{"timestamp": NaN}',
    "broken UTF-8": b'{"timestamp": 2, "\xff": 1}',
    "two frames": line(2).rstrip() + line(3).rstrip(),
    "half a frame": b'{"timestamp": 2',
    "NUL": b"\0",
    "nested too deep": b"[" * 100_000,
}


async def test_a_bad_line_is_named_and_what_came_before_is_stored(bridge: Bridge, sid: str) -> None:
    for name, bad in BAD.items():
        answer = await send(bridge, sid, line(0) + b"\n" + line(1) + bad + b"\n" + line(3))
        assert answer.status == 400, name
        assert answer.json == {
            "error": "line 4 is not valid JSON; 2 frames before it are stored",
            "code": "bad_line",
            "line": 4,
            "n_appended": 2,
        }
    assert await stored(bridge, sid) == [0, 1] * len(BAD)


async def test_a_stream_without_a_good_frame_is_refused(bridge: Bridge, sid: str) -> None:
    for body in (b"", b"\n\n", b'{"rpm": 1}\n', b"7\n[]\n"):
        answer = await send(bridge, sid, body)
        assert (answer.status, answer.json["code"]) == (400, "bad_batch"), body
        assert answer.json["saved"] is False
    assert bridge.service.db.session(sid) is None


async def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(
    bridge: Bridge, sid: str
) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield line(0)
        for _ in range(64):
            yield b"7" * (LINE_CAP // 8)

    answer = await send(bridge, sid, body())
    assert (answer.status, answer.json["code"], answer.json["line"]) == (413, "body_too_large", 2)
    assert answer.json["n_appended"] == 1
    assert await stored(bridge, sid) == [0]


async def test_a_stream_over_the_cap_keeps_what_was_below(
    bridge: Bridge, sid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.bridge.api.ingest.BODY_CAP", 200_000)

    async def body() -> AsyncIterator[bytes]:
        for n in range(200):
            yield b"".join(line(n + k / 100) for k in range(100))
            if n == 0:
                await until_stored(bridge, sid, 100)

    answer = await send(bridge, sid, body())
    assert (answer.status, answer.json["code"]) == (413, "body_too_large")
    count = answer.json["n_appended"]
    assert 0 < count < 20_000
    assert len(await stored(bridge, sid)) == count
    declared = await bridge.request(
        "POST", f"/session/{sid}/frames", data=b"x" * 200_001, headers=NDJSON
    )
    assert (declared.status, declared.json["n_appended"]) == (413, 0)


async def test_a_stream_may_be_slow_but_no_line_of_it(start: Start, backend: str, sid: str) -> None:
    async with start(db_backend=backend) as bridge:
        bridge.app._state[BODY_DEADLINE_S] = 0.3
        stop = asyncio.Event()

        async def body() -> AsyncIterator[bytes]:
            for n in range(8):
                yield line(n)
                await asyncio.sleep(0.1)
            while not stop.is_set():
                yield b" "
                await asyncio.sleep(0.02)

        answer = await send(bridge, sid, body())
        stop.set()
        assert (answer.status, answer.json["code"]) == (408, "timeout")
        assert (answer.json["line"], answer.json["n_appended"]) == (9, 8)
        assert await stored(bridge, sid) == list(range(8))


async def test_a_client_that_leaves_in_the_middle_loses_half_a_line_only(
    bridge: Bridge, sid: str
) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield line(0) + line(1) + line(2).rstrip()  # whole by chance, but nobody knows
        await until_stored(bridge, sid, 2)
        raise ClientError

    with pytest.raises(ClientError):
        await send(bridge, sid, body())
    assert (await bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": 9}))["frame_idx"] == 2
    assert await stored(bridge, sid) == [0, 1, 9]


async def test_a_full_disk_ends_the_stream_and_says_what_is_stored(
    start: Start, backend: str, sid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(db_backend=backend) as bridge:

        def full() -> None:
            raise StoreFull

        async def body() -> AsyncIterator[bytes]:
            yield line(0) + line(1)
            await until_stored(bridge, sid, 2)
            monkeypatch.setattr(bridge.service.db._opened.engine.writer, "commit", full)
            yield line(2) + line(3)

        answer = await send(bridge, sid, body())
        monkeypatch.undo()
        assert (answer.status, answer.json["code"]) == (503, "disk_full")
        assert (answer.headers["Retry-After"], answer.json["n_appended"]) == ("10", 2)
        assert await stored(bridge, sid) == [0, 1]


async def test_a_server_that_ends_says_what_of_the_stream_is_stored(
    start: Start, backend: str, sid: str
) -> None:
    async with start(db_backend=backend) as bridge:

        async def body() -> AsyncIterator[bytes]:
            yield line(0) + line(1) + b'{"timestamp": 2'
            await until_stored(bridge, sid, 2)
            bridge.app[LIFECYCLE].drain()
            await asyncio.Event().wait()

        answer = await asyncio.wait_for(send(bridge, sid, body()), 20)
        assert (answer.status, answer.json["code"]) == (503, "shutting_down")
        assert (answer.json["line"], answer.json["n_appended"]) == (3, 2)
        assert answer.headers["Retry-After"] == "5"
        assert await stored(bridge, sid) == [0, 1]


async def test_listeners_hear_the_frames_of_a_stream(bridge: Bridge, sid: str) -> None:
    heard = bridge.service.hub.subscribe({"telemetry": [sid]})
    await send(bridge, sid, line(1, speed_ms=30) + line(2, speed_ms=30))
    told = [await asyncio.wait_for(anext(heard), 20) for _ in range(2)]
    frames = [json.loads(event.split(b"data: ", 1)[1]) for event in told]
    assert [(frame["frame_idx"], frame["distance_m"]) for frame in frames] == [(0, 0), (1, 30)]


async def test_an_encoded_stream_and_an_impossible_id_are_refused(start: Start) -> None:
    async with start() as bridge:
        headers = {**NDJSON, "Content-Encoding": "gzip"}
        answer = await bridge.request("POST", "/session/s/frames", data=line(0), headers=headers)
        assert answer.status == 415
        answer = await bridge.request("POST", "/session/SIM/frames", data=line(0), headers=NDJSON)
        assert answer.status == 404


async def test_a_long_stream_of_lines_needs_no_more_room_than_one_line(
    bridge: Bridge, sid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, held = bridge.app[BUDGET], [0]
    add = budget.add

    def noted(portion: Portion, more: int) -> None:
        add(portion, more)
        held.append(budget.held)

    monkeypatch.setattr(budget, "add", noted)
    body = b"".join(line(n) for n in range(4000))
    answer = await bridge.request("POST", f"/session/{sid}/frames", data=body, headers=NDJSON)
    assert len(body) > FREE_BYTES
    assert (answer.status, answer.json["n_appended"]) == (200, 4000)
    assert max(held) == 0
