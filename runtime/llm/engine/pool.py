"""The models in memory: each is loaded once in a worker process, shared, and unloaded when idle.

There are three shelves of engines with their own limits: chat engines, encoders, and the single
engine of the system model. An engine is a context of a chat model, several of which share a
process, or an encoder with its own process. A full shelf unloads its least recently used engine
first; an engine in use stays until its last user has released it.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, TypeVar

import psutil

from runtime.llm.engine.process import COMPUTE_S, ShortOfMemory, Worker, WorkerFailed
from runtime.llm.engine.protocol import (
    ChatLoaded,
    Close,
    EncoderLoaded,
    Ended,
    Load,
    LoadChat,
    LoadEncoder,
    Ok,
    Open,
    Prepare,
    Prepared,
    Run,
    Warm,
)
from runtime.llm.engine.sessions import OTHERS, Sessions, name_conversation
from runtime.llm.errors import (
    EmbedBusy,
    EmbedFailed,
    LocalInitFailed,
    NoRoom,
    NotForChat,
    PromptTooLong,
)
from runtime.llm.inference import Backend, ChatCall, Generation, ReplyFormat
from runtime.llm.messages import make_message, make_offer
from runtime.llm.models import gguf
from runtime.llm.models.catalog import Entry, Fingerprint, read_header
from runtime.llm.replies import detect_format
from runtime.llm.settings import LlmSettings
from runtime.llm.tools import constrain, fit_tools
from runtime.web.errors import ApiError, ShuttingDown

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

ChatShelf = Literal["chat", "system"]
Shelf = ChatShelf | Literal["embedding"]

LOW_MEMORY: Final = 0.10
CELL_STEP: Final = 256
SPARE: Final = 1
"""Extra encoders while the limit is in use, so that two models do not wait for each other."""
REFUSED_S: Final = 60.0
"""How long a file that is not an encoder is not retried unless it changes."""
_TEMPLATES: Final = {
    "chatml": "has no chat template; its vocabulary has ChatML, which is used",
    "none": "has no chat template; it is a base model, which gets chats as transcripts",
}
CLOSE_S: Final = 4.5
FAILURES: Final = 8


class Attempt(NamedTuple):
    """Record of an attempt to load an engine."""

    key: str
    backend: Backend
    result: str
    duration_ms: int
    at: float


class EngineSpec(NamedTuple):
    """What an engine is loaded for; any change requires another engine."""

    shelf: Shelf
    key: str
    fingerprint: Fingerprint
    load: Load
    budget: int
    """Token budget of a chat context; 0 for an encoder."""
    format: ReplyFormat | None = None
    """Format of replies to the chat template; None: the model has no template."""


@dataclass(eq=False)
class Model:
    """A model file in its process, shared by all engines of the file."""

    worker: Worker
    loaded: ChatLoaded | EncoderLoaded
    spec: EngineSpec
    contexts: set[str] = field(default_factory=set)
    warm: bool = False
    warming: asyncio.Lock = field(default_factory=asyncio.Lock)

    def serves(self, spec: EngineSpec) -> bool:
        """Whether it is alive and has the same file and load options as *spec*."""
        same = (self.spec.fingerprint, self.spec.load) == (spec.fingerprint, spec.load)
        return same and self.worker.alive


@dataclass(eq=False)
class Engine:
    """A context of *budget* tokens on a loaded chat model, or an encoder."""

    shelf: Shelf
    key: str
    """The key as shown by ``/health``."""
    context: str
    """Its name in the process, never reused: an earlier context may still be closing there."""
    model_id: str
    backend: Backend
    budget: int
    model: Model
    attempt: Attempt
    format: ReplyFormat | None
    """Format of replies to its chat template; None: it has no template."""
    users: int = 0
    used: float = 0.0

    @property
    def worker(self) -> Worker:
        """The engine's process."""
        return self.model.worker

    @property
    def encoder(self) -> EncoderLoaded:
        """The properties of an encoder. Raises TypeError for a chat engine."""
        if not isinstance(self.model.loaded, EncoderLoaded):
            raise TypeError("this is not an encoder")
        return self.model.loaded


