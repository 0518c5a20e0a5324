"""Speed limit of a bend from its radius and the grip of the car."""

from math import sqrt

G_MS2 = 9.80665


def corner_speed_kmh(radius_m: float, grip_g: float = 1.0) -> float:
    """Speed at which the lateral acceleration v^2/r uses up the grip."""
    return 3.6 * sqrt(grip_g * G_MS2 * radius_m)


print("radius_m  limit_kmh")
for radius_m in (35.4, 47.2, 59.0, 94.9):
    print(f"{radius_m:8.1f}  {corner_speed_kmh(radius_m):9.1f}")
