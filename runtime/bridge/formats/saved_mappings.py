"""Keeps the mappings of channels that people gave, by logger, in a file beside the database."""

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
    """The file of mappings is damaged; no file is read without what is kept for its logger."""

    status: ClassVar[int] = 422
    code: ClassVar[str] = "channel_maps_unreadable"


class KeptMap(BaseModel):
    """What was last given for the files of one logger."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mapping: Annotated[dict[str, str], Field(min_length=1)]
    """Channels by signal, as ``channel``, ``channel:unit`` or ``none``."""
    file: str = ""
    """The file that it was given with."""
    given_at: str = ""


_FILE: Final = TypeAdapter(dict[str, KeptMap])


def maps_file(database: Path) -> Path:
    """Where the mappings of a database lie."""
    return database.with_name(f"{database.name}.channels.json")


def read_maps(path: Path) -> dict[str, KeptMap]:
    """The mapping of each logger; empty without a file. Raises `KeptMapsUnreadable`."""
    try:
        with path.open("rb") as file:
            return _FILE.validate_json(file.read(_LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        raise KeptMapsUnreadable(
            f"{path.name} beside the database cannot be read: mend it, or move it away"
        ) from None


def kept_mappings(path: Path) -> dict[str, Mapping[str, str]]:
    """The same as plain mappings. Raises `KeptMapsUnreadable`."""
    return {logger: kept.mapping for logger, kept in read_maps(path).items()}


def keep_map(path: Path, logger: str, mapping: Mapping[str, str], file: str) -> list[ReadWarning]:
    """Keep what was given for a logger in place of what was kept; an empty mapping forgets it.

    Gives a warning where the file cannot be written. Blocks. Raises `KeptMapsUnreadable`.
    """
    with _LOCK:
        maps = read_maps(path)
        if not mapping and logger not in maps:
            return []
        maps.pop(logger, None)
        if mapping:
            now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
            maps[logger] = KeptMap(mapping=dict(mapping), file=file, given_at=now)
        part = path.with_name(f"{path.name}.part")
        text = json.dumps(_FILE.dump_python(maps), indent=2, ensure_ascii=False)
        try:
            part.write_text(f"{text}\n", encoding="utf-8")
            move_into_place(part, path)
        except OSError:
            detail = "the mapping was used, and could not be kept for the next file of the logger"
            return [ReadWarning("mapping_not_kept", detail)]
    return []
