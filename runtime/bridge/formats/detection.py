"""Chooses the reader of a recording by the suffix and first bytes of the file.

To add a format, write a module in ``readers`` with a function of type `Read`; add it to `FORMATS`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from runtime.bridge.formats.can_recording import ReadFrames, read_can_log
from runtime.bridge.formats.number_rows import LARGEST_FILE
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnparsableVbo, UnreadableRecording
from runtime.bridge.formats.readers.can_logs import read_asc, read_blf, read_candump, read_trc
from runtime.bridge.formats.readers.csv_table import read_csv
from runtime.bridge.formats.readers.fit import read_fit
from runtime.bridge.formats.readers.gpx_nmea import read_gpx, read_nmea
from runtime.bridge.formats.readers.iracing import read_ibt
from runtime.bridge.formats.readers.mf4 import read_mf4
from runtime.bridge.formats.readers.motec import read_ld
from runtime.bridge.formats.readers.parquet import read_archive, read_parquet
from runtime.bridge.formats.readers.rcz import read_rcz
from runtime.bridge.formats.readers.vbo import read_vbo
from runtime.bridge.formats.readers.xrk import read_xrk
from runtime.bridge.session.recording import Recording

Read: TypeAlias = Callable[[BinaryIO, Options], Recording]
"""Reads a recording from a seekable stream at its start; raises `UnreadableRecording`."""
_PACKED: Final = (
    (b"PK\x03\x04", "a ZIP archive; unpack it first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
)
_NO_TABLE: Final = (
    *_PACKED,
    (b"MDF ", "an MDF log; name it .mf4"),
    (b"LOGG", "a BLF log; name it .blf"),
)
_NO_TEXT: Final = (
    *_NO_TABLE,
    (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


class Format(NamedTuple):
    """A kind of file."""

    read: Read
    refused: tuple[tuple[bytes, str], ...] = _NO_TEXT
    """First bytes of files of other kinds, with a description."""


def _describe_can_log(form: str, read_frames: ReadFrames, *, binary: bool = False) -> Format:
    read = partial(read_can_log, form=form, read_frames=read_frames)
    return Format(read, _PACKED if binary else _NO_TEXT)


_CSV: Final = Format(read_csv, _NO_TABLE)
_NMEA: Final = Format(read_nmea)
FORMATS: Final[Mapping[str, Format]] = {
    ".vbo": Format(read_vbo),
    ".csv": _CSV,
    ".tsv": _CSV,
    ".txt": _CSV,
    ".log": _describe_can_log("candump", read_candump),
    ".asc": _describe_can_log("asc", read_asc),
    ".trc": _describe_can_log("trc", read_trc),
    ".blf": _describe_can_log("blf", read_blf, binary=True),
    ".mf4": Format(read_mf4, _PACKED),
    ".xrk": Format(read_xrk, _PACKED),
    ".xrz": Format(read_xrk, _PACKED),
    ".nmea": _NMEA,
    ".gpx": Format(read_gpx, _NO_TABLE),
    ".fit": Format(read_fit, _PACKED),
    ".ld": Format(read_ld, _PACKED),
    ".rcz": Format(read_rcz, ()),
    ".ibt": Format(read_ibt, _PACKED),
    ".parquet": Format(read_parquet, _PACKED),
    ".zip": Format(read_archive, ()),
}
"""By suffix; text files that begin like another format are read as that format."""
SUFFIXES: Final = frozenset(FORMATS)
VBO_SUFFIXES: Final = frozenset({".vbo"})
MAX_BYTES: Final = LARGEST_FILE
_HEAD_BYTES: Final = 4096
_BOM: Final = b"\xef\xbb\xbf"
_RACECHRONO: Final = b"This file is created using RaceChrono"
_SENTENCE: Final = re.compile(rb"\$[A-Z]{2}[A-Z]{3},")
_RACECAPTURE: Final = (b'"Interval"', b"Interval")


def read_recording(stream: BinaryIO, name: str, options: Options = NO_OPTIONS) -> Recording:
    """Read a recording from a seekable stream; only the suffix of *name* counts.

    Raises `UnreadableRecording` with a text for the client.
    """
    suffix = PurePath(name).suffix.lower()
    first = stream.read(_HEAD_BYTES)
    stream.seek(0)
    form = _choose(suffix, first)
    try:
        if form is None:
            suffixes = " ".join(sorted(SUFFIXES))
            raise UnreadableRecording(f"the file is of no known format: {suffixes}")
        for magic, kind in form.refused:
            if first.startswith(magic):
                raise UnreadableRecording(f"the file is {kind}")
        recording = form.read(stream, options)
    except UnreadableRecording as error:
        if suffix != ".vbo":
            raise
        raise UnparsableVbo(str(error)) from error
    mapped = {entry.channel for entry in recording.mapping.values()}
    unmapped = tuple(name for name in recording.unmapped if name not in mapped)
    return replace(recording, unmapped=unmapped)


def _choose(suffix: str, first: bytes) -> Format | None:
    """Choose by suffix, unless the text is plainly of another format."""
    form = FORMATS.get(suffix)
    text = first.removeprefix(_BOM).lstrip()
    if suffix == ".vbo" and text.startswith(_RACECHRONO):
        head = first.lower()
        is_vbo = b"[header]" in head or b"[column names]" in head
        return form if is_vbo else _CSV
    if suffix == ".log" and text.startswith(_RACECAPTURE):
        return _CSV
    if suffix in (".log", ".txt") and _SENTENCE.match(text):
        return _NMEA
    return form
