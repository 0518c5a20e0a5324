def brake_end_focus(in_corner: bool, to_entry: float, bz: float, brake: float) -> bool:
    """The coach's condition: near the brake zone and not braking yet."""
    return not in_corner and 30 < to_entry < bz + 30 and brake < 2


ENTRY_M, BRAKE_ZONE_M = 2180, 100  # from the track file
print("to entry m  brake bar  fires")
for place in range(2040, 2100, 10):
    brake = 0.0 if place < 2079 else 60.0  # brake on at 2,079 m, as in lap 1
    fires = brake_end_focus(False, ENTRY_M - place, BRAKE_ZONE_M, brake)
    print(f"{ENTRY_M - place:10} {brake:10.0f}  {'yes' if fires else 'no'}")
