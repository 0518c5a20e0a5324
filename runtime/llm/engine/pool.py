"""The models in memory: each loaded once in a worker process, shared, and unloaded when unused.

Three shelves of engines have limits of their own: chat engines, encoders, and the one engine of the
system model. An engine is a context of a chat model, of which one process may hold several, or an
encoder with a process to itself. The least recently used engine of a full shelf goes first; one in
use stays until its last user has released it.
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
from runtime.llm.engine.sessions import OTHERS, Sessions, conversation_name
from runtime.llm.errors import (
    EmbedBusy,
    EmbedFailed,
    LocalInitFailed,
    NoRoom,
    NotForChat,
    PromptTooLong,
)
from runtime.llm.inference import Backend, ChatCall, Generation, ReplyFormat
from runtime.llm.messages import message_of, offer_of
from runtime.llm.models import gguf
from runtime.llm.models.catalog import Entry, Fingerprint, read_header
from runtime.llm.replies import reply_format
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
"""Encoders above the limit while as many are in use: two models do not wait for each other."""
REFUSED_S: Final = 60.0
"""How long files that are not an encoder are not tried again, unless they change."""
_TEMPLATES: Final = {
    "chatml": "has no chat template; its vocabulary knows ChatML, which is used",
    "none": "has no chat template: a base model, which gets a chat as a transcript",
}
CLOSE_S: Final = 4.5
FAILURES: Final = 8


class Attempt(NamedTuple):
    """The record of one initialisation."""

    key: str
    backend: Backend
    result: str
    duration_ms: int
    at: float


class EngineSpec(NamedTuple):
    """What an engine is loaded for; a change of anything in it needs another engine."""

    shelf: Shelf
    key: str
    fingerprint: Fingerprint
    load: Load
    budget: int
    """Tokens of a chat context; 0 for an encoder."""
    format: ReplyFormat | None = None
    """How replies to the chat template are written; None: the model has no template."""


@dataclass(eq=False)
class Model:
    """A model file in its process, shared by the engines of that file."""

    worker: Worker
    loaded: ChatLoaded | EncoderLoaded
    spec: EngineSpec
    contexts: set[str] = field(default_factory=set)
    warm: bool = False
    warming: asyncio.Lock = field(default_factory=asyncio.Lock)

    def serves(self, spec: EngineSpec) -> bool:
        """Whether it still lives and is the file that is wanted, loaded as is wanted."""
        same = (self.spec.fingerprint, self.spec.load) == (spec.fingerprint, spec.load)
        return same and self.worker.alive


@dataclass(eq=False)
class Engine:
    """A context of *budget* tokens on a loaded chat model, or an encoder."""

    shelf: Shelf
    key: str
    """As ``/health`` shows it."""
    context: str
    """Its name in the process, used once: the one before may still be closing there."""
    model_id: str
    backend: Backend
    budget: int
    model: Model
    attempt: Attempt
    format: ReplyFormat | None
    """How replies to its chat template are written; None: it has none."""
    users: int = 0
    used: float = 0.0

    @property
    def worker(self) -> Worker:
        """The process behind it."""
        return self.model.worker

    @property
    def encoder(self) -> EncoderLoaded:
        """What an encoder said of itself."""
        if not isinstance(self.model.loaded, EncoderLoaded):
            raise TypeError("this is not an encoder")
        return self.model.loaded


class _Failure(NamedTuple):
    """The last load of a model that failed."""

    spec: EngineSpec
    error: ApiError
    number: int
    until: float
    """By the clock: so long the file is not tried again."""


class Job:
    """The prompt of a call on an engine, which is kept until `release`."""

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
        """How the reply is written."""
        self._sampling = fitted[0].sampling
        if prepared.thinks:  # the thought that is open already goes before what it is held to
            self._sampling = constrain(fitted[0], self.format)
        self.budget: Final = min(engine.budget, call.max_tokens or engine.budget)
        """Tokens of prompt and reply together."""
        self.room: Final = self.budget - prepared.prompt_tokens
        """Tokens that the reply may have."""
        self.load_ms = load_ms
        self._pool = pool
        self._prepared: Prepared | None = prepared
        self._kept = True

    @property
    def source(self) -> str:
        """What answers, as `runtime.llm.chats.fingerprint` takes it."""
        return self.engine.key

    @property
    def place(self) -> tuple[str, int]:
        """What generates, and how many replies of it go side by side."""
        return self.engine.context, self.engine.worker.parallel

    @property
    def is_stale(self) -> bool:
        """Whether the engine's process ended while the call waited for its turn."""
        return not self.engine.worker.alive

    def run(self, on_end: Callable[[], None]) -> Generation:
        """Start the reply, while the process generates no other one; *on_end* is called once."""
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            raise RuntimeError("this prompt has been answered")
        call = self.call
        name = self._pool.conversation(call, self.engine)
        max_output = call.max_completion_tokens
        if self.engine.shelf == "system":  # whose one engine may have room for more
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
        """Give the engine back; later calls do nothing."""
        if self._kept:
            self._kept = False
            if self._prepared is not None:
                self.engine.worker.drop(self._prepared.job)
            self._pool.release(self.engine)


