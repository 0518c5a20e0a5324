"""What the bridge's OpenAPI document says, against the standard and against what is answered."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.live.streamkit import Listener, cue
from tests.waiting import until
from tools.drive import drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
REPLAYED: Final = {"hello", "telemetry", "state", "loop", "end"}
STREAMS: Final = {
    "/stream?session_id=*&topics=cues,telemetry,timing,notifications": {
        *REPLAYED,
        *("cue", "lap", "sector", "notification"),
    },
    "/stream?session_id=*&topics=telemetry&signals=speed_ms": REPLAYED,
    "/telemetry/stream?session_id=*": REPLAYED,
    "/telemetry/stream?session_id=*&signals=speed_ms": REPLAYED,
    "/cues/stream?session_id=*": {"hello", "message", "state"},
    "/notifications": {"hello", "notification"},
}
"""With the names of the events that each brings."""
NEEDED: Final[tuple[tuple[str, Json, bool], ...]] = (
    ("/session/{sid}/frame", {}, False),
    ("/session/{sid}/frame", {"speed_ms": 3}, False),
    ("/session/{sid}/frame", {"timestamp": None, "t": 3}, True),
    ("/session/{sid}/frames", {}, False),
    ("/session/{sid}/frames", {"driver": "Mia"}, False),
    ("/session/{sid}/frames", {"frames": [{"time": 1}], "columns": {"t": [1]}}, False),
    ("/session/{sid}/frames", {"columns": {"t": [4]}}, True),
    ("/session/{sid}/frames", {"frames": [{"timestamp": 5, "note": "dry"}]}, True),
    ("/session/{sid}/signals", {}, False),
    ("/session/{sid}/signals", {"signals": [["oil_temp_c", 1, 90]]}, True),
    ("/session/import", {}, False),
    ("/session/import/preview", {"driver": "Mia"}, False),
    ("/session/replay/seek", {}, False),
    ("/session/replay/seek", {"t_s": 1, "frame_idx": 1}, False),
    ("/coach/debrief", {"language": "en"}, False),
    ("/session/start", {}, True),
    ("/session/reset", {}, True),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(each_bridge: Bridge) -> AsyncIterator[Json]:
    yield await each_bridge.ok("GET", "/openapi.json")


def validator(document: Json, schema: Json) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": document["components"]})


async def test_the_document_is_valid_openapi(document: Json) -> None:
    OpenAPIV31SpecValidator(document).validate()


@pytest.mark.parametrize(("path", "body", "fits"), NEEDED)
async def test_a_body_that_lacks_what_is_needed_is_no_body_of_the_document(
    each_bridge: Bridge, document: Json, path: str, body: Json, fits: bool
) -> None:
    described = document["paths"][path]["post"]["requestBody"]
    schema = described["content"]["application/json"]["schema"]
    assert validator(document, schema).is_valid(body) is fits
    assert described["required"] is not validator(document, schema).is_valid({})
    answer = await each_bridge.post(path.replace("{sid}", "needed"), body)
    assert answer.status == (200 if fits else 400), answer.body


async def test_every_event_of_a_stream_is_described(
    each_bridge: Bridge, document: Json, sid: str
) -> None:
    await each_bridge.ok("POST", "/session/start", {"session_id": sid, "track": OVAL.name})
    await each_bridge.service.db.append_frames(sid, drive(OVAL, 2, hz=10).frames)
    heard: dict[str, dict[str, list[Json]]] = {path: {} for path in STREAMS}
    listeners = [
        asyncio.create_task(listen(each_bridge, path, said)) for path, said in heard.items()
    ]
    await until(lambda: all(heard.values()))
    begun = {"source_session_id": sid, "speed": 100, "loop": True}
    await each_bridge.ok("POST", "/session/replay/start", begun)
    for paused in (True, False):
        await each_bridge.ok("POST", "/session/replay/pause", {"paused": paused})
    each_bridge.service.hub.publish_cue(cue("Brake later.", sid))
    each_bridge.service.hub.publish_silence(sid, "nowhere")
    await each_bridge.ok("POST", f"/session/{sid}/end")
    await until(lambda: all(STREAMS[path] <= {*said, "end"} for path, said in heard.items()))
    await each_bridge.ok("POST", "/session/replay/stop")
    await until(lambda: all(STREAMS[path] <= said.keys() for path, said in heard.items()))
    for listener in listeners:
        listener.cancel()
    await asyncio.wait(listeners)

    for path, said in heard.items():
        answer = document["paths"][path.partition("?")[0]]["get"]["responses"]["200"]
        event = answer["content"]["text/event-stream"]["schema"]["properties"]["data"]
        described = validator(document, event["contentSchema"])
        assert not described.is_valid({})
        for several in said.values():
            for data in several:
                described.validate(data)


async def listen(bridge: Bridge, path: str, said: dict[str, list[Json]]) -> None:
    """Collect what a stream brings, by the names of its events."""
    async with bridge.http.get(path) as response:
        async for message in Listener(response):
            if not message.comment:
                said.setdefault(message.name, []).append(message.data)
