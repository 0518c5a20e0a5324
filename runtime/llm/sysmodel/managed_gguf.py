"""A system model that this server manages itself: one declared GGUF file, verified before use."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from runtime.llm.errors import (
    EngineFailed,
    LocalInitFailed,
    SysmodelRuntimeError,
    SysmodelUnavailable,
)
from runtime.llm.models.download import (
    Pace,
    Source,
    Transfer,
    TransferFailed,
    free_bytes,
    in_thread,
    needed_bytes,
)
from runtime.llm.sysmodel.base import Availability, Limits, ProbeError, Status, SystemChat
from runtime.llm.sysmodel.cells import MAIN, every_cell
from runtime.llm.sysmodel.flatten import flatten
from runtime.llm.sysmodel.foreground import Gate
from runtime.llm.sysmodel.refusals import refusal
from runtime.llm.sysmodel.replies import Reply, one_token
from runtime.llm.sysmodel.textengine import EngineFactory, TextEngine
from runtime.llm.sysmodel.verification import Finding, Identity, Verifier
from runtime.llm.values import Generation, Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Declared:
    """The file that is the system model."""

    path: Path
    sha256: str
    size: int | None
    context_tokens: int
    url: str | None = None
    """Where it may be downloaded from; None: it comes with the installation."""


@dataclass(frozen=True)
class Options:
    """How the file is used."""

    offline: bool = False
    flat: bool = False
    max_concurrency: int = 1
    """How many requests may be inside; one at a time is answered, the others wait in order."""
    load_s: float = 300.0
    gate: Gate = field(default_factory=lambda: Gate("off"))
    pace: Pace = field(default_factory=Pace)
    free: Callable[[Path], int] = free_bytes


class ManagedGguf:
    """Downloads the file when told to, verifies it, and answers with an engine of its own."""

    name = "managed_gguf"

    def __init__(
        self,
        declared: Declared,
        factory: EngineFactory,
        record: Path,
        options: Options | None = None,
    ) -> None:
        self._declared = declared
        self._factory = factory
        self._options = options or Options()
        self._verifier = Verifier(declared.path, declared.sha256, declared.size, record)
        self._transfer: Transfer | None = None
        self._download: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._one = asyncio.Lock()
        self._engine: asyncio.Task[TextEngine] | None = None
        self._loaded: Identity | None = None

    @property
    def limits(self) -> Limits:
        """The engine counts tokens and takes every sampler."""
        return Limits(
            max_concurrency=self._options.max_concurrency,
            max_context=self._declared.context_tokens,
            speaks_messages=not self._options.flat,
            reports_usage=True,
        )

    async def probe(self) -> Availability:
        """The state of the file. Raises `ProbeError` when the disk fails."""
        if self._download is not None and self._transfer is not None:
            return self._under_way(self._transfer)
        return (await self._look())[0]

    async def probe_configs(self) -> dict[str, Availability | ProbeError]:
        """One model, so one cell."""
        try:
            return every_cell({MAIN: await self.probe()})
        except ProbeError as failure:
            return every_cell({MAIN: failure})

    async def download(self) -> Availability:
        """Start the download, or join the one under way."""
        try:
            now = await self.probe()
        except ProbeError as failure:
            raise SysmodelUnavailable(str(failure)) from failure
        url, size = self._declared.url, self._declared.size
        if self._download is not None or now.code in (Status.AVAILABLE, Status.DOWNLOADING):
            return await self.probe()
        if now.code != Status.DOWNLOADABLE or url is None or size is None:
            raise refusal(now) or SysmodelUnavailable("there is nothing to download")
        source = Source(url, self._declared.sha256, size)
        transfer = Transfer(
            source, self._declared.path, self._options.pace, free=self._options.free
        )
        self._failure, self._transfer = None, transfer
        self._download = asyncio.create_task(self._fetch(transfer), name="sysmodel-download")
        return self._under_way(transfer)

    async def cancel_download(self) -> None:
        """Stop a download; what has arrived is kept and the next one goes on from there."""
        task = self._download
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            if task.cancelled():  # perhaps before its first step, so it could not tidy up itself
                self._download, self._transfer, self._failure = None, None, "cancelled"

    def generate(self, chat: SystemChat) -> Generation:
        """The reply; waits for its turn when another one is under way."""
        return Reply(lambda reply: self._answer(chat, reply))

    async def warm(self) -> None:
        """Load the model, if it is not, and ask for one token."""
        await one_token(self)

    async def idle(self) -> None:
        """End the engine's process, unless it is at work."""
        if not self._one.locked():
            async with self._one:
                await self._drop_engine()

    async def close(self) -> None:
        """Stop the download, the check and the engine."""
        await self.cancel_download()
        await self._verifier.close()
        await self._drop_engine()

    async def _look(self) -> tuple[Availability, Identity | None]:
        """The state by the file alone; a downloaded file that fails its check is deleted."""
        try:
            found = await self._verifier.look()
            if found.verdict == "missing":
                return await self._absent(), None
            if found.verdict.endswith("_mismatch"):
                return await self._rejected(found), None
        except OSError:
            raise ProbeError("the system model's file cannot be read") from None
        if found.verdict == "checking":
            return self._checking(found), None
        return Availability(Status.AVAILABLE), found.identity

    async def _absent(self) -> Availability:
        size = self._declared.size
        if self._declared.url is None or size is None:
            return Availability(Status.UNAVAILABLE, "file_missing")
        if self._options.offline:
            return Availability(Status.UNAVAILABLE, "offline")
        folder, part = self._declared.path.parent, self._declared.path.name + ".part"
        room = await in_thread(self._options.free, folder)
        if room < needed_bytes(size) - await in_thread(_size_of, folder / part):
            return Availability(Status.UNAVAILABLE, "disk_full")
        return Availability(Status.DOWNLOADABLE, self._failure)

    async def _rejected(self, found: Finding) -> Availability:
        if self._declared.url is None:
            return Availability(Status.UNAVAILABLE, found.verdict)
        log.warning("the downloaded system model fails its check and is deleted")
        self._failure = found.verdict
        await in_thread(self._declared.path.unlink, missing_ok=True)
        return await self._absent()

    def _checking(self, found: Finding) -> Availability:
        total = found.identity.size if found.identity else None
        return Availability(
            Status.DOWNLOADING,
            "verifying",
            progress=found.done / total if total else None,
            bytes_done=found.done,
            bytes_total=total,
            retry_after_s=5,
        )

    def _under_way(self, transfer: Transfer) -> Availability:
        total = self._declared.size or 0
        return Availability(
            Status.DOWNLOADING,
            progress=min(transfer.done / total, 1.0) if total else None,
            bytes_done=transfer.done,
            bytes_total=total,
            retry_after_s=transfer.seconds_left(),
        )

    async def _fetch(self, transfer: Transfer) -> None:
        try:
            await transfer.run()
            await self._verifier.trust()
        except TransferFailed as failure:
            self._failure = failure.reason
            log.warning("the download of the system model failed: %s", failure)
        except OSError:
            self._failure = "disk_error"
            log.warning("the downloaded system model cannot be read")
        self._download = self._transfer = None

    async def _answer(self, chat: SystemChat, reply: Reply) -> AsyncGenerator[str, None]:
        turns = (Turn("user", flatten(chat.turns)),) if self._options.flat else chat.turns
        gate = self._options.gate
        await gate.check()
        async with self._one:
            await gate.check()
            engine = await self._ready()
            try:
                work = await engine.generate(turns, chat.sampling, chat.max_output, chat.max_total)
                try:
                    async for piece in work:
                        yield piece
                        await gate.check()
                    reply.settle(work.outcome)
                finally:
                    await work.aclose()
            except (EngineFailed, LocalInitFailed):
                await self._drop_engine()
                raise SysmodelRuntimeError("the engine of the system model broke down") from None

    async def _ready(self) -> TextEngine:
        """The engine, loaded; a caller that leaves while it loads does not stop the loading."""
        state, identity = await self._look()
        if (refused := refusal(state)) is not None:
            raise refused
        if self._loaded != identity:
            await self._drop_engine()
        if self._engine is None:
            self._loaded = identity
            self._engine = asyncio.create_task(self._load(), name="sysmodel-load")
        loading = self._engine
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if loading.cancelled() and not (caller and caller.cancelling()):
                raise SysmodelRuntimeError("the system model was stopped") from None
            raise
        except (LocalInitFailed, EngineFailed) as failure:
            await self._drop_engine()
            raise SysmodelRuntimeError(f"the system model cannot be loaded: {failure}") from None
        except TimeoutError:
            await self._drop_engine()
            raise SysmodelRuntimeError("the system model took too long to load") from None

    async def _load(self) -> TextEngine:
        engine = self._factory(self._declared.path, self._declared.context_tokens)
        try:
            async with asyncio.timeout(self._options.load_s):
                await engine.start()
        except BaseException:
            await engine.close()
            raise
        return engine

    async def _drop_engine(self) -> None:
        task, self._engine, self._loaded = self._engine, None, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:
            await task.result().close()


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
