"""Turns settings into a service: checks them, warns about them, and loads the files they name."""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from runtime import VERSION
from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.api.analyze import make_cues
from runtime.bridge.api.shapes import check_recording_id
from runtime.bridge.can.carfile import CarError
from runtime.bridge.can.cars import LoadedCar, Wiring, find_car, load_car
from runtime.bridge.can.dbc import load_dbc, merge_messages
from runtime.bridge.can.registry import load_registry
from runtime.bridge.can.settings import SLCAN, VIRTUAL, CanSettings, check_interface
from runtime.bridge.coach.lessons import CATALOG, lessons_of
from runtime.bridge.errors import BIND_CODES
from runtime.bridge.live.hub import LIVE_SESSION
from runtime.bridge.live.outlets.opening import check_influx, check_mqtt, check_secret
from runtime.bridge.service import Service
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.opening import check as check_database
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from runtime.web.discovery import Announcement, Announcer, reachable_addresses
from runtime.web.instance import AlreadyRunning
from runtime.web.serve import CannotStart, bind

log = logging.getLogger(__name__)

BAD_CONFIGURATION: Final = 2
"""Exit code."""
DEFAULT_DBC: Final = "paddock-dash"
SIMULATED_CAR: Final = "oberling-vesper-30"
ANNOUNCEMENT: Final = Announcement(
    "_paddock-bridge._tcp.local.", "Paddock", {"path": "/", "health": "/health", "ver": VERSION}
)
NETWORK: Final = Path("/sys/class/net")
"""Linux lists its network interfaces here, CAN interfaces included."""
_VERSIONED: Final = re.compile(r".*/v\d+\w*/?")
_PCAN: Final = re.compile(r"PCAN_[A-Z]+BUS\d+")


@contextmanager
def cannot_start_on_error(setting: str) -> Iterator[None]:
    """Turn an error into `CannotStart`, whose text begins with *setting*."""
    try:
        yield
    except (ValueError, StoreUnusable) as error:
        raise CannotStart(f"{setting}{error}", BAD_CONFIGURATION) from error
    except AlreadyRunning as error:
        raise CannotStart(str(error), BAD_CONFIGURATION) from error


def assemble(settings: BridgeSettings) -> Service:
    """Build the parts that need no running loop. Raises `CannotStart`, which names the setting."""
    check_settings(settings)
    with cannot_start_on_error("data_dir: registry/"):
        catalogue = load_registry(settings.registry_file)
    with cannot_start_on_error("track: "):
        library, active = Library.read(settings.tracks_dir).with_active(settings.track)
    if active is None and settings.track.strip():
        words = "track %s: there is no such track file; going on without a track; known: %s"
        log.warning(words, settings.track.strip(), ", ".join(library.tracks) or "none")
    notes = list(find_warnings(settings))
    notes += [
        f"track {id_}: {doubt.detail}" for id_, doubts in library.doubts.items() for doubt in doubts
    ]
    notes += [f"track {id_} is left out: {why}" for id_, why in library.unreadable.items()]
    with cannot_start_on_error("can_session_id: "):
        check_recording_id(settings.can_session_id)
    for warning in (*notes, *find_track_warnings(active, settings)):
        log.warning("%s", warning)
    service = Service(
        settings=settings,
        version=VERSION,
        library=library,
        active_track=active,
        references=ReferenceBook(settings.data_dir / "reference"),
        wiring=_load_wiring(settings),
        catalogue=catalogue,
    )
    everywhere = settings.host in ("0.0.0.0", "::")  # noqa: S104 - only compared, not bound
    if settings.announce:
        own = [settings.host]
        service.announcer = Announcer(
            ANNOUNCEMENT, reachable_addresses if everywhere else lambda: own
        )
    service.cues = make_cues(service)
    with cannot_start_on_error("can_interface: "):
        check_interface(settings.can_interface)
    if settings.can_channel is not None:
        with cannot_start_on_error("can_channel, can_interface: "):
            choose_adapter(service).check()
    return service


def choose_adapter(service: Service) -> CanSettings:
    """Return the adapter of the settings; without a bit rate there, the car file's counts."""
    settings, car = service.settings, service.wiring.car
    bitrate = settings.can_bitrate
    if "can_bitrate" not in settings.model_fields_set and car is not None:
        bitrate = car.file.can_bus.bitrate_bps or bitrate
    return CanSettings(
        interface=settings.can_interface,
        channel=settings.can_channel or "",
        bitrate=bitrate,
        listen_only=not settings.simulate,
    )


def _load_wiring(settings: BridgeSettings) -> Wiring:
    packs = []
    for name in settings.can_dbc or [DEFAULT_DBC]:
        own = settings.data_dir / "dbc" / f"{name}.dbc"
        if not settings.can_dbc and not own.is_file():
            continue  # a data folder of the user's own may lack our default
        with cannot_start_on_error("can_dbc: "):
            packs.append(load_dbc(own if own.is_file() else Path(name)))
    return Wiring(merge_messages(packs), _load_car(settings), tuple(pack.name for pack in packs))


