"""What Mosquitto and InfluxDB themselves say that they were told."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from tests.bridge.conftest import Start
from tests.bridge.live.outlets.outletkit import (
    LAP,
    OPENED,
    SECTOR,
    find,
    free_port,
    influxdb,
    running,
)
from tests.bridge.live.streamkit import cue, frame
from tests.waiting import until

NAMES = [
    "Mia",
    "Mia Hansen, Jr.",
    "a=b,c=d e",
    '"Ace" O\'Neil',
    "Müller Ⅳ 🏎",
    "two\nlines",
    "C:\\tracks\\",
    "x 1i\ntelemetry rpm=9 1",
    "#hash",
    "{json}",
]


async def test_influxdb_keeps_every_point_whatever_the_driver_is_called(
    start: Start, tmp_path: Path
) -> None:
    async with (
        influxdb(tmp_path) as server,
        start(influx_url=server.url, influx_token=":".join(OPENED)) as bridge,
    ):
        for number, name in enumerate(NAMES):
            about = {"session_id": f"s{number}", "driver": name, "car": name, "track": name}
            await bridge.ok("POST", "/session/start", about)
            body = {"timestamp": 1.5, "speed_ms": 20.25, "oil temp/1": number}
            await bridge.ok("POST", f"/session/s{number}/frame", body)
        outlet = bridge.service.outlets[0]
        hub = bridge.service.hub
        hub.publish_done(frame("s0"), LAP)
        hub.publish_done(frame("s0"), SECTOR)
        hub.publish_cue(cue('Brake "later", now=T3\\\n', "s0"))
        await until(lambda: outlet.sent + outlet.refused == len(NAMES) + 3)
        assert (outlet.refused, outlet.problem) == (0, None)

        found = {row["session"]: row for row in await server.query("SELECT * FROM telemetry")}
        for number in range(len(NAMES)):
            row, stored = found[f"s{number}"], bridge.service.db.session(f"s{number}")
            assert stored is not None
            near = (stored.driver or "").replace("\n", " ").replace("\\", "/")
            assert (row["driver"], row["car"]) == (near, near)
            assert (row["speed_ms"], row["oil temp/1"]) == (20.25, number)
            assert "rpm" not in row
            assert row["time"] == stored.started_at * 1_000_000
        (lap,) = await server.query("SELECT * FROM laps")
        assert (lap["lap_time_s"], lap["is_best"], lap["sector_1_s"]) == (91.5, True, 30.5)
        (sector,) = await server.query("SELECT * FROM sectors")
        assert (sector["time_s"], sector["rating"], sector["driver"]) == (31.25, "own", "Mia")
        (said,) = await server.query("SELECT * FROM cues")
        assert said["text"] == 'Brake "later", now=T3\\ '
        assert len(await server.query("SHOW MEASUREMENTS")) == 4


async def test_influxdb_takes_the_rest_of_points_of_which_it_refuses_some(
    start: Start, tmp_path: Path
) -> None:
    async with (
        influxdb(tmp_path) as server,
        start(influx_url=server.url, influx_token=":".join(OPENED)) as bridge,
    ):
        async with server.http.post("/write?db=paddock", data='telemetry oil="hot"') as answer:
            assert answer.status == 204
        await bridge.ok("POST", "/session/start", {"session_id": "s"})
        frames = [{"timestamp": float(t), "speed_ms": 1.0, "gear": 2} for t in range(4)]
        frames[2]["oil"] = 90
        await bridge.ok("POST", "/session/s/frames", {"frames": frames})
        outlet = bridge.service.outlets[0]
        await until(lambda: outlet.sent + outlet.refused == 4)
        assert outlet.refused > 0
        assert "field type conflict" in (outlet.problem or "")
        rows = await server.query("SELECT gear FROM telemetry")
        assert len(rows) == outlet.sent


class Broker:
    """Mosquitto with a user and a password, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        passwords = folder / "passwords"
        subprocess.run([find("mosquitto_passwd"), "-c", "-b", passwords, *OPENED], check=True)
        passwords.chmod(0o644)
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous false\npassword_file {passwords}\n"
            "user root\n"
        )

    def run(self) -> Any:
        return running(find("mosquitto"), "-c", str(self._config), port=self.port)

    def client(self) -> aiomqtt.Client:
        user, password = OPENED
        return aiomqtt.Client("127.0.0.1", self.port, username=user, password=password)


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    find("mosquitto")
    return Broker(tmp_path)


async def heard(client: aiomqtt.Client) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    async with asyncio.timeout(20):
        async for message in client.messages:
            assert isinstance(message.payload, bytes)
            yield str(message.topic), json.loads(message.payload)


async def test_subscribers_of_a_broker_hear_frames_cues_and_laps(
    start: Start, broker: Broker
) -> None:
    user, password = OPENED
    async with (
        broker.run(),
        broker.client() as client,
        start(
            mqtt_url=f"mqtt://{user}@127.0.0.1:{broker.port}/team/car", mqtt_password=password
        ) as bridge,
    ):
        await client.subscribe("team/car/#", qos=1)
        about = {"session_id": "s", "driver": NAMES[1], "car": "hatch"}
        await bridge.ok("POST", "/session/start", about)
        await bridge.ok("POST", "/session/s/frame", {"timestamp": 1.5, "speed_ms": 20.25})
        bridge.service.hub.publish_done(frame("s"), LAP)
        bridge.service.hub.publish_cue(cue("Box", "s"))
        messages = heard(client)
        topic, body = await anext(messages)
        row = bridge.service.db.session("s")
        assert row is not None
        assert topic == "team/car/s/telemetry"
        assert body.pop("distance_m") >= 0
        assert body == {
            "unix_s": pytest.approx(row.started_at / 1000, abs=1e-3),
            "session": "s",
            "driver": NAMES[1],
            "car": "hatch",
            "timestamp": 1.5,
            "speed_ms": 20.25,
        }
        topic, body = await anext(messages)
        assert (topic, body["lap_time_s"], body["is_best"]) == ("team/car/s/laps", 91.5, True)
        topic, body = await anext(messages)
        assert (topic, body["text"]) == ("team/car/s/cues", "Box")


async def test_a_broker_that_was_killed_hears_afterwards_what_happened_meanwhile(
    start: Start, broker: Broker
) -> None:
    user, password = OPENED
    url = f"mqtt://{user}@127.0.0.1:{broker.port}"
    async with start(mqtt_url=url, mqtt_password=password) as bridge:
        outlet, hub = bridge.service.outlets[0], bridge.service.hub
        async with broker.run():
            hub.publish_cue(cue("One", "s"))
            await until(lambda: outlet.sent == 1)
        hub.publish_cue(cue("Two", "s"))
        await until(lambda: outlet.state == "away")
        hub.publish_cue(cue("Three", "s"))
        async with broker.run():
            await until(lambda: outlet.sent == 3)
            assert (outlet.state, outlet.dropped) == ("up", 0)


async def test_a_broker_that_refuses_the_password_is_told_of_without_it(
    start: Start, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"mqtt://{OPENED[0]}@127.0.0.1:{broker.port}"
    async with broker.run(), start(mqtt_url=url, mqtt_password="5ecret-wrong") as bridge:
        bridge.service.hub.publish_cue(cue("Box", "s"))
        await until(lambda: bridge.service.outlets[0].state == "away")
        health = (await bridge.get("/health")).body.decode()
    assert "uthori" in health or "password" in health
    assert "5ecret-wrong" not in health + caplog.text
