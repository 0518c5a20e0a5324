from itertools import pairwise

# Metres before the corner entry, altitude in metres: one profile from a track file.
profile = [(200, 131.0), (150, 128.5), (100, 125.6), (50, 123.2), (0, 122.0)]


def altitude_m(before_entry: float) -> float:
    """Altitude at a distance before the entry, linear between profile points."""
    for (far, high), (near, low) in pairwise(profile):
        if near <= before_entry <= far:
            return low + (before_entry - near) / (far - near) * (high - low)
    raise ValueError("outside the profile")


def marker_m(from_kmh: float, to_kmh: float, grip: float) -> float:
    """Metres before entry to start braking: flat distance plus fall over grip."""
    flat = stop_m(from_kmh, to_kmh, grip, 0.0)
    start = flat
    for _ in range(20):  # the fall depends on where braking starts: repeat
        start = flat + (altitude_m(start) - altitude_m(0)) / grip
    return start


dz = altitude_m(0) - altitude_m(200)
start = marker_m(180, 80, 1.0)
print(f"dz over the approach   {dz:6.1f} m")
print(f"flat braking distance  {stop_m(180, 80, 1.0, 0.0):6.1f} m")
print(f"fall while braking     {altitude_m(start) - altitude_m(0):6.1f} m")
print(f"marker on this hill    {start:6.1f} m before the entry")
