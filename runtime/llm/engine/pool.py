"""The local engines: loaded once a key, shared, counted while in use, least recently used out."""

import asyncio
import contextlib
import itertools
import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Final

import psutil

from runtime.llm.engine.eligible import check_declared, check_file, model_budget
from runtime.llm.engine.process import ShortOfMemory, Worker, WorkerFailed
from runtime.llm.engine.protocol import Close, Load, Loaded, Open, Warm
from runtime.llm.engine.records import (
    Attempt,
    Engine,
    Model,
    PoolSettings,
    cells_of,
    engine_key,
    failure_text,
    terms_of,
)
from runtime.llm.engine.sessions import Sessions
from runtime.llm.errors import LocalInitFailed, NoRoom, NotForChat
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.models.gguf import Header

log = logging.getLogger(__name__)

LOW_MEMORY: Final = 0.10


class EnginePool:
    """Every local engine of the server. *start_worker* starts an engine process."""

    def __init__(
        self,
        settings: PoolSettings,
        sessions: Sessions,
        start_worker: Callable[[], Awaitable[Worker]] = Worker.start,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sessions = sessions
        self.failures: deque[Attempt] = deque(maxlen=8)
        self._settings = settings
        self._start_worker = start_worker
        self._clock = clock
        self._memory = psutil.virtual_memory().total
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._models: dict[str, Model] = {}
        self._headers: dict[str, tuple[Fingerprint, Header]] = {}
        self._model_locks: dict[str, asyncio.Lock] = {}
        self._loading: dict[str, asyncio.Task[Engine]] = {}
        self._warming: dict[str, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._coming: set[str] = set()
        self._freed = asyncio.Event()
        self._awaited: Counter[str] = Counter()

    def loaded(self) -> list[Engine]:
        """The engines in memory, most recently used first."""
        return [engine for engine in reversed(self._engines.values()) if engine.worker.alive]

    def is_loaded(self, model_id: str) -> bool:
        """Whether an engine of that model is in memory."""
        return any(engine.model_id == model_id for engine in self.loaded())

    async def acquire(self, entry: Entry, max_tokens: int | None = None) -> Engine:
        """An engine for *entry*, loaded if need be and kept until `release`.

        Raises `LocalInitFailed`. A caller that leaves does not stop a load that is under way.
        """
        began = self._clock()
        try:
            header = await self._header(entry)
        except NotForChat:
            raise
        except LocalInitFailed as error:
            self._failed(engine_key(entry.id, max_tokens, entry.backend), entry, began, str(error))
            raise
        budget = model_budget(entry, header, self._settings.default_context)
        wanted = None if max_tokens is None else min(max_tokens, budget)
        key = engine_key(entry.id, wanted, entry.backend)
        while True:
            engine = self._engines.get(key)
            if engine is not None and not self._usable(engine, entry, wanted or budget):
                self._forget(engine)
                engine = None
            if engine is None:
                engine = await self._load_once(key, entry, wanted or budget)
            if not engine.orphan:  # it may have been unloaded again before this task woke up
                break
        engine.users += 1
        self._touch(engine)
        return engine

    def release(self, engine: Engine) -> None:
        """Give an engine back."""
        engine.users -= 1
        self._freed.set()
        if engine.orphan:
            if not engine.users:
                self._leave(engine.model, engine.context)
            return
        self._touch(engine)
        self._trim(0)

    async def warm(self, entry: Entry) -> None:
        """Load the engine and prove with one token that it generates; shared by all who ask."""
        engine = await self.acquire(entry)
        try:
            if engine.worker.busy:
                return
            task = self._warming.get(engine.key)
            if task is None:
                task = asyncio.create_task(self._warm(engine))
                self._warming[engine.key] = task
                engine.users += 1  # a caller that leaves does not end the proof
                task.add_done_callback(lambda done: self._warmed(engine, done))
            await asyncio.shield(task)
        finally:
            self.release(engine)

    def unload_idle(self, idle_s: float) -> int:
        """Unload engines that nobody used for *idle_s* seconds; the number of them."""
        limit = self._clock() - idle_s
        idle = [e for e in self._engines.values() if self._idle(e) and e.used <= limit]
        for engine in idle:
            self._forget(engine)
        return len(idle)

    def tick(self, idle_s: float) -> None:
        """The regular look: idle engines, expired conversations, memory that runs short."""
        if idle_s:
            self.unload_idle(idle_s)
        for key, name in self.sessions.expired():
            if (engine := self._engines.get(key)) is not None:
                engine.worker.forget([name])
        memory = psutil.virtual_memory()
        if memory.available < LOW_MEMORY * memory.total and self.unload_idle(0.0):
            log.warning("memory runs short: idle engines were unloaded")

    async def close(self) -> None:
        """Stop every engine process."""
        for task in [*self._loading.values(), *self._warming.values()]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, LocalInitFailed):
                await task
        self._engines.clear()
        models, self._models = list(self._models.values()), {}
        await asyncio.gather(*(model.worker.close() for model in models))
        if self._closing:
            await asyncio.wait(self._closing)

    # --- inside

    async def _header(self, entry: Entry) -> Header:
        """The checked header, read once for each state of the file."""
        check_declared(entry)
        known = self._headers.get(entry.id)
        if known is not None and known[0] == entry.fingerprint:
            return known[1]
        header = await check_file(entry)
        self._headers[entry.id] = (entry.fingerprint, header)
        return header

    def _usable(self, engine: Engine, entry: Entry, budget: int) -> bool:
        """Alive, of the declared budget, and the file is still the one that was loaded."""
        same = engine.model.terms == terms_of(entry) and engine.budget == budget
        return same and engine.worker.alive

    def _idle(self, engine: Engine) -> bool:
        """Nobody uses it, and nobody is about to."""
        return not engine.users and not self._awaited[engine.key]

    def _touch(self, engine: Engine) -> None:
        engine.used = self._clock()
        if engine.key in self._engines:
            self._engines.move_to_end(engine.key)

    async def _load_once(self, key: str, entry: Entry, budget: int) -> Engine:
        task = self._loading.get(key)
        if task is None or task.done():  # done a moment ago, and what it loaded is gone again
            task = asyncio.create_task(self._load(key, entry, budget))
            self._loading[key] = task
            task.add_done_callback(lambda done: self._loaded(key, done))
        self._awaited[key] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._awaited[key] -= 1
            if not self._awaited[key]:
                del self._awaited[key]
                self._freed.set()

    def _warmed(self, engine: Engine, task: asyncio.Task[None]) -> None:
        self._warming.pop(engine.key, None)
        self.release(engine)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("engine %s is not warm: %s", engine.key, error)

    def _loaded(self, key: str, task: asyncio.Task[Engine]) -> None:
        if self._loading.get(key) is task:
            del self._loading[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("engine %s failed: %s", key, error)

    async def _make_room(self) -> None:
        """Wait until one more engine fits beside those in use and those that are coming."""
        while True:
            self._trim(1 + len(self._coming))
            if len(self._engines) + len(self._coming) < self._settings.size:
                return
            self._freed.clear()
            await self._freed.wait()

    async def _load(self, key: str, entry: Entry, budget: int) -> Engine:
        await self._make_room()
        self._coming.add(key)
        try:
            return await self._bring(key, entry, budget)
        finally:
            self._coming.discard(key)
            self._freed.set()

    async def _bring(self, key: str, entry: Entry, budget: int) -> Engine:
        started = self._clock()
        try:
            async with asyncio.timeout(self._settings.load_timeout_s):
                model, context = await self._come_up(key, entry, budget)
        except (LocalInitFailed, WorkerFailed, OSError, TimeoutError) as error:
            text = failure_text(error)
            kind = LocalInitFailed
            if isinstance(error, ShortOfMemory):
                text, kind = text + self._in_use(), NoRoom
            self._failed(key, entry, started, text)
            raise kind(f"the model {entry.id} cannot be loaded: {text}") from error
        attempt = self._attempt(key, entry, started, "ok")
        engine = Engine(key, context, entry.id, entry.backend, budget, model, attempt)
        engine.used = self._clock()
        self._engines[key] = engine
        return engine

    async def _come_up(self, key: str, entry: Entry, budget: int) -> tuple[Model, str]:
        """The loaded file and an open context; idle engines go where there is no room for it."""
        while True:
            try:
                model = await self._model(entry)
                context = f"{key} {next(self._numbers)}"
                await self._open(model, context, budget)
            except ShortOfMemory as error:
                never = error.needed > self._memory  # then nobody should lose an engine for it
                if never or not await self._give_way():
                    raise
            else:
                return model, context

    async def _give_way(self) -> bool:
        """Unload the least recently used idle engine and see its memory freed; False: all work."""
        idle = next((engine for engine in self._engines.values() if self._idle(engine)), None)
        if idle is None:
            return False
        log.warning("memory is short: the idle engine %s is unloaded", idle.key)
        before = set(self._closing)
        self._forget(idle)
        if closing := self._closing - before:
            await asyncio.wait(closing)
        return True

    def _in_use(self) -> str:
        """The models that hold memory and cannot go now, in words."""
        models = {engine.model_id for engine in self._engines.values() if not self._idle(engine)}
        return f"; in use: {', '.join(sorted(models))}" if models else ""

    def _attempt(self, key: str, entry: Entry, began: float, result: str) -> Attempt:
        ms = round((self._clock() - began) * 1000)
        return Attempt(key, entry.backend, result, ms, time.time())

    def _failed(self, key: str, entry: Entry, began: float, why: str) -> None:
        self.failures.appendleft(self._attempt(key, entry, began, f"failed: {why}"))

    async def _model(self, entry: Entry) -> Model:
        """The process with this file, started if need be; one at a time a model."""
        lock = self._model_locks.setdefault(entry.id, asyncio.Lock())
        async with lock:
            model = self._models.get(entry.id)
            if model is not None:
                if model.worker.alive and model.terms == terms_of(entry):
                    return model
                self._abandon(self._models.pop(entry.id))
            worker = await self._start_worker()
            try:
                terms = terms_of(entry)
                load = Load(
                    worker.next_id(),
                    str(entry.path),
                    terms.gpu_layers,
                    self._settings.threads,
                    terms.template,
                )
                answer = await worker.ask(load)
                if not isinstance(answer, Loaded):
                    raise WorkerFailed("the engine answered out of turn")
            except BaseException:
                worker.kill()
                self._retire(worker)
                raise
            model = Model(worker, answer, terms)
            self._models[entry.id] = model
            return model

    async def _open(self, model: Model, context: str, budget: int) -> None:
        model.contexts.add(context)
        cells = cells_of(budget, model.loaded.kv_bytes_per_token, self._settings.session_bytes)
        try:
            await model.worker.ask(Open(model.worker.next_id(), context, budget, cells))
        except BaseException:
            self._leave(model, context)  # it may be open, or may yet be
            raise

    async def _warm(self, engine: Engine) -> None:
        if engine.model.warm:
            return
        try:
            await engine.worker.ask(Warm(engine.worker.next_id()))
        except WorkerFailed as error:
            raise LocalInitFailed(f"the model cannot generate: {error}") from error
        engine.model.warm = True

    def _trim(self, room: int) -> None:
        """Unload least recently used engines that nobody uses until *room* more would fit."""
        for engine in list(self._engines.values()):
            if len(self._engines) + room <= self._settings.size:
                return
            if self._idle(engine):
                self._forget(engine)

    def _abandon(self, model: Model) -> None:
        """The file changed or the process died: its engines go as soon as nobody uses them."""
        for engine in [e for e in self._engines.values() if e.model is model]:
            self._forget(engine)

    def _forget(self, engine: Engine) -> None:
        self._engines.pop(engine.key, None)
        self._freed.set()
        self.sessions.drop_engine(engine.key)
        engine.orphan = True
        if not engine.users:
            self._leave(engine.model, engine.context)

    def _leave(self, model: Model, context: str) -> None:
        """Close a context, or with the last one the process."""
        model.contexts.discard(context)
        if model.contexts and model.worker.alive:
            closing = asyncio.create_task(self._close_context(model.worker, context))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        self._end_unused(model)

    async def _close_context(self, worker: Worker, context: str) -> None:
        with contextlib.suppress(WorkerFailed):
            await worker.ask(Close(worker.next_id(), context))

    def _end_unused(self, model: Model) -> None:
        if model.contexts:
            return
        for name, known in list(self._models.items()):
            if known is model:
                del self._models[name]
        self._retire(model.worker)

    def _retire(self, worker: Worker) -> None:
        closing = asyncio.create_task(worker.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
