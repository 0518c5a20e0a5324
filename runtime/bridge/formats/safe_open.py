"""Opens a file that a client named: open first, then ask the descriptor what and where it is."""

import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

from runtime.web.errors import BadRequest

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would never open
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotImportable(BadRequest):
    """The file is missing, forbidden, too large or of another kind; which, is not told."""

    code: ClassVar[str] = "not_importable"


def open_inside(
    path: str,
    roots: Sequence[Path] | None,
    *,
    suffixes: Collection[str],
    max_bytes: int,
) -> BinaryIO:
    """Open a regular file of one of these *suffixes* (lower case) for reading; it may block.

    With *roots* the file must lie in one of these folders, wherever links lead, and must have no
    second name elsewhere; None allows any place. Whatever is wrong, the error is the same
    `NotImportable`, so that nobody can learn from it which files exist.
    """
    given = Path(path)
    with suppress(OSError, ValueError, RuntimeError):  # the last: links in a circle, Python 3.11
        if given.is_absolute() and given.suffix.lower() in suffixes:
            descriptor = os.open(given, _FLAGS)
            try:
                if _is_good(descriptor, given, roots, suffixes, max_bytes):
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


def _is_good(
    descriptor: int,
    given: Path,
    roots: Sequence[Path] | None,
    suffixes: Collection[str],
    max_bytes: int,
) -> bool:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
        return False
    place = given.resolve(strict=True)
    # The place is only believed when the file there is the one that is open.
    if not os.path.samestat(status, place.stat()) or place.suffix.lower() not in suffixes:
        return False
    if roots is None:
        return True
    inside = any(place.is_relative_to(root.resolve(strict=True)) for root in roots if root.exists())
    return inside and status.st_nlink == 1