class _Failure(NamedTuple):
    """The last failed load of a model."""

    spec: EngineSpec
    error: ApiError
    number: int
    until: float
    """Clock time before which the file is not retried."""


class Job:
    """A prepared call on an engine, which it holds until `release`."""

    def __init__(
        self,
        pool: "Pool",
        engine: Engine,
        call: ChatCall,
        fitted: tuple[ChatCall, ReplyFormat],
        prepared: Prepared,
        load_ms: float,
    ) -> None:
        self.engine = engine
        self.call: Final = call
        self.format: Final = fitted[1]._replace(opened=prepared.thinks)
        """Format of the reply."""
        self._sampling = fitted[0].sampling
        if prepared.thinks:  # the grammar must allow for the rest of the open thought
            self._sampling = constrain(fitted[0], self.format)
        self.budget: Final = min(engine.budget, call.max_tokens or engine.budget)
        """Token budget of prompt and reply."""
        self.room: Final = self.budget - prepared.prompt_tokens
        """Maximum tokens of the reply."""
        self.load_ms = load_ms
        self._pool = pool
        self._prepared: Prepared | None = prepared
        self._holds_engine = True

    @property
    def source(self) -> str:
        """Name of what answers, for `runtime.llm.chats.fingerprint`."""
        return self.engine.key

    @property
    def place(self) -> tuple[str, int]:
        """What generates, and how many concurrent replies it allows."""
        return self.engine.context, self.engine.worker.parallel

    @property
    def is_stale(self) -> bool:
        """Whether the engine's process has ended while the call was queued."""
        return not self.engine.worker.alive

    def run(self, on_end: Callable[[], None]) -> Generation:
        """Start the reply when the process has room for it; *on_end* is called once."""
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            raise RuntimeError("this prompt has already been answered")
        call = self.call
        name = self._pool.name_conversation(call, self.engine)
        max_output = call.max_completion_tokens
        if self.engine.shelf == "system":  # its engine may have a larger budget
            max_output = min(self.room, max_output or self.room)

        def end(ended: Ended) -> None:
            self._pool.settle(call, self.engine, name, ended)
            on_end()

        command = Run(
            prepared.job,
            name,
            self._sampling,
            max_output or 0,
            list(call.stop),
            is_session=bool(call.session_id),
            client=call.client,
        )
        return self.engine.worker.run(command, self.format, end)

    def release(self) -> None:
        """Release the engine; later calls have no effect."""
        if self._holds_engine:
            self._holds_engine = False
            if self._prepared is not None:
                self.engine.worker.drop(self._prepared.job)
            self._pool.release(self.engine)


