"""What an imported session is called, and where it was driven, when nobody says."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol, TypeAlias

from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import Recording
from runtime.bridge.session.series import series

UNNAMED: Final = "session"


class Named(Protocol):
    """A circuit."""

    @property
    def name(self) -> str:
        """As people call it."""


Near: TypeAlias = Callable[[float, float], Named | None]
"""The circuit at a latitude and longitude."""


def place(near: Near, active: Named | None, recording: Recording) -> str:
    """The known circuit *near* a recording, else the place that its file names.

    Without positions and such a name the active circuit.
    """
    centre = series(recording.frames).centre
    venue = recording.facts.get("venue", "")
    if centre is None:
        return venue or (active.name if active else "")
    circuit = near(*centre)
    return circuit.name if circuit else venue


def driver(asked: str | None, recording: Recording) -> str | None:
    """Who drove: as asked, else as the file says."""
    return asked or recording.facts.get("driver") or asked


def session_name(track: str, created: float | None, now: float) -> str:
    """Of the circuit and the moment of recording, or of import where that is not known."""
    moment = datetime.fromtimestamp(created if created is not None else now, UTC)
    return f"{slug(track) or UNNAMED}-{moment:%Y%m%d-%H%M%S}"
