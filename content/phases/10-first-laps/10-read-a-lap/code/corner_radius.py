"""Check two channels against each other: speed and g give the radius."""

G_MS2 = 9.80665


def radius_m(speed_kmh: float, lateral_g: float) -> float:
    """Radius of the path in metres, from a = v^2 / r."""
    speed_ms = speed_kmh / 3.6
    return speed_ms**2 / (lateral_g * G_MS2)


print("turn  speed_kmh  lateral_g  radius_m")
for turn, speed_kmh_here, lateral_g_here in [("T1", 59.0, 0.90), ("T2", 75.0, 0.90)]:
    radius = radius_m(speed_kmh_here, lateral_g_here)
    print(f"{turn}    {speed_kmh_here:9.0f}  {lateral_g_here:9.2f}  {radius:8.1f}")
