"""Telemetry in SQLite: the newest as rows, everything older in blocks of packed numbers.

A row costs SQLite microseconds to read, and a session of an hour has hundreds of thousands. Once
enough rows of a session, or of one of its signals, have come together they are packed into one
value, in the same transaction as the commit that brought the last of them. A block of frames holds
the rows of `WIDE` as little-endian doubles, a block of samples the times and then the values.
"""

import functools
import itertools
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import WIDE, Numbers, Samples
from runtime.bridge.storage.backend import Run, Window

LOOSE: Final = 2048
"""Rows are packed at each multiple of this many frames, and when a signal has this many."""
AT_ONCE: Final = 128
"""This many frames or samples at a time become a block without having been rows."""
BLOCK: Final = 8192
"""Frames or samples of a block at most."""
AT_ONCE_ROWS: Final = 32
"""Rows of one statement at most. Each statement gives other threads the interpreter, and may wait
for it again: one for each row takes many times as long where another thread is busy."""
_SAMPLE: Final = "INSERT INTO telemetry_signals VALUES (?, ?, ?, ?)"
_BLOCK: Final = "INSERT INTO telemetry_blocks VALUES (?, ?, ?, ?, ?, ?)"
_SIGNAL_BLOCK: Final = (
    "INSERT INTO signal_blocks (session_key, signal_id, n, t_min, t_max, data)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
# SQLite has no NaN; infinities are never stored, so one of them can stand for null on the way out.
_NULL: Final = "9e999"
_DOUBLE: Final = np.dtype("<f8")


class Blocks:
    """The telemetry of one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loose: dict[tuple[int, int], int] = {}
        """How many rows there are of the samples of a session and signal."""

    def forget(self) -> None:
        """A transaction is rolled back: what is known of the rows may be wrong."""
        self._loose.clear()

    # frames

    def insert_frames(self, key: int, first: int, numbers: Numbers) -> None:
        """See `Connection`."""
        count = numbers.shape[1]
        if count >= AT_ONCE:
            self._pack_frames(key, first, numbers)
            return
        index = range(first, first + count)
        rows = list(zip([key] * count, index, *numbers.tolist(), strict=True))
        for at in range(0, count, AT_ONCE_ROWS):
            some = rows[at : at + AT_ONCE_ROWS]
            self._connection.execute(_insert(len(some)), tuple(itertools.chain(*some)))
        if (first + count) // LOOSE > first // LOOSE:
            self.tidy_frames(key)

    def tidy_frames(self, key: int) -> None:
        """Pack the rows; runs of numbers that follow each other become blocks."""
        index, numbers = self._frame_rows(key, Window())
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) != 1) + 1):
            if len(run):
                self._pack_frames(key, int(index[run[0]]), numbers[:, run[0] : run[-1] + 1])
        if len(index):
            self._connection.execute("DELETE FROM telemetry WHERE session_key = ?", (key,))

    def frames(self, key: int, names: Sequence[str], window: Window) -> dict[str, Numbers]:
        """See `Connection`."""
        parts = [*self._frame_blocks(key, window), self._frame_rows(key, window)]
        chosen = [WIDE.index(name) for name in names]
        index = np.concatenate([part for part, _ in parts])
        order = None if (np.diff(index) > 0).all() else np.argsort(index, kind="stable")
        columns = {}
        for name, row in zip(names, chosen, strict=True):
            column = np.concatenate([numbers[row] for _, numbers in parts])
            columns[name] = column if order is None else column[order]
        return columns

    def frames_of(self, key: int) -> int:
        """See `Connection`."""
        last = self._connection.execute(
            "SELECT max(behind) FROM (SELECT max(frame_idx) + 1 AS behind FROM telemetry"
            " WHERE session_key = ?1 UNION ALL SELECT max(first_idx + n) FROM telemetry_blocks"
            " WHERE session_key = ?1)",
            (key,),
        ).fetchone()[0]
        return int(last or 0)

    def fill(self, key: int, name: str, index: npt.NDArray[np.int64], value: Numbers) -> Numbers:
        """See `Connection`."""
        filled = np.full(len(index), np.nan)
        for at, (frame, number) in enumerate(zip(index.tolist(), value.tolist(), strict=True)):
            done = self._connection.execute(
                f"UPDATE telemetry SET {name} = ? WHERE session_key = ? AND frame_idx = ?"  # noqa: S608 - a name out of WIDE
                f" AND {name} IS NULL",
                (number, key, frame),
            )
            if done.rowcount:
                filled[at] = number
        lowest, highest = int(index.min()), int(index.max())
        row = WIDE.index(name)
        for indexes, numbers in list(
            self._frame_blocks(key, Window(lowest, highest + 1), whole=True)
        ):
            inside = (index >= indexes[0]) & (index <= indexes[-1])
            at = index[inside] - indexes[0]
            empty = np.isnan(numbers[row, at])
            if not empty.any():
                continue
            changed = numbers.copy()
            changed[row, at[empty]] = value[inside][empty]
            filled[np.flatnonzero(inside)[empty]] = value[inside][empty]
            self._connection.execute(
                "UPDATE telemetry_blocks SET data = ? WHERE session_key = ? AND first_idx = ?",
                (_packed(changed), key, int(indexes[0])),
            )
        return filled

    def _pack_frames(self, key: int, first: int, numbers: Numbers) -> None:
        for start in range(0, numbers.shape[1], BLOCK):
            part = numbers[:, start : start + BLOCK]
            t = part[0]
            self._connection.execute(
                _BLOCK,
                (key, first + start, len(t), float(t.min()), float(t.max()), _packed(part)),
            )

    def _frame_blocks(
        self, key: int, window: Window, *, whole: bool = False
    ) -> list[tuple[npt.NDArray[np.int64], Numbers]]:
        found = self._connection.execute(
            "SELECT first_idx, n, data FROM telemetry_blocks WHERE session_key = ?"
            " AND first_idx + n > ? AND (? IS NULL OR first_idx < ?)"
            " AND (? IS NULL OR t_max >= ?) AND (? IS NULL OR t_min <= ?) ORDER BY first_idx",
            (
                *(key, window.first, window.behind, window.behind),
                *(window.t_from, window.t_from, window.t_to, window.t_to),
            ),
        )
        parts = []
        for first, count, data in found:
            numbers = np.frombuffer(data, _DOUBLE).reshape(len(WIDE), count)
            part = (np.arange(first, first + count), numbers)
            parts.append(part if whole else _cut(*part, window))
        return parts

    def _frame_rows(self, key: int, window: Window) -> tuple[npt.NDArray[np.int64], Numbers]:
        nullable = ", ".join(f"ifnull({name}, {_NULL})" for name in WIDE[1:])
        found = self._connection.execute(
            f"SELECT frame_idx, timestamp, {nullable} FROM telemetry WHERE session_key = ?"  # noqa: S608 - names out of WIDE
            " AND frame_idx >= ? AND (? IS NULL OR frame_idx < ?) ORDER BY frame_idx",
            (key, window.first, window.behind, window.behind),
        )
        table = _table(found, 1 + len(WIDE))
        numbers = np.where(np.isinf(table[1:]), np.nan, table[1:])
        return _cut(table[0].astype(np.int64), numbers, window)

    # samples

    def insert_samples(self, runs: Sequence[Run]) -> None:
        """See `Connection`."""
        rows: list[tuple[int, int, float, float]] = []
        for run in runs:
            t, value = run.samples
            if len(t) >= AT_ONCE:
                self._pack_samples(run.key, run.signal, run.samples)
            else:
                pairs = zip(t.tolist(), value.tolist(), strict=True)
                rows.extend((run.key, run.signal, *pair) for pair in pairs)
        self._connection.executemany(_SAMPLE, rows)
        for run in runs:
            if len(run.samples.t) < AT_ONCE:
                loose = self._more_rows(run.key, run.signal, len(run.samples.t))
                if loose >= LOOSE:
                    self.tidy_samples(run.key, run.signal)

    def tidy_samples(self, key: int, signal: int) -> None:
        """Pack the rows of one signal."""
        samples = self._sample_rows(key, signal)
        if len(samples.t):
            self._pack_samples(key, signal, samples)
            self._connection.execute(
                "DELETE FROM telemetry_signals WHERE session_key = ? AND signal_id = ?",
                (key, signal),
            )
        self._loose[key, signal] = 0

    def delete_samples(self, key: int, signal: int, t: Numbers) -> int:
        """See `Connection`."""
        deleted = self._connection.executemany(
            "DELETE FROM telemetry_signals WHERE session_key = ? AND signal_id = ? AND t = ?",
            ((key, signal, at) for at in t.tolist()),
        ).rowcount
        blocks = self._connection.execute(
            "SELECT id, data FROM signal_blocks WHERE session_key = ? AND signal_id = ?"
            " AND t_min <= ? AND t_max >= ?",
            (key, signal, float(t.max()), float(t.min())),
        ).fetchall()
        for block, data in blocks:
            samples = _unpacked(data)
            stays = ~np.isin(samples.t, t)
            gone = len(stays) - int(stays.sum())
            if not gone:
                continue
            deleted += gone
            self._connection.execute("DELETE FROM signal_blocks WHERE id = ?", (block,))
            if stays.any():
                self._pack_samples(key, signal, Samples(samples.t[stays], samples.value[stays]))
        return deleted

    def samples(self, key: int, signals: Sequence[int]) -> dict[int, Samples]:
        """See `Connection`."""
        found = {}
        for signal in signals:
            blocks = self._connection.execute(
                "SELECT data FROM signal_blocks WHERE session_key = ? AND signal_id = ?"
                " ORDER BY t_min",
                (key, signal),
            )
            parts = [_unpacked(data) for (data,) in blocks]
            parts.append(self._sample_rows(key, signal))
            t = np.concatenate([part.t for part in parts])
            value = np.concatenate([part.value for part in parts])
            if not len(t):
                continue
            if not (np.diff(t) > 0).all():
                order = np.argsort(t, kind="stable")
                t, value = t[order], value[order]
            found[signal] = Samples(t, value)
        return found

    def signals(self, key: int) -> dict[int, int]:
        """See `Connection`."""
        found = self._connection.execute(
            "SELECT signal_id, sum(n) FROM (SELECT signal_id, count(*) AS n FROM telemetry_signals"
            " WHERE session_key = ?1 GROUP BY signal_id UNION ALL SELECT signal_id, sum(n)"
            " FROM signal_blocks WHERE session_key = ?1 GROUP BY signal_id) GROUP BY signal_id",
            (key,),
        )
        return dict(found.fetchall())

    def tidy(self, key: int) -> None:
        """See `Connection`."""
        self.tidy_frames(key)
        signals = self._connection.execute(
            "SELECT DISTINCT signal_id FROM telemetry_signals WHERE session_key = ?", (key,)
        ).fetchall()
        for (signal,) in signals:
            self.tidy_samples(key, signal)

    def drop(self, key: int, most: int) -> bool:
        """See `Connection`."""
        blocks = max(1, most // BLOCK)
        done = True
        for table, column, limit in (
            ("telemetry_blocks", "first_idx", blocks),
            ("signal_blocks", "id", blocks),
            ("telemetry", "frame_idx", most),
        ):
            found = self._connection.execute(
                f"DELETE FROM {table} WHERE session_key = ?1 AND {column} IN (SELECT {column}"  # noqa: S608 - words of this loop
                f" FROM {table} WHERE session_key = ?1 LIMIT ?2)",
                (key, limit),
            )
            done = done and found.rowcount < limit
        first = self._connection.execute(
            "SELECT signal_id FROM telemetry_signals WHERE session_key = ? LIMIT 1", (key,)
        ).fetchone()
        if first:
            self._connection.execute(
                "DELETE FROM telemetry_signals WHERE session_key = ? AND signal_id = ?",
                (key, first[0]),
            )
        self._loose = {which: n for which, n in self._loose.items() if which[0] != key}
        return done and first is None

    def _pack_samples(self, key: int, signal: int, samples: Samples) -> None:
        for start in range(0, len(samples.t), BLOCK):
            t, value = (part[start : start + BLOCK] for part in samples)
            self._connection.execute(
                _SIGNAL_BLOCK,
                (key, signal, len(t), float(t[0]), float(t[-1]), _packed(np.stack((t, value)))),
            )

    def _sample_rows(self, key: int, signal: int) -> Samples:
        found = self._connection.execute(
            "SELECT t, value FROM telemetry_signals WHERE session_key = ? AND signal_id = ?"
            " ORDER BY t",
            (key, signal),
        )
        return Samples(*_table(found, 2))

    def _more_rows(self, key: int, signal: int, count: int) -> int:
        """How many rows there are of a signal, *count* new ones included."""
        known = self._loose.get((key, signal))
        if known is None:
            sql = "SELECT count(*) FROM telemetry_signals WHERE session_key = ? AND signal_id = ?"
            known = int(self._connection.execute(sql, (key, signal)).fetchone()[0]) - count
        self._loose[key, signal] = known + count
        return known + count


@functools.cache
def _insert(rows: int) -> str:
    """The statement for so many frames."""
    marks = f"({', '.join('?' * (2 + len(WIDE)))})"
    return f"INSERT INTO telemetry VALUES {', '.join([marks] * rows)}"  # noqa: S608 - constants


def _table(rows: Iterable[Sequence[float]], width: int) -> Numbers:
    """Rows of numbers, none of them null, as columns."""
    numbers = np.fromiter(itertools.chain.from_iterable(rows), np.float64)
    return np.ascontiguousarray(numbers.reshape(-1, width).T)


def _packed(numbers: Numbers) -> bytes:
    return numbers.astype(_DOUBLE, copy=False).tobytes()


def _unpacked(data: bytes) -> Samples:
    t, value = np.frombuffer(data, _DOUBLE).reshape(2, -1)
    return Samples(t, value)


def _cut(
    index: npt.NDArray[np.int64], numbers: Numbers, window: Window
) -> tuple[npt.NDArray[np.int64], Numbers]:
    first, behind, t_from, t_to = window
    inside = index >= first
    if behind is not None:
        inside &= index < behind
    if t_from is not None:
        inside &= numbers[0] >= t_from
    if t_to is not None:
        inside &= numbers[0] <= t_to
    return (index, numbers) if inside.all() else (index[inside], numbers[:, inside])
