"""The reads, as functions on a connection; they run on a reader's thread in a transaction."""

from collections.abc import Mapping
from typing import Final

from runtime.bridge.session.recording import TIMESTAMP, Samples, VideoFrame
from runtime.bridge.storage.backend import Connection, Window
from runtime.bridge.storage.nearest import nearest
from runtime.bridge.storage.operations import Fill
from runtime.bridge.storage.values import LapRow, NoteRow

_LAP: Final = (
    "session_id, lap_number, lap_time_s, recorded_at, best_sector, avg_speed_kmh, max_combo_g,"
    " coast_pct, id"
)
_NOTE: Final = "session_id, text, recorded_at, burst_id, distance_m, source, emotion, concept, id"
_ALL: Final = 1 << 62


def video(connection: Connection, key: int) -> list[VideoFrame]:
    """By time, then by file."""
    rows = connection.rows(
        "SELECT timestamp, avitime_ms, file_path, file_offset_s, width, height FROM video_frames"
        " WHERE session_key = ? ORDER BY timestamp, file_path",
        (key,),
    )
    return [VideoFrame(*row) for row in rows]


def laps(connection: Connection, session_id: str | None, limit: int | None) -> list[LapRow]:
    """Newest first by ``recorded_at``, then id; of one session or of all."""
    where = "" if session_id is None else " WHERE session_id = ?"
    values = [] if session_id is None else [session_id]
    rows = connection.rows(
        f"SELECT {_LAP} FROM laps{where} ORDER BY recorded_at DESC, id DESC LIMIT ?",  # noqa: S608 - constants
        [*values, _ALL if limit is None else limit],
    )
    return [LapRow(*row) for row in rows]


def notes(connection: Connection, session_id: str, limit: int | None) -> list[NoteRow]:
    """The last ones, oldest first."""
    rows = connection.rows(
        f"SELECT {_NOTE} FROM coaching_notes WHERE session_id = ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - constants
        (session_id, _ALL if limit is None else limit),
    )
    return [NoteRow(*row) for row in reversed(rows)]


def lap_cache(connection: Connection, session_id: str, version: int) -> str | None:
    """What was put for that version."""
    rows = connection.rows(
        "SELECT json FROM session_laps_cache WHERE session_id = ? AND version = ?",
        (session_id, version),
    )
    return str(rows[0][0]) if rows else None


def settled_samples(connection: Connection) -> dict[tuple[int, int], int]:
    """How many samples there are by session key and signal id, as last settled."""
    rows = connection.rows("SELECT session_key, signal_id, n_samples FROM session_capabilities")
    return {(key, signal): n for key, signal, n in rows}


def fills(connection: Connection, key: int, wide: Mapping[str, Samples]) -> list[Fill]:
    """The frames that samples of wide columns, in canonical form, belong to.

    Samples that belong to none are left out.
    """
    t = connection.frames(key, (TIMESTAMP,), Window())[TIMESTAMP]
    found = []
    for name, samples in wide.items():
        at = nearest(t, samples.t)
        near = at >= 0
        if near.any():
            chosen = at[near]
            found.append(Fill(name, chosen, t[chosen], samples.value[near], samples.t[near]))
    return found
