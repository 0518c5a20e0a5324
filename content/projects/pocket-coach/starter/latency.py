"""Times a streamed reply and sums up many of them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Reply(NamedTuple):
    """A finished reply; the rate is None when there are fewer than two tokens."""

    text: str
    tokens: int
    first_token_s: float
    tokens_per_s: float | None


def time_stream(lines: Iterable[bytes], clock: Callable[[], float]) -> Reply:
    """Read a stream to its end; raises ValueError when it did not end well.

    Well means: a finish reason "stop" without the mark "truncated", then [DONE].
    Every data line is one event, as our model server sends it, and every frame
    with content counts as one token. Time runs from the call of this function.
    """
    raise NotImplementedError("stage 4")


def percentile(values: list[float], percent: int) -> float:
    """Smallest value that at least this share of all values does not exceed."""
    raise NotImplementedError("stage 4")
