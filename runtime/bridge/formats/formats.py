"""Chooses the reader of a recording by the file's name and first bytes."""

import dataclasses
from collections.abc import Callable
from pathlib import PurePath
from typing import BinaryIO, Final

from runtime.bridge.formats import racechrono
from runtime.bridge.formats.canbus import BusChoice, load_bus
from runtime.bridge.formats.canlog.readers.asc import AscReader
from runtime.bridge.formats.canlog.readers.blf import BlfReader
from runtime.bridge.formats.canlog.readers.candump import CandumpReader
from runtime.bridge.formats.canlog.readers.trc import TrcReader
from runtime.bridge.formats.canlog.recording import record_log
from runtime.bridge.formats.canlog.values import LogReader
from runtime.bridge.formats.channels import record_channels
from runtime.bridge.formats.errors import (
    BusNotFound,
    FormatNotInstalled,
    UnparsableVbo,
    UnreadableRecording,
)
from runtime.bridge.formats.foreign import Foreign, read_apart
from runtime.bridge.formats.lapmarks import Lap
from runtime.bridge.formats.mf4 import Mf4Reader
from runtime.bridge.formats.naming import said
from runtime.bridge.formats.rows import LARGEST_FILE
from runtime.bridge.formats.vbo.encodings import CoordinateEncoding, TimeEncoding
from runtime.bridge.formats.vbo.reader import read_vbo
from runtime.bridge.session.recording import Recording

__all__ = [
    "MAX_BYTES",
    "SUFFIXES",
    "VBO_SUFFIXES",
    "BusNotFound",
    "FormatNotInstalled",
    "UnparsableVbo",
    "UnreadableRecording",
    "read_recording",
]
_LOGS: Final[dict[str, tuple[str, Callable[[BinaryIO, str | None], LogReader]]]] = {
    ".log": ("candump", CandumpReader),
    ".asc": ("asc", AscReader),
    ".blf": ("blf", BlfReader),
    ".trc": ("trc", TrcReader),
}
_SESSION: Final = {"Driver": "driver", "Vehicle": "car", "Venue": "venue"}
_AIM: Final = frozenset({".xrk", ".xrz"})
VBO_SUFFIXES: Final = frozenset({".vbo"})
SUFFIXES: Final = frozenset({".vbo", ".csv", ".mf4", *_LOGS, *_AIM})
MAX_BYTES: Final = LARGEST_FILE
_LOOKED_AT: Final = 4096
_PACKED: Final = (
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
)
_OTHERS: Final = (
    *_PACKED,
    (b"MDF ", "an MDF log; name it .mf4"),
    (b"LOGG", "a BLF log; name it .blf"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)
_KNOWN: Final = (
    "VBO, RaceChrono's CSV of format 3, candump (.log), Vector ASC and BLF, PEAK TRC, MDF 4, AiM"
)


def read_recording(
    stream: BinaryIO,
    name: str,
    *,
    coordinate_encoding: CoordinateEncoding | None = None,
    time_encoding: TimeEncoding | None = None,
    bus: BusChoice | None = None,
) -> Recording:
    """Read a recording from a seekable stream; *name* is only asked for its suffix.

    The encodings are for VBO files, *bus* is for CAN logs, which cannot be read without it.
    Raises UnreadableRecording with a text for the client.
    """
    suffix = PurePath(name).suffix.lower()
    first = stream.read(_LOOKED_AT)
    stream.seek(0)
    vbo = suffix == ".vbo"
    failure = UnparsableVbo if vbo else UnreadableRecording
    binary = suffix in (".blf", ".mf4", *_AIM)
    for magic, what in _PACKED if binary else _OTHERS:
        if first.startswith(magic):
            raise failure(f"the file is {what}")
    try:
        if suffix in _LOGS:
            form, reader = _LOGS[suffix]
            chosen = _needed(bus)
            return record_log(reader(stream, chosen.channel), load_bus(chosen), form)
        if suffix == ".mf4":
            return _mf4(stream, bus)
        if suffix in _AIM:
            return _aim(read_apart(stream, "xrk"))
        if _is_racechrono(first):
            return racechrono.read(stream)
        if vbo:
            recording = read_vbo(
                stream,
                coordinate_encoding=coordinate_encoding,
                time_encoding=time_encoding,
            )
            return dataclasses.replace(recording, facts={"format": "vbo", **recording.facts})
    except UnreadableRecording as error:
        if not vbo:
            raise
        raise UnparsableVbo(str(error)) from error
    raise failure(f"the file is of no known format: {_KNOWN}")


def _needed(bus: BusChoice | None) -> BusChoice:
    if bus is None:
        raise UnreadableRecording("a CAN log needs a DBC file to be read with")
    return bus


def _is_racechrono(first: bytes) -> bool:
    head = first.lower()
    own = b"[header]" in head or b"[column names]" in head
    return first.removeprefix(b"\xef\xbb\xbf").startswith(racechrono.OPENING) and not own


def _mf4(stream: BinaryIO, bus: BusChoice | None) -> Recording:
    found = read_apart(stream, "mf4")
    if not found.meta.get("own"):
        chosen = _needed(bus)
        return record_log(Mf4Reader(found, chosen.channel), load_bus(chosen), "mf4")
    created = found.meta.get("created")
    return record_channels(
        found.channels,
        found.units,
        form="mf4",
        created=created if isinstance(created, float) else None,
    )


def _aim(found: Foreign) -> Recording:
    created = found.meta.get("created")
    begun = created if isinstance(created, float) else None
    comments, functions, laps, told = (
        found.meta.get(name) for name in ("comments", "functions", "laps", "told")
    )
    return record_channels(
        found.channels,
        found.units,
        form="xrk",
        created=begun,
        offset=begun or 0.0,
        comments=[str(line) for line in comments] if isinstance(comments, list) else (),
        functions=functions if isinstance(functions, dict) else {},
        laps=[Lap(*lap) for lap in laps] if isinstance(laps, list) else (),
        facts=said(told, _SESSION) if isinstance(told, dict) else {},
    )
