"""The interface of a database engine; everything else of the store is shared code."""

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
    """Return the memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return UNKNOWN_MEMORY


class FrameRun(NamedTuple):
    """Consecutive frames of a session."""

    key: int
    first: int
    """Index of the first frame."""
    numbers: Numbers
    """Rows of `WIDE`, one column per frame."""

    @property
    def behind(self) -> int:
        """The index after the last frame."""
        count: int = self.numbers.shape[1]
        return self.first + count


class Run(NamedTuple):
    """Samples of a signal in a session, by time, without duplicate times."""

    key: int
    signal: int
    samples: Samples
    stored: int = 0
    """Number of samples stored before."""


class Connection(Protocol):
    """A connection, used by one thread at a time. All calls block.

    Statements are plain SQL that both engines accept, with ``?`` for values. Errors are those of
    the engine; `Engine.translate_error` translates them.
    """

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Return all rows of a query."""

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""

    def insert(self, table: str, columns: Columns) -> None:
        """Insert rows, given as columns of equal length."""

    def begin(self, *, write: bool = False) -> None:
        """Start a transaction; a reading one sees the commits up to now and no later ones."""

    def commit(self) -> None:
        """Commit the transaction; if it wrote, return once it is on disk."""

    def rollback(self) -> None:
        """Roll the transaction back, if one is open."""

    def insert_frames(self, runs: Sequence[FrameRun]) -> None:
        """Insert new frames."""

    def frames(self, key: int, first: int = 0, behind: int | None = None) -> Numbers:
        """Read frames in order, as rows of `WIDE`, up to the one before *behind*."""

    def fill(self, key: int, name: str, index: npt.NDArray[np.int64], value: Numbers) -> None:
        """Set cells of a column; *index* has no duplicate frames."""

    def insert_samples(self, runs: Sequence[Run]) -> None:
        """Insert samples at new times."""

    def delete_samples(self, key: int, signal: int, t: Numbers) -> int:
        """Delete the samples at these times. Return their number."""

    def samples(self, key: int, signals: Sequence[int]) -> dict[int, Samples]:
        """Read samples by time; signals without samples are absent."""

    def signals(self, key: int) -> dict[int, int]:
        """Count the samples of each signal."""

    def drop(self, key: int, most: int) -> bool:
        """Delete about *most* rows of telemetry of *key*. Return whether all are gone."""

    def tidy(self, key: int) -> None:
        """Put the telemetry of *key* into the form that reads fastest."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""


class Engine(Protocol):
    """An open database."""

    @property
    def kind(self) -> Backend:
        """The kind of the engine."""

    @property
    def writer(self) -> Connection:
        """The connection for all writes."""

    def reader(self) -> Connection:
        """Open another connection, which never waits for the writer."""

    def checkpoint(self) -> None:
        """Move the log into the main file, if no reader is in the way."""

    def maintain(self) -> None:
        """Do periodic maintenance; called after each commit."""

    def reopen(self, error: Exception) -> bool:
        """Reopen the database if *error* made it unusable. Return whether it did.

        The writer's connection remains the same object; readers reconnect with their next
        transaction. The state in memory must be loaded again.
        """

    def translate_error(self, error: Exception) -> Exception:
        """Return `StoreFull`, `Damaged` or `StoreFailed` for an error of the engine."""

    def close(self) -> None:
        """Close the writer's connection, after all others were closed."""


def sort_run(t: Numbers, value: Numbers) -> Samples:
    """Sort samples by time."""
    if (np.diff(t) > 0).all():
        return Samples(t, value)
    order = np.argsort(t, kind="stable")
    return Samples(t[order], value[order])
