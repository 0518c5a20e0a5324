from math import sqrt

G = 9.81  # m/s^2
RADIUS_M, BLEND_M, LEAD_M = 60.0, 30.0, 120.0  # corner, curve-in, straight before it
DS = 0.05  # m, step of the integration


def entry_time_s(limit_g: float, overlap: bool) -> tuple[float, float, float]:
    """Time over straight and curve-in, km/h at turn-in, metres of brake marker.

    Works backwards from the speed that the constant radius allows.
    """
    grip = limit_g * G
    v = sqrt(grip * RADIUS_M)
    time, turn_in, marker, top = 0.0, v, 0.0, 170 / 3.6
    for step in range(int((BLEND_M + LEAD_M) / DS)):
        before_corner = step * DS  # 0 where the constant radius begins
        curve = max(0.0, 1 - before_corner / BLEND_M) / RADIUS_M
        sideways = v * v * curve
        if overlap:
            brake = sqrt(max(0.0, grip**2 - sideways**2))
        else:
            brake = grip if curve == 0 else 0.0
        if v < top:
            v = min(top, sqrt(v * v + 2 * brake * DS))
            marker = before_corner - BLEND_M
        if curve > 0:
            turn_in = v
        time += DS / v
    return time, turn_in * 3.6, marker


print("method           turn-in km/h  marker m  time s")
for label, overlap in (("brake, then turn", False), ("brake and turn", True)):
    t, turn_in, marker = entry_time_s(1.15, overlap)
    print(f"{label:16} {turn_in:13.1f} {marker:9.1f} {t:7.2f}")
