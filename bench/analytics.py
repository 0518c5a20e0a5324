"""All analytics of a stored hour at 100 Hz over HTTP: cold, and requested again.

The server answered the same requests for a shorter session before, so its code is warm and only
the hour is cold. The car drives a circle of 3.6 km. pandas computes statistics of the same channels
and of each lap from a data frame.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]

from bench.common import BACKENDS, Figure, Server, bridge, fastest

ROUTES: Final = (
    "laps",
    "stats",
    "friction_circle",
    "hustle_map",
    "map",
    "sync",
    "clips",
    "lap_time_table",
    "lap_time_distribution",
    "ideal_lap",
    "sector_times",
    "pedal_behavior",
    "straight_line_speed",
    "compare?a=2",
    "scorecard",
    "highlights",
    "eob",
    "incidents",
    "throttle_corner_box",
    "corner_classification",
    "brake_acceleration",
    "corners",
)
FRAMES: Final = 360_000
PIECE: Final = 20_000
LAP_M: Final = 3_600.0
Columns = dict[str, npt.NDArray[np.float64]]


def drive(frames: int) -> Columns:
    """Laps of about 95 seconds; the speed rises and falls three times a lap."""
    t = np.arange(frames) / 100
    place = np.cumsum(np.full(frames, 38.0 / 100))
    angle = 2 * np.pi * place / LAP_M
    swing = np.sin(3 * angle)
    radius = LAP_M / (2 * np.pi)
    return {
        "timestamp": t,
        "speed_ms": 38 + 12 * swing,
        "g_lat": (38 + 12 * swing) ** 2 / radius / 9.81,
        "g_long": np.cos(3 * angle) * 0.6,
        "brake_bar": np.clip(-np.cos(3 * angle), 0, 1) * 60,
        "throttle_pct": np.clip(np.cos(3 * angle), 0, 1) * 100,
        "steering_deg": 40 + 10 * np.sin(7 * angle),
        "rpm": 5000 + 1500 * swing,
        "lat": 54.5 + np.degrees(radius * np.sin(angle) / 6_371_000),
        "lon": -3.25 + np.degrees(radius * np.cos(angle) / 6_371_000 / np.cos(np.radians(54.5))),
    }


def fill(server: Server, columns: Columns, session: str = "hour") -> None:
    """Send the drive to a session."""
    for first in range(0, len(columns["timestamp"]), PIECE):
        piece = {key: values[first : first + PIECE].tolist() for key, values in columns.items()}
        server.post(f"/session/{session}/frames", {"columns": piece})


def ask_ms(server: Server, route: str, session: str = "hour") -> float:
    """Milliseconds until the response is read."""
    ask = partial(server.get, f"/session/{session}/{route}")
    return 1e3 * fastest(ask, 1, time.perf_counter)


def describe(columns: Columns) -> None:
    """Compute quantiles of each channel, and of each lap, in pandas."""
    table = pd.DataFrame(columns)
    table.describe()
    table.groupby(table["timestamp"] * 38 // LAP_M).quantile([0.05, 0.5, 0.95])


def figures() -> Iterator[Figure]:
    """The rows of both back-ends."""
    columns = drive(FRAMES)
    pandas_ms = fastest(lambda: describe(columns), 3) * 1e3
    for name, backend in BACKENDS.items():
        with bridge(backend) as server:
            fill(server, drive(PIECE), "before")
            for route in ROUTES:
                ask_ms(server, route, session="before")
            fill(server, columns)
            cold = {route: ask_ms(server, route) for route in ROUTES}
            warm = [ask_ms(server, route) for route in ROUTES]
        yield Figure(f"{name}: all {len(ROUTES)} routes, cold", "ms", sum(cold.values()))
        yield Figure(f"{name}: of these statistics", "ms", cold["stats"], "pandas", pandas_ms)
        yield Figure(f"{name}: all routes again", "ms", sum(warm))
