"""Publishes points to an MQTT broker: one JSON object a message, one topic a session and table."""

from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Final

import aiomqtt
from yarl import URL

from runtime.bridge.live.hub import encode_object
from runtime.bridge.live.outlets.outlet import Away, redact_address
from runtime.bridge.live.outlets.points import Point

PATIENCE_S: Final = 5.0
"""Time limit for connecting and for sending a message."""
KEEPALIVE_S: Final = 10
"""After this silence the broker is pinged."""
AT_MOST_ONCE, AT_LEAST_ONCE = 0, 1


class Mqtt:
    """A broker; the connection stays open.

    The broker acknowledges cues, laps and sectors. A lost frame is not repeated, since the next
    one follows at once.
    """

    name: Final = "mqtt"
    most: Final = 1
    pause_s: Final = 0.0

    def __init__(self, url: URL, password: str = "") -> None:
        self.place = redact_address(url)
        self._url = url
        self._password = password
        self._prefix = url.path.strip("/") or "paddock"
        self._open = AsyncExitStack()
        self._client: aiomqtt.Client | None = None

    async def send(self, points: Sequence[Point]) -> None:
        """See `Target`."""
        try:
            client = self._client or await self._connect()
            for point in points:
                topic = f"{self._prefix}/{point.tags['session']}/{point.table}"
                qos = AT_MOST_ONCE if point.table == "telemetry" else AT_LEAST_ONCE
                await client.publish(topic, to_json(point), qos=qos)
        except aiomqtt.MqttError as problem:
            await self._disconnect()
            raise Away(str(problem).rpartition("] ")[2]) from None  # without its number

    async def close(self) -> None:
        """See `Target`."""
        await self._disconnect()

    async def _connect(self) -> aiomqtt.Client:
        url = self._url
        client = aiomqtt.Client(
            url.host or "",
            url.port or 0,
            username=url.user,
            password=self._password or None,
            tls_params=aiomqtt.TLSParameters() if url.scheme == "mqtts" else None,
            timeout=PATIENCE_S,
            keepalive=KEEPALIVE_S,
        )
        self._client = await self._open.enter_async_context(client)
        return client

    async def _disconnect(self) -> None:
        self._client = None
        with suppress(aiomqtt.MqttError):
            await self._open.aclose()


def to_json(point: Point) -> bytes:
    """Encode tags and fields of a point; ``unix_s`` is its time."""
    return encode_object({"unix_s": point.ns / 1e9, **point.tags, **point.fields})
