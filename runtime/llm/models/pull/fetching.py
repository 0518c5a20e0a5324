"""Fetches one file from an address or from this disk, going on where an earlier pull ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from runtime.llm.models.download.sources import TransferFailed, check_source
from runtime.llm.models.download.transfer import (
    Pace,
    Source,
    Transfer,
    free_bytes,
    needed_bytes,
    size_of,
)
from runtime.llm.models.pull.errors import Misused, PullFailed
from runtime.llm.models.pull.places import sha256_of
from runtime.llm.models.pull.progress import Progress, Screen, in_words

ATTEMPTS: Final = 20
"""Attempts of one pull."""
FRUITLESS: Final = 2
"""Attempts in a row that bring nothing new, after which it is given up."""
AGAIN_S: Final = 1.0
_BROKEN: Final = ("interrupted", "stalled")
_RESUMABLE: Final = (*_BROKEN, "unreachable", "disk_full")
T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where a file comes from, and what is known of it."""

    given: str
    """As the user wrote it: an address or a path."""
    sha256: str | None = None
    """Lower-case hex; None only for a file on this disk."""
    size: int | None = None
    """Bytes; None: as the source says."""

    @cached_property
    def url(self) -> str:
        """The address. Raises `Misused` for a place that files are not taken from."""
        if "://" not in self.given:
            return Path(self.given).expanduser().absolute().as_uri()
        try:
            return check_source(self.given)
        except ValueError as problem:
            raise Misused(f"{self.given}: {problem}") from None

    @property
    def path(self) -> Path | None:
        """The path of a file on this disk; None for an address on the network."""
        split = urlsplit(self.url)
        return Path(url2pathname(split.path)) if split.scheme == "file" else None

    @property
    def file_name(self) -> str:
        """The last part of the path, as it is meant."""
        last = urlsplit(self.url).path.rpartition("/")[2]
        return self.path.name if self.path else unquote(last)

    def digest(self, screen: Screen) -> str:
        """The checksum: as given, else of the file itself. Raises `PullFailed`, `Misused`."""
        path = self.path
        if path is not None and not path.is_file():
            raise PullFailed(f"there is no file {self.given}")
        if self.sha256 is not None:
            return self.sha256
        if path is None:
            raise Misused(f"{self.given}: a download needs its checksum, --sha256 HEX")
        try:
            return sha256_of(path, screen)
        except OSError as problem:
            raise PullFailed(f"{self.given} cannot be read: {problem.strerror}") from None


def fetch(origin: Origin, digest: str, room: Path, screen: Screen, most: int | None = None) -> Path:
    """Bring the file whose SHA-256 is *digest* into *room* and answer where it is.

    *most* bounds its bytes. Raises `PullFailed`.
    """
    waiting = room / digest[:16]
    if waiting.is_file() and sha256_of(waiting, screen) == digest:
        return waiting
    try:
        size = origin.size or asyncio.run(size_of(origin.url))
        if size is None:
            raise PullFailed("the source does not say how large the file is; give its --size BYTES")
        if most is not None and size > most:
            raise PullFailed(f"{origin.file_name} has {size} bytes, more than {most}")
        what = "copying" if origin.path else "downloading"
        with screen.step(what, size) as bar:
            asyncio.run(_transfer(Source(origin.url, digest, size), waiting, bar))
    except TransferFailed as failure:
        for part in room.glob("*.part"):
            if not part.stat().st_size:
                part.unlink()
                part.with_name(f"{part.name}.json").unlink(missing_ok=True)
        raise PullFailed(_told(failure, origin, room)) from failure
    return waiting


async def _transfer(source: Source, target: Path, bar: Progress) -> None:
    """Run attempts as long as they bring something."""
    best = fruitless = 0
    for attempt in range(1, ATTEMPTS + 1):
        transfer = Transfer(source, target, Pace(), free_bytes)
        try:
            await _watched(transfer.run(), lambda: bar.show(transfer.done))  # noqa: B023 - awaited
            bar.show(source.size)
            return
        except TransferFailed as failure:
            fruitless = 0 if transfer.done > best else fruitless + 1
            best = max(best, transfer.done)
            if failure.reason not in _BROKEN or fruitless == FRUITLESS or attempt == ATTEMPTS:
                raise
        await asyncio.sleep(AGAIN_S)


async def _watched(work: Awaitable[T], look: Callable[[], None]) -> T:
    """The result of *work*; *look* is called some times a second meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=0.1)
            look()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    return await task


def _told(failure: TransferFailed, origin: Origin, room: Path) -> str:
    host = urlsplit(origin.url).hostname
    texts = {
        "unreachable": f"{host} cannot be reached; is there a network?",
        "disk_full": f"there is not enough free space in {room.parent}",
        "checksum_mismatch": f"{origin.given} is not the file with that checksum; it is not kept",
        "size_mismatch": f"{origin.given} has another size than it was said to have",
        "source_missing": f"there is no file {origin.given}",
        "disk_error": f"{room.parent} cannot be written",
    }
    text = texts.get(failure.reason, f"{origin.given}: {failure}")
    cause = failure.__cause__
    if failure.reason == "disk_error" and isinstance(cause, OSError) and cause.strerror:
        text += f": {cause.strerror}"
    if failure.reason in _RESUMABLE and any(room.glob("*.part")):
        text += "; what has arrived is kept, the same command goes on from there"
    return text


def refuse_full_disk(models: Path, size: int) -> None:
    """Raise `PullFailed` where *size* bytes, and a little more, do not fit."""
    free = free_bytes(models)
    if free < needed_bytes(size):
        raise PullFailed(
            f"{in_words(needed_bytes(size))} of free space are needed in {models},"
            f" there are {in_words(free)}"
        )
