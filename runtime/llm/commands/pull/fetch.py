"""Fetch a file from an address or this disk into the models folder, with progress."""

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Final
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from tqdm import tqdm

from runtime.llm.models.catalogfile import FileName, parse_file_name
from runtime.llm.models.download import (
    Source,
    Transfer,
    TransferFailed,
    check_source,
    fetch_size,
)
from runtime.web.instance import LOCK_NAME, AlreadyRunning, claim

ATTEMPTS: Final = 20
"""Maximum attempts of a pull."""
FRUITLESS: Final = 2
"""A pull fails after this many consecutive attempts without progress."""
AGAIN_S: Final = 1.0
WAITING: Final = ".pull"
"""Subfolder for partial files: on the same disk and never listed."""
LARGE: Final = 1 << 29
"""From this size in bytes, computing a checksum takes seconds."""
SMALL: Final = 1 << 20
"""Below this size in bytes, a step finishes before its progress is visible."""
_BROKEN: Final = ("interrupted", "stalled")
_RESUMABLE: Final = (*_BROKEN, "unreachable", "disk_full")


class PullFailed(Exception):
    """The model could not be installed; the text is one line for the user."""

    status = 1


class Misused(PullFailed):
    """The command line is invalid; nothing was started."""

    status = 2


def say(step: str) -> None:
    """Announce a step that takes a moment."""
    sys.stderr.write(f"{step}\n")


def format_bytes(size: int) -> str:
    """Format a size such as ``83.5 MB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


# --- the models folder


@contextmanager
def open_waiting_room(models: Path) -> Iterator[Path]:
    """Lock the folder for partial files; delete it at the end if it is empty.

    Raises `PullFailed` while another pull uses the same models folder.
    """
    room = models / WAITING
    with _lock(room):
        try:
            yield room
        finally:
            if [path.name for path in room.iterdir()] == [LOCK_NAME]:
                with suppress(OSError):  # Windows cannot delete open files
                    (room / LOCK_NAME).unlink()
                    room.rmdir()


def list_waiting_files(models: Path) -> list[Path]:
    """List the partial files of earlier pulls."""
    paths = (models / WAITING).rglob("*")
    return [path for path in paths if path.is_file() and path.name != LOCK_NAME]


def _lock(room: Path) -> IO[str]:
    try:
        while True:
            lock = claim(room, "models_dir")
            # Another pull may have deleted the file between our opening and our locking.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), (room / LOCK_NAME).stat()):
                    return lock
            lock.close()
    except AlreadyRunning:
        raise PullFailed("another pull is running in this models folder") from None


def compute_sha256(path: Path) -> str:
    """Compute the SHA-256 of a file in lower-case hex. Raises `OSError`."""
    if path.stat().st_size >= LARGE:
        say(f"verifying {path.name}")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_duplicates(models: Path, name: str) -> None:
    """Raise `PullFailed` if another file has the same model id, which would hide one of them."""
    mine = parse_file_name(name)
    if mine is None or not models.is_dir():
        return
    for path in sorted(models.iterdir()):
        other = parse_file_name(path.name)
        if path.name != name and other is not None and _are_duplicates(mine, other):
            raise PullFailed(
                f"{path.name} in the models folder is also model {mine.id};"
                " move it away or choose another --name"
            )


def _are_duplicates(mine: FileName, other: FileName) -> bool:
    parts = mine.parts > 1 and mine.parts == other.parts and mine.part != other.part
    return mine.id == other.id and not (parts and mine.format == other.format)


# --- fetching


@dataclass(frozen=True)
class Origin:
    """The source of a file, and what the user specified about it."""

    source: str
    """An address or a path."""
    sha256: str | None = None
    """Lower-case hex; None only for a file on this disk."""
    size: int | None = None
    """Bytes; None: as reported by the source."""
    label: str = ""
    """The user's text for the address."""
    token: str = field(default="", repr=False)
    """Sent only to the host of the address."""

    @property
    def shown(self) -> str:
        """Printable form: an address without user, query and fragment, which may contain keys."""
        if self.label or "//" not in self.source:
            return self.label or self.source
        plain = re.split(r"[?#]", self.source, maxsplit=1)[0]
        scheme, _, rest = plain.partition("//")
        host, slash, path = rest.partition("/")
        return f"{scheme}//{host.rpartition('@')[2]}{slash}{path}"

    @cached_property
    def url(self) -> str:
        """The address. Raises `Misused` for a forbidden source."""
        if "://" not in self.source:
            return Path(self.source).expanduser().absolute().as_uri()
        try:
            return check_source(self.source)
        except ValueError as problem:
            raise Misused(f"{self.shown}: {problem}") from None

    @property
    def path(self) -> Path | None:
        """The path of a file on this disk; None for an address on the network."""
        split = urlsplit(self.url)
        return Path(url2pathname(split.path)) if split.scheme == "file" else None

    @property
    def file_name(self) -> str:
        """The last part of the path, decoded."""
        last = urlsplit(self.url).path.rpartition("/")[2]
        return self.path.name if self.path else unquote(last)

    def choose_digest(self) -> str:
        """The specified checksum, else that of the file itself. Raises `PullFailed`, `Misused`."""
        path = self.path
        if path is not None and not path.is_file():
            raise PullFailed(f"there is no file {self.shown}")
        if self.sha256 is not None:
            return self.sha256
        if path is None:
            raise Misused(f"{self.shown}: a download requires its checksum, --sha256 HEX")
        try:
            return compute_sha256(path)
        except OSError as problem:
            raise PullFailed(f"{self.shown} cannot be read: {problem.strerror}") from None


