"""Three lines through one right-angle corner, over the same piece of road."""

from math import cos, pi, radians, sqrt, tan

GRIP_MS2 = 9.80665  # the car can hold 1.00 g to the side
INSIDE_M = 20.0  # smallest radius the middle of the car can drive
WIDTH_M = 8.0  # room for the middle of the car, from inside to outside
TURN_RAD = radians(90.0)


def widest_radius(inside_m: float, width_m: float, turn_rad: float) -> float:
    """Radius of the arc from the outside, past the inside, to the outside."""
    return inside_m + width_m / (1 - cos(turn_rad / 2))


wide_m = widest_radius(INSIDE_M, WIDTH_M, TURN_RAD)
lines = {
    "inside": INSIDE_M,
    "middle": INSIDE_M + WIDTH_M / 2,
    "outside-in-out": wide_m,
}
# Start and end of the comparison: where the widest arc begins and ends.
outer_m = INSIDE_M + WIDTH_M
straight_m = (wide_m - outer_m) * tan(TURN_RAD / 2)

print("line            radius_m  km/h  length_m  time_s")
for name, radius_m in lines.items():
    speed_ms = sqrt(GRIP_MS2 * radius_m)
    lead_m = 0.0 if radius_m == wide_m else straight_m
    length_m = radius_m * TURN_RAD + 2 * lead_m
    print(
        f"{name:14}  {radius_m:8.1f}  {speed_ms * 3.6:4.1f}"
        f"  {length_m:8.1f}  {length_m / speed_ms:6.2f}"
    )
print(f"turn-in: {straight_m:.1f} m before the bend, {pi / 2 * wide_m:.1f} m of arc")
