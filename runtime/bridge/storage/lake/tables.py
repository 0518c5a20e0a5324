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
    """What the files of a session are made of."""

    row: SessionRow
    laps: Laps
    where: Identity
    signals: Mapping[str, Samples]
    """Those that are no columns of a frame."""
    registry: Mapping[str, SignalRow]
    stamp: str


async def packed(store: Store, book: LapBook, row: SessionRow, stamp: str) -> bytes:
    """The files of a session that has frames, in one zip archive."""
    laps, where = await book.found(row)
    registry = {signal.name: signal for signal in store.registry()}
    names = [name for name in await store.signal_names(row.session_id) if name not in WIDE]
    signals = await store.read_signals(row.session_id, names) if names else {}
    return await asyncio.to_thread(pack, LakeSession(row, laps, where, signals, registry, stamp))


def pack(session: LakeSession) -> bytes:
    """Each table as ``NAME.parquet``, in the order of `TABLES`; parquet is compressed already."""
    summary = summarise(session.laps, session.where.track)
    tables = {
        "telemetry": _telemetry(session),
        "signals": _signals(session),
        "laps": _laps(session, summary),
        "session": _session(session, summary),
    }
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as files:
        for name in TABLES:
            files.writestr(zipfile.ZipInfo(f"{name}.parquet"), _parquet(session, tables[name]))
    return archive.getvalue()


def lap_places(session: LakeSession) -> tuple[Numbers, Numbers]:
    """Number of the complete lap of each recorded frame, and its place in it, metres from the line.

    NaN outside complete laps, and for frames whose time cannot be used.
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
        known = ~np.isnan(reached)
        if known.any():
            p = np.interp(every.t[inside], series.t[lap.frames][known], reached[known])
            place[every.place[inside]] = np.clip(p, 0.0, progress.length_m)
    return number, place


def _telemetry(session: LakeSession) -> pa.Table:
    """The frames as they were recorded, with lap and place in it."""
    columns = session.laps.series.frames.columns
    number, place = lap_places(session)
    arrays = {
        "session_id": pa.repeat(session.row.session_id, len(number)),
        "frame_idx": pa.array(np.arange(len(number))),
        **{name: _nullable(columns[name]) for name in WIDE},
        "lap": _nullable(number).cast(pa.int32()),
        "lap_distance_m": _nullable(place),
    }
    told = {
        TIMESTAMP: {"units": "s", "semantics": "the session's own clock"},
        **{name: _meaning(session.registry.get(name)) for name in WIDE_SIGNALS},
        "lap": {"semantics": "number of the complete lap"},
        "lap_distance_m": {"units": "m", "semantics": "from the line, along the lap"},
    }
    fields = [
        pa.field(name, array.type, metadata=told.get(name) or None)
        for name, array in arrays.items()
    ]
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def _signals(session: LakeSession) -> pa.Table:
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


def _laps(session: LakeSession, summary: Summary) -> pa.Table:
    """All stretches of the session in time order; what is known of complete laps only is null."""
    counted = {lap.t_start: lap for lap in summary.laps}
    rows = []
    for stretch in summary.segments:
        row = {
            "session_id": session.row.session_id,
            "driver": session.row.driver,
            "track": _place(session.where) or None,
            "lap": stretch.number if stretch.kind == "lap" else None,
            "lap_time_s": stretch.duration_s,
            **{name: getattr(stretch, name) for name in _LAPS.names if hasattr(stretch, name)},
        }
        if lap := counted.get(stretch.t_start):
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


def _session(session: LakeSession, summary: Summary) -> pa.Table:
    row = session.row
    known = {name: getattr(row, name) for name in _SESSION.names if hasattr(row, name)}
    return pa.Table.from_pylist(
        [
            {
                **known,
                "track": _place(session.where) or None,
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


def _parquet(session: LakeSession, table: pa.Table) -> bytes:
    """The file; its metadata say whose session it is."""
    row = session.row
    facts = {
        **(table.schema.metadata or {}),
        "session": row.session_id,
        "driver": row.driver or "",
        "car": row.car or "",
        "track": _place(session.where),
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


def _place(where: Identity) -> str:
    """The circuit's own name where it is known, which is the same for all sessions on it."""
    return where.track.name if where.track else where.name


def _meaning(signal: SignalRow | None) -> dict[str, str]:
    """Units, and what a sign means, of a column."""
    if signal is None:
        return {}
    told = {"units": signal.units, "semantics": signal.semantics}
    return {name: text for name, text in told.items() if text}


def _nullable(values: Numbers) -> pa.Array:
    return pa.array(values, from_pandas=True)
