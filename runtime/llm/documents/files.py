"""Files of large indexes: a cache that is used if its checksum matches the recorded one."""

import contextlib
import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from runtime.web.instance import move_into_place

log = logging.getLogger(__name__)

_DIGEST_BYTES: Final = 32
_PIECE: Final = 1 << 20


class IndexFiles:
    """A folder with a file per collection; the names are numbers and reveal no tenant.

    All methods block on the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, collection: int, generation: int, save: Callable[[Path], None]) -> bytes:
        """Have *save* write a file, move it into place atomically and return its digest.

        Raises what *save* raises, and OSError.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(collection, generation)
        part = path.with_suffix(".tmp")
        try:
            save(part)
            digest = _digest(part)
            move_into_place(part, path)
        finally:
            part.unlink(missing_ok=True)
        return digest

    def find(self, collection: int, generation: int, digest: bytes) -> Path | None:
        """The file if it is unchanged; None if it is missing, unreadable or different."""
        path = self._path(collection, generation)
        try:
            same = _digest(path) == digest
        except FileNotFoundError:
            return None
        except OSError:
            log.warning("an index file cannot be read; the index is rebuilt", exc_info=True)
            return None
        if not same:
            log.warning("an index file is damaged; the index is rebuilt")
        return path if same else None

    def remove(self, collection: int, keep: int | None = None) -> None:
        """Delete the files of a collection except that of generation *keep*."""
        for path in self._list_files():
            if path.name.startswith(f"{collection}-") and path != self._path(collection, keep):
                _unlink(path)

    def sweep(self, recorded: Iterable[tuple[int, int]]) -> None:
        """Delete all files except those of the recorded collections and generations."""
        kept = {self._path(*names) for names in recorded}
        for path in self._list_files():
            if path not in kept:
                _unlink(path)

    def nbytes(self) -> int:
        """Total size of the files."""
        total = 0
        for path in self._list_files():
            with contextlib.suppress(OSError):
                total += path.stat().st_size
        return total

    def _path(self, collection: int, generation: int | None) -> Path:
        return self._folder / f"{collection}-{generation}.hnsw"

    def _list_files(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if path.suffix in (".hnsw", ".tmp")]
        except OSError:
            return []


def _digest(path: Path) -> bytes:
    seen = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            seen.update(piece)
    return seen.digest()


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        log.warning("an old index file cannot be deleted", exc_info=True)
