STEP_S = 0.05  # 20 Hz, lap 4 through Turn 7, from the last part of the braking
brake_bar = [42.0, 40.0, 37.0, 34.0, 30.0, 26.0, 22.0, 18.0, 14.0, 10.0]
brake_bar += [7.0, 4.4, 2.4, 1.1, 0.4] + [0.0] * 17
throttle_pct = [0.0] * 23 + [4.0, 12.0, 19.0, 27.0, 36.0, 45.0, 54.0, 63.0, 72.0]
COAST_KMH = 85.0


def nothing_time_s(brake: list[float], throttle: list[float], step_s: float) -> float:
    """Time from the last sample above 2 bar to the next one above 5 % throttle."""
    last_brake = max(i for i, bar in enumerate(brake) if bar > 2)
    power = next(i for i, pct in enumerate(throttle) if i > last_brake and pct > 5)
    return (power - last_brake) * step_s


wait_s = nothing_time_s(brake_bar, throttle_pct, STEP_S)
print(f"nothing time {wait_s:.2f} s, {wait_s * COAST_KMH / 3.6:.1f} m of road")
