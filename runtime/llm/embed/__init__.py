"""Sentence encoders: texts in, unit vectors out, in a process beside the server."""
