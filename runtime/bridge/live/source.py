"""Reads a recorded session for its replay: frames as a whole, further signals by the window."""

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from typing import Final, NamedTuple, Self

import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, LiveFrame, Numbers, Samples
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow

CELLS: Final = 2_000_000
"""Numbers of further signals in one window: 16 MB; two windows are held at a time."""
FEWEST: Final = 1_000
MOST: Final = 100_000
"""Frames of a window."""


class Window(NamedTuple):
    """Some frames in a row, ready to be sent."""

    first: int
    """Index of the first one in the session."""
    columns: Numbers
    """A row for each frame, in the order of `WIDE`."""
    names: tuple[str, ...]
    """Of the further signals."""
    extras: Numbers
    """A row for each frame, in the order of *names*; NaN before the first sample."""

    def __len__(self) -> int:
        return len(self.columns)

    def frame(self, at: int, session_id: str, replay_id: str) -> LiveFrame:
        """The frame in that row."""
        wide = dict(zip(WIDE, self.columns[at].tolist(), strict=True))
        values = zip(self.names, self.extras[at].tolist(), strict=True)
        extras = {name: value for name, value in values if not math.isnan(value)}
        told = wide["distance_m"]
        return LiveFrame(session_id, "replay", wide, extras, self.first + at, replay_id, told)


class Recorded:
    """The telemetry of a session as it stands when the replay begins."""

    def __init__(self, store: Store, session_id: str, frames: Frames, names: Sequence[str]) -> None:
        self._store = store
        self._frames = frames
        self._names = tuple(names)
        self._head: Window | None = None
        self.session_id = session_id
        self.size = max(FEWEST, min(MOST, CELLS // max(len(self._names), 1)))
        """Frames of a window."""

    @classmethod
    async def read(cls, store: Store, row: SessionRow) -> Self:
        """Its frames, which further signals it has, and of these what the first frames need.

        Raises `NoRows` without frames.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry to replay", session_id=row.session_id)
        frames = await store.read_frames(row.session_id)
        names = [name for name in await store.signal_names(row.session_id) if name not in WIDE]
        recorded = cls(store, row.session_id, frames, names)
        recorded._head = await recorded._window(0)
        return recorded

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def t(self) -> Numbers:
        """Timestamps of the frames, in their order."""
        return self._frames.columns[TIMESTAMP]

    async def windows(self) -> AsyncGenerator[Window, None]:
        """All windows in their order; the next one is read while this one is used."""
        begins = list(range(0, len(self), self.size))
        coming = asyncio.create_task(self._window(begins[0]))
        try:
            for following in [*begins[1:], None]:
                window = await coming
                if following is not None:
                    coming = asyncio.create_task(self._window(following))
                yield window
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def _window(self, first: int) -> Window:
        if first == 0 and self._head is not None:  # kept for the first pass only
            head, self._head = self._head, None
            return head
        part = slice(first, min(first + self.size, len(self)))
        columns, extras = await asyncio.to_thread(self._arrays, part)
        for place, name in enumerate(self._names):  # one by one: each may be as large as all frames
            samples = (await self._store.read_signals(self.session_id, [name]))[name]
            extras[:, place] = await asyncio.to_thread(latest, samples, self.t[part])
        return Window(first, columns, self._names, extras)

    def _arrays(self, part: slice) -> tuple[Numbers, Numbers]:
        columns = np.column_stack([self._frames.columns[name][part] for name in WIDE])
        return columns, np.full((len(columns), len(self._names)), np.nan)


def latest(samples: Samples, t: Numbers) -> Numbers:
    """The last value at or before each moment; NaN where there is none yet."""
    if not len(samples.t):
        return np.full(len(t), np.nan)
    at = np.searchsorted(samples.t, t, side="right") - 1
    return np.where(at >= 0, samples.value[np.maximum(at, 0)], np.nan)
