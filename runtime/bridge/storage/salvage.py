"""Salvage of damaged database files: keeps copies and finds the readable part of logs."""

import contextlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Final

import numpy as np

from runtime.bridge.session.names import find_free_name
from runtime.bridge.storage.errors import StoreUnusable

log = logging.getLogger(__name__)

_AT_BYTE: Final = re.compile(r"entry at byte position (\d+)")
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_COPY: Final = 1 << 20
_ROUNDS: Final = 1 << 16


class FrameCount:
    """The number of acknowledged frames, in a file next to the database and outside its log.

    It is written after each commit, and before one that deletes, which alone syncs it. It survives
    the process; after a power cut it may be lower than the number of stored frames, never higher.
    """

    def __init__(self, path: Path) -> None:
        """Count for the database at *path*, which may not exist yet."""
        self._path = path.with_name(path.name + ".count")
        if not path.exists():
            self._path.unlink(missing_ok=True)
        self._file: FileIO | None = None
        self._written = -1

    def read(self) -> int:
        """Read the last number; 0: none."""
        try:
            return int(self._path.read_text("ascii"))
        except (OSError, ValueError):
            return 0

    def write(self, count: int) -> None:
        """Write the number; on a full disk the previous one stays."""
        if count == self._written:
            return
        with contextlib.suppress(OSError):
            if self._file is None:
                self._path.touch(mode=0o600)
                self._file = FileIO(self._path, "r+")
            self._file.seek(0)
            self._file.write(b"%020d\n" % count)
            if count < self._written:
                os.fsync(self._file.fileno())
            self._written = count

    def set_aside(self) -> str:
        """Rename the file. Return its new name."""
        aside = make_aside_path(self._path)
        self._path.rename(aside)
        return aside.name

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def make_aside_path(path: Path) -> Path:
    """Make a free path next to *path* that marks the file as damaged, with the present time."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    first = f"{path.name}.corrupt-{moment}"
    return path.with_name(find_free_name(first, lambda name: path.with_name(name).exists()))


def set_aside(path: Path, ends: tuple[str, ...]) -> str:
    """Rename the database and its files with *ends*. Return the new name of the first."""
    kept = None
    for end in ("", *ends):
        file = path.with_name(path.name + end)
        if file.exists():
            aside = make_aside_path(file)
            file.rename(aside)
            kept = kept or aside.name
    log.error("the database is damaged; it was kept as %s and a new one was started", kept)
    return kept or path.name


def keep_copy(path: Path) -> str:
    """Copy a file before its repair. Raises `StoreUnusable` if the disk is full."""
    aside = make_aside_path(path)
    try:
        shutil.copy2(path, aside)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise StoreUnusable(
            "the database of BRIDGE_DB is damaged and cannot be copied: free some disk space"
        ) from error
    return aside.name


def truncate_to_valid(log_file: Path, message: str, opens: Callable[[], bool]) -> int:
    """Truncate *log_file* to the longest length with which the database *opens*. Return it.

    The byte named in the engine's *message* is tried first. *opens* must not change anything.
    """
    whole = log_file.with_name(log_file.name + ".whole")
    shutil.copyfile(log_file, whole)
    try:
        named = _AT_BYTE.search(message)
        high = whole.stat().st_size
        if named is not None:
            high = min(high, int(named[1]))
            if _opens_cut(log_file, whole, high, opens):
                return high
        low = 0  # an empty log leaves the main file alone
        while high - low > 1:
            middle = (low + high) // 2
            if _opens_cut(log_file, whole, middle, opens):
                low = middle
            else:
                high = middle
        _cut(log_file, whole, low)
        return low
    finally:
        whole.unlink(missing_ok=True)


def count_logged_pages(log_file: Path) -> int:
    """Count the pages of SQLite's log that belong to commits by their headers, not checksums.

    SQLite reads up to the first page with a wrong checksum and silently drops the rest. If this
    number is larger than the one SQLite reports, commits may have been lost.
    """
    try:
        data = np.fromfile(log_file, np.uint8)
    except OSError:
        return 0
    if len(data) < _WAL_HEADER + _FRAME_HEADER:
        return 0
    page = int.from_bytes(data[8:12].tobytes(), "big")
    if not 512 <= page <= 65536:
        page = 4096
    stride = _FRAME_HEADER + page
    count = (len(data) - _WAL_HEADER) // stride
    frames = data[_WAL_HEADER : _WAL_HEADER + count * stride].reshape(count, stride)
    if not count:
        return 0
    salts, commits = frames[:, 8:16], frames[:, 4:8].any(axis=1)
    if _is_valid(data[:_WAL_HEADER].tobytes()) and (salts[0] != data[16:24]).any():
        return 0  # the log was restarted, and nothing was committed since
    mine = (salts == salts[0]).all(axis=1)
    # The newest pages are followed by those of earlier rounds, with a slightly lower salt.
    rounds = salts[:, :4].copy().view(">u4")[:, 0].astype(np.int64)
    earlier = ((rounds[0] - rounds) % (1 << 32) - 1) < _ROUNDS
    expected = np.flatnonzero((mine & commits) | ~(mine | earlier))
    return int(expected[-1]) + 1 if len(expected) else 0


def _is_valid(header: bytes) -> bool:
    """Whether the checksum of a log's header is correct."""
    order = "big" if header[3] & 1 else "little"
    words = [int.from_bytes(header[at : at + 4], order) for at in range(0, 24, 4)]  # type: ignore[arg-type]
    first = second = 0
    for at in range(0, 6, 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    stored = (int.from_bytes(header[24:28], "big"), int.from_bytes(header[28:32], "big"))
    return stored == (first, second)


def _opens_cut(log_file: Path, whole: Path, length: int, opens: Callable[[], bool]) -> bool:
    _cut(log_file, whole, length)
    return opens()


def _cut(log_file: Path, whole: Path, length: int) -> None:
    with whole.open("rb") as source, log_file.open("wb") as target:
        left = length
        while left and (part := source.read(min(left, _COPY))):
            target.write(part)
            left -= len(part)
