"""The engines: one process per model file, so that a native crash ends only that process."""
