"""Checks the outlet settings, and makes the outlets they name."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from yarl import URL

from runtime.bridge.live.outlets.influx import Influx, read_influx
from runtime.bridge.live.outlets.outlet import Target, read_address
from runtime.bridge.settings import BridgeSettings

PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


def check_influx(url: str) -> None:
    """Raise ValueError for an invalid address; empty means no outlet."""
    if url:
        read_influx(url)


def check_secret(secret: str) -> None:
    """Raise ValueError for a password or token that cannot be sent."""
    if not secret.isprintable():
        raise ValueError("it holds line breaks or other control characters")


def check_mqtt(url: str) -> None:
    """Raise ValueError for an invalid address or a missing library; empty means no outlet."""
    if not url:
        return
    _read_broker(url)
    if find_spec("aiomqtt") is None:
        raise ValueError("install the extra mqtt (pip install aiomqtt)")


def make_targets(settings: BridgeSettings) -> Iterator[Target]:
    """Make the outlet targets of valid settings."""
    if url := settings.influx_url.strip():
        yield Influx(read_influx(url), settings.influx_token.get_secret_value().strip())
    if url := settings.mqtt_url.strip():
        from runtime.bridge.live.outlets.mqtt import Mqtt  # its library is optional

        yield Mqtt(_read_broker(url), settings.mqtt_password.get_secret_value().strip())


def _read_broker(text: str) -> URL:
    url = read_address(text, PORTS, "mqtt://127.0.0.1:1883/paddock")
    if url.password or url.query_string:
        raise ValueError("a password does not belong in an address; see mqtt_password")
    if url.fragment or not set(url.path).isdisjoint("+#$"):
        raise ValueError("a topic has none of + # $")
    return url
