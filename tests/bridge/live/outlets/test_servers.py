"""A bridge whose servers are away, hang or refuse: it goes on as if there were none."""

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

from runtime.bridge.live.outlets import mqtt, opening
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.startup import assemble
from runtime.web.serve import CannotStart
from tests.bridge.bridgekit import Bridge, Json, settings_for
from tests.bridge.conftest import Start
from tests.bridge.live.outlets.outletkit import free_port, pretending
from tests.bridge.live.streamkit import cue
from tests.waiting import until

TOKEN = "tok-5ecret=="
FRAMES = [{"timestamp": 0.1 * n, "speed_ms": 20.0 + n, "rpm": None} for n in range(30)]


async def drive(bridge: Bridge, driver: str = "Mia") -> None:
    about = {"session_id": "monday", "driver": driver, "car": "hatch", "track": "Larkfell"}
    await bridge.ok("POST", "/session/start", about)
    await bridge.ok("POST", "/session/monday/frames", {"frames": FRAMES})


async def outlet_of(bridge: Bridge) -> Json:
    (found,) = (await bridge.ok("GET", "/health"))["outlets"]
    return found


async def samples(bridge: Bridge) -> dict[str, float]:
    text = (await bridge.get("/metrics")).body.decode()
    pairs = (line.rpartition(" ") for line in text.splitlines() if "bridge_outlet_" in line)
    return {name: float(value) for name, _, value in pairs if not name.startswith("#")}


async def test_frames_of_a_request_come_out_as_lines(start: Start) -> None:
    async with (
        pretending() as server,
        start(influx_url=server.url, influx_token=f" {TOKEN}\n") as bridge,
    ):
        assert (await outlet_of(bridge))["state"] == "idle"
        await drive(bridge, 'Mia, ="\n2')
        await until(lambda: bridge.service.outlets[0].sent == len(FRAMES))
        told = await outlet_of(bridge)
        row = bridge.service.db.session("monday")
        assert row is not None
        counted = await samples(bridge)
    assert server.lines[10] == (
        r'telemetry,session=monday,driver=Mia\,\ \="\ 2,car=hatch,track=Larkfell\ Circuit'
        f" timestamp=1.0,distance_m=25.0,speed_ms=30.0 {row.started_at + 1000}000000"
    )
    assert set(server.headers) == {f"Token {TOKEN}"}
    assert told == {
        "name": "influx",
        "place": f"http://127.0.0.1:{server.port}/api/v2/write",
        "state": "up",
        "problem": None,
        "sent": 30,
        "waiting": 0,
        "dropped": 0,
        "refused": 0,
    }
    assert counted == {
        'bridge_outlet_up{outlet="influx"}': 1,
        'bridge_outlet_waiting{outlet="influx"}': 0,
        'bridge_outlet_sent_total{outlet="influx"}': 30,
        'bridge_outlet_dropped_total{outlet="influx"}': 0,
        'bridge_outlet_refused_total{outlet="influx"}': 0,
    }


async def test_without_outlets_nobody_hears_of_them(start: Start) -> None:
    async with start() as bridge:
        assert (await bridge.ok("GET", "/health"))["outlets"] == []
        assert await samples(bridge) == {}
        assert not bridge.service.hub.hears_telemetry


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (401, '{"code":"unauthorized","message":"bad tok-5ecret=="}', "status 401: bad ***"),
        (404, '{"error":"database not found"}', "status 404: database not found"),
        (503, "over\nloaded\0", "status 503: over loaded"),
        (302, "", "status 302"),
        (500, "x" * 10_000, "status 500: " + "x" * 200),
    ],
    ids=str,
)
async def test_what_a_server_that_takes_nothing_says_is_told_without_the_token(
    start: Start,
    caplog: pytest.LogCaptureFixture,
    status: int,
    body: str,
    problem: str,
) -> None:
    async with pretending() as server, start(influx_url=server.url, influx_token=TOKEN) as bridge:
        server.refuse(status, body, Location="/api/v2/write")
        await drive(bridge)
        await until(lambda: bridge.service.outlets[0].state == "away")
        told = await outlet_of(bridge)
        assert (told["problem"], told["sent"]) == (problem, 0)
        server.answer = web.Response(status=204)
        await until(lambda: bridge.service.outlets[0].state == "up")
        assert len(server.lines) == len(FRAMES)
    assert TOKEN not in caplog.text + json.dumps(told)
    assert [record.name for record in caplog.records].count(
        "runtime.bridge.live.outlets.outlet"
    ) == 2


