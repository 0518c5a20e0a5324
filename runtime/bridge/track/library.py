"""The folder of circuits: found by id, by name, or by where a session was driven."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import ReadWarning
from runtime.bridge.track.file import parse_track, read_file, read_folder, track_text
from runtime.bridge.track.model import Track

LONGEST_ID: Final = 128


def is_safe_id(text: str) -> bool:
    """Whether a text from a request may be the id of a circuit: it leads out of no folder."""
    forbidden = any(part in text for part in ("/", "\\", "\0", ".."))
    return 0 < len(text) <= LONGEST_ID and not forbidden and text.strip() == text


def read_track(path: Path) -> tuple[Track, tuple[ReadWarning, ...]]:
    """The circuit of one file, whose stem is its id; raises `TrackError`, which names the file."""
    return read_file(path, lambda text: parse_track(text, path.stem))


@dataclass(frozen=True)
class Library:
    """Every circuit of a folder, as it was when the folder was read."""

    tracks: Mapping[str, Track] = field(default_factory=dict)
    """By id, in the order of the ids."""
    doubts: Mapping[str, tuple[ReadWarning, ...]] = field(default_factory=dict)
    """What was left out of which circuit."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why a file is no circuit, by the id it would have had."""

    @classmethod
    def read(cls, folder: Path) -> "Library":
        """The circuits of a folder; an absent folder has none."""
        files, unreadable = read_folder(folder, read_track)
        tracks = {key: track for key, (track, _) in files.items()}
        doubts = {key: doubts for key, (_, doubts) in files.items() if doubts}
        return cls(tracks, doubts, unreadable)

    def with_active(self, name: str) -> tuple["Library", Track | None]:
        """The circuit of *name*, an id or the path of a track file, and a library that has it.

        None: there is no such id. Raises `TrackError`.
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
        """The same for circuits of the same contents."""
        texts = (f"{key} {track_text(track)}" for key, track in self.tracks.items())
        return sha256("".join(texts).encode()).hexdigest()

    def by_name(self, name: str) -> Track | None:
        """The circuit of that id or name, whatever its letters' case, accents and blanks."""
        wanted = slug(name)
        if not wanted:
            return None
        for track in self.tracks.values():
            if wanted in (slug(track.id), slug(track.name)):
                return track
        return None

    def key(self, name: str) -> str:
        """The same for all ways to write a circuit, its id among them; empty: nothing is named."""
        known = self.by_name(name)
        return slug(known.id if known is not None else name)
