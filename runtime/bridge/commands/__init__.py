"""The commands behind `python -m runtime.bridge`: import, export, season, track, mcp, reference."""
