"""Reads AiM's XRK and XRZ files with libxrk."""

import contextlib
import zlib
from typing import BinaryIO, Final

from runtime.bridge.formats import child_process
from runtime.bridge.formats.logger_laps import Lap
from runtime.bridge.formats.number_rows import LARGEST_FILE
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels, select_texts
from runtime.bridge.session.recording import Recording

_SESSION: Final = {"Driver": "driver", "Vehicle": "car", "Venue": "venue"}
_PACKED: Final = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
"""First bytes of a zlib stream, such as an XRZ file."""
_PIECE: Final = 1 << 16


def read_xrk(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read an AiM log in a child process. Raises `UnreadableRecording`."""
    _check_unpacked_size(stream)
    contents = child_process.read_in_child(stream, "xrk")
    created = contents.meta.get("created")
    begun = created if isinstance(created, float) else None
    comments, functions, laps, texts = (
        contents.meta.get(name) for name in ("comments", "functions", "laps", "texts")
    )
    return build_from_channels(
        contents.channels,
        contents.units,
        form="xrk",
        created=begun,
        offset=begun or 0.0,
        comments=[str(line) for line in comments] if isinstance(comments, list) else (),
        functions=functions if isinstance(functions, dict) else {},
        laps=[Lap(*lap) for lap in laps] if isinstance(laps, list) else (),
        facts=select_texts(texts, _SESSION) if isinstance(texts, dict) else {},
        options=options,
    )


def _check_unpacked_size(stream: BinaryIO) -> None:
    """Refuse a file that unpacks to too many bytes; leaves the stream at its start."""
    packed = stream.read(2) in _PACKED
    stream.seek(0)
    unpacker, size, rest = zlib.decompressobj(), 0, b""
    with contextlib.suppress(zlib.error):  # the reader takes the part before the damage
        while packed and not unpacker.eof and (rest := rest or stream.read(_PIECE)):
            size += len(unpacker.decompress(rest, _PIECE))
            rest = unpacker.unconsumed_tail
            if size > LARGEST_FILE:
                most = LARGEST_FILE // 2**20
                raise UnreadableRecording(f"the file unpacks to more than {most} MiB")
    stream.seek(0)
