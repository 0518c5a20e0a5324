"""What an upload of a built site has to do: which files, with which headers, in which order."""

import json
import re
from collections.abc import Mapping
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from course.read.mediatypes import TYPES

MANIFEST: Final = "build-manifest.json"

IMAGES: Final = frozenset({".ico", ".jpg", ".png", ".svg", ".webp", ".woff2"})

IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATE: Final = "public, max-age=0, must-revalidate"
SHORT: Final = "public, max-age=60, stale-while-revalidate=600"
NEVER: Final = "no-store"

_HASHED_NAME = re.compile(r"[.-][0-9a-f]{8,64}\.[a-z0-9]+$")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Stage(IntEnum):
    """When a file goes up: a page never names an asset or a resource that is not there yet."""

    ASSETS = 0
    RESOURCES = 1
    PAGES = 2


class Entry(NamedTuple):
    """One line of a build manifest."""

    path: str
    size: int
    sha256: str


class Plan(NamedTuple):
    """The difference between a built site and what a bucket holds."""

    stages: tuple[tuple[Entry, ...], ...]  # what to upload, one tuple a stage, in order
    unchanged: int
    obsolete: tuple[str, ...]  # paths that only the old site lists

    @property
    def changed(self) -> tuple[Entry, ...]:
        """What to upload, over all stages."""
        return tuple(entry for stage in self.stages for entry in stage)


class ManifestError(ValueError):
    """The bytes are not a build manifest that this tool understands."""


def content_type(path: str) -> str:
    """The media type a host should send for this path."""
    suffix = PurePosixPath(path).suffix
    unknown = "application/octet-stream" if suffix else "text/plain; charset=utf-8"
    return TYPES.get(suffix, unknown)


def cache_control(path: str) -> str:
    """How long a browser may keep this path; only names that carry a hash are kept for good."""
    if path.startswith("404."):
        return NEVER
    if path.startswith("assets/") or (path.startswith("media/") and _HASHED_NAME.search(path)):
        return IMMUTABLE
    return REVALIDATE if path.endswith(".html") else SHORT


def stage(path: str) -> Stage:
    """The upload stage of a path."""
    if path.endswith(".html"):
        return Stage.PAGES
    if path.startswith("assets/") or PurePosixPath(path).suffix in IMAGES:
        return Stage.ASSETS
    return Stage.RESOURCES


def read_manifest(data: bytes) -> dict[str, Entry]:
    """Entries by path; raise ManifestError for anything but schema version 1 with safe paths."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ManifestError("it is not JSON") from error
    if not isinstance(document, dict) or document.get("schemaVersion") != 1:
        raise ManifestError("its schemaVersion is not 1")
    files = document.get("files")
    if not isinstance(files, list):
        raise ManifestError('it has no list "files"')
    entries = [_entry(item) for item in files]
    return {entry.path: entry for entry in entries}


def write_manifest(entries: Mapping[str, Entry]) -> bytes:
    """A manifest of these entries, sorted by path."""
    files = [
        {"path": path, "bytes": entry.size, "sha256": entry.sha256}
        for path, entry in sorted(entries.items())
    ]
    return json.dumps({"schemaVersion": 1, "files": files}, separators=(",", ":")).encode()


def make_plan(new: Mapping[str, Entry], old: Mapping[str, Entry], unsure: frozenset[str]) -> Plan:
    """Compare two sites; a path in `unsure` may hold anything: it goes up again or is obsolete."""
    changed = [
        entry
        for path, entry in sorted(new.items())
        if path in unsure or path not in old or old[path].sha256 != entry.sha256
    ]
    stages = tuple(tuple(e for e in changed if stage(e.path) is step) for step in Stage)
    obsolete = tuple(sorted((set(old) | unsure) - set(new)))
    return Plan(stages, len(new) - len(changed), obsolete)


def _entry(item: object) -> Entry:
    """One checked manifest line; a path that could leave the folder is refused."""
    if not isinstance(item, dict):
        raise ManifestError("an entry is not an object")
    path, size, sha256 = item.get("path"), item.get("bytes"), item.get("sha256")
    if not isinstance(path, str) or not _is_safe(path):
        raise ManifestError(f"an entry has the unusable path {path!r}")
    if not isinstance(size, int) or not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ManifestError(f"the entry of {path} lacks its bytes or its SHA-256")
    return Entry(path, size, sha256)


def _is_safe(path: str) -> bool:
    """Whether the path stays below the folder that it is joined to."""
    parts = path.split("/")
    return "\\" not in path and "\0" not in path and not {"", ".", ".."} & set(parts)
