"""Solution: rank the stretches by how much the delta grew, and join cause and cost."""

from itertools import pairwise

DELTA_S = {
    "T1 braking": -0.06,
    "T1 corner": 0.05,
    "straight to T2": 0.24,
    "T2 braking": 0.22,
    "T2 corner": 0.19,
    "straight to T3": 0.12,
    "T3 braking": 0.21,
    "T3 corner": 0.33,
    "straight to line": 0.41,
}

ends_s = [0.0, *DELTA_S.values()]
growth_s = [after_s - before_s for before_s, after_s in pairwise(ends_s)]
by_stretch = dict(zip(DELTA_S, growth_s, strict=True))
print("stretch            growth_s")
for name in sorted(by_stretch, key=lambda stretch: -by_stretch[stretch]):
    print(f"{name:17}  {by_stretch[name]:+8.2f}")

print("braking + corner + straight after it")
for corner in range(3):
    brake_s, corner_s, straight_s = growth_s[3 * corner : 3 * corner + 3]
    total_s = brake_s + corner_s + straight_s
    print(f"T{corner + 1}: {brake_s:+.2f} {corner_s:+.2f} {straight_s:+.2f}", end="")
    print(f" = {total_s:+.2f} s")
