"""Opens a file named by a client: opens it first, then checks the open descriptor."""

import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

from runtime.web.errors import BadRequest

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe without a writer would block
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotImportable(BadRequest):
    """The file is missing, forbidden, too large or of another kind; the text does not say which."""

    code: ClassVar[str] = "not_importable"


def open_inside(
    path: str, roots: Sequence[Path] | None, *, suffixes: Collection[str], max_bytes: int
) -> BinaryIO:
    """Open a regular file with one of these *suffixes* (lower case) for reading; may block.

    With *roots* the file must lie in one of these folders after resolving links and have no other
    hard link; None allows any place. Every failure raises the same `NotImportable`, so that it
    does not reveal which files exist.
    """
    file = Path(path)
    with suppress(OSError, ValueError, RuntimeError):  # RuntimeError: circular links, Python 3.11
        if file.is_absolute() and file.suffix.lower() in suffixes:
            descriptor = os.open(file, _FLAGS)
            try:
                if _is_allowed(descriptor, file, roots, suffixes, max_bytes):
                    return os.fdopen(descriptor, "rb")
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
    kinds = " or ".join(sorted(suffixes))
    raise NotImportable(
        f"give the absolute path of a readable {kinds} file of at most {max_bytes // 2**20} MiB "
        "in a folder that may be imported from"
    )


def _is_allowed(
    descriptor: int,
    file: Path,
    roots: Sequence[Path] | None,
    suffixes: Collection[str],
    max_bytes: int,
) -> bool:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
        return False
    place = file.resolve(strict=True)
    # The place counts only if the file there is the open one.
    if not os.path.samestat(status, place.stat()) or place.suffix.lower() not in suffixes:
        return False
    if roots is None:
        return True
    inside = any(place.is_relative_to(root.resolve(strict=True)) for root in roots if root.exists())
    return inside and status.st_nlink == 1
