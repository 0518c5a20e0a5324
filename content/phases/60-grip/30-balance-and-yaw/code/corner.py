WHEELBASE_M, STEERING_RATIO = 2.5, 15.0
UNDERSTEER = 12.0  # degrees at the steering wheel for each g, from calm laps


def needed_deg(g_lat: float, speed_kmh: float) -> float:
    """Steering-wheel angle that this car usually needs for its path."""
    curvature = g_lat * G / (speed_kmh / 3.6) ** 2  # 1/m
    return STEERING_RATIO * degrees(WHEELBASE_M * curvature) + UNDERSTEER * g_lat


# A right-hand hairpin: place, km/h, g_lat, yaw rate in °/s, steering wheel in degrees
CORNER = [
    ("turn-in", 78, 0.35, 9.2, 24),
    ("entry", 68, 0.70, 21.0, 57),
    ("middle", 60, 0.88, 29.7, 103),
    ("middle", 59, 0.87, 29.8, 109),
    ("exit", 64, 0.80, 28.9, 38),
    ("exit", 70, 0.66, 21.9, 12),
]

print("place     yaw  path  turns in   lock  needs  extra lock")
for place, kmh, g_lat, yaw, lock in CORNER:
    path, needs = path_yaw_dps(g_lat, kmh), needed_deg(g_lat, kmh)
    print(
        f"{place:8} {yaw:4.1f}  {path:4.1f}  {yaw - path:+8.1f}"
        f"  {lock:5.0f}  {needs:5.0f}  {lock - needs:+10.0f}"
    )
