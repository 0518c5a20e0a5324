"""The manifest of a build: every file of a site with its size and its hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

MANIFEST: Final = "build-manifest.json"
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")


class ManifestError(ValueError):
    """The bytes are not a build manifest that this version understands."""


class File(NamedTuple):
    """One published file: its size in bytes and the hex SHA-256 of its content."""

    bytes: int
    sha256: str


Manifest = Mapping[str, File]


def read_manifest(data: bytes) -> dict[str, File]:
    """Files by path; raises ManifestError for all but schema version 1 with safe paths."""
    try:
        document: Any = orjson.loads(data)
    except ValueError as error:
        raise ManifestError("it is not JSON") from error
    if not isinstance(document, dict) or document.get("schemaVersion") != 1:
        raise ManifestError("its schemaVersion is not 1")
    entries = document.get("files")
    if not isinstance(entries, list):
        raise ManifestError('it has no list "files"')
    files: dict[str, File] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise ManifestError("an entry is not an object")
        path, size, sha256 = entry.get("path"), entry.get("bytes"), entry.get("sha256")
        if not isinstance(path, str) or not is_safe(path):
            raise ManifestError(f"an entry has the unusable path {path!r}")
        if not isinstance(size, int) or not isinstance(sha256, str) or not _SHA256.match(sha256):
            raise ManifestError(f"the entry of {path} lacks its bytes or its SHA-256")
        files[path] = File(size, sha256)
    return files


def read_built(site: Path) -> dict[str, File] | None:
    """The files that the last build wrote into *site*; None without a readable manifest."""
    try:
        return read_manifest((site / MANIFEST).read_bytes())
    except (OSError, ManifestError):
        return None


def manifest_bytes(files: Manifest) -> bytes:
    """``build-manifest.json``: every file but itself, by path."""
    entries = [{**file._asdict(), "path": path} for path, file in sorted(files.items())]
    form = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS
    return orjson.dumps({"files": entries, "schemaVersion": 1}, option=form)


def tree_digest(files: Manifest) -> str:
    """One digest for the whole site: equal bytes everywhere, equal digest."""
    lines = [f"{path}\0{digest}\n" for path, (_, digest) in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def is_safe(path: str) -> bool:
    """Whether *path* stays below the folder that it is joined to."""
    return "\\" not in path and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))
