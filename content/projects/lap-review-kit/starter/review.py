"""Reviews a logger file from the command line."""

import argparse
from pathlib import Path

from laps import Line, cut_laps
from report import report
from sectors import sector_times
from session_file import read_vbo

SAMPLE_LINE = "50.0,7.004173642,50.0,7.004733280"


def numbers(text: str) -> list[float]:
    """Numbers separated by commas."""
    return [float(part) for part in text.split(",")]


def line(text: str) -> Line:
    """A start line from latitude, longitude, latitude, longitude."""
    return Line(*numbers(text))


def main() -> None:
    """Read the file that is named, and print its review."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--line",
        type=line,
        default=line(SAMPLE_LINE),
        metavar="LAT,LON,LAT,LON",
        help="left and right end of the start line, degrees; write --line=...",
    )
    parser.add_argument(
        "--sectors",
        type=numbers,
        default=[0.3, 0.7],
        metavar="SHARE,SHARE",
        help="sector borders as fractions of the lap distance",
    )
    options = parser.parse_args()
    session = read_vbo(options.file.read_text(encoding="utf-8", errors="replace"))
    laps = cut_laps(session.samples, options.line)
    table = [sector_times(session.samples, lap, options.sectors) for lap in laps]
    print(report(session, laps, table), end="")


if __name__ == "__main__":
    main()
