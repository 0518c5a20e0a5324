"""Finds the corners of a closed line by the grip they use, and the straights between them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Line, Ring, build_ring
from runtime.bridge.session.motion import STANDARD_GRAVITY
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags
from runtime.bridge.track.driven import GRID_S, LEAST_MS, fit_locally, pass_times
from runtime.bridge.track.model import Corner, Direction, Sector, Spot, Straight

WINDOW_S: Final = 1.2
"""Accelerations are those of parabolas fitted over this time. Measured on circuits of known corners
at 0.5 m of noise: at 0.8 s the noise makes bends, at 1.5 s quick changes of direction vanish."""
FULL_SHARE: Final = 98.0
"""The percentile of lateral acceleration over the time of a lap that is the car's grip."""
CORNER: Final = 0.4
"""The least share of the grip that a corner uses at its peak."""
BEND: Final = CORNER / 2
"""The least share of the grip in a bend."""
HALF: Final = 0.5
LEAST_DEG: Final = 12.0
"""A corner turns by at least this angle."""
MERGED_S: Final = 1.0
"""Bends of one direction closer than this are one corner: the time between them is too short."""
PLATEAU: Final = 0.85
SEVERITIES: Final = (3.0, 2.0, 1.2, 0.7, 0.4)
CORNER_PREFIX: Final = "C"
"""Unnamed corners of a session are C1, C2, …"""
STRAIGHT_M: Final = 150.0
SHORTEST_SECTOR: Final = 0.1
TYPICAL_GRIP: Final = 1.1 * STANDARD_GRAVITY
TYPICAL_BRAKE: Final = 0.9 * STANDARD_GRAVITY
TYPICAL_PUSH: Final = 0.4 * STANDARD_GRAVITY
"""Acceleration of a typical car from low speed; it falls to zero at its top speed."""
TYPICAL_TOP_MS: Final = 65.0
TYPICAL_LOOK_M: Final = 20.0
"""The length over which the curvature for a typical car's speed is fitted."""
FINE_M: Final = 2.0


def rate_severity(peak: float) -> int:
    """Rate a corner by its tightest curvature in degrees a metre: 1, a hairpin, to 6."""
    return next((i for i, least in enumerate(SEVERITIES, 1) if abs(peak) >= least), 6)


def scale_corner(corner: Corner, scale: float) -> Corner:
    """Move a detected corner to a line that is *scale* times as long."""
    peak = (corner.curvature_peak or 0.0) / scale
    return replace(
        corner,
        entry=Spot(scale * corner.entry.distance_m),
        apex=Spot(scale * corner.apex.distance_m),
        exit=Spot(scale * corner.exit.distance_m),
        curvature_peak=peak,
        severity=rate_severity(peak),
    )


class Motion(NamedTuple):
    """The motion of a car around a closed path, at even steps of time."""

    place: Numbers
    """Metres from the start of the path."""
    turning: Numbers
    """The turn rate of the course, rad/s, positive to the right."""
    speed: Numbers
    """m/s."""
    step_s: float

    @property
    def lateral(self) -> Numbers:
        """Acceleration in m/s², positive to the right."""
        return self.turning * self.speed

    @property
    def curvature(self) -> Numbers:
        """1/m, positive to the right."""
        return self.turning / self.speed


def move_along(path: Ring, speed: Numbers) -> Motion:
    """Compute the motion of a car with a speed (m/s) at each point of a path."""
    speed = np.maximum(speed, LEAST_MS)
    t, lap_s = pass_times(path.places, path.length_m, speed)
    timed = build_ring(path.x, path.y, t, lap_s, GRID_S)
    x, y = (fit_locally(values, timed.step, WINDOW_S).slope for values in (timed.x, timed.y))
    heading = np.arctan2(x, y)
    turn = np.roll(heading, -1) - np.roll(heading, 1)
    turning = ((turn + np.pi) % (2 * np.pi) - np.pi) / (2 * timed.step)
    place = np.interp(timed.places, np.append(t, lap_s), np.append(path.places, path.length_m))
    return Motion(place, turning, np.interp(timed.places, t, speed, period=lap_s), timed.step)


