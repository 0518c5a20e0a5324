"""What the tools may read: the stored sessions, their analytics, the circuits, the clock."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.incidents import ASSISTS, Active, activity
from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.coach.agents.naming import Names
from runtime.bridge.coach.agents.scratch import Scratch
from runtime.bridge.coach.warm.lessons import Lessons
from runtime.bridge.errors import NoCompleteLap, NoGeometry
from runtime.bridge.storage.derived import Analyses, LapBook, Scope
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Corner, Straight, Track


def local_hour() -> int:
    """Of the machine's own clock."""
    return datetime.now().astimezone().hour


class Circuit(NamedTuple):
    """Where a session was driven."""

    track: Track | None
    """None: there is no file of it."""
    corners: tuple[Corner, ...]
    """Of the file, else as the driven line shows them."""
    sectors: tuple[str, ...] = ()
    """Names, in lap order; so are *straights*."""
    straights: tuple[str, ...] = ()
    main: str = ""
    """The straight with start and finish."""
    length_m: float | None = None
    """Of a lap."""

    @property
    def names(self) -> Names:
        """What its parts are called."""
        return Names(self.corners, self.sectors, self.straights, self.main)


@dataclass(frozen=True)
class Sources:
    """The parts of the bridge that answers come from."""

    store: Store
    book: LapBook
    analyses: Analyses
    references: ReferenceBook
    library: Library
    active_track: Track | None
    scratch: Scratch
    hour: Callable[[], int] = local_hour
    lessons: Lessons = field(default_factory=Lessons)

    def session(self, session_id: str) -> SessionRow | None:
        """A session as it stands; None: there is none of that id."""
        return self.store.session(session_id) if session_id else None

    async def circuit_of(self, row: SessionRow | None) -> Circuit:
        """Where a session was driven; without a session the active circuit."""
        if row is None:
            return _on_file(self.active_track)
        track = (await self.book.circuit(row)).track
        if not row.n_frames:
            return _on_file(track)
        try:
            drive = await self.analyses.drive(row, Scope(partial=True))
        except (NoCompleteLap, NoGeometry):
            return _on_file(track)
        try:
            corners = drive.corners
        except pure.NoGeometry:
            corners = ()
        return Circuit(
            drive.track,
            corners,
            tuple(one.name for one in drive.sectors),
            tuple(one.name for one in drive.straights) if corners else (),
            _main(drive.straights) if corners else "",
            drive.length_m,
        )

    async def active(self, session_id: str) -> tuple[Active, ...]:
        """When assistance systems worked in a session."""
        known = {row.name for row in self.store.registry()}
        names = [name for name in ASSISTS if name in known]
        if not names:
            return ()
        return activity(await self.store.read_signals(session_id, names))

    async def driven_there(self, driver_id: str, row: SessionRow) -> list[SessionRow]:
        """The sessions of a driver on the circuit of a session, by their start.

        Where that is not known, the session alone, if it is the driver's.
        """
        place = await self.book.place(row)
        return [
            one
            for one in self.driven_by(driver_id)
            if one.session_id == row.session_id or (place and await self.book.place(one) == place)
        ]

    def driven_by(self, driver_id: str) -> list[SessionRow]:
        """The sessions of a driver, by their start."""
        name = driver_id.strip().casefold()
        own = [
            row
            for row in self.store.sessions()
            if name and (row.driver or "").strip().casefold() == name
        ]
        return sorted(own, key=lambda row: (row.started_at, row.session_id))


def _on_file(track: Track | None) -> Circuit:
    """A circuit of which only the file is known."""
    if track is None:
        return Circuit(None, ())
    return Circuit(
        track,
        tuple(track.in_lap_order()),
        tuple(one.name for one in track.sectors),
        tuple(one.name for one in track.straights),
        _main(track.straights),
        track.length_m,
    )


def _main(straights: Iterable[Straight]) -> str:
    return next((one.name for one in straights if one.start_m > one.end_m), "")
