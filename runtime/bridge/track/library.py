"""The folder of circuits, found by id or by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from runtime.bridge.session.names import slugify
from runtime.bridge.session.recording import ReadWarning
from runtime.bridge.track.file import format_track, parse_track, read_file, read_folder
from runtime.bridge.track.model import Track

LONGEST_ID: Final = 128


def is_safe_id(text: str) -> bool:
    """Whether a text from a request may be the id of a circuit: it cannot leave the folder."""
    forbidden = any(part in text for part in ("/", "\\", "\0", ".."))
    return 0 < len(text) <= LONGEST_ID and not forbidden and text.strip() == text


def read_track(path: Path) -> tuple[Track, tuple[ReadWarning, ...]]:
    """Read the circuit of a file, whose stem is its id; raises `TrackError`, naming the file."""
    return read_file(path, lambda text: parse_track(text, path.stem))


@dataclass(frozen=True)
class Library:
    """The circuits of a folder, as they were when it was read."""

    tracks: Mapping[str, Track] = field(default_factory=dict)
    """By id, in the order of the ids."""
    doubts: Mapping[str, tuple[ReadWarning, ...]] = field(default_factory=dict)
    """What was left out of each circuit."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why a file is not a circuit, by the id it would have had."""

    @classmethod
    def read(cls, folder: Path) -> "Library":
        """Read the circuits of a folder; a missing folder has none."""
        files, unreadable = read_folder(folder, read_track)
        tracks = {key: track for key, (track, _) in files.items()}
        doubts = {key: doubts for key, (_, doubts) in files.items() if doubts}
        return cls(tracks, doubts, unreadable)

    def with_active(self, name: str) -> tuple["Library", Track | None]:
        """Return a library with the circuit of *name*, an id or the path of a track file.

        None: an unknown id. Raises `TrackError`.
        """
        name = name.strip()
        track = self.tracks.get(name)
        if track is not None or not name.endswith(".json"):
            return self, track
        track, doubts = read_track(Path(name))
        tracks = {**self.tracks, track.id: track}
        return replace(self, tracks=tracks, doubts={**self.doubts, track.id: doubts}), track

    @cached_property
    def digest(self) -> str:
        """A hash of the contents of all circuits."""
        texts = (f"{key} {format_track(track)}" for key, track in self.tracks.items())
        return sha256("".join(texts).encode()).hexdigest()

    def by_name(self, name: str) -> Track | None:
        """Find a circuit by id or name, regardless of case, accents and blanks."""
        wanted = slugify(name)
        if not wanted:
            return None
        for track in self.tracks.values():
            if wanted in (slugify(track.id), slugify(track.name)):
                return track
        return None

    def key(self, name: str) -> str:
        """Return one key for all spellings of a circuit, including its id; empty for no name."""
        track = self.by_name(name)
        return slugify(track.id if track is not None else name)
