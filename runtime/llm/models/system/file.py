"""A system model that this server manages itself: a declared GGUF file, verified before use.

The pool loads it as a catalog entry under the system model's name and generates its replies.
"""

import asyncio
import hashlib
import json
import logging
import stat
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from runtime.llm.errors import (
    EngineFailed,
    LocalInitFailed,
    SysmodelRuntimeError,
    SysmodelUnavailable,
)
from runtime.llm.inference import SYSTEM_MODEL, ChatCall, Generation, Piece, Turn
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.models.catalogfile import Declaration
from runtime.llm.models.download import (
    Pace,
    Source,
    Transfer,
    TransferFailed,
    in_thread,
    lacks_room,
)
from runtime.llm.models.system.foreground import Gate
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import (
    Availability,
    Provider,
    RelayedReply,
    Status,
    flatten,
    refusal,
    unknown_state,
)

log = logging.getLogger(__name__)

_CHUNK: Final = 1 << 20

Verdict = Literal["missing", "checking", "good", "size_mismatch", "checksum_mismatch"]
Generate = Callable[[Entry, ChatCall], Awaitable[Generation]]
"""Starts a reply of a model file."""


@dataclass(frozen=True)
class Declared:
    """The declared file of the system model."""

    path: Path
    sha256: str
    size: int | None
    context_tokens: int
    url: str | None = None
    """Where it can be downloaded; None: it is part of the installation."""
    temperature: float | None = None
    """For requests without a temperature; None: that of the settings."""


