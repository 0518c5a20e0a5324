"""Telemetry as columns of numbers: wide frames, tall signals, and pure functions on them."""
