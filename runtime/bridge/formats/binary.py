"""Reads pieces of binary files, none of them larger than the file itself."""

from typing import Any, BinaryIO

import numpy as np

from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import Numbers


class Pieces:
    """A seekable file, read by place and length."""

    def __init__(self, stream: BinaryIO, largest: int) -> None:
        """Raises `UnreadableRecording` for a file of more than *largest* bytes."""
        self._stream = stream
        self.size = stream.seek(0, 2)
        self.taken = 0
        """Bytes that were read in all."""
        if self.size > largest:
            raise UnreadableRecording(f"the file is larger than {largest // 2**20} MiB")

    def available(self, begin: int, length: int) -> int:
        """So many of these bytes does the file have."""
        return max(0, min(length, self.size - begin)) if begin >= 0 else 0

    def read(self, begin: int, length: int) -> bytes:
        """These bytes. Raises `UnreadableRecording` where the file does not have them."""
        if min(begin, length) < 0 or self.available(begin, length) < length:
            raise UnreadableRecording("the file is cut off or damaged")
        self.taken += length
        if self.taken > 4 * self.size + 65_536:  # places that overlap are read again and again
            raise UnreadableRecording("the file is damaged: its parts overlap")
        self._stream.seek(begin)
        return self._stream.read(length)


def text_of(raw: bytes) -> str:
    """A text that ends at the first zero, of bytes in UTF-8 or an older encoding."""
    raw = raw.partition(b"\0")[0]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return "".join(filter(str.isprintable, text)).strip()


def as_numbers(raw: np.ndarray[Any, Any]) -> Numbers:
    """The same in double precision; a NaN of a kind that no program writes is one, too."""
    with np.errstate(invalid="ignore"):
        return raw.astype(np.float64) + 0.0  # a sum is never of such a kind
