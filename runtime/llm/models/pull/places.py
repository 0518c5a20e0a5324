"""The models folder as a pull uses it: where files wait, and how they get their names."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from runtime.llm.models.catalogfile import FileName, file_name
from runtime.llm.models.download.partfile import sync_folder
from runtime.llm.models.pull.errors import PullFailed
from runtime.llm.models.pull.progress import Screen
from runtime.web.instance import LOCK_NAME, AlreadyRunning, claim

WAITING: Final = ".pull"
"""Subfolder of unfinished work: on the same disk, and no listing looks into it."""
LARGE: Final = 1 << 29
"""Bytes from which computing a checksum takes seconds."""
_CHUNK: Final = 1 << 20


@contextmanager
def waiting_room(models: Path) -> Iterator[Path]:
    """The folder for unfinished files, ours alone; it goes when nothing is left in it.

    Raises `PullFailed` while another pull is at work in the same models folder.
    """
    room = models / WAITING
    with _claimed(room):
        try:
            yield room
        finally:
            if [path.name for path in room.iterdir()] == [LOCK_NAME]:
                with suppress(OSError):  # Windows deletes no file that is open
                    (room / LOCK_NAME).unlink()
                    room.rmdir()


def waiting_files(models: Path) -> list[Path]:
    """What earlier pulls have left to go on with."""
    found = (models / WAITING).rglob("*")
    return [path for path in found if path.is_file() and path.name != LOCK_NAME]


def _claimed(room: Path) -> IO[str]:
    try:
        while True:
            lock = claim(room, "models_dir")
            # The one who held it may have deleted the file between our opening and our locking.
            if _same(lock, room / LOCK_NAME):
                return lock
            lock.close()
    except AlreadyRunning:
        raise PullFailed("another pull is at work in this models folder") from None


def _same(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


def place(waiting: Path, target: Path) -> None:
    """Give a finished file its name: on disk first, then by one rename. Raises `OSError`."""
    with waiting.open("r+b") as file:
        os.fsync(file.fileno())
    waiting.replace(target)
    sync_folder(target.parent)


def sha256_of(path: Path, screen: Screen) -> str:
    """SHA-256 of a file, lower-case hex, with progress for a large one. Raises `OSError`."""
    size = path.stat().st_size
    with screen.step("checking", size) as bar, path.open("rb") as file:
        return hashed(file, bar.show if size >= LARGE else lambda _: None)


def hashed(file: IO[bytes], show: Callable[[int], None], out: IO[bytes] | None = None) -> str:
    """SHA-256 of what is left in *file*, written to *out* on the way."""
    digest, done = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        if out is not None:
            out.write(chunk)
        done += len(chunk)
        show(done)
    return digest.hexdigest()


def refuse_rivals(models: Path, name: str) -> None:
    """Raise `PullFailed` for another file of the same model id: one of them would be hidden."""
    mine = file_name(name)
    if mine is None or not models.is_dir():
        return
    for path in sorted(models.iterdir()):
        other = file_name(path.name)
        if path.name != name and other is not None and _rivals(mine, other):
            raise PullFailed(
                f"{path.name} is in the models folder and is model {mine.id} too;"
                " move it away, or choose another --name"
            )


def _rivals(mine: FileName, other: FileName) -> bool:
    parts = mine.parts > 1 and mine.parts == other.parts and mine.part != other.part
    return mine.id == other.id and not (parts and mine.format == other.format)
