"""The style sheet, scripts and icon of the site, named by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "assets"
HASH_CHARS: Final = 8


class Assets(NamedTuple):
    """What goes into ``assets/``.

    ``paths`` maps a logical name ("site.css") to its path from the site root
    ("assets/site.3f9a12bc.css"); ``files`` maps that path to the bytes.
    """

    paths: Mapping[str, str]
    files: Mapping[str, bytes]


def bundle(folder: Path = FOLDER) -> Assets:
    """Read *folder* once and name each file after its bytes.

    Files directly inside keep their name; a subfolder ("site.css/") becomes one file of that
    name, made of its parts in the order of their names.
    """
    paths: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for entry in sorted(folder.iterdir()):
        parts = sorted(entry.iterdir()) if entry.is_dir() else [entry]
        data = b"\n".join(part.read_bytes() for part in parts)
        path = hashed_path(entry.name, data)
        paths[entry.name] = path
        files[path] = data
    return Assets(paths, files)


def hashed_path(name: str, data: bytes) -> str:
    """The path from the site root: the first hex digits of the SHA-256 go before the suffix."""
    stem, dot, suffix = name.rpartition(".")
    digest = hashlib.sha256(data).hexdigest()[:HASH_CHARS]
    return f"assets/{stem}.{digest}{dot}{suffix}"
