"""What an earlier build left in the cache folder: lessons as read and as rendered.

Each entry stands under the hash of everything that it depends on, this tool included. The file
is safe to delete and never trusted: a cache that somebody restored may hold anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import orjson

from course.diagnostics import Diagnostic
from course.publish.manifest import File
from course.publish.unit import Unit
from course.read.lesson import Lesson, Parts, Setup

_FILE: Final = "lessons.json"
LINKS: Final = "links.json"  # external links that answered
_LIBRARIES: Final = ("jinja2", "jsonschema-rs", "orjson", "pygments", "pyromark", "pyyaml")
_PACKAGE: Final = Path(__file__).resolve().parent.parent
_TOOL: Final = (_PACKAGE, _PACKAGE.parent / "schemas" / "course")


@cache
def tool_key() -> str:
    """A digest of this package, its schemas and the versions of the libraries that it uses."""
    digest = sha256("".join(f"{name}={version(name)};" for name in _LIBRARIES).encode())
    for folder in _TOOL:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(folder)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def digest_of(*values: object) -> str:
    """A digest of JSON-able *values*; sets, mappings and records of the reader may be inside."""
    data = orjson.dumps(values, default=_as_json, option=orjson.OPT_SORT_KEYS)
    return sha256(data).hexdigest()


def _as_json(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else list(value)


def lesson_key(parts: Parts, setup: str) -> str:
    """The key of a lesson as read: its bytes, its place and the digest of its *setup*."""
    digest = sha256(digest_of(setup, parts.folder, parts.name, parts.phase, parts.unread).encode())
    for name, data in parts.files.items():
        digest.update(b"%s\0%d\0" % (name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def setup_key(setup: Setup) -> str:
    """The key of what all lessons are read with."""
    return digest_of(tool_key(), setup)


class Cache:
    """The cache file below *folder*; without a folder it finds and keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._entries = read_json(self._path) if self._path else {}
        self._new: dict[str, dict[str, Any]] = {}
        self._changed = False

    def lesson(self, folder: str, key: str) -> Lesson | None:
        """The lesson that was read from the same bytes, without its material."""
        try:
            entry = self._entries[folder]
            lesson = Lesson(**entry["lesson"]) if entry["key"] == key else None
            if lesson is not None:
                lesson.diagnostics = [Diagnostic(**one) for one in entry["lesson"]["diagnostics"]]
            return lesson
        except (TypeError, KeyError):
            return None

    def unit(self, folder: str, key: str) -> Unit | None:
        """What was rendered of the same lesson in the same surroundings."""
        try:
            unit = Unit(**self._entries[folder]["unit"])
            unit.files = {path: File(*file) for path, file in unit.files.items()}
        except (TypeError, KeyError, AttributeError):
            return None
        return unit if unit.key == key else None

    def add(self, key: str, lesson: Lesson, unit: Unit) -> None:
        """Keep a lesson, read under *key*, and its unit for the next build."""
        lesson = replace(lesson, material=None)
        self._new[lesson.folder] = {"key": key, "lesson": lesson, "unit": unit}
        self._changed |= self.unit(lesson.folder, unit.key) is None

    def save(self) -> None:
        """Replace the file in one step by what was added, if that is something new."""
        removed = self._new.keys() != self._entries.keys()
        if self._path is not None and (self._changed or removed):
            write_json(self._path, self._new)


def remove_cache(folder: Path) -> None:
    """Remove the files of the cache; those of others stay."""
    for name in (_FILE, LINKS):
        if (folder / name).is_file():
            (folder / name).unlink()


def read_json(path: Path) -> dict[str, Any]:
    """The mapping that a file of the cache holds; empty when there is none."""
    try:
        entries = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def write_json(path: Path, data: object) -> None:
    """Replace a file of the cache in one step; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_bytes(orjson.dumps(data, default=list))
    beside.replace(path)
