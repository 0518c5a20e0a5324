def gain_limit_s(passes: list[Pass], fast_kmh: float) -> float:
    """Time won if the coasting metres moved from the slow end to the fast end."""
    coast_m = mean(p.power_m - p.end_m for p in passes)
    slow_kmh = mean(p.end_kmh for p in passes)
    return coast_m * 3.6 * (1 / slow_kmh - 1 / fast_kmh)


print("corner    coast m  nothing s  gain limit s")
for name, passes in (("Turn 7", turn_7), ("Turn 9", turn_9), ("Turn 12", turn_12)):
    coast_m = mean(p.power_m - p.end_m for p in passes)
    wait_s = mean(nothing_s(p) for p in passes)
    limit_s = gain_limit_s(passes, straight_kmh[name])
    print(f"{name:8} {coast_m:8.1f} {wait_s:10.2f} {limit_s:13.2f}")
