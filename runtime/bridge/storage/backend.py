"""What a database engine must be able to do for the store; everything else is shared code."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers, Samples
from runtime.bridge.storage.records import Backend

Column: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""Numbers (NaN is null), whole numbers, or texts (None is null)."""
Columns: TypeAlias = Mapping[str, Column]
Row: TypeAlias = tuple[Any, ...]


UNKNOWN_MEMORY: Final = 4 << 30


def find_memory() -> int:
    """Bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return UNKNOWN_MEMORY


class FrameRun(NamedTuple):
    """Frames of one session that follow each other."""

    key: int
    first: int
    """The number of the first one."""
    numbers: Numbers
    """Rows of `WIDE`, a column a frame."""

    @property
    def behind(self) -> int:
        """The number after that of the last one."""
        count: int = self.numbers.shape[1]
        return self.first + count


class Run(NamedTuple):
    """Samples of one signal of one session, by time, each time once."""

    key: int
    signal: int
    samples: Samples
    stored: int = 0
    """How many there are already."""


class Connection(Protocol):
    """One connection, used by one thread at a time. Everything blocks.

    Statements are plain SQL that both engines read alike, with ``?`` for values. Errors are those
    of the engine; `Engine.translate_error` knows them.
    """

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """A statement."""

    def insert(self, table: str, columns: Columns) -> None:
        """Many rows, given as columns of one length."""

    def begin(self, *, write: bool = False) -> None:
        """Start a transaction; one that reads sees the commits up to now and no later ones."""

    def commit(self) -> None:
        """End it and, if it wrote, return once it is on disk."""

    def rollback(self) -> None:
        """End it without a trace; nothing happens where none is open."""

    def insert_frames(self, runs: Sequence[FrameRun]) -> None:
        """Frames that are not stored yet."""

    def frames(self, key: int, first: int = 0, behind: int | None = None) -> Numbers:
        """Frames in their order, as rows of `WIDE`, up to the one before *behind*."""

    def fill(self, key: int, name: str, index: npt.NDArray[np.int64], value: Numbers) -> None:
        """Set cells of a column; *index* names each frame once."""

    def insert_samples(self, runs: Sequence[Run]) -> None:
        """Samples at times that are not stored yet."""

    def delete_samples(self, key: int, signal: int, t: Numbers) -> int:
        """Delete the samples at these times; how many there were."""

    def samples(self, key: int, signals: Sequence[int]) -> dict[int, Samples]:
        """By time; signals without samples are absent."""

    def signals(self, key: int) -> dict[int, int]:
        """How many samples there are of each signal."""

    def drop(self, key: int, most: int) -> bool:
        """Delete about *most* rows of telemetry of *key*; whether all are gone."""

    def tidy(self, key: int) -> None:
        """Put the telemetry of *key* into the form that is read fastest."""

    def close(self) -> None:
        """Close it; an open transaction is rolled back."""


class Engine(Protocol):
    """An open database."""

    @property
    def kind(self) -> Backend:
        """Which of the two it is."""

    @property
    def writer(self) -> Connection:
        """The connection for all writes."""

    def reader(self) -> Connection:
        """A further connection, which never waits for the writer."""

    def checkpoint(self) -> None:
        """Bring what was logged into the main file, if nobody is in the way."""

    def maintain(self) -> None:
        """What has to be done now and then; called after each commit."""

    def reopen(self, error: Exception) -> bool:
        """Reopen the database if *error* made it useless; whether it did.

        The writer's connection goes on as the same object, readers from their next transaction on.
        The state in memory has to be loaded again.
        """

    def translate_error(self, error: Exception) -> Exception:
        """`StoreFull`, `Damaged` or `StoreFailed` for a failure of the engine."""

    def close(self) -> None:
        """Close the writer's connection; the others must be closed before."""


def by_time(t: Numbers, value: Numbers) -> Samples:
    """Samples in the order of time."""
    if (np.diff(t) > 0).all():
        return Samples(t, value)
    order = np.argsort(t, kind="stable")
    return Samples(t[order], value[order])
