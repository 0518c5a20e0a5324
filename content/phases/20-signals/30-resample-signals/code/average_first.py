"""From 100 Hz to 10 Hz: picking every tenth sample, or averaging ten."""

from math import pi, sin

FAST_HZ, KEEP = 100, 10
VIBRATION_HZ = 22.0


def long_g(t_s: float) -> float:
    """Steady braking at 0.9 g with an engine vibration of 0.3 g on top."""
    return -0.90 + 0.30 * sin(2 * pi * VIBRATION_HZ * t_s)


fast = [long_g(i / FAST_HZ) for i in range(101)]
print(" t_s  picked  averaged")
for middle in range(10, 91, 10):
    picked = fast[middle]
    block = fast[middle - KEEP // 2 : middle + KEEP // 2]
    averaged = sum(block) / KEEP
    print(f"{middle / FAST_HZ:4.1f}  {picked:6.2f}  {averaged:8.2f}")