class Pool:
    """Every model that the server holds in memory. *start_worker* starts a worker process."""

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
        """On their shelves by key, the least recently used first."""
        self._models: dict[str, Model] = {}
        """The newest process of each model."""
        self._processes: set[Model] = set()
        """All that have not been told to end."""
        self._locks: dict[str, asyncio.Lock] = {}
        self._failed: dict[str, _Failure] = {}
        self._loads: dict[asyncio.Task[Engine], Shelf] = {}
        self._places: list[Shelf] = []  # taken by engines that are loaded just now
        self._tasks: set[asyncio.Task[object]] = set()
        self._freed = asyncio.Event()
        self._numbers = itertools.count(1)

    # --- what is in memory

    def loaded(self, shelf: Shelf = "chat") -> list[Engine]:
        """The engines of a shelf, most recently used first."""
        newest = reversed(self._engines.values())
        return [engine for engine in newest if engine.shelf == shelf and engine.worker.alive]

    def is_loaded(self, model_id: str) -> bool:
        """Whether an engine of that model is in memory."""
        engines = self._engines.values()
        return any(engine.model_id == model_id and engine.worker.alive for engine in engines)

    def unload_idle(self, idle_s: float, shelf: Shelf | None = None) -> int:
        """Unload engines that nobody used for *idle_s* seconds; the number of them."""
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
        """The regular look: idle and dead engines, expired conversations, short memory."""
        for engine in [e for e in self._engines.values() if not e.users and not e.worker.alive]:
            self._forget(engine)
        if idle_s:
            self.unload_idle(idle_s)
        self._free_cells(self.sessions.expired())
        memory = psutil.virtual_memory()
        if memory.available < LOW_MEMORY * memory.total and self.unload_idle(0.0):
            log.warning("memory runs short: idle engines were unloaded")

    # --- using an engine

    async def acquire(
        self, entry: Entry, max_tokens: int | None = None, shelf: ChatShelf = "chat"
    ) -> Engine:
        """A chat engine for *entry*, loaded if need be and kept until `release`.

        Raises `LocalInitFailed` and `ShuttingDown`. A caller that leaves does not stop a load that
        is under way.
        """
        number = next(self._numbers)
        return await self._acquire(await self._chat_spec(shelf, entry, max_tokens), entry, number)

    async def acquire_encoder(self, entry: Entry) -> Engine:
        """The encoder for *entry*; as `acquire`, but raises `EmbedFailed` and `EmbedBusy`."""
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
        key = engine_key(entry.id, None, entry.backend)
        spec = EngineSpec("embedding", key, entry.fingerprint, load, 0)
        reason = entry.fault
        if reason is None and entry.backend != "LOCAL_CPU":
            reason = f"embedding models run on the CPU; {entry.backend} is declared for this one"
        if reason is not None:
            raise self._failure(spec, entry, self._clock(), reason)
        return await self._acquire(spec, entry, next(self._numbers))

    async def prepare(self, entry: Entry, call: ChatCall, shelf: ChatShelf = "chat") -> Job:
        """The prompt of *call* on an engine.

        The system model has one engine, whatever `max_tokens` is. Raises `PromptTooLong`,
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
                [message_of(turn) for turn in fitted[0].turns],
                [offer_of(tool) for tool in tools],
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
                f"the prompt has {prepared.prompt_tokens} tokens and the total budget of prompt"
                f" and reply is {job.budget}; max_tokens counts both, max_completion_tokens counts"
                " the reply only",
                param="max_tokens",
            )
        return job

    async def generate(self, entry: Entry, call: ChatCall) -> Generation:
        """Start a reply of the system model, on its own engine. Raises as `prepare`."""
        job = await self.prepare(entry, call, "system")
        return job.run(job.release)

    def release(self, engine: Engine) -> None:
        """Give an engine back."""
        engine.users -= 1
        if self.closed:
            return
        self._freed.set()
        if self._engines.get(engine.key) is engine:
            self._touch(engine)
        elif not engine.users:
            self._close_context(engine.model, engine.context)
        self._trim(engine.shelf, 0)

    def conversation(self, call: ChatCall, engine: Engine) -> str | None:
        """The name under which *engine* is to keep the conversation; None: it is not kept.

        A session that is full up makes the least recently used one go.
        """
        if call.session_id:
            name = conversation_name(call.owner, call.session_id, engine.key)
            self._free_cells(self.sessions.touch(name, engine.key))
            return name
        return f"{engine.context} {next(self._numbers)}" if call.client else None

    def settle(self, call: ChatCall, engine: Engine, name: str | None, ended: Ended) -> None:
        """Note what became of a conversation, which may make others go."""
        self.sessions.settle(name, ended)
        if name is not None and ended.kept and not call.session_id:
            self._free_cells(self.sessions.touch(name, engine.key, is_session=False))

    async def warm(self, entry: Entry) -> None:
        """Load a chat engine and prove that it generates a token, once for each process."""
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

    # --- the end

    async def stop(self, shelf: Shelf) -> None:
        """End the processes of a shelf; who waits for a load of it hears `ShuttingDown`."""
        loads = [task for task, wanted in self._loads.items() if wanted == shelf]
        for task in loads:
            task.cancel()
        for model in self._processes:
            if model.spec.shelf == shelf:
                model.worker.kill()
        if loads:
            await asyncio.wait(loads)

    async def close(self) -> None:
        """Stop every worker process; what takes too long is given up."""
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

    # --- inside: getting an engine

    async def _chat_spec(self, shelf: Shelf, entry: Entry, max_tokens: int | None) -> EngineSpec:
        """What to load for a chat; raises `LocalInitFailed` for a file that is not for it."""
        began = self._clock()
        try:
            header = await self._header(entry)
        except NotForChat:
            raise
        except LocalInitFailed as error:
            if shelf == "chat":
                key = engine_key(entry.id, max_tokens, entry.backend)
                self.failures.appendleft(self._attempt(key, entry, began, f"failed: {error}"))
            raise
        budget = model_budget(entry, header.context_length, self._settings.default_context)
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
        key = engine_key(entry.id, limit, entry.backend)
        template = load.template or header.chat_template
        form = reply_format(template) if template else None
        return EngineSpec(shelf, key, entry.fingerprint, load, limit or budget, form)

    async def _header(self, entry: Entry) -> gguf.Header:
        """The checked header; raises `LocalInitFailed`."""
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
            raise shutting_down()
        if (engine := self._loaded(spec)) is not None:
            return engine
        task = self._own(self._load(spec, entry, number))
        self._loads[task] = spec.shelf
        task.add_done_callback(self._loads.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if task.cancelled() and (caller is None or not caller.cancelling()):
                raise shutting_down() from None
            task.add_done_callback(self._unwanted)
            raise

    def _loaded(self, spec: EngineSpec) -> Engine | None:
        """The engine that is wanted, with one user more, if it is in memory."""
        engine = self._engines.get(spec.key)
        if engine is None or engine.budget != spec.budget or not engine.model.serves(spec):
            return None
        engine.users += 1
        self._touch(engine)
        return engine

    def _unwanted(self, task: asyncio.Task[Engine]) -> None:
        """Give back what was loaded for one who left."""
        if not task.cancelled() and task.exception() is None:
            self.release(task.result())

    async def _load(self, spec: EngineSpec, entry: Entry, number: int) -> Engine:
        """Load an engine; those who ask for it meanwhile share it, or the failure."""
        async with self._locks.setdefault(entry.id, asyncio.Lock()):
            if (engine := self._loaded(spec)) is not None:
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
                engine = await self._bring(spec, entry)
            finally:
                self._places.remove(spec.shelf)
                self._freed.set()
            self._engines[spec.key] = engine
            self._touch(engine)
            self._trim(spec.shelf, 0)
            return engine

    async def _wait_for_place(self, shelf: Shelf) -> None:
        """Wait until one more engine fits beside those in use and those that are coming."""
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
            raise EmbedBusy("the embedding models in memory are all in use") from None

    async def _bring(self, spec: EngineSpec, entry: Entry) -> Engine:
        began = self._clock()
        context = f"{spec.key} {next(self._numbers)}"
        try:
            async with asyncio.timeout(self._load_timeout_s):
                model = await self._open(spec, entry.id, context)
        except (WorkerFailed, OSError, TimeoutError) as error:
            no_room = isinstance(error, ShortOfMemory)
            text = failure_text(error) + (self._in_use() if no_room else "")
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

    async def _model(self, spec: EngineSpec, model_id: str) -> Model:
        """The process with this file, started if need be."""
        model = self._models.get(model_id)
        if model is not None:
            if model.serves(spec):
                return model
            del self._models[model_id]  # its engines go as soon as nobody uses them
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
        """The loaded file with a context; idle engines go where there is no room for it."""
        while True:
            try:
                model = await self._model(spec, model_id)
                await self._open_context(model, context, spec)
            except ShortOfMemory as error:
                never = error.needed > self._memory  # then no engine should go for it
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
        cells = cells_for(spec.budget, loaded.kv_bytes_per_token, session_bytes, loaded.parallel)
        try:
            await model.worker.ask(Open(context, spec.budget, cells, kept), Ok, COMPUTE_S)
        except BaseException:
            self._close_context(model, context)  # it may be open, or may yet be
            raise

    async def _unload_idlest(self) -> bool:
        """Unload the least recently used idle engine and see its memory freed; False: all work."""
        idle = next((engine for engine in self._engines.values() if not engine.users), None)
        if idle is None:
            return False
        log.warning("memory is short: the idle engine %s is unloaded", idle.key)
        before = set(self._tasks)
        self._forget(idle)
        if closing := self._tasks - before:
            await asyncio.wait(closing)
        return True

    def _in_use(self) -> str:
        """The models that hold memory and cannot go now, in words."""
        models = {engine.model_id for engine in self._engines.values() if engine.users}
        return f"; in use: {', '.join(sorted(models))}" if models else ""

    # --- inside: records of attempts

    def _attempt(self, key: str, entry: Entry, began: float, result: str) -> Attempt:
        ms = round((self._clock() - began) * 1000)
        return Attempt(key, entry.backend, result, ms, time.time())

    def _failure(
        self, spec: EngineSpec, entry: Entry, began: float, why: str, *, no_room: bool = False
    ) -> ApiError:
        """The error of a load that failed, which is also recorded."""
        if spec.shelf != "system":
            attempt = self._attempt(spec.key, entry, began, f"failed: {why}")
            self.failures.appendleft(attempt)
        text = f"the model {entry.id} cannot be loaded: {why}"
        log.warning("engine %s failed: %s", spec.key, why)
        if spec.shelf == "embedding":
            return EmbedFailed(text)
        return NoRoom(text) if no_room else LocalInitFailed(text)

    # --- inside: letting go

    def _size(self, shelf: Shelf) -> int:
        """Engines of a shelf that take a place, among them those that are being loaded."""
        return sum(e.shelf == shelf for e in self._engines.values()) + self._places.count(shelf)

    def _limit(self, shelf: Shelf) -> int:
        if shelf != "embedding":
            return self._settings.engine_cache_size if shelf == "chat" else 1
        engines = [engine for engine in self._engines.values() if engine.shelf == shelf]
        used = self._places.count(shelf) + sum(engine.users > 0 for engine in engines)
        size = self._settings.embedding_cache_size
        return size if used < size else size + SPARE

    def _trim(self, shelf: Shelf, room: int) -> None:
        """Unload least recently used engines that nobody uses until *room* more would fit."""
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
        """Off its shelf; it ends as soon as nobody uses it."""
        self._engines.pop(engine.key, None)
        self._freed.set()
        self.sessions.drop_engine(engine.key)
        if not engine.users:
            self._close_context(engine.model, engine.context)

    def _close_context(self, model: Model, context: str) -> None:
        """Close a context, or with the last one the process."""
        model.contexts.discard(context)
        if not model.contexts:
            self._models = {name: m for name, m in self._models.items() if m is not model}
            self._processes.discard(model)
            self._own(model.worker.close())
        elif model.worker.alive:
            self._own(_close(model.worker, context))

    def _free_cells(self, conversations: Iterable[tuple[str, str]]) -> None:
        """Have conversations forgotten, each named with the key of its engine."""
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
            task.exception()  # those who wait for it are told; there may be none left


async def _close(worker: Worker, context: str) -> None:
    with contextlib.suppress(WorkerFailed):
        await worker.ask(Close(context), Ok)


def _read_header(entry: Entry) -> gguf.Header:
    """The header of a file; one that could not be read is tried again. Raises `BadModelFile`."""
    header = read_header(entry.path, entry.fingerprint)
    return header if isinstance(header, gguf.Header) else gguf.read(entry.path)


def engine_key(model_id: str, max_tokens: int | None, backend: Backend) -> str:
    """The key of an engine, as ``/health`` shows it."""
    return f"{model_id}_{max_tokens if max_tokens is not None else 'model'}_{backend}"


def cells_for(budget: int, kv_bytes_per_token: int, session_bytes: int, parallel: int = 1) -> int:
    """Cells of a KV pool: the budget of each reply, and one for all cached conversations together.

    The byte limit may allow less beside the first reply, and the others then wait for cells.
    Conversations are seldom as long as the budget, and every cell is memory that is taken for as
    long as the engine is loaded.
    """
    extra = min(budget * parallel, session_bytes // max(1, kv_bytes_per_token))
    return -(-(budget + extra) // CELL_STEP) * CELL_STEP


def model_budget(entry: Entry, trained: int, default_context: int) -> int:
    """Total tokens a model is run with when the request does not ask for fewer.

    *trained* is what it was trained with; 0: unknown.
    """
    if entry.declared.context_tokens is not None:
        return entry.declared.context_tokens
    return min(trained, default_context) if trained else default_context


def failure_text(error: BaseException) -> str:
    """Why an engine could not be made ready, fit for a client: no path, no class name."""
    match error:
        case TimeoutError():
            return "it did not load in time"
        case OSError():
            return "no process could be started for it"
        case _:
            return str(error)


def shutting_down() -> ShuttingDown:
    """What requests hear when the server stops."""
    return ShuttingDown("the server is shutting down", headers={"Retry-After": "5"})
