def time_s(p: Lap) -> float:
    """Time from the first row to the apex, from mean speed over each 5 m."""
    last = position_m.index(APEX_M)
    pairs = zip(p.speed_kmh[:last], p.speed_kmh[1:], strict=False)
    return sum(5 * 2 * 3.6 / (v0 + v1) for v0, v1 in pairs)


def weakest_g(p: Lap) -> tuple[float, int]:
    """Smallest combined g from 10 m before turn-in to the apex, and its place."""
    return min(
        (hypot(p.g_lat[i], p.g_long[i]), place)
        for i, place in enumerate(position_m)
        if ENTRY_M - 10 <= place <= APEX_M
    )


print("            early release          trail brake")
print("place m   km/h   bar  g lat     km/h   bar  g lat")
for i, place in enumerate(position_m):
    if place >= 1220 and place % 10 == 0:
        cells = [
            f"{p.speed_kmh[i]:6.1f} {p.brake_bar[i]:5.1f} {p.g_lat[i]:6.2f}"
            for p in LAPS.values()
        ]
        print(f"{place:7} {'   '.join(cells)}")

print()
print("lap     turn-in km/h  apex km/h  weakest g  at m   time s")
for name, p in LAPS.items():
    low, where = weakest_g(p)
    turn_in, apex = (p.speed_kmh[position_m.index(m)] for m in (ENTRY_M, APEX_M))
    print(
        f"{name:6} {turn_in:13.1f} {apex:10.1f} {low:10.2f} {where:5} {time_s(p):8.2f}"
    )
