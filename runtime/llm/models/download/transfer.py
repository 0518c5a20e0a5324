"""Downloads one model file, resuming where an earlier attempt ended, and checks all of it."""

import asyncio
import errno
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from runtime.llm.models.download.partfile import PartFile
from runtime.llm.models.download.sources import Opened, TransferFailed, open_source
from runtime.llm.models.download.threads import in_thread

_BATCH = 1 << 20
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Source(NamedTuple):
    """What is to be downloaded."""

    url: str
    sha256: str
    size: int


class Pace(NamedTuple):
    """How a transfer is held in check."""

    stall_s: float = 120.0
    """Seconds without a byte after which it is given up."""
    bytes_per_s: int | None = None
    """None: as fast as it goes."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


def free_bytes(folder: Path) -> int:
    """Free space where *folder* is or will be. Raises `OSError`."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def needed_bytes(size: int) -> int:
    """Free space that a download of *size* bytes asks for: 5 % more."""
    return size + size // 20


async def size_of(url: str, stall_s: float = Pace().stall_s) -> int | None:
    """Bytes of what *url* names, as it says itself; None where it does not.

    Raises `TransferFailed`.
    """
    with _in_words():
        async with open_source(url, 0, None, stall_s) as opened:
            return opened.total


@contextmanager
def _in_words() -> Iterator[None]:
    """Turn whatever network and disk raise into a `TransferFailed`."""
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise TransferFailed("unreachable", "the source cannot be reached") from None
    except TimeoutError:
        raise TransferFailed("stalled", "no progress for too long") from None
    except (aiohttp.ClientError, ValueError) as failure:
        raise TransferFailed("interrupted", "the source broke off") from failure
    except OSError as failure:
        reason = "disk_full" if failure.errno in _NO_SPACE else "disk_error"
        raise TransferFailed(reason, "the file cannot be written") from failure


class Transfer:
    """One attempt; `done` may be read at any time. Never leaves a file that fails its check."""

    def __init__(
        self,
        source: Source,
        target: Path,
        pace: Pace | None = None,
        free: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._source = source
        self._target = target
        self._pace = pace or Pace()
        self._free = free
        self._part = PartFile(target)
        self._resumed_at = 0
        self._began: float | None = None
        self.done = 0

    def seconds_left(self) -> int | None:
        """Seconds to the end at the speed so far; None before there is one."""
        elapsed = time.monotonic() - self._began if self._began is not None else 0.0
        fetched = self.done - self._resumed_at
        if fetched <= 0 or elapsed < 1:
            return None
        return max(1, round((self._source.size - self.done) * elapsed / fetched))

    async def run(self) -> None:
        """Fetch, check and rename into place. Raises `TransferFailed`."""
        try:
            with _in_words():
                await self._attempt()
        finally:
            await in_thread(self._part.close)

    async def _attempt(self) -> None:
        await in_thread(self._part.open)
        while await in_thread(self._part.absorb):
            self.done = self._part.size
        if self._part.size > self._source.size:
            await in_thread(self._part.restart)
        room = await in_thread(self._free, self._target.parent)
        if room < needed_bytes(self._source.size) - self._part.size:
            raise TransferFailed("disk_full", "there is not enough free space")
        if self._part.size < self._source.size:
            try:
                await self._fetch()
            except TransferFailed as failure:
                if failure.reason != "range_refused" or not self._part.size:
                    raise
                await in_thread(self._part.restart)
                await self._fetch()
        await self._finish()

    async def _fetch(self) -> None:
        part, url = self._part, self._source.url
        async with open_source(url, part.size, part.validator, self._pace.stall_s) as opened:
            if opened.total is not None and opened.total != self._source.size:
                await in_thread(part.drop)
                raise TransferFailed("size_mismatch", "the source has another size than declared")
            if opened.offset != part.size:
                await in_thread(part.restart)
            await in_thread(part.remember, opened.validator)
            self.done = self._resumed_at = part.size
            self._began = time.monotonic()
            await self._pour(opened)

    async def _pour(self, opened: Opened) -> None:
        """Write what arrives, a megabyte at a time; also what had arrived when it ends early."""
        batch = bytearray()
        try:
            async for chunk in opened.chunks:
                batch += chunk
                self.done += len(chunk)
                if self.done > self._source.size:
                    batch.clear()
                    await in_thread(self._part.drop)
                    raise TransferFailed("size_mismatch", "the source sends more than declared")
                if len(batch) >= _BATCH:
                    data = bytes(batch)
                    batch.clear()
                    await in_thread(self._part.write, data)
                if self._pace.bytes_per_s:
                    await self._pace.sleep(len(chunk) / self._pace.bytes_per_s)
        finally:
            if batch:
                await in_thread(self._part.write, bytes(batch))

    async def _finish(self) -> None:
        if self._part.size < self._source.size:
            raise TransferFailed("interrupted", "the source ended before the file was complete")
        if self._part.digest() != self._source.sha256:
            await in_thread(self._part.drop)
            raise TransferFailed("checksum_mismatch", "the file is not the one that was declared")
        await in_thread(self._part.finish)
        self.done = self._source.size
