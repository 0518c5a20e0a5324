"""How a file is to be read, and the errors of reading it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from runtime.bridge.formats.encodings import CoordinateEncoding, TimeEncoding
from runtime.web.errors import ApiError


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
    sent: tuple[tuple[str, bytes], ...] = ()
    """DBC files that came with the log, name and content; they win over those that are named."""


class Options(NamedTuple):
    """How a file is to be read; a reader uses what concerns its format."""

    coordinate_encoding: CoordinateEncoding | None = None
    """Of a VBO file; None: its numbers decide."""
    time_encoding: TimeEncoding | None = None
    bus: BusChoice | None = None
    """Of a CAN log, which cannot be read without one."""
    mapping: Mapping[str, str] | None = None
    """Channels by signal, as ``channel``, ``channel:unit`` or ``none``; None: as kept."""
    kept: Mapping[str, Mapping[str, str]] = {}
    """The mapping that was last given for files of each logger."""


NO_OPTIONS: Final = Options()


class UnreadableRecording(ApiError):
    """The file was opened, and holds no recording that can be read."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "unparsable_file"


class UnparsableVbo(UnreadableRecording):
    """A VBO file without data, column names or a single good row."""

    code = "unparsable_vbo"


class FormatNotInstalled(UnreadableRecording):
    """The format is known, and the package that reads it is not installed."""

    code = "format_not_installed"


class BadChannelMap(ApiError):
    """A mapping names a signal, a channel or a unit that the file does not have."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "bad_mapping"

    def __init__(self, message: str, signal: str) -> None:
        super().__init__(message)
        self.param = f"mapping.{signal}"


class BusNotFound(UnreadableRecording):
    """The DBC or car file for a CAN log is missing or cannot be used."""

    code = "bus_not_found"

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param
