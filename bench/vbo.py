"""Reading a VBO file of 23 columns: ours beside a plain Python reader and pandas.

The others only turn the rows into numbers; ours also gives positions, times, distance, signs and
warnings. Rates are megabytes a second of processor time, best of interleaved rounds.
"""

import io
import math
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from bench.common import Figure, arguments, fastest, show
from runtime.bridge.formats.formats import read_recording

COLUMNS = "sats time lat long velocity heading height vert-vel".split() + [
    f"Channel_{number}" for number in range(15)
]
ROW_BYTES = 291


def lines(rows: int) -> Iterator[str]:
    """A circle at 100 Hz in the dialect of a native logger."""
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


def read_plainly(data: bytes) -> None:
    """One dictionary a row, as most scripts do it."""
    text = data.decode("cp1252").splitlines()
    start = text.index("[data]") + 1
    rows = [
        {name: float(cell) for name, cell in zip(COLUMNS, line.split(), strict=True)}
        for line in text[start:]
    ]
    assert rows


def read_with_pandas(data: bytes) -> None:
    """The C reader of pandas, from the first row on."""
    stream = io.BytesIO(data[data.index(b"[data]\r\n") + 8 :])
    pd.read_csv(stream, sep=" ", names=COLUMNS, dtype=np.float64)


def main() -> int:
    """Print the table."""
    parser = arguments("vbo", __doc__)
    parser.add_argument("--mb", type=float, default=50.0)
    options = parser.parse_args()
    megabytes = 10.0 if options.quick else options.mb
    data = "".join(lines(int(megabytes * 1e6 / ROW_BYTES))).encode()
    best = {"ours": math.inf, "plain": math.inf, "pandas": math.inf}
    for _ in range(1 if options.quick else 3):
        for name, read in (
            ("ours", lambda: read_recording(io.BytesIO(data), "drive.vbo")),
            ("plain", lambda: read_plainly(data)),
            ("pandas", lambda: read_with_pandas(data)),
        ):
            best[name] = min(best[name], fastest(read, 1))
    ours, plain, pandas = (len(data) / 1e6 / seconds for seconds in best.values())
    beside = f"plain Python {plain:,.0f} ({ours / plain:.1f} times), pandas {pandas:,.0f}"
    show(f"VBO of {megabytes:.0f} MB", [Figure("MB a second of processor", f"{ours:,.0f}", beside)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
