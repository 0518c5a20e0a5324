"""Reads pieces of binary files, never more than the file holds."""

from typing import Any, BinaryIO

import numpy as np

from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import Numbers


class Pieces:
    """A seekable file, read by position and length."""

    def __init__(self, stream: BinaryIO, largest: int) -> None:
        """Raises `UnreadableRecording` for a file of more than *largest* bytes."""
        self._stream = stream
        self.size = stream.seek(0, 2)
        self.taken = 0
        """Bytes read in total."""
        if self.size > largest:
            raise UnreadableRecording(f"the file is larger than {largest // 2**20} MiB")

    def count_available(self, begin: int, length: int) -> int:
        """Return how many of these bytes the file has."""
        return max(0, min(length, self.size - begin)) if begin >= 0 else 0

    def read(self, begin: int, length: int) -> bytes:
        """Read these bytes. Raises `UnreadableRecording` if the file lacks them."""
        if min(begin, length) < 0 or self.count_available(begin, length) < length:
            raise UnreadableRecording("the file is cut off or damaged")
        self.taken += length
        if self.taken > 4 * self.size + 65_536:  # overlapping parts
            raise UnreadableRecording("the file is damaged: its parts overlap")
        self._stream.seek(begin)
        return self._stream.read(length)


def decode_text(raw: bytes) -> str:
    """Decode a text up to the first zero, from UTF-8 or Windows-1252."""
    raw = raw.partition(b"\0")[0]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return "".join(filter(str.isprintable, text)).strip()


def to_numbers(raw: np.ndarray[Any, Any]) -> Numbers:
    """Convert to double precision with ordinary NaNs."""
    with np.errstate(invalid="ignore"):
        return raw.astype(np.float64) + 0.0  # the sum turns signalling NaNs into quiet ones
