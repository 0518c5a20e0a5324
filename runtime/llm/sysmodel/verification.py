"""Says whether a model file is the declared one, hashing it once and remembering the verdict."""

import asyncio
import hashlib
import json
import logging
import stat
import threading
from pathlib import Path
from typing import Literal, NamedTuple

from runtime.llm.models.download import in_thread

log = logging.getLogger(__name__)

_CHUNK = 1 << 20

Verdict = Literal["missing", "checking", "good", "size_mismatch", "checksum_mismatch"]


class Identity(NamedTuple):
    """What changes when a file is replaced or rewritten."""

    inode: int
    size: int
    mtime_ns: int


class Finding(NamedTuple):
    """A verdict and, while checking, how far it is."""

    verdict: Verdict
    identity: Identity | None = None
    done: int = 0


class Stopped(Exception):
    """The hashing was told to stop."""


def identity_of(path: Path) -> Identity | None:
    """The identity of the file at *path*; None where there is no file. Raises `OSError`."""
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(info.st_mode):
        return None
    return Identity(info.st_ino, info.st_size, info.st_mtime_ns)


class Verifier:
    """Judges one file; the verdict outlives the process in *record*, bound to the identity."""

    def __init__(self, path: Path, sha256: str, size: int | None, record: Path) -> None:
        self._path = path
        self._sha256 = sha256
        self._size = size
        self._record = record
        self._known: dict[Identity, Verdict] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = threading.Event()
        self._hashed = 0

    async def look(self, wait_s: float = 0.2) -> Finding:
        """The verdict, or ``checking`` when hashing takes longer than *wait_s* seconds.

        Raises `OSError` when the file cannot be read.
        """
        identity = await in_thread(identity_of, self._path)
        if identity is None:
            return Finding("missing")
        if self._size is not None and identity.size != self._size:
            return Finding("size_mismatch", identity)
        if not self._known and await in_thread(self._recorded) == identity:
            self._known = {identity: "good"}
        if identity in self._known:
            return Finding(self._known[identity], identity)
        task = self._task or asyncio.create_task(self._judge(identity), name="sysmodel-verify")
        self._task = task
        await asyncio.wait({task}, timeout=wait_s)
        if not task.done():
            return Finding("checking", identity, self._hashed)
        if self._task is task:
            self._task = None
        await task
        return Finding(self._known.get(identity, "checking"), identity, self._hashed)

    async def trust(self) -> None:
        """Take the file as verified: its bytes were hashed while they were written."""
        identity = await in_thread(identity_of, self._path)
        if identity is not None:
            self._known = {identity: "good"}
            await in_thread(self._write_record, identity)

    async def close(self) -> None:
        """Stop hashing."""
        self._stop.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _judge(self, identity: Identity) -> None:
        self._hashed = 0
        digest = await in_thread(self._hash)
        if await in_thread(identity_of, self._path) != identity:
            return  # replaced meanwhile: the next look starts over
        good = digest == self._sha256
        self._known = {identity: "good" if good else "checksum_mismatch"}
        if good:
            await in_thread(self._write_record, identity)

    def _hash(self) -> str:
        digest = hashlib.sha256()
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if self._stop.is_set():
                    raise Stopped
                digest.update(chunk)
                self._hashed += len(chunk)
        return digest.hexdigest()

    def _recorded(self) -> Identity | None:
        try:
            record = json.loads(self._record.read_text("utf-8"))
            if record["sha256"] != self._sha256:
                return None
            return Identity(record["inode"], record["size"], record["mtime_ns"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write_record(self, identity: Identity) -> None:
        """A record that cannot be written costs time at the next start and nothing else."""
        try:
            self._record.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"sha256": self._sha256, **identity._asdict()})
            self._record.write_text(text, "utf-8")
        except OSError:
            log.warning("the verdict on the system model's file cannot be recorded")
