def concept(to_entry: float, bz: float, dz: float, brake: float) -> str:
    """The coach's rules 5 to 9 on the straight, in order; the first match wins."""
    if 30 < to_entry < bz + 30 and brake < 2:
        return "brake_end_focus"
    if dz < -5 and to_entry < 200:
        return "downhill_braking"
    if dz > 5 and to_entry < 200:
        return "uphill_braking"
    if 0 < to_entry < 250:
        return "late_apex"
    return "look_ahead"


print("to entry m  brake bar  concept")
before = ""
for to_entry in range(260, 0, -1):
    brake = 60.0 if to_entry <= 107 else 0.0
    now = concept(to_entry, 100, dz, brake)
    if now != before:
        print(f"{to_entry:10} {brake:10.0f}  {now}")
        before = now
