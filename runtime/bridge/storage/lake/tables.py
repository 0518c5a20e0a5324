"""A session as parquet files: telemetry with its laps, signals, laps, and a summary."""

import asyncio
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.analysis.drive import keep_aligned_track, place_laps
from runtime.bridge.analysis.summary import Summary, summarise
from runtime.bridge.session.laps import Laps
from runtime.bridge.session.progress import unwrap_lap
from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Numbers, Samples
from runtime.bridge.storage.lake.layout import CUT, LAYOUT, STAMP, TABLES
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import SessionRow, SignalRow
from runtime.bridge.storage.store import Store
from runtime.bridge.track.identity import Identity

GROUP_ROWS: Final = 50_000
SECTORS: Final = 3

_TIME: Final = pa.timestamp("ms", tz="UTC")
_LAPS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("session_id", "driver", "track")),
        ("lap", pa.int32()),
        ("kind", pa.string()),
        ("valid", pa.bool_()),
        ("best", pa.bool_()),
        ("outlier", pa.bool_()),
        ("method", pa.string()),
        ("t_start", pa.float64()),
        ("t_end", pa.float64()),
        ("lap_time_s", pa.float64()),
        ("distance_m", pa.float64()),
        *((f"sector_{n}_s", pa.float64()) for n in range(1, SECTORS + 1)),
        ("avg_speed_kmh", pa.float64()),
        ("max_combo_g", pa.float64()),
        ("coast_pct", pa.float64()),
    ]
)
_SESSION: Final = pa.schema(
    [
        ("session_id", pa.string()),
        *((name, pa.string()) for name in ("driver", "driver_level", "car", "track", "track_id")),
        *((name, pa.string()) for name in ("note", "source")),
        ("started_at", _TIME),
        ("ended_at", _TIME),
        ("t_start", pa.float64()),
        ("t_end", pa.float64()),
        ("distance_m", pa.float64()),
        ("frames", pa.int64()),
        ("laps", pa.int32()),
        ("best_lap_s", pa.float64()),
        ("lap_length_m", pa.float64()),
    ]
)
_SIGNALS: Final = pa.schema(
    [
        ("session_id", pa.string()),
        ("signal_name", pa.string()),
        ("t", pa.float64()),
        ("value", pa.float64()),
        ("units", pa.string()),
    ]
)


class LakeSession(NamedTuple):
    """The source of a session's files."""

    row: SessionRow
    laps: Laps
    where: Identity
    signals: Mapping[str, Samples]
    """Signals other than the columns of a frame."""
    registry: Mapping[str, SignalRow]
    stamp: str


async def pack_session(store: Store, book: LapBook, row: SessionRow, stamp: str) -> bytes:
    """Pack the files of a session with frames into a zip archive."""
    laps, where = await book.load_laps(row)
    registry = {signal.name: signal for signal in store.registry()}
    names = [name for name in await store.signal_names(row.session_id) if name not in WIDE]
    signals = await store.read_signals(row.session_id, names) if names else {}
    return await asyncio.to_thread(pack, LakeSession(row, laps, where, signals, registry, stamp))


