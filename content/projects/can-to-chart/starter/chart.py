"""Draws the three signals of a log from the command line."""

import argparse
from pathlib import Path

from decode import read_log, series
from resample import axis, resample
from signals import BRAKE, GEAR, SPEED
from svgchart import Panel, chart

MAX_GAP_S = 0.35


def main() -> None:
    """Read a log and write its chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("chart", type=Path)
    parser.add_argument("--rate", type=float, default=20.0, help="samples a second")
    parser.add_argument("--title", default="Speed, brake and gear")
    options = parser.parse_args()
    frames = read_log(options.log.read_text(encoding="ascii"))
    if not frames:
        parser.error("the log holds no frames")
    times_s = axis(frames[-1].t_s - frames[0].t_s, options.rate)
    panels = []
    for signal in (SPEED, BRAKE, GEAR):
        source = series(frames, signal)
        values = resample(source, times_s, signal.state, MAX_GAP_S)
        panels.append(Panel(signal.name, signal.unit, values))
    text = chart(options.title, times_s, panels)
    options.chart.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
