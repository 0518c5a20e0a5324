"""The engines: one process a model file, so a native crash ends that process only."""
