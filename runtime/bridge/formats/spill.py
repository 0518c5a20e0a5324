"""Columns of a large recording in a temporary file: the system takes its memory back at will."""

import contextlib
import functools
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from runtime.bridge.formats.vbo.errors import VboError
from runtime.bridge.session.recording import Numbers

_NUMBER: Final = 8
_EMPTY: Final = np.empty(0)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VboError("there is no room for so large a file among the temporary files") from error


class Spill:
    """A `Shelf` in a file that has no name and goes with the last view; made when it is needed.

    Where systems cannot take memory back early they do so when they are short of it. Raises
    `VboError` where the disk is full.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._end = 0
        self._views: dict[int, tuple[Numbers, int]] = {}
        self._maps: list[mmap.mmap] = []

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)

    def reserve(self, count: int) -> int:
        """See `Shelf`."""
        place = self._end
        step = mmap.ALLOCATIONGRANULARITY
        self._end += -(-count * _NUMBER // step) * step
        with _explained():
            if self._file is None:
                with tempfile.TemporaryFile() as file:
                    self._file = os.dup(file.fileno())
            os.truncate(self._file, self._end)
        return place

    def write(self, place: int, values: Numbers) -> None:
        """See `Shelf`."""
        with _explained(), os.fdopen(self._descriptor(), "r+b", closefd=False) as file:
            file.seek(place)
            file.write(np.ascontiguousarray(values).data)

    def view(self, place: int, count: int) -> Numbers:
        """See `Shelf`."""
        if not count:
            return _EMPTY
        values, mapped = self._mapped(place, count)
        self._views[id(values)] = values, place
        self._maps.append(mapped)
        return values

    def again(self, values: Numbers) -> Callable[[], Numbers] | None:
        """See `Shelf`."""
        known = self._views.get(id(values))
        return functools.partial(self._anew, known[1], len(values)) if known else None

    def rest(self) -> None:
        """See `Shelf`."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)

    def _anew(self, place: int, count: int) -> Numbers:
        return self._mapped(place, count)[0]

    def _mapped(self, place: int, count: int) -> tuple[Numbers, mmap.mmap]:
        size = count * _NUMBER
        mapped = mmap.mmap(self._descriptor(), size, access=mmap.ACCESS_READ, offset=place)
        return np.frombuffer(mapped, np.float64), mapped

    def _descriptor(self) -> int:
        if self._file is None:
            raise ValueError("nothing was reserved")
        return self._file
