def concept(in_corner: bool, brake: float, glat: float) -> str:
    """First of the two rules that holds, in the coach's order."""
    if in_corner and brake > 10 and glat > 0.4:
        return "trail_brake"
    if in_corner and brake < 1 and glat > 0.6:
        return "early_brake_release"
    return "-"


for name, p in LAPS.items():
    print(name)
    before = ""
    for i, place in enumerate(position_m):
        now = concept(ENTRY_M <= place <= EXIT_M, p.brake_bar[i], abs(p.g_lat[i]))
        if place >= ENTRY_M and now != before:
            print(f"  from {place} m: {now}")
            before = now
