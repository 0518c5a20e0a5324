"""Reads the folder of car files: a record of each car, and the rules of the driven one."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from cantools.database.can import Message

from runtime.bridge.can import carfile
from runtime.bridge.can.carfile import MAX_BYTES, CarError, CarFile, parse_car
from runtime.bridge.can.rules import Plan, compile_plan
from runtime.web.errors import NotFound
from runtime.web.wire import Wire, absent

SUFFIXES: Final = (".yaml", ".yml")
MAX_CARS: Final = 1000
"""Further files are not read."""

OTHER: Final = "other"
# The first role with one of the words wins: `tire_temp` belongs to the tires, `fuel_press` to the
# powertrain.
_WORDS: Final = (
    ("tires", "tire tires tyre tyres tpms"),
    ("ambient", "ambient baro barometric humidity wind"),
    ("position", "gps lat lon latitude longitude altitude heading sats distance"),
    ("electrical", "battery batt volt volts voltage current alternator"),
    ("driver_input", "brake throttle steer steering clutch pedal accel_pedal handbrake"),
    ("chassis", "wheel speed g yaw roll pitch lateral inline vertical accel acceleration"),
    ("chassis", "stability abs tc susp suspension damper"),
    ("powertrain", "rpm engine gear oil water coolant fuel boost lambda afr map maf knock turbo"),
    ("powertrain", "intake exhaust transmission gearbox ignition timing"),
)
_ROLE_WORDS: Final = tuple((role, frozenset(words.split())) for role, words in _WORDS)
ROLES: Final = frozenset((OTHER, *(role for role, _ in _WORDS)))


class NoCarsDir(NotFound):
    """The folder of cars is missing."""

    code = "no_cars_dir"

    def __init__(self, cars_dir: Path) -> None:
        super().__init__("the folder of cars is missing")
        self.cars_dir = str(cars_dir)


class LoggerRecord(Wire):
    """The logger that rebroadcasts the car's channels."""

    make: str
    model: str
    protocol: str
    total_frames: int
    total_channels: int


class BusRecord(Wire):
    """The bus of a car."""

    name: str
    bitrate_bps: int
    frame_format: str
    id_width: int


class CarChannel(Wire):
    """A channel of the bus."""

    name: str
    frame_id: str
    rate_hz: float | None
    role: str


class CarRecord(Wire):
    """A car."""

    id: str
    loaded: bool
    make: str
    model: str
    chassis: str
    engine: str
    year: int | None
    dash_logger: LoggerRecord
    can_bus: BusRecord
    frame_count: int
    channel_count: int
    channels: list[CarChannel]
    error: str | None = absent("why the file cannot be used")


class LoadedCar(NamedTuple):
    """The driven car with its compiled rules."""

    id: str
    file: CarFile
    plan: Plan


class Wiring(NamedTuple):
    """The messages and car that decode a bus."""

    messages: Mapping[int, Message]
    car: LoadedCar | None
    dbc_files: tuple[str, ...]
    """Names of the DBC files of the messages."""


NO_WIRING: Final = Wiring({}, None, ())


def load_cars(folder: Path, loaded_id: str = "") -> list[CarRecord]:
    """List the cars of the folder by id; raises `NoCarsDir`. Reads files: not for the event loop.

    A file that cannot be used is listed with its error and does not stop the others.
    """
    if not folder.is_dir():
        raise NoCarsDir(folder)
    paths = {path.stem: path for path in _find_files(folder)}
    records = []
    for id_ in sorted(paths)[:MAX_CARS]:
        try:
            car = load_car(paths[id_])
        except CarError as error:
            reason = str(error).removeprefix(f"{paths[id_].name}: ")
            records.append(_describe(id_, CarFile(car=carfile.Car()), loaded=False, error=reason))
        else:
            records.append(_describe(id_, car.file, loaded=bool(loaded_id) and id_ == loaded_id))
    return records


def load_car(path: Path) -> LoadedCar:
    """Load a car with its rules; raises `CarError` with the file and the place."""
    try:
        file = parse_car(_read(path))
        return LoadedCar(path.stem, file, compile_plan(file))
    except CarError as error:
        raise CarError(f"{path.name}: {error}") from None


def find_car(folder: Path, id_or_path: str) -> Path:
    """Find the file of a car by id or path; raises `CarError` if there is none."""
    for suffix in SUFFIXES if "/" not in id_or_path and "\\" not in id_or_path else ():
        if (path := folder / f"{id_or_path}{suffix}").is_file():
            return path
    if id_or_path.endswith(SUFFIXES) and (path := Path(id_or_path)).is_file():
        return path
    raise CarError("there is no such car")


def find_role(channel: str) -> str:
    """Return the role of a channel, one of `ROLES`, from the words of its name."""
    words = set(re.split(r"[^a-z]+", channel.lower()))
    return next((role for role, typical in _ROLE_WORDS if words & typical), OTHER)


def _find_files(folder: Path) -> Iterator[Path]:
    """Yield the car files; of two with one stem the ``.yaml`` file comes last and wins."""
    for suffix in reversed(SUFFIXES):
        for path in sorted(folder.glob(f"*{suffix}")):
            if not path.name.startswith("."):
                yield path


def _describe(id_: str, file: CarFile, *, loaded: bool, error: str | None = None) -> CarRecord:
    bus = file.can_bus
    channels = list(_list_channels(file))
    return CarRecord(
        **file.car.model_dump(exclude={"notes"}),
        id=id_,
        loaded=loaded,
        dash_logger=LoggerRecord.model_validate(file.dash_logger, from_attributes=True),
        can_bus=BusRecord(
            name=bus.name,
            bitrate_bps=bus.bitrate_bps or 0,
            frame_format=bus.frame_format,
            id_width=bus.id_width or 0,
        ),
        frame_count=len(file.frames),
        channel_count=len(channels),
        channels=channels,
        error=error,
    )


def _list_channels(file: CarFile) -> Iterator[CarChannel]:
    for number, frame in file.frames.items():
        for name in frame.channels:
            constraint = file.known_constraints.get(name)
            role = frame.roles.get(name) or (constraint.role if constraint else "")
            role = role if role in ROLES else find_role(name)
            yield CarChannel(name=name, frame_id=f"0x{number:x}", rate_hz=frame.rate_hz, role=role)


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CarError("not a regular file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CarError(error.strerror or "cannot be read") from None
