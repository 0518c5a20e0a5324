from math import hypot
from typing import NamedTuple

ENTRY_M, APEX_M, EXIT_M = 1240, 1285, 1330
position_m = list(range(1130, 1295, 5))  # both laps resampled to every 5 m


class Lap(NamedTuple):
    """One pass through the corner, a value for each entry of `position_m`."""

    speed_kmh: list[float]
    brake_bar: list[float]
    g_lat: list[float]  # + = turning right
    g_long: list[float]  # - = slowing down


def lap(*columns: str) -> Lap:
    """A lap from four columns as text; a short one is zero until turn-in."""
    numbers = [[float(x) for x in text.split()] for text in columns]
    return Lap(*([0.0] * (len(position_m) - len(n)) + n for n in numbers))


early = lap(
    """183.1 183.4 183.0 181.3 178.4 174.5 170.5 166.5 162.3 158.1 153.8
    149.5 145.0 140.4 135.7 130.8 125.8 120.7 115.4 109.8 104.7 101.4
    100.0 99.6 99.2 98.8 98.3 97.8 97.2 96.7 96.0 95.4 94.8""",
    """0 0 14.3 34.7 55.2 61.5 61.3 61.1 60.8 60.5 60.3 60.0 59.7 59.4 59.2 58.9
    58.5 58.2 57.9 57.6 40.5 20.4 0 0 0 0 0 0 0 0 0 0 0""",
    "0.16 0.32 0.47 0.62 0.77 0.91 1.05 1.04 1.02 1.01",
    """0.10 0.10 -0.34 -0.66 -0.99 -1.09 -1.08 -1.07 -1.06 -1.06 -1.05 -1.04
    -1.03 -1.03 -1.02 -1.01 -1.00 -1.00 -0.99 -0.98 -0.70 -0.38 -0.05 -0.06
    -0.07 -0.07 -0.08 -0.08 -0.09 -0.09 -0.09 -0.09 -0.07""",
)
trail = lap(
    """183.1 183.4 183.8 184.1 184.5 184.8 184.6 183.0 180.2 176.4 172.5
    168.5 164.4 160.2 156.0 151.6 147.2 142.7 138.0 133.3 128.7 124.4
    120.2 116.3 112.6 109.2 106.0 103.2 100.6 98.5 96.7 95.4 94.6""",
    """0 0 0 0 0 0 11.9 32.2 52.5 61.7 61.4 61.2 60.9 60.7 60.4 60.1 59.9 59.6
    59.3 56.6 52.2 47.9 43.5 39.2 34.8 30.5 26.1 21.8 17.4 13.1 8.7 4.3 0""",
    "0.22 0.41 0.57 0.72 0.85 0.98 1.09 1.05 1.02 1.01",
    """0.10 0.10 0.10 0.10 0.10 0.10 -0.30 -0.62 -0.95 -1.09 -1.08 -1.07 -1.07
    -1.06 -1.05 -1.05 -1.04 -1.03 -1.02 -0.98 -0.90 -0.83 -0.76 -0.70 -0.63
    -0.57 -0.50 -0.44 -0.37 -0.30 -0.23 -0.16 -0.09""",
)
LAPS = {"early": early, "trail": trail}
for name, p in LAPS.items():
    on = next(m for m, bar in zip(position_m, p.brake_bar, strict=True) if bar > 5)
    print(f"{name}: first sample with the brake on at {on} m")