def _load_car(settings: BridgeSettings) -> LoadedCar | None:
    """Load the car of the settings, else the simulator's default where a car is simulated."""
    if settings.can_no_car_config:
        return None
    if settings.can_car_config is not None:
        with cannot_start_on_error("can_car_config: "):
            return load_car(find_car(settings.cars_dir, settings.can_car_config))
    if settings.simulate:
        try:
            return load_car(find_car(settings.cars_dir, SIMULATED_CAR))
        except CarError as error:
            log.warning("the simulator drives without a car file: %s", error)
    return None


def probe_startup(settings: BridgeSettings) -> list[str]:
    """Open database, addresses and course as at a start, close them again; return the warnings.

    Changes nothing; blocks. Raises `CannotStart`, or `CannotBind` for an address.
    """
    with cannot_start_on_error("db: "):
        notes = check_database(settings.database, settings.db_backend)
    with ExitStack() as stack:
        stack.enter_context(bind(settings.host, settings.port, "port", BIND_CODES))
        if settings.spectator_port is not None:
            host, port = settings.spectator_host, settings.spectator_port
            stack.enter_context(bind(host, port, "spectator_port", BIND_CODES))
    if settings.course.strip():
        asyncio.run(lessons_of(settings.course.strip()))  # logs its own warnings
    return [f"db: {note}" for note in notes]


def check_settings(settings: BridgeSettings) -> None:
    """Raise `CannotStart` for values that can never work; the text names the setting."""
    for name, url in (("model_url", settings.model_url), ("grading_url", settings.grading_url)):
        if url.strip() and not _is_address(url.strip()):
            raise _reject(name, f"{url!r} is no address such as http://127.0.0.1:8080/v1")
    with cannot_start_on_error("influx_url: "):
        check_influx(settings.influx_url.strip())
    with cannot_start_on_error("mqtt_url: "):
        check_mqtt(settings.mqtt_url.strip())
    for name, secret in _outlet_secrets(settings).items():
        with cannot_start_on_error(f"{name}: "):
            check_secret(secret)
    if "://" in settings.course and not _is_address(settings.course.strip()):
        raise _reject("course", f"{settings.course!r} is neither a folder nor an http address")


def find_warnings(settings: BridgeSettings) -> Iterator[str]:
    """Yield a sentence for each setting that does not do what a user may expect."""
    yield from _find_model_warnings(settings)
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
    yield from _find_bus_warnings(settings)


def find_track_warnings(track: Track | None, settings: BridgeSettings) -> Iterator[str]:
    """Yield what the active track cannot do that a user may expect."""
    if track is None or not settings.live_cues or (track.line is not None and len(track.line) > 2):
        return
    yield (
        f"track {track.id}: it has no reference line, so the coach cannot tell from positions "
        f"which corner comes next and gives no corner cues; '{PROGRAM} track build' makes a "
        "track file with a line"
    )


def _reject(setting: str, why: str) -> CannotStart:
    return CannotStart(f"{setting}: {why}", BAD_CONFIGURATION)


def _outlet_secrets(settings: BridgeSettings) -> dict[str, str]:
    return {
        "influx_token": settings.influx_token.get_secret_value().strip(),
        "mqtt_password": settings.mqtt_password.get_secret_value().strip(),
    }


def _is_address(url: str) -> bool:
    """Whether *url* is an http address that a path can be appended to."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return False
    plain = not parts.query and not parts.fragment and not re.search(r"\s", url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


def _find_model_warnings(settings: BridgeSettings) -> Iterator[str]:
    for name, url in (("model_url", settings.model_url), ("grading_url", settings.grading_url)):
        if url.strip() and not _VERSIONED.fullmatch(urlsplit(url.strip()).path):
            yield f"{name}: {url} does not end in /v1, where OpenAI-compatible servers answer"
    if bool(settings.grading_url.strip()) != bool(settings.grading_key.get_secret_value()):
        yield "grading_url and grading_key belong together: /score is off"


def _find_bus_warnings(settings: BridgeSettings) -> Iterator[str]:
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
            yield f"can_interface: {kind} is not opened, since can_channel is not set"
        return
    if kind == VIRTUAL and not settings.simulate:
        yield (
            "can_interface: virtual, where only this program sends; "
            f"to read an adapter at {channel} name its kind, as in slcan"
        )
    if kind == SLCAN and "://" not in channel and channel.startswith("/"):
        device = Path(channel)
        if not device.exists():
            yield f"can_channel: there is no {channel} now; it is opened as soon as it appears"
        elif not device.is_char_device():
            yield f"can_channel: {channel} is not a serial device"
    if kind == "socketcan" and NETWORK.is_dir() and not (NETWORK / channel).exists():
        yield f"can_channel: there is no network interface {channel} now; it is tried again"
    if kind == "pcan" and not _PCAN.fullmatch(channel):
        yield f"can_channel: {channel} is not a channel of a pcan adapter, as PCAN_USBBUS1 is"