class Pool:
    """All models in memory. *start_worker* starts a worker process."""

    def __init__(
        self,
        settings: LlmSettings,
        start_worker: Callable[[], Awaitable[Worker]] = Worker.start,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        rest_s = settings.session_ttl_ms / 1000
        self.sessions = Sessions(settings.session_cache_size, rest_s, clock)
        self.failures: deque[Attempt] = deque(maxlen=FAILURES)
        self.closed = False
        self._settings = settings
        self._load_timeout_s = settings.load_timeout_ms / 1000
        self._start_worker = start_worker
        self._clock = clock
        self._memory = psutil.virtual_memory().total
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        """Engines by key, the least recently used first."""
        self._models: dict[str, Model] = {}
        """The newest process of each model."""
        self._processes: set[Model] = set()
        """All processes that have not been told to end."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._failed: dict[str, _Failure] = {}
        self._loads: dict[asyncio.Task[Engine], Shelf] = {}
        self._places: list[Shelf] = []  # taken by engines that are being loaded
        self._tasks: set[asyncio.Task[object]] = set()
        self._freed = asyncio.Event()
        self._numbers = itertools.count(1)

    # --- engines in memory

    def list_engines(self, shelf: Shelf = "chat") -> list[Engine]:
        """List the engines of a shelf, the most recently used first."""
        newest = reversed(self._engines.values())
        return [engine for engine in newest if engine.shelf == shelf and engine.worker.alive]

    def is_loaded(self, model_id: str) -> bool:
        """Whether an engine of this model is in memory."""
        engines = self._engines.values()
        return any(engine.model_id == model_id and engine.worker.alive for engine in engines)

    def unload_idle(self, idle_s: float, shelf: Shelf | None = None) -> int:
        """Unload engines that were idle for *idle_s* seconds and return their number."""
        limit = self._clock() - idle_s
        idle = [
            engine
            for engine in self._engines.values()
            if not engine.users and engine.used <= limit and shelf in (None, engine.shelf)
        ]
        for engine in idle:
            self._forget(engine)
        return len(idle)

    def tick(self, idle_s: float) -> None:
        """Unload idle and dead engines, old conversations; all idle engines if memory is low."""
        for engine in [e for e in self._engines.values() if not e.users and not e.worker.alive]:
            self._forget(engine)
        if idle_s:
            self.unload_idle(idle_s)
        self._free_cells(self.sessions.evict_expired())
        memory = psutil.virtual_memory()
        if memory.available < LOW_MEMORY * memory.total and self.unload_idle(0.0):
            log.warning("memory is low: idle engines were unloaded")

    # --- using an engine

    async def acquire(
        self, entry: Entry, max_tokens: int | None = None, shelf: ChatShelf = "chat"
    ) -> Engine:
        """Get a chat engine for *entry*, loaded if necessary and held until `release`.

        Raises `LocalInitFailed` and `ShuttingDown`. A cancelled caller does not stop a load in
        progress.
        """
        number = next(self._numbers)
        return await self._acquire(await self._chat_spec(shelf, entry, max_tokens), entry, number)

    async def acquire_encoder(self, entry: Entry) -> Engine:
        """Get the encoder for *entry*, like `acquire`. Raises `EmbedFailed` and `EmbedBusy`."""
        declared = entry.declared
        vocab = None if entry.vocab is None else str(entry.vocab)
        load = LoadEncoder(
            str(entry.path),
            vocab,
            self._settings.embedding_threads,
            declared.pooling,
            declared.max_seq,
            declared.dims,
        )
        key = make_engine_key(entry.id, None, entry.backend)
        spec = EngineSpec("embedding", key, entry.fingerprint, load, 0)
        reason = entry.fault
        if reason is None and entry.backend != "LOCAL_CPU":
            reason = f"embedding models run on the CPU, but the catalog declares {entry.backend}"
        if reason is not None:
            raise self._failure(spec, entry, self._clock(), reason)
        return await self._acquire(spec, entry, next(self._numbers))

    async def prepare(self, entry: Entry, call: ChatCall, shelf: ChatShelf = "chat") -> Job:
        """Prepare the prompt of *call* on an engine.

        The system model has a single engine for any `max_tokens`. Raises `PromptTooLong`,
        `BadRequest`, `EngineFailed` and the errors of `acquire`.
        """
        began = self._clock()
        if call.sampling.is_usual and entry.declared.temperature is not None:
            own = replace(call.sampling, temperature=entry.declared.temperature)
            call = replace(call, sampling=own)
        engine = await self.acquire(entry, call.max_tokens if shelf == "chat" else None, shelf)
        load_ms = (self._clock() - began) * 1000
        try:
            fitted = call, ReplyFormat()
            if call.prompt is None:
                fitted = await asyncio.to_thread(fit_tools, call, engine.format)
            tools = () if fitted[1].calls == "choice" else call.tools
            command = Prepare(
                engine.context,
                [make_message(turn) for turn in fitted[0].turns],
                [make_offer(tool) for tool in tools],
                call.template_options,
                call.prompt,
                fitted[0].sampling.grammar,
                fitted[0].sampling.grammar_trigger,
            )
            prepared = await engine.worker.prepare(command)
        except BaseException:
            self.release(engine)
            raise
        job = Job(self, engine, call, fitted, prepared, load_ms)
        if job.room <= 0:
            job.release()
            raise PromptTooLong(
                f"the prompt has {prepared.prompt_tokens} tokens, and the total budget of prompt"
                f" and reply is {job.budget}; max_tokens limits both, max_completion_tokens only"
                " the reply",
                param="max_tokens",
            )
        return job

    async def generate(self, entry: Entry, call: ChatCall) -> Generation:
        """Start a reply of the system model on its own engine. Raises as `prepare`."""
        job = await self.prepare(entry, call, "system")
        return job.run(job.release)

    def release(self, engine: Engine) -> None:
        """Release an engine."""
        engine.users -= 1
        if self.closed:
            return
        self._freed.set()
        if self._engines.get(engine.key) is engine:
            self._touch(engine)
        elif not engine.users:
            self._close_context(engine.model, engine.context)
        self._trim(engine.shelf, 0)

    def name_conversation(self, call: ChatCall, engine: Engine) -> str | None:
        """Choose the name under which *engine* caches the conversation; None: it is not cached.

        If there are too many sessions, the least recently used one is evicted.
        """
        if call.session_id:
            name = name_conversation(call.owner, call.session_id, engine.key)
            self._free_cells(self.sessions.touch(name, engine.key))
            return name
        return f"{engine.context} {next(self._numbers)}" if call.client else None

    def settle(self, call: ChatCall, engine: Engine, name: str | None, ended: Ended) -> None:
        """Record the end of a conversation's reply, which may evict other conversations."""
        self.sessions.settle(name, ended)
        if name is not None and ended.kept and not call.session_id:
            self._free_cells(self.sessions.touch(name, engine.key, is_session=False))

    async def warm(self, entry: Entry) -> None:
        """Load a chat engine and verify once per process that it generates a token."""
        engine = await self.acquire(entry)
        try:
            if engine.worker.busy:
                return
            async with engine.model.warming:
                if not engine.model.warm:
                    await engine.worker.ask(Warm(), Ok, COMPUTE_S)
                    engine.model.warm = True
        except WorkerFailed as error:
            raise LocalInitFailed(f"the model cannot generate: {error}") from error
        finally:
            self.release(engine)

    # --- shutdown

    async def stop(self, shelf: Shelf) -> None:
        """End the processes of a shelf; loads in progress raise `ShuttingDown`."""
        loads = [task for task, wanted in self._loads.items() if wanted == shelf]
        for task in loads:
            task.cancel()
        for model in self._processes:
            if model.spec.shelf == shelf:
                model.worker.kill()
        if loads:
            await asyncio.wait(loads)

    async def close(self) -> None:
        """Stop all worker processes; abandon those that take too long."""
        self.closed = True
        for task in self._loads:
            task.cancel()
        self._engines.clear()
        self._models.clear()
        for model in self._processes:
            self._own(model.worker.close())
        self._processes.clear()
        try:
            async with asyncio.timeout(CLOSE_S):
                while tasks := [task for task in self._tasks if not task.done()]:
                    await asyncio.wait(tasks)
        except TimeoutError:
            log.error("worker processes did not end in time")

    # --- internals: getting an engine

    async def _chat_spec(self, shelf: Shelf, entry: Entry, max_tokens: int | None) -> EngineSpec:
        """Describe the engine for a chat. Raises `LocalInitFailed` for an unsuitable file."""
        began = self._clock()
        try:
            header = await self._header(entry)
        except NotForChat:
            raise
        except LocalInitFailed as error:
            if shelf == "chat":
                key = make_engine_key(entry.id, max_tokens, entry.backend)
                self.failures.appendleft(self._attempt(key, entry, began, f"failed: {error}"))
            raise
        budget = choose_budget(entry, header.context_length, self._settings.default_context)
        limit = None if max_tokens is None else min(max_tokens, budget)
        layers = entry.declared.n_gpu_layers
        declared = -1 if layers is None else layers
        load = LoadChat(
            str(entry.path),
            declared if entry.backend == "LOCAL_GPU" else 0,
            self._settings.threads,
            entry.declared.chat_template or "",
            self._settings.parallel if shelf == "chat" else 1,
        )
        key = make_engine_key(entry.id, limit, entry.backend)
        template = load.template or header.chat_template
        form = detect_format(template) if template else None
        return EngineSpec(shelf, key, entry.fingerprint, load, limit or budget, form)

    async def _header(self, entry: Entry) -> gguf.Header:
        """Read and check the header. Raises `LocalInitFailed`."""
        if entry.fault is not None:
            raise LocalInitFailed(entry.fault)
        if entry.backend == "LOCAL_NPU":
            raise LocalInitFailed("this build of the engine has no NPU backend")
        if entry.kind == "embedding":
            raise NotForChat(entry.id)
        try:
            header = await asyncio.to_thread(_read_header, entry)
        except gguf.BadModelFile as error:
            text = f"the file of {entry.id} is not a usable model: {error}"
            raise LocalInitFailed(text) from error
        if header.embedding_only:
            raise NotForChat(entry.id)
        return header

    async def _acquire(self, spec: EngineSpec, entry: Entry, number: int) -> Engine:
        if self.closed:
            raise make_shutdown_error()
        if (engine := self._find_loaded(spec)) is not None:
            return engine
        task = self._own(self._load(spec, entry, number))
        self._loads[task] = spec.shelf
        task.add_done_callback(self._loads.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if task.cancelled() and (caller is None or not caller.cancelling()):
                raise make_shutdown_error() from None
            task.add_done_callback(self._release_unused)
            raise

    def _find_loaded(self, spec: EngineSpec) -> Engine | None:
        """Find a matching engine in memory and add a user to it."""
        engine = self._engines.get(spec.key)
        if engine is None or engine.budget != spec.budget or not engine.model.serves(spec):
            return None
        engine.users += 1
        self._touch(engine)
        return engine

    def _release_unused(self, task: asyncio.Task[Engine]) -> None:
        """Release an engine that was loaded for a cancelled caller."""
        if not task.cancelled() and task.exception() is None:
            self.release(task.result())

    async def _load(self, spec: EngineSpec, entry: Entry, number: int) -> Engine:
        """Load an engine; concurrent callers share it or its failure."""
        async with self._locks.setdefault(entry.id, asyncio.Lock()):
            if (engine := self._find_loaded(spec)) is not None:
                return engine
            failure = self._failed.get(entry.id)
            if (
                failure is not None
                and failure.spec == spec
                and (failure.number > number or self._clock() < failure.until)
            ):
                raise failure.error.with_traceback(None)
            if (older := self._engines.get(spec.key)) is not None:
                self._forget(older)
            await self._wait_for_place(spec.shelf)
            self._places.append(spec.shelf)
            try:
                engine = await self._load_engine(spec, entry)
            finally:
                self._places.remove(spec.shelf)
                self._freed.set()
            self._engines[spec.key] = engine
            self._touch(engine)
            self._trim(spec.shelf, 0)
            return engine

    async def _wait_for_place(self, shelf: Shelf) -> None:
        """Wait until another engine fits next to those in use and those being loaded."""
        limit_s = self._load_timeout_s if shelf == "embedding" else None
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    self._trim(shelf, 1)
                    if self._size(shelf) < self._limit(shelf):
                        return
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise EmbedBusy("all embedding models in memory are in use") from None

    async def _load_engine(self, spec: EngineSpec, entry: Entry) -> Engine:
        began = self._clock()
        context = f"{spec.key} {next(self._numbers)}"
        try:
            async with asyncio.timeout(self._load_timeout_s):
                model = await self._open(spec, entry.id, context)
        except (WorkerFailed, OSError, TimeoutError) as error:
            no_room = isinstance(error, ShortOfMemory)
            text = explain_failure(error) + (self._describe_in_use() if no_room else "")
            failure = self._failure(spec, entry, began, text, no_room=no_room)
            lasting = spec.shelf == "embedding" and type(error) is WorkerFailed
            until = self._clock() + (REFUSED_S if lasting else 0.0)
            self._failed[entry.id] = _Failure(spec, failure, next(self._numbers), until)
            raise failure from error
        attempt = self._attempt(spec.key, entry, began, "ok")
        return Engine(
            *(spec.shelf, spec.key, context, entry.id, entry.backend, spec.budget),
            model,
            attempt,
            spec.format,
            users=1,
        )

    async def _get_process(self, spec: EngineSpec, model_id: str) -> Model:
        """Get the process with this file, started if necessary."""
        model = self._models.get(model_id)
        if model is not None:
            if model.serves(spec):
                return model
            del self._models[model_id]  # its engines are unloaded when nobody uses them
            for engine in [e for e in self._engines.values() if e.model is model]:
                self._forget(engine)
        worker = await self._start_worker()
        kind = ChatLoaded if isinstance(spec.load, LoadChat) else EncoderLoaded
        try:
            loaded: ChatLoaded | EncoderLoaded = await worker.ask(spec.load, kind, None)
        except BaseException:
            worker.kill()
            self._own(worker.close())
            raise
        if isinstance(loaded, ChatLoaded):
            worker.parallel = loaded.parallel
            log.info(
                "%s: threads for a token %d (%s), for a prompt %d; replies at a time %d; %s;"
                " layers on a GPU %d; %s",
                *(model_id, loaded.threads, loaded.chosen, loaded.prefill_threads),
                *(loaded.parallel, loaded.library, loaded.gpu_layers, ", ".join(loaded.devices)),
            )
            if loaded.template in ("chatml", "none"):
                log.warning("%s %s", model_id, _TEMPLATES[loaded.template])
        model = self._models[model_id] = Model(worker, loaded, spec)
        self._processes.add(model)
        return model

    async def _open(self, spec: EngineSpec, model_id: str, context: str) -> Model:
        """Load the file and open a context; unload idle engines if there is no room."""
        while True:
            try:
                model = await self._get_process(spec, model_id)
                await self._open_context(model, context, spec)
            except ShortOfMemory as error:
                never = error.needed > self._memory  # then unloading engines would not help
                if never or not await self._unload_idlest():
                    raise
            else:
                return model

    async def _open_context(self, model: Model, context: str, spec: EngineSpec) -> None:
        model.contexts.add(context)
        if not isinstance(model.loaded, ChatLoaded):
            return
        session_bytes = self._settings.session_bytes if spec.shelf == "chat" else 0
        loaded, kept = model.loaded, self._settings.session_cache_size + OTHERS
        cells = count_cells(spec.budget, loaded.kv_bytes_per_token, session_bytes, loaded.parallel)
        try:
            await model.worker.ask(Open(context, spec.budget, cells, kept), Ok, COMPUTE_S)
        except BaseException:
            self._close_context(model, context)  # it may be open or about to open
            raise

    async def _unload_idlest(self) -> bool:
        """Unload the least recently used idle engine and free its memory; False if all are busy."""
        idle = next((engine for engine in self._engines.values() if not engine.users), None)
        if idle is None:
            return False
        log.warning("memory is low: the idle engine %s is unloaded", idle.key)
        before = set(self._tasks)
        self._forget(idle)
        if closing := self._tasks - before:
            await asyncio.wait(closing)
        return True

    def _describe_in_use(self) -> str:
        """Text that names the models in use, which cannot be unloaded now."""
        models = {engine.model_id for engine in self._engines.values() if engine.users}
        return f"; in use: {', '.join(sorted(models))}" if models else ""

    # --- internals: records of attempts

    def _attempt(self, key: str, entry: Entry, began: float, result: str) -> Attempt:
        ms = round((self._clock() - began) * 1000)
        return Attempt(key, entry.backend, result, ms, time.time())

    def _failure(
        self, spec: EngineSpec, entry: Entry, began: float, why: str, *, no_room: bool = False
    ) -> ApiError:
        """Record a failed load and return its error."""
        if spec.shelf != "system":
            attempt = self._attempt(spec.key, entry, began, f"failed: {why}")
            self.failures.appendleft(attempt)
        text = f"the model {entry.id} cannot be loaded: {why}"
        log.warning("engine %s failed: %s", spec.key, why)
        if spec.shelf == "embedding":
            return EmbedFailed(text)
        return NoRoom(text) if no_room else LocalInitFailed(text)

    # --- internals: unloading

    def _size(self, shelf: Shelf) -> int:
        """Number of engines of a shelf, including those being loaded."""
        return sum(e.shelf == shelf for e in self._engines.values()) + self._places.count(shelf)

    def _limit(self, shelf: Shelf) -> int:
        if shelf != "embedding":
            return self._settings.engine_cache_size if shelf == "chat" else 1
        engines = [engine for engine in self._engines.values() if engine.shelf == shelf]
        used = self._places.count(shelf) + sum(engine.users > 0 for engine in engines)
        size = self._settings.embedding_cache_size
        return size if used < size else size + SPARE

    def _trim(self, shelf: Shelf, room: int) -> None:
        """Unload idle engines, the least recently used first, until *room* more would fit."""
        for engine in [e for e in self._engines.values() if e.shelf == shelf]:
            if self._size(shelf) + room <= self._limit(shelf):
                return
            if not engine.users:
                self._forget(engine)

    def _touch(self, engine: Engine) -> None:
        engine.used = self._clock()
        if self._engines.get(engine.key) is engine:
            self._engines.move_to_end(engine.key)

    def _forget(self, engine: Engine) -> None:
        """Remove an engine from its shelf; it ends as soon as nobody uses it."""
        self._engines.pop(engine.key, None)
        self._freed.set()
        self.sessions.drop_engine(engine.key)
        if not engine.users:
            self._close_context(engine.model, engine.context)

    def _close_context(self, model: Model, context: str) -> None:
        """Close a context, and with the last one the process."""
        model.contexts.discard(context)
        if not model.contexts:
            self._models = {name: m for name, m in self._models.items() if m is not model}
            self._processes.discard(model)
            self._own(model.worker.close())
        elif model.worker.alive:
            self._own(_close(model.worker, context))

    def _free_cells(self, conversations: Iterable[tuple[str, str]]) -> None:
        """Have engines forget conversations, given as (engine key, name)."""
        for key, name in conversations:
            if (engine := self._engines.get(key)) is not None:
                engine.worker.forget([name])

    def _own(self, work: Coroutine[None, None, _Result]) -> asyncio.Task[_Result]:
        """Run *work* in a task that `close` waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # waiters get the exception, but there may be none left


async def _close(worker: Worker, context: str) -> None:
    with contextlib.suppress(WorkerFailed):
        await worker.ask(Close(context), Ok)


def _read_header(entry: Entry) -> gguf.Header:
    """Read the header of a file; a failed read is retried. Raises `BadModelFile`."""
    header = read_header(entry.path, entry.fingerprint)
    return header if isinstance(header, gguf.Header) else gguf.read(entry.path)


def make_engine_key(model_id: str, max_tokens: int | None, backend: Backend) -> str:
    """The key of an engine as shown by ``/health``."""
    return f"{model_id}_{max_tokens if max_tokens is not None else 'model'}_{backend}"


def count_cells(budget: int, kv_bytes_per_token: int, session_bytes: int, parallel: int = 1) -> int:
    """Cells of a KV pool: one budget for each reply, and one for all cached conversations.

    The byte limit may leave less than that for further replies, which then wait for cells.
    Conversations seldom fill the budget, and every cell takes memory as long as the engine is
    loaded.
    """
    extra = min(budget * parallel, session_bytes // max(1, kv_bytes_per_token))
    return -(-(budget + extra) // CELL_STEP) * CELL_STEP


def choose_budget(entry: Entry, trained: int, default_context: int) -> int:
    """Token budget of a model if the request does not set a smaller one.

    *trained* is the context that it was trained with; 0: unknown.
    """
    if entry.declared.context_tokens is not None:
        return entry.declared.context_tokens
    return min(trained, default_context) if trained else default_context


def explain_failure(error: BaseException) -> str:
    """Why an engine could not be loaded, as text for a client without paths and class names."""
    match error:
        case TimeoutError():
            return "it did not load in time"
        case OSError():
            return "no process could be started for it"
        case _:
            return str(error)


def make_shutdown_error() -> ShuttingDown:
    """The error of requests that end because the server stops."""
    return ShuttingDown("the server is shutting down", headers={"Retry-After": "5"})
