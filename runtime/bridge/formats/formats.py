"""Chooses the reader of a recording by the file's name and first bytes.

To add a format, write a module with one function of the type `Read` and name it in `FORMATS`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePath
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from runtime.bridge.formats.canlog import ReadFrames, read_log
from runtime.bridge.formats.logs import asc_frames, blf_frames, candump_frames, trc_frames
from runtime.bridge.formats.mf4 import read_mf4
from runtime.bridge.formats.options import (
    NO_OPTIONS,
    Options,
    UnparsableVbo,
    UnreadableRecording,
)
from runtime.bridge.formats.racechrono import is_racechrono, read_racechrono
from runtime.bridge.formats.rows import LARGEST_FILE
from runtime.bridge.formats.vbo.reader import read_vbo
from runtime.bridge.formats.xrk import read_xrk
from runtime.bridge.session.recording import Recording

Read: TypeAlias = Callable[[BinaryIO, Options], Recording]
"""Reads a recording from a seekable stream at its start; raises `UnreadableRecording` in words."""


class Format(NamedTuple):
    """A kind of file."""

    read: Read
    binary: bool = False


def _log(form: str, read_frames: ReadFrames, *, binary: bool = False) -> Format:
    return Format(partial(read_log, form=form, read_frames=read_frames), binary)


FORMATS: Final[Mapping[str, Format]] = {
    ".vbo": Format(read_vbo),
    ".csv": Format(read_racechrono),
    ".log": _log("candump", candump_frames),
    ".asc": _log("asc", asc_frames),
    ".trc": _log("trc", trc_frames),
    ".blf": _log("blf", blf_frames, binary=True),
    ".mf4": Format(read_mf4, binary=True),
    ".xrk": Format(read_xrk, binary=True),
    ".xrz": Format(read_xrk, binary=True),
}
"""By suffix; a RaceChrono export is known by its first line, too, whatever its suffix."""
SUFFIXES: Final = frozenset(FORMATS)
VBO_SUFFIXES: Final = frozenset({".vbo"})
MAX_BYTES: Final = LARGEST_FILE
_SAMPLED: Final = 4096
_PACKED: Final = (
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
)
_NO_TEXT: Final = (
    *_PACKED,
    (b"MDF ", "an MDF log; name it .mf4"),
    (b"LOGG", "a BLF log; name it .blf"),
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


def read_recording(stream: BinaryIO, name: str, options: Options = NO_OPTIONS) -> Recording:
    """Read a recording from a seekable stream; *name* is only asked for its suffix.

    Raises `UnreadableRecording` with a text for the client.
    """
    suffix = PurePath(name).suffix.lower()
    form = FORMATS.get(suffix)
    first = stream.read(_SAMPLED)
    stream.seek(0)
    try:
        for magic, what in _PACKED if form and form.binary else _NO_TEXT:
            if first.startswith(magic):
                raise UnreadableRecording(f"the file is {what}")
        if suffix in (".csv", ".vbo") and is_racechrono(first):
            return read_racechrono(stream, options)
        if form is None:
            known = " ".join(sorted(SUFFIXES))
            raise UnreadableRecording(f"the file is of no known format: {known}")
        return form.read(stream, options)
    except UnreadableRecording as error:
        if suffix != ".vbo":
            raise
        raise UnparsableVbo(str(error)) from error
