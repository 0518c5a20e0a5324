"""Chooses the reader of a recording by the file's name and first bytes."""

from typing import BinaryIO, ClassVar, Final

from runtime.bridge.imports import racechrono
from runtime.bridge.imports.racechrono import RaceChronoError
from runtime.bridge.telemetry.values import Recording
from runtime.bridge.vbo.clock import TimeEncoding
from runtime.bridge.vbo.errors import VboError
from runtime.bridge.vbo.position import CoordinateEncoding
from runtime.bridge.vbo.read import read as read_vbo
from runtime.bridge.vbo.table import LARGEST_FILE
from runtime.web.errors import ApiError

VBO_SUFFIXES: Final = frozenset({".vbo"})
SUFFIXES: Final = frozenset({".vbo", ".csv"})
MAX_BYTES: Final = LARGEST_FILE
_LOOKED_AT: Final = 4096
_OTHERS: Final = (
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"MDF ", "an MDF log, which is not imported"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


class UnreadableRecording(ApiError):
    """The file was opened, and holds no recording that can be read."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "unparsable_file"


class UnparsableVbo(UnreadableRecording):
    """A VBO file without data, column names or a single good row."""

    code = "unparsable_vbo"


def read_recording(
    stream: BinaryIO,
    name: str,
    *,
    coordinate_encoding: CoordinateEncoding | None = None,
    time_encoding: TimeEncoding | None = None,
) -> Recording:
    """Read a recording from a seekable stream; *name* is only asked for its suffix.

    The encodings are for VBO files. Raises UnreadableRecording with a text for the client.
    """
    first = stream.read(_LOOKED_AT)
    stream.seek(0)
    vbo = name.lower().endswith(".vbo")
    failure = UnparsableVbo if vbo else UnreadableRecording
    for magic, what in _OTHERS:
        if first.startswith(magic):
            raise failure(f"the file is {what}")
    try:
        if first.removeprefix(b"\xef\xbb\xbf").startswith(racechrono.OPENING) and not _is_vbo(
            first
        ):
            return racechrono.read(stream)
        if vbo:
            return read_vbo(
                stream, coordinate_encoding=coordinate_encoding, time_encoding=time_encoding
            )
    except (VboError, RaceChronoError) as error:
        raise failure(str(error)) from error
    raise failure("the file is of no known format: VBO, or RaceChrono's CSV of format 3")


def _is_vbo(first: bytes) -> bool:
    return b"[header]" in first.lower() or b"[column names]" in first.lower()
