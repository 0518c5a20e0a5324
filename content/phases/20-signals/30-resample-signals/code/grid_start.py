"""Starter: three channels with their own clocks, and a lookup that holds."""

from bisect import bisect_right

# Each channel: times in s and values. Gear is sent only when it changes.
SPEED_KMH = ([0.0, 0.1, 0.2, 0.3, 0.4], [150.0, 149.0, 146.0, 142.6, 139.2])
BRAKE_BAR = ([0.04, 0.09, 0.14, 0.19, 0.24, 0.29], [0.0, 8.0, 32.0, 52.0, 53.0, 53.0])
GEAR = ([0.0, 0.27], [5.0, 4.0])


def hold(times_s: list[float], values: list[float], t_s: float) -> float | None:
    """Last value at or before *t_s*; None before the first sample."""
    i = bisect_right(times_s, t_s) - 1
    return values[i] if i >= 0 else None


print(" t_s  speed  brake  gear")
for k in range(9):
    t_s = k * 0.05
    row = [hold(*channel, t_s) for channel in (SPEED_KMH, BRAKE_BAR, GEAR)]
    texts = ["     -" if value is None else f"{value:6.1f}" for value in row]
    print(f"{t_s:4.2f} {' '.join(texts)}")
