"""Decides which databases and which car file a CAN log is decoded with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.bridge.can.carfile import CarError
from runtime.bridge.can.cars import SUFFIXES, find_car, load_car
from runtime.bridge.can.dbc import load_dbcs, merged
from runtime.bridge.formats.canlog.recording import Bus
from runtime.bridge.formats.errors import BusNotFound


@dataclass(frozen=True)
class BusChoice:
    """What a request, a command or the settings say about the bus of a log."""

    data_dir: Path
    """With the folders ``dbc`` and ``cars``."""
    dbc: tuple[str, ...] = ()
    """Ids or paths; a later one wins. Empty: the database that the bridge ships with."""
    car: str | None = None
    """Id or path; None: no car file."""
    channel: str | None = None
    """As the log names it; None: all of them as one bus."""
    dbc_anywhere: bool = False
    """Paths may lead out of *data_dir*: whoever chose them may read any file."""
    car_anywhere: bool = False


def load_bus(choice: BusChoice) -> Bus:
    """Read the files of a choice; may take a second. Raises `BusNotFound`."""
    folder = choice.data_dir / "dbc"
    if choice.dbc:
        paths = [_dbc(folder, name, choice) for name in choice.dbc]
    else:
        paths = sorted(folder.glob("*.dbc"))
        if not paths:
            raise BusNotFound("there is no DBC file to decode the log with; name one", "dbc")
    packs = load_dbcs(paths)
    if packs.failures:
        raise BusNotFound(f"dbc: {packs.failures[0]}", "dbc")
    names = tuple(pack.name for pack in packs.packs)
    if choice.car is None:
        return Bus(merged(packs.packs), None, names)
    try:
        if not choice.car_anywhere:
            _check_inside(choice.data_dir, choice.car, "car", SUFFIXES)
        car = load_car(find_car(choice.data_dir / "cars", choice.car))
    except CarError as error:
        raise BusNotFound(f"car: {error}", "car") from None
    return Bus(merged(packs.packs), car.plan, names, car.id)


def choose(
    data_dir: Path,
    *,
    asked_dbc: Sequence[str] = (),
    asked_car: str | None = None,
    channel: str | None = None,
    usual_dbc: Sequence[str] = (),
    usual_car: str | None = None,
) -> BusChoice:
    """What was asked for, else what is usual; usual files may lie anywhere."""
    return BusChoice(
        data_dir,
        tuple(asked_dbc or usual_dbc),
        asked_car if asked_car is not None else usual_car,
        channel,
        dbc_anywhere=not asked_dbc,
        car_anywhere=asked_car is None,
    )


def car_asked(folder: Path, car: str | None) -> str | None:
    """*car* where it names a car file; None where it is just what a car is called."""
    if not car:
        return None
    if car.endswith(SUFFIXES):
        return car
    plain = "/" not in car and "\\" not in car and "\0" not in car
    there = plain and any((folder / f"{car}{suffix}").is_file() for suffix in SUFFIXES)
    return car if there else None


def car_driven(called: str | None, facts: Mapping[str, str]) -> str | None:
    """What a session keeps as its car: its name, else its car file's id or what the file says."""
    decoded = facts.get("car", "none")
    return decoded if decoded != "none" and (not called or called.endswith(SUFFIXES)) else called


def _dbc(folder: Path, name: str, choice: BusChoice) -> Path:
    if "/" not in name and "\\" not in name:
        for known in (folder / f"{name}.dbc", folder / name):
            if known.suffix == ".dbc" and known.is_file():
                return known
    if not choice.dbc_anywhere:
        _check_inside(choice.data_dir, name, "dbc", (".dbc",))
    path = Path(name)
    if name.endswith(".dbc") and path.is_file():
        return path
    raise BusNotFound(f"dbc: there is no {Path(name).name}", "dbc")


def _check_inside(data_dir: Path, name: str, param: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a path that leads out of the data folder, whether or not there is a file."""
    if not name.endswith(suffixes) or ("/" not in name and "\\" not in name):
        return
    try:
        inside = Path(name).resolve().is_relative_to(data_dir.resolve())
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        raise BusNotFound(f"{param}: give an id, or a path in the data folder", param)
