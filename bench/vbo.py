"""Reading a VBO file of 23 columns, compared with pandas.

pandas only parses the rows into numbers; ours also gives positions, times, distance, signs and
warnings. Rates are megabytes per second of processor time.
"""

import io
import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from bench.common import Figure, fastest
from runtime.bridge.formats.detection import read_recording

COLUMNS: Final = "sats time lat long velocity heading height vert-vel".split() + [
    f"Channel_{number}" for number in range(15)
]
ROW_BYTES: Final = 291
MEGABYTES: Final = 20.0


def lines(rows: int) -> Iterator[str]:
    """A drive in a circle at 100 Hz, as a logger writes it."""
    names = " ".join(COLUMNS)
    yield f"File created on 15/06/2025 @ 14:25:30\r\n[column names]\r\n{names}\r\n[data]\r\n"
    chance = np.random.default_rng(1)
    speed_kmh = 0.09 * 0.2 * 1852.0 * 3.6
    for row in range(rows):
        since = row * 0.01
        angle = since * 0.09
        second = 36_000 + since
        clock = f"{int(second // 3600):02d}{int(second // 60 % 60):02d}{second % 60:06.3f}"
        lat = 52.0 * 60 + math.cos(angle) * 0.2
        lon = -4.5 * 60 - math.sin(angle) * 0.2 / math.cos(math.radians(52.0))
        course = math.degrees(-angle + math.pi / 2) % 360
        channels = " ".join([f"{value:+.6E}" for value in chance.standard_normal(15).tolist()])
        yield (
            f"009 {clock} {lat:+015.8f} {lon:+015.8f} {speed_kmh:07.3f} {course:07.3f} "
            f"+0012.50 +000.00 {channels}\r\n"
        )


def read_with_pandas(data: bytes) -> None:
    """Parse the rows with the C reader of pandas."""
    stream = io.BytesIO(data[data.index(b"[data]\r\n") + 8 :])
    pd.read_csv(stream, sep=" ", names=COLUMNS, dtype=np.float64)


def figures() -> Iterator[Figure]:
    """Best of interleaved rounds."""
    data = "".join(lines(int(MEGABYTES * 1e6 / ROW_BYTES))).encode()
    best = [math.inf, math.inf]
    for _ in range(3):
        for at, read in enumerate(
            (lambda: read_recording(io.BytesIO(data), "drive.vbo"), lambda: read_with_pandas(data))
        ):
            best[at] = min(best[at], fastest(read, 1))
    ours, pandas = (len(data) / 1e6 / seconds for seconds in best)
    yield Figure("whole reading, a core", "MB/s", ours, "pandas, numbers only", pandas)
