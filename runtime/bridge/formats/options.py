"""The options for reading a file, and the errors of reading."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from runtime.bridge.formats.encodings import CoordinateEncoding, TimeEncoding
from runtime.web.errors import ApiError


@dataclass(frozen=True)
class BusChoice:
    """The bus of a log as a request, a command or the settings describe it."""

    data_dir: Path
    """Holds the folders ``dbc`` and ``cars``."""
    dbc: tuple[str, ...] = ()
    """Ids or paths; later ones win. Empty: all DBC files in *data_dir*."""
    car: str | None = None
    """Id or path; None: no car file."""
    channel: str | None = None
    """As the log names it; None: all channels as one bus."""
    dbc_anywhere: bool = False
    """Paths may lead out of *data_dir*: the caller may read any file."""
    car_anywhere: bool = False
    sent: tuple[tuple[str, bytes], ...] = ()
    """DBC files sent with the log, name and content; they win over *dbc*."""


class Options(NamedTuple):
    """The options for reading a file; a reader uses those of its format."""

    coordinate_encoding: CoordinateEncoding | None = None
    """Of VBO files and tables; None: the numbers decide."""
    time_encoding: TimeEncoding | None = None
    bus: BusChoice | None = None
    """Required for CAN logs."""
    mapping: Mapping[str, str] | None = None
    """Channel by signal, as ``channel``, ``channel:unit`` or ``none``; None: as saved."""
    kept: Mapping[str, Mapping[str, str]] = {}
    """The saved mapping of each logger."""


NO_OPTIONS: Final = Options()


class UnreadableRecording(ApiError):
    """The file holds no recording that can be read."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "unparsable_file"


class UnparsableVbo(UnreadableRecording):
    """A VBO file without data, column names or any valid row."""

    code = "unparsable_vbo"


class FormatNotInstalled(UnreadableRecording):
    """The package that reads this format is not installed."""

    code = "format_not_installed"


class BadChannelMap(ApiError):
    """A mapping names a signal, channel or unit that the file does not have."""

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
