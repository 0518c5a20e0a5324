"""The build cache: read lessons and finished units by content, safe to delete, never trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from course.publish.jsonfile import read_json, write_json
from course.read.lesson import Lesson, Parts, Setup

_LESSON_FIELDS: Final = frozenset(one.name for one in fields(Lesson)) - {"material"}


def lesson_key(parts: Parts, setup_key: bytes) -> str:
    """The key of one lesson folder: every byte that its record depends on."""
    pieces = [setup_key, parts.folder.encode()]
    for name, data in parts.files.items():
        pieces += (b"\0%s\0%d\0" % (name.encode(), len(data)), data)
    return sha256(b"".join(pieces)).hexdigest()


def setup_key(setup: Setup, fingerprint: str) -> bytes:
    """The key of what all lessons are read with."""
    words = setup.words
    text = orjson.dumps(
        [
            fingerprint,
            dict(words.kinds),
            [words.output, words.table, words.done, words.to_do],
            dict(words.alerts),
            sorted(setup.interfaces),
            setup.lesson_limit,
            setup.file_urls,
        ],
        option=orjson.OPT_SORT_KEYS,
    )
    return sha256(text).digest()


class Shards:
    """One JSON file for each phase: folder name to key, record and unit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shards: dict[str, dict[str, Any]] = {}
        self._new: dict[str, dict[str, Any]] = {}

    def _shard(self, phase: str) -> dict[str, Any]:
        if phase not in self._shards:
            self._shards[phase] = read_json(self.folder / f"phase-{phase}.json") or {}
        return self._shards[phase]

    def kept(self) -> bool:
        """Whether there is anything to find."""
        return next(self.folder.glob("phase-*.json"), None) is not None

    def record(self, parts: Parts, key: str) -> Lesson | None:
        """The lesson that was read from the same bytes, or None."""
        entry = self._shard(parts.phase).get(parts.folder)
        if not isinstance(entry, dict) or entry.get("key") != key:
            return None
        record = entry.get("record")
        if not isinstance(record, dict) or set(record) != _LESSON_FIELDS:
            return None
        if (record["folder"], record["phase"]) != (parts.folder, parts.phase):
            return None
        try:
            return Lesson(**record)
        except (TypeError, ValueError):
            return None

    def unit(self, phase: str, folder: str, key: str) -> dict[str, Any] | None:
        """The cached unit of a lesson folder when its key is the same."""
        entry = self._shard(phase).get(folder)
        unit = entry.get("unit") if isinstance(entry, dict) else None
        return unit if isinstance(unit, dict) and unit.get("key") == key else None

    def put(self, phase: str, key: str, record: Lesson, unit: Mapping[str, Any]) -> None:
        """Keep what was made of a lesson folder."""
        self._new.setdefault(phase, {})[record.folder] = {
            "key": key,
            "record": record,
            "unit": unit,
        }

    def save(self) -> None:
        """Write the shards that changed and drop those of phases that are gone."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for phase, shard in self._new.items():
            if _signature(shard) != _signature(self._shard(phase)):
                write_json(self.folder / f"phase-{phase}.json", _storable(shard))
        for path in self.folder.glob("phase-*.json"):
            if path.name.removeprefix("phase-").removesuffix(".json") not in self._new:
                path.unlink(missing_ok=True)


def _storable(shard: Mapping[str, Any]) -> dict[str, Any]:
    """The shard with records as plain mappings."""
    return {
        folder: {**entry, "record": {one: getattr(entry["record"], one) for one in _LESSON_FIELDS}}
        for folder, entry in shard.items()
    }


def _signature(shard: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (name, entry.get("key"), (entry.get("unit") or {}).get("key"))
        for name, entry in sorted(shard.items())
        if isinstance(entry, dict)
    ]
