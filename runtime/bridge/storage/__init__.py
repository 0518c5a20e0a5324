"""Sessions, telemetry and all that belongs to them, in DuckDB or in SQLite: one interface."""
