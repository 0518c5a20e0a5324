"""The tables for both engines, and the migration from each version to the next."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.session.recording import WIDE
from runtime.bridge.storage.backend import Connection, Row
from runtime.bridge.storage.errors import SchemaTooNew, StoreUnusable
from runtime.bridge.storage.records import unix_ms


class Table(NamedTuple):
    """A table: columns as ``name kind``; the key is for engines with primary keys."""

    name: str
    columns: str
    key: str = ""
    indexes: tuple[str, ...] = ()


_REALS: Final = ", ".join(f"{name} real" for name in WIDE)

VERSION_1: Final = (
    Table(
        "sessions",
        "session_key int, session_id text, driver text, driver_level text, track text, car text,"
        " note text, source text, meta text, started_at int, ended_at int, activation int,"
        " n_frames int, n_signals int, t_start real, t_end real, last_t real, last_speed_ms real,"
        " last_distance_m real, version int, dirty int",
        "session_key",
    ),
    Table("staged", "session_key int", "session_key"),
    Table("telemetry", f"session_key int, frame_idx int, {_REALS}", "session_key, frame_idx"),
    Table(
        "telemetry_signals",
        "session_key int, signal_id int, t real, value real",
        "session_key, signal_id, t",
    ),
    Table(
        "session_capabilities",
        "session_key int, signal_id int, n_samples int, t_start real, t_end real",
        "session_key, signal_id",
    ),
    Table(
        "video_frames",
        "session_key int, timestamp real, avitime_ms int, file_path text, file_offset_s real,"
        " width int, height int",
        "session_key, file_path, timestamp",
    ),
    Table(
        "signal_registry",
        'signal_id int, name text, units text, semantics text, "group" text, expected_hz real,'
        " min_useful_hz real, discovery text, obd2_pid text, discovered_at int",
        "signal_id",
    ),
    Table(
        "laps",
        "id int, session_id text, lap_number int, lap_time_s real, best_sector real,"
        " avg_speed_kmh real, max_combo_g real, coast_pct real, recorded_at int",
        "id",
        ("session_id, lap_number", "recorded_at"),
    ),
    Table("session_laps_cache", "session_id text, version int, json text", "session_id"),
    Table(
        "coaching_notes",
        "id int, session_id text, burst_id int, distance_m real, text text, source text,"
        " emotion text, concept text, recorded_at int",
        "id",
        ("session_id, id",),
    ),
    Table(
        "llm_friction",
        "id int, session_id text, role text, mode text, backend text, prompt_chars int,"
        " completion_chars int, latency_ms real, truncated int, fell_back int, reason text,"
        " error text, emotion text, ts int",
        "id",
        ("session_id, ts", "ts"),
    ),
    Table(
        "conversations",
        "id int, session_id text, driver_id text, role text, text text, focus_items text,"
        " emotion text, recorded_at int",
        "id",
        ("session_id, recorded_at", "driver_id, recorded_at"),
    ),
    Table(
        "agent_traces",
        "id int, trace_id text, session_id text, agent_name text, event_type text, detail text,"
        " latency_ms real, success int, ts int",
        "id",
        ("trace_id, ts", "agent_name, ts", "session_id, ts"),
    ),
    Table(
        "driver_events",
        "id int, driver_id text, session_id text, corner text, event_kind text, value_num real,"
        " value_str text, recorded_at int",
        "id",
        ("driver_id, id",),
    ),
    Table(
        "spectator_tokens",
        "token_hash text, session_id text, created_at int, expires_at int, revoked_at int",
        "token_hash",
    ),
    Table(
        "notifications",
        "id int, driver text, kind text, payload text, created_at int, delivered_at int",
        "id",
    ),
)
"""``ts`` of agent_traces is in microseconds, every other time of day in milliseconds."""
BLOCKS: Final = (
    Table(
        "telemetry_blocks",
        "session_key int, first_idx int, n int, t_min real, t_max real, data blob",
        "session_key, first_idx",
    ),
    Table(
        "signal_blocks",
        "id int, session_key int, signal_id int, n int, t_min real, t_max real, data blob",
        "id",
        ("session_key, signal_id, t_min",),
    ),
)
"""Only for the lightweight engine; see `sqlite`."""


class Dialect(NamedTuple):
    """The SQL dialect of an engine."""

    kinds: Mapping[str, str]
    keyed: bool
    """Whether tables have keys and indexes."""
    extra: tuple[Table, ...] = ()

    def write_statements(self, table: Table) -> list[str]:
        """Write the statements that create *table*."""
        columns = []
        for column in table.columns.split(", "):
            name, kind = column.split(" ")
            columns.append(f"{name} {self.kinds[kind]}")
        if not self.keyed:
            return [f"CREATE TABLE {table.name} ({', '.join(columns)})"]
        statements = [
            f"CREATE TABLE {table.name} ({', '.join(columns)}, PRIMARY KEY ({table.key}))"
            + ("" if table.key == "id" else " WITHOUT ROWID")
        ]
        for number, index in enumerate(table.indexes):
            statements.append(f"CREATE INDEX {table.name}_{number} ON {table.name} ({index})")
        return statements


Step = tuple[Table | str, ...]
"""A migration to the next version: tables to create, or statements for both engines."""

STEPS: tuple[Step, ...] = (VERSION_1,)
"""The first one creates version 1. Only append to these."""


def find_version(rows: Callable[[str], Sequence[Row]], tables: Sequence[str]) -> int:
    """Find the version of a database that has *tables*, 0 for a new one; *rows* runs a query.

    Raises `SchemaTooNew`, and `StoreUnusable` for a database of another program.
    """
    if not tables:
        return 0
    if "schema_version" not in tables:
        raise StoreUnusable(
            "the database was not made by this program; name another file with BRIDGE_DB"
        )
    version = int(rows("SELECT max(version) FROM schema_version")[0][0])
    if version > len(STEPS):
        raise SchemaTooNew(
            f"the database has schema version {version}, but this program only knows versions up to"
            f" {len(STEPS)}: use the newer program, or name another file with BRIDGE_DB"
        )
    return version


def migrate(connection: Connection, dialect: Dialect, tables: Sequence[str]) -> bool:
    """Bring a database that has *tables* to the latest version. Return whether it changed.

    Raises `SchemaTooNew`, and `StoreUnusable` for a database of another program, before any change.
    A crash leaves the old version or the new one.
    """
    version = find_version(connection.rows, tables)
    if version == len(STEPS):
        return False
    connection.begin(write=True)
    if not version:
        versions = Table("schema_version", "version int, made_at int, boots int", "version")
        _apply(connection, dialect, (versions, *dialect.extra))
    for step in STEPS[version:]:
        _apply(connection, dialect, step)
    boots = connection.rows("SELECT max(boots) FROM schema_version")[0][0] or 0
    connection.run(
        "INSERT INTO schema_version VALUES (?, ?, ?)",
        (len(STEPS), unix_ms(), boots),
    )
    connection.commit()
    return True


def _apply(connection: Connection, dialect: Dialect, step: Step) -> None:
    for part in step:
        for statement in [part] if isinstance(part, str) else dialect.write_statements(part):
            connection.run(statement)
