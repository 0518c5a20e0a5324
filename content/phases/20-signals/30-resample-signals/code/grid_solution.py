"""Solution: lines for speed and brake, hold for gear, nothing outside."""

from bisect import bisect_right

SPEED_KMH = ([0.0, 0.1, 0.2, 0.3, 0.4], [150.0, 149.0, 146.0, 142.6, 139.2])
BRAKE_BAR = ([0.04, 0.09, 0.14, 0.19, 0.24, 0.29], [0.0, 8.0, 32.0, 52.0, 53.0, 53.0])
GEAR = ([0.0, 0.27], [5.0, 4.0])
Channel = tuple[list[float], list[float]]


def hold(channel: Channel, t_s: float, max_age_s: float) -> float | None:
    """Last value at or before *t_s*, unless it is older than *max_age_s*."""
    times_s, values = channel
    i = bisect_right(times_s, t_s) - 1
    return values[i] if i >= 0 and t_s - times_s[i] <= max_age_s else None


def line(channel: Channel, t_s: float) -> float | None:
    """Value on the line between the samples around *t_s*; None outside."""
    times_s, values = channel
    if not times_s[0] <= t_s <= times_s[-1]:
        return None
    i = min(bisect_right(times_s, t_s), len(times_s) - 1)
    share = (t_s - times_s[i - 1]) / (times_s[i] - times_s[i - 1])
    return values[i - 1] + (values[i] - values[i - 1]) * share


print(" t_s  speed  brake   gear")
for k in range(9):
    t_s = k / 20  # computed from k, so that errors do not add up
    row = [line(SPEED_KMH, t_s), line(BRAKE_BAR, t_s), hold(GEAR, t_s, 10.0)]
    texts = ["     -" if value is None else f"{value:6.1f}" for value in row]
    print(f"{t_s:4.2f} {' '.join(texts)}")

(t0_s, t1_s), (p0_bar, p1_bar) = BRAKE_BAR[0][:2], BRAKE_BAR[1][:2]
begin_s = t0_s + (t1_s - t0_s) * (5.0 - p0_bar) / (p1_bar - p0_bar)
print(f"5 bar at {begin_s:.3f} s, speed {line(SPEED_KMH, begin_s):.1f} km/h")
