"""Writes a sample session whose true lap times are known from its formula.

The circuit is a circle 2,000 m round. The speed depends on the place, and each
lap drives each of its three parts with its own factor, so every time is known.
"""

import sys
from functools import cache
from math import cos, pi, sin
from pathlib import Path

LENGTH_M = 2000.0
RADIUS_M = LENGTH_M / (2 * pi)
CENTRE_LAT, CENTRE_LON = 50.0, 7.0
METRES_PER_DEGREE = 111_194.93
SECTOR_ENDS = (0.3, 0.7, 1.0)
FACTORS = ((1.0, 1.0, 0.99), (0.88, 0.96, 1.0), (1.0, 0.955, 1.0))
STEP_S = 0.001
SAMPLE_STEPS = 50  # 0.05 s, 20 samples a second
HEADER = """File created on 20/11/2026 @ 10:00

[header]
satellites
time
latitude
longitude
velocity kmh
heading
height

[comments]
Sample session made by make_session.py

[column names]
sats time lat long velocity heading height

[data]
"""


def speed_ms(distance_m: float) -> float:
    """Speed at a distance from the line; before and after the laps as well."""
    lap, place = divmod(distance_m / LENGTH_M, 1.0)
    factors = FACTORS[min(max(int(lap), 0), len(FACTORS) - 1)]
    sector = next(i for i, end in enumerate(SECTOR_ENDS) if place < end)
    return (42.0 - 14.0 * cos(4 * pi * place)) * factors[sector]


@cache
def drive() -> tuple[list[tuple[float, float]], list[float]]:
    """Samples of (time, distance) and the true times at which the line is crossed."""
    samples: list[tuple[float, float]] = []
    crossings: list[float] = []
    distance_m, step = -100.0, 0
    while distance_m < LENGTH_M * len(FACTORS) + 150.0:
        if step % SAMPLE_STEPS == 0:
            samples.append((step * STEP_S, distance_m))
        moved_m = speed_ms(distance_m) * STEP_S
        if (distance_m + moved_m) // LENGTH_M > distance_m // LENGTH_M:
            missing_m = LENGTH_M * ((distance_m + moved_m) // LENGTH_M) - distance_m
            crossings.append((step + missing_m / moved_m) * STEP_S)
        distance_m += moved_m
        step += 1
    return samples, crossings


def position(distance_m: float, radius_m: float = RADIUS_M) -> tuple[float, float]:
    """Latitude and longitude in degrees; the car drives anticlockwise."""
    angle = 2 * pi * distance_m / LENGTH_M
    lat = CENTRE_LAT + radius_m * sin(angle) / METRES_PER_DEGREE
    east_m = METRES_PER_DEGREE * cos(CENTRE_LAT * pi / 180)
    return lat, CENTRE_LON + radius_m * cos(angle) / east_m


def start_line() -> tuple[float, float, float, float]:
    """Inner and outer end of the start line as latitude, longitude, twice."""
    return (*position(0.0, RADIUS_M - 20.0), *position(0.0, RADIUS_M + 20.0))


def row(time_s: float, distance_m: float) -> str:
    """One data row as a logger writes it: minutes of arc, longitude west positive."""
    lat, lon = position(distance_m)
    seconds = time_s % 60
    clock = f"10{int(time_s // 60):02d}{seconds:05.2f}"
    minutes = f"{lat * 60:+012.5f} {-lon * 60:+012.5f}"
    return f"009 {clock} {minutes} {speed_ms(distance_m) * 3.6:07.3f} 000.00 +0100.00"


@cache
def session_text() -> str:
    """The whole file, with one row without satellites and one cut short."""
    rows = [row(*sample) for sample in drive()[0]]
    rows[400] = "000" + rows[400][3:]
    rows[900] = rows[900][:30]
    return HEADER + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(session_text(), encoding="ascii")
