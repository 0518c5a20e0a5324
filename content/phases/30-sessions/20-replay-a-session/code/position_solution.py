"""Solution: search the due times instead of guessing from the rate."""

from bisect import bisect_right
from itertools import accumulate, pairwise

SPEED = 2.0
GAP_CAP_S = 5.0
RECORDED_S = [i / 10 for i in range(601)] + [360 + i / 10 for i in range(1, 601)]

STEPS_S = [min(b - a, GAP_CAP_S) / SPEED for a, b in pairwise(RECORDED_S)]
DUE_S = list(accumulate(STEPS_S, initial=0.0))


def frame_at(wall_s: float) -> int:
    """Return the index of the last frame that was due, or -1 before the first."""
    return bisect_right(DUE_S, wall_s) - 1


print("wall_s  frame  recorded_s  remaining_s")
for wall_s in (10.01, 31.01, 45.01, 62.01):
    frame = frame_at(wall_s)
    remaining_s = max(DUE_S[-1] - wall_s, 0.0)
    print(f"{wall_s:6.2f}  {frame:5d}  {RECORDED_S[frame]:10.1f}  {remaining_s:11.2f}")
