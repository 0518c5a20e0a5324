"""Time of a straight for a given exit speed, at full throttle."""

CAR_KG, POWER_W, DRAG_KG_M = 1250.0, 150_000.0, 0.42
TRACTION_MS2 = 0.45 * 9.80665


def straight(exit_kmh: float, length_m: int, wait_m: int = 0) -> tuple[float, float]:
    """Time in s and end speed in km/h; the first wait_m pass at constant speed."""
    v, time_s = exit_kmh / 3.6, 0.0
    for metre in range(length_m):
        push = min(TRACTION_MS2, POWER_W / (CAR_KG * v))
        gain = 0.0 if metre < wait_m else push - DRAG_KG_M * v * v / CAR_KG
        w = sqrt(v * v + 2 * gain)  # one metre: w^2 = v^2 + 2 a s
        time_s += 2 / (v + w)
        v = w
    return time_s, 3.6 * v


print("straight_m  exit_kmh  time_s  end_kmh  loss_s  end_diff")
for length_m in (200, 400, 800):
    best_s, best_end = straight(90, length_m)
    for exit_kmh in (90, 87):
        time_s, end = straight(exit_kmh, length_m)
        row = f"{length_m:10}  {exit_kmh:8}  {time_s:6.2f}  {end:7.1f}"
        print(row + f"  {time_s - best_s:6.3f}  {best_end - end:8.1f}")
