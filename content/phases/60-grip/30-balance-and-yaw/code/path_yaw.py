from math import degrees

G = 9.81  # m/s^2


def path_yaw_dps(g_lat: float, speed_kmh: float) -> float:
    """Yaw rate in degrees a second of a car that turns exactly with its path."""
    return degrees(g_lat * G / (speed_kmh / 3.6))


print("g_lat   50 km/h  100 km/h  150 km/h")
for g_lat in (0.5, 1.0):
    rates = [path_yaw_dps(g_lat, speed_kmh) for speed_kmh in (50, 100, 150)]
    print(f"{g_lat:5.1f}" + "".join(f"{rate:8.1f} °/s" for rate in rates)[1:])