def estimate_speed(path: Ring) -> Numbers:
    """Estimate the speed in m/s of a typical car at each point of a path.

    Its grip limits it in the bends, its brakes before them and its engine after them (Brayshaw and
    Harrison, "A quasi steady state approach to race car lap simulation").
    """
    even = np.full(len(path), TYPICAL_LOOK_M / WINDOW_S)
    rough = move_along(path, even)
    bend = np.interp(path.places, rough.place, np.abs(rough.curvature), period=path.length_m)
    limit = np.minimum(TYPICAL_GRIP / np.maximum(bend, 1e-9), TYPICAL_TOP_MS**2)
    slowest = int(limit.argmin())  # the speed after it does not depend on what comes before
    squares, bends = np.roll(limit, -slowest).tolist(), np.roll(bend, -slowest).tolist()
    for i in range(len(squares) - 2, -1, -1):
        room = math.sqrt(max(TYPICAL_GRIP**2 - (squares[i + 1] * bends[i + 1]) ** 2, 0.0))
        before = squares[i + 1] + 2 * path.step * min(TYPICAL_BRAKE, room)
        squares[i] = min(squares[i], before)
    for i in range(len(squares) - 1):
        room = math.sqrt(max(TYPICAL_GRIP**2 - (squares[i] * bends[i]) ** 2, 0.0))
        push = TYPICAL_PUSH * (1 - squares[i] / TYPICAL_TOP_MS**2)
        squares[i + 1] = min(squares[i + 1], squares[i] + 2 * path.step * min(push, room))
    return np.roll(np.sqrt(squares), slowest)


def detect_corners(
    path: Ring, speed: Numbers | None = None, prefix: str = CORNER_PREFIX
) -> list[Corner]:
    """Detect the corners of a path, in the order of their apexes, named *prefix* and a number.

    A corner is a bend of one direction that uses 40 % or more of the car's grip at its peak, and
    turns by 12 degrees or more; its window is where it uses at least half as much as at its peak.
    Bends of one direction are one corner if they are less than a second apart, or if the car never
    uses less than half of the smaller peak between them. *speed* is the driven speed in m/s at
    each point, and the grip is the 98th percentile of the resulting lateral acceleration; without
    it a typical car is assumed. A line with the same bend everywhere has no corners.
    """
    motion = move_along(path, estimate_speed(path) if speed is None else speed)
    lateral = motion.lateral
    grip = float(np.percentile(np.abs(lateral), FULL_SHARE))
    corners: list[Corner] = []
    for sign in (1, -1):
        used = sign * lateral / max(grip, 1e-9)
        for first, last in _find_bends(used, motion.step_s):
            inside = np.arange(first, last + 1) % len(used)
            turned = math.degrees(abs(motion.turning[inside].sum()) * motion.step_s)
            if turned >= LEAST_DEG:
                corners.append(_build_corner(motion, first, last, used, path.length_m))
    corners.sort(key=lambda corner: corner.apex.distance_m)
    return [replace(corner, name=f"{prefix}{i}", number=i) for i, corner in enumerate(corners, 1)]


def find_corners(
    line: Line, speed: Numbers | None = None, prefix: str = CORNER_PREFIX
) -> list[Corner]:
    """Find the corners of a line; *speed*: in m/s at each of its points, None if unknown."""
    path = build_ring(*line.plane.xy(line.lat, line.lon), line.distance, line.length_m, FINE_M)
    if speed is not None:
        speed = np.interp(path.places, line.distance, speed, period=line.length_m)
    return detect_corners(path, speed, prefix)


def _find_runs(flags: Flags) -> list[tuple[int, int]]:
    """Return first and last point of each flagged stretch of a ring; its end does not wrap."""
    begins = np.flatnonzero(flags & ~np.roll(flags, 1))
    ends = np.flatnonzero(flags & ~np.roll(flags, -1))
    if len(begins) and ends[0] < begins[0]:
        ends = np.append(ends[1:], ends[0] + len(flags))
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _find_bends(used: Numbers, step_s: float) -> list[tuple[int, int]]:
    """Return first and last point of each bend of one direction that uses a corner's share of grip.

    A bend lasts for as long as the car turns, at most to the lowest point before the next bend.
    """
    cores = _join_runs(_find_runs(used >= CORNER), used, step_s)
    count = len(used)
    bends = []
    for i, (first, last) in enumerate(cores):
        before = cores[i - 1][1] - (count if i == 0 else 0)
        after = cores[(i + 1) % len(cores)][0] + (count if i + 1 == len(cores) else 0)
        bends.append((_find_end(used, first, before), _find_end(used, last, after)))
    return bends


