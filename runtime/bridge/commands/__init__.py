"""The commands behind `python -m runtime.bridge`: import, track, reference."""
