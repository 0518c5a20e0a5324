"""Compare two laps at the same time, then at the same place."""

from itertools import pairwise

STEP_S = 0.5
FIRST_KMH = (
    "129 133 137 141 145 149 139 123 106 90 75 64 59 59 59 59 59 59 59 59 59 63 "
    "69 76 83 90 97 104 110 116 121 126 130 135 139 143 146 140 124 107 91 79 76"
)
SECOND_KMH = (
    "129 133 135 133 131 128 126 124 114 98 81 69 60 59 59 59 59 59 59 59 59 61 "
    "66 73 80 87 94 101 107 113 118 124 128 133 132 130 128 125 123 121 107 91 79"
)


def path(text: str) -> list[tuple[float, float]]:
    """Pairs of distance in m and speed in km/h, one for each sample."""
    speeds_kmh = [float(word) for word in text.split()]
    points = [(0.0, speeds_kmh[0])]
    for before, now in pairwise(speeds_kmh):
        points.append((points[-1][0] + (before + now) / 7.2 * STEP_S, now))
    return points


def speed_at(points: list[tuple[float, float]], place_m: float) -> float:
    """Speed in km/h at a distance, on the line between the two samples around it."""
    for (d0, v0), (d1, v1) in pairwise(points):
        if d0 <= place_m <= d1:
            return v0 + (v1 - v0) * (place_m - d0) / (d1 - d0)
    raise ValueError(f"{place_m} m is outside the lap")


first, second = path(FIRST_KMH), path(SECOND_KMH)
for name, points in [("lap 1", first), ("lap 2", second)]:
    place_m, speed = points[40]  # sample 40 is t = 20.0 s
    print(f"{name} at 20.0 s: {place_m:5.0f} m, {speed:4.0f} km/h")
place_m = second[40][0]
print(f"lap 1 at {place_m:.0f} m:  {speed_at(first, place_m):4.0f} km/h")
print(f"lap 2 at {place_m:.0f} m:  {speed_at(second, place_m):4.0f} km/h")
