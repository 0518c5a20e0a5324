"""Finds the corners of a closed line by its curvature, and the straights and sectors they leave."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Ring
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags
from runtime.bridge.track.model import Corner, Direction, Sector, Straight

SMOOTHED_M: Final = 25.0
LEAST: Final = 0.3
"""Degrees a metre below which nothing is a corner."""
SHORTEST_M: Final = 20.0
MERGED_M: Final = 30.0
PLATEAU: Final = 0.85
SEVERITIES: Final = (3.0, 2.0, 1.2, 0.7, 0.4)
STRAIGHT_M: Final = 150.0
STRAIGHT_BEND: Final = 0.2
SHORTEST_SECTOR: Final = 0.1


class DetectedCorner(NamedTuple):
    """A detected corner, in metres of the line."""

    direction: Direction
    entry_m: float
    apex_m: float
    exit_m: float
    peak: float
    """Degrees a metre where it is tightest, of the smoothed line."""

    @property
    def severity(self) -> int:
        """1 for a hairpin to 6."""
        return severity(self.peak)


def severity(peak: float) -> int:
    """The class of a corner by its tightest curvature in degrees a metre."""
    return next((i for i, least in enumerate(SEVERITIES, 1) if abs(peak) >= least), 6)


def smoothed_curvature(path: Ring) -> Numbers:
    """Degrees a metre at each point of a path of 5 m steps, averaged over 25 m."""
    reach = max(1, round(SMOOTHED_M / path.step) // 2)
    padded = np.concatenate([path.curvature[-reach:], path.curvature, path.curvature[:reach]])
    mean: Numbers = np.convolve(padded, np.full(2 * reach + 1, 1 / (2 * reach + 1)), mode="valid")
    return mean


def detect_corners(path: Ring) -> list[DetectedCorner]:
    """The corners of a path of 5 m steps, in the order of their apexes.

    A corner is 20 m or more of one direction above the 70th percentile of curvature and 0.3
    degrees a metre; neighbours of one direction less than 30 m apart are one. Where so much of
    the lap bends that the percentile is a corner's own curvature, half of the 90th is taken. A
    line that bends everywhere has no corners.
    """
    curvature = smoothed_curvature(path)
    size = np.abs(curvature)
    usual, tight = np.percentile(size, [70, 90])
    least = max(LEAST, min(float(usual), float(tight) / 2))
    found: list[tuple[float, float, int]] = []
    for sign in (1, -1):
        bends = sign * curvature >= least
        if bends.all():
            return []
        runs = [
            (entry, leave, sign)
            for entry, leave in _runs(bends, sign * curvature, least, path.step)
            if leave - entry >= SHORTEST_M
        ]
        found += _merged(runs, path.length_m)
    corners = [_bent(run, size, path) for run in found]
    return sorted(corners, key=lambda corner: corner.apex_m)


def _runs(bends: Flags, curvature: Numbers, least: float, step: float) -> list[tuple[float, float]]:
    """Where a flag of a ring begins and ends, in metres, between points in proportion.

    A stretch over the ring's first point ends beyond the length.
    """
    count = len(bends)
    begins = np.flatnonzero(bends & ~np.roll(bends, 1))
    runs = []
    for begin in begins.tolist():
        beyond = np.flatnonzero(~np.roll(bends, -begin))
        end = begin + int(beyond[0]) - 1
        inside, outside = curvature[begin], curvature[begin - 1]
        entry = begin - (inside - least) / (inside - outside)
        inside, outside = curvature[end % count], curvature[(end + 1) % count]
        leave = end + (inside - least) / (inside - outside)
        runs.append((float(entry) * step, float(leave) * step))
    return runs


def _merged(runs: list[tuple[float, float, int]], length: float) -> list[tuple[float, float, int]]:
    """Runs of one direction, those close together joined, over the ring's first point too."""
    joined: list[tuple[float, float, int]] = []
    for run in sorted(runs):
        if joined and run[0] - joined[-1][1] < MERGED_M:
            joined[-1] = (joined[-1][0], run[1], run[2])
        else:
            joined.append(run)
    if len(joined) > 1 and joined[0][0] + length - joined[-1][1] < MERGED_M:
        first = joined.pop(0)
        joined[-1] = (joined[-1][0], first[1] + length, first[2])
    return joined


def _bent(run: tuple[float, float, int], size: Numbers, path: Ring) -> DetectedCorner:
    entry, leave, sign = run
    points = np.arange(np.ceil(entry / path.step), np.floor(leave / path.step) + 1)
    sizes = size[points.astype(np.intp) % len(size)]
    # The middle of the tightest part: a long even bend has no single tightest point.
    apex = float(points[sizes >= PLATEAU * sizes.max()].mean()) * path.step
    length = path.length_m
    peak = float(sizes.max())
    direction: Direction = "right" if sign > 0 else "left"
    return DetectedCorner(direction, entry % length, apex % length, leave % length, peak)


def straights(corners: Sequence[Corner], length_m: float) -> tuple[Straight, ...]:
    """The stretches of more than 150 m outside every corner, in lap order.

    The one that holds start/finish is the main straight, and comes first.
    """
    if not corners:
        return ()
    windows = sorted(
        (c.entry.distance_m, (c.exit.distance_m - c.entry.distance_m) % length_m) for c in corners
    )
    free: list[tuple[float, float]] = []
    reached = max(entry + span - length_m for entry, span in windows)
    for entry, span in windows:
        if entry - reached > STRAIGHT_M:
            free.append((reached % length_m, entry))
        reached = max(reached, entry + span)
    named: list[Straight] = []
    for start, end in free:
        over_line = start > end
        name = "Main straight" if over_line else f"Straight {len(named) + 1}"
        named.append(Straight(name, start, end))
    return tuple(named)


def sectors(path: Ring) -> tuple[Sector, ...]:
    """Three sectors that part at the middles of the two longest straights, else thirds.

    The straight that holds start/finish parts nothing: the lap begins there anyway.
    """
    length = path.length_m
    curvature = np.abs(smoothed_curvature(path))
    runs = [
        (leave - entry, (entry + leave) / 2)
        for entry, leave in _runs(curvature < STRAIGHT_BEND, -curvature, -STRAIGHT_BEND, path.step)
        if entry > 0 and leave < length
    ]
    middles = sorted(middle for _, middle in sorted(runs)[-2:])
    bounds = [0.0, *middles, length]
    if len(bounds) != 4 or min(np.diff(bounds)) < SHORTEST_SECTOR * length:
        bounds = [length * i / 3 for i in range(4)]
    return tuple(Sector(f"Sector {i + 1}", bounds[i], bounds[i + 1]) for i in range(3))
