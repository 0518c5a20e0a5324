"""Times a streamed reply and sums up many of them."""

import json
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
    begin_s = clock()
    parts: list[str] = []
    times: list[float] = []
    finished = done = False
    for raw in lines:
        line = raw.decode("utf-8").strip()
        if not line.startswith("data:"):
            continue
        if line == "data: [DONE]":
            done = True
            break
        record = json.loads(line[5:])
        if "error" in record:
            raise ValueError(f"the server ended with {record['error'].get('type')}")
        choice = (record.get("choices") or [{}])[0]
        if choice.get("finish_reason") == "stop":
            finished = not choice.get("truncated", False)
        if content := choice.get("delta", {}).get("content"):
            times.append(clock())
            parts.append(content)
    if not (finished and done and times):
        raise ValueError("the reply was cut off")
    span_s = times[-1] - times[0]
    rate = (len(times) - 1) / span_s if span_s > 0 else None
    return Reply("".join(parts), len(parts), times[0] - begin_s, rate)


def percentile(values: list[float], percent: int) -> float:
    """Smallest value that at least this share of all values does not exceed."""
    if not values:
        raise ValueError("no values")
    rank = -(-percent * len(values) // 100)  # division that rounds up
    return sorted(values)[max(rank, 1) - 1]
