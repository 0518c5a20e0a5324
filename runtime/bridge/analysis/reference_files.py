"""The folder of reference laps, read anew when its files change."""

import logging
import os
from pathlib import Path
from typing import Final

from runtime.bridge.analysis.reference import (
    NONE,
    ReferenceLap,
    References,
    parse_reference,
    reference_text,
)
from runtime.bridge.track.fields import LARGEST_TEXT
from runtime.bridge.track.model import TrackError

log = logging.getLogger(__name__)
_NOTHING: Final[tuple[tuple[str, int, int], ...]] = ()


class ReferenceBook:
    """The reference laps of a folder, one file a circuit, named by the circuit's id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: tuple[tuple[str, int, int], ...] = _NOTHING
        self._current = NONE

    def current(self) -> References:
        """The laps as the files are now; the same object as long as no file changes.

        A file that is no reference lap is left out, with a warning. An absent folder has none.
        """
        seen = self._listed()
        if seen != self._seen:
            self._seen, self._current = seen, read_references(self.folder)
            for track, why in self._current.unreadable.items():
                log.warning("reference of %s is left out: %s", track, why)
        return self._current

    def _listed(self) -> tuple[tuple[str, int, int], ...]:
        try:
            with os.scandir(self.folder) as entries:
                facts = [(e.name, e.stat()) for e in entries if e.name.endswith(".json")]
        except OSError:
            return _NOTHING
        return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in facts))


def read_references(folder: Path) -> References:
    """Every reference lap of a folder."""
    laps: dict[str, ReferenceLap] = {}
    unreadable: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            laps[path.stem] = read_reference(path)
        except TrackError as error:
            unreadable[path.stem] = str(error)
    return References(laps, unreadable)


def read_reference(path: Path) -> ReferenceLap:
    """The lap of one file. Raises `TrackError`, which names the file."""
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise TrackError("the file is larger than 16 MiB")
        return parse_reference(path.read_text(encoding="utf-8-sig"))
    except (TrackError, UnicodeDecodeError) as error:
        raise TrackError(f"{path.name}: {error}") from None
    except OSError as error:
        raise TrackError(f"{path.name}: {error.strerror}") from None


def write_reference(path: Path, lap: ReferenceLap, *, force: bool = False) -> None:
    """Write the file, its folder too. Raises `TrackError` and `OSError`.

    A file that is there already is written over only with *force*.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = reference_text(lap)
    if not force:
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise TrackError(f"{path} is there already; --force writes over it") from None
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.next")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
