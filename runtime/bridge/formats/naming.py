"""What an imported session is called, and where it was driven, when nobody says."""

from datetime import UTC, datetime
from typing import Final

from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import Recording
from runtime.bridge.session.series import series
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track

UNNAMED: Final = "session"


def place(library: Library, active: Track | None, recording: Recording) -> str:
    """The known circuit nearest to a recording, else the place that its file names.

    Without positions and such a name the active circuit.
    """
    centre = series(recording.frames).centre
    venue = recording.facts.get("venue", "")
    if centre is None:
        return venue or (active.name if active else "")
    near = library.near(*centre)
    return near.name if near else venue


def driver(asked: str | None, recording: Recording) -> str | None:
    """Who drove: as asked, else as the file says."""
    return asked or recording.facts.get("driver") or asked


def session_name(track: str, created: float | None, now: float) -> str:
    """Of the circuit and the moment of recording, or of import where that is not known."""
    moment = datetime.fromtimestamp(created if created is not None else now, UTC)
    return f"{slug(track) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
