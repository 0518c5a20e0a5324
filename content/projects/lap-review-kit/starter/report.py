"""Writes the review of a session as Markdown."""

from laps import Lap
from session_file import Session


def lap_clock(seconds: float) -> str:
    """A time as minutes:seconds with three decimals, for example 1:05.250."""
    raise NotImplementedError("stage 4")


def report(session: Session, laps: list[Lap], table: list[list[float]]) -> str:
    """Rows used and dropped, a table of laps and sectors, the ideal lap with the
    laps its sectors come from, and the sector with the largest repeatable loss.
    Without a lap it says "No complete lap"."""
    raise NotImplementedError("stage 4")
