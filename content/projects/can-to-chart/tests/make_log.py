"""Writes a sample CAN log of 20 s whose true values are known from tables.

Speed comes 50 times a second, brake pressure 100 times and the gear 10 times.
The brake message is missing from 12.0 to 13.5 s.
"""

import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

BEGIN_S = 1_763_600_000
SPEED_KMH = [(0, 150), (4, 190), (6.5, 100), (8, 100), (14, 170), (16, 100), (20, 140)]
BRAKE_BAR = [
    *[(0, -0.2), (4, -0.2), (4.3, 60), (5.5, 40), (6.5, 0), (7, -0.2)],
    *[(14, -0.2), (14.2, 45), (15.5, 20), (16, -0.2), (20, -0.2)],
]
GEAR = [(0, 4), (2, 5), (5, 4), (6, 3), (10, 4), (13, 5), (15, 4)]


def at(t_s: float, table: Sequence[tuple[float, float]]) -> float:
    """Value on the straight line between two entries of a table."""
    for (t_1, v_1), (t_2, v_2) in pairwise(table):
        if t_1 <= t_s <= t_2:
            return v_1 + (v_2 - v_1) * (t_s - t_1) / (t_2 - t_1)
    return table[-1][1]


def gear(t_s: float) -> int:
    """Gear that was engaged last."""
    return [number for begin_s, number in GEAR if begin_s <= t_s][-1]


def frames_at(ms: int) -> list[str]:
    """Frames that are sent in one millisecond, as identifier and bytes."""
    t_s = ms / 1000
    sent: list[str] = []
    if ms % 20 == 0:
        raw = round(at(t_s, SPEED_KMH) / 0.01)
        sent.append("120#0000" + raw.to_bytes(2, "little").hex().upper() + "00")
    if ms % 10 == 0 and not 12_000 <= ms < 13_500:
        raw = round(at(t_s, BRAKE_BAR) / 0.1)
        sent.append("1B0#" + raw.to_bytes(2, "big", signed=True).hex().upper())
    if ms % 100 == 0:
        sent.append(f"2C0#00{gear(t_s) << 4:02X}")
    return sent


@cache
def log_text() -> str:
    """The whole log in the line format that candump writes."""
    lines = [
        f"({BEGIN_S + ms // 1000}.{ms % 1000:03d}000) can0 {frame}"
        for ms in range(20_001)
        for frame in frames_at(ms)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(log_text(), encoding="ascii")
