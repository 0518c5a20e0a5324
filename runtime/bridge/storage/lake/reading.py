"""Reads a session of a lake back into the laps that the analytics work on."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.session.laps import Laps, Segment, restore_laps
from runtime.bridge.session.recording import WIDE, Frames, Gate, Samples
from runtime.bridge.session.series import SIGNALS, build_series
from runtime.bridge.storage.lake.layout import CUT, LAYOUT
from runtime.bridge.track.model import Track

STALE: Final = "another version of this program wrote it; export it again"


class Damaged(Exception):
    """The files of a session cannot be used; the text says why."""


class About(NamedTuple):
    """The summary of a session."""

    session_id: str
    driver: str | None
    car: str | None
    track: str | None
    track_id: str | None
    started_at: int
    """Unix milliseconds."""
    frames: int


def read_about(session: bytes) -> About:
    """Read the summary from the file `session`. Raises `Damaged`."""
    table = _read_table("session", session)
    if (table.schema.metadata or {}).get(b"layout") != str(LAYOUT).encode():
        raise Damaged(STALE)
    rows = table.to_pylist()
    if len(rows) != 1:
        raise Damaged("session.parquet does not contain exactly one session")
    try:
        facts = {name: rows[0][name] for name in About._fields if name != "started_at"}
        started_at = table["started_at"].cast(pa.int64())[0].as_py()
    except (KeyError, pa.ArrowException) as problem:
        raise Damaged(f"session.parquet lacks a column: {problem}") from problem
    if started_at is None:
        raise Damaged("session.parquet lacks the start of the session")
    return About(**facts, started_at=started_at)


def read_laps(files: Mapping[str, bytes], track: Track | None) -> tuple[Laps, tuple[str, ...]]:
    """Read the laps with their frames, and the names of all recorded channels.

    *track* is the circuit of the session, if it has one. Raises `Damaged`.
    """
    telemetry = _read_table("telemetry", files["telemetry"])
    signals, laps = _read_table("signals", files["signals"]), _read_table("laps", files["laps"])
    try:
        frames = Frames({name: telemetry[name].to_numpy() for name in WIDE})
        extras = {name: _select_samples(signals, name) for name in SIGNALS}
        cut = json.loads(laps.schema.metadata[CUT])
        segments = [_make_segment(row) for row in laps.to_pylist()]
    except (KeyError, TypeError, ValueError) as problem:
        raise Damaged(f"a column is missing or invalid: {problem}") from problem
    recorded = [name for name in WIDE if telemetry[name].null_count < len(telemetry)]
    names = pc.unique(signals["signal_name"]).to_pylist()
    restored = restore_laps(
        build_series(frames, extras),
        segments,
        gate=Gate(*cut["gate"]) if cut["gate"] else None,
        splits=tuple(Gate(*gate) for gate in cut["splits"]),
        length_m=cut["length_m"],
        start=cut["start"],
        track_length_m=track.length_m if track is not None else None,
    )
    return restored, (*recorded, *sorted(names))


def _select_samples(signals: pa.Table, name: str) -> Samples:
    rows = signals.filter(pc.equal(signals["signal_name"], name))
    return Samples(rows["t"].to_numpy(), rows["value"].to_numpy())


def _make_segment(row: Mapping[str, object]) -> Segment:
    """Convert a row to a segment, whose frames are found later."""
    facts = {name: row[name] for name in Segment._fields if name in row}
    return Segment(**facts, number=row["lap"], first=0, last=0)  # type: ignore[arg-type]


def _read_table(name: str, data: bytes) -> pa.Table:
    try:
        return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read()
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise Damaged(f"{name}.parquet is damaged: {str(problem).splitlines()[0]}") from problem