@pytest.mark.parametrize(
    ("status", "body", "refused"),
    [
        (400, '{"error":"partial write: field type conflict: … dropped=7"}', 7),
        (400, '{"code":"invalid","message":"unable to parse \'…\' dropped=0"}', 1),
        (422, "retention", 30),
        (413, "", 30),
    ],
    ids=str,
)
async def test_points_that_a_server_refuses_are_not_sent_again(
    start: Start, status: int, body: str, refused: int
) -> None:
    async with pretending() as server, start(influx_url=server.url) as bridge:
        server.refuse(status, body)
        await drive(bridge)
        outlet = bridge.service.outlets[0]
        await until(lambda: outlet.sent + outlet.refused == len(FRAMES))
        assert outlet.refused == refused
        server.answer = web.Response(status=204)
        bridge.service.hub.publish_cue(cue("Box"))
        await until(lambda: outlet.problem is None)
        assert len(server.lines) == 1


@pytest.mark.parametrize("how", ["hangs", "refuses connections", "is no broker"])
async def test_a_bridge_records_while_a_server_does_not_answer(
    start: Start, backend: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "PATIENCE_S", 0.05)
    async with pretending() as server:
        settings: Json = {"influx_url": server.url}
        server.answer = asyncio.Event()
        if how == "refuses connections":
            settings = {"influx_url": f"http://127.0.0.1:{free_port()}/write?db=x"}
        if how == "is no broker":
            settings = {"mqtt_url": f"mqtt://127.0.0.1:{server.port}", "mqtt_password": TOKEN}
        async with start(db_backend=backend, **settings) as bridge:
            await drive(bridge)
            await until(lambda: server.asked > 0 or bridge.service.outlets[0].state == "away")
            await bridge.ok("POST", "/session/monday/frame", {"timestamp": 9.0, "speed_ms": 1.0})
            row = bridge.service.db.session("monday")
            assert row is not None
            assert row.n_frames == 31
            told = await outlet_of(bridge)
            assert told["sent"] == 0
            if how == "refuses connections":
                assert told["problem"] == "Connection refused"


WRONG = [
    ({"influx_url": "pit:8086"}, "influx_url: this is not a valid address"),
    ({"influx_url": "http://pit:8086"}, "influx_url: the path must be"),
    ({"influx_url": "http://pit:x/write?db=d"}, "influx_url: this is not a valid address"),
    ({"influx_url": "http://a..b/write?db=d"}, "influx_url: this is not a valid address"),
    ({"influx_url": "http://pit/write"}, "influx_url: db= is missing"),
    ({"influx_url": "http://pit/api/v2/write?org=o"}, "influx_url: bucket= is missing"),
    ({"influx_url": "http://pit/write?db=d&precision=s"}, "influx_url: leave precision out"),
    ({"influx_url": "http://u:5ecret@pit/write?db=d"}, "influx_url: user, password and token"),
    ({"influx_url": "http://pit/write?db=d&u=u&p=5ecret"}, "influx_url: user, password and token"),
    ({"influx_token": "5ecret\nX: y"}, "influx_token: it holds line breaks"),
    ({"mqtt_url": "http://pit"}, "mqtt_url: this is not a valid address"),
    ({"mqtt_url": "mqtt://u:5ecret@pit"}, "mqtt_url: a password does not belong"),
    ({"mqtt_url": "mqtt://pit/car/+"}, "mqtt_url: a topic has none of"),
]


@pytest.mark.parametrize(("settings", "why"), WRONG, ids=str)
def test_an_address_that_can_never_work_is_refused_without_repeating_it(
    tmp_path: Path, settings: Json, why: str
) -> None:
    with pytest.raises(CannotStart, match=f"^{why}") as refusal:
        assemble(settings_for(tmp_path, **settings))
    assert "5ecret" not in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_a_missing_extra_is_named_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    with pytest.raises(CannotStart, match=r"^mqtt_url: install the extra mqtt"):
        assemble(settings_for(tmp_path, mqtt_url="mqtt://pit"))
    assemble(settings_for(tmp_path, influx_url="http://pit/write?db=d"))


def test_flags_environment_and_file_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text('influx_url = "http://pit/write?db=d"\nmqtt_password = "m"\noutlet_hz = 5\n')
    settings = BridgeSettings.load(
        ["--config", str(file), "--outlet-hz", "1000"],
        {"BRIDGE_MQTT_URL": "mqtts://crew@pit/car", "BRIDGE_INFLUX_TOKEN": "t"},
    )
    assert (settings.outlet_hz, len(settings.notes)) == (100.0, 1)
    assert settings.influx_url == "http://pit/write?db=d"
    first, second = opening.make_targets(settings)
    assert (first.place, second.place) == ("http://pit/write", "mqtts://pit:8883/car")
    assert "'t'" not in repr(settings)


def test_a_secret_that_opens_nothing_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assemble(settings_for(tmp_path, mqtt_password="5ecret"))
    assert "mqtt_password: not used, since no mqtt_url is set" in caplog.text
    assert "5ecret" not in caplog.text
