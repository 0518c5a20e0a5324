"""Solution: nominal rate, jitter, repeated stamps and gaps of one channel."""

from itertools import pairwise
from statistics import median, pstdev

SPEED_MS = 108 / 3.6
STAMPS_S = (
    "0.00 0.10 0.21 0.30 0.40 0.40 0.50 0.61 0.70 0.80 0.90 1.00 1.10 1.19 1.30 "
    "2.50 2.60 2.70 2.81 2.90 3.00 3.10 3.20 3.29 3.40 3.50 3.60 3.70 3.81 3.90"
)
times_s = [float(word) for word in STAMPS_S.split()]

steps = list(pairwise(times_s))
forward_s = [after - before for before, after in steps if after > before]
nominal_s = median(forward_s)
gap_limit_s = max(0.5, 5 * nominal_s)
regular_s = [step for step in forward_s if step <= gap_limit_s]
repeated = sum(after <= before for before, after in steps)

print(f"nominal rate  {1 / nominal_s:.1f} Hz")
print(f"jitter        {pstdev(regular_s) * 1000:.1f} ms")
print(f"repeated      {repeated}")
for before, after in steps:
    if after - before > gap_limit_s:
        lost_m = (after - before) * SPEED_MS
        print(
            f"gap           {before:.2f} s to {after:.2f} s, {lost_m:.0f} m at 108 km/h"
        )
covered_s = sum(regular_s)
print(f"covered       {covered_s / (times_s[-1] - times_s[0]):.0%} of the time")
