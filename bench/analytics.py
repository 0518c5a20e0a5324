"""Every analytic of an hour at 100 Hz, over HTTP, first cold and then from what was kept.

The car drives a circle of 3.6 km with a brake zone and a pull in each lap. pandas describes the
same channels and their laps once from its own data frame.
"""

import sys
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]

from bench.common import BACKENDS, Figure, Server, arguments, bridge, fastest, show

ROUTES = (
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
PIECE = 20_000
LAP_M = 3_600.0
Columns = dict[str, npt.NDArray[np.float64]]


def drive(frames: int) -> Columns:
    """Laps of about 95 seconds whose speed swings three times a lap."""
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


def fill(server: Server, columns: Columns) -> None:
    """Send the drive as the session ``hour``."""
    for first in range(0, len(columns["timestamp"]), PIECE):
        piece = {key: values[first : first + PIECE].tolist() for key, values in columns.items()}
        server.post("/session/hour/frames", {"columns": piece})


def ask(server: Server, route: str) -> float:
    """Milliseconds of an answer."""
    began = time.perf_counter()
    server.get(f"/session/hour/{route}")
    return (time.perf_counter() - began) * 1e3


def measure(name: str, columns: Columns) -> Iterator[Figure]:
    """The rows of one back-end."""
    with bridge(BACKENDS[name]) as server:
        fill(server, columns)
        cold = {route: ask(server, route) for route in ROUTES}
        warm = [ask(server, route) for route in ROUTES]
    slowest = max(list(cold)[1:], key=lambda route: cold[route])
    yield Figure(f"{name}: all {len(ROUTES)} routes, cold, ms", f"{sum(cold.values()):,.0f}")
    yield Figure(f"{name}: of these reading and laps, ms", f"{cold['laps']:,.0f}")
    yield Figure(f"{name}: slowest of the others ({slowest}), ms", f"{cold[slowest]:,.0f}")
    yield Figure(f"{name}: all routes asked again, ms", f"{sum(warm):,.0f}")


def describe(columns: Columns) -> None:
    """What pandas needs for quantiles of each channel, and the same of every lap."""
    table = pd.DataFrame(columns)
    table.describe()
    table.groupby(table["timestamp"] * 38 // LAP_M).quantile([0.05, 0.5, 0.95])


def main() -> int:
    """Print the table."""
    options = arguments("analytics", __doc__).parse_args()
    columns = drive(60_000 if options.quick else 360_000)
    rows = [row for name in BACKENDS for row in measure(name, columns)]
    pandas_ms = fastest(lambda: describe(columns), 3) * 1e3
    rows.append(Figure("statistics of channels and laps in pandas, ms", "", f"{pandas_ms:,.0f}"))
    show(f"analytics of {len(columns['timestamp']):,} frames", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