class ManagedFile(Provider):
    """Downloads the file on request, verifies it, and answers with an engine of the pool."""

    name = "managed_gguf"
    calls_tools = True
    holds_formats = True

    def __init__(
        self,
        declared: Declared,
        generate: Generate,
        record: Path,
        settings: SysmodelSettings,
        *,
        gate: Gate | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.path = declared.path
        self._declared = declared
        self._generate = generate
        self._settings = settings
        self._gate = gate or Gate(settings.foreground_policy)
        self._pace = pace or Pace(settings.download_stall_s, settings.download_bytes_per_s)
        self.max_concurrency = settings.max_concurrency
        self._verifier = Verifier(declared.path, declared.sha256, declared.size, record)
        self._transfer: Transfer | None = None
        self._download: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._turn = asyncio.Lock()

    async def probe(self) -> Availability:
        """Return the state of the file."""
        if self._download is not None and self._transfer is not None:
            return self._report_progress(self._transfer)
        return (await self._look())[0]

    async def download(self) -> Availability:
        """Start the download, or join a running one."""
        now = await self.probe()
        if now.error is not None:
            raise SysmodelUnavailable(now.error)
        url, size = self._declared.url, self._declared.size
        if self._download is not None or now.code in (Status.AVAILABLE, Status.DOWNLOADING):
            return await self.probe()
        if now.code != Status.DOWNLOADABLE or url is None or size is None:
            raise refusal(now) or SysmodelUnavailable("there is nothing to download")
        source = Source(url, self._declared.sha256, size)
        transfer = Transfer(source, self._declared.path, self._pace)
        self._failure, self._transfer = None, transfer
        self._download = asyncio.create_task(self._fetch(transfer), name="sysmodel-download")
        return self._report_progress(transfer)

    def generate(self, call: ChatCall) -> Generation:
        """Return the reply, which waits while another one runs."""
        return RelayedReply(lambda reply: self._answer(call, reply))

    async def close(self) -> None:
        """Stop the download and the verification; received data is kept for the next start."""
        if self._download is not None:
            self._download.cancel()
            await asyncio.wait({self._download})
        await self._verifier.close()

    async def _look(self) -> tuple[Availability, Fingerprint | None]:
        """Inspect the file; a downloaded file that fails verification is deleted."""
        try:
            finding = await self._verifier.look()
            if finding.verdict == "missing":
                return await self._explain_absence(), None
            if finding.verdict.endswith("_mismatch"):
                return await self._handle_mismatch(finding.verdict), None
        except OSError:
            return unknown_state("the system model's file cannot be read"), None
        if finding.verdict == "good":
            return Availability(Status.AVAILABLE), finding.fingerprint
        total = finding.fingerprint.size if finding.fingerprint else None
        checking = Availability(
            Status.DOWNLOADING,
            "verifying",
            progress=finding.done / total if total else None,
            bytes_done=finding.done,
            bytes_total=total,
            retry_after_s=5,
        )
        return checking, None

    async def _explain_absence(self) -> Availability:
        size = self._declared.size
        if self._declared.url is None or size is None:
            return Availability(Status.UNAVAILABLE, "file_missing")
        if self._settings.offline:
            return Availability(Status.UNAVAILABLE, "offline")
        if await in_thread(lacks_room, self._declared.path, size):
            return Availability(Status.UNAVAILABLE, "disk_full")
        return Availability(Status.DOWNLOADABLE, self._failure)

    async def _handle_mismatch(self, verdict: Verdict) -> Availability:
        if self._declared.url is None:
            return Availability(Status.UNAVAILABLE, verdict)
        log.warning("the downloaded system model fails its verification and is deleted")
        self._failure = verdict
        await in_thread(self._declared.path.unlink, missing_ok=True)
        return await self._explain_absence()

    def _report_progress(self, transfer: Transfer) -> Availability:
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

    async def _answer(self, call: ChatCall, reply: RelayedReply) -> AsyncGenerator[Piece, None]:
        if self._settings.flatten and not call.uses_tools:
            call = replace(call, turns=(Turn("user", flatten(call.turns)),))
        gate = self._gate
        await gate.check()
        async with self._turn:
            await gate.check()
            entry = await self._entry()
            try:
                generation = await self._generate(entry, call)
                reply.format = generation.format
                try:
                    async for piece in generation:
                        yield piece
                        await gate.check()
                    reply.settle(generation.outcome)
                finally:
                    await generation.aclose()
            except LocalInitFailed as failure:
                raise SysmodelRuntimeError(str(failure)) from None
            except EngineFailed:
                raise SysmodelRuntimeError("the engine of the system model failed") from None

    async def _entry(self) -> Entry:
        """The verified file as a catalog entry; raises the rich error of any other state."""
        state, fingerprint = await self._look()
        if fingerprint is None:
            raise refusal(state) or SysmodelUnavailable("there is no system model")
        return Entry(
            SYSTEM_MODEL,
            self._declared.path,
            "gguf",
            fingerprint,
            Declaration(
                context_tokens=self._declared.context_tokens,
                temperature=self._declared.temperature,
            ),
        )


class Finding(NamedTuple):
    """A verdict and, while checking, its progress."""

    verdict: Verdict
    fingerprint: Fingerprint | None = None
    done: int = 0


class Verifier:
    """Verifies a file by hashing it once.

    The verdict is stored in *record*, together with the state of the file.
    """

    def __init__(self, path: Path, sha256: str, size: int | None, record: Path) -> None:
        self._path = path
        self._sha256 = sha256
        self._size = size
        self._record = record
        self._judged: tuple[Fingerprint, Verdict] | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._hashed = 0

    async def look(self, wait_s: float = 0.2) -> Finding:
        """Return the verdict, or ``checking`` if hashing takes longer than *wait_s* seconds.

        Raises `OSError` if the file cannot be read.
        """
        fingerprint = await in_thread(_fingerprint, self._path)
        if fingerprint is None:
            return Finding("missing")
        if self._size is not None and fingerprint.size != self._size:
            return Finding("size_mismatch", fingerprint)
        if self._judged is None and await in_thread(self._read_record) == fingerprint:
            self._judged = fingerprint, "good"
        if self._judged is None or self._judged[0] != fingerprint:
            task = self._task or asyncio.create_task(self._judge(fingerprint))
            self._task = task
            await asyncio.wait({task}, timeout=wait_s)
            if task.done():
                self._task = None
                await task
        if self._judged is not None and self._judged[0] == fingerprint:
            return Finding(self._judged[1], fingerprint)
        return Finding("checking", fingerprint, self._hashed)

    async def trust(self) -> None:
        """Accept the file as verified: its bytes were hashed while being written."""
        fingerprint = await in_thread(_fingerprint, self._path)
        if fingerprint is not None:
            self._judged = fingerprint, "good"
            await in_thread(self._write_record, fingerprint)

    async def close(self) -> None:
        """Stop hashing."""
        self._stop.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _judge(self, fingerprint: Fingerprint) -> None:
        self._hashed = 0
        digest = await in_thread(self._hash)
        if await in_thread(_fingerprint, self._path) != fingerprint:
            return  # replaced meanwhile: the next call starts over
        if digest == self._sha256:
            self._judged = fingerprint, "good"
            await in_thread(self._write_record, fingerprint)
        elif digest is not None:
            self._judged = fingerprint, "checksum_mismatch"

    def _hash(self) -> str | None:
        """SHA-256 of the file; None if stopped."""
        digest = hashlib.sha256()
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if self._stop.is_set():
                    return None
                digest.update(chunk)
                self._hashed += len(chunk)
        return digest.hexdigest()

    def _read_record(self) -> Fingerprint | None:
        try:
            record = json.loads(self._record.read_text("utf-8"))
            if record["sha256"] == self._sha256:
                return Fingerprint(record["inode"], record["size"], record["mtime_ns"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _write_record(self, fingerprint: Fingerprint) -> None:
        """Store the verdict; if that fails, only the next start takes longer."""
        try:
            self._record.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"sha256": self._sha256, **fingerprint._asdict()})
            self._record.write_text(text, "utf-8")
        except OSError:
            log.warning("the verdict on the system model's file cannot be recorded")


def _fingerprint(path: Path) -> Fingerprint | None:
    """The state of the file at *path*; None if there is no file. Raises `OSError`."""
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    return Fingerprint(info.st_ino, info.st_size, info.st_mtime_ns)
