"""Runs a query over the views of a session and tells what it found."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.agents.scratch import QueryFailed, Table, View, prepared
from runtime.bridge.coach.agents.sources import Sources
from runtime.bridge.coach.agents.sql import VIEWS, Refused
from runtime.bridge.coach.agents.values import Cell, Fact, Found, Question
from runtime.bridge.coach.agents.words import listed
from runtime.bridge.coach.warm.emotion import felt
from runtime.bridge.errors import NoGeometry
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.values import SessionRow

MOST_SESSIONS: Final = 200
SHOWN: Final = 12
"""Rows of a result that are told in words."""


async def query(sources: Sources, question: Question, given: Mapping[str, object]) -> Found:
    """What a query finds in the views of the question's session; a refused one says why."""
    statement = str(given.get("sql", question.sql or ""))
    try:
        safe, names = prepared(statement)
        needed = [name for name in names if name != "sessions"]
        row = sources.session(question.session_id)
        if needed and row is None:
            return Found("sql_query", "Choose a session: the query is about one.", empty=True)
        views: dict[str, View] = {}
        if needed and row is not None:
            views |= await _of_session(sources, row, needed)
        if "sessions" in names:
            views["sessions"] = await _sessions(sources)
        table = await sources.scratch.run(safe, views)
    except Refused as no:
        return Found("sql_query", f"The query was not run: {no}.", empty=True)
    except QueryFailed as no:
        return Found("sql_query", f"The query gave nothing: {no}.", empty=True)
    return _tabled(table, given)


async def _of_session(sources: Sources, row: SessionRow, names: Sequence[str]) -> dict[str, View]:
    """The views of a session; they are large, so that nobody remembers them."""
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    drive = await sources.analyses.drive(row, Scope(partial=True))
    try:
        return await asyncio.to_thread(_views, drive, tuple(names))
    except pure.NoGeometry as problem:
        raise NoGeometry(row.session_id) from problem


def _tabled(table: Table, given: Mapping[str, object]) -> Found:
    rows = tuple(dict(zip(table.columns, row, strict=False)) for row in table.rows)
    if not rows or all(cell is None for row in rows for cell in row.values()):
        return Found("sql_query", "Nothing of that was recorded.", rows=rows, empty=True)
    if "unit" in given:
        return _measured(rows, str(given["label"]), str(given["unit"]))
    told = [
        ", ".join(f"{_name(name)} {_said(cell)}" for name, cell in row.items())
        for row in rows[:SHOWN]
    ]
    if len(rows) == 1:
        return Found("sql_query", f"The query says: {told[0]}.", rows=rows)
    more = ", and there are more" if table.cut else ""
    first = f" The first {SHOWN} are told." if len(rows) > SHOWN else ""
    summary = f"The query found {len(rows)} rows{more}.{first}"
    details = tuple(f"{line[:1].upper()}{line[1:]}." for line in told)
    return Found("sql_query", summary, details, rows=rows)


def _measured(rows: Sequence[Mapping[str, Cell]], label: str, unit: str) -> Found:
    """A quantity of the session, or of some of its laps."""
    facts = []
    for row in rows:
        value = row["value"]
        if isinstance(value, float | int):
            name = f"lap {row['lap']}" if "lap" in row else label
            facts.append(Fact(name, float(value), unit, 2 if unit == "g" else 1))
    if len(rows) == 1:
        on = f" on lap {rows[0]['lap']}" if "lap" in rows[0] else ""
        return Found("sql_query", f"{label}{on} was {facts[0].text}.", (), tuple(facts))
    told = listed([f"{one.text} on {one.label}" for one in facts], SHOWN)
    return Found("sql_query", f"{label}: {told}.", (), tuple(facts))


def _said(cell: object) -> str:
    if isinstance(cell, str):
        return felt(cell).text or "empty"
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".")
    return "unknown" if cell is None else str(cell)


def _name(column: str) -> str:
    return felt(column).text.replace("_", " ") or "value"


def _views(drive: Drive, names: tuple[str, ...]) -> dict[str, View]:
    """The views of one session; every number as it is in analytics."""
    made = {"frames": _frames, "laps": _laps, "corners": _corners}
    return {name: made[name](drive) for name in names}


def _frames(drive: Drive) -> View:
    series = drive.series
    lap = np.where(drive.lap_of > 0, drive.lap_of, np.nan)
    columns = {
        "frame": np.asarray(series.index, dtype=np.int64),
        "lap": lap,
        "t_s": series.t - series.t[0],
        "lap_distance_m": drive.progress.p,
        "speed_kmh": series["speed_ms"] * KMH,
        "combo_g": series.combo_g,
    }
    same = ("brake_bar", "throttle_pct", "steering_deg", "g_lat", "g_long", "rpm")
    columns |= {name: series[name] for name in same}
    return {name: np.ascontiguousarray(columns[name]) for name in VIEWS["frames"]}


def _laps(drive: Drive) -> View:
    laps = summarise(drive.laps, drive.track).laps
    sectors = [[one.sectors[i] if i < len(one.sectors) else None for one in laps] for i in range(3)]
    return {
        "lap": np.array([one.number for one in laps], dtype=np.int64),
        "time_s": _reals([one.time_s for one in laps]),
        **{f"sector_{i + 1}_s": _reals(times) for i, times in enumerate(sectors)},
        "avg_speed_kmh": _reals([one.avg_speed_kmh for one in laps]),
        "max_combo_g": _reals([one.max_combo_g for one in laps]),
        "coast_pct": _reals([one.coast_pct for one in laps]),
        "best": np.array([one.best for one in laps], dtype=bool),
    }


def _corners(drive: Drive) -> View:
    passes = [one for found in passes_of(drive).values() for one in found]
    numbers: dict[str, list[float | None]] = {
        "time_s": [one.corner_time_s for one in passes],
        "entry_speed_kmh": [one.entry_speed_kmh for one in passes],
        "apex_speed_kmh": [one.apex_speed_kmh for one in passes],
        "exit_speed_kmh": [one.exit_speed_kmh for one in passes],
        "min_speed_kmh": [one.min_speed_kmh for one in passes],
        "peak_brake_bar": [one.peak_brake_bar for one in passes],
        "brake_point_m": [one.brake_point_m for one in passes],
        "max_g_lat": [one.max_g_lat for one in passes],
        "coast_s": [one.coast_seconds for one in passes],
        "nothing_time_s": [one.nothing_time_s for one in passes],
    }
    return {
        "corner": np.array([one.corner for one in passes], dtype=object),
        "lap": np.array([one.lap for one in passes], dtype=np.int64),
        **{name: _reals(values) for name, values in numbers.items()},
    }


async def _sessions(sources: Sources) -> View:
    """The newest sessions, with what their laps show."""
    rows = sources.store.sessions()[:MOST_SESSIONS]
    found = [(row, await sources.book.seen(row)) for row in rows]
    places = [(await sources.book.circuit(row)).name for row in rows]
    return {
        "session_id": _words([row.session_id for row, _ in found]),
        "driver": _words([row.driver for row, _ in found]),
        "track": _words(places),
        "car": _words([row.car for row, _ in found]),
        "started_at": _words([_iso(row.started_at) for row, _ in found]),
        "laps": np.array([len(one.laps) if one else 0 for _, one in found], dtype=np.int64),
        "best_lap_s": _reals([one.best_s if one else None for _, one in found]),
        "frames": np.array([row.n_frames for row, _ in found], dtype=np.int64),
    }


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _reals(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)


def _words(values: Sequence[str | None]) -> npt.NDArray[np.object_]:
    return np.array([one or "" for one in values], dtype=object)
