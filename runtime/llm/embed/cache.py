"""The encoders in memory: loaded once a model, counted while in use, least recently used out."""

import asyncio
import logging
import os
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

import psutil

from runtime.llm.embed.answers import loaded_of
from runtime.llm.embed.errors import EmbedBusy, EmbedFailed
from runtime.llm.embed.process import (
    GONE,
    EncoderFailed,
    EncoderGone,
    EncoderProcess,
    EncoderSilent,
)
from runtime.llm.embed.protocol import Loaded
from runtime.llm.embed.records import (
    EmbedSettings,
    Encoder,
    Terms,
    load_command,
    terms_of,
)
from runtime.llm.engine.records import Attempt, engine_key
from runtime.llm.models.catalog import Entry
from runtime.web.errors import ShuttingDown

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

BAD_S: Final = 60.0
"""How long files that are no model are not tried again, unless they change."""
BAD_KEPT: Final = 64
SPARE: Final = 1
"""Encoders above the cache's size while as many are in use: two models do not wait in a row."""
CLOSE_S: Final = 4.5
_MOST_THREADS: Final = 4


@dataclass(eq=False)
class _Flight:
    """A load under way and the number of those who want it."""

    terms: Terms
    wanted: int = 0


class EncoderCache:
    """Loads encoders and keeps them. *start_process* starts an encoder process."""

    def __init__(
        self,
        settings: EmbedSettings,
        start_process: Callable[[], Awaitable[EncoderProcess]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures: deque[Attempt] = deque(maxlen=8)
        self.closed = False
        self._settings = settings
        self._start_process = start_process
        self._clock = clock
        self._known: OrderedDict[str, Encoder] = OrderedDict()
        self._held: set[Encoder] = set()  # the known, and those that are only used to the end
        self._flights: dict[str, tuple[_Flight, asyncio.Task[Encoder]]] = {}
        self._coming: set[EncoderProcess] = set()
        self._places = 0  # of loads under way
        self._freed = asyncio.Event()
        self._tasks: set[asyncio.Task[object]] = set()
        self._bad: OrderedDict[str, tuple[Terms, str, float]] = OrderedDict()

    def loaded(self) -> list[Encoder]:
        """The encoders in memory, most recently used first."""
        return [encoder for encoder in reversed(self._known.values()) if encoder.alive]

    async def acquire(self, entry: Entry) -> Encoder:
        """The encoder for *entry*, loaded if need be and kept until `release`.

        Raises `EmbedFailed`, `EmbedBusy` and `ShuttingDown`. A caller that leaves does not stop
        a load that is under way.
        """
        self._check(entry)
        terms = terms_of(entry)
        encoder = self._known.get(entry.id)
        if encoder is not None and encoder.alive and encoder.terms == terms:
            encoder.users += 1
            self._touch(encoder)
            return encoder
        if encoder is not None:
            self._forget(encoder)
        flight, task = self._flight(entry, terms)
        flight.wanted += 1
        try:
            return await asyncio.shield(task)  # it counts those who want it as its users
        except BaseException:
            flight.wanted -= 1
            if task.done() and not task.cancelled() and task.exception() is None:
                self.release(task.result())  # the load ended in the moment the caller left
            raise

    def release(self, encoder: Encoder) -> None:
        """Give an encoder back."""
        encoder.users -= 1
        self._touch(encoder)
        if not encoder.users:
            if self._known.get(encoder.model_id) is not encoder or not encoder.alive:
                self._forget(encoder)
            self._trim(0)
            self._freed.set()

    def unload_idle(self, idle_s: float) -> int:
        """Unload encoders that nobody used for *idle_s* seconds; the number of them."""
        limit = self._clock() - idle_s
        idle = [e for e in self._known.values() if not e.users and e.used <= limit]
        for encoder in idle:
            self._forget(encoder)
        return len(idle)

    def sweep(self) -> None:
        """Clear away encoders whose process ended while nobody used them."""
        for encoder in [e for e in self._known.values() if not e.users and not e.alive]:
            self._forget(encoder)

    async def close(self) -> None:
        """End every process; who waits for a load hears `ShuttingDown`."""
        self.closed = True
        self._freed.set()
        for process in [*self._coming, *(encoder.process for encoder in self._held)]:
            process.kill()  # it holds nothing that is worth a farewell
        for encoder in list(self._held):
            self._dispose(encoder)
        self._known.clear()
        await self._finish()

    # --- inside

    def _check(self, entry: Entry) -> None:
        """Raise what keeps *entry* from being loaded at all."""
        if self.closed:
            raise shutting_down()
        reason = entry.fault
        if reason is None and entry.backend != "LOCAL_CPU":
            reason = f"embedding models run on the CPU; {entry.backend} is declared for this one"
        terms, why, at = self._bad.get(entry.id, (None, "", 0.0))
        if reason is None and terms == terms_of(entry) and self._clock() - at < BAD_S:
            reason = why  # a file that is no model costs nobody else the model in memory
        if reason is not None:
            raise self._failed(entry, self._clock(), reason)

    def _remember(self, entry: Entry, terms: Terms, why: str) -> None:
        """Note that a model refused its files; they are not tried again for a while."""
        self._bad[entry.id] = (terms, why, self._clock())
        self._bad.move_to_end(entry.id)
        while len(self._bad) > BAD_KEPT:
            self._bad.popitem(last=False)

    def _flight(self, entry: Entry, terms: Terms) -> tuple[_Flight, asyncio.Task[Encoder]]:
        """The load of *entry* that is under way, or a new one."""
        known = self._flights.get(entry.id)
        if known is not None and known[0].terms == terms:
            return known
        flight = _Flight(terms)
        task = self._own(self._load(entry, flight))
        self._flights[entry.id] = flight, task
        return flight, task

    async def _load(self, entry: Entry, flight: _Flight) -> Encoder:
        try:
            await self._place()
            self._places += 1
            try:
                encoder = await self._bring(entry, flight.terms)
            finally:
                self._places -= 1
                self._freed.set()
        except BaseException:
            self._landed(entry, flight)
            raise
        self._keep(encoder, newest=self._landed(entry, flight), users=flight.wanted)
        return encoder

    def _keep(self, encoder: Encoder, *, newest: bool, users: int) -> None:
        self._held.add(encoder)
        encoder.users = users
        if newest and not self.closed:
            if (older := self._known.get(encoder.model_id)) is not None:
                self._forget(older)
            self._known[encoder.model_id] = encoder
        elif not users:
            self._dispose(encoder)
        self._touch(encoder)
        self._trim(0)

    def _landed(self, entry: Entry, flight: _Flight) -> bool:
        """End a flight; whether no later one for other terms of the model has begun."""
        newest = self._flights.get(entry.id, (None,))[0] is flight
        if newest:
            del self._flights[entry.id]
        return newest

    async def _place(self) -> None:
        """Wait until one more encoder fits beside those in use and those that are coming."""
        try:
            async with asyncio.timeout(self._settings.load_timeout_s):
                while not self.closed and not self._fits():
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise EmbedBusy("the embedding models in memory are all in use") from None
        if self.closed:
            raise shutting_down()

    @property
    def _limit(self) -> int:
        used = self._places + sum(encoder.users > 0 for encoder in self._held)
        size = self._settings.cache_size
        return size if used < size else size + SPARE

    def _fits(self) -> bool:
        self._trim(1)
        return len(self._held) + self._places < self._limit

    async def _bring(self, entry: Entry, terms: Terms) -> Encoder:
        began = self._clock()
        try:
            process = await self._start_process()
        except OSError as error:
            raise self._failed(entry, began, "no embedding process could be started") from error
        self._coming.add(process)
        try:
            loaded = await self._loaded(process, terms)
        except BaseException as error:
            process.kill()
            self._own(process.close())
            if self.closed:
                raise shutting_down() from error
            if isinstance(error, EncoderFailed):
                self._remember(entry, terms, str(error))
            if isinstance(error, EncoderFailed | EncoderGone):
                raise self._failed(entry, began, _reason(error)) from error
            raise
        finally:
            self._coming.discard(process)
        attempt = self._attempt(entry, began, "ok")
        return Encoder(
            attempt.key,
            entry.id,
            entry.backend,
            loaded.width,
            loaded.max_tokens,
            attempt,
            process,
            terms,
        )

    async def _loaded(self, process: EncoderProcess, terms: Terms) -> Loaded:
        threads = self._settings.threads or await asyncio.to_thread(default_threads)
        if self.closed:
            raise shutting_down()
        command = load_command(terms, process.next_id(), threads)
        framed = await process.ask(command, self._settings.load_timeout_s)
        try:
            loaded = loaded_of(framed)
        except ValueError as error:
            raise EncoderGone(GONE) from error
        if terms.dims is not None and terms.dims != loaded.width:
            raise EncoderFailed(
                f"{terms.dims} dims are declared for it, its vectors have {loaded.width}"
            )
        return loaded

    def _failed(self, entry: Entry, began: float, why: str) -> EmbedFailed:
        self.failures.appendleft(self._attempt(entry, began, f"failed: {why}"))
        return EmbedFailed(f"the model {entry.id} cannot be loaded: {why}")

    def _attempt(self, entry: Entry, began: float, result: str) -> Attempt:
        ms = round((self._clock() - began) * 1000)
        key = engine_key(entry.id, None, entry.backend)
        return Attempt(key, entry.backend, result, ms, time.time())

    def _touch(self, encoder: Encoder) -> None:
        encoder.used = self._clock()
        if self._known.get(encoder.model_id) is encoder:
            self._known.move_to_end(encoder.model_id)

    def _trim(self, room: int) -> None:
        """Unload least recently used encoders that nobody uses until *room* more would fit."""
        for encoder in list(self._known.values()):
            if len(self._held) + self._places + room <= self._limit:
                return
            if not encoder.users:
                self._forget(encoder)

    def _forget(self, encoder: Encoder) -> None:
        """Out of the cache; it ends as soon as nobody uses it."""
        if self._known.get(encoder.model_id) is encoder:
            del self._known[encoder.model_id]
        if not encoder.users:
            self._dispose(encoder)

    def _dispose(self, encoder: Encoder) -> None:
        if encoder in self._held:
            self._held.discard(encoder)
            self._own(encoder.process.close())
        self._freed.set()

    def _own(self, work: Coroutine[None, None, _Result]) -> asyncio.Task[_Result]:
        """Run *work* in a task that `close` waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), EmbedFailed):
            log.warning("%s", error)

    async def _finish(self) -> None:
        """Wait for the tasks that are left; what takes too long is given up."""
        try:
            async with asyncio.timeout(CLOSE_S):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        except TimeoutError:
            log.error("encoder processes did not end in time")
            for task in self._tasks:
                task.cancel()


def shutting_down() -> ShuttingDown:
    """What requests hear when the server stops."""
    return ShuttingDown("the server is shutting down", headers={"Retry-After": "5"})


@cache
def default_threads() -> int:
    """Physical cores that this process may use, 4 at most. Reads files at its first call."""
    physical = psutil.cpu_count(logical=False) or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else physical
    return max(1, min(_MOST_THREADS, physical, usable))


def _reason(error: EncoderFailed | EncoderGone) -> str:
    return "it did not load in time" if isinstance(error, EncoderSilent) else str(error)
