"""A data folder: its lock, which admits only one server, and durable renames."""

import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

LOCK_NAME: Final = "server.lock"
_LOCKED_BYTE: Final = 1 << 30


class AlreadyRunning(Exception):
    """Another process uses the same directory; the message names the setting to change."""


def claim(folder: Path, setting: str) -> IO[str]:
    """Lock *folder*, created if missing, until the returned file is closed or the process ends.

    Raises `AlreadyRunning`, or OSError if the folder is not writable.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / LOCK_NAME).open("a", encoding="ascii")
    try:
        _lock(lock.fileno())
    except OSError as error:
        lock.close()
        raise AlreadyRunning(
            f"another server uses the same data; give this one its own with the setting {setting}"
        ) from error
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def write_address(lock: IO[str], address: str) -> None:
    """Write the address of the server into its lock file."""
    lock.write(f"{address}\n")
    lock.flush()


def address_of(folder: Path) -> str | None:
    """Return the address of the server that holds *folder*; None until it is known."""
    try:
        lines = (folder / LOCK_NAME).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return lines[1] if len(lines) > 1 else None


def _lock(descriptor: int) -> None:
    try:
        import fcntl  # absent on Windows
    except ImportError:
        import msvcrt  # only there

        # It locks from the current position, and a locked byte cannot be read: lock the same byte
        # in every process, far behind the content.
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def move_into_place(part: Path, target: Path) -> None:
    """Sync a finished file to disk, then rename it. Raises OSError."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable; some systems cannot open a folder and do not need this."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
