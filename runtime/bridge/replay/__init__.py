"""Replay: a recorded session goes out once more as a live stream."""