def fetch(origin: Origin, digest: str, room: Path, most: int | None = None) -> Path:
    """Fetch the file with the SHA-256 *digest* into *room* and return its path.

    *most* limits its bytes. Raises `PullFailed`.
    """
    waiting = room / digest[:16]
    if waiting.is_file() and compute_sha256(waiting) == digest:
        return waiting
    try:
        size = origin.size or asyncio.run(fetch_size(origin.url, token=origin.token))
        if size is None:
            raise PullFailed("the source does not report the file's size; give --size BYTES")
        if most is not None and size > most:
            raise PullFailed(f"{origin.file_name} has {size} bytes, more than {most}")
        what = "copying" if origin.path else "downloading"
        asyncio.run(_transfer(Source(origin.url, digest, size, origin.token), waiting, what))
    except TransferFailed as failure:
        for part in room.glob("*.part"):
            if not part.stat().st_size:
                part.unlink()
                part.with_name(f"{part.name}.json").unlink(missing_ok=True)
        raise PullFailed(_explain(failure, origin, room)) from failure
    return waiting


async def _transfer(source: Source, target: Path, what: str) -> None:
    """Retry as long as attempts make progress."""
    best = fruitless = 0
    hidden = True if source.size < SMALL else None  # None: shown on a terminal
    with tqdm(desc=what, total=source.size, unit="B", unit_scale=True, disable=hidden) as bar:
        for attempt in range(1, ATTEMPTS + 1):
            transfer = Transfer(source, target, on_progress=lambda done: bar.update(done - bar.n))
            try:
                await transfer.run()
                return
            except TransferFailed as failure:
                fruitless = 0 if transfer.done > best else fruitless + 1
                best = max(best, transfer.done)
                if failure.reason not in _BROKEN or fruitless == FRUITLESS or attempt == ATTEMPTS:
                    raise
            await asyncio.sleep(AGAIN_S)


def _explain(failure: TransferFailed, origin: Origin, room: Path) -> str:
    host = urlsplit(origin.url).hostname
    texts = {
        "unreachable": f"{host} cannot be reached; check the network",
        "disk_full": f"there is not enough free space in {room.parent}",
        "checksum_mismatch": f"{origin.shown} does not have the expected checksum; it was deleted",
        "size_mismatch": f"{origin.shown} does not have the declared size",
        "source_missing": f"there is no file {origin.shown}",
        "disk_error": f"{room.parent} is not writable",
    }
    text = texts.get(failure.reason, f"{origin.shown}: {failure}")
    cause = failure.__cause__
    if failure.reason == "disk_error" and isinstance(cause, OSError) and cause.strerror:
        text += f": {cause.strerror}"
    if failure.reason in _RESUMABLE and any(room.glob("*.part")):
        text += "; downloaded data is kept, and the same command resumes from there"
    return text
