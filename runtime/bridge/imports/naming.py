"""What an imported session is called, and where it was driven, when nobody says."""

from datetime import UTC, datetime
from typing import Final

from runtime.bridge.laps.series import series
from runtime.bridge.telemetry.values import Recording
from runtime.bridge.tracks.library import Library
from runtime.bridge.tracks.model import Track, slug

UNNAMED: Final = "session"


def place(library: Library, active: Track | None, recording: Recording) -> str:
    """The circuit nearest to a recording; without positions the active one."""
    centre = series(recording.frames).centre
    if centre is None:
        return active.name if active else ""
    near = library.near(*centre)
    return near.name if near else ""


def session_name(track: str, created: float | None, now: float) -> str:
    """Of the circuit and the moment of recording, or of import where that is not known."""
    moment = datetime.fromtimestamp(created if created is not None else now, UTC)
    return f"{slug(track) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
