"""Answers a question that is a statement of SQL: the views it reads, and what was found."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.analysis.drive import NoCorners
from runtime.bridge.coach.asking import Row
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.facts.general import NO_CORNERS, NO_SESSION
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.sql import (
    QueryFailed,
    Refused,
    Scratch,
    Table,
    View,
    checked,
    reals,
    statement_in,
    views_of_drive,
)
from runtime.bridge.derived.analyses import Scope
from runtime.bridge.errors import NoCompleteLap
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.values import SessionRow

MOST_SESSIONS: Final = 200
SHOWN: Final = 12
"""Rows of a result that are told in words."""


class Queries:
    """Runs the statements of drivers, one at a time."""

    def __init__(self, gathering: Gathering, scratch: Scratch | None = None) -> None:
        self._gathering = gathering
        self._scratch = scratch or Scratch()

    def close(self) -> None:
        """End; a query that runs is interrupted by its own limit. Blocks."""
        self._scratch.close()

    async def answer(
        self, question: str, row: SessionRow | None
    ) -> tuple[tuple[Row, ...] | None, tuple[Fact, ...]]:
        """The rows that a statement finds, None for one that is not run, and what says so."""
        try:
            safe, names = checked(statement_in(question) or question)
            of_session = [name for name in names if name != "sessions"]
            if of_session and row is None:
                return None, (NO_SESSION,)
            views = await self._views(row, of_session) if row is not None and of_session else {}
            if "sessions" in names:
                views["sessions"] = await self._sessions()
            table = await self._scratch.run(safe, views)
        except Refused as no:
            return None, (Fact("query-refused", {"why": str(no)}),)
        except QueryFailed as no:
            return None, (Fact("query-failed", {"why": str(no)}),)
        except (NoCompleteLap, NoRows):
            return None, (Fact("query-empty"),)
        except NoCorners:
            return None, (NO_CORNERS,)
        return _tell(table)

    async def _views(self, row: SessionRow, names: Sequence[str]) -> dict[str, View]:
        """The views of a session; they are large, so that nobody remembers them."""
        drive = await self._gathering.analyses.drive(row, Scope(partial=True))
        return await asyncio.to_thread(views_of_drive, drive, names)

    async def _sessions(self) -> View:
        """The newest sessions, with what their laps show."""
        book = self._gathering.book
        rows = self._gathering.store.sessions()[:MOST_SESSIONS]
        seen = [await book.seen(row) for row in rows]
        return {
            "session_id": _words([row.session_id for row in rows]),
            "driver": _words([row.driver for row in rows]),
            "track": _words([(await book.circuit(row)).name for row in rows]),
            "car": _words([row.car for row in rows]),
            "started_at": _words([_iso(row.started_at) for row in rows]),
            "laps": np.array([len(one.laps) if one else 0 for one in seen], dtype=np.int64),
            "best_lap_s": reals([one.best_s if one else None for one in seen]),
            "frames": np.array([row.n_frames for row in rows], dtype=np.int64),
        }


def _tell(table: Table) -> tuple[tuple[Row, ...], tuple[Fact, ...]]:
    rows = tuple(dict(zip(table.columns, row, strict=False)) for row in table.rows)
    if not rows or all(cell is None for row in rows for cell in row.values()):
        return rows, (Fact("query-empty"),)
    lines = [
        ", ".join(f"{name.replace('_', ' ')} {_write(cell)}" for name, cell in row.items())
        for row in rows[:SHOWN]
    ]
    text = "; ".join(lines)
    count = {"count": len(rows), "more": "yes" if table.cut else "no", "text": text}
    return rows, (Fact("query-found", count),)


def _write(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".")
    return "unknown" if cell is None else str(cell)


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _words(values: Sequence[str | None]) -> npt.NDArray[np.object_]:
    return np.array([one or "" for one in values], dtype=object)