def pack(session: LakeSession) -> bytes:
    """Pack each table as ``NAME.parquet``, in the order of `TABLES`, without compression."""
    summary = summarise(session.laps, session.where.track)
    tables = {
        "telemetry": _make_telemetry(session),
        "signals": _make_signals(session),
        "laps": _make_laps(session, summary),
        "session": _make_session(session, summary),
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as files:
        for name in TABLES:
            files.writestr(zipfile.ZipInfo(f"{name}.parquet"), _encode(session, tables[name]))
    return archive.getvalue()


def find_lap_places(session: LakeSession) -> tuple[Numbers, Numbers]:
    """Find each frame's complete lap, and its position in it, metres from the line.

    NaN outside complete laps, and for frames without a usable time.
    """
    series = session.laps.series
    count = len(series.frames)
    number, place = np.full(count, np.nan), np.full(count, np.nan)
    every = series.every
    progress, _ = place_laps(session.laps, keep_aligned_track(session.laps, session.where.track))
    for lap in session.laps.complete:
        inside = (every.t >= lap.t_start) & (every.t < lap.t_end)
        number[every.place[inside]] = lap.number
        if progress is None:
            continue
        reached = np.maximum.accumulate(unwrap_lap(progress, lap))
        valid = ~np.isnan(reached)
        if valid.any():
            p = np.interp(every.t[inside], series.t[lap.frames][valid], reached[valid])
            place[every.place[inside]] = np.clip(p, 0.0, progress.length_m)
    return number, place


def _make_telemetry(session: LakeSession) -> pa.Table:
    """Make the table of the recorded frames, with their lap and position in it."""
    columns = session.laps.series.frames.columns
    number, place = find_lap_places(session)
    arrays = {
        "session_id": pa.repeat(session.row.session_id, len(number)),
        "frame_idx": pa.array(np.arange(len(number))),
        **{name: _make_nullable(columns[name]) for name in WIDE},
        "lap": _make_nullable(number).cast(pa.int32()),
        "lap_distance_m": _make_nullable(place),
    }
    metadata = {
        TIMESTAMP: {"units": "s", "semantics": "the session's own clock"},
        **{name: _describe_column(session.registry.get(name)) for name in WIDE_SIGNALS},
        "lap": {"semantics": "number of the complete lap"},
        "lap_distance_m": {"units": "m", "semantics": "from the line, along the lap"},
    }
    fields = [
        pa.field(name, array.type, metadata=metadata.get(name) or None)
        for name, array in arrays.items()
    ]
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def _make_signals(session: LakeSession) -> pa.Table:
    parts = []
    for name, samples in sorted(session.signals.items()):
        signal, count = session.registry.get(name), len(samples.t)
        units = pa.scalar(signal.units if signal else None, pa.string())
        columns = [
            pa.repeat(session.row.session_id, count),
            pa.repeat(name, count),
            pa.array(samples.t),
            pa.array(samples.value),
            pa.repeat(units, count),
        ]
        parts.append(pa.Table.from_arrays(columns, schema=_SIGNALS))
    return pa.concat_tables(parts) if parts else _SIGNALS.empty_table()


def _make_laps(session: LakeSession, summary: Summary) -> pa.Table:
    """Make the table of all segments in time order; null where only complete laps have values."""
    counted = {lap.t_start: lap for lap in summary.laps}
    rows = []
    for segment in summary.segments:
        row = {
            "session_id": session.row.session_id,
            "driver": session.row.driver,
            "track": _name_place(session.where) or None,
            "lap": segment.number if segment.kind == "lap" else None,
            "lap_time_s": segment.duration_s,
            **{name: getattr(segment, name) for name in _LAPS.names if hasattr(segment, name)},
        }
        if lap := counted.get(segment.t_start):
            sectors: Sequence[float | None] = lap.sectors or (None,) * SECTORS
            row |= {f"sector_{n}_s": time for n, time in enumerate(sectors, 1)}
            row |= {
                "avg_speed_kmh": lap.avg_speed_kmh,
                "max_combo_g": lap.max_combo_g,
                "coast_pct": lap.coast_pct,
            }
        rows.append(row)
    laps = session.laps
    cut = {"gate": laps.gate, "splits": laps.splits, "start": laps.start, "length_m": laps.length_m}
    return pa.Table.from_pylist(rows, _LAPS.with_metadata({CUT: json.dumps(cut)}))


def _make_session(session: LakeSession, summary: Summary) -> pa.Table:
    row = session.row
    details = {name: getattr(row, name) for name in _SESSION.names if hasattr(row, name)}
    return pa.Table.from_pylist(
        [
            {
                **details,
                "track": _name_place(session.where) or None,
                "track_id": session.where.track.id if session.where.track else None,
                "distance_m": summary.full.distance_m,
                "frames": row.n_frames,
                "laps": len(summary.laps),
                "best_lap_s": summary.best_s,
                "lap_length_m": summary.length_m,
            }
        ],
        schema=_SESSION,
    )


def _encode(session: LakeSession, table: pa.Table) -> bytes:
    """Write the file, with the session's details as metadata."""
    row = session.row
    facts = {
        **(table.schema.metadata or {}),
        "session": row.session_id,
        "driver": row.driver or "",
        "car": row.car or "",
        "track": _name_place(session.where),
        "layout": str(LAYOUT),
        STAMP: session.stamp,
    }
    sink = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(facts),
        sink,
        compression="zstd",
        row_group_size=GROUP_ROWS,
        write_page_checksum=True,
    )
    return sink.getvalue()


def _name_place(where: Identity) -> str:
    """Return the circuit's own name if it is known, which is equal for all its sessions."""
    return where.track.name if where.track else where.name


def _describe_column(signal: SignalRow | None) -> dict[str, str]:
    """Describe the units and the sign of a column."""
    if signal is None:
        return {}
    facts = {"units": signal.units, "semantics": signal.semantics}
    return {name: text for name, text in facts.items() if text}


def _make_nullable(values: Numbers) -> pa.Array:
    return pa.array(values, from_pandas=True)
