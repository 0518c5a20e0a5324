"""The store's interface to the rest of the bridge: awaitable reads and writes of plain values."""

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self, TypeVar, cast

import numpy as np

from runtime.bridge.session.recording import WIDE, Frames, Recording, Samples, VideoFrame
from runtime.bridge.storage import opening, schema, sessions, telemetry
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.errors import StoreBusy, UnknownSession
from runtime.bridge.storage.exporting import Exports
from runtime.bridge.storage.importing import drop_staged, import_recording
from runtime.bridge.storage.reading import Readers
from runtime.bridge.storage.records import (
    NOTHING,
    Appended,
    Backend,
    CapabilityRow,
    Choice,
    Export,
    Figures,
    Imported,
    LapRow,
    NoteRow,
    SessionChange,
    SessionMeta,
    SessionRow,
    SignalRow,
    SignalsAppended,
    unix_ms,
)
from runtime.bridge.storage.transaction import S, Session, Transaction, load_spans, select
from runtime.bridge.storage.writer import Job, Writer
from runtime.web import instance

T = TypeVar("T")

_RECOUNTS: Final = 5
_TEXT: Final = 128
"""Characters of a text that count as a row."""
_ALL: Final = 1 << 62


class Store:
    """A database, opened by `open` on a running loop and used only on that loop.

    Writes return once they are on disk; cancelling a caller does not stop its write. Reads see
    every write that has returned. Both raise `StoreBusy` when too much is waiting, `StoreFailed`,
    and `StoreFull` (writes).
    """

    def __init__(self, opened: opening.Opened) -> None:
        self._opened = opened
        self._state = opened.state
        self._loop = asyncio.get_running_loop()
        self._readers = Readers(opened.engine)
        self._writer = Writer(
            opened.engine,
            opened.state,
            self._finish,
            opening.load_state,
            opened.acknowledged.write,
            opened.owed,
        )
        self._exports = Exports(opened.state, self._readers)
        self.backend: Backend = opened.engine.kind
        self.schema_version = len(schema.STEPS)
        self.recovered_from = opened.recovered_from
        """New name of a file that was damaged at the start; None: none was damaged."""
        self._looking: asyncio.Task[None] | None = None
        for key in opened.state.staged:
            self._writer.step(drop_staged(key))

    @classmethod
    async def open(
        cls, path: Path, backend: Choice = "auto", seed: Sequence[SignalRow] = ()
    ) -> Self:
        """Open or create the database at *path* and add new entries of *seed* to the catalogue.

        Raises `AlreadyRunning`, `StoreUnusable`, `SchemaTooNew`; each says what to do.
        """
        store = cls(await asyncio.to_thread(opening.open_database, path, backend, list(seed)))
        store._looking = asyncio.create_task(store._readers.look_over())  # in the background
        return store

    async def close(self) -> None:
        """Finish the accepted writes, settle all sessions, close."""
        await asyncio.to_thread(self._writer.close)
        await self._readers.close()
        await asyncio.to_thread(self._opened.close)

    def answers_at(self, address: str) -> None:
        """Publish the bridge's address for other programs that want this database."""
        instance.write_address(self._opened.lock, address)

    @property
    def damaged(self) -> bool:
        """Whether damage to the file was found, by a read, a write or the check at the start."""
        return self._readers.damaged or self._writer.damaged

    def figures(self) -> Figures:
        """Figures of the writer; uses no disk and never waits."""
        return self._writer.figures()

    # the basis of everything else; parts of the server use it for tables of their own

    async def write(self, work: Callable[[Transaction], T], *, rows: int = 1) -> T:
        """Commit *work* together with other writes. Return its result.

        *rows* is its weight in a commit and in memory.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._writer.offer(Job(work, future, rows)):
            raise StoreBusy
        self._loop.call_soon(self._writer.wake)  # after all other writes of this turn are offered
        return cast("T", await future)

    async def add(self, rows: Sequence[S]) -> tuple[S, ...]:
        """Store rows of one of the tables, in order. Return them with their ids."""
        texts = (cell for row in rows for cell in asdict(row).values() if isinstance(cell, str))
        weight = len(rows) + sum(map(len, texts)) // _TEXT
        return await self.write(lambda tx: sessions.add_rows(tx, rows), rows=weight)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run *work* on a reader's thread, in a transaction. Return its result."""
        return await self._readers.read(work)

    def _finish(self, jobs: list[Job]) -> None:
        """Answer the waiting callers; called on the writer's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            self._loop.call_soon_threadsafe(_answer, jobs)

    # sessions: from memory, as of the last commit

    async def start_session(
        self, meta: SessionMeta, session_id: str | None, slug: str, now_ms: int
    ) -> tuple[SessionRow, bool]:
        """Start or resume a session, which becomes the active one. Return whether it existed.

        The default id is made from *slug* and the time, ``<slug>-<YYYYMMDD-HHMMSS>`` in UTC, with
        ``-2``, ``-3``, … if it is taken. A resumed session loses its ``ended_at``.
        """
        return await self.write(
            lambda tx: sessions.start_session(tx, meta, session_id, slug, now_ms)
        )

    async def end_session(self, session_id: str, now_ms: int) -> SessionRow:
        """End a session; an ended one keeps its time. Raises `UnknownSession`."""
        return await self.write(lambda tx: sessions.end_session(tx, session_id, now_ms))

    async def rename_session(self, session_id: str, slug: str) -> SessionRow:
        """End a session and give it an id of *slug* and its start. Raises `UnknownSession`."""
        return await self.write(lambda tx: sessions.rename_session(tx, session_id, slug))

    async def change_session(self, session_id: str, change: SessionChange) -> SessionRow:
        """Change a session's driver, car, track or note. Raises `UnknownSession`."""
        return await self.write(lambda tx: sessions.change_session(tx, session_id, change))

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and everything about it; its telemetry follows in the background.

        Raises `UnknownSession`, and `SessionInUse` for the active one.
        """
        key = await self.write(lambda tx: sessions.delete_session(tx, session_id))
        self._writer.step(drop_staged(key))

    def sessions(
        self,
        limit: int | None = None,
        *,
        active_only: bool = False,
        driver: str | None = None,
    ) -> list[SessionRow]:
        """List sessions, newest first, then by id descending; *driver* regardless of case."""
        return self._state.newest(active_only=active_only, driver=driver)[:limit]

    def session(self, session_id: str) -> SessionRow | None:
        """Find a session; None if it does not exist."""
        return self._state.sessions.get(session_id)

    def active_session(self) -> str | None:
        """Return the open session that was started last."""
        return self._state.active()

    def version(self, session_id: str) -> int:
        """Return a number that changes with each write of telemetry. Raises `UnknownSession`."""
        return self._require(session_id).version

    def _require(self, session_id: str) -> Session:
        session = self._state.sessions.get(session_id)
        if session is None:
            raise UnknownSession(session_id)
        return session

    # telemetry

    async def append_frames(
        self,
        session_id: str,
        frames: Frames,
        extras: Mapping[str, Samples] | None = None,
        meta: SessionMeta = NOTHING,
        now_ms: int | None = None,
    ) -> Appended:
        """Append at least one frame, and samples of other signals, in one commit.

        A missing session is created. Null distances are integrated from the speed. Signals that do
        not fit into the catalogue are left out (`Appended.left_out`). Raises `BadFrames` before
        any change.
        """
        now, further = unix_ms() if now_ms is None else now_ms, extras or {}
        return await self.write(
            lambda tx: telemetry.append_frames(tx, session_id, frames, further, meta, now),
            rows=len(frames) + sum(len(samples.t) for samples in further.values()),
        )

    async def append_signals(
        self,
        session_id: str,
        samples: Mapping[str, Samples],
        meta: SessionMeta = NOTHING,
        now_ms: int | None = None,
        *,
        spare: bool = False,
    ) -> SignalsAppended:
        """Append samples by signal name; a sample replaces an earlier one at the same time.

        Unknown names are registered. Samples of wide columns fill the empty cell of the nearest
        frame within half a nominal period, or are rejected. Raises `BadFrames`, and `RegistryFull`
        if the catalogue is full, before any change; with *spare*, names that do not fit are left
        out instead.
        """
        now = unix_ms() if now_ms is None else now_ms
        return await self.write(
            lambda tx: telemetry.append_signals(tx, session_id, samples, meta, now, spare=spare),
            rows=sum(len(signal.t) for signal in samples.values()),
        )

    async def append_video(
        self,
        session_id: str,
        frames: Sequence[VideoFrame],
        meta: SessionMeta = NOTHING,
        now_ms: int | None = None,
    ) -> int:
        """Append video frames, replacing those at the same moment of the same file; count them."""
        now = unix_ms() if now_ms is None else now_ms
        return await self.write(
            lambda tx: telemetry.append_video(tx, session_id, frames, meta, now),
            rows=len(frames),
        )

    async def import_recording(
        self,
        session_id: str,
        recording: Recording,
        meta: SessionMeta = NOTHING,
        now_ms: int | None = None,
    ) -> Imported:
        """Import a whole recording, all or nothing, in pieces between the live frames.

        A session without telemetry is filled; a new one takes its times from the recording and is
        ended. Gates and facts go into its *meta*. Signals that do not fit into the catalogue are
        left out (`Imported.left_out`). Raises `SessionExists`, `BadFrames`.
        """
        now = unix_ms() if now_ms is None else now_ms
        future: asyncio.Future[Any] = self._loop.create_future()
        if not self._writer.step(import_recording(session_id, recording, meta, now), future):
            raise StoreBusy("other imports are waiting; try again")
        return cast("Imported", await future)

    async def read_frames(self, session_id: str) -> Frames:
        """Read all frames, in order. Raises `UnknownSession`."""
        key = self._require(session_id).key
        numbers = await self.read(lambda reader: reader.frames(key))
        return Frames(dict(zip(WIDE, numbers, strict=True)))

    async def read_signals(self, session_id: str, names: Sequence[str]) -> dict[str, Samples]:
        """Read the samples of *names*, by time; empty where there are none.

        Wide columns are not included: read them as frames. Raises `UnknownSession`.
        """
        key = self._require(session_id).key
        ids = {
            name: signal.signal_id
            for name in names
            if (signal := self._state.signals.get(name)) is not None
        }
        stored = await self.read(lambda reader: reader.samples(key, list(ids.values())))
        nothing = Samples(np.empty(0), np.empty(0))
        return {name: stored.get(ids.get(name, -1), nothing) for name in names}

    async def video(self, session_id: str) -> list[VideoFrame]:
        """Read the video frames by time, then by file. Raises `UnknownSession`."""
        key = self._require(session_id).key
        rows = await self.read(
            lambda reader: reader.rows(
                "SELECT timestamp, avitime_ms, file_path, file_offset_s, width, height"
                " FROM video_frames WHERE session_key = ? ORDER BY timestamp, file_path",
                (key,),
            )
        )
        return [VideoFrame(*row) for row in rows]

    async def export(self, session_id: str, table: str) -> Export:
        """Export a table as parquet, see `exporting.SCHEMAS`; batches are made on demand.

        Raises `BadTable`, `NoRows`, and `StoreBusy` during too many other exports.
        """
        return await self._exports.export(session_id, table)

    # laps and notes

    async def put_lap(self, row: LapRow) -> LapRow:
        """Store a lap; it replaces the session's lap of the same number and keeps that one's id."""
        return await self.write(lambda tx: sessions.put_lap(tx, row))

    async def laps(self, session_id: str | None = None, limit: int | None = None) -> list[LapRow]:
        """List laps of one session or of all, newest first by ``recorded_at``, then id."""
        where = "" if session_id is None else "WHERE session_id = ?"
        rest = f"{where} ORDER BY recorded_at DESC, id DESC LIMIT ?"
        values = [*([] if session_id is None else [session_id]), _ALL if limit is None else limit]
        return await self.read(lambda reader: select(reader, LapRow, rest, values))

    async def add_note(self, row: NoteRow) -> NoteRow:
        """Store a note of the coach."""
        return (await self.add((row,)))[0]

    async def notes(self, session_id: str, limit: int | None = None) -> list[NoteRow]:
        """List the last *limit* notes, oldest first."""
        rest = "WHERE session_id = ? ORDER BY id DESC LIMIT ?"
        values = (session_id, _ALL if limit is None else limit)
        return (await self.read(lambda reader: select(reader, NoteRow, rest, values)))[::-1]

    async def lap_cache(self, session_id: str, version: int) -> str | None:
        """Read the cached laps of that version of the session's telemetry."""
        sql = "SELECT json FROM session_laps_cache WHERE session_id = ? AND version = ?"
        rows = await self.read(lambda reader: reader.rows(sql, (session_id, version)))
        return str(rows[0][0]) if rows else None

    async def put_lap_cache(self, session_id: str, version: int, laps: str) -> None:
        """Cache the laps found in that version of the telemetry, replacing earlier ones."""
        await self.write(
            lambda tx: sessions.put_lap_cache(tx, session_id, version, laps),
            rows=1 + len(laps) // _TEXT,
        )

    # the catalogue of signals, and their extent in each session

    def registry(self) -> list[SignalRow]:
        """List the catalogue by id."""
        return list(self._state.catalogue().values())

    async def capabilities(self, session_id: str) -> list[CapabilityRow]:
        """List each signal's extent by name, wide columns included. Raises `UnknownSession`."""
        session = self._require(session_id)
        spans = session.spans
        if spans is None:
            spans = await self.read(lambda reader: load_spans(reader, session.key))
        return self._state.capabilities(session, spans)

    async def signal_names(self, session_id: str) -> list[str]:
        """List signals with samples, sorted, wide columns included. Raises `UnknownSession`."""
        return [row.name for row in await self.capabilities(session_id)]

    async def recompute_capabilities(self, session_id: str) -> int:
        """Recount the stored telemetry. Return the number of signals. Raises `UnknownSession`."""
        for _ in range(_RECOUNTS):
            session = self._require(session_id)
            wide = self._state.wide
            count = functools.partial(telemetry.count_telemetry, key=session.key, wide=wide)
            counted = await self.read(count)
            write = functools.partial(
                sessions.recount, session_id=session_id, version=session.version, counted=counted
            )
            if (n_signals := await self.write(write)) is not None:
                return n_signals
        return self._require(session_id).n_signals  # written to all the time: counted on the way

    async def samples_total(self) -> dict[str, int]:
        """Count the samples of each signal over all sessions."""
        sql = "SELECT session_key, signal_id, n_samples FROM session_capabilities"
        counted = {tuple(place): n for *place, n in await self.read(lambda at: at.rows(sql))}
        for session in self._state.sessions.copy().values():  # stored counts may be outdated
            for signal, span in (session.spans or {}).items():
                counted[session.key, signal] = span.n
        total = Counter[int]()
        for (_, signal), n in counted.items():
            total[signal] += n
        return {row.name: total[row.signal_id] for row in self.registry()}


def _answer(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future is None or job.future.done():  # its caller was cancelled
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
