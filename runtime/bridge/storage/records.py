"""The writes of sessions, laps, notes and of the catalogue of signals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar, Final

from runtime.bridge.storage import canonical, registry, schema
from runtime.bridge.storage.errors import BadFrames
from runtime.bridge.storage.operations import LIGHT, Weight, known
from runtime.bridge.storage.state import Session, Span
from runtime.bridge.storage.transaction import Transaction, write_spans
from runtime.bridge.storage.values import (
    BUSES,
    NOTHING,
    LapRow,
    NoteRow,
    SessionMeta,
    SessionRow,
    SignalRow,
)

_BY_ID: Final = ("sessions", "session_laps_cache", "spectator_tokens")
"""A renamed session is written anew, its laps are found anew, and who was let in to watch what is
live under an id goes on watching that."""
_ABOUT_SESSIONS: Final = tuple(
    table.name
    for step in schema.STEPS
    for table in step
    if isinstance(table, schema.Table)
    and "session_id text" in table.columns
    and table.name not in _BY_ID
)
_LAP_NUMBERS: Final = (
    "lap_time_s",
    "best_sector",
    "avg_speed_kmh",
    "max_combo_g",
    "coast_pct",
)


@dataclass(frozen=True, slots=True)
class StartSession:
    """A session becomes the active one: a new one, or one that goes on."""

    meta: SessionMeta
    session_id: str | None
    slug: str
    now_ms: int

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> tuple[SessionRow, bool]:
        """The row, and whether the session was there already."""
        session_id = self.session_id or _dated(tx, self.slug, self.now_ms)
        resumed = tx.session(session_id) is not None
        session = tx.ensure(session_id, self.meta, self.now_ms)
        session = replace(session, ended_at=None, activation=tx.draft.next("activation"))
        return tx.put(session).row(), resumed


@dataclass(frozen=True, slots=True)
class EndSession:
    """A session ends, once."""

    session_id: str
    now_ms: int

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> SessionRow:
        """The row."""
        tx.flush()
        session = known(tx, self.session_id)
        if session.ended_at is None:
            tx.put(replace(session, ended_at=self.now_ms))
            tx.checkpoint = True
        if session.dirty:
            tx.settle(session)
        tx.flush()
        return known(tx, self.session_id).row()


@dataclass(frozen=True, slots=True)
class EndBegunByBus:
    """Open sessions that a bus began end with their last frames; those in *kept* go on.

    One that was started, too, is its driver's to end.
    """

    kept: Collection[str]
    now_ms: int

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> list[SessionRow]:
        """Those that have ended."""
        tx.flush()
        names = {*tx.draft.base.sessions, *tx.draft.sessions}.difference(self.kept)
        sessions = [tx.session(name) for name in sorted(names)]
        return [
            self._ended(tx, session)
            for session in sessions
            if session is not None
            and session.ended_at is None
            and not session.activation
            and session.meta.source in BUSES
        ]

    def _ended(self, tx: Transaction, session: Session) -> SessionRow:
        # A synthetic car's clock may run ahead of the day's.
        ended = tx.put(replace(session, ended_at=min(_last_ms(session), self.now_ms)))
        return (tx.settle(ended) if ended.dirty else ended).row()


@dataclass(frozen=True, slots=True)
class RenameSession:
    """A session takes an id of *slug* and its start, and ends; the old id is free again."""

    session_id: str
    slug: str

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> SessionRow:
        """The row under its new id."""
        known(tx, self.session_id)
        tx.flush()
        session = known(tx, self.session_id)
        session_id = _dated(tx, self.slug, session.started_at)
        ended_at = session.ended_at or _last_ms(session)
        tx.draft.sessions[self.session_id] = None
        session = tx.put(replace(session, session_id=session_id, ended_at=ended_at))
        tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (self.session_id,))
        for table in _ABOUT_SESSIONS:
            tx.run(
                f"UPDATE {table} SET session_id = ? WHERE session_id = ?",  # noqa: S608 - our tables
                (session_id, self.session_id),
            )
        return tx.settle(session).row()


@dataclass(frozen=True, slots=True)
class Settle:
    """What was only counted is written down; for a session that has been quiet for a while."""

    session_id: str

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        session = tx.session(self.session_id)
        if session is not None and session.dirty:
            tx.settle(session)


@dataclass(frozen=True, slots=True, eq=False)
class Recount:
    """Spans that were counted from the stored telemetry at *version*."""

    session_id: str
    version: int
    spans: Mapping[int, Span]

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> int | None:
        """How many signals there are; None: the session has changed since."""
        tx.flush()
        session = known(tx, self.session_id)
        if session.version != self.version:
            return None
        write_spans(tx.connection, session.key, self.spans)
        tx.put(session.spread(self.spans))
        return len(self.spans)


@dataclass(frozen=True, slots=True)
class PutLap:
    """A lap as reported; the same number of the same session replaces.

    The session is made where it is unknown.
    """

    row: LapRow

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> LapRow:
        """The row with its id."""
        numbers = {name: canonical.number(name, getattr(self.row, name)) for name in _LAP_NUMBERS}
        if numbers["lap_time_s"] is None:
            raise BadFrames("lap_time_s is no number")
        row = replace(self.row, session_id=canonical.text(self.row.session_id), **numbers)  # type: ignore[arg-type]
        if tx.session(row.session_id) is None:
            tx.ensure(row.session_id, NOTHING, row.recorded_at)
        there = tx.connection.rows(
            "SELECT id FROM laps WHERE session_id = ? AND lap_number = ?",
            (row.session_id, row.lap_number),
        )
        row = replace(row, id=int(there[0][0]) if there else tx.next_id("laps"))
        tx.run("DELETE FROM laps WHERE id = ?", (row.id,))
        tx.run(
            "INSERT INTO laps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row.id, row.session_id, row.lap_number, row.lap_time_s, row.best_sector),
                *(row.avg_speed_kmh, row.max_combo_g, row.coast_pct, row.recorded_at),
            ),
        )
        return row


@dataclass(frozen=True, slots=True)
class AddNote:
    """Something the coach said."""

    row: NoteRow

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        return Weight(1, 1024 + 4 * len(self.row.text))

    def apply(self, tx: Transaction) -> NoteRow:
        """The row with its id."""
        distance = canonical.number("distance_m", self.row.distance_m)
        row = replace(
            self.row,
            id=tx.next_id("coaching_notes"),
            text=canonical.text(self.row.text),
            distance_m=distance,
        )
        tx.run(
            "INSERT INTO coaching_notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row.id, canonical.text(row.session_id), row.burst_id, row.distance_m, row.text),
                *(canonical.optional(text) for text in (row.source, row.emotion, row.concept)),
                row.recorded_at,
            ),
        )
        return row


@dataclass(frozen=True, slots=True)
class Register:
    """Signals that are known beforehand; those in the catalogue stay as they are."""

    signals: Sequence[SignalRow]

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        return Weight(len(self.signals), 512 * len(self.signals))

    def apply(self, tx: Transaction) -> tuple[str, ...]:
        """The names that are new."""
        known_by_name = {**tx.draft.base.signals, **tx.draft.signals}
        added = [tx.learn(row) for row in registry.missing(self.signals, known_by_name)]
        return tuple(row.name for row in added if row.name not in known_by_name)


@dataclass(frozen=True, slots=True)
class Opening:
    """What an opening writes: that it was, the catalogue's new entries, what was counted anew."""

    boots: int
    seed: Sequence[SignalRow]

    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        tx.run("UPDATE schema_version SET boots = ?", (self.boots,))
        Register(self.seed).apply(tx)
        for session in list(tx.draft.base.sessions.values()):
            if session.dirty:
                tx.settle(tx.put(session))


@dataclass(frozen=True, slots=True)
class PutLapCache:
    """The laps found in a session, for as long as its telemetry has that version."""

    session_id: str
    version: int
    laps: str

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        return Weight(1, 1024 + len(self.laps))

    def apply(self, tx: Transaction) -> None:
        """See `Operation`."""
        tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (self.session_id,))
        tx.run(
            "INSERT INTO session_laps_cache VALUES (?, ?, ?)",
            (self.session_id, self.version, self.laps),
        )


def _last_ms(session: Session) -> int:
    """The time of day of the last of its telemetry, Unix milliseconds."""
    lasted = (session.t_end or 0.0) - (session.t_start or 0.0)
    return session.started_at + round(lasted * 1000)


def _dated(tx: Transaction, slug: str, now_ms: int) -> str:
    """An id that no session has."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC)
    base = f"{slug}-{moment:%Y%m%d-%H%M%S}"
    name, number = base, 1
    while tx.session(name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name
