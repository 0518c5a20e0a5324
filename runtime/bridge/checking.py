"""Checks a configuration before the bridge starts: errors that prevent the start, and warnings."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from runtime.bridge.can.settings import SLCAN, VIRTUAL
from runtime.bridge.coach.lessons import CATALOG, lessons_of
from runtime.bridge.errors import BIND_CODES
from runtime.bridge.live.hub import LIVE_SESSION
from runtime.bridge.live.outlets.opening import check_influx, check_mqtt, check_secret
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.opening import check as check_database
from runtime.bridge.track.model import Track
from runtime.web.instance import AlreadyRunning
from runtime.web.serve import CannotStart, bind

BAD_CONFIGURATION: Final = 2
NETWORK: Final = Path("/sys/class/net")
"""Where Linux lists its network interfaces, those of CAN among them."""
_VERSIONED: Final = re.compile(r".*/v\d+\w*/?")
_PCAN: Final = re.compile(r"PCAN_[A-Z]+BUS\d+")


@contextmanager
def must_work(setting: str) -> Iterator[None]:
    """Refuse to start where what a setting names cannot be used; the text begins with *setting*."""
    try:
        yield
    except (ValueError, StoreUnusable) as error:
        raise CannotStart(f"{setting}{error}", BAD_CONFIGURATION) from error
    except AlreadyRunning as error:
        raise CannotStart(str(error), BAD_CONFIGURATION) from error


def validate(settings: BridgeSettings) -> None:
    """Raise `CannotStart` for values that can never work; the text names the setting."""
    for name, url in (("model_url", settings.model_url), ("grading_url", settings.grading_url)):
        if url.strip() and not _is_address(url.strip()):
            raise _bad(name, f"{url!r} is no address such as http://127.0.0.1:8080/v1")
    with must_work("influx_url: "):
        check_influx(settings.influx_url.strip())
    with must_work("mqtt_url: "):
        check_mqtt(settings.mqtt_url.strip())
    for name, secret in _outlet_secrets(settings).items():
        with must_work(f"{name}: "):
            check_secret(secret)
    if "://" in settings.course and not _is_address(settings.course.strip()):
        raise _bad("course", f"{settings.course!r} is neither a folder nor an http address")


def warnings(settings: BridgeSettings) -> Iterator[str]:
    """What of the settings does not do what a user may expect, a sentence each."""
    yield from _model_warnings(settings)
    for folder in settings.import_roots:
        if not folder.is_dir():
            yield f"import_roots: there is no folder {folder} now: nothing is imported from it"
    target = settings.prompt_log
    if target is not None and (target.is_dir() or not target.parent.is_dir()):
        yield f"prompt_log: {target} cannot be written: it must be a file in a folder that exists"
    course = settings.course.strip()
    if course and "://" not in course and not (Path(course) / CATALOG).is_file():
        yield f"course: no course is built in {course} ({CATALOG} is missing): lessons have no link"
    secrets = _outlet_secrets(settings)
    for url, name in (("influx_url", "influx_token"), ("mqtt_url", "mqtt_password")):
        if secrets[name] and not getattr(settings, url).strip():
            yield f"{name}: not used, since no {url} is set"
    yield from _bus_warnings(settings)


def track_warnings(track: Track | None, settings: BridgeSettings) -> Iterator[str]:
    """What of the active track does not do what a user may expect."""
    if track is None or not settings.live_cues or (track.line is not None and len(track.line) > 2):
        return
    yield (
        f"track {track.id}: it has no reference line, so positions do not tell which corner comes: "
        f"the coach speaks of none while driving; '{PROGRAM} track build' makes a "
        "track file with a line"
    )


def probe_startup(settings: BridgeSettings) -> list[str]:
    """Open database, addresses and course as the start will, and close them again; the warnings.

    Changes nothing; blocks. Raises `CannotStart`; of the addresses `CannotBind`.
    """
    with must_work("db: "):
        notes = check_database(settings.database, settings.db_backend)
    with ExitStack() as stack:
        stack.enter_context(bind(settings.host, settings.port, "port", BIND_CODES))
        if settings.spectator_port is not None:
            host, port = settings.spectator_host, settings.spectator_port
            stack.enter_context(bind(host, port, "spectator_port", BIND_CODES))
    if settings.course.strip():
        asyncio.run(lessons_of(settings.course.strip()))  # which warns by itself
    return [f"db: {note}" for note in notes]


def _bad(setting: str, why: str) -> CannotStart:
    return CannotStart(f"{setting}: {why}", BAD_CONFIGURATION)


def _outlet_secrets(settings: BridgeSettings) -> dict[str, str]:
    return {
        "influx_token": settings.influx_token.get_secret_value().strip(),
        "mqtt_password": settings.mqtt_password.get_secret_value().strip(),
    }


def _is_address(url: str) -> bool:
    """Whether it is an http address that a path can be put behind."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for what is no port
    except ValueError:
        return False
    plain = not parts.query and not parts.fragment and not re.search(r"\s", url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


def _model_warnings(settings: BridgeSettings) -> Iterator[str]:
    for name, url in (("model_url", settings.model_url), ("grading_url", settings.grading_url)):
        if url.strip() and not _VERSIONED.fullmatch(urlsplit(url.strip()).path):
            yield f"{name}: {url} does not end in /v1, where OpenAI-compatible servers answer"
    if bool(settings.grading_url.strip()) != bool(settings.grading_key.get_secret_value()):
        yield "grading_url and grading_key belong together: /score is off"


def _bus_warnings(settings: BridgeSettings) -> Iterator[str]:
    if settings.simulate and settings.can_session_id != LIVE_SESSION:
        yield (
            f"can_session_id: {settings.can_session_id} is not used by --simulate, "
            "which drives in sessions of its own, sim-<time>"
        )
    if settings.can_no_car_config and settings.can_car_config is not None:
        yield "can_car_config: not used, since can_no_car_config is set"
    kind, channel = settings.can_interface, settings.can_channel
    if channel is None:
        if kind != VIRTUAL:
            yield f"can_interface: {kind} is not opened, since no can_channel is named"
        return
    if kind == VIRTUAL and not settings.simulate:
        yield (
            "can_interface: virtual, where only this program sends; "
            f"to read an adapter at {channel} name its kind, as in slcan"
        )
    if kind == SLCAN and "://" not in channel and channel.startswith("/"):
        device = Path(channel)
        if not device.exists():
            yield f"can_channel: there is no {channel} now; it is read as soon as it is there"
        elif not device.is_char_device():
            yield f"can_channel: {channel} is not a serial device"
    if kind == "socketcan" and NETWORK.is_dir() and not (NETWORK / channel).exists():
        yield f"can_channel: there is no network interface {channel} now; it is tried again"
    if kind == "pcan" and not _PCAN.fullmatch(channel):
        yield f"can_channel: {channel} is not a channel of a pcan adapter, as PCAN_USBBUS1 is"
