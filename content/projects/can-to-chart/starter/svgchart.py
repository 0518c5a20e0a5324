"""Draws signals over one time axis as an SVG file."""

from typing import NamedTuple


class Panel(NamedTuple):
    """One signal on the common axis; None where there is no value."""

    name: str
    unit: str
    values: list[float | None]


def chart(title: str, times_s: list[float], panels: list[Panel]) -> str:
    """The whole drawing; equal input gives equal text.

    A title element, and for each panel the text "name (unit)" and one polyline
    for each unbroken run of values, its points written as x,y pairs.
    """
    raise NotImplementedError("stage 3")
