"""The cache of an earlier build: lessons as read and as rendered.

Each entry stands under the hash of everything that it depends on, this tool included. The file
is safe to delete. One whose bytes are not those that were written counts as none, and no entry is
trusted with a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from course.diagnostics import Diagnostic
from course.publish.lesson import Unit
from course.publish.shell import SiteInfo
from course.publish.tree import File, Outputs
from course.read import schema
from course.read.files import replace_file
from course.read.lesson import Lesson, Parts, Readings

_FILE: Final = "lessons.json"
LINKS: Final = "links.json"  # external links that answered
_LIBRARIES: Final = (
    *("jinja2", "jsonschema-rs", "math-core", "orjson", "pygments", "pyromark", "pyyaml"),
)
_PACKAGE: Final = Path(__file__).resolve().parent.parent
_TOOL: Final = (_PACKAGE, schema.FOLDER)


def _version(name: str) -> str:
    """The version of a library; empty for one that only some courses need and this one lacks."""
    from importlib.metadata import PackageNotFoundError, version  # takes a while

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@cache
def _tool_key() -> str:
    """A digest of this package, its schemas and the versions of the libraries that it uses."""
    digest = sha256("".join(f"{name}={_version(name)};" for name in _LIBRARIES).encode())
    for folder in _TOOL:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(folder)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _digest_of(*values: object) -> str:
    """A digest of JSON-able *values*; sets, mappings and records of the reader may be inside."""
    data = orjson.dumps(values, default=_as_json, option=orjson.OPT_SORT_KEYS)
    return sha256(data).hexdigest()


def _as_json(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else list(value)


def _lesson_key(parts: Parts, shared: str) -> str:
    """The key of a lesson as read: its bytes, its place and the digest of what all share."""
    digest = sha256(
        _digest_of(shared, parts.folder, parts.name, parts.phase, parts.unread).encode()
    )
    for name, data in parts.files.items():
        digest.update(b"%s\0%d\0" % (name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


class Cache:
    """The cache file below *folder*; without a folder it finds and keeps nothing.

    It answers what is fresh: lessons whose bytes and setup are unchanged, and the units of those
    whose surroundings and files are unchanged as well.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._entries = read_json(self._path) if self._path else {}
        self._new: dict[str, dict[str, Any]] = {}
        self._keys: dict[str, str] = {}  # by folder, as are those of the units
        self._unit_keys: dict[str, str] = {}
        self._changed = False

    @property
    def empty(self) -> bool:
        """Whether nothing can be fresh."""
        return not self._entries

    def identify(self, readings: Readings) -> None:
        """Compute the key of every lesson, which all later questions need."""
        shared = _digest_of(_tool_key(), readings.setup)
        parts = readings.parts.items()
        self._keys = {folder: _lesson_key(entry, shared) for folder, entry in parts}

    def find_fresh_lessons(self) -> dict[str, Lesson]:
        """The lessons that were read from the same bytes, by folder."""
        lessons = {folder: self._lesson(folder, key) for folder, key in self._keys.items()}
        return {folder: lesson for folder, lesson in lessons.items() if lesson is not None}

    def _lesson(self, folder: str, key: str) -> Lesson | None:
        try:
            entry = self._entries[folder]
            lesson = Lesson(**entry["lesson"]) if entry["key"] == key else None
            if lesson is not None:
                lesson.diagnostics = [Diagnostic(**row) for row in entry["lesson"]["diagnostics"]]
            return lesson
        except (TypeError, KeyError):
            return None

    def find_fresh_units(
        self, lessons: Iterable[tuple[Lesson, Mapping[str, Any]]], site: SiteInfo, outputs: Outputs
    ) -> dict[str, Unit]:
        """The units, by id, that *outputs* holds as the same lessons would be rendered today.

        Each lesson comes with what the course around it says.
        """
        shared = _digest_of(_tool_key(), site)
        units: dict[str, Unit] = {}
        for lesson, related in lessons:
            folder = lesson.folder
            key = self._unit_keys[folder] = _digest_of(self._keys[folder], related, shared)
            unit = self._unit(folder, key)
            if unit is not None and all(map(outputs.keep, unit.files, unit.files.values())):
                units[unit.id] = unit
                self._keep(lesson, unit)
        return units

    def _unit(self, folder: str, key: str) -> Unit | None:
        try:
            entry = self._entries[folder]
            unit = Unit(**entry["unit"]) if entry["unitKey"] == key else None
            if unit is not None:
                unit.files = {path: File(*file) for path, file in unit.files.items()}
            return unit
        except (TypeError, KeyError, AttributeError):
            return None

    def add(self, lesson: Lesson, unit: Unit) -> None:
        """Keep a lesson and its new unit for the next build."""
        self._keep(lesson, unit)
        self._changed |= self._unit(lesson.folder, self._unit_keys[lesson.folder]) is None

    def _keep(self, lesson: Lesson, unit: Unit) -> None:
        self._new[lesson.folder] = {
            "key": self._keys[lesson.folder],
            "lesson": lesson,
            "unitKey": self._unit_keys[lesson.folder],
            "unit": unit,
        }

    def save(self) -> None:
        """Replace the file in one step with the added entries, if any of them is new."""
        removed = self._new.keys() != self._entries.keys()
        if self._path is not None and (self._changed or removed):
            write_json(self._path, self._new)


def remove_cache(folder: Path) -> None:
    """Remove the files of the cache; those of others stay."""
    for name in (_FILE, LINKS):
        if (folder / name).is_file():
            (folder / name).unlink()


def read_json(path: Path) -> dict[str, Any]:
    """Read the mapping in a file of the cache; empty when the file is missing or damaged."""
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
        entries = orjson.loads(data) if digest == _digest(data) else None
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def write_json(path: Path, data: object) -> None:
    """Replace a file of the cache in one step; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = orjson.dumps(data, default=list)
    replace_file(path, _digest(text) + b"\n" + text)


def _digest(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()
