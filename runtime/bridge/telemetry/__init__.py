"""Telemetry as columns of numbers: the wide frames, the tall signals, and pure functions on them."""
