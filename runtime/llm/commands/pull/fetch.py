"""Fetches one file from an address or from this disk into the models folder, with progress."""

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
"""Attempts of one pull."""
FRUITLESS: Final = 2
"""Attempts in a row that bring nothing new, after which it is given up."""
AGAIN_S: Final = 1.0
WAITING: Final = ".pull"
"""Subfolder of unfinished work: on the same disk, and no listing looks into it."""
LARGE: Final = 1 << 29
"""Bytes from which computing a checksum takes seconds."""
SMALL: Final = 1 << 20
"""Bytes below which a step is over before it could be shown."""
_BROKEN: Final = ("interrupted", "stalled")
_RESUMABLE: Final = (*_BROKEN, "unreachable", "disk_full")


class PullFailed(Exception):
    """The model was not brought; the text is one plain line."""

    status = 1


class Misused(PullFailed):
    """The command line asks for something impossible; nothing was begun."""

    status = 2


def say(step: str) -> None:
    """Name a step that takes a moment."""
    sys.stderr.write(f"{step}\n")


def format_bytes(size: int) -> str:
    """Bytes as people write them: ``83.5 MB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


# --- the models folder


@contextmanager
def waiting_room(models: Path) -> Iterator[Path]:
    """The folder for unfinished files, ours alone; it goes when nothing is left in it.

    Raises `PullFailed` while another pull is at work in the same models folder.
    """
    room = models / WAITING
    with _lock(room):
        try:
            yield room
        finally:
            if [path.name for path in room.iterdir()] == [LOCK_NAME]:
                with suppress(OSError):  # Windows deletes no file that is open
                    (room / LOCK_NAME).unlink()
                    room.rmdir()


def waiting_files(models: Path) -> list[Path]:
    """What earlier pulls have left to go on with."""
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
        raise PullFailed("another pull is at work in this models folder") from None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, lower-case hex. Raises `OSError`."""
    if path.stat().st_size >= LARGE:
        say(f"checking {path.name}")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_rivals(models: Path, name: str) -> None:
    """Raise `PullFailed` for another file of the same model id: one of them would be hidden."""
    mine = parse_file_name(name)
    if mine is None or not models.is_dir():
        return
    for path in sorted(models.iterdir()):
        other = parse_file_name(path.name)
        if path.name != name and other is not None and _are_rivals(mine, other):
            raise PullFailed(
                f"{path.name} is in the models folder and is model {mine.id} too;"
                " move it away, or choose another --name"
            )


def _are_rivals(mine: FileName, other: FileName) -> bool:
    parts = mine.parts > 1 and mine.parts == other.parts and mine.part != other.part
    return mine.id == other.id and not (parts and mine.format == other.format)


# --- fetching


@dataclass(frozen=True)
class Origin:
    """Where a file comes from, and what the user says of it."""

    given: str
    """As the user wrote it: an address or a path."""
    sha256: str | None = None
    """Lower-case hex; None only for a file on this disk."""
    size: int | None = None
    """Bytes; None: as the source says."""
    label: str = ""
    """What the user wrote in place of the address."""
    token: str = field(default="", repr=False)
    """Sent to the host of the address, and to no other one."""

    @property
    def shown(self) -> str:
        """What may be printed: an address without user, query and fragment, which may be keys."""
        if self.label or "//" not in self.given:
            return self.label or self.given
        plain = re.split(r"[?#]", self.given, maxsplit=1)[0]
        scheme, _, rest = plain.partition("//")
        host, slash, path = rest.partition("/")
        return f"{scheme}//{host.rpartition('@')[2]}{slash}{path}"

    @cached_property
    def url(self) -> str:
        """The address. Raises `Misused` for a place that files are not taken from."""
        if "://" not in self.given:
            return Path(self.given).expanduser().absolute().as_uri()
        try:
            return check_source(self.given)
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

    def digest(self) -> str:
        """The checksum: as given, else of the file itself. Raises `PullFailed`, `Misused`."""
        path = self.path
        if path is not None and not path.is_file():
            raise PullFailed(f"there is no file {self.shown}")
        if self.sha256 is not None:
            return self.sha256
        if path is None:
            raise Misused(f"{self.shown}: a download needs its checksum, --sha256 HEX")
        try:
            return sha256_of(path)
        except OSError as problem:
            raise PullFailed(f"{self.shown} cannot be read: {problem.strerror}") from None


def fetch(origin: Origin, digest: str, room: Path, most: int | None = None) -> Path:
    """Bring the file whose SHA-256 is *digest* into *room* and answer where it is.

    *most* bounds its bytes. Raises `PullFailed`.
    """
    waiting = room / digest[:16]
    if waiting.is_file() and sha256_of(waiting) == digest:
        return waiting
    try:
        size = origin.size or asyncio.run(fetch_size(origin.url, token=origin.token))
        if size is None:
            raise PullFailed("the source does not say how large the file is; give its --size BYTES")
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
    """Run attempts as long as they bring something."""
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
        "unreachable": f"{host} cannot be reached; is there a network?",
        "disk_full": f"there is not enough free space in {room.parent}",
        "checksum_mismatch": f"{origin.shown} is not the file with that checksum; it is not kept",
        "size_mismatch": f"{origin.shown} does not have the declared size",
        "source_missing": f"there is no file {origin.shown}",
        "disk_error": f"{room.parent} cannot be written",
    }
    text = texts.get(failure.reason, f"{origin.shown}: {failure}")
    cause = failure.__cause__
    if failure.reason == "disk_error" and isinstance(cause, OSError) and cause.strerror:
        text += f": {cause.strerror}"
    if failure.reason in _RESUMABLE and any(room.glob("*.part")):
        text += "; what has arrived is kept, the same command goes on from there"
    return text
