"""The unfinished file of a download: grows, survives a restart, becomes the model by one rename."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20
_SLICE = 1 << 24


class PartFile:
    """``<target>.part`` and, beside it, the validator of the version it is part of.

    All methods block; `digest` covers every byte that is in the file.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(target.name + ".part")
        self._note = target.with_name(target.name + ".part.json")
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self.size = 0
        self.validator: str | None = None

    def open(self) -> None:
        """Open what an earlier attempt left, to be hashed by `absorb`, or start with nothing."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.validator = _read_note(self._note)
        self._file = self._path.open("r+b" if self._path.exists() else "w+b")
        if self.validator is None:
            self.restart()

    def absorb(self) -> bool:
        """Hash the next 16 MB of what was there; whether there may be more."""
        file, end = self._opened(), self.size + _SLICE
        while self.size < end:
            chunk = file.read(_CHUNK)
            if not chunk:
                return False
            self._hash.update(chunk)
            self.size += len(chunk)
        return True

    def restart(self) -> None:
        """Forget all bytes."""
        file = self._opened()
        file.seek(0)
        file.truncate()
        self._hash, self.size = hashlib.sha256(), 0

    def remember(self, validator: str | None) -> None:
        """Keep the name of the version that is being fetched; without one nothing is resumed."""
        self.validator = validator
        if validator is None:
            self._note.unlink(missing_ok=True)
        else:
            self._note.write_text(json.dumps({"validator": validator}), "utf-8")

    def write(self, data: bytes) -> None:
        """Append *data*."""
        self._opened().write(data)
        self._hash.update(data)
        self.size += len(data)

    def digest(self) -> str:
        """SHA-256 of the file so far, in hexadecimal."""
        return self._hash.hexdigest()

    def finish(self) -> None:
        """Make it the target: on disk first, then under its name."""
        file = self._opened()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        self._path.replace(self._target)
        self._note.unlink(missing_ok=True)
        sync_folder(self._target.parent)

    def drop(self) -> None:
        """Delete it: its bytes are worth nothing."""
        self.close()
        self._path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, if it is open; what was written stays."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise ValueError("the file is not open")
        return self._file


def _read_note(path: Path) -> str | None:
    try:
        validator = json.loads(path.read_text("utf-8"))["validator"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return validator if isinstance(validator, str) and validator.isprintable() else None


def sync_folder(folder: Path) -> None:
    """Make a rename last; some systems cannot open a folder, and need not."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
