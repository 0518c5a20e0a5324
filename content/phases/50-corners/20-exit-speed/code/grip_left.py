"""Grip left for driving beside a given lateral acceleration."""

from math import sqrt


def left_g(lateral_g: float, grip_g: float = 1.0) -> float:
    """Longitudinal share that stays inside the grip circle."""
    return sqrt(grip_g**2 - lateral_g**2)


print("lateral_g  left_g")
for lateral_g in (1.00, 0.98, 0.95, 0.90, 0.80, 0.60):
    print(f"{lateral_g:9.2f}  {left_g(lateral_g):6.2f}")
