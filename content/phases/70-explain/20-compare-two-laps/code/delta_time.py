"""Compare two laps through one corner at equal places, not at equal times."""

from bisect import bisect_left
from math import sqrt

TURN_IN_M = 300
Log = list[tuple[float, float, float]]  # time s, distance m, speed m/s


def speed_ms(at_m: float, brake_ms2: float, min_kmh: float, power_m: float) -> float:
    """Return the speed at a place: v^2 = v0^2 + 2 a s on each side of the corner."""
    min2 = (min_kmh / 3.6) ** 2
    straight2 = (150 / 3.6) ** 2 + 2 * 2.0 * at_m
    brake2 = min2 + 2 * brake_ms2 * max(TURN_IN_M - at_m, 0.0)
    exit2 = min2 + 2 * 3.0 * max(at_m - power_m, 0.0)
    return sqrt(min(straight2, brake2 if at_m < power_m else exit2))


def record(brake_ms2: float, min_kmh: float, power_m: float) -> Log:
    """Drive 600 m in steps of 1 ms and log every tenth of a second (10 Hz)."""
    log: Log = []
    at_m, tick = 0.0, 0
    while at_m < 605:
        v_ms = speed_ms(at_m, brake_ms2, min_kmh, power_m)
        if tick % 100 == 0:
            log.append((tick / 1000, at_m, v_ms))
        at_m += v_ms * 0.001
        tick += 1
    return log


def at_place(log: Log, place_m: float) -> tuple[float, float]:
    """Return time and speed at a place, linear between two samples."""
    i = max(1, bisect_left(log, place_m, key=lambda row: row[1]))
    (t0, d0, v0), (t1, d1, v1) = log[i - 1], log[i]
    share = (place_m - d0) / (d1 - d0)
    return t0 + share * (t1 - t0), (v0 + share * (v1 - v0)) * 3.6


lap_a, lap_b = record(8.0, 82, 340), record(9.5, 78, 352)
print("place_m  a_kmh  b_kmh  delta_s")
for place_m in (0, 200, 240, 280, 300, 320, 340, 360, 400, 500, 600):
    (a_s, a_kmh), (b_s, b_kmh) = at_place(lap_a, place_m), at_place(lap_b, place_m)
    print(f"{place_m:7d}  {a_kmh:5.1f}  {b_kmh:5.1f}  {b_s - a_s:+7.3f}")
