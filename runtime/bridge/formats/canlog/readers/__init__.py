"""Readers of CAN logs, one a format; each gives the frames in blocks and counts what is none."""
