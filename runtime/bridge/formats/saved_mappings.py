"""Saves the channel mappings that people chose, by logger, in a file next to the database."""

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runtime.bridge.session.recording import ReadWarning
from runtime.web.errors import ApiError
from runtime.web.instance import move_into_place

_LARGEST: Final = 4 << 20
_LOCK: Final = threading.Lock()


class KeptMapsUnreadable(ApiError):
    """The file of mappings is damaged; imports fail rather than ignore saved mappings."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "channel_maps_unreadable"


class SavedMap(BaseModel):
    """The last mapping chosen for files of one logger."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mapping: Annotated[dict[str, str], Field(min_length=1)]
    """Channel by signal, as ``channel``, ``channel:unit`` or ``none``."""
    file: str = ""
    """The file that it was chosen for."""
    given_at: str = ""


_FILE: Final = TypeAdapter(dict[str, SavedMap])


def locate_maps(database: Path) -> Path:
    """Return the path of the mappings of a database."""
    return database.with_name(f"{database.name}.channels.json")


def read_maps(path: Path) -> dict[str, SavedMap]:
    """Read the mapping of each logger; empty without a file. Raises `KeptMapsUnreadable`."""
    try:
        with path.open("rb") as file:
            return _FILE.validate_json(file.read(_LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        raise KeptMapsUnreadable(
            f"{path.name} next to the database cannot be read: repair it, or move it away"
        ) from None


def read_plain_mappings(path: Path) -> dict[str, Mapping[str, str]]:
    """Read the plain mapping of each logger. Raises `KeptMapsUnreadable`."""
    return {logger: kept.mapping for logger, kept in read_maps(path).items()}


def save_map(path: Path, logger: str, mapping: Mapping[str, str], file: str) -> list[ReadWarning]:
    """Save the mapping of a logger in place of an older one; an empty mapping deletes it.

    Returns a warning if the file cannot be written. Blocks. Raises `KeptMapsUnreadable`.
    """
    with _LOCK:
        maps = read_maps(path)
        if not mapping and logger not in maps:
            return []
        maps.pop(logger, None)
        if mapping:
            now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            maps[logger] = SavedMap(mapping=dict(mapping), file=file, given_at=now)
        part = path.with_name(f"{path.name}.part")
        text = json.dumps(_FILE.dump_python(maps), indent=2, ensure_ascii=False)
        try:
            part.write_text(f"{text}\n", encoding="utf-8")
            move_into_place(part, path)
        except OSError:
            detail = "the mapping was used but could not be saved for the next file of the logger"
            return [ReadWarning("mapping_not_kept", detail)]
    return []
