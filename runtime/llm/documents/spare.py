"""Room on the disk that is held by a file, so that there is some to delete with when it is full."""

import os
import shutil
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import Final

NAME: Final = "room-to-delete"
SHARE: Final = 16
"""Of a small disk the file takes one part in this many."""
_ZEROS: Final = bytes(1 << 20)


class Spare:
    """A file that nobody reads: it is removed for a delete, and made again after it.

    A delete writes about as many bytes to the log as it removes, since what is deleted is
    overwritten. Room that is merely left free would be taken by other programs. All methods
    block on the disk.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._path = folder / NAME
        self._most = most
        self.missing = most
        """Bytes that the file should hold and does not, as of the last look."""

    def keep(self, *, leave: int = 0) -> None:
        """Make the file unless it is there or the disk has no room; *leave* times its size stays.

        Nothing depends on success: `missing` tells.
        """
        with suppress(OSError):
            disk = shutil.disk_usage(self._path.parent)
            self.missing = min(self._most, disk.total // SHARE)
            if self._size() == self.missing:
                self.missing = 0
            elif disk.free >= (1 + leave) * self.missing:
                self._hold()

    def give_up(self) -> bool:
        """Let a delete have the room; False: there is none."""
        try:
            size = self._size()
            self._path.unlink()
        except OSError:  # somebody else removed it
            size = 0
        self.missing = self.missing or size or self._most
        return size > 0

    def _hold(self) -> None:
        try:
            self._path.unlink(missing_ok=True)  # also a link, whose target is none of ours
            with self._path.open("xb", buffering=0) as file:
                _fill(file, self.missing)
        except OSError:
            self._path.unlink(missing_ok=True)
        else:
            self.missing = 0

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def _fill(file: RawIOBase, size: int) -> None:
    reserve = getattr(os, "posix_fallocate", None)
    if reserve is not None:
        reserve(file.fileno(), 0, size)
        return
    left = size
    while left > 0:
        left -= file.write(_ZEROS[:left]) or 0
