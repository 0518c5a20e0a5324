"""The four cells of the detailed status: release stage times preference."""

from collections.abc import Mapping
from typing import Literal

from runtime.llm.sysmodel.base import Availability, ProbeError, Status

Cell = Literal["stable/fast", "stable/full", "preview/fast", "preview/full"]
CELLS: tuple[Cell, ...] = ("stable/fast", "stable/full", "preview/fast", "preview/full")
MAIN: Cell = "stable/fast"
"""The cell of a provider's only model."""


def every_cell(
    known: Mapping[Cell, Availability | ProbeError], rest: Availability | None = None
) -> dict[str, Availability | ProbeError]:
    """*known* filled up to four cells; one without a model is unavailable."""
    empty = rest or Availability(Status.UNAVAILABLE, "not_configured")
    return {cell: known.get(cell, empty) for cell in CELLS}
