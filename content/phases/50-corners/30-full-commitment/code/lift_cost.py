"""Cost of one second off the throttle at four places of a 700 m straight."""

G_MS2 = 9.80665
CAR_KG, POWER_W, DRAG_KG_M = 1250.0, 150_000.0, 0.42
BRAKE_MS2 = 0.8 * G_MS2
START_MS, CORNER_MS, LENGTH_M = 95 / 3.6, 80 / 3.6, 700.0


def acceleration(speed_ms: float, throttle: bool) -> float:
    """Net acceleration at full throttle, or coasting in gear, in m/s^2."""
    drag = DRAG_KG_M * speed_ms**2 / CAR_KG
    if not throttle:
        return -drag - 0.05 * G_MS2  # engine braking and rolling drag
    return min(0.45 * G_MS2, POWER_W / (CAR_KG * speed_ms)) - drag


def straight_s(lift_m: float, lift_s: float, brake_m: float = 0.0) -> list[float]:
    """Time in s and brake point in m; brake_m 0 brakes as late as possible."""
    s, v, t, dt, off_s, brake = 0.0, START_MS, 0.0, 0.001, 0.0, 0.0
    while s < LENGTH_M and (v > CORNER_MS or not brake):
        needed = (v * v - CORNER_MS**2) / (2 * (LENGTH_M - s))
        if not brake and (needed >= BRAKE_MS2 or 0 < brake_m <= s):
            brake, brake_m = needed, s
        coasting = s >= lift_m and off_s < lift_s
        off_s += dt if coasting else 0.0
        a = -brake if brake else acceleration(v, throttle=not coasting)
        s, v, t = s + v * dt, v + a * dt, t + dt
    return [t + (LENGTH_M - s) / CORNER_MS, brake_m]


base_s, marker_m = straight_s(LENGTH_M, 0)
print(f"no lift: {base_s:.2f} s, brake point {LENGTH_M - marker_m:.0f} m before entry")
