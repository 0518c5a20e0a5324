"""Show what an odometer that reads 0.4 % long does to a delta-time."""

from bisect import bisect_left

Lap = list[tuple[float, float]]  # distance m, time s
LENGTH_M = 4000.0
# Place in m, time of lap A there in s, and what lap B has lost by then in s.
ROWS = [
    (0, 0.0, 0.0),
    (900, 19.8, 0.0),
    (1500, 36.1, 0.3),
    (2600, 60.3, 0.3),
    (3400, 82.9, 0.3),
    (4000, 98.0, 0.3),
]
LAP_A: Lap = [(place_m, t_s) for place_m, t_s, _ in ROWS]
LAP_B: Lap = [(place_m * 1.004, t_s + lost_s) for place_m, t_s, lost_s in ROWS]


def time_at(lap: Lap, place_m: float) -> float:
    """Return the time at a distance, linear between two known places."""
    i = max(1, bisect_left(lap, place_m, key=lambda row: row[0]))
    (d0, t0), (d1, t1) = lap[i - 1], lap[i]
    return t0 + (place_m - d0) / (d1 - d0) * (t1 - t0)


def scaled(lap: Lap) -> Lap:
    """Stretch the distances so that the lap is exactly as long as the reference."""
    factor = LENGTH_M / lap[-1][0]
    return [(place_m * factor, t_s) for place_m, t_s in lap]


print("place_m  raw_delta_s  scaled_delta_s")
for place_m in (500, 900, 1500, 2600, 3400, 4000):
    a_s = time_at(LAP_A, place_m)
    raw_s = time_at(LAP_B, place_m) - a_s
    fair_s = time_at(scaled(LAP_B), place_m) - a_s
    print(f"{place_m:7d}  {raw_s:+11.3f}  {fair_s:+14.3f}")
