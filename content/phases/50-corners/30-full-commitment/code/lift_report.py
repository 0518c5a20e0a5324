"""Spells in which the coach's condition holds, and the time each one cost."""

from itertools import groupby
from math import sqrt


def fires(row: list[float]) -> bool:
    """True when the car coasts on the straight, over 100 m from the entry."""
    distance_m, speed_kmh, throttle_pct, brake_bar = row
    pedals_off = throttle_pct < 5 and brake_bar < 2
    return pedals_off and speed_kmh > 50 and ENTRY_M - distance_m > 100


def full_throttle_s(speed_kmh: float, length_m: float) -> float:
    """Time of length_m at full throttle, from speed_kmh on."""
    v, time_s, step_m = speed_kmh / 3.6, 0.0, length_m / 1000
    for _ in range(1000):
        w = sqrt(v * v + 2 * acceleration(v, throttle=True) * step_m)
        time_s += 2 * step_m / (v + w)
        v = w
    return time_s


spells = [
    [i for i, _ in group]
    for hit, group in groupby(enumerate(ROWS), key=lambda pair: fires(pair[1]))
    if hit
]
first_brake = next(i for i, row in enumerate(ROWS) if row[3] > 2)
ends = [spell[0] for spell in spells[1:]] + [first_brake]

print("lift_at_m  to_entry_m  off_s  lost_s")
for spell, end in zip(spells, ends, strict=True):
    start_m, speed_kmh = ROWS[spell[0]][:2]
    actual_s = (end - spell[0]) * SAMPLE_S
    lost_s = actual_s - full_throttle_s(speed_kmh, ROWS[end][0] - start_m)
    off_s = len(spell) * SAMPLE_S
    print(f"{start_m:9.0f}  {ENTRY_M - start_m:10.0f}  {off_s:5.1f}  {lost_s:6.2f}")

last_m, last_kmh = ROWS[-1][:2]
whole_s = (len(ROWS) - 1) * SAMPLE_S + (ENTRY_M - last_m) * 3.6 / last_kmh
print(f"straight {whole_s:.3f} s, model {base_s:.3f} s, {whole_s - base_s:+.3f} s")
