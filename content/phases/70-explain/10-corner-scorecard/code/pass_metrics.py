"""Measure one pass of a corner: speeds at three points, brake point, idle time."""

from itertools import pairwise

STEP_S = 0.2  # 5 Hz
ENTRY_M, EXIT_M = 878.0, 958.0


def numbers(text: str) -> list[float]:
    """Return the numbers of a column that is written in one line."""
    return [float(word) for word in text.split()]


SPEED_KMH = numbers(
    "142 142 137 130 123 116 110 104 98 92 88 84 81 79 77 76 75 74 74 75 77 79 82 85 "
    "88 91 94 97"
)
BRAKE_BAR = numbers(
    "0 3 38 46 46 44 42 40 38 34 29 23 17 11 6 1 0 0 0 0 0 0 0 0 0 0 0 0"
)
THROTTLE_PCT = numbers(
    "100 20 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 6 18 35 52 68 80 90 100 100 100 100"
)

time_s = [i * STEP_S for i in range(len(SPEED_KMH))]
distance_m = [820.0]
for before_kmh, after_kmh in pairwise(SPEED_KMH):
    distance_m.append(distance_m[-1] + (before_kmh + after_kmh) / 2 / 3.6 * STEP_S)


def at(place_m: float, values: list[float]) -> float:
    """Return the value of a column at a place, linear between two samples."""
    after = next(i for i, here_m in enumerate(distance_m) if here_m >= place_m)
    here_m, there_m = distance_m[after - 1], distance_m[after]
    share = (place_m - here_m) / (there_m - here_m)
    return values[after - 1] + share * (values[after] - values[after - 1])


first_brake = next(i for i, bar in enumerate(BRAKE_BAR) if bar > 5)
brake_end = max(i for i, bar in enumerate(BRAKE_BAR) if bar > 2)
power = next(i for i in range(brake_end, len(THROTTLE_PCT)) if THROTTLE_PCT[i] > 10)
print(f"brake point  {ENTRY_M - distance_m[first_brake]:6.1f} m before entry")
print(f"entry speed  {at(ENTRY_M, SPEED_KMH):6.1f} km/h")
print(f"min speed    {min(SPEED_KMH):6.1f} km/h")
print(f"exit speed   {at(EXIT_M, SPEED_KMH):6.1f} km/h")
print(f"corner time  {at(EXIT_M, time_s) - at(ENTRY_M, time_s):6.2f} s")
print(f"idle time    {time_s[power] - time_s[brake_end]:6.2f} s")
