"""Read one lap as columns and print a short summary."""

from itertools import pairwise

STEP_S = 0.5  # two samples a second
KMH_PER_MS = 3.6


def column(text: str) -> list[float]:
    """Turn numbers separated by blanks into a list."""
    return [float(word) for word in text.split()]


speed_kmh = column(
    "129 133 137 141 145 149 139 123 106 90 75 64 59 59 59 59 59 59 59 59 59 63 "
    "69 76 83 90 97 104 110 116 121 126 130 135 139 143 146 140 124 107 91 79 76 "
    "75 75 75 75 75 75 75 75 75 75 75 75 76 81 88 95 102 108 114 119 124 129"
)
lateral_g = column(
    "0 0 0 0 0 0 0 0 0 0 .56 .77 .9 .9 .9 .9 .9 .9 .9 .9 .81 .61 .32 0 0 0 0 0 0 "
    "0 0 0 0 0 0 0 0 0 0 0 .45 .76 .9 .9 .9 .9 .9 .9 .9 .9 .9 .9 .9 .9 .9 .77 .47 "
    ".05 0 0 0 0 0 0 0"
)

distance_m = [0.0]
for before, now in pairwise(speed_kmh):
    mean_ms = (before + now) / 2 / KMH_PER_MS
    distance_m.append(distance_m[-1] + mean_ms * STEP_S)

print(f"samples  {len(speed_kmh)}")
print(f"lap time {(len(speed_kmh) - 1) * STEP_S:.1f} s")
print(f"distance {distance_m[-1]:.0f} m")
print()
print("   t_s  dist_m  speed_kmh  lateral_g")
for i in range(0, len(speed_kmh), 6):
    row = f"{i * STEP_S:6.1f}  {distance_m[i]:6.0f}  {speed_kmh[i]:9.0f}"
    print(f"{row}  {lateral_g[i]:9.2f}")
