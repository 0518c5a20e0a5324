"""Fast vibrations that look slow: aliases of a 10 Hz logger."""

from math import pi, sin

RATE_HZ = 10.0


def apparent_hz(true_hz: float, rate_hz: float) -> float:
    """Frequency that the samples show for a wave of *true_hz*."""
    return abs(true_hz - round(true_hz / rate_hz) * rate_hz)


print("true_hz  looks_like_hz")
for true_hz in (1.0, 3.0, 4.9, 8.0, 10.0, 12.0, 21.0):
    print(f"{true_hz:7.1f}  {apparent_hz(true_hz, RATE_HZ):13.1f}")

print()
print(" t_s  12 Hz   2 Hz")
for i in range(5):
    t_s = i / RATE_HZ
    fast, slow = sin(2 * pi * 12 * t_s), sin(2 * pi * 2 * t_s)
    print(f"{t_s:4.1f}  {fast:5.2f}  {slow:5.2f}")
