"""Nineteen seconds of cue proposals, spoken as they come."""

from math import inf
from typing import NamedTuple


class Cue(NamedTuple):
    """A proposal; act_by_s is when the foot must move, inf for feedback."""

    born_s: float
    priority: int
    act_by_s: float
    text: str


def speech_s(text: str) -> float:
    """Time the voice needs for a text."""
    return WORD_S * len(text.split())


# time in s, size of the lateral acceleration in g, proposal or None
LOG: list[tuple[float, float, Cue | None]] = [
    (0.0, 0.05, Cue(0.0, 1, 4.5, "brake at the hundred")),
    (1.5, 0.10, Cue(1.5, 1, 4.5, "look for the exit")),
    (3.0, 0.15, None),
    (6.0, 0.85, Cue(6.0, 2, inf, "release the brake slower")),
    (7.0, 0.90, None),
    (8.5, 0.20, None),
    (9.0, 0.95, Cue(9.0, 3, inf, "grip limit")),
    (10.5, 0.10, Cue(10.5, 1, 16.0, "late apex")),
    (12.0, 0.05, None),
    (13.0, 0.70, Cue(13.0, 2, inf, "more brake at turn in")),
    (18.5, 0.10, None),
]

busy_until_s = 0.0
for t_s, g_lat, cue in LOG:
    if cue:
        faults = ["in a corner"] if g_lat >= 0.3 and cue.priority < 3 else []
        faults += ["over another cue"] if t_s < busy_until_s else []
        busy_until_s = max(busy_until_s, t_s + CHAIN_S + speech_s(cue.text))
        print(f"{t_s:5.1f}  {cue.text:24}  {', '.join(faults) or 'fine'}")
