"""Reads the folder of cars: what each one is, and the pipeline of the one that is driven."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.can.carfile import CanBus, Car, CarError, CarFile, DashLogger, parse_car
from runtime.bridge.can.roles import ROLES, role_of
from runtime.bridge.can.rules import Plan, compile_plan
from runtime.bridge.can.strictyaml import MAX_BYTES
from runtime.web.errors import NotFound

SUFFIXES: Final = (".yaml", ".yml")
MAX_CARS: Final = 1000
"""Further files are not read."""


class NoCarsDir(NotFound):
    """The folder of cars is not there."""

    code = "no_cars_dir"

    def __init__(self, cars_dir: Path) -> None:
        super().__init__("the folder of cars is missing")
        self.cars_dir = str(cars_dir)


class Channel(NamedTuple):
    """A channel of a car's bus."""

    name: str
    frame_id: str
    """Of the message that carries it, hexadecimal with prefix."""
    rate_hz: float | None
    role: str


@dataclass(frozen=True)
class CarEntry:
    """One car as a list shows it."""

    id: str
    loaded: bool
    car: Car
    dash_logger: DashLogger
    can_bus: CanBus
    frame_count: int
    channels: tuple[Channel, ...]
    """In the order of the file."""
    error: str | None = None
    """Why the file cannot be used; the rest is empty then."""

    @property
    def channel_count(self) -> int:
        """How many channels all messages carry together."""
        return len(self.channels)


class LoadedCar(NamedTuple):
    """The car that is driven."""

    id: str
    file: CarFile
    plan: Plan


def load_cars(folder: Path, loaded_id: str = "") -> list[CarEntry]:
    """Every car of the folder by id; raises `NoCarsDir`. Touches the disk: not for the event loop.

    A file that cannot be used is listed with its error and never stops the others.
    """
    if not folder.is_dir():
        raise NoCarsDir(folder)
    found = {path.stem: path for path in _files(folder)}
    return [_entry(id_, found[id_], loaded_id) for id_ in sorted(found)[:MAX_CARS]]


def load_car(path: Path) -> LoadedCar:
    """Read one car with its pipeline; raises `CarError`, which names the file and the place."""
    try:
        file = parse_car(_read(path))
        return LoadedCar(path.stem, file, compile_plan(file))
    except CarError as error:
        raise CarError(f"{path.name}: {error}") from None


def find_car(folder: Path, id_or_path: str) -> Path:
    """The file of a car given by id or by path; raises `CarError` where there is none."""
    for suffix in SUFFIXES if "/" not in id_or_path and "\\" not in id_or_path else ():
        if (named := folder / f"{id_or_path}{suffix}").is_file():
            return named
    if id_or_path.endswith(SUFFIXES) and (path := Path(id_or_path)).is_file():
        return path
    raise CarError("there is no such car")


def _files(folder: Path) -> Iterator[Path]:
    """The car files; of two with one stem the one that ends in ``.yaml`` comes last and counts."""
    for suffix in reversed(SUFFIXES):
        for path in sorted(folder.glob(f"*{suffix}")):
            if not path.name.startswith("."):
                yield path


def _entry(id_: str, path: Path, loaded_id: str) -> CarEntry:
    try:
        file = parse_car(_read(path))
        compile_plan(file)
    except CarError as error:
        return CarEntry(id_, False, Car(), DashLogger(), CanBus(), 0, (), str(error))
    return CarEntry(
        id_,
        bool(loaded_id) and id_ == loaded_id,
        file.car,
        file.dash_logger,
        file.can_bus,
        len(file.frames),
        tuple(_channels(file)),
    )


def _channels(file: CarFile) -> Iterator[Channel]:
    for number, frame in file.frames.items():
        for name in frame.channels:
            constraint = file.known_constraints.get(name)
            said = frame.roles.get(name) or (constraint.role if constraint else "")
            role = said if said in ROLES else role_of(name)
            yield Channel(name, f"0x{number:x}", frame.rate_hz, role)


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise CarError("not a regular file")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CarError(error.strerror or "cannot be read") from None