def _find_end(used: Numbers, core: int, other: int) -> int:
    """Return the last point from the edge of a core towards another one that still bends."""
    way = np.arange(core, other, 1 if other > core else -1)
    share = used[way % len(used)]
    straight = np.flatnonzero(share < BEND)
    ends = int(straight[0]) if len(straight) else int(share.argmin())
    return int(way[max(ends - 1, 0)])


def _join_runs(runs: list[tuple[int, int]], used: Numbers, step_s: float) -> list[tuple[int, int]]:
    """Join runs of one direction if the car hardly drives straight between them."""
    count = len(used)

    def peak(run: tuple[int, int]) -> float:
        return float(used[np.arange(run[0], run[1] + 1) % count].max())

    def is_one(run: tuple[int, int], after: tuple[int, int]) -> bool:
        between = used[np.arange(run[1] + 1, after[0]) % count]
        soon = (after[0] - run[1]) * step_s < MERGED_S and (between > -BEND).all()
        return bool(soon or between.min() >= HALF * min(peak(run), peak(after)))

    joined: list[tuple[int, int]] = []
    for run in runs:
        if joined and is_one(joined[-1], run):
            joined[-1] = joined[-1][0], run[1]
        else:
            joined.append(run)
    if len(joined) > 1:
        first, last = joined[0]
        if is_one(joined[-1], (first + count, last + count)):
            del joined[0]
            joined[-1] = joined[-1][0], last + count
    return joined


def _build_corner(motion: Motion, first: int, last: int, used: Numbers, length: float) -> Corner:
    """Build the corner of a run, from half of its peak to half of its peak, interpolated."""
    count = len(used)
    share = used[np.arange(first - 1, last + 2) % count]
    half = HALF * float(share.max())
    over = np.flatnonzero(share >= half)
    i, j = int(over[0]), int(over[-1])
    begin = first - 1 + i - (share[i] - half) / (share[i] - share[i - 1])
    end = first - 1 + j + (share[j] - half) / (share[j] - share[j + 1])
    inside = np.arange(first - 1 + i, first + j)
    sizes = np.abs(motion.curvature[inside % count])
    # The middle of the tightest part: a long even bend has no single tightest point.
    middle = inside[sizes >= PLATEAU * sizes.max()].mean()
    place = np.append(motion.place, length)  # the ring of time begins at the start of the path
    entry, apex, leave = (
        Spot(float(np.interp(at % count, np.arange(count + 1), place)) % length)
        for at in (begin, middle, end)
    )
    direction: Direction = "right" if motion.turning[inside[0] % count] > 0 else "left"
    peak = math.degrees(sizes.max())
    return Corner("", 0, direction, rate_severity(peak), entry, apex, leave, curvature_peak=peak)


def find_straights(corners: Sequence[Corner], length_m: float) -> tuple[Straight, ...]:
    """Find the stretches of more than 150 m outside all corners, in lap order.

    The one with start/finish is the main straight, and comes first.
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
    result: list[Straight] = []
    for start, end in free:
        over_line = start > end
        name = "Main straight" if over_line else f"Straight {len(result) + 1}"
        result.append(Straight(name, start, end))
    return tuple(result)


def find_sectors(length: float, corners: Sequence[Corner]) -> tuple[Sector, ...]:
    """Return three sectors that meet in the middle of the two longest straights, else thirds.

    The straight with start/finish separates no sectors: the lap begins there anyway.
    """
    free = [s for s in find_straights(corners, length) if s.start_m < s.end_m]
    longest = sorted(free, key=lambda straight: straight.end_m - straight.start_m)[-2:]
    bounds = [0.0, *sorted((straight.start_m + straight.end_m) / 2 for straight in longest), length]
    if len(bounds) != 4 or min(np.diff(bounds)) < SHORTEST_SECTOR * length:
        bounds = [length * i / 3 for i in range(4)]
    return tuple(Sector(f"Sector {i + 1}", bounds[i], bounds[i + 1]) for i in range(3))
