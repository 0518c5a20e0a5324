"""Stores what a live bus delivers, without ever delaying the bus."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.can.assembler import Flush
from runtime.bridge.session.recording import WIDE, Frames, Samples
from runtime.bridge.storage.errors import StoreBusy, StoreFailed, StoreFull
from runtime.bridge.storage.records import SessionMeta
from runtime.bridge.storage.store import Store
from runtime.web.errors import ApiError

MOST_ROWS: Final = 10_000
"""Flushes that may wait; beyond that the oldest is dropped."""
MOST_AT_ONCE: Final = 500
RETRY_S: Final = 1.0
LAST_TRIES_S: Final = 2.0
"""At shutdown, how long the database gets to store the rest."""
log = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    session_id: str
    flush: Flush


class Recorder:
    """A bounded queue in front of the store, used on the event loop.

    While the database accepts nothing, for example on a full disk, flushes wait and are retried.
    """

    def __init__(self, store: Store, meta: SessionMeta, *, most: int = MOST_ROWS) -> None:
        self._store = store
        self._meta = meta
        self._most = most
        self._queue: deque[_Waiting] = deque()
        self._batch: list[_Waiting] = []
        """What is being stored."""
        self._more = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self._task = asyncio.create_task(self._run())
        self.dropped = 0
        """Flushes that were discarded."""

    def take(self, session_id: str, flush: Flush) -> None:
        """Queue a flush; never waits."""
        if self._queue and len(self._queue) + len(self._batch) >= self._most:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(_Waiting(session_id, flush))
        self._done.clear()
        self._more.set()

    async def wait_until_stored(self) -> None:
        """Return once every queued flush is stored or discarded."""
        await self._done.wait()

    async def close(self) -> None:
        """Store what waits, if the database accepts it, and stop."""
        try:
            async with asyncio.timeout(LAST_TRIES_S):
                await self.wait_until_stored()
        except TimeoutError:
            left = len(self._queue) + len(self._batch)
            log.error("%d live rows could not be stored", left)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._queue or self._batch:
                self._batch = self._batch or self._next()
                if await self._store_batch(self._batch):
                    self._batch = []
                else:
                    await asyncio.sleep(RETRY_S)
            self._done.set()

    def _next(self) -> list[_Waiting]:
        """Take the oldest flushes of one session from the queue."""
        batch = [self._queue.popleft()]
        while (
            self._queue
            and len(batch) < MOST_AT_ONCE
            and self._queue[0].session_id == batch[0].session_id
        ):
            batch.append(self._queue.popleft())
        return batch

    async def _store_batch(self, batch: Sequence[_Waiting]) -> bool:
        session_id = batch[0].session_id
        rows = [waiting.flush.wide for waiting in batch if waiting.flush.wide is not None]
        samples = join_samples([waiting.flush.samples for waiting in batch])
        try:
            if rows:
                frames = Frames({name: np.array([row[name] for row in rows]) for name in WIDE})
                await self._store.append_frames(session_id, frames, samples, self._meta)
            elif samples:
                await self._store.append_signals(session_id, samples, self._meta, spare=True)
        except (StoreBusy, StoreFull, StoreFailed) as problem:
            log.warning("live rows wait for the database: %s", problem)
            return False
        except ApiError as problem:
            log.error("live rows are discarded: %s", problem)
            self.dropped += len(batch)
        except Exception:  # bad rows must not stop the ones that follow
            log.exception("live rows are discarded")
            self.dropped += len(batch)
        return True


def join_samples(parts: Sequence[Mapping[str, Samples]]) -> dict[str, Samples]:
    """Concatenate the samples of each signal."""
    collected: dict[str, list[Samples]] = {}
    for part in parts:
        for name, samples in part.items():
            collected.setdefault(name, []).append(samples)
    return {
        name: Samples(*map(np.concatenate, zip(*several, strict=True)))
        for name, several in collected.items()
    }
